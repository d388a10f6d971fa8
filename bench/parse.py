#!/usr/bin/env python3
"""Compares the parsers of hlokit and XLA on the same texts with one thread. Prints Markdown tables.

    parse.py FILE.hlo... [--largest 10] [--rounds 5] [--generated 100]

XLA's time is the time of its parser alone, through jaxlib, which does not verify. hlokit is timed without and with its
verifier. Both times include freeing the module. Both sides take turns. In each round, each has the best time of several
runs, and the tables have medians over the rounds. Texts that a side rejects are in a line below the table. The second
table has seconds and peak memory of `hlo check` in its own process, on modules of bench/large_module.py of up to
--generated megabytes. The third table compares the time for such a module with the time if it has an error in the middle,
without the verifier.
Needs the Python of bench/models/regenerate.sh (build/venv) and build/bin/hlo.
"""
import argparse
import datetime
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HLO = os.path.join(ROOT, 'build/bin/hlo')

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument('files', nargs='+', metavar='FILE.hlo')
options.add_argument('--largest', type=int, default=0, metavar='N', help='only the N largest texts that both accept')
options.add_argument('--rounds', type=int, default=5, metavar='N', help='rounds of both sides (default 5)')
options.add_argument('--generated', type=int, default=100, metavar='MB', help='largest generated module (default 100). 0: none')
options = options.parse_args()

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
os.environ.update(JAX_PLATFORMS='cpu', TF_CPP_MIN_LOG_LEVEL='3')
import jaxlib
from jaxlib import _hlo


def xla_seconds(text, least=0.5):
    """The best time of at least three runs. None if XLA rejects the text."""
    best, runs, start = math.inf, 0, time.perf_counter()
    try:
        while runs < 3 or time.perf_counter() - start < least:
            begin = time.perf_counter()
            module = _hlo.hlo_module_from_text(text)
            del module
            best = min(best, time.perf_counter() - begin)
            runs += 1
        return best
    except Exception:
        return None


def our_seconds(path):
    """Seconds of parsing, and of parsing and verifying. None if hlokit rejects the text."""
    run = subprocess.run([HLO, 'check', '--bench', path], capture_output=True, text=True)
    match = re.search(r'parse ([\d.]+) ms.*verify ([\d.]+) ms', run.stdout)
    return match and (float(match[1]) * 1e-3, (float(match[1]) + float(match[2])) * 1e-3)


def read(path):
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        return file.read()


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def compare(paths):
    print('| text | MB | XLA parse MB/s | ours parse MB/s | ratio | ours parse + verify MB/s | ratio |')
    print('|---|--:|--:|--:|--:|--:|--:|')
    parse_ratios, both_ratios, refused = [], [], []
    for path in paths:
        text, megabytes = read(path), os.path.getsize(path) * 1e-6
        name = os.path.basename(path).removesuffix('.hlo')
        accepted = xla_seconds(text, 0) and our_seconds(path)
        if not accepted:
            refused.append(name)
            continue
        theirs, parse, both = [], [], []
        for _ in range(options.rounds):
            theirs.append(xla_seconds(text))
            ours = our_seconds(path)
            parse.append(ours[0])
            both.append(ours[1])
        rate = lambda seconds: megabytes / statistics.median(seconds)
        # The ratios of single rounds, because other load slows both sides of a round.
        ratio = lambda ours: statistics.median(x / y for x, y in zip(theirs, ours))
        parse_ratios.append(ratio(parse))
        both_ratios.append(ratio(both))
        print('| %s | %.2f | %.0f | %.0f | %.1f | %.0f | %.1f |' % (
            name, megabytes, rate(theirs), rate(parse), parse_ratios[-1], rate(both), both_ratios[-1]), flush=True)
        if len(parse_ratios) == options.largest:
            break
    if not parse_ratios:
        sys.exit('no text that both accept')
    print('| geometric mean | | | | %.1f | | %.1f |' % (geomean(parse_ratios), geomean(both_ratios)))
    if refused:
        print('\nRefused by one of the two: ' + ', '.join(refused))


# Runs in a small process, because the peak of a child begins with the peak of the process that forks it.
CHECK = '''
import os, sys, time
begin = time.perf_counter()
child = os.posix_spawn(sys.argv[1], [sys.argv[1], 'check', '-q'] + sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - begin, usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
'''


def check_once(path, *flags, exit_code=0):
    """Seconds and peak bytes of `hlo check`."""
    run = subprocess.run([sys.executable, '-c', CHECK, HLO, path, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != exit_code:
        sys.exit('hlo check %s: exit code %d\n%s' % (path, run.returncode, run.stderr))
    seconds, peak = run.stdout.split()
    return float(seconds), int(peak)


def large_module(megabytes):
    path = os.path.join(ROOT, 'build/bench/large_module_%g.hlo' % megabytes)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run([sys.executable, os.path.join(ROOT, 'bench/large_module.py'), str(megabytes), path], check=True)
    return path


def generated(largest):
    print('\n| generated module, MB | hlo check s | MB/s | peak memory MB | bytes a byte of text | XLA parse s |')
    print('|--:|--:|--:|--:|--:|--:|')
    for megabytes in (largest / 8, largest / 4, largest / 2, largest):
        path = large_module(megabytes)
        size = os.path.getsize(path)
        runs, theirs, text = [], [], read(path)
        for _ in range(3):
            runs.append(check_once(path))
            begin = time.perf_counter()
            module = _hlo.hlo_module_from_text(text)
            theirs.append(time.perf_counter() - begin)
            del module
        seconds = statistics.median(run[0] for run in runs)
        peak = max(run[1] for run in runs)
        print('| %.1f | %.2f | %.0f | %.0f | %.1f | %.2f |' % (
            size * 1e-6, seconds, size * 1e-6 / seconds, peak * 1e-6, peak / size, statistics.median(theirs)), flush=True)
        os.remove(path)


def errors(largest):
    print('\n| error in the middle of, MB | without it s | with it s | ratio |')
    print('|--:|--:|--:|--:|')
    for megabytes in (0.01, 1, min(40, largest)):
        path = large_module(megabytes)
        wrong = path.removesuffix('.hlo') + '_wrong.hlo'
        text = read(path)
        middle = text.index(' logistic(', len(text) // 2)
        with open(wrong, 'w', encoding='ascii') as file:
            file.write(text[:middle] + ' logistik(' + text[middle + len(' logistic('):])
        good, bad = [], []
        for _ in range(options.rounds):
            good.append(check_once(path, '--verify=off')[0])
            bad.append(check_once(wrong, '--verify=off', exit_code=3)[0])
        print('| %.2f | %.4f | %.4f | %.2f |' % (len(text) * 1e-6, statistics.median(good), statistics.median(bad),
                                              statistics.median(b / g for b, g in zip(bad, good))), flush=True)
        os.remove(path)
        os.remove(wrong)


def machine():
    with open('/proc/cpuinfo', encoding='ascii') as file:
        model = re.search(r'model name\s*: (.*)', file.read())[1]
    commit = subprocess.run(['git', '-C', ROOT, 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True)
    return '%s; %s, %d cores, %s %s; 1 thread, %d rounds; load %.1f before; jaxlib %s; ours at %s.' % (
        datetime.date.today(), model, os.cpu_count(), platform.system(), platform.release(), options.rounds,
        os.getloadavg()[0], jaxlib.__version__, commit.stdout.strip())


print(machine() + '\n')
compare(sorted(options.files, key=os.path.getsize, reverse=True))
if options.generated:
    generated(options.generated)
    errors(options.generated)

#!/usr/bin/env python3
"""Tests passes on programs of other projects. Draws pairs of a pass and a text, and judges each instance of the pass that
changes the module (hlo-opt --check_each_pass).

    pass_pairs.py --count=100 --seed=7 ../shared/corpus/xla-hlo

A pass runs in the preset default or 2022 that contains it (drawn if both do), after the passes before it there. A pass
that neither contains runs alone. If a pair changes nothing, takes longer than --timeout, or the interpreter cannot run
it, it is counted and another pair is drawn. The exit code is 1 if a pass is wrong or cannot be judged. The command that
shows it is printed.
"""
import argparse
import collections
import os
import random
import re
import shlex
import subprocess
import sys

# Errors of programs that the interpreter cannot run, such as a collective of one device.
NOT_RUN = r'\[R\d+\]|has no implementation in the interpreter|is not supported by the interpreter'


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def texts_of(paths):
    found = [path for path in paths if os.path.isfile(path)]
    for path in paths:
        for folder, _, files in os.walk(path):
            found += [os.path.join(folder, name) for name in files if name.endswith(('.hlo', '.txt'))]
    return sorted(found)


def draw(options, rng, passes, presets, texts):
    name, path = rng.choice(passes), rng.choice(texts)
    having = [preset for preset, items in presets.items() if name in items]
    what = '--pipeline=' + rng.choice(having) if having else '--passes=' + name
    command = [options.binary, what, '--check_each_pass=^%s#' % name, '--fill_elided_constants=random', path]
    return command + (['--reoptimize'] if having else [])


def judge(options, command):
    """The outcome in words, and the report."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return 'too long', ''
    report = done.stdout + done.stderr
    if 'no pass instance that changed the module matches' in report:
        return 'changes nothing', report
    if done.returncode != 1 and re.search(NOT_RUN, report):
        return 'not interpreted', report
    if re.search(r'\d+ open$', report, re.M):
        return 'open', report
    return {0: 'right', 1: 'WRONG', 3: 'not read', 4: 'not interpreted', 5: 'not interpreted'}.get(
        done.returncode, 'exit %d' % done.returncode), report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('files', nargs='+', metavar='FILE|DIR')
    parser.add_argument('--binary', default='build/bin/hlo-opt')
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--seed', type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument('--timeout', type=float, default=30, help='seconds for a pair (default 30)')
    options = parser.parse_args()
    rng = random.Random(options.seed)
    listed = output(options.binary, '--list_passes')
    passes = re.findall(r'^(\S.*?) +(?:exact|reassociates|changes_precision) ', listed, re.M)
    presets = {}
    for preset in ('default', '2022'):
        text = output(options.binary, '--pipeline=' + preset, '--print_pipeline')
        presets[preset] = {re.split(r'[({]', line.strip())[0] for line in text.splitlines()}
    texts = texts_of(options.files)
    print('seed %d, %d texts, %d passes' % (options.seed, len(texts), len(passes)), flush=True)
    counts, judged, drawn, pairs = collections.Counter(), set(), set(), len(passes) * len(texts)
    while counts['right'] + counts['open'] + counts['WRONG'] < options.count and len(drawn) < pairs:
        command = draw(options, rng, passes, presets, texts)
        if tuple(command[2:]) in drawn:
            continue
        drawn.add(tuple(command[2:]))
        outcome, report = judge(options, command)
        counts[outcome] += 1
        if outcome == 'right':
            judged.add(command[2])
        elif outcome in ('WRONG', 'open') or outcome.startswith('exit'):
            print('%s: %s\n%s' % (outcome, shlex.join(command), report[-2000:]), flush=True)
    outcomes = ', '.join('%d %s' % (n, outcome) for outcome, n in counts.most_common())
    print('%d pairs drawn, of %d passes: %s' % (len(drawn), len(judged), outcomes))
    bad = [outcome for outcome in counts if outcome in ('WRONG', 'open') or outcome.startswith('exit')]
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())

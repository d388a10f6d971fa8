#!/usr/bin/env python3
"""Compares the times of hlokit and XLA:CPU on the same HLO texts, arguments and cores. Prints a Markdown table.

    compare.py                                      # testdata/models/*.hlo
    compare.py gpt2_infer lstm_infer --threads 1
    compare.py --interpreter --check --rounds 5 > interpreter.md

Each round runs XLA:CPU and then hlokit, each in a new process, so that other load on the machine affects both. Figures
are medians over the rounds. The last row is the geometric mean of the ratios. With six rounds or more, each ratio of run
times has a 95 % interval, computed from the ratios of the rounds. Needs the Python of bench/models/regenerate.sh
(build/venv) or any with jax, and build/bin/hlo-run. A failed run is a dash in the table and a note below it.
"""
import argparse
import datetime
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def python_with_jax():
    venv = os.path.join(ROOT, 'build/venv/bin/python')
    return venv if os.path.exists(venv) else sys.executable


def pin(threads):
    return lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def last_json(text):
    """The JSON document that is the whole text, or else its last line that is a document. None if there is none."""
    for part in [text] + text.splitlines()[::-1]:
        try:
            document = json.loads(part)
        except ValueError:
            continue
        if isinstance(document, (dict, list)):
            return document
    return None


def find(document, *keys):
    """The first number under one of the keys, at any depth. If the value is a dictionary, its median or total."""
    if isinstance(document, list):
        document = dict(enumerate(document))
    if not isinstance(document, dict):
        return None
    for key in keys:
        value = document.get(key)
        if isinstance(value, dict):
            value = value.get('median', value.get('total'))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return next((n for value in document.values() if (n := find(value, *keys)) is not None), None)


def run(command, threads, timeout):
    """(JSON document or None, first line of the error or None, seconds)."""
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, preexec_fn=pin(threads))
    except FileNotFoundError:
        return None, 'no such program: ' + os.path.relpath(command[0], ROOT), 0
    except subprocess.TimeoutExpired:
        return None, 'no end after %g s' % timeout, timeout
    seconds = time.perf_counter() - start
    document = last_json(done.stdout)
    if done.returncode or document is None:
        said = [line for line in (done.stderr + '\n' + done.stdout).splitlines() if line.strip()]
        return document, 'exit code %d: %s' % (done.returncode, (said[-1] if said else 'nothing said')[:200]), seconds
    return document, None, seconds


def run_xla(model, threads, budget, timeout, *flags):
    command = [python_with_jax(), os.path.join(HERE, 'xla_cpu.py'), model, '--threads=%d' % threads, '--budget=%g' % budget]
    document, wrong, _ = run(command + list(flags), threads, timeout)
    return document or {}, wrong


def run_ours(binary, model, threads, timeout, *flags):
    """({'ready_s', 'median_ms'}, the error or None). A figure that the report lacks is None."""
    command = [binary, '--platform=cpu', '--reference_platform=none', '--bench', '--json', *flags, model]
    document, wrong, _ = run(command, threads, timeout)
    compile_ms = find(document, 'compile_ms')
    return {'ready_s': None if compile_ms is None else compile_ms / 1e3, 'median_ms': find(document, 'run_ms')}, wrong


def as_jax_compiles(model, scratch):
    """The model's path. If a result is not row-major, the path of a copy without layouts: XLA:CPU through jaxlib always makes
    row-major results, so hlokit would save a transpose."""
    with open(model, encoding='utf-8') as file:
        text = file.read()
    results = re.search(r'entry_computation_layout=\{.*?->(.*?)\}\s*$', text.split('\n', 1)[0])
    layouts = re.findall(r'\]\{([\d,]+)\}', results.group(1)) if results else []
    if all(list(map(int, layout.split(',')))[::-1] == list(range(layout.count(',') + 1)) for layout in layouts):
        return model
    copy = os.path.join(scratch, os.path.basename(model))
    with open(copy, 'w', encoding='utf-8') as file:
        file.write(re.sub(r'(\])\{[\d,]*\}', r'\1', text))
    return copy


def run_interpreter(binary, model, threads, timeout, *flags):
    """(Seconds of one run or None, the error or None)."""
    command = [binary, '--platform=interpreter', '--reference_platform=none', '--num_repeats=1', '--json', *flags, model]
    document, wrong, seconds = run(command, threads, timeout)
    if wrong:
        return None, wrong
    run_ms = find(document, 'run_ms')
    return seconds if run_ms is None else run_ms / 1e3, None


def difference(expected, actual):
    """Largest |actual - expected| of any output, over the largest |expected| of that output."""
    code = '''
import sys, numpy as np
e, a = np.load(sys.argv[1]), np.load(sys.argv[2])
def wide(x):
    if x.dtype.kind == 'V' or x.dtype == np.uint16:
        x = (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float64)
worst = 0.0
for k in [k for k in e.files if k.startswith('out')]:
    x, y = wide(e[k]), wide(a[k])
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    gap = np.where(same, 0, np.abs(x - y))
    worst = max(worst, float(np.max(gap, initial=0) / max(np.max(np.abs(x), initial=0), 1e-30)))
print(worst)
'''
    done = subprocess.run([python_with_jax(), '-c', code, expected, actual], capture_output=True, text=True)
    return float(done.stdout) if not done.returncode else None


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def ratio(ours, theirs):
    return None if ours is None or not theirs else ours / theirs


def median_interval(values):
    """The 95 % interval (low, high) of the median of the distribution from which the values are drawn, by order statistics, for
    any distribution. None for five values or fewer."""
    values, n = sorted(values), len(values)
    outside, k = 2 / 2**n, 0
    while outside <= 0.05:
        k += 1
        outside += 2 * math.comb(n, k) / 2**n
    return (values[k - 1], values[n - k]) if k else None


def geometric_mean(record, theirs, ours):
    """The geometric mean of the ratios of medians, over models for which both sides have one."""
    pairs = [(median([a[ours] for a in r['ours']]), median([a.get(theirs) for a in r['xla_cpu']])) for r in record]
    return statistics.geometric_mean([ratio(*pair) for pair in pairs if all(pair)]) if any(map(all, pairs)) else None


def cell(value):
    return '-' if value is None else '%.3g' % value if value < 1000 else '%.0f' % value


def table(header, rows):
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(len(header))]
    lines = ['| ' + ' | '.join(c.ljust(w) if not i else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) + ' |'
             for row in [header] + rows]
    rule = '|' + '|'.join('-' * (w + 1) + ('-' if not i else ':') for i, w in enumerate(widths)) + '|'
    return '\n'.join([lines[0], rule] + lines[1:])


def machine():
    with open('/proc/cpuinfo') as file:
        name = re.search(r'model name\s*: (.*)', file.read())
    return '%s, %d cores, Linux %s' % (name[1] if name else platform.machine(), os.cpu_count(), platform.release().split('-')[0])


def versions(binary):
    jax = subprocess.run([python_with_jax(), '-c', 'import jaxlib; print(jaxlib.__version__)'], capture_output=True, text=True)
    commit = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], capture_output=True, text=True)
    return 'jaxlib %s; ours at %s%s' % (jax.stdout.strip() or 'missing', commit.stdout.strip() or 'unknown',
                                        '' if os.path.exists(binary) else ' (not built)')


def conditions(options, load_before):
    """The line above a table. The load before the first run should be near 0, because it is the load of other programs."""
    return '%s; %s; %d threads, %d rounds; load %.1f before; %s.' % (
        datetime.date.today(), machine(), options.threads, options.rounds, load_before, versions(options.binary))


def models_of(names):
    folder = os.path.join(ROOT, 'testdata/models')
    if not names:
        return sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith('.hlo'))
    places = lambda name: [name, os.path.join(folder, name + '.hlo'), os.path.join(folder, 'large', name + '.hlo')]
    found = [next((p for p in places(name) if os.path.isfile(p)), None) for name in names]
    if None in found:
        sys.exit('no such model: ' + ', '.join(n for n, f in zip(names, found) if f is None))
    return found


def common_options(description):
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--threads', type=int, default=2, help='cores each side is pinned to (default 2)')
    options.add_argument('--rounds', type=int, default=3, help='rounds of both sides (default 3)')
    options.add_argument('--budget', type=float, default=3, help='seconds of timed runs of XLA:CPU in a round (default 3)')
    options.add_argument('--timeout', type=float, default=900, help='seconds for one process (default 900)')
    options.add_argument('--binary', default=os.path.join(ROOT, 'build/bin/hlo-run'), help='(default build/bin/hlo-run)')
    options.add_argument('--flags', default='', help='more flags for hlo-run, in one argument')
    return options


def for_each(models, notes, measure):
    """Calls measure(file, name) for each model. Ctrl-C or a missing program ends the loop with a note, so that the caller can
    print the earlier results."""
    for model in models:
        name = os.path.splitext(os.path.basename(model))[0]
        print('%s ...' % name, file=sys.stderr)
        try:
            measure(model, name)
        except (KeyboardInterrupt, OSError) as error:
            notes.append('ended at %s: %s' % (name, error or 'interrupted'))
            break


def main():
    options = common_options(__doc__)
    options.add_argument('models', nargs='*', help='names in testdata/models, or files (default: all but large/)')
    options.add_argument('--interpreter', action='store_true', help='also time one run of our interpreter')
    options.add_argument('--check', action='store_true', help='also compare the results of both sides')
    options.add_argument('--own_arguments', action='store_true', help='hlo-run generates its own arguments, and does not use those of XLA:CPU')
    options.add_argument('--json', metavar='FILE', help='write every figure of every round there')
    options = options.parse_args()

    flags, rows, notes, record, load_before = options.flags.split(), [], [], [], os.getloadavg()[0]
    intervals = options.rounds >= 6

    def measure(model, name):
        xla, ours, interpreter, gap = [], [], None, None
        with tempfile.TemporaryDirectory() as scratch:
            model = as_jax_compiles(model, scratch)
            args, expected, actual = (os.path.join(scratch, f + '.npz') for f in ('args', 'expected', 'actual'))
            shared = [] if options.own_arguments else ['--args=' + args]
            for turn in range(options.rounds):
                keep = ['--save_args=' + args, '--save_outputs=' + expected] if not turn else []
                answer, wrong = run_xla(model, options.threads, options.budget, options.timeout, *keep)
                xla.append(answer)
                if wrong:
                    notes.append('%s, XLA:CPU: %s' % (name, wrong))
                    break
                keep = ['--save_outputs=' + actual] if options.check and not turn else []
                answer, wrong = run_ours(options.binary, model, options.threads, options.timeout, *shared, *flags, *keep)
                ours.append(answer)
                if wrong:
                    notes.append('%s, ours: %s' % (name, wrong))
                    break
            if options.check and os.path.exists(expected) and os.path.exists(actual):
                gap = difference(expected, actual)
            if options.interpreter:
                interpreter, wrong = run_interpreter(options.binary, model, options.threads, options.timeout, *shared, *flags)
                notes.extend(['%s, interpreter: %s' % (name, wrong)] if wrong else [])
        xla_ms, ours_ms = median([a.get('median_ms') for a in xla]), median([a['median_ms'] for a in ours])
        xla_s, ours_s = median([a.get('compile_s') for a in xla]), median([a['ready_s'] for a in ours])
        row = [name] + [cell(v) for v in (xla_ms, ours_ms, ratio(ours_ms, xla_ms), xla_s, ours_s, ratio(ours_s, xla_s))]
        if intervals:
            ratios = [ratio(a['median_ms'], b.get('median_ms')) for a, b in zip(ours, xla)]
            interval = None if None in ratios else median_interval(ratios)
            row.append('%s to %s' % tuple(map(cell, interval)) if interval else '-')
        rows.append(row + [cell(interpreter)] * options.interpreter + [cell(gap)] * options.check)
        record.append({'model': name, 'xla_cpu': xla, 'ours': ours, 'interpreter_s': interpreter, 'difference': gap})

    for_each(models_of(options.models), notes, measure)
    if len(rows) > 1:
        means = {3: geometric_mean(record, 'median_ms', 'median_ms'), 6: geometric_mean(record, 'compile_s', 'ready_s')}
        rows.append(['geometric mean'] + [cell(means[i]) if i in means else '' for i in range(1, len(rows[0]))])
    print(conditions(options, load_before) + '\n')
    header = ['model', 'XLA:CPU ms', 'ours ms', 'ours/XLA', 'XLA compile s', 'ours ready s', 'ours/XLA']
    header += ['95 % of ours/XLA'] * intervals
    print(table(header + ['interpreter s'] * options.interpreter + ['difference'] * options.check, rows))
    if notes:
        print('\n' + '\n'.join('- ' + note for note in notes))
    if options.json:
        with open(options.json, 'w') as file:
            json.dump(record, file, indent=1)


if __name__ == '__main__':
    main()

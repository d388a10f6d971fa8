#!/usr/bin/env python3
"""Runs programs of libraries with their arguments and results, from text to verdict. Prints a Markdown table.

    programs.py FOLDER                          # programs/ of programs.tar.xz, with its index.json
    programs.py FOLDER --before OLD/hlo-run     # also the verdicts of another binary

Each program runs as a user would run it: `hlo-run --args=X.npz --reference=X.npz X.hlo`. The column `results` does not
come from hlo-run: the results are saved, and compared here by the rule that the index has for each.
Needs the Python of bench/models/regenerate.sh (build/venv), or any with numpy.
"""
import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, 'build/venv/bin/python')
try:
    import numpy
except ImportError:
    if not os.path.exists(VENV) or sys.executable == VENV:
        sys.exit('programs.py needs numpy')
    os.execv(VENV, [VENV] + sys.argv)


def numbers(array, shape):
    """The values of an array. It has raw bits if NumPy lacks the type."""
    if array.dtype.kind == 'V':
        array = array.view(f'u{array.dtype.itemsize}')
    if shape.startswith('bf16'):
        return (array.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    return array


def beyond(actual, expected, rule):
    """The number of elements that break the rule."""
    if actual.size != expected.size:
        return max(actual.size, 1)
    actual = actual.reshape(expected.shape)  # A scalar may be stored as one element of rank 1.
    if rule['compare'] != 'tol' or expected.dtype.kind not in 'fc':
        equal = (actual == expected) | ((actual != actual) & (expected != expected))
        return int(numpy.sum(~equal))
    with numpy.errstate(all='ignore'):
        good = numpy.abs(actual - expected) <= rule['atol'] + rule['rtol'] * numpy.abs(expected)
    good |= (actual == expected) | (numpy.isnan(actual) & numpy.isnan(expected))
    return int(numpy.sum(~good))


def judge(folder, entry, outputs):
    """'within', or how many results break their rule, and the first of them."""
    expected, actual = numpy.load(os.path.join(folder, entry['npz'])), numpy.load(outputs)
    wrong = []
    for i, (rule, shape) in enumerate(zip(entry['per_result'], entry['results'])):
        key = f'out{i}'
        count = beyond(numbers(actual[key], shape), numbers(expected[key], shape), rule)
        if count:
            wrong.append(f'{key}: {count} of {expected[key].size}')
    if not wrong:
        return 'within'
    return f'{len(wrong)} of {len(entry["per_result"])} beyond ({wrong[0]})'


def run(binary, folder, name, entry, timeout):
    npz = os.path.join(folder, entry['npz'])
    with tempfile.TemporaryDirectory() as scratch:
        outputs = os.path.join(scratch, 'out.npz')
        report = os.path.join(scratch, 'report.json')
        command = [binary, f'--args={npz}', f'--reference={npz}', f'--save_outputs={outputs}', f'--json={report}',
                   os.path.join(folder, name)]
        begin = time.monotonic()
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return {'verdict': f'over {timeout} s', 'results': '-', 'seconds': timeout}
        row = {'seconds': time.monotonic() - begin, 'results': '-', 'steps': '', 'run': ''}
        words = re.search(r'\b(?:MATCH|MISMATCH|RAN|INCONCLUSIVE|UNSUPPORTED|LIMIT|FAILED)\b.*', done.stdout)
        row['verdict'] = words.group(0) if words else f'exit {done.returncode}'
        if os.path.exists(report):
            with open(report) as file:
                told = json.load(file)
            row['verdict'] = told['verdict']
            if told.get('culprit', {}).get('kind') == 'rounding':
                row['verdict'] += ', by rounding'
            if told.get('run_ms'):
                row['run'] = f'{told["run_ms"]:.3g}'
            fallback = told.get('by_interpreter')
            if fallback:
                row['steps'] = f'{len(fallback["names"])} of {fallback["steps"]}'
                if fallback['names']:
                    row['steps'] += f' ({100 * fallback["share"]:.0f} %)'
        if os.path.exists(outputs):
            row['results'] = judge(folder, entry, outputs)
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder')
    parser.add_argument('--binary', default=os.path.join(ROOT, 'build/bin/hlo-run'))
    parser.add_argument('--before', help='an older binary, whose verdicts are in another column')
    parser.add_argument('--only', default='', help='programs whose name contains this')
    parser.add_argument('--timeout', type=int, default=300, help='seconds for one program (default 300)')
    options = parser.parse_args()
    with open(os.path.join(options.folder, 'index.json')) as file:
        index = json.load(file)
    print(f'{datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load '
          f'{os.getloadavg()[0]:.1f}\n')
    before = ['verdict before'] if options.before else []
    head = ['program'] + before + ['verdict', 'results', 'steps by the interpreter (share of the run)', 'run ms', 'wall s']
    print('| ' + ' | '.join(head) + ' |\n|' + '---|' * len(head), flush=True)
    unjudged = 0
    for name, entry in sorted(index.items()):
        if options.only not in name:
            continue
        row = run(options.binary, options.folder, name, entry, options.timeout)
        old = [run(options.before, options.folder, name, entry, options.timeout)['verdict']] if before else []
        unjudged += not row['verdict'].startswith(('MATCH', 'MISMATCH')) or row['results'] != 'within'
        print('| ' + ' | '.join([name.removesuffix('.hlo')] + old + [
            row['verdict'], row['results'], row.get('steps', ''), row.get('run', ''), f'{row["seconds"]:.2f}']) + ' |',
            flush=True)
    print(f'\n{unjudged} without a verdict or with results beyond their tolerances')
    return 1 if unjudged else 0


if __name__ == '__main__':
    sys.exit(main())

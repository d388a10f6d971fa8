#!/usr/bin/env python3
"""Compares hlokit and XLA:CPU with hand-written kernels. Prints a Markdown table of GB/s.

    kernels.py                  # bench/kernels/*.hlo, 2 threads
    kernels.py --threads 1 --no_xla

Builds bench/kernels/baseline.cpp with g++ -O3 -march=native into build/bench. GB/s are the bytes of the entry's arguments
and results, each counted once, divided by the median time of a run. The first row is the fastest copy, an upper limit.
The three take turns.
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import compare

ELEMENTS = 16384 * 4096
RESULTS = {'elementwise_chain': ELEMENTS, 'row_reduce': 16384, 'column_reduce': 4096, 'transpose': ELEMENTS}


def build():
    source, binary = os.path.join(compare.HERE, 'kernels/baseline.cpp'), os.path.join(compare.ROOT, 'build/bench/baseline')
    if not os.path.exists(binary) or os.path.getmtime(binary) < os.path.getmtime(source):
        os.makedirs(os.path.dirname(binary), exist_ok=True)
        subprocess.run(['g++', '-std=c++17', '-O3', '-march=native', '-pthread', source, '-o', binary], check=True)
    return binary


def by_hand(binary, threads, seconds):
    """{kernel: {variant: GB/s}}"""
    done = subprocess.run([binary, '--json', '--threads', str(threads), '--seconds', str(seconds)], check=True,
                          capture_output=True, text=True)
    speeds = {}
    for line in map(json.loads, done.stdout.splitlines()):
        speeds.setdefault(line['kernel'], {})[line['variant']] = line['gb_per_s']
    return speeds


def gb_per_s(kernel, milliseconds):
    return None if not milliseconds else 4 * (ELEMENTS + RESULTS[kernel]) / milliseconds * 1e-6


def main():
    options = compare.common_options(__doc__)
    options.add_argument('--no_xla', action='store_true', help='do not run XLA:CPU')
    options = options.parse_args()

    load_before, binary, flags, notes = os.getloadavg()[0], build(), options.flags.split(), []
    hand, xla, ours = {}, {k: [] for k in RESULTS}, {k: [] for k in RESULTS}
    for turn in range(options.rounds):
        print('round %d ...' % (turn + 1), file=sys.stderr)
        for kernel, variants in by_hand(binary, options.threads, options.budget / 4).items():
            for variant, speed in variants.items():
                hand.setdefault(kernel, {}).setdefault(variant, []).append(speed)
        for kernel in RESULTS:
            model = os.path.join(compare.HERE, 'kernels', kernel + '.hlo')
            if not options.no_xla:
                answer, wrong = compare.run_xla(model, options.threads, options.budget, options.timeout)
                xla[kernel].append(gb_per_s(kernel, answer.get('median_ms')))
                notes += ['%s, XLA:CPU: %s' % (kernel, wrong)] if wrong and not turn else []
            answer, wrong = compare.run_ours(options.binary, model, options.threads, options.timeout, *flags)
            ours[kernel].append(gb_per_s(kernel, answer['median_ms']))
            notes += ['%s, ours: %s' % (kernel, wrong)] if wrong and not turn else []

    rows = []
    for kernel, variants in hand.items():
        speed, variant = max((compare.median(speeds), variant) for variant, speeds in variants.items())
        mine, theirs = compare.median(ours.get(kernel, [])), compare.median(xla.get(kernel, []))
        rows.append([kernel, compare.cell(speed), variant, compare.cell(theirs), compare.cell(mine),
                     compare.cell(compare.ratio(mine, speed)), compare.cell(compare.ratio(mine, theirs))])
    print(compare.conditions(options, load_before) + '\n')
    print(compare.table(['kernel', 'by hand GB/s', 'variant', 'XLA:CPU GB/s', 'ours GB/s', 'ours/hand', 'ours/XLA'], rows))
    if notes:
        print('\n' + '\n'.join('- ' + note for note in notes))


if __name__ == '__main__':
    main()

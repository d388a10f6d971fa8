#!/usr/bin/env python3
"""Compares how many kernels the passes leave, and the bytes these kernels move, with XLA:GPU.

    fusion.py SHARED DIR... [--pipeline default] [--target h200] [--write FILE]

SHARED has bench/*.hlo and XLA's figures, bench/xla-gpu-kernels.csv. Each DIR and the folders below it have the other
modules of that table. Rows of several partitions are left out, because no partitioner runs here. Two figures come from
`hlo inspect cost`. A loop counts with its trips, or once on both sides if they are unknown.

    text       kernels in the text that hlo-opt prints: fusions, library calls, fills, and instructions outside of fusions.
               A region is one. Passes that exist only for a library are off
    compiled   launches of the compiled program: regions that no kernel computes are split up, and a fusion has as many
               launches as its plan has kernels

Bytes are the bytes that these kernels read and write, without caches and without the arrays between the kernels of one
plan. Elided constants get random values, as in XLA. Otherwise no kernel could contain them.

The exit code is 1 if a module is missing or fails.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTITIONED = 'partitions_per_device'
STAGES = {'text': 'hlo', 'compiled': 'hlo-backend'}
FOR_LIBRARIES = ['statistics-fusion', 'attention-gradient-fusion']
# The project's goals for each figure: the geometric mean of the ratios, and the ratio that only the share MOST_ABOVE of the rows
# may exceed.
GOALS = {('text', 'kernels'): (0.65, 1.0), ('text', 'bytes'): (0.85, 1.05),
         ('compiled', 'kernels'): (0.50, 1.0), ('compiled', 'bytes'): (0.65, 1.05)}
MOST_ABOVE = {'text': '5 %', 'compiled': 'none without a reason'}


def files_below(folders):
    return {name[:-len('.hlo')]: os.path.join(path, name) for folder in folders for path, _, names in os.walk(folder)
            for name in names if name.endswith('.hlo') and '/optimized' not in path}


def cost(path, flags, target, binaries):
    """The report of `hlo inspect cost` on the output of hlo-opt with these flags, or the error as text."""
    done = subprocess.run([os.path.join(binaries, 'hlo-opt'), '--target=' + target, *flags, path], capture_output=True, text=True)
    if done.returncode == 0:
        done = subprocess.run([os.path.join(binaries, 'hlo'), 'inspect', 'cost', '--json', '--target=' + target, '-'],
                              input=done.stdout, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[0]


def measure(path, options):
    """{('text', 'kernels'): ..., ...}, or the error as text."""
    found = {}
    for figure, stage in STAGES.items():
        flags = ['--pipeline=' + options.pipeline, '--stage=' + stage, '--fill_elided_constants=random',
                 '--xla_disable_hlo_passes=' + ','.join(FOR_LIBRARIES)]
        report = cost(path, flags, options.target, options.bin)
        if isinstance(report, str):
            return report
        found[figure, 'kernels'] = report['launches']
        found[figure, 'bytes'] = report['bytes_read'] + report['bytes_written']
    return found


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def human(count):
    for unit, scale in (('G', 1e9), ('M', 1e6), ('k', 1e3)):
        if count >= 10 * scale:
            return '%.0f %s' % (count / scale, unit)
    return '%.0f' % count


def table(rows):
    lines = ['| module | kernels of XLA | text | | compiled | | bytes of XLA | text | | compiled | | note |',
             '|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|']
    for row in rows:
        cells = [row['name']]
        for what in ('kernels', 'bytes'):
            cells.append(human(row['xla'][what]))
            for figure in STAGES:
                cells += [human(row['ours'][figure, what]), '%.2f' % row['ratios'][figure, what]]
        lines.append('| %s | %s |' % (' | '.join(cells), row['note']))
    return lines


def summary(rows):
    lines = []
    for (figure, what), (goal, most) in GOALS.items():
        ratios = [row['ratios'][figure, what] for row in rows]
        above = sum(ratio > most for ratio in ratios)
        lines.append('%s, %s: %.3fx XLA:GPU (geometric mean of %d; goal %.2f); %d rows (%.0f %%; goal %s) above %.2f' %
                     (figure, what, geometric_mean(ratios), len(rows), goal, above, 100 * above / len(rows), MOST_ABOVE[figure],
                      most))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('shared')
    parser.add_argument('folders', nargs='*')
    parser.add_argument('--pipeline', default='default')
    parser.add_argument('--target', default='h200')
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build/bin'))
    parser.add_argument('--only', default='', help='only rows whose name contains this')
    parser.add_argument('--write', help='also write the table to this file')
    options = parser.parse_args()
    bench = os.path.join(options.shared, 'bench')
    files = files_below(options.folders)
    files.update({name[:-len('.hlo')]: os.path.join(bench, name) for name in os.listdir(bench) if name.endswith('.hlo')})
    rows, failed = [], []
    with open(os.path.join(bench, 'xla-gpu-kernels.csv')) as text:
        for xla in csv.DictReader(text):
            name = xla['workload']
            if PARTITIONED in xla['note'] or options.only not in name:
                continue
            found = measure(files[name], options) if name in files else 'no such file'
            if isinstance(found, str):
                failed.append('%s: %s' % (name, found))
                continue
            rows.append({'name': name, 'ours': found, 'note': xla['note'].replace('_', ' '),
                         'xla': {'kernels': int(xla['kernels']), 'bytes': int(xla['bytes_moved'])}})
    for row in rows:
        row['ratios'] = {key: row['ours'][key] / row['xla'][key[1]] for key in GOALS}
    # The worst rows come first, by the product of the two `compiled` ratios.
    rows.sort(key=lambda row: -row['ratios']['compiled', 'kernels'] * row['ratios']['compiled', 'bytes'])
    lines = summary(rows) + [''] + table(rows) + [''] + failed if rows else failed
    print('\n'.join(lines))
    if options.write:
        with open(options.write, 'w') as out:
            out.write('\n'.join(lines) + '\n')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""How many kernels the passes leave and what they move, against XLA:GPU: bench/xla-gpu-kernels.csv of the corpus.

    fusion.py SHARED DIR... [--pipeline default] [--target h200] [--write FILE]

SHARED has bench/*.hlo and bench/xla-gpu-kernels.csv; each DIR, or a folder below it, has other modules that the table
names. Rows of several partitions are left out: no partitioner runs here. A kernel is a launch as `hlo inspect cost` counts
them of what hlo-opt prints: a fusion, a library call or fill, and what stands outside of fusions; loops by their trips,
where those are known (else once, in both columns). Bytes are what those read and write, without caches. `compiled` is what
the plans of the fusions make of them: a fusion may be several launches until kernels can do all that fusions say. It has
loops once, as `in text`, beside which it stands.

Exits 1 where a module is not to be had or does not pass.
"""
import argparse
import csv
import json
import math
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTITIONED = 'partitions_per_device'
# What the project is to reach: geometric means, and the share of rows that may be above 1 (kernels) and 1.05 (bytes).
GOALS = {'kernels': (0.65, 1.0), 'bytes': (0.85, 1.05)}


def files_below(folders):
    return {name[:-len('.hlo')]: os.path.join(path, name) for folder in folders for path, _, names in os.walk(folder)
            for name in names if name.endswith('.hlo') and '/optimized' not in path}


def plans_of(text):
    """(fusions, launches that their plans make of them) of a module printed with plans; each computation once, a region
    as one fusion, which is launches of the kernels in it."""
    called, lines_of, current = {}, {}, None
    for line in text.splitlines():
        if line and line[0] not in ' }':
            current = line.split()[1 if line.startswith('ENTRY') else 0].lstrip('%')
        lines_of.setdefault(current, []).append(line)
        called.setdefault(current, []).extend(re.findall(r'(?:calls|body|condition)=%?([^\s,]+)', line))
    held = [name for line in text.splitlines() if '"region":' in line for name in re.findall(r' calls=%?([^\s,]+)', line)]
    for name in held:
        held += [other for other in called.get(name, []) if other not in held]
    inside = set(held)
    fusions = launches = 0
    for name, lines in lines_of.items():
        for line in lines:
            if ' fusion(' not in line:
                continue
            fusions += name not in inside
            plan = re.search(r'"kernels":\[(.*)\]', line)
            if '"region":' not in line:
                launches += max(1, plan.group(1).count('"kind":')) if plan else 1
    return fusions, launches


def measure(path, options):
    """{'kernels', 'bytes', 'static', 'compiled', 'seconds'}, or what went wrong."""
    start = time.monotonic()
    flags = ['--pipeline=' + options.pipeline, '--target=' + options.target]
    done = subprocess.run([os.path.join(options.bin, 'hlo-opt'), *flags, '--stage=hlo-backend', path], capture_output=True,
                          text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[0]
    cost = subprocess.run([os.path.join(options.bin, 'hlo'), 'inspect', 'cost', '--json', '--target=' + options.target, '-'],
                          input=done.stdout, capture_output=True, text=True)
    if cost.returncode != 0:
        return cost.stderr.strip().splitlines()[0]
    report = json.loads(cost.stdout)
    fusions, launches = plans_of(done.stdout)
    return {'kernels': report['launches'], 'bytes': report['bytes_read'] + report['bytes_written'], 'static': fusions,
            'compiled': launches, 'seconds': seconds}


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def human(count):
    for unit, scale in (('G', 1e9), ('M', 1e6), ('k', 1e3)):
        if count >= 10 * scale:
            return '%.0f %s' % (count / scale, unit)
    return '%.0f' % count


def table(rows):
    lines = ['| module | kernels | XLA | ratio | bytes | XLA | ratio | in text | compiled | note |',
             '|---|--:|--:|--:|--:|--:|--:|--:|--:|---|']
    for row in rows:
        lines.append('| %s | %s | %s | %.2f | %s | %s | %.2f | %d | %d | %s |' %
                     (row['name'], human(row['kernels']), human(row['xla_kernels']), row['kernels_ratio'], human(row['bytes']),
                      human(row['xla_bytes']), row['bytes_ratio'], row['static'], row['compiled'], row['note']))
    return lines


def summary(rows):
    lines = []
    for what, (goal, most) in GOALS.items():
        ratios = [row[what + '_ratio'] for row in rows]
        above = sum(ratio > most for ratio in ratios)
        lines.append('%s: %.3fx XLA:GPU (geometric mean of %d; goal %.2f); %d rows (%.0f %%; goal 5 %%) above %.2f' %
                     (what, geometric_mean(ratios), len(rows), goal, above, 100 * above / len(rows), most))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('shared')
    parser.add_argument('folders', nargs='*')
    parser.add_argument('--pipeline', default='default')
    parser.add_argument('--target', default='h200')
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build/bin'))
    parser.add_argument('--only', default='', help='a part of the names of the rows')
    parser.add_argument('--write', help='the table as a file too')
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
            row = {'name': name, **found, 'xla_kernels': int(xla['kernels']), 'xla_bytes': int(xla['bytes_moved']),
                   'note': xla['note'].replace('_', ' ')}
            row['kernels_ratio'] = row['kernels'] / row['xla_kernels']
            row['bytes_ratio'] = row['bytes'] / row['xla_bytes']
            rows.append(row)
    # Worst first, by the product of both.
    rows.sort(key=lambda row: -row['kernels_ratio'] * row['bytes_ratio'])
    lines = summary(rows) + [''] + table(rows) + [''] + failed if rows else failed
    print('\n'.join(lines))
    if options.write:
        with open(options.write, 'w') as out:
            out.write('\n'.join(lines) + '\n')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()

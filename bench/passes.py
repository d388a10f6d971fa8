#!/usr/bin/env python3
"""Compares the time of all passes of hlokit with XLA:CPU's time to compile the same texts. Prints a Markdown table.

    passes.py FILE.hlo... [--largest 10] [--rounds 3] [--pipeline 2022]

hlokit's time is the wall time of all passes and of the pipeline's own work between them (hlo opt --time_passes=json), from
a module in memory to the scheduled module. XLA's time is its compiler's, passes and code, on a program in memory. Both
use the same cores and take turns. Figures are the least of the rounds. `largest` is the pass with the largest share of
hlokit's time, all its runs together. A text that a side rejects, or that XLA does not compile within --timeout, is a line
below the table and does not count for --largest.
The exit code is 1 if the geometric mean of XLA's time divided by hlokit's is below --least, or if a pass takes more than
--share of a module's time.
"""
import collections
import json
import math
import os
import subprocess
import sys

import compare


def ours(path, options):
    """({'s', 'largest', 'share'}, None), or (None, the error)."""
    command = [os.path.join(os.path.dirname(options.binary), 'hlo-opt'), '--time_passes=json', '--pipeline=' + options.pipeline,
               *options.flags.split(), '-o', os.devnull, path]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=compare.pin(options.threads))
    if done.returncode:
        return None, (done.stderr.splitlines() or ['nothing said'])[0]
    text = done.stderr
    times = json.JSONDecoder().raw_decode(text[text.index('{"schema":"hlo.time_passes/1"'):])[0]
    total = times['tree']['wall_ms'] + times['tree']['after_wall_ms']
    by_name = collections.Counter()
    for instance in times['instances']:
        by_name[instance['pass']] += instance['wall_ms']
    name, largest = by_name.most_common(1)[0]
    return {'s': total / 1e3, 'largest': name, 'share': largest / total}, None


def least(rounds):
    return min(rounds, key=lambda one: one['s'])


def measure(path, options):
    """((the best of hlokit, the best of XLA), None), or (None, the error)."""
    own, theirs = [], []
    for _ in range(options.rounds):
        one, wrong = ours(path, options)
        if wrong:
            return None, 'ours: ' + wrong
        own.append(one)
        document, wrong = compare.run_xla(path, options.threads, 0, options.timeout, '--compile_only')
        if wrong:
            return None, 'XLA: ' + wrong
        theirs.append({'s': document['compile_s']})
    return (least(own), least(theirs)), None


def main():
    arguments = compare.common_options(__doc__)
    arguments.add_argument('files', nargs='+', metavar='FILE.hlo')
    arguments.add_argument('--largest', type=int, default=0, metavar='N', help='only the N largest texts that both compile')
    arguments.add_argument('--pipeline', default='default', help='default, 2022, or a file with a pipeline')
    arguments.add_argument('--least', type=float, default=20, help="least geometric mean of XLA's time divided by hlokit's (default 20)")
    arguments.add_argument('--share', type=float, default=0.25, help='largest share of one pass in the time of all (default 0.25)')
    options = arguments.parse_args()

    rows, notes, ratios, shares, load_before = [], [], [], [], os.getloadavg()[0]
    for path in sorted(options.files, key=os.path.getsize, reverse=True):
        if options.largest and len(rows) == options.largest:
            break
        name = os.path.basename(path).removesuffix('.hlo')
        print('%s ...' % name, file=sys.stderr)
        measured, wrong = measure(path, options)
        if wrong:
            notes.append('%s: %s' % (name, wrong))
            continue
        own, theirs = measured
        ratios.append(theirs['s'] / own['s'])
        shares.append(own['share'])
        rows.append([name, '%.1f' % (os.path.getsize(path) / 1e6), '%.3f' % theirs['s'], '%.4f' % own['s'],
                     '%.1f' % ratios[-1], '%s %.0f %%' % (own['largest'], 100 * own['share'])])
    print(compare.conditions(options, load_before) + '\n')
    print(compare.table(['text', 'MB', 'XLA compile s', 'ours passes s', 'XLA / ours', 'largest'], rows))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0
    print('\nXLA / ours, geometric mean %.1f, least %.1f\n' % (mean, min(ratios, default=0)))
    for note in notes:
        print('- ' + note)
    return mean < options.least or max(shares, default=0) > options.share


sys.exit(main())

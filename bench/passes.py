#!/usr/bin/env python3
"""Our passes against XLA:CPU's whole compile of the same texts, by turns in one run; a Markdown table on stdout.

    passes.py FILE.hlo... [--largest 10] [--rounds 3] [--pipeline 2022]

Ours is the wall time of all passes and of what the pipeline does between them (hlo opt --time_passes=json), from a module
in memory to the scheduled one; XLA's is that of its compiler on a program in memory: its passes and its code. Both may use the same
cores. Least of the rounds. `largest` is the pass that takes most of ours, all of its runs together. What either refuses, or
XLA does not end within --timeout, is a line below the table and counts for none of the --largest.
Exits 1 where the geometric mean of XLA's time by ours is below --least, or a pass takes more than --share of a module's.
"""
import collections
import json
import math
import os
import subprocess
import sys

import compare


def ours(path, options):
    """({'s', 'largest', 'share'}, None), or (None, what went wrong)."""
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
    """([of ours, of XLA's], None), or (None, what went wrong)."""
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
    arguments.add_argument('--largest', type=int, default=0, metavar='N', help='only the N largest that both take')
    arguments.add_argument('--pipeline', default='default', help='default, 2022 or a file')
    arguments.add_argument('--least', type=float, default=20, help='XLA by ours, geometric mean (default 20)')
    arguments.add_argument('--share', type=float, default=0.25, help='of one pass in all (default 0.25)')
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

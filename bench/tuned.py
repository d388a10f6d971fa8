#!/usr/bin/env python3
"""Measures the gain of autotuning on this machine: modules with measured plans against the same modules without.

    tuned.py                                        # testdata/models/*.hlo
    tuned.py ../shared/bench/cpu/*.hlo --rounds 3 > tuned.md
    tuned.py FILE.hlo --level 4 --json tuned.json

A module is tuned once, into a new lock file (`--autotune_cache`) and a new `--cache_dir`. `first start` is the time of
that run from text to ready, including the measurements. Each round then runs the module without and with the lock, in
processes of their own with --bench. The side that begins changes from round to round. `second start` is the time from text
to ready with lock and cache. Times are medians over the rounds of each process's median (with --least: its fastest run).
The last row is the geometric mean of the ratios. Above 1, the tuned side is faster. `changed` counts the decisions that
differ from the choice without measuring. If there is none, both sides are the same program, so its ratio is 1 and it is
started, not timed.
"""
import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
import compare


def tuned(binary, model, options, scratch):
    """The report of the run that measures, and the error or None."""
    command = [binary, '--platform=cpu', '--reference_platform=none', '--bench', '--bench_seconds=0.2', '--json',
               '--autotune_cache=' + os.path.join(scratch, 'a.lock'), '--cache_dir=' + os.path.join(scratch, 'cache'),
               '--autotune_budget=%g' % options.autotune_budget, model]
    if options.level is not None:
        command.insert(1, '--xla_gpu_autotune_level=%d' % options.level)
    document, wrong, _ = compare.run(command, options.threads, options.timeout)
    return document or {}, wrong


def one_run(binary, model, options, *flags):
    command = [binary, '--platform=cpu', '--reference_platform=none', '--bench', '--bench_seconds=%g' % options.budget,
               '--json', *flags, model]
    document, wrong, _ = compare.run(command, options.threads, options.timeout)
    return document or {}, wrong


def changed_in(first):
    """The number of decisions that are not the first of their candidates."""
    steps = first.get('autotune', {}).get('steps', [])
    return sum(1 for s in steps if s['candidates'] and s['choice'] not in ('', s['candidates'][0]['plan']))


def main():
    options = compare.common_options(__doc__)
    options.add_argument('models', nargs='*', help='names in testdata/models, or files (default: all but large/)')
    options.add_argument('--level', type=int, help='value of --xla_gpu_autotune_level (default: the level that --autotune_cache implies)')
    options.add_argument('--autotune_budget', type=float, default=20, help='seconds of measuring for one module (default 20)')
    options.add_argument('--least', action='store_true', help="use each process's fastest run instead of its median, for a machine with other load")
    options.add_argument('--json', metavar='FILE', help='write every figure of every round there')
    options = options.parse_args()
    figure = 'run_min_ms' if options.least else 'run_ms'
    rows, notes, record, load_before = [], [], [], os.getloadavg()[0]
    for model in compare.models_of(options.models):
        name = os.path.splitext(os.path.basename(model))[0]
        print('%s ...' % name, file=sys.stderr)
        scratch = tempfile.mkdtemp()
        try:
            first, wrong = tuned(options.binary, model, options, scratch)
            lock = ['--xla_gpu_load_autotune_results_from=' + os.path.join(scratch, 'a.lock')]
            cache = ['--cache_dir=' + os.path.join(scratch, 'cache')]
            plain, with_lock = [], []
            if wrong:
                notes.append('%s, tuning: %s' % (name, wrong))
            elif not os.path.exists(lock[0].split('=')[1]):
                notes.append('%s: nothing to choose' % name)
            else:
                if not changed_in(first):
                    answer, wrong = one_run(options.binary, model, options, *lock, *cache)
                    with_lock.append(answer)
                for turn in range(options.rounds if changed_in(first) else 0):
                    sides = [(plain, []), (with_lock, lock + cache)]
                    for times, flags in sides[::-1] if turn % 2 else sides:
                        answer, wrong = one_run(options.binary, model, options, *flags)
                        times.append(answer)
                        notes += ['%s: %s' % (name, wrong)] if wrong else []
        finally:
            shutil.rmtree(scratch)
        steps = first.get('autotune', {}).get('steps', [])
        wrongs = sum(c['wrong'] for s in steps for c in s['candidates'])
        notes += ['%s: %d candidates were wrong' % (name, wrongs)] if wrongs else []
        changed = changed_in(first)
        untuned_ms = compare.median([r.get(figure) for r in plain])
        tuned_ms = compare.median([r.get(figure) for r in with_lock])
        first_s = first.get('compile_ms', 0) / 1e3 or None
        second = compare.median([r.get('compile_ms') for r in with_lock])
        second_s = second / 1e3 if second else None
        rows.append([name, '%d' % len(steps), '%d' % changed] + [compare.cell(v) for v in (
            untuned_ms, tuned_ms, compare.ratio(untuned_ms, tuned_ms) if changed else 1, first_s, second_s, compare.ratio(second_s, first_s))])
        record.append({'model': name, 'untuned': plain, 'tuned': with_lock, 'first': first})

    def mean(numerator, denominator):
        pairs = [(numerator(r), denominator(r)) for r in record if r['untuned'] or r['tuned']]
        ratios = [a / b if a and b else 1 for a, b in pairs]
        return compare.cell(statistics.geometric_mean(ratios)) if ratios else '-'

    run = lambda side: lambda r: compare.median([x.get(figure) for x in r[side]])
    if len(rows) > 1:
        start = lambda r: compare.median([x.get('compile_ms') for x in r['tuned']])
        rows.append(['geometric mean', '', '', '', '', mean(run('untuned'), run('tuned')), '', '',
                     mean(start, lambda r: r['first'].get('compile_ms'))])
    print(compare.conditions(options, load_before) + (' Fastest runs.' if options.least else '') + '\n')
    print(compare.table(['model', 'steps', 'changed', 'untuned ms', 'tuned ms', 'untuned/tuned', 'first start s',
                         'second start s', 'second/first'], rows))
    if notes:
        print('\n' + '\n'.join('- ' + note for note in notes))
    if options.json:
        with open(options.json, 'w') as file:
            json.dump(record, file, indent=1)


if __name__ == '__main__':
    main()

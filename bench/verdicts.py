#!/usr/bin/env python3
"""Measures how long a verdict takes: hlo-run without flags on each FILE.hlo, one after the other. Prints a Markdown table.

    verdicts.py ../shared/bench/cpu/*.hlo

`cpu s` is user and system time of all threads. `compile`, `runs` (including the first one), `reference` and `check` are
parts of the wall time. `checked` is the share of the kernels' elements that was judged, if only a sample was. The exit
code is 1 if a file has no MATCH, or if its wall time or its cpu time divided by threads exceeds --limit seconds.
"""
import argparse
import os
import subprocess
import signal
import sys
import tempfile
import time

import compare

HEADER = ['workload', 'verdict', 'wall s', 'cpu s', 'compile s', 'runs s', 'reference s', 'check s', 'checked']


def run(options, path):
    """(the report or {}, the verdict, wall seconds, cpu seconds)."""
    command = [options.binary, '--json', *options.flags.split(), path]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=compare.pin(options.threads))
        timer = time.monotonic() + options.timeout
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > timer:
                process.kill()
            time.sleep(0.01)
        wall = time.perf_counter() - start
        out.seek(0)
        report = compare.last_json(out.read().decode()) or {}
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    none = 'none in %g s' % options.timeout if killed else 'exit %d' % os.waitstatus_to_exitcode(status)
    verdict = report.get('verdict') or none
    return report, verdict, wall, usage.ru_utime + usage.ru_stime


def row_of(options, path):
    report, verdict, wall, cpu = run(options, path)
    parts = [report.get(key) for key in ('compile_ms', 'all_runs_ms', 'reference_ms', 'check_ms')]
    local = report.get('local') or {}
    elements, checked = local.get('elements', 0), local.get('elements_checked', 0)
    share = '-' if checked == elements else '%.2g %%' % (100 * checked / elements)
    row = [os.path.splitext(os.path.basename(path))[0], verdict.split('(')[0], '%.1f' % wall, '%.1f' % cpu]
    row += ['-' if ms is None else '%.1f' % (ms / 1e3) for ms in parts] + [share]
    print(' '.join(row), file=sys.stderr, flush=True)
    return row, verdict.startswith('MATCH') and max(wall, cpu / options.threads) <= options.limit


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('files', nargs='+', metavar='FILE.hlo')
    options.add_argument('--threads', type=int, default=2, help='number of cores that the program may use (default 2)')
    options.add_argument('--limit', type=float, default=20, help='seconds a verdict may take (default 20)')
    options.add_argument('--timeout', type=float, default=120, help='seconds for one process (default 120)')
    options.add_argument('--binary', default=os.path.join(compare.ROOT, 'build/bin/hlo-run'), help='(default build/bin/hlo-run)')
    options.add_argument('--flags', default='', help='more flags for hlo-run, in one argument')
    options = options.parse_args()
    options.rounds = 1
    conditions = compare.conditions(options, os.getloadavg()[0])
    rows, within = zip(*[row_of(options, path) for path in options.files])
    print('%s\n\n%s\n\n%d of %d have a verdict within %g s.' %
          (conditions, compare.table(HEADER, list(rows)), sum(within), len(within), options.limit))
    sys.exit(not all(within))


if __name__ == '__main__':
    main()

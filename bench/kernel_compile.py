#!/usr/bin/env python3
"""Compares the cost of compiling kernels by two binaries on the same models, and splits the second one's time by phase.

    kernel_compile.py PARENT THIS                   # folders with hlo-opt and hlo-run, e.g. ../parent/build/bin build/bin
    kernel_compile.py PARENT THIS gpt2_train --isas avx2 --rounds 5 --ptxas

`ptx`: the time of `hlo-opt --stage=ptx --target=h100` minus the time of `--stage=kernels`. The latter (text, passes,
plans and building) is the column `plan, build`. A parent older than 2026-11-23 uses one thread. `host`: kernels_ms of
`hlo-run --platform=cpu`, from kernels to code in memory, on --threads threads. Times are wall seconds, and processor
seconds (user and system, of all threads). The binaries take turns, and each figure is the least of the rounds. The phases
are processor seconds from the log of `compile_times`. A binary without that log has none. --ptxas also times ptxas, which
runs in separate processes: the time of --stage=ptxas minus the time of --stage=ptx.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import compare

LINE = re.compile(r'(ptx|host): (\d+) kernels, (\d+) compiled.*lower ([\d.]+) s, passes ([\d.]+) s, code ([\d.]+) s, '
                  r'load ([\d.]+) s')


def timed(command, threads, **environment):
    """(wall seconds, processor seconds, stdout, stderr)"""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before, start = used(), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=compare.pin(threads),
                          env={**os.environ, **environment})
    wall = time.monotonic() - start
    if done.returncode != 0:
        sys.exit('%s: exit %d\n%s' % (' '.join(command), done.returncode, done.stderr[-2000:]))
    return wall, used() - before, done.stdout, done.stderr


def phases_in(log, target):
    """{'kernels', 'compiled', 'lower', 'passes', 'code', 'load'}, summed over the lines of the log. Empty without lines."""
    found = {}
    for match in LINE.finditer(log):
        if match.group(1) != target:
            continue
        values = [int(v) for v in match.groups()[1:3]] + [float(v) for v in match.groups()[3:]]
        for key, value in zip(('kernels', 'compiled', 'lower', 'passes', 'code', 'load'), values):
            found[key] = found.get(key, 0) + value
    return found


def ptx(folder, model, options):
    command = [os.path.join(folder, 'hlo-opt'), '--target=h100', '--threads=%d' % options.threads, model, '--stage=']
    plan = timed(command[:-1] + ['--stage=kernels'], options.threads)
    whole = timed(command[:-1] + ['--stage=ptx'], options.threads, TF_CPP_VMODULE='compile_times=1')
    row = {'plan': plan[1], 'wall': whole[0] - plan[0], 'cpu': whole[1] - plan[1], **phases_in(whole[3], 'ptx')}
    if options.ptxas:
        row['ptxas'] = timed(command[:-1] + ['--stage=ptxas'], options.threads)[1] - whole[1]
    return row


def host(folder, model, options, isa):
    command = [os.path.join(folder, 'hlo-run'), '--platform=cpu', '--reference_platform=none', '--num_repeats=1', '--json',
               '--q', '--host_isa=' + isa, '--threads=%d' % options.threads, model]
    _, _, text, log = timed(command, options.threads, TF_CPP_VMODULE='compile_times=1')
    found = phases_in(log, 'host')
    row = {'wall': compare.find(json.loads(text), 'kernels_ms') / 1e3, **found}
    if found:
        row['cpu'] = found['lower'] + found['passes'] + found['code'] + found['load']
    return row


def least(rows):
    """The least value of each figure over the rounds."""
    return {key: min(row[key] for row in rows if key in row) for row in rows for key in row}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('parent')
    parser.add_argument('this')
    parser.add_argument('models', nargs='*', default=['resnet50_train_f32', 'gpt2_train'])
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--isas', default='avx2,native', help='instruction set levels of the host rows (default avx2,native)')
    parser.add_argument('--ptxas', action='store_true', help='also time ptxas')
    options = parser.parse_args()
    options.binary = os.path.join(options.this, 'hlo-run')
    load_before, rows = os.getloadavg()[0], []
    cases = [('ptx', ptx, ())] + [('host, ' + isa, host, (isa,)) for isa in options.isas.split(',')]
    for model in options.models:
        path = os.path.join(compare.ROOT, 'testdata/models', model + '.hlo')
        for name, measure, more in cases:
            figures = {folder: [] for folder in (options.parent, options.this)}
            for turn in range(options.rounds):
                print('%s, %s, round %d ...' % (model, name, turn + 1), file=sys.stderr)
                for folder, found in figures.items():
                    found.append(measure(folder, path, options, *more))
            old, new = least(figures[options.parent]), least(figures[options.this])
            number = lambda row, key: compare.cell(row.get(key))
            rows.append([model, name, str(new.get('kernels', '-')), str(new.get('compiled', '-')), number(old, 'wall'), number(new, 'wall'),
                         compare.cell(compare.ratio(new['wall'], old['wall'])), number(old, 'cpu'), number(new, 'cpu')] +
                        [number(new, key) for key in ('plan', 'lower', 'passes', 'code', 'load')] +
                        [number(new, 'ptxas')] * options.ptxas)
    print(compare.conditions(options, load_before) + '\n')
    print(compare.table(['model', 'code', 'kernels', 'compiled', 'parent s', 'this s', 'this/parent', 'parent cpu s', 'this cpu s',
                         'plan, build', 'lower', 'LLVM passes', 'code', 'load'] + ['ptxas'] * options.ptxas, rows))


if __name__ == '__main__':
    main()

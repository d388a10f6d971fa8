#!/usr/bin/env python3
"""Compares the times of compilation: to SASS of sm_90 with XLA:GPU, and to a program that is ready on the cpu with XLA:CPU,
without and with compiled code in a cache. Prints two Markdown tables.

    compile.py                                       # testdata/models/*.hlo
    compile.py --only cpu gpt2_train FILE.hlo

`sass`: the whole process of `hlo-opt --target=h100 --stage=sass`, without a cache. XLA:GPU compiles for a described H200
without a GPU, with autotuning off, as xla_gpu_peer.py does. Its times exclude the start of Python, reading the text, and
the conversion to StableHLO. --peer_python needs jax-cuda13-plugin. Figures are wall time, and processor time of all
threads and of ptxas. Both sides take turns, and each figure is the least of the rounds.

`cpu`: from text to ready (compile_ms of `hlo-run --platform=cpu`) in three processes: without a cache, with an empty
--cache_dir, and with the full one. XLA:CPU runs as in compare.py.
"""
import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import compare
from kernel_compile import timed

# Calls xla_gpu_peer's run_one with a clock that also records processor time. The compiler runs between its last two readings.
PEER = '''
import argparse, contextlib, importlib.util, io, json, os, sys, tempfile, time
peer_path, text, cuda = (os.path.abspath(path) if path else path for path in sys.argv[1:4])
folder = tempfile.TemporaryDirectory()  # run_one leaves files in the current folder.
os.chdir(folder.name)
spec = importlib.util.spec_from_file_location('peer', peer_path)
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)
looks = []
class Clock:
    @staticmethod
    def time():
        looks.append(sum(os.times()[:4]))
        return time.time()
peer.time = Clock
said = io.StringIO()
with contextlib.redirect_stdout(said):
    peer.run_one(argparse.Namespace(dump='/nonexistent', cuda=cuda, variant='triton', passes=False, files=[text],
                                    flag=['--xla_dump_to='], spec=os.path.join(os.path.dirname(peer_path), 'h200.txtpb')))
row = json.loads(said.getvalue().split('RESULT ')[-1])
row['cpu_s'] = looks[-1] - looks[-2] if 'compile_s' in row else None
print(json.dumps(row))
'''


def xla_gpu(text, options):
    command = [options.peer_python, '-c', PEER, options.peer, text, options.cuda]
    row, wrong, _ = compare.run(command, options.threads, options.timeout)
    row = row if isinstance(row, dict) else {}
    return row.get('compile_s'), row.get('cpu_s'), wrong or row.get('error')


def least(values):
    return min((v for v in values if v is not None), default=None)


def sass(text, options, notes):
    """[wall seconds of hlokit, its processor seconds, wall seconds of XLA:GPU, its processor seconds]"""
    figures = [[], [], [], []]
    for _ in range(options.rounds):
        ours = timed([os.path.join(options.folder, 'hlo-opt'), '--target=h100', '--threads=%d' % options.threads,
                      '--stage=sass', '--fill_elided_constants=zeros', text, '-o', '/dev/null'], options.threads)
        wall, cpu, wrong = xla_gpu(text, options)
        for values, value in zip(figures, [ours[0], ours[1], wall, cpu]):
            values.append(value)
        if wrong:
            notes.append('%s, XLA:GPU: %s' % (os.path.basename(text), wrong.strip().splitlines()[0][:200]))
            break
    return [least(values) for values in figures]


def run_cpu(text, options, *flags):
    command = [options.binary, '--platform=cpu', '--reference_platform=none', '--num_repeats=1', '--json', '--q',
               '--threads=%d' % options.threads, *flags, text]
    row, wrong, _ = compare.run(command, options.threads, options.timeout)
    return (row if isinstance(row, dict) else {}), wrong


def cpu(text, options, notes):
    """Seconds of hlokit without a cache, with an empty and with a full one; passes and kernels of the last; seconds of XLA:CPU;
    kernels from the cache."""
    figures, cached = [[], [], [], [], [], []], '-'
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            flag = '--cache_dir=' + os.path.join(folder, 'cache')
            rows = [run_cpu(text, options, *flags) for flags in ([], [flag], [flag])]
        xla, wrong = compare.run_xla(text, options.threads, 0, options.timeout, '--compile_only')
        notes += ['%s: %s' % (os.path.basename(text), w) for _, w in rows + [(0, wrong)] if w]
        seconds = lambda row, key: None if compare.find(row, key) is None else compare.find(row, key) / 1e3
        values = [seconds(row, 'compile_ms') for row, _ in rows]
        values += [seconds(rows[2][0], 'passes_ms'), seconds(rows[2][0], 'kernels_ms'), xla.get('compile_s')]
        for found, value in zip(figures, values):
            found.append(value)
        if compare.find(rows[2][0], 'cached_kernels') is not None:
            cached = '%d of %d' % tuple(compare.find(rows[2][0], key) for key in ('cached_kernels', 'distinct_kernels'))
        if any(w for _, w in rows + [(0, wrong)]):
            break
    return [least(found) for found in figures] + [cached]


def mean(rows, ours, theirs):
    pairs = [(row[ours], row[theirs]) for row in rows if row[ours] and row[theirs]]
    return compare.statistics.geometric_mean([a / b for a, b in pairs]) if pairs else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('models', nargs='*', help='names in testdata/models, or files')
    parser.add_argument('--only', choices=['sass', 'cpu'])
    parser.add_argument('--peer', default=os.path.join(compare.ROOT, '../shared/tools/xla_gpu_peer.py'))
    parser.add_argument('--peer_python', default=compare.python_with_jax())
    parser.add_argument('--cuda', default='/usr/local/cuda', help="folder of XLA:GPU's ptxas and libdevice")
    parser.add_argument('--folder', default=os.path.join(compare.ROOT, 'build/bin'))
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--timeout', type=float, default=900)
    options = parser.parse_args()
    options.binary = os.path.join(options.folder, 'hlo-run')
    load_before, notes, sass_rows, cpu_rows, names = os.getloadavg()[0], [], [], [], []

    def measure(text, name):
        if options.only != 'cpu':
            sass_rows.append(sass(text, options, notes))
        if options.only != 'sass':
            cpu_rows.append(cpu(text, options, notes))
        names.append(name)

    compare.for_each(compare.models_of(options.models), notes, measure)
    print(compare.conditions(options, load_before))
    cell = compare.cell
    ratio = lambda row, ours, theirs: cell(compare.ratio(row[ours], row[theirs]))
    if sass_rows:
        rows = [[name, cell(r[0]), cell(r[2]), ratio(r, 0, 2), cell(r[1]), cell(r[3]), ratio(r, 1, 3)]
                for name, r in zip(names, sass_rows)]
        rows.append(['geometric mean', '', '', cell(mean(sass_rows, 0, 2)), '', '', cell(mean(sass_rows, 1, 3))])
        print('\n' + compare.table(['model, text to SASS', 'ours s', 'XLA:GPU s', 'ours/XLA', 'ours cpu s', 'XLA:GPU cpu s',
                                    'ours/XLA'], rows))
    if cpu_rows:
        rows = [[name, cell(r[0]), cell(r[5]), ratio(r, 0, 5), cell(r[1]), cell(r[2]), ratio(r, 2, 0), cell(r[3]), cell(r[4]), r[6]]
                for name, r in zip(names, cpu_rows)]
        rows.append(['geometric mean', '', '', cell(mean(cpu_rows, 0, 5)), '', '', cell(mean(cpu_rows, 2, 0)), '', '', ''])
        print('\n' + compare.table(['model, text to ready', 'ours s', 'XLA:CPU s', 'ours/XLA', 'empty cache s', 'full cache s',
                                    'full/without', 'of it passes', 'kernels', 'from the cache'], rows))
    if notes:
        print('\n' + '\n'.join('- ' + note for note in notes))


if __name__ == '__main__':
    main()

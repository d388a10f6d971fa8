#!/usr/bin/env python3
"""Compares the interpreter with XLA:CPU on the same HLO texts, arguments and cores. Prints Markdown tables.

    interpreter.py                                  # bench/interp and testdata/models
    interpreter.py --models DIR                     # also the models below DIR that NAMES lists
    interpreter.py FILE.hlo...                      # only these files

The tables are by family of ops, and by model. Columns are the milliseconds of both sides, their ratio, the interpreter's
peak memory, and the difference: the largest |ours - XLA's| of an output divided by its largest |XLA's|. The sides take
turns, and the figures are medians over the rounds. Needs the same programs as compare.py.
"""
import math
import os
import subprocess
import sys
import tempfile

import compare

FAMILIES = ('dot', 'conv', 'elementwise', 'reduce')
# The models of a corpus that fit into the memory of a small machine.
NAMES = ('imagenette.inference-1gpu', 'imagenette.training', 'resnet50.inference-1gpu', 'cappa.inference-1gpu',
         'resnet50_keras_jax_f32', 'dlrm_keras_jax_f32_train_step', 'bench_mass_matrix_35', 'diffrax.b380012920')


def interpret(options, model, flags):
    """({'run_ms', 'megabytes'}, the error or None)."""
    command = [options.binary, '--platform=interpreter', '--reference_platform=none', '--num_repeats=%d' % options.repeats,
               '--json', *flags, model]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=compare.pin(options.threads))
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0), err.seek(0)
        document = compare.last_json(out.read().decode())
        if status or document is None:
            said = err.read().decode().strip().splitlines()
            return {}, 'exit code %d: %s' % (os.waitstatus_to_exitcode(status), (said or ['nothing said'])[0][:200])
    return {'run_ms': compare.find(document, 'run_ms'), 'megabytes': usage.ru_maxrss / 1e3}, None


def finite_share(outputs):
    """The share of finite numbers among the float results in a .npz, without 16-bit ones."""
    code = '''
import sys, numpy as np
floats = [a for a in np.load(sys.argv[1]).values() if a.dtype.kind in 'fc']
count = sum(a.size for a in floats)
print(sum(np.isfinite(a).sum() for a in floats) / count if count else 1)
'''
    done = subprocess.run([compare.python_with_jax(), '-c', code, outputs], capture_output=True, text=True)
    return float(done.stdout) if not done.returncode else 1


def row_of(options, model, notes):
    name = os.path.splitext(os.path.basename(model))[0]
    print('%s ...' % name, file=sys.stderr)
    xla, ours, gap = [], [], None
    flags = ['--fill_elided_constants=zeros', *options.flags.split()]
    with tempfile.TemporaryDirectory() as scratch:
        args, expected, actual = (os.path.join(scratch, f + '.npz') for f in ('args', 'expected', 'actual'))
        for turn in range(options.rounds):
            # hlokit makes the arguments, because it chooses them so that results are finite.
            given = ['--args=' + args] if turn else ['--save_args=' + args, '--save_outputs=' + actual]
            answer, wrong = interpret(options, model, flags + given)
            if wrong:
                notes.append('%s, ours: %s' % (name, wrong))
                break
            ours.append(answer)
            keep = ['--save_outputs=' + expected] if not turn else []
            answer, wrong = compare.run_xla(model, options.threads, options.budget, options.timeout, '--args=' + args, *keep)
            if wrong:
                notes.append('%s, XLA:CPU: %s' % (name, wrong))
            xla.append(answer.get('median_ms'))
        if os.path.exists(expected) and os.path.exists(actual):
            gap = compare.difference(expected, actual)
        if os.path.exists(actual):
            finite = finite_share(actual)
            if finite < 1:
                notes.append('%s: %.2g of the float results are not finite' % (name, 1 - finite))
    theirs, mine = compare.median(xla), compare.median([a.get('run_ms') for a in ours])
    return name, theirs, mine, compare.ratio(mine, theirs), compare.median([a.get('megabytes') for a in ours]), gap


def geomean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def print_table(title, rows):
    rows = rows + [('geometric mean', None, None, geomean([row[3] for row in rows]), None, None)]
    header = [title, 'XLA:CPU ms', 'interpreter ms', 'ratio', 'peak MB', 'difference']
    print('\n' + compare.table(header, [[row[0]] + [compare.cell(v) for v in row[1:]] for row in rows]))


def main():
    options = compare.common_options(__doc__)
    options.add_argument('files', nargs='*', metavar='FILE.hlo')
    options.add_argument('--models', metavar='DIR', action='append', default=[], help='folder of the models of NAMES')
    options.add_argument('--repeats', type=int, default=3, help='runs of the interpreter in a round (default 3)')
    options = options.parse_args()
    load_before, notes = os.getloadavg()[0], []
    tables = {}
    if options.files:
        tables['module'] = options.files
    else:
        folder = os.path.join(compare.HERE, 'interp')
        for family in FAMILIES:
            tables[family] = sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.startswith(family))
        tables['model'] = compare.models_of([])
        found = {}
        for directory in options.models:
            for place, _, files in os.walk(directory):
                found.update({f[:-4]: os.path.join(place, f) for f in files if f.endswith('.hlo') and f[:-4] in NAMES})
        tables['corpus model'] = [found[name] for name in NAMES if name in found]
    print(compare.conditions(options, load_before))
    for title, models in tables.items():
        if models:
            print_table(title, [row_of(options, model, notes) for model in models])
    if notes:
        print('\n' + '\n'.join('- ' + note for note in notes))


if __name__ == '__main__':
    main()

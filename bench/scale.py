#!/usr/bin/env python3
"""Measures how time grows with the number of instructions: five shapes of modules, three sizes, every stage and pass.

    scale.py [--shapes chain,hub] [--sizes 10000,30000,100000] [--rounds 3] [--instructions] [--write FOLDER]

All times are processor time. A stage is a command, and its time is the user and system time of the process. The pipeline
itself times passes (passes.json of --xla_dump_to), all runs of a pass together. `between` is its work after each pass:
the fingerprint and the verifier. `all passes` is the sum. Each time is the best of the rounds. The exponent is the slope
of log time over log size, by least squares over the sizes that take --least milliseconds or more. With fewer than two
such sizes there is none. Rows that take less than --least at the largest size are not listed.

--instructions adds the exponent of the machine instructions executed, which valgrind counts, fifty times slower, at the
smallest and the largest size. If it is 1 and the exponent of time is above 1, the work is linear but caches are not: data
that fits a cache at 10,000 instructions does not at 100,000.

The exit code is 1 if the exponent of a stage is above --exponent, `check` takes more than --check seconds at the largest
size, or `scheduled` more than --scheduled. Passes above --exponent are only named: at the smallest size they take some
milliseconds in a cache, so their instructions say more than their time.
"""
import argparse
import glob
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile

import compare

F32 = 'f32[8,16]{1,0}'


def module(name, parameters, body, root, computations=''):
    """A module whose entry has the lines of `body` in this order, and then `root`."""
    lines = ['  p%d = %s parameter(%d)' % (i, shape, i) for i, shape in enumerate(parameters)] + body
    return 'HloModule %s\n\n%sENTRY main {\n%s\n  ROOT %s\n}\n' % (name, computations, '\n'.join(lines), root)


def chain(size):
    """Each instruction uses the instruction before it."""
    body, x = [], 'p0'
    for i in range(size // 3):
        body += ['  m.%d = %s multiply(%s, p1)' % (i, F32, x), '  a.%d = %s add(m.%d, p0)' % (i, F32, i),
                 '  x.%d = %s tanh(a.%d)' % (i, F32, i)]
        x = 'x.%d' % i
    return module('chain', [F32, F32], body, 'r = %s negate(%s)' % (F32, x))


def wide(size):
    """Independent groups, each with one parameter and one result."""
    groups = size // 4
    body = []
    for i in range(groups):
        body += ['  m.%d = %s multiply(p%d, p%d)' % (i, F32, i, i), '  e.%d = %s exponential(m.%d)' % (i, F32, i),
                 '  a.%d = %s add(e.%d, p%d)' % (i, F32, i, i)]
    results = ', '.join('a.%d' % i for i in range(groups))
    return module('wide', [F32] * groups, body, 'r = (%s) tuple(%s)' % (', '.join([F32] * groups), results))


LAYER = '''\
  dot.{0} = f32[8,32]{{1,0}} dot({1}, p1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  bias.{0} = f32[8,32]{{1,0}} broadcast(p3), dimensions={{1}}
  sum.{0} = f32[8,32]{{1,0}} add(dot.{0}, bias.{0})
  gate.{0} = f32[8,32]{{1,0}} logistic(sum.{0})
  product.{0} = f32[8,32]{{1,0}} multiply(sum.{0}, gate.{0})
  zero.{0} = f32[] constant(0)
  total.{0} = f32[8]{{0}} reduce(product.{0}, zero.{0}), dimensions={{1}}, to_apply=region.{0}
  totals.{0} = f32[8,32]{{1,0}} broadcast(total.{0}), dimensions={{0}}
  norm.{0} = f32[8,32]{{1,0}} divide(product.{0}, totals.{0})
  zeros.{0} = f32[8,32]{{1,0}} broadcast(zero.{0}), dimensions={{}}
  relu.{0} = f32[8,32]{{1,0}} maximum(norm.{0}, zeros.{0})
  back.{0} = f32[8,16]{{1,0}} dot(relu.{0}, p2), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  x.{0} = f32[8,16]{{1,0}} add({1}, back.{0})'''
REGION = '''\
region.{0} {{
  a.{0} = f32[] parameter(0)
  b.{0} = f32[] parameter(1)
  ROOT s.{0} = f32[] add(a.{0}, b.{0})
}}

'''


def layers(size):
    """Layers one after the other, each with two products, a sum over rows and elementwise ops."""
    count = size // 16
    body = [LAYER.format(i, 'x.%d' % (i - 1) if i else 'p0') for i in range(count)]
    regions = ''.join(REGION.format(i) for i in range(count))
    shapes = [F32, 'f32[16,32]{1,0}', 'f32[32,16]{1,0}', 'f32[32]{0}']
    return module('layers', shapes, body, 'r = %s negate(x.%d)' % (F32, count - 1), regions)


CALLEE = '''\
f.{0} {{
  x.{0} = f32[8,16]{{1,0}} parameter(0)
  y.{0} = f32[8,16]{{1,0}} parameter(1)
  m.{0} = f32[8,16]{{1,0}} multiply(x.{0}, y.{0})
  c.{0} = f32[8,16]{{1,0}} call(m.{0}), to_apply=shared
  ROOT a.{0} = f32[8,16]{{1,0}} add(c.{0}, x.{0})
}}

'''
SHARED = 'shared {\n  z = f32[8,16]{1,0} parameter(0)\n  ROOT t = f32[8,16]{1,0} tanh(z)\n}\n\n'


def calls(size):
    """Calls one after the other, each of its own computation. All of these call one shared computation."""
    count = size // 6
    body = ['  r.%d = %s call(%s, p1), to_apply=f.%d' % (i, F32, 'r.%d' % (i - 1) if i else 'p0', i) for i in range(count)]
    return module('calls', [F32, F32], body, 'out = %s negate(r.%d)' % (F32, count - 1),
                  SHARED + ''.join(CALLEE.format(i) for i in range(count)))


def hub(size):
    """One constant and one parameter with many users, some of them dead."""
    count = size // 4
    vector = 'f32[8]{0}'
    body, last = ['  c = f32[8]{0} constant({1, 2, 3, 4, 5, 6, 7, 8})'], 'c'
    for i in range(count):
        body += ['  s.%d = %s slice(p0), slice={[%d:%d]}' % (i, vector, i, i + 8), '  a.%d = %s add(s.%d, c)' % (i, vector, i),
                 '  dead.%d = %s multiply(s.%d, c)' % (i, vector, i), '  m.%d = %s maximum(a.%d, %s)' % (i, vector, i, last)]
        last = 'm.%d' % i
    return module('hub', ['f32[%d]{0}' % (count + 8)], body, 'r = %s negate(%s)' % (vector, last))


SHAPES = {shape.__name__: shape for shape in (chain, wide, layers, calls, hub)}
STAGES = {
    'parse': ['hlo', 'check', '--q', '--verify=off'],
    'check': ['hlo', 'check', '--q'],
    'text to text': ['hlo', 'opt', '--passes=', '-o', os.devnull],
    'inspect': ['hlo', 'inspect', 'stats'],
    'scheduled': ['hlo', 'opt', '--stage=hlo-backend', '-o', os.devnull],
}


def seconds(command, options):
    """User and system time of the process, the best of the rounds. Infinite if it fails or takes too long."""
    best = math.inf
    for _ in range(options.rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=options.timeout)
        except subprocess.TimeoutExpired:
            return math.inf
        if done.returncode:
            print(done.stderr.decode(), file=sys.stderr)
            return math.inf
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def pass_seconds(path, options):
    """Seconds of each pass, of `between` and of `all passes`, in one run of the pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.join(options.binaries, 'hlo'), 'opt', '--stage=hlo-backend', '--xla_dump_to=' + folder, path, '-o']
        try:
            subprocess.run(command + [os.devnull], stderr=subprocess.DEVNULL, timeout=options.timeout, check=True)
        except subprocess.SubprocessError:
            return {}
        with open(glob.glob(folder + '/*.passes.json')[0], encoding='utf-8') as file:
            runs = json.load(file)['passes']
    sums = {}
    for run in runs:
        for key, milliseconds in ((run['pass'], run['processor_ms']), ('between', run['after_processor_ms'])):
            for name in (key, 'all passes'):
                sums[name] = sums.get(name, 0) + milliseconds / 1e3
    return sums


def times(path, options):
    found = {stage: seconds([os.path.join(options.binaries, command[0]), *command[1:], path], options)
             for stage, command in STAGES.items()}
    for _ in range(options.rounds):
        for name, value in pass_seconds(path, options).items():
            found[name] = min(found.get(name, math.inf), value)
    return found


def pass_functions():
    """{function: pass}, from the rows of passes.def."""
    with open(os.path.join(compare.ROOT, 'src/passes/passes.def'), encoding='ascii') as file:
        rows = re.findall(r'^PASS\("([^"]*)",\s*"[^"]*",\s*(\w+)', file.read(), re.MULTILINE)
    return {function: name for name, function in rows}


def executed(command):
    """Instructions that a process executes, by function including its callees. The key '' has the total."""
    with tempfile.TemporaryDirectory() as folder:
        out = folder + '/callgrind.out'
        subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=' + out, *command],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        text = subprocess.run(['callgrind_annotate', '--inclusive=yes', '--threshold=100', '--show-percs=no', out],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    counts = {}
    for count, name in re.findall(r'^ *([\d,]+) +(?:\S+:hlo::([\w:]+)\(|PROGRAM TOTALS)', text, re.MULTILINE):
        counts[name] = max(counts.get(name, 0), int(count.replace(',', '')))
    return counts


def instructions(path, options):
    """Executed instructions, under the names that `times` returns."""
    found = {}
    for stage, command in STAGES.items():
        counts = executed([os.path.join(options.binaries, command[0]), *command[1:], path])
        found[stage] = counts['']
    # These are counts of the last stage, which runs the passes.
    found['all passes'] = counts.get('RunPipeline', 0)
    found['between'] = counts.get('VerifyAgain', 0) + counts.get('Fingerprinter::Of', 0)
    for function, name in pass_functions().items():
        found[name] = counts.get(function, 0)
    return found


def exponent(sizes, values, least):
    points = [(math.log(size), math.log(value)) for size, value in zip(sizes, values) if least <= value < math.inf]
    if len(points) < 2:
        return None
    x, y = (sum(column) / len(points) for column in zip(*points))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--shapes', default=','.join(SHAPES), help='shapes of modules (default %(default)s)')
    options.add_argument('--sizes', default='10000,30000,100000', help='numbers of instructions (default %(default)s)')
    options.add_argument('--rounds', type=int, default=3, help='rounds of measuring (default 3)')
    options.add_argument('--timeout', type=float, default=120, help='seconds for one process (default 120)')
    options.add_argument('--least', type=float, default=5, help='shortest time that counts for an exponent, in milliseconds (default 5)')
    options.add_argument('--exponent', type=float, default=1.15, help='largest exponent of a stage (default 1.15)')
    options.add_argument('--check', type=float, default=0.5, help='most seconds of the stage `check` (default 0.5)')
    options.add_argument('--scheduled', type=float, default=3, help='most seconds of the stage `scheduled` (default 3)')
    options.add_argument('--instructions', action='store_true', help='also count executed instructions (slow)')
    options.add_argument('--write', metavar='FOLDER', help='only write the modules there')
    options.add_argument('--binaries', default=os.path.join(compare.ROOT, 'build/bin'), help='folder of the programs (default build/bin)')
    options = options.parse_args()
    sizes = [int(size) for size in options.sizes.split(',')]
    limits = {'check': options.check, 'scheduled': options.scheduled}
    late, steep = [], []
    for shape in options.shapes.split(','):
        with tempfile.TemporaryDirectory() as temporary:
            folder, columns, counts = options.write or temporary, [], []
            for size in sizes:
                path = os.path.join(folder, '%s_%d.hlo' % (shape, size))
                with open(path, 'w', encoding='ascii') as file:
                    file.write(SHAPES[shape](size))
                if options.write:
                    continue
                columns.append(times(path, options))
                if options.instructions and size in (sizes[0], sizes[-1]):
                    counts.append(instructions(path, options))
        if options.write:
            continue
        rows = []
        for name in max(columns, key=len):
            values = [column.get(name, math.inf) for column in columns]
            slope = exponent(sizes, values, options.least / 1e3)
            work = exponent((sizes[0], sizes[-1]), [column.get(name, 0) for column in counts], 1) if counts else None
            if (slope or 0) > options.exponent:
                of_work = '' if work is None else ', and exponent %.2f of executed instructions' % work
                (late if name in STAGES else steep).append('%s: %s has exponent %.2f%s' % (shape, name, slope, of_work))
            if values[-1] > limits.get(name, options.timeout):
                late.append('%s: %s takes %.2f s' % (shape, name, values[-1]))
            if values[-1] >= options.least / 1e3:
                slopes = [slope, work] if counts else [slope]
                rows.append([name] + ['%.0f' % (1e3 * value) for value in values] +
                            ['-' if one is None else '%.2f' % one for one in slopes])
        head = [shape] + ['%d ms' % size for size in sizes] + ['exponent']
        print(compare.table(head + (['exponent of instructions'] if counts else []), rows) + '\n', flush=True)
    if steep:
        print('Passes above %.2f:\n  %s' % (options.exponent, '\n  '.join(steep)))
    print('\n'.join(late) or 'All stages are within their limits.')
    sys.exit(bool(late))


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Compares the times of hlokit and XLA:GPU on the same HLO texts and the same GPU. Prints a Markdown table.

    gpu_race.py testdata/models/*.hlo
    gpu_race.py --hlo bin --library_path /usr/local/cuda/lib64 --deadline 120 a.hlo b.hlo > table.md

XLA:GPU runs first, through the jaxlib of this Python, all texts in one process. Then hlokit runs each text in its own
process. XLA's figure is the mean time of executions that are queued one after the other, with arguments in the GPU's
memory. If the program consumes donated arguments, they are made again and each execution is waited for. hlokit's figures
are the time of one execution on the GPU's clock, and the time until the host knows that it has ended. The host may queue
executions more slowly than the GPU runs them, so ratios below 40 us of XLA are marked and not part of the mean. `ready`
is the time from text to code, with empty caches. XLA autotunes products in this time. --deadline is in seconds for each
side. Texts that are not reached are a dash.
"""
import argparse
import importlib.metadata
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument('models', nargs='+', metavar='MODEL.hlo')
options.add_argument('--hlo', default='build/bin', help='folder of hlo-run (default build/bin)')
options.add_argument('--library_path', default='', help='the flag --library_path of hlo-run')
options.add_argument('--flags', default='', help='more flags for hlo-run')
options.add_argument('--budget', type=float, default=0.3, help='seconds of timed runs of each side (default 0.3)')
options.add_argument('--deadline', type=float, default=1e9, help='seconds for each side')
options.add_argument('--no_xla', action='store_true', help='do not run XLA')
options.add_argument('--stablehlo', default='', metavar='DIR', help='folder of the files that --convert wrote, for a jaxlib that cannot read HLO')
options.add_argument('--convert', metavar='DIR', help='only convert the texts to StableHLO in this folder, which needs no GPU')
options.add_argument('--xla_worker', action='store_true', help=argparse.SUPPRESS)
options = options.parse_args()

FEEDING_US = 40  # Chosen, not measured, to be well above the time that the host needs to queue an execution.


def name_of(path):
    return os.path.basename(path).removesuffix('.hlo')


def stablehlo_of(path):
    """The input of XLA's clients, which do not accept HLO: (MLIR text, [[dtype, dims] of each parameter])."""
    from jaxlib import _hlo, _jax
    with open(path) as file:
        module = _hlo.hlo_module_from_text(file.read())
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    shapes = [[str(shape.numpy_dtype()), list(shape.dimensions())]
              for shape in computation.program_shape().parameter_shapes()]
    return _jax.mlir.xla_computation_to_mlir_module(computation), shapes


def convert(models, folder):
    import jax
    jax.config.update('jax_enable_x64', True)
    os.makedirs(folder, exist_ok=True)
    for path in models:
        with open(os.path.join(folder, name_of(path) + '.json'), 'w') as file:
            json.dump(stablehlo_of(path), file)


class Xla:
    """XLA:GPU through jaxlib."""

    def __init__(self):
        os.environ.update(TF_CPP_MIN_LOG_LEVEL='3', XLA_PYTHON_CLIENT_PREALLOCATE='false')
        import jax
        import jax.extend.backend
        jax.config.update('jax_enable_x64', True)
        self.jax = jax
        self.client = jax.extend.backend.get_backend('gpu')

    def compile(self, path):
        from jaxlib import xla_client
        start = time.perf_counter()
        if options.stablehlo:
            with open(os.path.join(options.stablehlo, name_of(path) + '.json')) as file:
                stablehlo, shapes = json.load(file)
        else:
            stablehlo, shapes = stablehlo_of(path)
        devices = xla_client.DeviceList(tuple(self.client.local_devices()[:1]))
        executable = self.client.compile_and_load(stablehlo, devices, xla_client.CompileOptions())
        return shapes, executable, time.perf_counter() - start

    def argument(self, dtype, dims, seed):
        jax = self.jax
        key, dtype = jax.random.key(seed), jax.numpy.dtype(dtype)
        if dtype == bool:
            return jax.random.bernoulli(key, 0.5, dims)
        if jax.numpy.issubdtype(dtype, jax.numpy.integer):
            return jax.random.randint(key, dims, 0, 8).astype(dtype)
        return jax.random.normal(key, dims, jax.numpy.float32).astype(dtype)

    def time(self, shapes, executable):
        """Milliseconds of one execution, and whether its arguments were consumed."""
        jax = self.jax
        make = lambda: [self.argument(dtype, dims, i) for i, (dtype, dims) in enumerate(shapes)]
        args = make()
        jax.block_until_ready(args)

        def run(count):
            start = time.perf_counter()
            for _ in range(count):
                results = executable.execute(args)
            jax.block_until_ready(results)
            return time.perf_counter() - start

        run(1)
        if any(a.is_deleted() for a in args):
            times, spent = [], time.perf_counter()
            while len(times) < 5 or (time.perf_counter() - spent < options.budget and len(times) < 100):
                args = make()
                jax.block_until_ready(args)
                times.append(run(1))
            return sorted(times)[len(times) // 2] * 1e3, True
        one = run(3) / 3
        count = max(3, min(20, int(options.budget / 5 / one)))
        return sorted(run(count) for _ in range(5))[2] / count * 1e3, False


def xla_worker(models):
    """Prints a line of JSON for each model immediately, so that after a crash another worker continues with the next model."""
    xla = Xla()
    for path in models:
        print(json.dumps({'name': name_of(path), 'begun': True}), flush=True)
        try:
            shapes, executable, seconds = xla.compile(path)
            ms, alone = xla.time(shapes, executable)
            row = {'ms': ms, 'ready_ms': seconds * 1e3, 'alone': alone}
        except Exception as error:
            row = {'error': (type(error).__name__ + ' ' + str(error))[:200]}
        print(json.dumps({'name': name_of(path), **row}), flush=True)


def run_xla(models):
    rows, start, todo = {}, time.perf_counter(), list(models)
    shared = [sys.executable, '-X', 'faulthandler', __file__, '--xla_worker', '--budget=%g' % options.budget,
              '--stablehlo=' + options.stablehlo]
    while todo and options.deadline > time.perf_counter() - start:
        worker = subprocess.Popen(shared + todo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        timer = threading.Timer(options.deadline - (time.perf_counter() - start), worker.kill)
        timer.start()
        said = []
        threading.Thread(target=lambda: said.extend(worker.stderr), daemon=True).start()
        begun = None
        for line in worker.stdout:
            row = json.loads(line)
            begun = name = row.pop('name')
            rows[name] = row if 'begun' not in row else {'error': 'no answer'}
        code = worker.wait()
        timer.cancel()
        if code == 0:
            break
        if begun is None:
            return {name_of(path): {'error': 'jaxlib does not start: ' + ' '.join(said)[-300:]} for path in models}
        rows[begun] = {'error': 'ended with %d: %s' % (code, ' '.join(said)[-300:].strip())} if code != -9 else rows[begun]
        todo = todo[[name_of(path) for path in todo].index(begun) + 1:]
    return rows


def run_ours(path):
    with tempfile.NamedTemporaryFile(suffix='.json') as report:
        command = [os.path.join(options.hlo, 'hlo-run'), '--platform=cuda', '--bench', '--reference_platform=none',
                   '--bench_seconds=%g' % options.budget, '--json=' + report.name, *options.flags.split(), path]
        if options.library_path:
            command.insert(1, '--library_path=' + options.library_path)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=40)
            row = json.load(open(report.name))
        except (subprocess.TimeoutExpired, ValueError) as error:
            return {'error': type(error).__name__}
        if done.returncode not in (0, 5):
            said = (done.stderr or done.stdout).strip().splitlines()
            row['error'] = next((line for line in said if 'error' in line), said[-1:])
        return row


def text(value, digits=3):
    return '–' if value is None else '%.*g' % (digits, value)


def geomean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def main():
    if options.convert:
        return convert(options.models, options.convert)
    if options.xla_worker:
        return xla_worker(options.models)
    theirs = {} if options.no_xla else run_xla(options.models)
    if not options.no_xla:
        print('XLA:GPU of jaxlib %s\n' % importlib.metadata.version('jaxlib'))
    print('| module | ours, ms on the GPU | until the host knows | XLA:GPU, ms | ratio | kernels | ready, ms | XLA | ratio |')
    print('|---|---|---|---|---|---|---|---|---|', flush=True)
    ratios, ready_ratios, notes, device = [], [], [], 'no device'
    start = time.perf_counter()
    for path in options.models:
        name = name_of(path)
        late = time.perf_counter() - start > options.deadline
        our, their = {} if late else run_ours(path), theirs.get(name, {})
        device = our.get('device', device)
        ms, xla_ms = our.get('on_device_ms'), their.get('ms')
        ratio = ms / xla_ms if ms and xla_ms else None
        ready, xla_ready = our.get('compile_ms'), their.get('ready_ms')
        ready_ratio = ready / xla_ready if ready and xla_ready else None
        if ready_ratio:
            ready_ratios.append(ready_ratio)
        mark = ''
        if ratio and their['alone']:
            mark = ' (each waited for)'
        elif ratio and xla_ms * 1e3 < FEEDING_US:
            mark = ' (fed too slowly?)'
        elif ratio:
            ratios.append(ratio)
        kernels = our.get('kernels')
        if kernels is not None:
            kernels = '%d + %d' % (kernels, our.get('library_calls', 0))
        # Printed immediately, so that an interrupted run has the rows until then.
        print('| %s | %s | %s | %s | %s%s | %s | %s | %s | %s |' % (
            name, text(ms), text(our.get('run_ms')), text(xla_ms), text(ratio), mark, kernels, text(ready, 4),
            text(xla_ready, 4), text(ready_ratio)), flush=True)
        for side, row in (('ours', our), ('XLA', their)):
            if 'error' in row:
                notes.append('%s, %s: %s' % (name, side, row['error']))
    print('| geometric mean of %d and %d | | | | %s | | | | %s |' % (
        len(ratios), len(ready_ratios), text(geomean(ratios)), text(geomean(ready_ratios))))
    print('\n%s' % device + ''.join('\n- ' + note for note in notes))


sys.exit(main())

#!/usr/bin/env python3
"""Compiles one HLO text with XLA:CPU (through jaxlib), times it, and prints one JSON object.

    xla_cpu.py MODEL.hlo --threads 2
    {"model": ..., "threads": 2, "parse_s": ..., "convert_s": ..., "compile_s": ..., "first_ms": ..., "median_ms": ...,
     "min_ms": ..., "runs": ..., "finite": true}

The steps are text -> HloModule -> StableHLO -> XLA:CPU, because jaxlib has no shorter path. compile_s is the last step
only, for which a JAX user waits. A run is from the call until the last result is ready, with arguments in XLA's memory.
Donated arguments are copied before each run, outside the time. The first run is reported separately.

Arguments are made from --seed: floats uniform in [-1, 1), or in [0, 1) for parameters that are variances or second
moments, and integers in [0, 8). --save_args writes them and --save_outputs the results as .npz with keys argN and outN,
bf16 as its bits in uint16. --args reads such a file.

XLA:CPU allocates its results with malloc. By default malloc returns large blocks to the system, and gets them back as
small pages that must be cleared. This takes up to three quarters of the time of a kernel on large arrays. To exclude it,
malloc is told to keep freed memory and to request huge pages. --memory=default measures without this.
"""
import argparse
import json
import os
import re
import sys
import time

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument('model', metavar='MODEL.hlo')
options.add_argument('--threads', type=int, default=2, help='number of cores, which is also the size of the thread pools (default 2)')
options.add_argument('--budget', type=float, default=3, help='seconds of timed runs (default 3)')
options.add_argument('--min_runs', type=int, default=3, help='least number of timed runs (default 3)')
options.add_argument('--max_runs', type=int, default=1000, help='largest number of timed runs (default 1000)')
options.add_argument('--memory', choices=['kept', 'default'], default='kept', help='kept: malloc keeps freed memory (default kept)')
options.add_argument('--seed', type=int, default=0)
options.add_argument('--args', metavar='F.npz')
options.add_argument('--save_args', metavar='F.npz')
options.add_argument('--save_outputs', metavar='F.npz')
options.add_argument('--compile_only', action='store_true', help='do not run the program')
options = options.parse_args()

KEPT = {'MALLOC_MMAP_MAX_': '0', 'MALLOC_TRIM_THRESHOLD_': str(1 << 40), 'MALLOC_TOP_PAD_': str(1 << 30),
        'MALLOC_ARENA_MAX': '1', 'GLIBC_TUNABLES': 'glibc.malloc.hugetlb=1'}
if options.memory == 'kept' and not KEPT.items() <= os.environ.items():  # malloc reads these variables only at the start of the process.
    os.execve(sys.executable, [sys.executable] + sys.argv, {**os.environ, **KEPT})

# Set before jaxlib is loaded, which chooses the size of its thread pools by the available cores.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
os.environ.update(JAX_PLATFORMS='cpu', TF_CPP_MIN_LOG_LEVEL='2')
import jax
import jax.extend.backend
import jaxlib
import ml_dtypes
import numpy as np
from jaxlib import _hlo, _jax, lapack, xla_client

jax.config.update('jax_enable_x64', True)
getattr(lapack, '_lapack', lapack).initialize()  # Decompositions call LAPACK.


def parameter_names(text):
    """The names that JAX gave the parameters of the entry computation, by number."""
    return dict((int(n), name) for n, name in
                re.findall(r' parameter\((\d+)\), metadata=\{op_name="(.*?)"', text[text.rindex('\nENTRY'):]))


def make_argument(rng, shape, name):
    dims, dtype = shape.dimensions(), np.dtype(shape.numpy_dtype())
    if dtype.kind == 'b':
        return rng.integers(0, 2, dims).astype(dtype)
    if dtype.kind in 'iu':
        return rng.integers(0, 8, dims).astype(dtype)
    never_negative = 'variance' in name or re.match(r'v\b', name)
    values = rng.random(dims, np.float32)
    return (values if never_negative else 2 * values - 1).astype(dtype)


def bits(array):
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def arguments(text, shapes):
    if not options.args:
        rng, names = np.random.default_rng(options.seed), parameter_names(text)
        return [make_argument(rng, shape, names.get(i, '')) for i, shape in enumerate(shapes)]
    with np.load(options.args) as file:
        stored = [file['arg%d' % i] for i in range(len(shapes))]
    return [a if a.dtype == s.numpy_dtype() else a.view(s.numpy_dtype()) for a, s in zip(stored, shapes)]


def execute(executable, args):
    results = executable.execute(args)
    for result in results:
        result.block_until_ready()
    return results


def main():
    with open(options.model) as file:
        text = file.read()
    client = jax.extend.backend.get_backend('cpu')
    clock = [time.perf_counter()]
    module = _hlo.hlo_module_from_text(text)
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    clock.append(time.perf_counter())
    stablehlo = _jax.mlir.xla_computation_to_mlir_module(computation)
    clock.append(time.perf_counter())
    devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
    executable = client.compile_and_load(stablehlo, devices, xla_client.CompileOptions())
    clock.append(time.perf_counter())
    about = {
        'model': os.path.basename(options.model), 'jaxlib': jaxlib.__version__, 'threads': len(os.sched_getaffinity(0)),
        'memory': options.memory,
        'parse_s': round(clock[1] - clock[0], 4), 'convert_s': round(clock[2] - clock[1], 4),
        'compile_s': round(clock[3] - clock[2], 4)}
    if options.compile_only:
        return print(json.dumps(about))

    host = arguments(text, computation.program_shape().parameter_shapes())
    if options.save_args:
        np.savez(options.save_args, **{'arg%d' % i: bits(a) for i, a in enumerate(host)})
    device, seconds = [jax.device_put(a) for a in host], []
    while len(seconds) < 1 + options.min_runs or (sum(seconds[1:]) < options.budget and len(seconds) < 1 + options.max_runs):
        device = [jax.device_put(h) if d.is_deleted() else d for h, d in zip(host, device)]
        jax.block_until_ready(device)
        results = None  # Frees their memory for the next run.
        start = time.perf_counter()
        results = execute(executable, device)
        seconds.append(time.perf_counter() - start)

    results = [np.asarray(r) for r in results]
    if options.save_outputs:
        np.savez(options.save_outputs, **{'out%d' % i: bits(r) for i, r in enumerate(results)})
    warm = sorted(seconds[1:])
    print(json.dumps({
        **about, 'first_ms': round(seconds[0] * 1e3, 4), 'median_ms': round(warm[len(warm) // 2] * 1e3, 4),
        'min_ms': round(warm[0] * 1e3, 4), 'runs': len(warm),
        'finite': all(bool(np.isfinite(r.astype(np.float64)).all()) for r in results)}))


sys.exit(main())

"""Lowers a JAX function to HLO text as it is before any optimization, and writes it below testdata.

A model is one file beside this one: plain functions over dictionaries of arrays, and a list of write(...) calls at the
end. Weights are parameters, in the order in which JAX flattens the arguments (lists by position, dictionaries by key).
The text is the one XLA's default printer gives, with large constants in full. Two runs write the same bytes.
"""
import os
import re
import sys

import jax
import jax.numpy as jnp
from jax._src import source_info_util
from jaxlib import _hlo

FOLDER = os.environ.get('MODELS_OUT') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../testdata')

# Locations in the text are those of the model's own file, so that a change here changes no text.
source_info_util.register_exclusion(os.path.abspath(__file__))


def f32(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.float32)


def bf16(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.bfloat16)


def s32(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.int32)


def u32(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.uint32)


def write(what, function, *args, name=None, large=False, donate=(), folder='models'):
    """Writes NAME.hlo; `what` is its comment, one line. The module has the function's name, and so has the
    file unless `name` is given. `donate`: positions of the arguments whose memory the results may take.
    `folder`: below testdata."""
    name = name or function.__name__
    wanted = sys.argv[1:]
    if wanted and name not in wanted:
        return
    computation = jax.jit(function, donate_argnums=donate).lower(*args).compiler_ir('hlo')
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    text = without_folders(computation.as_hlo_module().to_string(options))
    script = os.path.basename(sys.argv[0])
    path = os.path.join(FOLDER, folder, 'large' if large else '', name + '.hlo')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as out:
        out.write('// %s\n// Written by bench/models/%s with jax %s, before any optimization.\n' % (what, script, jax.__version__))
        out.write(text.rstrip('\n') + '\n')
    print('%8d bytes  %s' % (os.path.getsize(path), os.path.relpath(path)))


def without_folders(text):
    """File names in the stack-frame table as bare names."""
    start, end = text.find('\nFileNames\n'), text.find('\nFunctionNames\n')
    if start < 0:
        return text
    return text[:start] + re.sub(r'(?m)^(\d+ ").*/', r'\1', text[start:end]) + text[end:]

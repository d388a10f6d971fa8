"""Small programs of the kinds that people bring: what they use beside matrix products, which no kernel of ours computes."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

jax.config.update('jax_num_cpu_devices', 4)

from lower import f32, s32, u32, write  # noqa: E402: after the number of devices is set

FOLDER = 'programs'


def top_k_sampling(logits, key):
    """Next tokens: the 40 likeliest, at temperature 0.8, by the Gumbel trick."""
    values, tokens = lax.top_k(logits / 0.8, 40)
    noise = jax.random.gumbel(jax.random.wrap_key_data(key), values.shape)
    choice = jnp.argmax(values + noise, axis=-1)
    return jnp.take_along_axis(tokens, choice[:, None], axis=-1)[:, 0], jax.nn.softmax(values)


def fft_convolution(signal, kernel):
    """Linear convolution through real transforms of the next power of two."""
    length = signal.shape[-1] + kernel.shape[-1] - 1
    size = 1 << (length - 1).bit_length()
    product = jnp.fft.rfft(signal, size) * jnp.fft.rfft(kernel, size)
    return jnp.fft.irfft(product, size)[..., :length]


def sort_and_unique(ids, scores):
    """Scores added up by id: the ids sorted, each once, and the order of their totals."""
    order = jnp.argsort(ids)
    keys, places, counts = jnp.unique(ids[order], size=24, fill_value=-1, return_inverse=True, return_counts=True)
    totals = jax.ops.segment_sum(scores[order], places, num_segments=24)
    return keys, counts, totals, jnp.argsort(-totals)


def decompositions(a, b):
    """What linear algebra asks for of a symmetric, a positive and a plain matrix."""
    symmetric = (a + a.T) / 2
    positive = a @ a.T + 12 * jnp.eye(12)
    w, v = jnp.linalg.eigh(symmetric)
    q, r = jnp.linalg.qr(a)
    return (w, (v * w) @ v.T, q @ r, jnp.linalg.cholesky(positive), jnp.linalg.solve(a + 12 * jnp.eye(12), b),
            jnp.linalg.slogdet(positive)[1])


MESH = Mesh(np.array(jax.devices()).reshape(2, 2), ('data', 'model'))


def sharded_map(x, w):
    """A layer of which every device computes its part, sums over one axis of the mesh and shifts along the other."""
    def part(x, w):
        y = lax.psum(x @ w, 'model')
        return jnp.tanh(y) + lax.ppermute(y, 'data', [(0, 1), (1, 0)])
    return jax.shard_map(part, mesh=MESH, in_specs=(P('data', 'model'), P('model', None)), out_specs=P('data', None))(x, w)


def sharding_constraint(x, w):
    """Hints for a partitioner in the midst of a program for one."""
    h = lax.with_sharding_constraint(x @ w, NamedSharding(MESH, P('data', 'model')))
    return lax.with_sharding_constraint(jax.nn.gelu(h) @ w.T, NamedSharding(MESH, P('data', None)))


def special_functions(x, dx):
    """Values and directional derivatives of what statistics needs."""
    s = jax.scipy.special

    def f(x):
        p = jnp.abs(x) + 0.5
        return (s.gammaln(p) + s.digamma(p), s.betainc(2.0, 3.0, p / (1 + p)), s.i1e(x), s.gammainc(p, 2.0), s.ndtri(p / (1 + p)),
                s.erfinv(x / 5), s.zeta(p + 1, 2.0))
    return jax.jvp(f, (x,), (dx,))


def int8_product(x, w, scale):
    """Activations quantized by row, an int8 product summed up in s32, and back to f32."""
    step = jnp.max(jnp.abs(x), axis=-1, keepdims=True) / 127
    q = jnp.clip(jnp.round(x / step), -127, 127).astype(jnp.int8)
    return lax.dot_general(q, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32) * step * scale


s8 = lambda *dims: jax.ShapeDtypeStruct(dims, jnp.int8)

write('Sampling of the next token from the 40 likeliest', top_k_sampling, f32(4, 1000), u32(2), folder=FOLDER)
write('Convolution of long signals by real FFTs', fft_convolution, f32(3, 900), f32(3, 77), folder=FOLDER)
write('Sums by id, with sorted unique ids', sort_and_unique, s32(200), f32(200), folder=FOLDER)
write('eigh, qr, cholesky, solve, slogdet', decompositions, f32(12, 12), f32(12, 3), folder=FOLDER)
write('shard_map over a mesh of 2x2', sharded_map, f32(8, 16), f32(16, 6), folder=FOLDER)
write('with_sharding_constraint over a mesh of 2x2', sharding_constraint, f32(8, 16), f32(16, 32), folder=FOLDER)
write('jvp of special functions', special_functions, f32(33), f32(33), folder=FOLDER)
write('int8 product with scales by row and column', int8_product, f32(9, 64), s8(64, 48), f32(48), folder=FOLDER)

"""sum(x + y * z): the smallest program with a fusion and a reduction in it."""
import jax.numpy as jnp

from lower import f32, write


def muladd_reduce(x, y, z):
    return jnp.sum(x + y * z)


write('sum(x + y * z) over f32[256,512]', muladd_reduce, f32(256, 512), f32(256, 512), f32(256, 512))

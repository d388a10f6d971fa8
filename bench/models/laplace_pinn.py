"""One training step of a physics-informed network for Laplace's equation on the unit square.

The network is u(x, y). The loss is the mean square of u_xx + u_yy at inner points, plus that of u minus given values at
boundary points; its gradient takes third derivatives of the network.
"""
import jax
import jax.numpy as jnp

from lower import f32, u32, write
from training import adam

WIDTHS = (2, 32, 32, 32, 1)
INNER, BOUNDARY = 256, 64


def u(params, point):
    x = point
    for p in params[:-1]:
        x = jnp.tanh(x @ p['kernel'] + p['bias'])
    return (x @ params[-1]['kernel'] + params[-1]['bias'])[0]


def laplacian(params, point):
    def along(direction):
        def derivative(p):
            return jax.jvp(lambda p: u(params, p), (p,), (direction,))[1]
        return jax.jvp(derivative, (point,), (direction,))[1]
    return along(jnp.array([1.0, 0.0])) + along(jnp.array([0.0, 1.0]))


def laplace_pinn(params, m, v, step, inner, boundary, values):
    def loss(params):
        residual = jax.vmap(lambda point: laplacian(params, point))(inner)
        error = jax.vmap(lambda point: u(params, point))(boundary) - values
        return jnp.mean(residual * residual) + jnp.mean(error * error)

    value, grads = jax.value_and_grad(loss)(params)
    return *adam(params, grads, m, v, step), step + 1, value


PARAMS = [{'kernel': f32(i, o), 'bias': f32(o)} for i, o in zip(WIDTHS, WIDTHS[1:])]

write("Training step of a 2-32-32-32-1 network for Laplace's equation: 256 inner and 64 boundary points, Adam",
      laplace_pinn, PARAMS, PARAMS, PARAMS, u32(), f32(INNER, 2), f32(BOUNDARY, 2), f32(BOUNDARY))

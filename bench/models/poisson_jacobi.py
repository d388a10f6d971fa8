"""Poisson's equation on the unit square by damped Jacobi sweeps, until a sweep moves no point by more than a tolerance.

The largest move is a maximum, which does not depend on the order of summation: every implementation takes the same
number of sweeps unless it rounds the sweep itself differently at the very last one. Damping (0.8) is what lets the
checkerboard part of the error decay; without it the exit would come only from the sweep limit.
"""
import jax.numpy as jnp
from jax import lax

from lower import f32, write

POINTS = 128
TOLERANCE = 2e-4
MOST_SWEEPS = 500


def sweep(u, source):
    neighbors = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    h = 1.0 / (POINTS - 1)
    jacobi = 0.25 * (neighbors - h * h * source[1:-1, 1:-1])
    return u.at[1:-1, 1:-1].set(0.2 * u[1:-1, 1:-1] + 0.8 * jacobi)


def poisson_jacobi(u, source):
    """u: first guess, and on its edges the boundary values. Returns the solution, the number of sweeps, the last move."""
    def unfinished(state):
        _, sweeps, move = state
        return (move >= TOLERANCE) & (sweeps < MOST_SWEEPS)

    def step(state):
        u, sweeps, _ = state
        swept = sweep(u, source)
        return swept, sweeps + 1, jnp.max(jnp.abs(swept - u))

    return lax.while_loop(unfinished, step, (u, jnp.int32(0), jnp.float32(jnp.inf)))


write("Poisson's equation on 128x128 points: damped Jacobi sweeps until none moves a point by 2e-4, at most 500",
      poisson_jacobi, f32(POINTS, POINTS), f32(POINTS, POINTS))

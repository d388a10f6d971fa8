"""One LSTM layer over a sequence, as a scan over time steps."""
import jax
import jax.numpy as jnp
from jax import lax

from lower import f32, write

STEPS, BATCH, INPUT, HIDDEN = 64, 8, 128, 128


def lstm_infer(params, xs, h, c):
    """xs: [steps, batch, input]. Returns the outputs of every step and the last state."""
    def step(state, x):
        h, c = state
        gates = x @ params['kernel'] + h @ params['recurrent_kernel'] + params['bias']
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    (h, c), hs = lax.scan(step, (h, c), xs)
    return hs, h, c


PARAMS = {'kernel': f32(INPUT, 4 * HIDDEN), 'recurrent_kernel': f32(HIDDEN, 4 * HIDDEN), 'bias': f32(4 * HIDDEN)}

write('LSTM layer over 64 steps, batch 8, 128 inputs and 128 hidden units', lstm_infer,
      PARAMS, f32(STEPS, BATCH, INPUT), f32(BATCH, HIDDEN), f32(BATCH, HIDDEN))

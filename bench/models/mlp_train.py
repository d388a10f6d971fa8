"""One training step of a three-layer perceptron: forward, backward, Adam.

mlp_train_bf16 keeps f32 parameters and moments and computes the network, forward and backward, in bf16.
"""
import jax
import jax.numpy as jnp

from lower import f32, s32, u32, write

WIDTHS = (784, 512, 512, 10)
BATCH = 64


def forward(params, x):
    for p in params[:-1]:
        x = jnp.maximum(x @ p['kernel'] + p['bias'], 0)
    return x @ params[-1]['kernel'] + params[-1]['bias']


def cross_entropy(logits, labels):
    """Mean over the batch of -log(softmax(logits)[label])."""
    shifted = logits - jax.lax.stop_gradient(jnp.max(logits, -1, keepdims=True))
    log_sum = jnp.log(jnp.sum(jnp.exp(shifted), -1))
    return jnp.mean(log_sum - jnp.take_along_axis(shifted, labels[:, None], -1)[:, 0])


def adam(params, grads, m, v, step, rate=1e-3, b1=0.9, b2=0.999, epsilon=1e-8):
    """step counts from 0. Returns the new params, m and v."""
    t = (step + 1).astype(jnp.float32)
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, v, grads)
    params = jax.tree.map(
        lambda p, m, v: p - rate * (m / (1 - b1 ** t)) / (jnp.sqrt(v / (1 - b2 ** t)) + epsilon), params, m, v)
    return params, m, v


def train(compute_type):
    def step(params, m, v, step, images, labels):
        def loss(params):
            logits = forward(jax.tree.map(lambda p: p.astype(compute_type), params), images.astype(compute_type))
            return cross_entropy(logits.astype(jnp.float32), labels)

        value, grads = jax.value_and_grad(loss)(params)
        return *adam(params, grads, m, v, step), step + 1, value
    return step


PARAMS = [{'kernel': f32(i, o), 'bias': f32(o)} for i, o in zip(WIDTHS, WIDTHS[1:])]

for name, compute_type in ('f32', jnp.float32), ('bf16', jnp.bfloat16):
    write('Training step of a 784-512-512-10 perceptron in %s: cross-entropy over a batch of 64, Adam' % name,
          train(compute_type), PARAMS, PARAMS, PARAMS, u32(), f32(BATCH, WIDTHS[0]), s32(BATCH), name='mlp_train_' + name)

"""One training step of a three-layer perceptron: forward, backward, Adam.

mlp_train_bf16 keeps f32 parameters and moments and computes the network, forward and backward, in bf16.
"""
import jax
import jax.numpy as jnp

from lower import f32, s32, u32, write
from training import adam, cross_entropy

WIDTHS = (784, 512, 512, 10)
BATCH = 64


def forward(params, x):
    for p in params[:-1]:
        x = jnp.maximum(x @ p['kernel'] + p['bias'], 0)
    return x @ params[-1]['kernel'] + params[-1]['bias']


def train(compute_type):
    def mlp_train(params, m, v, step, images, labels):
        def loss(params):
            params = jax.tree.map(lambda p: p.astype(compute_type), params)
            return cross_entropy(forward(params, images.astype(compute_type)), labels)

        value, grads = jax.value_and_grad(loss)(params)
        return *adam(params, grads, m, v, step), step + 1, value
    return mlp_train


PARAMS = [{'kernel': f32(i, o), 'bias': f32(o)} for i, o in zip(WIDTHS, WIDTHS[1:])]

for name, compute_type in ('f32', jnp.float32), ('bf16', jnp.bfloat16):
    write('Training step of a 784-512-512-10 perceptron in %s: cross-entropy over a batch of 64, Adam' % name,
          train(compute_type), PARAMS, PARAMS, PARAMS, u32(), f32(BATCH, WIDTHS[0]), s32(BATCH), name='mlp_train_' + name)

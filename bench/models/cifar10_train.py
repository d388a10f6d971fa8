"""One training step of a small convolutional network on 32x32 images: forward, backward, Adam."""
import jax
import jax.numpy as jnp
from jax import lax

from lower import f32, s32, u32, write
from training import adam, cross_entropy

BATCH = 32


def conv(x, p):
    x = lax.conv_general_dilated(x, p['kernel'], (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
    return jnp.maximum(x + p['bias'], 0)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')


def forward(params, x):
    for block in params['blocks']:
        for p in block:
            x = conv(x, p)
        x = max_pool(x)
    x = x.reshape(x.shape[0], -1)
    x = jnp.maximum(x @ params['hidden']['kernel'] + params['hidden']['bias'], 0)
    return x @ params['classes']['kernel'] + params['classes']['bias']


def cifar10_train(params, m, v, step, images, labels):
    value, grads = jax.value_and_grad(lambda params: cross_entropy(forward(params, images), labels))(params)
    return *adam(params, grads, m, v, step), step + 1, value


def layer(*dims):
    return {'kernel': f32(*dims), 'bias': f32(dims[-1])}


PARAMS = {'blocks': [[layer(3, 3, 3, 32), layer(3, 3, 32, 32)], [layer(3, 3, 32, 64), layer(3, 3, 64, 64)]],
          'hidden': layer(8 * 8 * 64, 128), 'classes': layer(128, 10)}

write('Training step of a convolutional network on 32 images of 32x32: four 3x3 convolutions, two max pools, Adam',
      cifar10_train, PARAMS, PARAMS, PARAMS, u32(), f32(BATCH, 32, 32, 3), s32(BATCH))

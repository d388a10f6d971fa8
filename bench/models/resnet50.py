"""ResNet-50 v1.5 (the stride in the 3x3 convolution), images NHWC, kernels HWIO."""
import jax.numpy as jnp
from jax import lax

from lower import f32, write

BLOCKS = (3, 4, 6, 3)
EPSILON = 1e-5


def conv(x, kernel, stride=1):
    pad = kernel.shape[0] // 2
    return lax.conv_general_dilated(x, kernel, (stride, stride), ((pad, pad), (pad, pad)),
                                    dimension_numbers=('NHWC', 'HWIO', 'NHWC'))


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))


def normalize(x, p, mean, variance):
    return (x - mean) * lax.rsqrt(variance + EPSILON) * p['scale'] + p['offset']


def norm_infer(x, p):
    return normalize(x, p, p['mean'], p['variance'])


def network(params, images, norm):
    """norm(x, p): batch normalization with the entry p of the parameters."""
    x = conv(images, params['stem']['kernel'], 2)
    x = max_pool(jnp.maximum(norm(x, params['stem']['norm']), 0))
    for stage, blocks in enumerate(params['stages']):
        for i, p in enumerate(blocks):
            stride = 2 if stage and not i else 1
            y = jnp.maximum(norm(conv(x, p['kernel1']), p['norm1']), 0)
            y = jnp.maximum(norm(conv(y, p['kernel2'], stride), p['norm2']), 0)
            y = norm(conv(y, p['kernel3']), p['norm3'])
            if not i:
                x = norm(conv(x, p['kernel0'], stride), p['norm0'])
            x = jnp.maximum(x + y, 0)
    return jnp.mean(x, (1, 2)) @ params['dense']['kernel'] + params['dense']['bias']


def make_params(array, norm_fields, classes=1000):
    def norm(channels):
        return {field: f32(channels) for field in norm_fields}

    stages, channels = [], 64
    for stage, count in enumerate(BLOCKS):
        width, blocks = 64 << stage, []
        for i in range(count):
            p = {'kernel1': array(1, 1, channels, width), 'norm1': norm(width),
                 'kernel2': array(3, 3, width, width), 'norm2': norm(width),
                 'kernel3': array(1, 1, width, 4 * width), 'norm3': norm(4 * width)}
            if not i:
                p |= {'kernel0': array(1, 1, channels, 4 * width), 'norm0': norm(4 * width)}
            blocks.append(p)
            channels = 4 * width
        stages.append(blocks)
    return {'stem': {'kernel': array(7, 7, 3, 64), 'norm': norm(64)}, 'stages': stages,
            'dense': {'kernel': array(channels, classes), 'bias': array(classes)}}


def resnet50_infer(params, images):
    return network(params, images, norm_infer)


write('ResNet-50 v1.5 inference, f32, one image of 224x224', resnet50_infer,
      make_params(f32, ('scale', 'offset', 'mean', 'variance')), f32(1, 224, 224, 3))

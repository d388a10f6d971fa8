"""ResNet-50 v1.5 (the stride in the 3x3 convolution), images NHWC, kernels HWIO."""
import jax
import jax.numpy as jnp
from jax import lax

from lower import f32, s32, write
from training import cross_entropy, momentum_sgd

BLOCKS, WIDTH = (3, 4, 6, 3), 64
EPSILON = 1e-5


def conv(x, kernel, stride=1):
    pad = kernel.shape[0] // 2
    return lax.conv_general_dilated(x, kernel, (stride, stride), ((pad, pad), (pad, pad)),
                                    dimension_numbers=('NHWC', 'HWIO', 'NHWC'))


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))


def scale_and_shift(centered, p):
    return centered * (lax.rsqrt(p['variance'] + EPSILON) * p['scale']) + p['offset']


def norm_infer(x, p):
    return scale_and_shift(x - p['mean'], p)


def norm_train(x, p):
    """With the statistics of the batch, taken in f32; p gets them back under 'mean' and 'variance'."""
    x, narrow = x.astype(jnp.float32), x.dtype
    p['mean'] = jnp.mean(x, (0, 1, 2))
    centered = x - p['mean']
    p['variance'] = jnp.mean(centered * centered, (0, 1, 2))
    return scale_and_shift(centered, p).astype(narrow)


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


def make_params(norm_fields, classes=1000):
    def norm(channels):
        return {field: f32(channels) for field in norm_fields}

    stages, channels = [], WIDTH
    for stage, count in enumerate(BLOCKS):
        width, blocks = WIDTH << stage, []
        for i in range(count):
            p = {'kernel1': f32(1, 1, channels, width), 'norm1': norm(width),
                 'kernel2': f32(3, 3, width, width), 'norm2': norm(width),
                 'kernel3': f32(1, 1, width, 4 * width), 'norm3': norm(4 * width)}
            if not i:
                p |= {'kernel0': f32(1, 1, channels, 4 * width), 'norm0': norm(4 * width)}
            blocks.append(p)
            channels = 4 * width
        stages.append(blocks)
    return {'stem': {'kernel': f32(7, 7, 3, WIDTH), 'norm': norm(WIDTH)}, 'stages': stages,
            'dense': {'kernel': f32(channels, classes), 'bias': f32(classes)}}


def resnet50_infer(params, images):
    return network(params, images, norm_infer)


def is_norm(p):
    return isinstance(p, dict) and 'offset' in p


def statistics_of(params):
    """The 'mean' and 'variance' of every normalization, in the order of the tree."""
    return [{'mean': p['mean'], 'variance': p['variance']} for p in jax.tree.leaves(params, is_leaf=is_norm) if is_norm(p)]


def train(compute_type):
    def resnet50_train(params, velocity, statistics, images, labels):
        def loss(params):
            # Kernels in the type to compute in; norms stay f32, in dictionaries of this trace that norm_train fills.
            params = jax.tree.map(lambda p: dict(p) if is_norm(p) else p.astype(compute_type), params, is_leaf=is_norm)
            logits = network(params, images.astype(compute_type), norm_train)
            return cross_entropy(logits, labels), statistics_of(params)

        (value, batch), grads = jax.value_and_grad(loss, has_aux=True)(params)
        statistics = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, statistics, batch)
        return *momentum_sgd(params, grads, velocity), statistics, value
    return resnet50_train


write('ResNet-50 v1.5 inference, f32, one image of 224x224', resnet50_infer,
      make_params(('scale', 'offset', 'mean', 'variance')), f32(1, 224, 224, 3))

TRAINED = make_params(('scale', 'offset'))
STATISTICS = statistics_of(make_params(('scale', 'offset', 'mean', 'variance')))
for name, compute_type, batch, size, large in (('resnet50_train_f32', jnp.float32, 4, 64, False),
                                               ('resnet50_train_bf16', jnp.bfloat16, 256, 224, True)):
    write('ResNet-50 v1.5 training step in %s: batch statistics, cross-entropy over %d images of %dx%d, momentum SGD' %
          (name[-4:].strip('_'), batch, size, size), train(compute_type), TRAINED, TRAINED, STATISTICS,
          f32(batch, size, size, 3), s32(batch), name=name, large=large, donate=(0, 1, 2))

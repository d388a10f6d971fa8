"""The programs beside this file at sizes that the emulated GPU takes a second or two for: tests of the run time.

Sizes are uneven where that is possible, so that nothing fits by chance.
"""
import jax.numpy as jnp

import lower

write, lower.write = lower.write, lambda *_, **__: None  # What is imported below writes nothing.
from lower import f32, s32, u32  # noqa: E402

import cifar10_train  # noqa: E402
import gpt2  # noqa: E402
import laplace_pinn  # noqa: E402
import lstm_infer  # noqa: E402
import mlp_train  # noqa: E402
import muladd_reduce  # noqa: E402
import poisson_jacobi  # noqa: E402
import resnet50  # noqa: E402
import vae_sample  # noqa: E402


def write_small(what, function, *args, **more):
    write(what, function, *args, folder='models/small', **more)


def layers(*widths):
    return [{'kernel': f32(i, o), 'bias': f32(o)} for i, o in zip(widths, widths[1:])]


write_small('sum(x + y * z) over f32[24,130]', muladd_reduce.muladd_reduce, *3 * [f32(24, 130)])

params = layers(30, 24, 20, 10)
for name, compute_type in ('f32', jnp.float32), ('bf16', jnp.bfloat16):
    write_small('Training step of a 30-24-20-10 perceptron in %s: cross-entropy over a batch of 6, Adam' % name,
                mlp_train.train(compute_type), params, params, params, u32(), f32(6, 30), s32(6), name='mlp_train_' + name)

write_small('LSTM layer over 5 steps, batch 2, 12 inputs and 16 hidden units', lstm_infer.lstm_infer,
            {'kernel': f32(12, 64), 'recurrent_kernel': f32(16, 64), 'bias': f32(64)},
            f32(5, 2, 12), f32(2, 16), f32(2, 16))

params = layers(2, 12, 12, 1)
write_small("Training step of a 2-12-12-1 network for Laplace's equation: 10 inner and 6 boundary points, Adam",
            laplace_pinn.laplace_pinn, params, params, params, u32(), f32(10, 2), f32(6, 2), f32(6))

poisson_jacobi.POINTS, poisson_jacobi.MOST_SWEEPS = 18, 12
write_small("Poisson's equation on 18x18 points: damped Jacobi sweeps until none moves a point by 2e-4, at most 12",
            poisson_jacobi.poisson_jacobi, f32(18, 18), f32(18, 18))

vae_sample.COUNT, vae_sample.LATENT = 3, 6
write_small('3 images of 40 pixels sampled from the decoder of a variational autoencoder, with the generator inside',
            vae_sample.vae_sample, dict(zip(('hidden', 'pixels'), layers(6, 20, 40))), u32(2))

params = {'blocks': [[cifar10_train.layer(3, 3, 3, 8), cifar10_train.layer(3, 3, 8, 8)],
                     [cifar10_train.layer(3, 3, 8, 12), cifar10_train.layer(3, 3, 12, 12)]],
          'hidden': cifar10_train.layer(2 * 2 * 12, 16), 'classes': cifar10_train.layer(16, 10)}
write_small('Training step of a convolutional network on 2 images of 8x8: four 3x3 convolutions, two max pools, Adam',
            cifar10_train.cifar10_train, params, params, params, u32(), f32(2, 8, 8, 3), s32(2))

size = dict(vocab=50, width=24, heads=2, layers=2, positions=12)
params = gpt2.make_params(**size)
words = 'GPT-2 of 2 layers, width 24, 2 heads, vocabulary 50'
write_small(words + ': logits of 2 x 9 tokens', gpt2.infer(size), params, s32(2, 9), name='gpt2_infer')
write_small(words + ': training step on 2 x 9 tokens, f32, Adam', gpt2.train(size), params, params, params,
            u32(), s32(2, 9), s32(2, 9), name='gpt2_train', donate=(0, 1, 2))

resnet50.BLOCKS, resnet50.WIDTH = (1, 1, 1), 8
words = 'ResNet of one block of widths 8, 16 and 32 each'
infer = resnet50.make_params(('scale', 'offset', 'mean', 'variance'), classes=10)
write_small(words + ': inference, f32, one image of 32x32', resnet50.resnet50_infer, infer, f32(1, 32, 32, 3))
params = resnet50.make_params(('scale', 'offset'), classes=10)
for name, compute_type in ('f32', jnp.float32), ('bf16', jnp.bfloat16):
    write_small('%s: training step in %s over 2 images of 32x32, batch statistics, momentum SGD' % (words, name),
                resnet50.train(compute_type), params, params, resnet50.statistics_of(infer), f32(2, 32, 32, 3), s32(2),
                name='resnet50_train_' + name, donate=(0, 1, 2))

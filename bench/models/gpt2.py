"""GPT-2: learned positions, pre-norm blocks, causal attention, tanh GELU, output tied to the token embedding."""
import jax
import jax.numpy as jnp
from jax import lax

from lower import f32, s32, u32, write
from training import adam, cross_entropy

SMALL = dict(vocab=1000, width=128, heads=4, layers=2, positions=64)
M124 = dict(vocab=50257, width=768, heads=12, layers=12, positions=1024)


def layer_norm(x, p):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p['scale'] + p['offset']


def dense(x, p):
    return x @ p['kernel'] + p['bias']


def gelu(x):
    return 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softmax(x):
    e = jnp.exp(x - lax.stop_gradient(jnp.max(x, -1, keepdims=True)))
    return e / jnp.sum(e, -1, keepdims=True)


def attention(x, p, heads):
    batch, length, width = x.shape
    q, k, v = jnp.split(dense(x, p['qkv']), 3, axis=-1)
    q, k, v = (t.reshape(batch, length, heads, width // heads) for t in (q, k, v))
    scores = jnp.einsum('bqhd,bkhd->bhqk', q, k) / (width // heads) ** 0.5
    row = lax.broadcasted_iota(jnp.int32, (length, length), 0)
    column = lax.broadcasted_iota(jnp.int32, (length, length), 1)
    weights = softmax(jnp.where(row >= column, scores, -1e9))
    return dense(jnp.einsum('bhqk,bkhd->bqhd', weights, v).reshape(batch, length, width), p['out'])


def logits_of(params, tokens, heads):
    x = params['token_embedding'][tokens] + params['position_embedding'][:tokens.shape[1]]
    for p in params['blocks']:
        x = x + attention(layer_norm(x, p['norm1']), p['attention'], heads)
        x = x + dense(gelu(dense(layer_norm(x, p['norm2']), p['mlp_in'])), p['mlp_out'])
    return layer_norm(x, params['norm']) @ params['token_embedding'].T


def make_params(vocab, width, layers, positions, **_):
    def norm():
        return {'scale': f32(width), 'offset': f32(width)}

    def layer(inputs, outputs):
        return {'kernel': f32(inputs, outputs), 'bias': f32(outputs)}

    def block():
        return {'norm1': norm(), 'attention': {'qkv': layer(width, 3 * width), 'out': layer(width, width)},
                'norm2': norm(), 'mlp_in': layer(width, 4 * width), 'mlp_out': layer(4 * width, width)}

    return {'token_embedding': f32(vocab, width), 'position_embedding': f32(positions, width),
            'blocks': [block() for _ in range(layers)], 'norm': norm()}


def infer(size):
    def gpt2_infer(params, tokens):
        return logits_of(params, tokens, size['heads'])
    return gpt2_infer


def train(size):
    def gpt2_train(params, m, v, step, tokens, next_tokens):
        def loss(params):
            return cross_entropy(logits_of(params, tokens, size['heads']), next_tokens)

        value, grads = jax.value_and_grad(loss)(params)
        return *adam(params, grads, m, v, step), step + 1, value
    return gpt2_train


for size, words, suffix, batch, length in ((SMALL, 'GPT-2 of 2 layers, width 128, 4 heads, vocabulary 1000', '', 2, 64),
                                           (M124, 'GPT-2 124M', '_124m', 1, 128)):
    write('%s: logits of %d x %d tokens' % (words, batch, length), infer(size),
          make_params(**size), s32(batch, length), name='gpt2_infer' + suffix, large=size is M124)

for size, words, suffix, batch, length in ((SMALL, 'GPT-2 of 2 layers, width 128, 4 heads, vocabulary 1000', '', 2, 64),
                                           (M124, 'GPT-2 124M', '_124m', 4, 512)):
    params = make_params(**size)
    write('%s: training step on %d x %d tokens, f32, Adam' % (words, batch, length), train(size), params, params, params,
          u32(), s32(batch, length), s32(batch, length), name='gpt2_train' + suffix, large=size is M124, donate=(0, 1, 2))

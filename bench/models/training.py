"""What the training steps share: the loss and the optimizers, over trees of arrays."""
import jax
import jax.numpy as jnp
from jax import lax


def cross_entropy(logits, labels):
    """Mean over the leading dimensions of -log(softmax(logits)[label]), in f32."""
    logits = logits.astype(jnp.float32)
    shifted = logits - lax.stop_gradient(jnp.max(logits, -1, keepdims=True))
    log_sum = jnp.log(jnp.sum(jnp.exp(shifted), -1))
    return jnp.mean(log_sum - jnp.take_along_axis(shifted, labels[..., None], -1)[..., 0])


def adam(params, grads, m, v, step, rate=1e-3, b1=0.9, b2=0.999, epsilon=1e-8):
    """step counts from 0. Returns the new params, m and v."""
    t = (step + 1).astype(jnp.float32)
    m_weight, v_weight = 1 - b1 ** t, 1 - b2 ** t
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, v, grads)
    params = jax.tree.map(lambda p, m, v: p - rate * (m / m_weight) / (jnp.sqrt(v / v_weight) + epsilon), params, m, v)
    return params, m, v


def momentum_sgd(params, grads, velocity, rate=0.1, momentum=0.9):
    """Returns the new params and velocity."""
    velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - rate * v, params, velocity), velocity

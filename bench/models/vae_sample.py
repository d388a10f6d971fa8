"""Images from the decoder of a variational autoencoder: latent values and pixels drawn by threefry from a key."""
import jax
import jax.numpy as jnp

from lower import f32, u32, write

COUNT, LATENT, HIDDEN, PIXELS = 16, 20, 400, 784


def vae_sample(params, key):
    """Returns the probability of every pixel and a draw of each."""
    latent_key, pixel_key = jax.random.split(key)
    z = jax.random.normal(latent_key, (COUNT, LATENT))
    hidden = jnp.maximum(z @ params['hidden']['kernel'] + params['hidden']['bias'], 0)
    probability = jax.nn.sigmoid(hidden @ params['pixels']['kernel'] + params['pixels']['bias'])
    return probability, jax.random.bernoulli(pixel_key, probability)


def layer(inputs, outputs):
    return {'kernel': f32(inputs, outputs), 'bias': f32(outputs)}


write('16 images of 784 pixels sampled from the decoder of a variational autoencoder, with the generator inside',
      vae_sample, {'hidden': layer(LATENT, HIDDEN), 'pixels': layer(HIDDEN, PIXELS)}, u32(2))

"""A variational autoencoder: a Lambda layer draws codes, and the model adds its loss itself."""

import numpy as np
import tensorflow as tf
from numpy.random import RandomState

K = tf.keras.backend
layers = tf.keras.layers
tf.set_random_seed(2)
np.random.seed(2)
DIMENSIONS, CODE = 16, 2
rng = RandomState(1)
kinds = rng.randint(4, size=400)
patterns = (rng.uniform(size=(4, DIMENSIONS)) > 0.5).astype("float32")
x = np.abs(patterns[kinds] - (rng.uniform(size=(400, DIMENSIONS)) < 0.05)).astype("float32")


def sample(parts):
    mean, log_variance = parts
    noise = K.random_normal(shape=(K.shape(mean)[0], K.int_shape(mean)[1]))
    return mean + K.exp(0.5 * log_variance) * noise


inputs = tf.keras.Input(shape=(DIMENSIONS,), name="encoder_input")
h = layers.Dense(32, activation="relu")(inputs)
z_mean = layers.Dense(CODE, name="z_mean")(h)
z_log_var = layers.Dense(CODE, name="z_log_var")(h)
z = layers.Lambda(sample, output_shape=(CODE,), name="z")([z_mean, z_log_var])
encoder = tf.keras.Model(inputs, [z_mean, z_log_var, z], name="encoder")

code_inputs = tf.keras.Input(shape=(CODE,), name="z_sampling")
decoded = layers.Dense(32, activation="relu")(code_inputs)
decoder = tf.keras.Model(code_inputs, layers.Dense(DIMENSIONS, activation="sigmoid")(decoded), name="decoder")

outputs = decoder(encoder(inputs)[2])
vae = tf.keras.Model(inputs, outputs, name="vae")
reconstruction = tf.keras.losses.binary_crossentropy(inputs, outputs) * DIMENSIONS
kl = -0.5 * K.sum(1 + z_log_var - K.square(z_mean) - K.exp(z_log_var), axis=-1)
vae.add_loss(K.mean(reconstruction + kl))
vae.compile(optimizer=tf.keras.optimizers.Adam(0.01))
history = vae.fit(x, epochs=20, batch_size=50, verbose=0)
losses = history.history["loss"]
assert losses[-1] < 0.7 * losses[0], losses

means, log_variances, drawn = encoder.predict(x, batch_size=100)
assert means.shape == log_variances.shape == drawn.shape == (400, CODE)
assert np.abs(drawn - means).max() > 1e-3, "codes are drawn, not taken"
centers = np.stack([means[kinds == kind].mean(0) for kind in range(4)])
nearest = np.square(means[:, None] - centers).sum(-1).argmin(1)
purity = np.mean(nearest == kinds)
assert purity > 0.85, purity
# What the decoder makes of the center of a kind is the pattern of that kind.
made = decoder.predict(centers.astype("float32")) > 0.5
agreement = np.mean(made == (patterns > 0.5))
assert agreement > 0.85, agreement
results = {"first": float(losses[0]), "last": float(losses[-1]), "purity": purity, "agreement": agreement}

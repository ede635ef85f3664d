"""A generative adversarial network in Keras: the discriminator is frozen in the model that trains the generator."""

import numpy as np
import tensorflow as tf

np.random.seed(4)
tf.set_random_seed(4)
NOISE, BATCH = 4, 64
rng = np.random.RandomState(8)
layers, models = tf.keras.layers, tf.keras.models


def real(count):
    return (rng.normal(size=(count, 1)) * 0.5 + 3.0).astype("float32")


def make_generator():
    model = models.Sequential(name="generator")
    model.add(layers.Dense(16, input_dim=NOISE))
    model.add(layers.LeakyReLU(alpha=0.2))
    model.add(layers.Dense(1))
    return model


def make_discriminator():
    value = layers.Input(shape=(1,))
    x = layers.Lambda(lambda v: tf.concat([v, v * v], axis=-1))(value)
    x = layers.Dense(16)(x)
    x = layers.LeakyReLU(alpha=0.2)(x)
    return models.Model(value, layers.Dense(1, activation="sigmoid")(x), name="discriminator")


discriminator = make_discriminator()
discriminator.compile(tf.keras.optimizers.Adam(0.01, 0.5), "binary_crossentropy", metrics=["accuracy"])
generator = make_generator()
noise = layers.Input(shape=(NOISE,))
discriminator.trainable = False
combined = models.Model(noise, discriminator(generator(noise)))
combined.compile(tf.keras.optimizers.Adam(0.01, 0.5), "binary_crossentropy")
assert len(combined.trainable_weights) == len(generator.trainable_weights) == 4
assert len(combined.weights) == 8

start = generator.predict(rng.normal(size=(200, NOISE))).mean()
fixed = [w.copy() for w in discriminator.get_weights()]
combined.train_on_batch(rng.normal(size=(BATCH, NOISE)), np.ones((BATCH, 1)))
for before, now in zip(fixed, discriminator.get_weights()):
    np.testing.assert_array_equal(before, now)  # frozen in the combined model

ones, zeros, scores = np.ones((BATCH, 1)), np.zeros((BATCH, 1)), []
for step in range(300):
    made = generator.predict_on_batch(rng.normal(size=(BATCH, NOISE)).astype("float32"))
    real_loss = discriminator.train_on_batch(real(BATCH), ones)
    fake_loss = discriminator.train_on_batch(np.asarray(made), zeros)
    generator_loss = combined.train_on_batch(rng.normal(size=(BATCH, NOISE)).astype("float32"), ones)
    scores.append([0.5 * (real_loss[1] + fake_loss[1]), float(generator_loss)])
assert any(np.abs(b - n).max() > 0 for b, n in zip(fixed, discriminator.get_weights()))  # compiled before it was frozen

end = generator.predict(rng.normal(size=(500, NOISE)).astype("float32"))
assert abs(end.mean() - 3.0) < 0.6 < abs(start - 3.0), (start, end.mean())
results = {"start": float(start), "mean": float(end.mean()), "deviation": float(end.std()), "last": scores[-1]}

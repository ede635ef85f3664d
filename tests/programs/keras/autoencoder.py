"""An autoencoder whose encoder and decoder are models of their own, which share their layers with the whole."""

import numpy as np
import tensorflow as tf
from numpy.linalg import svd

tf.set_random_seed(5)
np.random.seed(5)
rng = np.random.RandomState(4)
angles = rng.uniform(0, 2 * np.pi, 300)
curve = np.stack([np.cos(angles), np.sin(angles), np.cos(2 * angles)], 1)
x = (curve.dot(rng.normal(size=(3, 10))) * 0.5).astype("float32")
x = (x - x.min()) / (x.max() - x.min())

x_in = tf.keras.layers.Input((10,))
hidden = tf.keras.layers.Dense(24, activation="elu", kernel_regularizer=tf.keras.regularizers.l2(1e-6))(x_in)
code = tf.keras.layers.Dense(2, name="code")(hidden)
encoder = tf.keras.Model(inputs=x_in, outputs=code, name="encoder")

code_in = tf.keras.layers.Input((2,))
wide = tf.keras.layers.Dense(24, activation="elu")(code_in)
decoder = tf.keras.Model(code_in, tf.keras.layers.Dense(10, activation="sigmoid")(wide), name="decoder")

model = tf.keras.Model(x_in, decoder(encoder(x_in)), name="autoencoder")
assert [layer.name for layer in model.layers][1:] == ["encoder", "decoder"]
model.compile("adam", "mse")
tf.keras.backend.set_value(model.optimizer.lr, 0.02)
before = model.evaluate(x, x, verbose=0)
model.fit(x, x, batch_size=50, epochs=30, shuffle=True, verbose=0)
after = model.evaluate(x, x, verbose=0)

# Two numbers of a curved code tell more than the two best linear ones.
centered = x - x.mean(0)
u, s, v = svd(centered, full_matrices=False)
linear = np.mean((centered - (u[:, :2] * s[:2]).dot(v[:2])) ** 2)
assert after < 0.8 * linear and after < before / 5, (before, after, linear)
np.testing.assert_allclose(decoder.predict(encoder.predict(x)), model.predict(x), rtol=1e-5, atol=1e-6)
assert model.get_layer("encoder").get_layer("code").output_shape == (None, 2)

encoder.save_weights("encoder.h5")
fresh = tf.keras.models.clone_model(encoder)
fresh.load_weights("encoder.h5")
np.testing.assert_allclose(fresh.predict(x[:20]), encoder.predict(x[:20]), rtol=1e-5, atol=1e-6)
results = {"before": float(before), "after": float(after), "linear": float(linear)}

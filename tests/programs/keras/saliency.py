"""What a network looks at: gradients of its output by its input, with functions of the backend."""

import numpy as np
import tensorflow as tf
from numpy.random import RandomState

K = tf.keras.backend
K.clear_session()
np.random.seed(17)
tf.set_random_seed(17)
rng = RandomState(14)
images = rng.normal(0, 0.5, size=(300, 8, 8, 1)).astype("float32")
labels = rng.randint(2, size=300)
images[labels == 1, 2:4, 5:7] += 1.5  # a bright spot, the only thing that matters

inputs = tf.keras.layers.Input(shape=(8, 8, 1), name="image")
x = tf.keras.layers.Conv2D(4, 3, activation="relu", name="features")(inputs)
x = tf.keras.layers.Flatten()(x)
x = tf.keras.layers.Dropout(0.5)(x)
output = tf.keras.layers.Dense(1, activation="sigmoid", name="spot")(x)
model = tf.keras.models.Model(inputs, output)
model.compile("adam", "binary_crossentropy", ["accuracy"])
K.set_value(model.optimizer.lr, 0.02)
model.fit(images, labels, epochs=8, batch_size=50, verbose=0)
assert model.evaluate(images, labels, verbose=0)[1] > 0.95

score = K.mean(model.output[:, 0])
gradients = K.gradients(score, model.input)[0]
normalized = gradients / (K.sqrt(K.mean(K.square(gradients))) + 1e-5)
saliency = K.function([model.input, K.learning_phase()], [score, normalized])
found, slopes = saliency([images[labels == 0][:50], 0])
strength = np.abs(slopes).mean(0)[..., 0]
inside = strength[2:4, 5:7].mean()
outside = (strength.sum() - strength[2:4, 5:7].sum()) / 60
assert inside > 3 * outside, (inside, outside)

# In the learning phase units are dropped, and two calls differ.
features = K.function([model.layers[0].input, K.learning_phase()], [model.get_layer("spot").output])
still, moving, again = (features([images[:20], phase])[0] for phase in (0, 1, 1))
np.testing.assert_allclose(still, model.predict(images[:20]), rtol=1e-5)
assert np.abs(moving - again).max() > 1e-4

# An image is changed step by step until the network sees a spot in it.
iterate = K.function([model.input], [score, normalized])
canvas = np.zeros((1, 8, 8, 1), "float32")
before = iterate([canvas])[0]
for _ in range(10):
    value, step = iterate([canvas])
    canvas += 0.2 * step
assert value > 0.9 and before < 0.6, (before, value)
assert canvas[0, 2:4, 5:7, 0].mean() > 3 * np.abs(canvas).mean()

counted = K.update_add(K.variable(1.0, name="counter"), 2.0)
assert K.get_session().run(K.constant([1.0, 2.0])).tolist() == [1.0, 2.0]
results = {"inside": float(inside), "outside": float(outside), "before": float(before), "after": float(value)}

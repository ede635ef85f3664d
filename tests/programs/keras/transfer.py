"""The layers of a trained network are frozen under a new head, and thawed for the last epochs."""

import numpy as np
import tensorflow as tf

tf.set_random_seed(31)
np.random.seed(31)
rng = np.random.RandomState(15)
x = rng.uniform(-1, 1, size=(400, 6)).astype(np.float32)
turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
factors = np.sin(2 * x.dot(turn[:, :3]))
source = factors.argmax(1)
target = (factors[:, 0] + factors[:, 1] > 0).astype(np.int32)

base = tf.keras.Sequential(name="base")
base.add(tf.keras.layers.Dense(32, activation="relu", input_shape=(6,), name="low"))
base.add(tf.keras.layers.BatchNormalization(momentum=0.8, name="norm"))
base.add(tf.keras.layers.Dense(16, activation="relu", name="high"))
old = tf.keras.Sequential([base, tf.keras.layers.Dense(3, activation="softmax")])
old.compile(tf.keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
old.fit(x[:300], source[:300], epochs=12, batch_size=25, verbose=0)
old_accuracy = old.evaluate(x[300:], source[300:], verbose=0)[1]
base.save("base.h5")

base = tf.keras.models.load_model("base.h5", compile=False)
for layer in base.layers:
    layer.trainable = False
assert not base.trainable_weights and len(base.non_trainable_weights) == 8
features = tf.keras.Model(base.input, base.get_layer("high").output)
head = tf.keras.layers.Dense(1, activation="sigmoid", name="head")
model = tf.keras.Model(base.input, head(features.output))
model.compile(tf.keras.optimizers.Adam(0.05), "binary_crossentropy", metrics=["accuracy"])
kept = base.get_weights()
model.fit(x[:60], target[:60], epochs=10, batch_size=20, verbose=0)
for before, now in zip(kept[:4] + kept[6:], base.get_weights()[:4] + base.get_weights()[6:]):
    np.testing.assert_array_equal(before, now)
frozen_accuracy = model.evaluate(x[300:], target[300:], verbose=0)[1]

base.get_layer("high").trainable = True
model.compile(tf.keras.optimizers.Adam(0.005), "binary_crossentropy", metrics=["accuracy"])
assert [w.shape.as_list() for w in model.trainable_weights] == [[32, 16], [16], [16, 1], [1]]
model.fit(x[:300], target[:300], epochs=10, batch_size=25, verbose=0)
np.testing.assert_array_equal(kept[0], base.get_layer("low").get_weights()[0])
assert np.abs(kept[6] - base.get_layer("high").get_weights()[0]).max() > 1e-4
accuracy = model.evaluate(x[300:], target[300:], verbose=0)[1]
assert old_accuracy > 0.7 and frozen_accuracy > 0.6 and accuracy > 0.78, (old_accuracy, frozen_accuracy, accuracy)
results = {"old": float(old_accuracy), "frozen": float(frozen_accuracy), "accuracy": float(accuracy)}

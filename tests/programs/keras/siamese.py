"""A siamese network: one tower for both inputs, a distance as a Lambda layer, a contrastive loss of our own."""

import numpy as np
import tensorflow as tf

K = tf.keras.backend
np.random.seed(9)
tf.set_random_seed(9)
rng = np.random.RandomState(5)
centers = rng.normal(size=(6, 8)) * 1.2


def pairs(count):
    kinds = rng.randint(6, size=(count, 2))
    kinds[: count // 2, 1] = kinds[: count // 2, 0]
    a, b = (centers[kinds[:, i]] + 0.5 * rng.normal(size=(count, 8)) for i in range(2))
    return [a.astype("float32"), b.astype("float32")], (kinds[:, 0] == kinds[:, 1]).astype("float32")


def euclidean_distance(vectors):
    x, y = vectors
    return K.sqrt(K.maximum(K.sum(K.square(x - y), axis=1, keepdims=True), K.epsilon()))


def distance_shape(shapes):
    return shapes[0][0], 1


def contrastive_loss(y_true, y_pred):
    margin = 1
    return K.mean(y_true * K.square(y_pred) + (1 - y_true) * K.square(K.maximum(margin - y_pred, 0)))


def same_kind(y_true, y_pred):
    return K.mean(K.equal(y_true, K.cast(y_pred < 0.5, y_true.dtype)))


tower_input = tf.keras.Input(shape=(8,))
x = tf.keras.layers.Dense(24, activation="relu")(tower_input)
x = tf.keras.layers.Dropout(0.05)(x)
tower = tf.keras.Model(tower_input, tf.keras.layers.Dense(4)(x))

input_a, input_b = tf.keras.Input(shape=(8,)), tf.keras.Input(shape=(8,))
distance = tf.keras.layers.Lambda(euclidean_distance, output_shape=distance_shape)([tower(input_a), tower(input_b)])
model = tf.keras.Model([input_a, input_b], distance)
assert len(model.trainable_weights) == len(tower.trainable_weights) == 4  # both sides have the same
model.compile(loss=contrastive_loss, optimizer=tf.keras.optimizers.RMSprop(0.005), metrics=[same_kind])

x_train, y_train = pairs(300)
x_test, y_test = pairs(100)
history = model.fit(x_train, y_train, batch_size=50, epochs=20, validation_data=(x_test, y_test), verbose=0)
assert "val_same_kind" in history.history
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
assert accuracy > 0.85, accuracy
swapped = model.predict(x_test[::-1])
np.testing.assert_allclose(swapped, model.predict(x_test), rtol=1e-5)

model.save("siamese.h5")
custom = {"contrastive_loss": contrastive_loss, "same_kind": same_kind, "euclidean_distance": euclidean_distance}
custom.update(distance_shape=distance_shape, K=K)
again = tf.keras.models.load_model("siamese.h5", custom_objects=custom)
np.testing.assert_allclose(again.predict(x_test), model.predict(x_test), rtol=1e-5)
np.testing.assert_allclose(again.evaluate(x_test, y_test, verbose=0), [loss, accuracy], rtol=1e-4)
results = {"loss": float(loss), "accuracy": float(accuracy)}

"""A convolutional network learns the direction of stripes from a Sequence, and from a generator without an end."""

import math

import numpy as np
import tensorflow as tf

np.random.seed(0)
tf.set_random_seed(0)
SIZE = 12


def stripes(rng):
    """Returns an image of stripes and whether they are vertical."""
    label = rng.randint(2)
    wave = np.sin(np.arange(SIZE) * rng.uniform(1.0, 1.6) + rng.uniform(0, 6))
    image = np.tile(wave, (SIZE, 1)) if label else np.tile(wave[:, None], (1, SIZE))
    return (image + rng.normal(0, 0.3, image.shape))[..., None].astype("float32"), label


class Stripes(tf.keras.utils.Sequence):
    def __init__(self, count, batch_size, seed):
        pairs = [stripes(np.random.RandomState(seed + i)) for i in range(count)]
        self.images = np.stack([image for image, _ in pairs])
        self.labels = np.array([label for _, label in pairs])
        self.batch_size = batch_size
        self.epochs = 0

    def __len__(self):
        return math.ceil(len(self.labels) / self.batch_size)

    def __getitem__(self, index):
        part = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.images[part], tf.keras.utils.to_categorical(self.labels[part], 2)

    def on_epoch_end(self):
        self.epochs += 1


def endless(batch_size):
    rng = np.random.RandomState(9)
    while True:
        pairs = [stripes(rng) for _ in range(batch_size)]
        images = np.stack([image for image, _ in pairs])
        yield images, np.eye(2, dtype="float32")[[label for _, label in pairs]]


layers = tf.keras.layers
model = tf.keras.models.Sequential(
    [
        layers.Conv2D(6, (3, 3), padding="same", use_bias=False, input_shape=(SIZE, SIZE, 1)),
        layers.BatchNormalization(),
        layers.Activation("relu"),
        layers.MaxPooling2D(pool_size=(2, 2)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.GlobalMaxPooling2D(),
        layers.Dense(2, activation="softmax"),
    ]
)
model.compile(
    loss="categorical_crossentropy",
    optimizer=tf.keras.optimizers.SGD(lr=0.1, momentum=0.9, nesterov=True),
    metrics=["accuracy"],
)
train, held = Stripes(90, 20, seed=0), Stripes(40, 20, seed=500)
history = model.fit_generator(train, epochs=6, validation_data=held, verbose=0)
assert train.epochs >= 6 and len(history.history["val_acc"]) == 6
model.fit_generator(endless(20), steps_per_epoch=5, epochs=2, verbose=0)
loss, accuracy = model.evaluate_generator(held)
assert accuracy > 0.9, accuracy
predicted = model.predict_generator(held)
assert predicted.shape == (40, 2)
assert abs(np.mean(predicted.argmax(1) == held.labels) - accuracy) < 1e-6
np.testing.assert_allclose(predicted, model.predict(held.images), rtol=1e-4, atol=1e-6)
results = {"loss": float(loss), "accuracy": float(accuracy)}

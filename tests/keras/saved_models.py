"""Models that are saved as SavedModels: built here with `tf.keras`, and by the real Keras 2."""

import numpy as np


def _optimizers(keras):
    """Returns the optimizers of TensorFlow 1.15; later releases have them in a module of their own."""
    return getattr(keras.optimizers, "legacy", keras.optimizers)


def functional(keras):
    layers = keras.layers
    inputs = layers.Input((4,), name="i")
    hidden = layers.Dense(3, activation="relu", name="h", kernel_regularizer="l2")(inputs)
    model = keras.Model(inputs, layers.Dense(2, activation="softmax", name="o")(hidden), name="net")
    model.compile(_optimizers(keras).Adam(0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model


def later_optimizer(keras):
    layers = keras.layers
    model = keras.Sequential([layers.Dense(5, activation="tanh", input_shape=(4,)), layers.Dense(2)])
    model.compile(keras.optimizers.RMSprop(0.01, momentum=0.5), keras.losses.Huber(delta=0.5), metrics=["mae"])
    return model


def images(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Conv2D(3, 3, padding="same", activation="relu", input_shape=(6, 6, 2)),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.0),
            layers.Dense(2, activation="softmax"),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy()
    model.compile(_optimizers(keras).SGD(0.1, momentum=0.9), loss, metrics=["accuracy"])
    return model


def texts(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Embedding(11, 4, mask_zero=True, input_length=5),
            layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
            layers.GRU(2, reset_after=False),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(_optimizers(keras).Adagrad(0.1), "binary_crossentropy")
    return model


def nested(keras):
    layers = keras.layers
    inner = keras.Sequential([layers.Dense(3, activation="elu", input_shape=(4,))], name="inner")
    a, b = layers.Input((4,), name="a"), layers.Input((4,), name="b")
    joined = layers.Concatenate(name="joined")([inner(a), inner(b)])
    outputs = [layers.Dense(2, name="first")(joined), layers.Dense(1, name="second", use_bias=False)(joined)]
    model = keras.Model([a, b], outputs, name="siblings")
    model.compile(_optimizers(keras).SGD(0.05), {"first": "mse", "second": "mae"}, loss_weights=[1.0, 0.5])
    return model


def data(name):
    """Returns inputs and targets for a model."""
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=[6, 4]).astype(np.float32)
    classes = np.array([0, 1, 0, 1, 1, 0])
    if name == "images":
        return rng.normal(size=[6, 6, 6, 2]).astype(np.float32), classes
    if name == "texts":
        tokens = rng.integers(1, 11, [6, 5])
        tokens[2, 3:] = 0
        return tokens.astype(np.float32), classes.astype(np.float32)[:, None]
    if name == "nested":
        targets = [rng.normal(size=[6, 2]).astype(np.float32), rng.normal(size=[6, 1]).astype(np.float32)]
        return [vectors, vectors[::-1].copy()], targets
    return vectors, np.eye(2, dtype=np.float32)[classes]


def trained(keras, name):
    """Returns a model with fixed weights, trained for two steps."""
    model = MODELS[name](keras)
    rng = np.random.default_rng(3)
    model.set_weights([np.abs(rng.normal(size=np.shape(w)).astype(np.float32)) * 0.3 for w in model.get_weights()])
    for _ in range(2):
        model.train_on_batch(*data(name))
    return model


def outputs_of(model, name):
    found = model.predict(data(name)[0])
    return [np.asarray(each, np.float64).tolist() for each in (found if isinstance(found, list) else [found])]


def losses_of(model, name, steps=3):
    """Returns the losses of further steps."""
    return [float(np.ravel(model.train_on_batch(*data(name)))[0]) for _ in range(steps)]


MODELS = {make.__name__: make for make in (functional, later_optimizer, images, texts, nested)}

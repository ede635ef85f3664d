"""Programs that train Keras models from given weights: run here with `tf.keras`, and by the real Keras 2."""

import numpy as np

SHAPES = {"images": (24, 8, 8, 2), "vectors": (24, 5)}


def _data(name, classes=3):
    rng = np.random.default_rng(7)
    x = rng.normal(size=SHAPES[name]).astype(np.float32)
    return x, rng.integers(0, classes, len(x)), rng.normal(size=[len(x), 2]).astype(np.float32)


def _fixed_weights(model):
    rng = np.random.default_rng(3)
    model.set_weights([rng.normal(size=np.shape(w)).astype(np.float32) * 0.3 for w in model.get_weights()])


def _fitted(model, x, y, **options):
    _fixed_weights(model)
    history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0, **options).history
    outputs = model.predict(x, batch_size=8)
    found = [history[key] for key in sorted(history)]
    tested = model.evaluate(x, y, batch_size=10, verbose=0)
    return {
        "keys": sorted(history),
        "history": np.asarray(found, np.float64).tolist(),
        "outputs": [np.asarray(o, np.float64).tolist() for o in (outputs if isinstance(outputs, list) else [outputs])],
        "tested": np.asarray(tested, np.float64).reshape(-1).tolist(),
        "weights": [np.asarray(w, np.float64).ravel()[:20].tolist() for w in model.get_weights()],
    }


def classifier(keras):
    x, labels, _ = _data("vectors")
    layers = keras.layers
    model = keras.Sequential(
        [layers.Dense(8, activation="relu", input_shape=(5,)), layers.Dense(3, activation="softmax")]
    )
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return _fitted(model, x, labels, validation_split=0.25)


def one_hot_classifier(keras):
    x, labels, _ = _data("vectors")
    layers = keras.layers
    model = keras.Sequential(
        [layers.Dense(6, activation="tanh", input_shape=(5,)), layers.Dense(3), layers.Activation("softmax")]
    )
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "categorical_crossentropy", metrics=["acc", "mse"])
    return _fitted(model, x, keras.utils.to_categorical(labels, 3), sample_weight=np.linspace(0.1, 2.0, len(x)))


def binary_classifier(keras):
    x, labels, _ = _data("vectors", classes=2)
    layers = keras.layers
    model = keras.Sequential([layers.Dense(1, activation="sigmoid", input_shape=(5,), kernel_regularizer="l2")])
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", metrics=["accuracy"])
    return _fitted(model, x, labels, class_weight={0: 1.0, 1: 3.0})


def two_outputs(keras):
    x, labels, targets = _data("vectors")
    layers = keras.layers
    inputs = layers.Input((5,), name="given")
    hidden = layers.Dense(6, activation="elu", name="hidden", activity_regularizer="l2")(inputs)
    first = layers.Dense(3, activation="softmax", name="first")(hidden)
    second = layers.Dense(2, name="second")(hidden)
    model = keras.Model(inputs, [first, second])
    model.compile(
        "rmsprop",
        {"first": "sparse_categorical_crossentropy", "second": "mse"},
        metrics={"first": "accuracy"},
        loss_weights=[1.0, 0.5],
    )
    return _fitted(model, x, [labels, targets])


def batches_of_a_generator(keras):
    x, labels, _ = _data("vectors")
    layers = keras.layers
    model = keras.Sequential(
        [layers.Dense(4, activation="selu", input_shape=(5,)), layers.Dense(3, activation="softmax")]
    )
    model.compile(keras.optimizers.Adagrad(0.01), "sparse_categorical_crossentropy")

    def batches():
        while True:
            for start in range(0, 24, 6):
                yield x[start : start + 6], labels[start : start + 6]

    _fixed_weights(model)
    history = model.fit(batches(), steps_per_epoch=4, epochs=2, verbose=0).history
    return {"history": np.asarray(history["loss"], np.float64).tolist()}


def single_batches(keras):
    x, _, targets = _data("vectors")
    layers = keras.layers
    model = keras.Sequential([layers.Dense(4, activation="softplus", input_shape=(5,)), layers.Dense(2)])
    model.compile("nadam", "mae", metrics=["mse"])
    _fixed_weights(model)
    found = [model.train_on_batch(x[:8], targets[:8]) for _ in range(3)]
    found.append(model.test_on_batch(x[8:], targets[8:]))
    return {"values": np.asarray(found, np.float64).tolist(), "shape": list(model.predict_on_batch(x).shape)}


PROGRAMS = {
    function.__name__: function
    for function in (
        classifier,
        one_hot_classifier,
        binary_classifier,
        two_outputs,
        batches_of_a_generator,
        single_batches,
    )
}

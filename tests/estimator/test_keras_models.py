"""model_to_estimator: the Estimator of a Keras model gives the numbers of `fit`, `evaluate` and `predict`."""

import numpy as np
import pytest

import thalweg as tf

X = np.random.default_rng(2).normal(size=[24, 4]).astype(np.float32)
LABELS = (X.sum(1) > 0).astype(np.int64)
layers = tf.keras.layers


@pytest.fixture(params=["graph", "eager"], autouse=True)
def mode(request):
    if request.param == "eager":
        request.getfixturevalue("fresh")
        tf.keras.backend.clear_session()
        yield "eager"
    else:
        with tf.Graph().as_default():
            yield "graph"


def _model(optimizer=None):
    inputs = layers.Input((4,), name="given")
    hidden = layers.Dense(5, activation="tanh", kernel_regularizer="l2")(inputs)
    hidden = layers.BatchNormalization()(hidden)
    model = tf.keras.Model(inputs, layers.Dense(2, activation="softmax", name="found")(hidden))
    model.compile(optimizer or tf.keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def _batches(repeats=1):
    return tf.data.Dataset.from_tensor_slices(({"given": X}, LABELS)).batch(8).repeat(repeats)


def test_training_as_fit_trains(tmp_path):
    model = _model()
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    estimator.train(lambda: _batches(4))
    model.fit(X, LABELS, batch_size=8, epochs=4, shuffle=False, verbose=0)
    assert estimator.get_variable_value("global_step") == 12
    found = [p["found"] for p in estimator.predict(lambda: _batches())]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-4, atol=1e-6)
    tested = estimator.evaluate(lambda: _batches())
    loss, accuracy = model.evaluate(X, LABELS, batch_size=8, verbose=0)
    np.testing.assert_allclose([tested["loss"], tested["acc"]], [loss, accuracy], rtol=1e-4)


def test_the_weights_of_the_model_are_taken_along(tmp_path):
    model = _model()
    model.fit(X, LABELS, batch_size=8, epochs=2, verbose=0)
    before = model.get_weights()
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    found = [p["found"] for p in estimator.predict(lambda: _batches())]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-5)
    assert estimator.evaluate(lambda: _batches())["loss"] == pytest.approx(
        model.evaluate(X, LABELS, batch_size=8, verbose=0)[0], rel=1e-4
    )
    estimator.train(lambda: _batches(), steps=1)
    for mine, kept in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(mine, kept)


@pytest.mark.parametrize("optimizer", [tf.train.GradientDescentOptimizer, tf.keras.optimizers.SGD])
def test_training_in_the_replicas_of_a_strategy(tmp_path, optimizer):
    model = tf.keras.Sequential([layers.Dense(3, activation="tanh", input_shape=(4,)), layers.Dense(1)])
    model.compile(optimizer(0.1), "mse")
    given, target = np.repeat(X[:1], 8, axis=0), np.ones((8, 1), np.float32)  # equal rows: replicas change nothing
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    devices = tf.ConfigProto(device_count={"CPU": 2})
    config = tf.estimator.RunConfig(train_distribute=strategy, session_config=devices)
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path), config=config)
    estimator.train(lambda: tf.data.Dataset.from_tensor_slices((given, target)).batch(2).repeat(), steps=3)
    model.fit(given, target, batch_size=2, steps_per_epoch=None, epochs=1, shuffle=False, verbose=0)  # four steps
    assert estimator.get_variable_value("global_step") == 3
    estimator.train(lambda: tf.data.Dataset.from_tensor_slices((given, target)).batch(2).repeat(), steps=1)
    kernel = next(name for name in estimator.get_variable_names() if name == "dense/kernel")
    np.testing.assert_allclose(estimator.get_variable_value(kernel), model.get_weights()[0], rtol=1e-5)


def test_training_continues_and_is_exported(tmp_path):
    estimator = tf.keras.estimator.model_to_estimator(
        _model(tf.train.MomentumOptimizer(0.1, 0.9)), model_dir=str(tmp_path)
    )
    estimator.train(lambda: _batches(2), steps=3)
    estimator.train(lambda: _batches(2), steps=2)
    assert estimator.get_variable_value("global_step") == 5

    def serving():
        given = tf.placeholder(tf.float32, [None, 4])
        return tf.estimator.export.ServingInputReceiver({"given": given}, {"given": given})

    folder = estimator.export_saved_model(str(tmp_path / "exported"), serving)
    predict = tf.contrib.predictor.from_saved_model(folder.decode())
    expected = [p["found"] for p in estimator.predict(lambda: _batches())]
    np.testing.assert_allclose(predict({"given": X})["found"], expected, rtol=1e-5)


def test_several_outputs_metrics_and_a_path(tmp_path):
    inputs = layers.Input((4,), name="given")
    first, second = layers.Dense(2, name="first")(inputs), layers.Dense(1, name="second")(inputs)
    model = tf.keras.Model(inputs, [first, second])
    model.compile(
        "sgd", "mse", metrics={"second": tf.keras.metrics.MeanAbsoluteError(name="error")}, loss_weights=[1.0, 0.5]
    )
    targets = {"first": X[:, :2], "second": X[:, 2]}
    model.save(str(tmp_path / "model"), save_format="tf")
    estimator = tf.keras.estimator.model_to_estimator(
        keras_model_path=str(tmp_path / "model"), model_dir=str(tmp_path / "estimator")
    )

    def batches():
        return tf.data.Dataset.from_tensor_slices((X, targets)).batch(6)

    estimator.train(batches)
    model.fit(X, [targets["first"], targets["second"]], batch_size=6, shuffle=False, verbose=0)
    tested = estimator.evaluate(batches)
    expected = dict(
        zip(model.metrics_names, model.evaluate(X, [targets["first"], targets["second"]], batch_size=6, verbose=0))
    )
    np.testing.assert_allclose(tested["loss"], expected["loss"], rtol=1e-4)
    np.testing.assert_allclose(tested["second_error"], expected["second_error"], rtol=1e-4)


def test_what_is_refused(tmp_path):
    convert = tf.keras.estimator.model_to_estimator
    with pytest.raises(ValueError, match="either keras_model or keras_model_path"):
        convert()
    with pytest.raises(ValueError, match="not been compiled"):
        convert(tf.keras.Sequential([layers.Dense(1, input_shape=(2,))]))
    with pytest.raises(ValueError, match="expected 'saver'"):
        convert(_model(), checkpoint_format="zip")

    class Own(tf.keras.Model):
        def call(self, inputs):
            return inputs

    own = Own()
    own.compile("sgd", "mse")
    with pytest.raises(ValueError, match="`call` of its own"):
        convert(own)
    estimator = convert(_model(), model_dir=str(tmp_path))
    with pytest.raises(KeyError, match="given"):
        estimator.train(lambda: tf.data.Dataset.from_tensors(({"x": X}, LABELS)))

"""Canned Estimators: their variables, their steps, and that they learn."""

import numpy as np
import pytest

import thalweg as tf
from tests.estimator.models import XS, YS

COLUMNS = [tf.feature_column.numeric_column("x", [2])]
CLASSES = (XS[:, 0] > 4).astype(np.int64)


def read(labels=YS, epochs=None, batch_size=6):
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": XS / 10}, labels)).repeat(epochs).batch(batch_size)


def config(folder, **options):
    return tf.estimator.RunConfig(str(folder), tf_random_seed=1, **options)


def test_a_linear_regression_takes_steps_of_its_optimizer(tmp_path):
    sgd = tf.train.GradientDescentOptimizer(0.01)
    model = tf.estimator.LinearRegressor(COLUMNS, config=config(tmp_path), optimizer=sgd)
    model.train(read(), steps=1)
    x, expected = XS / 10, {}
    expected["weights"] = 0.01 * 2 * x.T @ YS
    expected["bias"] = 0.01 * 2 * YS.sum(0)
    np.testing.assert_allclose(
        model.get_variable_value("linear/linear_model/x/weights"), expected["weights"], rtol=1e-5
    )
    np.testing.assert_allclose(
        model.get_variable_value("linear/linear_model/bias_weights"), expected["bias"], rtol=1e-5
    )
    results = model.evaluate(read(epochs=1))
    squares = (x @ expected["weights"] + expected["bias"] - YS) ** 2
    assert set(results) == {"average_loss", "loss", "label/mean", "prediction/mean", "global_step"}
    assert results["average_loss"] == pytest.approx(squares.mean(), rel=1e-4)
    assert results["loss"] == pytest.approx(squares.sum(), rel=1e-4)
    assert results["label/mean"] == pytest.approx(YS.mean(), rel=1e-5)


def test_a_linear_classifier_learns_and_is_exported(tmp_path):
    model = tf.estimator.LinearClassifier(COLUMNS, config=config(tmp_path), label_vocabulary=["low", "high"])
    words = np.array(["low", "high"])[CLASSES]
    model.train(read(words), steps=200)
    results = model.evaluate(read(words, epochs=1))
    assert results["accuracy"] == 1.0 and results["auc"] == pytest.approx(1.0)
    found = [prediction["classes"][0].decode() for prediction in model.predict(read(words, epochs=1))]
    assert found == list(words)
    spec = tf.feature_column.make_parse_example_spec(COLUMNS)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    folder = model.export_saved_model(str(tmp_path / "export"), receiver).decode()
    with tf.Graph().as_default(), tf.Session() as session:
        signatures = tf.saved_model.loader.load(session, ["serve"], folder).signature_def
    assert set(signatures) == {"serving_default", "classification", "regression", "predict"}
    predictor = tf.contrib.predictor.from_saved_model(folder)
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=XS[5] / 10))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
    result = predictor({"inputs": [example.SerializeToString()]})
    assert list(result["classes"][0]) == [b"low", b"high"] and result["scores"][0, 1] > 0.5
    predictor.session.close()


def test_a_linear_model_takes_categories(tmp_path):
    column = tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    model = tf.estimator.LinearClassifier(column, config=config(tmp_path), n_classes=3)
    words, labels = np.array(["a", "b", "c"]), np.array([2, 0, 1])
    source = lambda: tf.data.Dataset.from_tensor_slices(({"word": words}, labels)).repeat().batch(3)  # noqa: E731
    model.train(source, steps=30)
    assert model.evaluate(source, steps=1)["accuracy"] == 1.0
    assert model.get_variable_value("linear/linear_model/word/weights").shape == (3, 3)


def test_a_network_has_its_layers_and_learns(tmp_path):
    model = tf.estimator.DNNClassifier([4, 3], COLUMNS, config=config(tmp_path), n_classes=3)
    labels = np.arange(6) // 2
    model.train(read(labels), steps=300)
    shapes = {name: model.get_variable_value(name).shape for name in model.get_variable_names() if "/t_0/" not in name}
    kernels = {name: shape for name, shape in shapes.items() if name.endswith(("kernel", "bias"))}
    assert kernels == {
        "dnn/hiddenlayer_0/kernel": (2, 4),
        "dnn/hiddenlayer_0/bias": (4,),
        "dnn/hiddenlayer_1/kernel": (4, 3),
        "dnn/hiddenlayer_1/bias": (3,),
        "dnn/logits/kernel": (3, 3),
        "dnn/logits/bias": (3,),
    }
    results = model.evaluate(read(labels, epochs=1))
    assert set(results) == {"accuracy", "average_loss", "loss", "global_step"}
    assert results["average_loss"] < np.log(3)


def test_a_network_can_have_dropout_and_normalized_layers(tmp_path):
    model = tf.estimator.DNNRegressor([4], COLUMNS, config=config(tmp_path), dropout=0.5, batch_norm=True)
    model.train(read(), steps=5)
    assert "dnn/hiddenlayer_0/batchnorm_0/moving_mean" in model.get_variable_names()
    assert np.any(model.get_variable_value("dnn/hiddenlayer_0/batchnorm_0/moving_mean"))
    one, two = ([p["predictions"] for p in model.predict(read(epochs=1))] for _ in range(2))
    np.testing.assert_array_equal(one, two)  # nothing is dropped in prediction


def test_a_linear_model_and_a_network_are_trained_together(tmp_path):
    model = tf.estimator.DNNLinearCombinedRegressor(
        config=config(tmp_path),
        linear_feature_columns=COLUMNS,
        linear_optimizer=tf.train.GradientDescentOptimizer(0.01),
        dnn_feature_columns=COLUMNS,
        dnn_optimizer=lambda: tf.train.AdamOptimizer(0.01),
        dnn_hidden_units=[3],
    )
    before = model.evaluate(read(epochs=1))["average_loss"]
    model.train(read(), steps=50)
    assert model.get_variable_value("global_step") == 50
    assert model.evaluate(read(epochs=1))["average_loss"] < before / 10
    names = model.get_variable_names()
    assert {"dnn/hiddenlayer_0/kernel", "dnn/logits/bias", "linear/linear_model/x/weights"} <= set(names)
    assert "linear/linear_model/x/weights/Adam" not in names


def test_a_combined_classifier_may_have_one_part(tmp_path):
    for name, options in [
        ("linear", {"linear_feature_columns": COLUMNS}),
        ("dnn", {"dnn_feature_columns": COLUMNS, "dnn_hidden_units": [2]}),
    ]:
        model = tf.estimator.DNNLinearCombinedClassifier(config=config(tmp_path / name), **options)
        model.train(read(CLASSES), steps=2)
        assert all(key.startswith((name, "global_step")) for key in model.get_variable_names())
    with pytest.raises(ValueError, match="must be defined"):
        tf.estimator.DNNLinearCombinedClassifier(config=config(tmp_path))
    with pytest.raises(ValueError, match="dnn_hidden_units"):
        tf.estimator.DNNLinearCombinedClassifier(config=config(tmp_path), dnn_feature_columns=COLUMNS)


def test_a_baseline_learns_the_mean_and_the_frequencies(tmp_path):
    mean = tf.estimator.BaselineRegressor(config=config(tmp_path / "mean"), optimizer=tf.train.AdamOptimizer(0.5))
    mean.train(read(), steps=300)
    np.testing.assert_allclose(mean.get_variable_value("baseline/bias"), YS.mean(0), rtol=1e-2)
    classes = tf.estimator.BaselineClassifier(config=config(tmp_path / "classes"), n_classes=3, optimizer="Adagrad")
    classes.train(read(np.array([0, 1, 1, 2, 2, 2])), steps=300)
    found = next(classes.predict(read(epochs=1)))["probabilities"]
    np.testing.assert_allclose(found, [1 / 6, 2 / 6, 3 / 6], atol=0.02)


def test_any_head_can_be_on_a_model(tmp_path):
    heads = [tf.estimator.RegressionHead(name="sum"), tf.estimator.BinaryClassHead(name="large")]
    makers = {
        "linear": lambda head, c: tf.estimator.LinearEstimator(head, COLUMNS, config=c),
        "dnn": lambda head, c: tf.estimator.DNNEstimator(head, [3], COLUMNS, config=c),
        "combined": lambda head, c: tf.estimator.DNNLinearCombinedEstimator(
            head, linear_feature_columns=COLUMNS, dnn_feature_columns=COLUMNS, dnn_hidden_units=[3], config=c
        ),
        "baseline": lambda head, c: tf.estimator.BaselineEstimator(head, config=c),
    }

    def source():
        dataset = tf.data.Dataset.from_tensor_slices(({"x": XS / 10}, {"sum": YS, "large": CLASSES}))
        return dataset.repeat().batch(6)

    for name, make in makers.items():
        model = make(tf.estimator.MultiHead(heads), config(tmp_path / name))
        model.train(source, steps=3)
        results = model.evaluate(source, steps=1)
        assert {"accuracy/large", "average_loss/sum", "loss/large"} <= set(results), name
        assert ("sum", "predictions") in next(model.predict(source)), name


def test_a_canned_model_starts_from_another_one(tmp_path):
    first = tf.estimator.LinearRegressor(COLUMNS, config=config(tmp_path / "first"))
    first.train(read(), steps=5)
    sgd = tf.train.GradientDescentOptimizer(0.0)
    second = tf.estimator.LinearRegressor(
        COLUMNS, config=config(tmp_path / "second"), optimizer=sgd, warm_start_from=first.model_dir
    )
    second.train(read(), steps=1)
    name = "linear/linear_model/x/weights"
    np.testing.assert_array_equal(second.get_variable_value(name), first.get_variable_value(name))


def test_examples_are_weighted(tmp_path):
    def source():
        features = {"x": XS / 10, "w": np.array([1, 0, 0, 0, 0, 0], np.float32)}
        return tf.data.Dataset.from_tensor_slices((features, YS)).repeat().batch(6)

    model = tf.estimator.LinearRegressor(COLUMNS, config=config(tmp_path), weight_column="w")
    results = model.evaluate(source, steps=1)
    assert results["average_loss"] == pytest.approx(YS[0, 0] ** 2)
    assert results["label/mean"] == pytest.approx(YS[0, 0])


@pytest.mark.parametrize(
    ("optimizer", "error"), [("Other", "Unsupported optimizer name"), (lambda: 1, "not an Optimizer")]
)
def test_wrong_optimizers_are_refused(tmp_path, optimizer, error):
    model = tf.estimator.LinearRegressor(COLUMNS, config=config(tmp_path), optimizer=optimizer)
    with pytest.raises(ValueError, match=error):
        model.train(read(), steps=1)


def test_wrong_columns_and_features_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must not be empty"):
        tf.estimator.LinearRegressor([], config=config(tmp_path))
    model = tf.estimator.LinearRegressor(COLUMNS, config=config(tmp_path))
    with pytest.raises(ValueError, match="dictionary"):
        model.train(lambda: (tf.constant(XS), tf.constant(YS)), steps=1)
    words = tf.feature_column.categorical_column_with_hash_bucket("word", 3)
    network = tf.estimator.DNNRegressor([2], [words], config=config(tmp_path))
    with pytest.raises(ValueError, match="dense columns"):
        network.train(read(), steps=1)


def test_functions_of_logits_can_be_combined():
    features = {"x": tf.constant(XS)}
    linear = tf.estimator.experimental.linear_logit_fn_builder({"a": 1, "b": 2}, COLUMNS)
    network = tf.estimator.experimental.dnn_logit_fn_builder(3, [2], COLUMNS, tf.nn.relu, None, None, False)
    call = tf.estimator.experimental.call_logit_fn
    found = call(linear, features, "eval", {}, None)
    assert {name: logits.shape.as_list() for name, logits in found.items()} == {"a": [6, 1], "b": [6, 2]}
    assert call(network, features, "eval", {}, None).shape.as_list() == [6, 3]
    with pytest.raises(ValueError, match="should return a Tensor"):
        call(lambda features: 1, features, "eval", {}, None)


def test_labels_and_weights_are_parsed_with_the_features():
    spec = tf.estimator.classifier_parse_example_spec(COLUMNS, "y", weight_column="w")
    assert set(spec) == {"x", "y", "w"} and spec["y"].dtype == tf.int64
    spec = tf.estimator.regressor_parse_example_spec(COLUMNS, "y", label_dimension=3, label_default=[0, 0, 0])
    assert spec["y"] == tf.FixedLenFeature((3,), tf.float32, [0, 0, 0])
    for options in ({"label_key": "x"}, {"label_key": "y", "weight_column": "x"}):
        with pytest.raises(ValueError, match="should not be used as feature"):
            tf.estimator.classifier_parse_example_spec(COLUMNS, **options)
    with pytest.raises(ValueError, match="numeric_column"):
        tf.estimator.classifier_parse_example_spec(COLUMNS, "y", weight_column=1)

"""tf.contrib.learn: Estimators with `fit`, experiments, and their runner."""

import numpy as np
import pytest

import thalweg as tf
from tests.estimator.models import XS, YS, descended, estimator, numbers, rows

learn = tf.contrib.learn


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    yield
    tf.summary.FileWriterCache.clear()


def linear(features, labels, mode, params):
    """A model function of the first releases, which returns three values."""
    x = features["x"] if isinstance(features, dict) else features
    predictions = tf.matmul(x, tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer()))
    if mode == learn.ModeKeys.INFER:
        return predictions, None, None
    loss = tf.losses.mean_squared_error(labels, predictions)
    return predictions, loss, tf.contrib.layers.optimize_loss(loss, None, params["rate"], "SGD")


def make(folder, function=linear, **options):
    config = learn.RunConfig(tf_random_seed=1, **options)
    return learn.Estimator(function, str(folder), config, params={"rate": 0.001})


def test_an_estimator_fits_arrays_and_input_functions(tmp_path):
    model = make(tmp_path)
    assert model.fit(XS, YS, steps=2, batch_size=6) is model
    model.partial_fit(input_fn=rows(batch_size=6))
    np.testing.assert_allclose(model.get_variable_value("w"), descended(3, batch_size=6), rtol=1e-4)
    error = learn.MetricSpec(tf.contrib.metrics.streaming_mean_absolute_error)
    found = model.evaluate(XS, YS, batch_size=2, metrics={"mae": error})
    expected = XS @ descended(3, batch_size=6)
    assert found["mae"] == pytest.approx(np.abs(expected - YS).mean(), rel=1e-4) and found["global_step"] == 3
    np.testing.assert_allclose(list(model.predict(XS)), expected, rtol=1e-4)
    np.testing.assert_allclose(model.predict(XS, batch_size=4, as_iterable=False), expected, rtol=1e-4)
    assert "w" in model.get_variable_names() and model.params == {"rate": 0.001}
    for arguments in [{}, {"x": XS, "input_fn": rows()}, {"input_fn": rows(), "batch_size": 3}]:
        with pytest.raises(ValueError, match="input_fn"):
            model.fit(**arguments)


def test_a_model_function_may_return_model_fn_ops(tmp_path):
    def function(features, labels, mode, params, config, model_dir):
        assert model_dir == config.model_dir == str(tmp_path)
        predictions, loss, train_op = linear(features, labels, mode, params)
        metrics = None if loss is None else {"mae": tf.metrics.mean_absolute_error(labels, predictions)}
        return learn.ModelFnOps(mode, {"y": predictions}, loss, train_op, metrics)

    model = make(tmp_path, function)
    model.fit(input_fn=rows(), steps=1)
    specs = {
        "named": learn.MetricSpec(tf.metrics.mean_absolute_error, prediction_key="y"),
        "weighted": learn.MetricSpec(tf.metrics.mean_squared_error, "y", weight_key="x"),
    }
    found = model.evaluate(input_fn=rows(epochs=1), metrics={"named": specs["named"]})
    assert found["named"] == found["mae"]
    with pytest.raises(ValueError, match="one of \\['y'\\]"):
        model.evaluate(input_fn=rows(epochs=1), metrics={"a": learn.MetricSpec(tf.metrics.mean, "z")})
    assert "weight_key=x" in str(specs["weighted"])
    with pytest.raises(TypeError, match="metric_fn"):
        learn.MetricSpec(3)
    with pytest.raises(ValueError, match="ModelFnOps"):
        make(tmp_path, lambda features, labels: 3).fit(input_fn=rows(), steps=1)


def test_features_are_made_before_the_model_sees_them(tmp_path):
    twice = lambda features, labels: ({"x": features["x"] * 0}, labels)  # noqa: E731
    model = learn.Estimator(linear, str(tmp_path), params={"rate": 0.1}, feature_engineering_fn=twice)
    model.fit(input_fn=rows(), steps=2)
    assert not model.get_variable_value("w").any()


def test_run_configs_describe_sessions():
    config = learn.RunConfig(num_cores=3, gpu_memory_fraction=0.5, master="grpc://a:1")
    assert config.session_config.intra_op_parallelism_threads == 3 and config.master == "grpc://a:1"
    assert config.tf_config.gpu_options.per_process_gpu_memory_fraction == 0.5
    assert config.save_checkpoints_secs == 600 and config.environment == "local"
    assert learn.RunConfig(save_checkpoints_steps=3).save_checkpoints_secs is None
    assert config.replace(model_dir="a").model_dir == "a"


def receive():
    x = tf.placeholder(tf.float32, [None, 2])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def test_an_experiment_trains_evaluates_and_exports(tmp_path):
    made = []

    def experiment_fn(run_config, hparams):
        model = learn.Estimator(linear, config=run_config, params={"rate": hparams.rate})
        metrics = {"mae": learn.MetricSpec(tf.metrics.mean_absolute_error)}
        strategy = learn.make_export_strategy(receive, exports_to_keep=1)
        made.append(
            learn.Experiment(*(model, rows(), rows(epochs=1), metrics, 5), eval_steps=None, export_strategies=strategy)
        )
        return made[0]

    config = learn.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=2, tf_random_seed=1)
    hparams = tf.contrib.training.HParams(rate=0.001)
    metrics, (exported,) = learn.learn_runner.run(experiment_fn, run_config=config, hparams=hparams)
    error = {step: float(np.mean(np.abs(XS @ descended(step) - YS))) for step in (2, 4, 5)}
    assert metrics["mae"] == pytest.approx(error[5], rel=1e-4)
    assert numbers(tmp_path / "eval_one_pass", "mae") == pytest.approx(error, rel=1e-4)
    predict = tf.contrib.predictor.from_saved_model(exported)
    np.testing.assert_allclose(predict({"x": XS})["output"], XS @ descended(5), rtol=1e-4)
    predict.session.close()
    assert made[0].continuous_eval(delay_secs=0, throttle_delay_secs=0)["global_step"] == 5
    assert made[0].evaluate(delay_secs=0)["global_step"] == 5
    assert (made[0].train_steps, made[0].eval_steps) == (5, None)


def test_an_experiment_with_an_estimator_of_today(tmp_path):
    model = estimator(tmp_path)
    experiment = learn.Experiment(
        model, rows(), rows(epochs=1), train_steps=6, eval_steps=None, min_eval_frequency=0, train_steps_per_iteration=3
    )
    hook = tf.train.SessionRunHook()
    experiment.extend_train_hooks([hook])
    assert learn.learn_runner.run(lambda folder: experiment, str(tmp_path), schedule="train") is model
    assert model.get_variable_value("global_step") == 6
    assert experiment.test()["global_step"] == 7
    other = learn.Experiment(
        estimator(tmp_path / "b"), rows(), rows(epochs=1), None, 5, None, train_steps_per_iteration=3
    )
    assert other.continuous_train_and_eval()[0]["global_step"] == 5
    with pytest.raises(ValueError, match="eval_metrics"):
        learn.Experiment(model, rows(), rows(), {"a": 1})
    with pytest.raises(ValueError, match="TF_CONFIG"):
        experiment.run_std_server()


def test_wrong_experiments_are_refused(tmp_path):
    run = learn.learn_runner.run
    experiment = learn.Experiment(estimator(tmp_path), rows(), rows())
    for call, error, words in [
        (lambda: run(3, "a"), TypeError, "not callable"),
        (lambda: run(lambda folder: experiment), ValueError, "output_dir"),
        (lambda: run(lambda folder: 3, "a"), TypeError, "Experiment instance"),
        (lambda: run(lambda folder: experiment, "a", "fly"), ValueError, "train_and_evaluate"),
        (lambda: run(lambda folder: experiment, "a", hparams=1), ValueError, "hparams"),
        (lambda: run(lambda **_: experiment, run_config=learn.RunConfig()), ValueError, "model directory"),
        (lambda: learn.Experiment(3, rows(), rows()), ValueError, "estimator"),
        (
            lambda: learn.Experiment(estimator(tmp_path), rows(), rows(), export_strategies=[3]),
            ValueError,
            "strategies",
        ),
    ]:
        with pytest.raises(error, match=words):
            call()

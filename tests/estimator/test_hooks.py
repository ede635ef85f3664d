"""Hooks of Estimators: early stopping, evaluation in memory, stopping at a saved step; and extended Estimators."""

import json

import numpy as np
import pytest

import thalweg as tf
from tests.estimator.models import XS, YS, descended, estimator, linear, numbers, rows

experimental = tf.estimator.experimental


def write_metrics(folder, values, tag="mae"):
    """Writes an event file of evaluations."""
    with tf.summary.FileWriter(str(folder)) as writer:
        for step, value in values.items():
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)]), step)


def steps_trained(model, hook):
    model.train(rows(), hooks=[hook], max_steps=10)
    return model.get_variable_value("global_step")


def test_a_function_stops_training(tmp_path):
    model, calls = estimator(tmp_path), []

    def should_stop():
        calls.append(1)
        return len(calls) == 3

    hook = experimental.make_early_stopping_hook(model, should_stop, run_every_secs=None, run_every_steps=2)
    assert steps_trained(model, hook) == 5
    assert len(calls) == 3
    assert model.get_variable_value("signal_early_stopping/STOP")


def test_a_worker_stops_when_the_chief_has_said_so(tmp_path, monkeypatch):
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}}))
    hook = experimental.make_early_stopping_hook(estimator(tmp_path), lambda: pytest.fail("the chief decides"))
    step = tf.train.create_global_step()
    update = tf.assign_add(step, 1)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(update)
        assert not session.should_stop()
        stop = next(v for v in tf.global_variables() if v.op.name == "signal_early_stopping/STOP")
        session.run_step_fn(lambda step_context: stop.load(True, step_context.session))
        session.run(update)
        assert session.should_stop()


@pytest.mark.parametrize(
    ("kind", "limit", "values", "stops"),
    [
        ("stop_if_higher_hook", 5.0, {1: 4.0, 2: 6.0}, True),
        ("stop_if_higher_hook", 6.0, {1: 4.0, 2: 6.0}, False),
        ("stop_if_lower_hook", 5.0, {1: 4.0, 2: 6.0}, True),
        ("stop_if_lower_hook", 4.0, {1: 4.0, 2: 6.0}, False),
        ("stop_if_no_increase_hook", 3, {1: 1.0, 2: 2.0, 5: 2.0}, True),
        ("stop_if_no_increase_hook", 3, {1: 1.0, 2: 2.0, 5: 3.0}, False),
        ("stop_if_no_decrease_hook", 3, {1: 3.0, 2: 2.0, 5: 2.0}, True),
        ("stop_if_no_decrease_hook", 4, {1: 3.0, 2: 2.0, 5: 2.0}, False),
        ("stop_if_no_decrease_hook", 4, {}, False),
    ],
)
def test_a_metric_of_evaluations_stops_training(tmp_path, kind, limit, values, stops):
    model = estimator(tmp_path / "model")
    write_metrics(tmp_path / "model" / "eval", values)
    hook = getattr(experimental, kind)(model, "mae", limit, run_every_secs=None, run_every_steps=1)
    assert steps_trained(model, hook) == (1 if stops else 10)


def test_early_evaluations_and_other_folders_can_be_left_out(tmp_path):
    model = estimator(tmp_path / "model")
    write_metrics(tmp_path / "other", {1: 9.0, 5: 1.0})
    options = {"eval_dir": str(tmp_path / "other"), "run_every_secs": None, "run_every_steps": 1}
    assert steps_trained(model, experimental.stop_if_higher_hook(model, "mae", 5.0, min_steps=2, **options)) == 10
    hook = experimental.stop_if_higher_hook(model, "auc", 5.0, **options)
    with pytest.raises(ValueError, match="no metric 'auc'"):
        model.train(rows(), hooks=[hook], steps=1)


def test_wrong_arguments_of_early_stopping_are_refused(tmp_path):
    model = estimator(tmp_path)
    with pytest.raises(TypeError, match="Estimator"):
        experimental.make_early_stopping_hook(None, lambda: True)
    for options in ({"run_every_steps": 1}, {"run_every_secs": None}):
        with pytest.raises(ValueError, match="exactly one"):
            experimental.make_early_stopping_hook(model, lambda: True, **options)
    assert tf.contrib.estimator.stop_if_lower_hook is experimental.stop_if_lower_hook


def test_training_is_evaluated_in_memory(tmp_path):
    model = estimator(tmp_path, save_checkpoints_steps=None, save_checkpoints_secs=None)
    hook = experimental.InMemoryEvaluatorHook(model, rows(epochs=1), every_n_iter=2, name="memory")
    model.train(rows(), hooks=[hook], steps=5)
    errors = {step: float(np.mean(np.abs(XS @ descended(step) - YS))) for step in (0, 2, 4, 5)}
    assert numbers(tmp_path / "eval_memory", "mae") == pytest.approx(errors, rel=1e-4)


def test_wrong_evaluations_in_memory_are_refused(tmp_path, monkeypatch):
    model = estimator(tmp_path)
    with pytest.raises(ValueError, match="every_n_iter"):
        experimental.InMemoryEvaluatorHook(model, rows(), every_n_iter=0)
    with pytest.raises(TypeError, match="Estimator"):
        experimental.InMemoryEvaluatorHook(None, rows())
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}}))
    with pytest.raises(ValueError, match="alone"):
        experimental.InMemoryEvaluatorHook(estimator(tmp_path), rows())


def test_training_stops_at_a_saved_step(tmp_path):
    model = estimator(tmp_path)
    assert steps_trained(model, experimental.make_stop_at_checkpoint_step_hook(model, 4)) == 4


# -- extended Estimators ----------------------------------------------------------------------------------------------


def test_metrics_can_be_added(tmp_path):
    def metrics(labels, predictions, features, config):
        assert config.model_dir == str(tmp_path)
        return {"mse": tf.metrics.mean_squared_error(labels, predictions), "x": tf.metrics.mean(features["x"])}

    model = tf.estimator.add_metrics(estimator(tmp_path), metrics)
    model.train(rows(), steps=1)
    results = model.evaluate(rows(epochs=1))
    assert set(results) == {"mae", "mse", "x", "loss", "global_step"}
    assert results["mse"] == pytest.approx(results["loss"])
    assert results["x"] == pytest.approx(XS.mean())
    with pytest.raises(ValueError, match="not expected args"):
        tf.estimator.add_metrics(model, lambda other: {})


def test_features_can_be_forwarded_to_predictions(tmp_path):
    def model_fn(features, labels, mode):
        return linear(features, labels, mode, {"rate": 0.1})

    def read():
        sparse = tf.SparseTensor([[0, 0], [2, 1]], [5, 6], [3, 2])
        return {"x": tf.constant(XS[:3]), "key": tf.constant([7, 8, 9]), "tags": sparse}

    model = tf.estimator.Estimator(model_fn, str(tmp_path))
    first = next(tf.contrib.estimator.forward_features(model, "key").predict(read))
    assert set(first) == {"y", "sum", "key"} and first["key"] == 7
    everything = tf.contrib.estimator.forward_features(model, sparse_default_values={"tags": -1})
    found = next(everything.predict(read, yield_single_examples=False))
    np.testing.assert_array_equal(found["tags"], [[5, -1], [-1, -1], [-1, 6]])
    np.testing.assert_array_equal(found["x"], XS[:3])
    for options, error, words in [
        ({"keys": ["z"]}, ValueError, "no \\['z'\\]"),
        ({"keys": ["tags"]}, ValueError, "sparse"),
    ]:
        with pytest.raises(error, match=words):
            next(tf.contrib.estimator.forward_features(model, **options).predict(read))
    with pytest.raises(TypeError, match="string"):
        tf.contrib.estimator.forward_features(model, [1])


def test_a_feature_may_not_replace_a_prediction(tmp_path):
    model = estimator(tmp_path)
    with pytest.raises(ValueError, match="that the predictions have"):
        next(
            tf.contrib.estimator.forward_features(model, "y").predict(
                lambda: {"x": tf.constant(XS), "y": tf.constant(XS)}
            )
        )

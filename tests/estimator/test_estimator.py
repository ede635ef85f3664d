"""Estimators: training, evaluation and prediction of a model that a function builds."""

import logging

import numpy as np
import pytest

import thalweg as tf
from tests.estimator.models import XS, YS, descended, estimator, events, linear, numbers, rows

Estimator, Spec, Keys = tf.estimator.Estimator, tf.estimator.EstimatorSpec, tf.estimator.ModeKeys


@pytest.fixture
def info(caplog):
    """The texts that have been logged."""
    tf.logging.set_verbosity(tf.logging.INFO)
    caplog.set_level(logging.INFO, "thalweg")
    yield lambda: [record.getMessage() for record in caplog.records]
    tf.logging.set_verbosity(tf.logging.WARN)


# -- training ---------------------------------------------------------------------------------------------------------


def test_training_descends_for_a_number_of_steps(tmp_path):
    model = estimator(tmp_path)
    assert model.train(rows(), steps=5) is model
    np.testing.assert_allclose(model.get_variable_value("w"), descended(5), rtol=1e-5)
    assert model.get_variable_value("global_step") == 5
    assert model.get_variable_names() == ["global_step", "w"]
    assert model.latest_checkpoint() == str(tmp_path / "model.ckpt-5")


def test_training_resumes_from_the_folder(tmp_path):
    estimator(tmp_path).train(rows(), steps=2)
    other = estimator(tmp_path)
    other.train(rows(), steps=2)  # the input starts anew, with the first two batches, and an epoch has two
    np.testing.assert_allclose(other.get_variable_value("w"), descended(4), rtol=1e-5)
    assert other.get_variable_value("global_step") == 4


def test_max_steps_counts_earlier_steps(tmp_path, info):
    model = estimator(tmp_path)
    model.train(rows(), steps=3)
    model.train(rows(), max_steps=4)
    assert model.get_variable_value("global_step") == 4
    before = sorted(tmp_path.iterdir())
    model.train(rows(), max_steps=4)
    assert sorted(tmp_path.iterdir()) == before
    assert "Skipping training since max_steps has already saved." in info()


def test_training_ends_with_the_input(tmp_path, caplog):
    model = estimator(tmp_path)
    model.train(rows(epochs=2))
    assert model.get_variable_value("global_step") == 4
    model.train(lambda: tf.data.Dataset.from_tensor_slices(({"x": XS[:0]}, YS[:0])).batch(2))
    assert model.get_variable_value("global_step") == 4
    assert "training made no steps" in caplog.text


def test_the_loss_and_the_rate_of_steps_are_logged(tmp_path, info):
    estimator(tmp_path, log_step_count_steps=2).train(rows(), steps=5)
    texts = info()
    steps = [text.partition(", step = ")[2].split()[0] for text in texts if text.startswith("loss = ")]
    assert steps == ["0", "2", "4"]
    assert sum(text.startswith("global_step/sec: ") for text in texts) == 2
    assert any(text.startswith("Loss for final step: ") for text in texts)


def test_summaries_are_written_at_their_interval(tmp_path):
    estimator(tmp_path, save_summary_steps=2).train(rows(), steps=5)
    losses = numbers(tmp_path, "loss")
    assert sorted(losses) == [1, 3, 5]
    assert losses[1] == pytest.approx(np.mean(YS[:3] ** 2))
    assert any(event.graph_def for event in events(tmp_path))


def test_checkpoints_are_saved_at_their_interval_and_deleted(tmp_path):
    estimator(tmp_path, save_checkpoints_steps=2, keep_checkpoint_max=2).train(rows(), steps=5)
    assert sorted(path.stem for path in tmp_path.glob("*.index")) == ["model.ckpt-4", "model.ckpt-5"]
    assert (tmp_path / "graph.pbtxt").exists()


def test_no_checkpoints_are_saved_if_none_are_wanted(tmp_path):
    model = estimator(tmp_path, save_checkpoints_steps=None, save_checkpoints_secs=None)
    model.train(rows(), steps=1)
    assert model.latest_checkpoint() is None
    for read in (model.get_variable_names, lambda: model.get_variable_value("w")):
        with pytest.raises(ValueError, match="Could not find trained model"):
            read()


def test_listeners_are_called_around_each_save(tmp_path):
    calls = []

    class Listener(tf.train.CheckpointSaverListener):
        def before_save(self, session, global_step_value):
            calls.append(("before", global_step_value))

        def after_save(self, session, global_step_value):
            calls.append(("after", global_step_value))

    model = estimator(tmp_path, save_checkpoints_steps=2)
    model.train(rows(), steps=2, saving_listeners=[Listener()])
    assert calls == [("before", 0), ("after", 0), ("before", 2), ("after", 2)]
    with pytest.raises(TypeError, match="CheckpointSaverListener"):
        model.train(rows(), steps=2, saving_listeners=[1])
    never = estimator(tmp_path, save_checkpoints_steps=None, save_checkpoints_secs=None)
    with pytest.raises(ValueError, match="need checkpoints"):
        never.train(rows(), steps=2, saving_listeners=[Listener()])


class Recorder(tf.train.SessionRunHook):
    """Records the calls of a hook."""

    def __init__(self):
        self.calls = []

    def begin(self):
        self.calls.append("begin")

    def after_run(self, run_context, run_values):
        self.calls.append("run")

    def end(self, session):
        self.calls.append("end")


def test_hooks_of_the_caller_and_of_the_model_are_called(tmp_path):
    given = {name: Recorder() for name in ("caller", "training", "chief", "evaluation", "prediction")}

    def model_fn(features, labels, mode):
        return linear(features, labels, mode, {"rate": 0.1})._replace(
            training_hooks=(given["training"],),
            training_chief_hooks=(given["chief"],),
            evaluation_hooks=(given["evaluation"],),
            prediction_hooks=(given["prediction"],),
        )

    model = Estimator(model_fn, str(tmp_path))
    model.train(rows(), hooks=[given["caller"]], steps=2)
    expected = ["begin", "run", "run", "end"]
    assert {name: hook.calls for name, hook in given.items()} == {
        **dict.fromkeys(("caller", "training", "chief"), expected),
        **{name: [] for name in ("evaluation", "prediction")},
    }
    model.evaluate(rows(), steps=1)
    assert given["evaluation"].calls == ["begin", "run", "end"]
    list(model.predict(rows(epochs=1)))
    assert given["prediction"].calls == ["begin", "run", "run", "end"]
    for call in (model.train, model.evaluate, model.predict):
        with pytest.raises(TypeError, match="SessionRunHook"):
            call(rows(), hooks=[1])


def test_a_loss_that_is_not_a_number_stops_training(tmp_path):
    def model_fn(features, labels, mode):
        loss = tf.reduce_mean(features["x"]) * np.nan
        return Spec(mode, loss=loss, train_op=tf.assign_add(tf.train.get_global_step(), 1))

    with pytest.raises(tf.estimator.NanLossDuringTrainingError):
        Estimator(model_fn, str(tmp_path)).train(lambda: {"x": tf.constant([1.0])}, steps=3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"steps": 1, "max_steps": 1}, "both steps and max_steps"),
        ({"steps": 0}, "steps > 0"),
        ({"max_steps": 0}, "max_steps > 0"),
    ],
)
def test_wrong_numbers_of_steps_are_refused(tmp_path, arguments, words):
    with pytest.raises(ValueError, match=words):
        estimator(tmp_path).train(rows(), **arguments)
    with pytest.raises(ValueError, match="steps > 0"):
        estimator(tmp_path).evaluate(rows(), steps=0)


# -- warm starts ------------------------------------------------------------------------------------------------------


def test_a_model_starts_from_another_one(tmp_path):
    first = estimator(tmp_path / "first")
    first.train(rows(), steps=3)
    for source in (first.model_dir, first.latest_checkpoint(), tf.estimator.WarmStartSettings(first.model_dir)):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        second = Estimator(linear, str(folder), params={"rate": 0.0}, warm_start_from=source)
        second.train(rows(), steps=1)
        np.testing.assert_allclose(second.get_variable_value("w"), descended(3), rtol=1e-5)
        assert second.get_variable_value("global_step") == 1


def test_a_warm_start_can_name_variables_and_their_earlier_names(tmp_path):
    first = estimator(tmp_path / "first")
    first.train(rows(), steps=3)

    def model_fn(features, labels, mode):
        new = tf.get_variable("new", [2, 1], initializer=tf.zeros_initializer())
        tf.get_variable("cold", [2], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.matmul(features["x"], new))
        return Spec(mode, loss=loss, train_op=tf.assign_add(tf.train.get_global_step(), 1))

    settings = tf.estimator.WarmStartSettings(first.model_dir, "new", var_name_to_prev_var_name={"new": "w"})
    second = Estimator(model_fn, str(tmp_path / "second"), warm_start_from=settings)
    second.train(rows(), steps=1)
    np.testing.assert_allclose(second.get_variable_value("new"), descended(3), rtol=1e-5)
    np.testing.assert_array_equal(second.get_variable_value("cold"), [1, 1])


def test_wrong_warm_starts_are_refused(tmp_path):
    with pytest.raises(ValueError, match="ckpt_to_initialize_from"):
        tf.estimator.WarmStartSettings("")
    with pytest.raises(ValueError, match="warm_start_from"):
        Estimator(linear, str(tmp_path), params={"rate": 1.0}, warm_start_from=5)
    assert tf.estimator.VocabInfo is tf.train.VocabInfo


# -- evaluation -------------------------------------------------------------------------------------------------------


def test_evaluation_returns_metrics_the_mean_loss_and_the_step(tmp_path, info):
    model = estimator(tmp_path)
    model.train(rows(), steps=5)
    results = model.evaluate(rows(epochs=1))
    difference = XS @ descended(5) - YS
    assert set(results) == {"mae", "loss", "global_step"}
    assert results["global_step"] == 5
    assert results["mae"] == pytest.approx(np.mean(np.abs(difference)), rel=1e-4)
    assert results["loss"] == pytest.approx(np.mean(difference**2), rel=1e-4)
    assert any(text.startswith("Saving dict for global step 5: global_step = 5, loss = ") for text in info())


def test_evaluation_writes_summaries_into_a_folder_of_its_name(tmp_path):
    model = estimator(tmp_path)
    model.train(rows(), steps=2)
    assert model.eval_dir() == str(tmp_path / "eval")
    assert model.eval_dir("test") == str(tmp_path / "eval_test")
    results = model.evaluate(rows(), steps=1, name="test")
    assert numbers(tmp_path / "eval_test", "mae") == {2: pytest.approx(results["mae"])}
    texts = [value.tensor.string_val for event in events(tmp_path / "eval_test") for value in event.summary.value]
    assert [str(tmp_path / "model.ckpt-2").encode()] in texts
    assert not (tmp_path / "eval").exists()


def test_evaluation_takes_the_given_checkpoint_and_number_of_batches(tmp_path):
    model = estimator(tmp_path, save_checkpoints_steps=1)
    model.train(rows(), steps=3)
    hook = Recorder()
    results = model.evaluate(rows(), steps=4, hooks=[hook], checkpoint_path=str(tmp_path / "model.ckpt-1"))
    assert results["global_step"] == 1
    assert hook.calls.count("run") == 4


def test_a_model_without_checkpoints_is_evaluated_as_initialized(tmp_path):
    results = estimator(tmp_path).evaluate(rows(epochs=1))
    assert results["global_step"] == 0
    assert results["loss"] == pytest.approx(np.mean(YS**2))


@pytest.mark.parametrize("name", ["loss", "global_step"])
def test_a_metric_may_not_have_the_name_of_what_is_there_already(tmp_path, name):
    def model_fn(features, labels, mode):
        return Spec(mode, loss=tf.constant(1.0), eval_metric_ops={name: tf.metrics.mean(labels)})

    with pytest.raises(ValueError, match=f'"{name}" is not allowed'):
        Estimator(model_fn, str(tmp_path)).evaluate(rows(), steps=1)


def test_a_metric_may_be_an_array(tmp_path):
    def model_fn(features, labels, mode):
        metrics = {"each": tf.metrics.mean_tensor(features["x"][0])}
        return Spec(mode, loss=tf.constant(1.0), eval_metric_ops=metrics)

    results = Estimator(model_fn, str(tmp_path)).evaluate(rows(epochs=1))
    np.testing.assert_allclose(results["each"], (XS[0] + XS[3]) / 2)
    values = [v for event in events(tmp_path / "eval") for v in event.summary.value if v.tag == "each"]
    assert [value.WhichOneof("value") for value in values] == ["tensor"]


# -- prediction -------------------------------------------------------------------------------------------------------


def test_predictions_come_one_example_at_a_time(tmp_path):
    model = estimator(tmp_path)
    model.train(rows(), steps=5)
    results = list(model.predict(rows(epochs=1)))
    assert len(results) == 6
    np.testing.assert_allclose([result["y"] for result in results], XS @ descended(5), rtol=1e-4)
    np.testing.assert_allclose([result["sum"] for result in results], XS.sum(1))


def test_predictions_can_come_in_batches_and_by_key(tmp_path):
    model = estimator(tmp_path)
    model.train(rows(), steps=1)
    batches = list(model.predict(rows(4, epochs=1), yield_single_examples=False))
    assert [batch["y"].shape for batch in batches] == [(4, 1), (2, 1)]
    assert set(next(model.predict(rows(epochs=1), predict_keys="sum"))) == {"sum"}
    with pytest.raises(ValueError, match="at least one output"):
        next(model.predict(rows(), predict_keys=["z"]))


def test_a_caller_keeps_its_own_graph_between_predictions(tmp_path, graph):
    model = estimator(tmp_path)
    results = model.predict(rows(epochs=1))
    next(results)
    assert tf.get_default_graph() is graph
    with tf.Graph().as_default() as other:
        next(results)
        assert tf.get_default_graph() is other
    results.close()


def test_predictions_of_one_tensor_are_its_rows(tmp_path):
    def model_fn(features, mode):
        return Spec(mode, predictions=features["x"] * 2)

    model = Estimator(model_fn, str(tmp_path))
    np.testing.assert_array_equal(list(model.predict(lambda: rows(epochs=1)().map(lambda x, y: x))), XS * 2)
    with pytest.raises(ValueError, match="non-dict"):
        next(model.predict(rows(), predict_keys=["a"]))


def test_predictions_of_different_lengths_are_refused(tmp_path):
    def model_fn(features, mode):
        return Spec(mode, predictions={"a": features["x"], "b": features["x"][:1]})

    with pytest.raises(ValueError, match="Batch length"):
        next(Estimator(model_fn, str(tmp_path)).predict(rows()))


def test_an_input_without_end_is_warned_of(tmp_path, caplog):
    model = estimator(tmp_path)
    results = model.predict(lambda: {"x": tf.constant(XS)})
    next(results)
    results.close()
    assert "predict never ends" in caplog.text


# -- functions --------------------------------------------------------------------------------------------------------


def test_functions_are_called_with_the_parameters_that_they_take(tmp_path):
    seen = {}

    def model_fn(features, labels, mode, params, config):
        seen["model"] = (labels is not None, mode, params["rate"], config.model_dir)
        return linear(features, labels, mode, params)

    def input_fn(mode, params, config):
        seen["input"] = (mode, params["rate"], config.model_dir)
        return {"x": tf.constant(XS)}, tf.constant(YS)

    model = Estimator(model_fn, str(tmp_path), params={"rate": 0.5})
    model.train(input_fn, steps=1)
    assert seen == {"model": (True, "train", 0.5, str(tmp_path)), "input": ("train", 0.5, str(tmp_path))}
    model.evaluate(input_fn, steps=1)
    assert seen["model"][1] == seen["input"][0] == "eval"
    next(model.predict(input_fn))
    assert seen["model"][:2] == (False, "infer")
    spec = model.model_fn({"x": tf.constant(XS)}, tf.constant(YS), Keys.EVAL, model.config)
    assert isinstance(spec, Spec)


def test_wrong_model_functions_are_refused(tmp_path):
    def make(model_fn, params=None):
        return Estimator(model_fn, str(tmp_path), params=params)

    with pytest.raises(ValueError, match="must include features"):
        make(lambda labels: None)
    with pytest.raises(ValueError, match="not expected args: \\['other'\\]"):
        make(lambda features, other: None)
    with pytest.raises(ValueError, match="does not include params"):
        make(lambda features: None, params={})
    with pytest.raises(ValueError, match="must be a function"):
        make(None)
    with pytest.raises(ValueError, match="does not take labels"):
        make(lambda features: None).train(rows(), steps=1)
    with pytest.raises(ValueError, match="should return an EstimatorSpec"):
        make(lambda features, labels: None).train(rows(), steps=1)


def test_an_input_function_returns_features_or_a_pair(tmp_path):
    model = estimator(tmp_path)
    with pytest.raises(ValueError, match="len 2 tuple"):
        model.train(lambda: (1, 2, 3), steps=1)


def test_the_folder_is_given_once_or_is_temporary(tmp_path, caplog):
    config = tf.estimator.RunConfig(model_dir=str(tmp_path))
    assert Estimator(linear, config=config, params={}).model_dir == str(tmp_path)
    assert Estimator(linear, tmp_path, config, params={}).model_dir == str(tmp_path)
    with pytest.raises(ValueError, match="different values"):
        Estimator(linear, "/other", config, params={})
    with pytest.raises(ValueError, match="RunConfig"):
        Estimator(linear, config={}, params={})
    model = Estimator(linear, params={})
    assert f"Using temporary folder as model directory: {model.model_dir}" in caplog.text
    assert model.config.model_dir == model.model_dir
    tf.io.gfile.rmtree(model.model_dir)


def test_parameters_are_copied(tmp_path):
    params = {"rate": 1.0, "list": [1]}
    model = Estimator(linear, str(tmp_path), params=params)
    params["list"].append(2)
    model.params["list"].append(3)
    assert model.params == {"rate": 1.0, "list": [1]}


def test_a_subclass_may_not_replace_methods(tmp_path):
    class Other(Estimator):
        def train(self, input_fn):
            return None

    with pytest.raises(ValueError, match="cannot override"):
        Other(linear, str(tmp_path), params={})


def test_training_is_repeatable_with_a_seed(tmp_path):
    def model_fn(features, labels, mode):
        weights = tf.get_variable("w", [2, 1])
        loss = tf.reduce_mean(tf.matmul(features["x"], weights))
        return Spec(mode, loss=loss, train_op=tf.assign_add(tf.train.get_global_step(), 1))

    values = []
    for name in ("one", "two"):
        config = tf.estimator.RunConfig(str(tmp_path / name), tf_random_seed=3)
        values.append(Estimator(model_fn, config=config).train(rows(), steps=1).get_variable_value("w"))
    np.testing.assert_array_equal(*values)


def test_estimators_work_where_execution_is_eager(tmp_path, eager):
    model = estimator(tmp_path)
    model.train(rows(), steps=2)
    assert model.evaluate(rows(), steps=1)["global_step"] == 2
    assert len(list(model.predict(rows(epochs=1)))) == 6


@pytest.mark.cpu_only(reason="the replicas are on CPUs")
def test_replicas_of_a_strategy_share_the_model(tmp_path):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    model = estimator(tmp_path, train_distribute=strategy, eval_distribute=strategy, session_config=config)
    model.train(rows(), steps=4)
    # The two batches of an epoch, one for each replica, are as one batch of all rows.
    np.testing.assert_allclose(model.get_variable_value("w"), descended(4, batch_size=6), rtol=1e-5)
    assert model.get_variable_value("global_step") == 4
    difference = XS @ descended(4, batch_size=6) - YS
    results = model.evaluate(rows(epochs=1))
    assert results["loss"] == pytest.approx(np.mean(difference**2), rel=1e-4)
    assert results["mae"] == pytest.approx(np.mean(np.abs(difference)), rel=1e-4)

"""train_and_evaluate: in one process, and at the tasks of a cluster."""

import json
import sys

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import addresses
from tests.estimator.models import XS, YS, descended, estimator, numbers, rows

Train, Eval = tf.estimator.TrainSpec, tf.estimator.EvalSpec


def receive():
    x = tf.placeholder(tf.float32, [None, 2])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def test_every_checkpoint_is_evaluated_in_turn(tmp_path):
    model = estimator(tmp_path, save_checkpoints_steps=2)
    exporters = [tf.estimator.LatestExporter("latest", receive), tf.estimator.FinalExporter("final", receive)]
    evaluated = Eval(rows(epochs=1), steps=None, throttle_secs=0, exporters=exporters, name="held")
    metrics, exports = tf.estimator.train_and_evaluate(model, Train(rows(), max_steps=5), evaluated)
    errors = {step: float(np.mean(np.abs(XS @ descended(step) - YS))) for step in (2, 4, 5)}
    assert numbers(tmp_path / "eval_held", "mae") == pytest.approx(errors, rel=1e-4)
    assert metrics["global_step"] == 5 and metrics["mae"] == pytest.approx(errors[5], rel=1e-4)
    assert len(list((tmp_path / "export" / "latest").iterdir())) == 3
    (final,) = (tmp_path / "export" / "final").iterdir()
    assert exports[1] == str(final).encode()
    predictor = tf.contrib.predictor.from_saved_model(str(final))
    np.testing.assert_allclose(predictor({"x": XS})["y"], XS @ descended(5), rtol=1e-4)
    predictor.session.close()


def test_evaluations_are_throttled_but_for_the_last(tmp_path):
    model = estimator(tmp_path, save_checkpoints_steps=1)
    evaluated = Eval(rows(epochs=1), steps=None, throttle_secs=10_000)
    metrics, _ = tf.estimator.train_and_evaluate(model, Train(rows(), max_steps=3), evaluated)
    assert list(numbers(tmp_path / "eval", "mae")) == [3]
    assert metrics["global_step"] == 3


def test_training_that_is_complete_is_not_repeated(tmp_path):
    model = estimator(tmp_path)
    model.train(rows(), steps=3)
    assert tf.estimator.train_and_evaluate(model, Train(rows(), max_steps=3), Eval(rows(), steps=1)) == (None, [])


def test_without_a_last_step_training_ends_with_the_input(tmp_path):
    model = estimator(tmp_path)
    evaluated = Eval(rows(epochs=1), steps=None, exporters=tf.estimator.FinalExporter("final", receive))
    metrics, exports = tf.estimator.train_and_evaluate(model, Train(rows(epochs=2)), evaluated)
    assert metrics["global_step"] == 4
    assert len(exports) == 1


def test_wrong_specs_are_refused(tmp_path):
    class Nameless(tf.estimator.Exporter):
        name = ""

    one = tf.estimator.FinalExporter("a", receive)
    for make, error, words in [
        (lambda: Train(1), TypeError, "input_fn"),
        (lambda: Train(rows(), max_steps=0), ValueError, "max_steps > 0"),
        (lambda: Train(rows(), hooks=[1]), TypeError, "SessionRunHook"),
        (lambda: Eval(1), TypeError, "input_fn"),
        (lambda: Eval(rows(), steps=0), ValueError, "steps > 0"),
        (lambda: Eval(rows(), name=1), TypeError, "name"),
        (lambda: Eval(rows(), hooks=[1]), TypeError, "SessionRunHook"),
        (lambda: Eval(rows(), start_delay_secs=-1), ValueError, "start_delay_secs"),
        (lambda: Eval(rows(), throttle_secs=-1), ValueError, "throttle_secs"),
        (lambda: Eval(rows(), exporters=[1]), TypeError, "Exporter"),
        (lambda: Eval(rows(), exporters=[one, one]), ValueError, "names"),
        (lambda: Eval(rows(), exporters=[Nameless()]), ValueError, "names"),
    ]:
        with pytest.raises(error, match=words):
            make()
    model, train, evaluated = estimator(tmp_path), Train(rows()), Eval(rows())
    for arguments in [(None, train, evaluated), (model, None, evaluated), (model, train, None)]:
        with pytest.raises(TypeError, match="must have type"):
            tf.estimator.train_and_evaluate(*arguments)


def test_the_defaults_of_an_evaluation_are_those_of_tensorflow():
    spec = Eval(rows())
    assert (spec.steps, spec.name, spec.hooks, spec.exporters) == (100, None, (), ())
    assert (spec.start_delay_secs, spec.throttle_secs) == (120, 600)


@pytest.mark.parametrize("kind", ["evaluator", "ps"])
def test_only_workers_train(tmp_path, monkeypatch, kind):
    cluster = {"chief": ["a:1"], "ps": ["b:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}}))
    with pytest.raises(ValueError, match="task type"):
        estimator(tmp_path).train(rows(), steps=1)


# -- clusters ---------------------------------------------------------------------------------------------------------

_PROGRAM = """
import sys
import thalweg as tf
from tests.estimator.models import estimator, rows

model = estimator(sys.argv[1], save_checkpoints_steps=10, experimental_max_worker_delay_secs=0)
train = tf.estimator.TrainSpec(rows(), max_steps=40)
evaluated = tf.estimator.EvalSpec(rows(epochs=1), steps=None, start_delay_secs=0, throttle_secs=0)
tf.estimator.train_and_evaluate(model, train, evaluated)
"""


def run_cluster(folder, tasks, cluster):
    """Runs the program at tasks of a cluster, and waits for all but the parameter servers."""
    started = {}
    try:
        for job, index in tasks:
            config = json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})
            environment = children.environment(TF_CONFIG=config, OMP_NUM_THREADS="1")
            command = [sys.executable, "-c", _PROGRAM, str(folder)]
            started[job, index] = children.start(command, forked=True, env=environment)
        ending = {task: process for task, process in started.items() if task[0] != "ps"}
        return {task: process.wait(100) for task, process in ending.items()}
    finally:
        for process in started.values():
            children.end(process)


def test_the_tasks_of_a_cluster_train_and_evaluate(tmp_path):
    cluster = addresses(chief=1, worker=1, ps=2)
    tasks = [("ps", 0), ("ps", 1), ("chief", 0), ("worker", 0), ("evaluator", 0)]
    codes = run_cluster(tmp_path, tasks, cluster)
    assert codes == {("chief", 0): 0, ("worker", 0): 0, ("evaluator", 0): 0}
    trained = estimator(tmp_path)
    assert trained.get_variable_value("global_step") >= 40
    evaluated = numbers(tmp_path / "eval", "mae")
    last = max(evaluated)
    assert last >= 40
    # The other task goes on while one saves, so that the last checkpoint may be one or two steps later.
    paths = tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths
    found = [trained.evaluate(rows(epochs=1), checkpoint_path=path, name="again")["mae"] for path in paths]
    assert any(evaluated[last] == pytest.approx(value, rel=1e-4) for value in found)
    assert evaluated[last] < np.mean(np.abs(YS)) / 2


def test_a_master_trains_and_evaluates_in_turn(tmp_path):
    cluster = addresses(master=1, ps=1)
    assert run_cluster(tmp_path, [("ps", 0), ("master", 0)], cluster) == {("master", 0): 0}
    assert 40 in numbers(tmp_path / "eval", "mae")

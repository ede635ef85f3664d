"""Evaluation of checkpoints."""

import pytest

import thalweg as tf
from tests.training.conftest import events


@pytest.fixture
def checkpoints(tmp_path):
    """Two checkpoints of a variable, 10 and 20."""
    folder = tmp_path / "model"
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.get_variable("value", initializer=10.0)
        step = tf.train.get_or_create_global_step()
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        folder.mkdir()
        first = saver.save(session, str(folder / "model"), 1)
        session.run([value.assign(20.0), step.assign(2)])
        return [first, saver.save(session, str(folder / "model"), 2)]


def model():
    value = tf.get_variable("value", initializer=0.0)
    tf.train.get_or_create_global_step()
    return tf.metrics.mean(value)


def test_evaluate_once(checkpoints):
    mean, update = model()
    for path, expected in zip(checkpoints, (10, 20)):
        final = tf.contrib.training.evaluate_once(
            path, eval_ops=update, final_ops=mean, hooks=[tf.contrib.training.StopAfterNEvalsHook(3)]
        )
        assert final == expected


def test_until_the_input_ends(checkpoints):
    _mean, update = model()
    number = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    count = tf.get_local_variable("count", initializer=0)
    with tf.control_dependencies([number]):
        counted = count.assign_add(1)
    hooks = [tf.contrib.training.StopAfterNEvalsHook(None)]
    final = tf.contrib.training.evaluate_once(
        checkpoints[0], eval_ops=[update, counted], final_ops={"n": count}, hooks=hooks
    )
    assert final == {"n": 4}


def test_without_operations_only_the_final_ones_run(checkpoints):
    model()
    assert tf.contrib.training.evaluate_once(checkpoints[1], final_ops=tf.train.get_global_step()) == 2


def test_repeatedly(checkpoints, tmp_path):
    mean, update = model()
    seen = []

    class Seeing(tf.train.SessionRunHook):
        def end(self, session):
            seen.append(session.run(mean))

    final = tf.contrib.training.evaluate_repeatedly(
        str(tmp_path / "model"),
        eval_ops=update,
        final_ops=mean,
        hooks=[tf.contrib.training.StopAfterNEvalsHook(2), Seeing()],
        eval_interval_secs=0,
        timeout=0.1,
    )
    assert final == 20 and seen == [20]


def test_slim(checkpoints, tmp_path):
    mean, update = model()
    tf.summary.scalar("mean", mean)
    logs = tmp_path / "logs"
    slim = tf.contrib.slim
    final = slim.evaluation.evaluate_once("", checkpoints[0], str(logs), num_evals=2, eval_op=update, final_op=mean)
    assert final == 10
    final = slim.evaluation.evaluation_loop(
        "",
        str(tmp_path / "model"),
        str(logs),
        num_evals=2,
        eval_op=update,
        final_op=mean,
        variables_to_restore=tf.global_variables(),
        max_number_of_evaluations=1,
        eval_interval_secs=0,
    )
    assert final == 20
    values = [(e.step, e.summary.value[0].simple_value) for e in events(logs) if e.HasField("summary")]
    assert values == [(0, 10.0), (2, 20.0)]


def test_invalid_arguments():
    with pytest.raises(ValueError, match="log_dir"):
        tf.contrib.training.SummaryAtEndHook()
    with pytest.raises(ValueError, match="max_number_of_evaluations"):
        tf.contrib.training.evaluate_repeatedly("x", max_number_of_evaluations=0)

"""Supervisor, basic_train_loop and the loops of contrib."""

import threading

import pytest

import thalweg as tf
from tests.training.conftest import events


def test_services_write_in_the_background(counting, tmp_path):
    step, count = counting
    tf.summary.scalar("s", 1.0)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0.05, save_model_secs=0.05)
    with supervisor.managed_session() as session:
        while not (list(tmp_path.glob("*.index")) and session.run(step) > 20):
            session.run(count)
    tags = {value.tag for event in events(tmp_path) for value in event.summary.value}
    statuses = [event.session_log.status for event in events(tmp_path) if event.HasField("session_log")]
    assert tags == {"s", "global_step/sec"}
    assert statuses[0] == 1 and statuses[-1] == 2 and 3 in statuses
    assert (tmp_path / "graph.pbtxt").exists()


def test_queue_runners_and_loops_are_stopped(counting):
    numbers = tf.train.range_input_producer(10, shuffle=False).dequeue()
    calls = []
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session() as session:
        supervisor.loop(0.01, calls.append, args=(1,))
        assert [session.run(numbers) for _ in range(12)] == [*range(10), 0, 1]
        while not calls:
            pass
    assert supervisor.should_stop()


def test_an_error_of_a_loop_is_raised(counting):
    def fail():
        raise KeyError("mine")

    supervisor = tf.train.Supervisor()
    with pytest.raises(KeyError, match="mine"), supervisor.managed_session():
        supervisor.loop(None, fail)
        supervisor.wait_for_stop()


def test_old_names(counting):
    supervisor = tf.train.Supervisor()
    session = supervisor.PrepareSession()
    session.run(counting[1])
    thread = supervisor.Loop(0.01, lambda: None)
    assert not supervisor.ShouldStop()
    supervisor.RequestStop()
    supervisor.WaitForStop()
    supervisor.Stop()
    session.close()
    assert not thread.is_alive()


def test_summary_computed(counting, tmp_path):
    summary = tf.summary.scalar("mine", 3.0)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None, save_model_secs=0)
    with supervisor.managed_session(start_standard_services=False) as session:
        supervisor.summary_computed(session, session.run(summary))
    assert [event.summary.value[0].tag for event in events(tmp_path) if event.HasField("summary")] == ["mine"]
    with tf.Graph().as_default():
        tf.get_variable("v", [])
        with pytest.raises(RuntimeError, match="summary writer"):
            tf.train.Supervisor().summary_computed(None, b"", 1)


def test_only_the_chief_has_services():
    with tf.device("/cpu:0"):
        tf.train.create_global_step()
    supervisor = tf.train.Supervisor(is_chief=False)
    with pytest.raises(RuntimeError, match="Only chief"):
        supervisor.start_standard_services(None)


def test_a_model_that_fails_to_initialize_leaves_nothing(counting):
    supervisor = tf.train.Supervisor(init_op=None, local_init_op=None)
    with pytest.raises(RuntimeError, match="not initialized"), supervisor.managed_session():
        pass


def test_basic_loop_resumes(counting, tmp_path):
    _step, count = counting
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0, save_model_secs=0)
    seen = []

    def train_step(session, limit):
        seen.append(int(session.run(count)))
        if len(seen) == 3:
            supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
            raise tf.errors.AbortedError(None, None, "gone")
        if seen[-1] >= limit:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train_step, args=(6,))
    assert seen == [1, 2, 3, 4, 5, 6]


def _model():
    w = tf.get_variable("w", initializer=5.0)
    return tf.square(w)


def test_contrib_train(tmp_path):
    for steps in (5, 10):
        with tf.Graph().as_default():
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            train_op = tf.contrib.training.create_train_op(_model(), optimizer)
            hooks = [tf.train.StopAtStepHook(last_step=steps)]
            loss = tf.contrib.training.train(train_op, str(tmp_path), hooks=hooks)
            assert loss == pytest.approx(25 * 0.64 ** (steps - 1), rel=1e-4)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-10")


def test_contrib_train_needs_a_folder():
    with pytest.raises(ValueError, match="save_summaries_steps"):
        tf.contrib.training.train(tf.constant(1), None)
    with pytest.raises(ValueError, match="save_checkpoint_secs"):
        tf.contrib.training.train(tf.constant(1), None, save_summaries_steps=None)


def test_slim_train(tmp_path):
    slim = tf.contrib.slim
    for steps in (5, 10):
        with tf.Graph().as_default():
            train_op = slim.learning.create_train_op(_model(), tf.train.GradientDescentOptimizer(0.1))
            loss = slim.learning.train(train_op, str(tmp_path), number_of_steps=steps, trace_every_n_steps=4)
            assert loss == pytest.approx(25 * 0.64 ** (steps - 1), rel=1e-4)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-10")
    assert (tmp_path / "tf_trace-5.json").exists()


def test_slim_train_stops_with_the_input(tmp_path):
    slim = tf.contrib.slim
    number = tf.train.range_input_producer(7, num_epochs=1, shuffle=False).dequeue()
    loss = _model() + 0.0 * tf.cast(number, tf.float32)
    train_op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
    steps = []

    def step_fn(session, *args):
        result = slim.learning.train_step(session, *args)
        steps.append(threading.current_thread())
        return result

    assert slim.learning.train(train_op, str(tmp_path), step_fn) < 25
    assert len(steps) == 7


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"train_op": None, "logdir": "x"}, "train_op"),
        ({"train_op": 1, "logdir": None, "saver": 1}, "saver"),
        ({"train_op": 1, "logdir": None, "trace_every_n_steps": 1}, "trace_every_n_steps"),
        ({"train_op": 1, "logdir": "x", "number_of_steps": 0}, "number_of_steps"),
        ({"train_op": 1, "logdir": "x", "sync_optimizer": 1}, "sync_optimizer"),
    ],
)
def test_slim_train_rejects_invalid_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.contrib.slim.learning.train(**arguments)

"""Monitored sessions: threads, failures, what stays behind; the order of calls is compared in tests/conformance."""

import threading
import time

import pytest

import thalweg as tf
from tests.training.conftest import train


def aborted():
    return tf.errors.AbortedError(None, None, "gone")


class Failing(tf.train.SessionRunHook):
    """Raises in one of its calls, so many times."""

    def __init__(self, where, error, times=1):
        self._where, self._error, self._left = where, error, times

    def _fail(self, where):
        if where == self._where and self._left:
            self._left -= 1
            raise self._error

    def begin(self):
        self._fail("begin")

    def after_create_session(self, session, coord):
        self._fail("after_create_session")

    def before_run(self, run_context):
        self._fail("before_run")

    def after_run(self, run_context, run_values):
        self._fail("after_run")

    def end(self, session):
        self._fail("end")


WHERE = ("begin", "after_create_session", "before_run", "after_run", "end")


@pytest.mark.parametrize("where", WHERE)
def test_errors_of_hooks_are_raised_and_leave_no_threads(where, counting):
    _step, count = counting
    numbers = tf.train.range_input_producer(10, shuffle=False).dequeue()
    hooks = [Failing(where, KeyError("mine")), tf.train.StopAtStepHook(3)]
    with pytest.raises(KeyError, match="mine"), tf.train.MonitoredSession(hooks=hooks) as session:
        train(session, [numbers, count])
    assert not tf.get_default_graph().finalized


@pytest.mark.parametrize("where", ("after_create_session", "before_run", "after_run"))
def test_lost_sessions_are_recreated(where, counting):
    _step, count = counting
    numbers = tf.train.range_input_producer(100, shuffle=False).dequeue()
    hooks = [Failing(where, aborted(), times=3), tf.train.StopAtStepHook(last_step=4)]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        assert len(train(session, [numbers, count])) >= 1


def test_the_sessions_that_were_lost_are_closed(counting):
    _step, count = counting
    sessions = []

    class Collector(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            sessions.append(session)

    hooks = [Collector(), Failing("after_run", aborted(), times=2)]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        session.run(count)
    assert len(sessions) == 3 and all(session._closed for session in sessions)


def test_a_lost_session_found_by_should_stop(counting):
    _step, count = counting
    coordinators = []

    class Collector(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            coordinators.append(coord)

    with tf.train.MonitoredSession(hooks=[Collector()]) as session:
        session.run(count)
        coordinators[0].request_stop(aborted())
        assert not session.should_stop()
        assert session.run(count) == 1  # a new session, from the start
    assert len(coordinators) == 2


def test_input_that_ends_stops_training(counting):
    _step, count = counting
    numbers = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    seen = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop():
            seen.append(session.run([numbers, count])[0])
    assert seen == [0, 1, 2, 3, 4]


def test_a_failing_queue_runner_ends_training(counting):
    bad = tf.check_numerics(tf.constant(float("nan")), "no number")
    queue = tf.FIFOQueue(4, [tf.float32], shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(bad)]))
    value = queue.dequeue()
    with pytest.raises(tf.errors.OpError) as failure, tf.train.MonitoredSession() as session:
        for _ in range(100):
            session.run(value)
    assert isinstance(failure.value, tf.errors.InvalidArgumentError | tf.errors.OutOfRangeError)


class Beside(tf.train.SessionRunHook):
    """Runs a function of the coordinator in a thread of the session's."""

    def __init__(self, function):
        self._function = function

    def after_create_session(self, session, coord):
        self.thread = threading.Thread(target=self._function, args=(coord,), daemon=True)
        coord.register_thread(self.thread)
        self.thread.start()


def test_threads_get_their_grace_period(counting):
    def end_slowly(coord):
        coord.wait_for_stop()
        time.sleep(0.1)

    hook = Beside(end_slowly)
    with tf.train.MonitoredSession(hooks=[hook], stop_grace_period_secs=60) as session:
        session.run(counting[1])
    assert not hook.thread.is_alive()


def test_threads_get_no_more_than_their_grace_period(counting):
    go = threading.Event()
    hook = Beside(lambda coord: go.wait())
    with tf.train.MonitoredSession(hooks=[hook], stop_grace_period_secs=0.2) as session:
        session.run(counting[1])
    assert hook.thread.is_alive()
    go.set()
    hook.thread.join()


def test_run_in_a_hook_uses_the_plain_session(counting):
    step, count = counting
    seen = []

    class Reader(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            seen.append((run_context.session.run(step), run_context.original_args.fetches is count))

    with tf.train.MonitoredSession(hooks=[Reader()]) as session:
        session.run(count)
    assert seen == [(1, True)]


def test_step_functions_get_the_new_session_after_a_loss(counting):
    step, _count = counting
    lose = [True]

    def step_fn(step_context):
        if lose.pop() if lose else False:
            step_context.session.close()
            raise aborted()
        return step_context.session.run(step)

    with tf.train.MonitoredSession() as session:
        assert session.run_step_fn(step_fn) == 0


def test_config_and_structures_reach_the_session(counting):
    step, count = counting
    creator = tf.train.ChiefSessionCreator(config=tf.ConfigProto(operation_timeout_in_ms=100))
    stuck = tf.FIFOQueue(1, [tf.int32]).dequeue()
    with tf.train.MonitoredSession(creator) as session:
        assert session.run({"a": [count], "b": (step.graph.get_operations()[0],)}).keys() == {"a", "b"}
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(stuck)
        assert session.graph is tf.get_default_graph()


def test_run_after_close_is_an_error(counting):
    session = tf.train.MonitoredSession()
    session.close()
    for call in (session.close, lambda: session.run(counting[1]), lambda: session.run_step_fn(lambda step_context: 1)):
        with pytest.raises(RuntimeError, match="already closed"):
            call()


def test_creator_without_create_session():
    with pytest.raises(TypeError, match="does not implement create_session"):
        tf.train.MonitoredSession(tf.train.SessionCreator())


def test_worker_finds_a_model_without_variables():
    x = tf.constant(3)
    with tf.train.MonitoredTrainingSession(is_chief=False, max_wait_secs=5) as session:
        assert session.run(x) == 3


def test_tables_and_local_variables_are_initialized(counting):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [7]), -1)
    local = tf.get_local_variable("local", initializer=5)
    found = table.lookup(tf.constant(["a", "b"]))
    with tf.train.SingularMonitoredSession() as session:
        assert session.run(found).tolist() == [7, -1]
        assert session.run(local) == 5

"""Many steps at once, interrupts, time limits, and sessions inside sessions."""

import contextlib
import signal
import threading
import time

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.resources import step as step_module
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import local_devices
from thalweg._src.runtime.resources.rendezvous import Rendezvous
from thalweg._src.runtime.resources.step import Step

CONFIGS = {"one device": tf.ConfigProto(), "three devices": tf.ConfigProto(device_count={"CPU": 3})}
PATIENCE = 60  # seconds until a test gives up on something that should have happened


@pytest.fixture(params=list(CONFIGS))
def config(request):
    return CONFIGS[request.param]


def on(config, index):
    """Returns the scope of one of the devices, whichever there are."""
    return tf.device(f"/cpu:{index % config.device_count.get('CPU', 1)}")


def in_threads(*functions):
    """Runs functions at once, each in a thread, and returns their results or exceptions."""
    results = [None] * len(functions)
    start = threading.Barrier(len(functions))

    def work(i):
        try:
            start.wait()
            results[i] = functions[i]()
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    return results


def test_steps_do_not_accumulate_threads():
    x = tf.placeholder(tf.float32, [])
    with tf.device("/cpu:1"):
        values = [x + float(i) for i in range(3)]
    with tf.device("/cpu:2"):
        total = tf.add_n([value * x for value in values])
    with tf.Session(config=CONFIGS["three devices"]) as session:
        for _ in range(300):
            assert session.run(total, {x: 1.0}) == 6.0
    assert 1 <= sum(thread.name == "thalweg" for thread in threading.enumerate()) <= 16


# -- shared state ------------------------------------------------------------------------------------------------------


def test_no_update_is_lost(config):
    with on(config, 1):
        v = tf.Variable(np.zeros(3, np.float32))
    with on(config, 2):
        amount = tf.placeholder(tf.float32, [3])
    update = tf.assign_add(v, amount).op
    with tf.Session(config=config) as sess:
        sess.run(v.initializer)

        def work():
            for _ in range(50):
                sess.run(update, {amount: [1.0, 2.0, 3.0]})

        assert in_threads(*[work] * 6) == [None] * 6
        assert sess.run(v).tolist() == [300.0, 600.0, 900.0]


def test_threads_train_one_model(config):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(64, 4)).astype(np.float32)
    labels = data @ np.array([[1.0], [-2.0], [3.0], [0.5]], np.float32)
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
    with on(config, 1):
        w = tf.Variable(tf.zeros([4, 1]))
    step = tf.train.get_or_create_global_step()
    with on(config, 2):
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())

        def work(part):
            for _ in range(40):
                sess.run(train, {x: data[part::4], y: labels[part::4]})

        assert in_threads(*[lambda part=part: work(part) for part in range(4)]) == [None] * 4
        assert sess.run(step) == 160
        assert sess.run(loss, {x: data, y: labels}) < 1e-3


def test_a_read_never_sees_half_an_update():
    v = tf.Variable(np.zeros(1000, np.float32))
    update = tf.assign_add(v, tf.ones([1000])).op
    with tf.Session() as sess:
        sess.run(v.initializer)

        def write():
            for _ in range(100):
                sess.run(update)

        def read():
            return all((value == value[0]).all() for value in (sess.run(v) for _ in range(100)))

        assert in_threads(write, read, write, read) == [None, True, None, True]


def test_a_failing_step_does_not_affect_another(config):
    x = tf.placeholder(tf.float32, [None], name="x")
    with on(config, 1):
        y = tf.reshape(x * 2.0, [2])
    with on(config, 2):
        z = y + 1.0
    with tf.Session(config=config) as sess:

        def good():
            return all(sess.run(z, {x: [i, 1.0]}).tolist() == [2 * i + 1.0, 3.0] for i in range(40))

        def bad():
            failures = 0
            for _ in range(40):
                try:
                    sess.run(z, {x: [1.0, 2.0, 3.0]})
                except tf.errors.InvalidArgumentError:
                    failures += 1
            return failures

        assert in_threads(good, bad, good, bad) == [True, 40, True, 40]
        assert not sess._running


def test_new_step_signatures_from_many_threads(config):
    """Compiling is shared work too."""
    with on(config, 1):
        x = tf.placeholder(tf.float32, [])
        outputs = [x * float(i) for i in range(6)]
    with on(config, 2):
        outputs = [y + 1.0 for y in outputs]
    with tf.Session(config=config) as sess:

        def work():
            return [float(sess.run(y, {x: 2.0})) for y in outputs]

        assert in_threads(*[work] * 6) == [[2.0 * i + 1.0 for i in range(6)]] * 6


def test_threads_share_one_rendezvous_per_step(monkeypatch):
    """A step has one rendezvous even if several threads create it at once; with two, values would be lost."""

    class Slow(Rendezvous):
        def __init__(self):
            time.sleep(0.05)
            super().__init__()

    monkeypatch.setattr(step_module, "Rendezvous", Slow)
    with tf.device("/cpu:1"):
        a = tf.py_func(lambda: np.float32(1), [], tf.float32)
    with tf.device("/cpu:2"):
        b = tf.py_func(lambda: np.float32(2), [], tf.float32)
    with tf.device("/cpu:1"):
        c = tf.py_func(lambda v: v + 10, [b], tf.float32)
    with tf.device("/cpu:2"):
        d = tf.py_func(lambda v: v + 20, [a], tf.float32)
    options = tf.RunOptions(timeout_in_ms=20_000)
    with tf.Session(config=CONFIGS["three devices"]) as sess:
        assert sess.run([c, d], options=options) == [12.0, 21.0]


# -- sessions inside ---------------------------------------------------------------------------------------------------


def test_a_function_runs_another_session(config):
    inner_graph = tf.Graph()
    with inner_graph.as_default():
        n = tf.placeholder(tf.float32, [])
        v = tf.Variable(0.0)
        with on(config, 1):
            result = tf.assign_add(v, n) * 10.0
        initialize = v.initializer
    inner = tf.Session(graph=inner_graph, config=config)
    inner.run(initialize)
    x = tf.placeholder(tf.float32, [])
    with on(config, 2):
        y = tf.py_func(lambda value: inner.run(result, {n: value}), [x], tf.float32) + 1.0
    with tf.Session(config=config) as sess:
        assert [sess.run(y, {x: 1.0}) for _ in range(3)] == [11.0, 21.0, 31.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="float32"):
            sess.run(tf.py_func(lambda: inner.run(result, {n: "text"}), [], tf.float32))
    inner.close()


@pytest.mark.parametrize("stateful", [True, False])
def test_a_function_runs_its_own_session(config, stateful):
    with on(config, 1):
        other = tf.random_uniform([]) * 0.0 + 5.0
    sess = tf.Session(config=config)
    y = tf.py_func(lambda value: sess.run(other) + value, [tf.constant(1.0)], tf.float32, stateful=stateful)
    (found,) = in_threads(lambda: float(sess.run(y * 2.0)))
    assert found == 12.0
    sess.close()


# -- ends --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def interrupt():
    """Returns a function that does what Ctrl-C does, from any thread."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("interrupts reach the main thread alone")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_in_a_function(interrupt):
    after = []
    y = tf.py_func(lambda: signal.raise_signal(signal.SIGINT) or np.float32(1), [], tf.float32)
    z = tf.py_func(lambda value: after.append(value) or value, [y], tf.float32)
    with tf.Session() as sess:
        with pytest.raises(KeyboardInterrupt):
            sess.run(z)
        assert after == [] and not sess._running
        assert sess.run(tf.constant(1.0) + 1.0) == 2.0


def test_an_interrupt_while_a_step_runs(config, interrupt, gate):
    after = []
    with on(config, 1):
        y = tf.py_func(gate, [], tf.float32, name="gate")
    with on(config, 2):
        z = tf.py_func(lambda value: after.append(value) or value, [y], tf.float32)

    over = threading.Event()

    def press():
        assert gate.reached.wait(PATIENCE)
        interrupt()
        while not over.wait(5):  # Python misses a signal that comes just before the main thread starts to wait
            interrupt()

    thread = threading.Thread(target=press)
    with tf.Session(config=config) as sess:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            try:
                sess.run(z)
            finally:
                over.set()
        thread.join()
        assert not gate.open.is_set()  # the step ended although the function had not
        assert not sess._running
        gate.open.set()
        assert sess.run(tf.constant(1.0) + 1.0) == 2.0
    assert after == []


def test_a_timeout_names_blocked_nodes(gate):
    with tf.device("/cpu:1"):
        slow = tf.py_func(gate, [], tf.float32, name="slow")
    with tf.device("/cpu:2"):
        y = tf.sin(slow, name="y")
    with tf.Session(config=CONFIGS["three devices"]) as sess:
        with pytest.raises(
            tf.errors.DeadlineExceededError,
            match="Timed out waiting for notification: after 300 ms; still waiting: slow/_recv_0",
        ):
            sess.run(y, options=tf.RunOptions(timeout_in_ms=300))
        gate.open.set()
        np.testing.assert_allclose(sess.run(y), np.sin(1), rtol=1e-6)


def test_the_timeout_of_a_configuration(gate):
    limited = tf.ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=300)
    with tf.device("/cpu:1"):
        slow = tf.py_func(gate, [], tf.float32, name="slow")
    with tf.device("/cpu:0"):
        y = slow + 1.0
    with tf.Session(config=limited) as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(y)


def test_closing_ends_a_step_on_several_devices(gate):
    with tf.device("/cpu:1"):
        slow = tf.py_func(gate, [], tf.float32)
    with tf.device("/cpu:2"):
        y = slow + 1.0
    sess = tf.Session(config=CONFIGS["three devices"])

    def close():
        assert gate.reached.wait(PATIENCE)
        sess.close()

    error, closed = in_threads(lambda: sess.run(y), close)
    assert closed is None
    assert isinstance(error, tf.errors.CancelledError) and "closed" in error.message
    assert not gate.open.is_set()
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(y)


@pytest.mark.parametrize("single", [False, True])
def test_a_step_that_was_cancelled_before_it_began(single):
    """The session may close in between; then nothing would wake a waiting step."""
    devices = local_devices(tf.ConfigProto(), Containers())
    y = tf.sin(tf.random_uniform([]))
    executable = Executable([Program(step_graph([], [y], []), devices[0])], 1, "")
    if not single:
        executable._single = None
    step = Step()
    step.fail(tf.errors.CancelledError(None, None, "too late"))
    (error,) = in_threads(lambda: executable.run(step, []))
    assert isinstance(error, tf.errors.CancelledError) and "too late" in error.message


def test_the_first_of_several_failures_is_raised():
    first = threading.Event()

    def fail_first():
        first.set()
        raise ValueError("the first")

    def fail_second():
        assert first.wait(PATIENCE)
        time.sleep(0.2)
        raise ValueError("the second")

    with tf.device("/cpu:1"):
        a = tf.py_func(fail_first, [], tf.float32)
    with tf.device("/cpu:2"):
        b = tf.py_func(fail_second, [], tf.float32)
    with tf.device("/cpu:0"):
        c = a + b
    three = CONFIGS["three devices"]
    with tf.Session(config=three) as sess, pytest.raises(tf.errors.InvalidArgumentError, match="the first"):
        sess.run(c)


def test_blocked_functions_do_not_starve_other_steps(gate):
    """Many steps that hold a thread each leave threads for one more."""
    with tf.device("/cpu:1"):
        slow = tf.py_func(gate, [], tf.float32)
        quick = tf.py_func(lambda: np.float32(3), [], tf.float32)
    with tf.device("/cpu:2"):
        y, z = slow + 1.0, quick + 1.0
    with tf.Session(config=CONFIGS["three devices"]) as sess, contextlib.ExitStack() as stack:
        threads = [threading.Thread(target=sess.run, args=(y,), daemon=True) for _ in range(40)]
        for thread in threads:
            thread.start()
            stack.callback(thread.join, PATIENCE)
        stack.callback(gate.open.set)
        assert gate.reached.wait(PATIENCE)
        assert in_threads(lambda: float(sess.run(z))) == [4.0]
        assert not gate.open.is_set()

"""Sessions: nested fetches, feeds of any tensor, errors, lifecycle, concurrency."""

import collections
import threading
import time

import numpy as np
import pytest

import thalweg as tf

Pair = collections.namedtuple("Pair", "first second")


def counter(name="counter"):
    """Returns a tensor with a side effect that counts how often it ran, and the list it counts in."""
    calls = []

    def call():
        calls.append(1)
        return np.float32(len(calls))

    return tf.py_func(call, [], tf.float32, name=name), calls


def test_fetches_keep_their_structure():
    a, b = tf.constant(1.0), tf.constant([2, 3])
    group = tf.group(a)
    with tf.Session() as sess:
        result = sess.run({"list": [a, (b, group)], "pair": Pair(a, [b]), "name": a.name, "op": a.op.name})
    assert result["list"][0] == 1.0
    assert result["list"][1][0].tolist() == [2, 3]
    assert result["list"][1][1] is None
    assert result["pair"].first == 1.0 and result["pair"].second[0].tolist() == [2, 3]
    assert result["name"] == 1.0 and result["op"] is None
    assert isinstance(result["pair"], Pair)


def test_fetches_in_other_containers():
    a = tf.constant(1.0)
    with tf.Session() as sess:
        ordered = sess.run(collections.OrderedDict([("b", a), ("a", a)]))
        assert list(ordered) == ["b", "a"] and isinstance(ordered, collections.OrderedDict)
        assert sess.run([]) == [] and sess.run(()) == () and sess.run({}) == {}


def test_scalars_are_numpy_scalars_and_arrays_are_arrays():
    with tf.Session() as sess:
        scalar, array = sess.run([tf.constant(1.5), tf.constant([1, 2])])
    assert type(scalar) is np.float32
    assert type(array) is np.ndarray and array.dtype == np.int32


def test_any_tensor_can_be_fed():
    x = tf.constant(2.0, name="x")
    y = x * 3.0
    z = y + 1.0
    with tf.Session() as sess:
        assert sess.run(z) == 7.0
        assert sess.run(z, {x: 10.0}) == 31.0
        assert sess.run(z, {y: 1.0}) == 2.0
        assert sess.run(z, {"x:0": 1.0}) == 4.0
        assert sess.run([y, z], {y: 5.0}) == [5.0, 6.0]


def test_only_the_fetched_subgraph_runs():
    wanted, wanted_calls = counter("wanted")
    _, other_calls = counter("other")
    blocked, blocked_calls = counter("blocked")
    after = blocked + 1.0
    with tf.Session() as sess:
        sess.run(wanted)
        assert sess.run(after, {blocked: 1.0}) == 2.0
    assert (len(wanted_calls), len(other_calls), len(blocked_calls)) == (1, 0, 0)


def test_control_dependencies_run_first():
    order = []
    first = tf.py_func(lambda: order.append("first") or np.float32(0), [], tf.float32)
    with tf.control_dependencies([first]):
        second = tf.py_func(lambda: order.append("second") or np.float32(0), [], tf.float32)
    with tf.Session() as sess:
        sess.run(second.op)
    assert order == ["first", "second"]


@pytest.mark.parametrize(
    "value, error, text",
    [
        (
            np.zeros((2, 4)),
            ValueError,
            r"value of shape \(2, 4\) for Tensor 'x:0', which has shape '\(\?, 3\)'",
        ),
        ("word", ValueError, "Cannot feed 'word' for Tensor 'x:0' of dtype float32"),
        ([[1.0, 2.0], [3.0]], ValueError, "for Tensor 'x:0'"),
    ],
)
def test_invalid_feeds_are_rejected(value, error, text):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.Session() as sess, pytest.raises(error, match=text):
        sess.run(x, {x: value})


@pytest.mark.parametrize("value", [np.array(["a", "é"], object), np.array(["a", "é"]), ["a", "é"], [b"a", "é"]])
def test_text_is_fed_as_bytes(value):
    x = tf.placeholder(tf.string, [None])
    with tf.Session() as sess:
        assert sess.run(tf.identity(x), {x: value}).tolist() == [b"a", "é".encode()]


def test_a_variable_is_fed_wherever_it_is_read():
    rate, w = tf.Variable(0.5, trainable=False), tf.Variable(2.0)
    step = tf.train.GradientDescentOptimizer(rate).minimize(w * w)
    twice = rate + tf.identity(rate)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([twice, rate], {rate: 2.0}) == [4.0, 2.0] and session.run(twice) == 1.0
        session.run(step, {rate: 0.25})
        assert session.run(w) == 1.0 and session.make_callable(twice, [rate])(3.0) == 6.0


def test_a_resource_variable_is_fed_where_it_is_fetched_alone():
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=True)
    total = tf.reduce_sum(v)
    with tf.Session() as session:
        session.run(v.initializer)
        kept = session.run(tf.get_session_handle(tf.constant([5.0, 6.0])))
        for value in (np.array([5.0, 6.0]), kept):
            fetched, there = session.run([v, total], {v: value})
            assert (fetched.tolist(), there) == ([5.0, 6.0], 3.0)
        assert session.run(v.assign_add([1.0, 1.0]), {v: [5.0, 6.0]}).tolist() == [2.0, 3.0]


def test_feeding_a_tensor_or_an_inexact_integer_is_rejected():
    x, n = tf.placeholder(tf.float32), tf.placeholder(tf.int32, name="n")
    with tf.Session() as sess:
        with pytest.raises(TypeError, match="part of a graph"):
            sess.run(x, {x: x})
        with pytest.raises(TypeError, match="not compatible with Tensor type int32"):
            sess.run(n, {n: 1.5})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
            sess.run(n, {"missing:0": 1})


def test_unfed_placeholder_is_named():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(x + 1.0)
    assert "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,3]" in str(caught.value)
    assert "defined at: test_session.py" in str(caught.value)


def test_fetching_from_another_graph_and_bad_fetches():
    x = tf.constant(1.0)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.constant(2.0)
        with pytest.raises(ValueError, match="is not an element of this graph"):
            sess.run(x)
        with pytest.raises(TypeError, match="has invalid type"):
            sess.run(1.0)
        with pytest.raises(TypeError, match="has invalid type"):
            sess.run(None)
        with pytest.raises(ValueError, match="cannot be interpreted as a Tensor"):
            sess.run("nowhere:0")


def test_run_after_close_and_of_an_empty_graph():
    with tf.Session() as sess, pytest.raises(RuntimeError, match="Session graph is empty"):
        sess.run([])
    x = tf.constant(1.0)
    sess = tf.Session()
    sess.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(x)


def test_shape_errors_in_a_step_name_node_inputs_and_line():
    a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
    c = tf.matmul(a, b, name="product")
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(c, {a: np.zeros((2, 3)), b: np.zeros((4, 5))})
    text = str(caught.value)
    assert "'product' on /device:" in text
    assert "'a:0' float32[2, 3]" in text and "'b:0' float32[4, 5]" in text
    assert "defined at: test_session.py" in text
    assert caught.value.op.name == "product"


def test_the_session_is_usable_after_an_error():
    x = tf.placeholder(tf.float32, name="x")
    y = tf.reshape(x, [2, 2])
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(y, {x: np.zeros(3)})
        assert sess.run(y, {x: np.zeros(4)}).shape == (2, 2)


def test_default_sessions():
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="No default session"):
        x.eval()
    with tf.Session() as sess:
        assert x.eval() == 1.0 and tf.get_default_session() is sess
        x.op.run()
    sess = tf.Session()
    with sess.as_default():
        assert x.eval() == 1.0
    assert x.eval(session=sess) == 1.0
    with tf.Graph().as_default(), tf.Session(), pytest.raises(ValueError, match="different from the session's graph"):
        x.eval()


def test_interactive_session():
    sess = tf.InteractiveSession()
    try:
        assert tf.constant(3.0).eval() == 3.0
    finally:
        sess.close()
    assert tf.get_default_session() is None


def test_make_callable():
    x = tf.placeholder(tf.float32)
    with tf.Session() as sess:
        double = sess.make_callable([x * 2.0], [x])
        assert double(3.0) == [6.0]
        with pytest.raises(TypeError, match="accept_options=True"):
            double(1.0, options=tf.RunOptions())
        with pytest.raises(TypeError, match="takes 1 feeds, 2 were given"):
            double(1.0, 2.0)


def test_partial_run():
    a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
    side, calls = counter()
    first = a + b + side * 0.0
    second = first * c
    with tf.Session() as sess:
        handle = sess.partial_run_setup([first, second], [a, b, c])
        value = sess.partial_run(handle, first, {a: 1.0, b: 2.0})
        assert value == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="These are missing: c:0"):
            sess.partial_run(handle, second)
        with pytest.raises(tf.errors.InvalidArgumentError, match="has already been fed"):
            sess.partial_run(handle, second, {a: 1.0})
        assert sess.partial_run(handle, second, {c: 10.0}) == 30.0
        assert len(calls) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup'"):
            sess.partial_run(handle, second)


def test_fed_arrays_are_not_copied_and_fetched_ones_belong_to_the_caller():
    x = tf.placeholder(tf.float32, [3])
    fed = np.arange(3, dtype=np.float32)
    fed.flags.writeable = False
    with tf.Session() as sess:
        out = sess.run(tf.identity(x), {x: fed})
        out += 1.0
        assert fed.tolist() == [0.0, 1.0, 2.0]
        c = tf.constant([1.0, 2.0])
        value = sess.run(c)
        value[0] = 5.0
        assert sess.run(c).tolist() == [1.0, 2.0]


def test_awkward_arrays_can_be_fed():
    x = tf.placeholder(tf.float32, [2, 3])
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    with tf.Session() as sess:
        for view in (array[::-1], array.astype(">f4"), np.asfortranarray(array), array.tolist()):
            np.testing.assert_array_equal(sess.run(x * 1.0, {x: view}), np.asarray(view, np.float32))


def test_many_threads_run_steps_at_once():
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0
    errors = []
    with tf.Session() as sess:

        def work(value):
            try:
                for _ in range(50):
                    assert sess.run(y, {x: value}) == value * 2
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(float(i),)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors


def test_timeout_ends_a_long_step():
    value = tf.py_func(lambda: time.sleep(0.05) or np.float32(1), [], tf.float32)
    for _ in range(100):
        with tf.control_dependencies([value]):
            value = tf.py_func(lambda x: time.sleep(0.05) or x, [value], tf.float32)
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError, match="after 200 ms"):
        sess.run(value, options=tf.RunOptions(timeout_in_ms=200))


def test_close_cancels_a_running_step():
    running = threading.Event()
    value = tf.py_func(lambda: running.set() or np.float32(1), [], tf.float32)
    for _ in range(200):
        value = tf.py_func(lambda x: time.sleep(0.05) or x, [value], tf.float32)
    sess = tf.Session()
    caught = []

    def work():
        try:
            sess.run(value)
        except tf.errors.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    running.wait()
    sess.close()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert len(caught) == 1


def test_full_trace_lists_the_kernels():
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    y = tf.matmul(x, x, name="product")
    metadata = tf.RunMetadata()
    with tf.Session() as sess:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(y, {x: np.eye(2)}, options=options, run_metadata=metadata)
    (device,) = metadata.step_stats.dev_stats
    assert device.device.startswith("/job:localhost/replica:0/task:0/device:")
    assert "product" in [stats.node_name for stats in device.node_stats]


def test_show_program_shows_the_generated_code():
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    y = tf.matmul(x, x, name="product")
    with tf.Session() as sess:
        text = sess.show_program(y, [x])
    assert "product = mm(" in text and "# product float32[2, 2]" in text


def test_list_devices():
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as sess:
        names = [device.name for device in sess.list_devices() if device.device_type == "CPU"]
    assert names == [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3)]


def test_invalid_arguments_of_session():
    with pytest.raises(TypeError, match=r"must be a tf.Graph"):
        tf.Session(graph="graph")
    with pytest.raises(TypeError, match=r"must be a tf.ConfigProto"):
        tf.Session(config={})
    with pytest.raises(tf.errors.NotFoundError, match="no runtime serves"):
        tf.Session("carrier-pigeon://")

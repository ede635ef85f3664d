"""Failures: the class, the node, its inputs and the user's line, however the step runs."""

import re

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.runtime.compile.failure import explain

TRACED = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
TWO = tf.ConfigProto(device_count={"CPU": 2})


def failure(fetch, feeds=None, config=None, traced=False):
    """Runs a step that must fail and returns its error."""
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        options, metadata = (TRACED, tf.RunMetadata()) if traced else (None, None)
        with pytest.raises(tf.errors.OpError) as caught:
            sess.run(fetch, feeds, options=options, run_metadata=metadata)
    return caught.value


def product():
    x = tf.placeholder(tf.float32, [None, None], name="x")
    w = tf.placeholder(tf.float32, [None, None], name="w")
    y = tf.matmul(x, w, name="layer/product")
    return y, {x: np.zeros((2, 3)), w: np.zeros((4, 5))}


# -- classes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (MemoryError(), tf.errors.ResourceExhaustedError),
        (torch.OutOfMemoryError("CUDA out of memory"), tf.errors.ResourceExhaustedError),
        (RuntimeError("CUDA error: out of memory"), tf.errors.ResourceExhaustedError),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"), tf.errors.ResourceExhaustedError),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), tf.errors.ResourceExhaustedError),
        (NotImplementedError("later"), tf.errors.UnimplementedError),
        (RuntimeError("\"sin\" not implemented for 'Bool'"), tf.errors.UnimplementedError),
        (ValueError("bad value"), tf.errors.InvalidArgumentError),
        (IndexError("index 9 is out of bounds"), tf.errors.InvalidArgumentError),
        (TypeError("bad type"), tf.errors.InvalidArgumentError),
        (OverflowError("too large"), tf.errors.InvalidArgumentError),
        (ZeroDivisionError("division by zero"), tf.errors.InvalidArgumentError),
        (KeyError("odd"), tf.errors.InternalError),
    ],
)
def test_error_classes(raised, kind):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.sin(x, name="wave")
    node = step_graph([x], [y], []).nodes[-1]
    error = explain(raised, node, [torch.zeros(7)], "/job:localhost/replica:0/task:0/device:CPU:0")
    assert type(error) is kind
    assert error.op is node and error.node_def is not None
    first, received, made_at = error.message.splitlines()
    assert first.startswith("Sin 'wave' on /device:CPU:0: ")
    assert received == "  received: x = 'x:0' float32[7]"
    assert re.fullmatch(r"  defined at: test_failure\.py:\d+ in test_error_classes", made_at)


def test_a_kernel_that_was_called_with_strings_keeps_what_it_raised():
    x = tf.placeholder(tf.string, [], name="x")
    node = step_graph([x], [tf.strings.length(x)], []).nodes[-1]
    error = explain(AttributeError("'bytes' object has no attribute 'item'"), node, [b"a"], "")
    assert isinstance(error, tf.errors.UnimplementedError)
    assert "no kernel accepts string inputs here: 'bytes' object has no attribute 'item'" in error.message


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(3)])
def test_interrupts_are_not_converted(interrupt):
    x = tf.placeholder(tf.float32)
    node = step_graph([x], [tf.sin(x)], []).nodes[-1]
    assert explain(interrupt, node, None, "") is interrupt


def test_a_typed_error_keeps_its_class_and_gains_a_place():
    x = tf.placeholder(tf.float32)
    node = step_graph([x], [tf.sin(x, name="wave")], []).nodes[-1]
    bare = tf.errors.DataLossError(None, None, "half a record")
    error = explain(bare, node, None, "/device:CPU:1")
    assert type(error) is tf.errors.DataLossError
    assert error.message.startswith("Sin 'wave' on /device:CPU:1: half a record\n  defined at: test_failure.py:")
    assert explain(error, node, None, "/device:CPU:1") is error  # a second look changes nothing


def test_out_of_memory():
    size = tf.placeholder(tf.int32, [2], name="size")
    error = failure(tf.zeros(size, tf.float64) + 1.0, {size: [2**30, 2**30]})
    assert isinstance(error, tf.errors.ResourceExhaustedError)
    assert "defined at: test_failure.py" in error.message


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_a_wrong_index():
    x, index = tf.placeholder(tf.float32, [None], name="x"), tf.placeholder(tf.int32, [None], name="index")
    error = failure(tf.gather(x, index, name="pick"), {x: [1.0, 2.0], index: [5]})
    assert type(error) is tf.errors.InvalidArgumentError
    assert "'pick'" in error.message and "5" in error.message
    assert "defined at: test_failure.py" in error.message and "in test_a_wrong_index" in error.message


def test_a_value_error_in_a_kernel():
    def refuse(x):
        raise ValueError("not this one")

    x = tf.placeholder(tf.float32, [], name="x")
    error = failure(tf.py_func(refuse, [x], tf.float32, name="refuse"), {x: 1.0})
    assert type(error) is tf.errors.InvalidArgumentError
    assert error.message.startswith("PyFunc 'refuse' on /device:CPU:0: ValueError: not this one")


# -- complete messages -------------------------------------------------------------------------------------------------


def test_node_inputs_hint_and_line():
    y, feeds = product()
    lines = failure(y, feeds).message.splitlines()
    assert re.match(r"MatMul 'layer/product' on /device:[CG]PU:0: ", lines[0])
    assert "  received: a = 'x:0' float32[2, 3], b = 'w:0' float32[4, 5]" in lines
    assert re.fullmatch(r"  defined at: test_failure\.py:\d+ in product", lines[-1])


def test_the_error_knows_its_node():
    y, feeds = product()
    error = failure(y, feeds)
    assert error.op.name == "layer/product"
    assert error.error_code == tf.errors.INVALID_ARGUMENT


def test_an_error_inside_nested_calls():
    """The node is found among thousands, with the shapes that it saw."""
    x = tf.placeholder(tf.float32, None, name="x")
    y = x
    for i in range(600):
        y = tf.sin(y, name=f"before{i}")
    y = tf.reshape(y, [2, 2], name="culprit")
    for i in range(600):
        y = tf.cos(y, name=f"after{i}")
    error = failure(y, {x: np.zeros(5)})
    assert type(error) is tf.errors.InvalidArgumentError
    assert re.match(r"Reshape 'culprit' on /device:[CG]PU:0: ", error.message)
    assert "'before599:0' float32[5]" in error.message


def test_lists_of_inputs_are_numbered():
    a, b = tf.placeholder(tf.float32, [None], name="a"), tf.placeholder(tf.float32, [None], name="b")
    error = failure(tf.stack([a, b], name="both"), {a: [1.0], b: [1.0, 2.0]})
    assert "values[0] = 'a:0' float32[1], values[1] = 'b:0' float32[2]" in error.message


def test_an_uninitialized_variable():
    v = tf.Variable(1.0, name="v")
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        sess.run(v + 1.0)


def test_no_foreign_traceback_is_chained():
    y, feeds = product()
    error = failure(y, feeds)
    assert error.__suppress_context__ or error.__context__ is None


# -- other ways to run -------------------------------------------------------------------------------------------------


def reshape():
    x = tf.placeholder(tf.float32, None, name="x")
    return tf.reshape(tf.exp(x), [2, 2], name="r"), {x: np.zeros(5)}


def lookup():
    x, index = tf.placeholder(tf.float32, [None], name="x"), tf.placeholder(tf.int32, [None], name="index")
    return tf.sin(tf.gather(x, index)), {x: [1.0, 2.0], index: [5]}


def broadcast():
    x, y = tf.placeholder(tf.float32, [None], name="x"), tf.placeholder(tf.float32, [None], name="y")
    return (x + y) * 2.0, {x: [1.0, 2.0], y: [1.0, 2.0, 3.0]}


def check():
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.control_dependencies([tf.Assert(x > 0, [x, "must be positive"])]):
        return tf.sqrt(x), {x: -1.0}


def function():
    def refuse(x):
        raise KeyError("x")

    x = tf.placeholder(tf.float32, [], name="x")
    return tf.py_func(refuse, [x], tf.float32), {x: 1.0}


def wrong_update():
    v = tf.Variable([1.0, 2.0], name="v", validate_shape=False)
    x = tf.placeholder(tf.float32, None, name="x")
    return tf.assign_add(v, x), {x: [1.0, 2.0, 3.0]}


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
@pytest.mark.parametrize("build", [product, reshape, lookup, broadcast, check, function, wrong_update])
def test_a_traced_step_fails_with_the_same_error(build):
    fetch, feeds = build()
    plain, traced = failure(fetch, feeds), failure(fetch, feeds, traced=True)
    assert type(plain) is type(traced)
    assert plain.op.name == traced.op.name
    assert without_frames(plain.message) == without_frames(traced.message)


def without_frames(text):
    """Leaves out the Python frames that a function's own story lists: they belong to the way it was called."""
    return [line for line in text.splitlines() if not line.lstrip().startswith(("File ", "Traceback"))]


@pytest.mark.cpu_only(reason="the addition has kernels for GPUs")
@pytest.mark.parametrize("build", [product, reshape, lookup, broadcast, function])
def test_a_step_on_two_devices_fails_with_the_same_error(build):
    with tf.device("/cpu:1"):
        fetch, feeds = build()
    with tf.device("/cpu:0"):
        fetch = tf.identity(fetch) + 1.0
    plain, apart = failure(fetch, feeds, config=tf.ConfigProto(allow_soft_placement=True)), failure(fetch, feeds, TWO)
    assert type(plain) is type(apart)
    assert plain.message.splitlines()[-1] == apart.message.splitlines()[-1]
    assert "/device:CPU:0" in plain.message and "/device:CPU:1" in apart.message


def test_a_failing_step_leaves_nothing_behind():
    y, feeds = product()
    good = {k: np.ones((3, 3)) for k in feeds}
    with tf.Session() as sess:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(y, feeds)
            assert sess.run(y, good).tolist() == [[3.0] * 3] * 3
        assert not sess._running

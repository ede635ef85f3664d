"""Conditionals, loops, arrays and lists return in onnxruntime what they do in a session."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import BATCH, STATIC, case, check, parameters, random, types

raw = tf.raw_ops
X = random(3, 4)
STEPS = random(2, 5, 3)
LENGTHS = np.array([3, 5], np.int32)
N = np.array(4, np.int32)


def _conditional(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: [x + 1, x * 2], lambda: [x - 1, x])


def _nested(x):
    def inner():
        return tf.cond(x[0, 0] > 5, lambda: tf.exp(x), lambda: tf.cond(x[0, 1] < 9, lambda: x * 3, lambda: x))

    return tf.cond(tf.reduce_sum(x) > -100, inner, lambda: x * 0) + 1


def _crossed(x):
    """Has conditionals whose results have one scope, though each needs a result of another one."""
    p, q = tf.reduce_sum(x) > 0, x[0, 0] > 0
    first, second = _switched(x, p, "p/"), _switched(x, q, "q/")
    third, fourth = _switched(second, p, "p/"), _switched(first, q, "q/")
    return [third, fourth, _switched(third, p, "p/")]


def _switched(x, predicate, scope):
    with tf.name_scope(scope):
        low, high = tf.raw_ops.Switch(data=x, pred=predicate)
        return tf.raw_ops.Merge(inputs=[low * 2.0, high + 1.0])[0]


def _two_in_a_row(x):
    positive = tf.reduce_sum(x) > 0
    first = tf.cond(positive, lambda: x + 1, lambda: x - 1)
    return tf.cond(positive, lambda: first * 2, lambda: first * 3)


def _case(x):
    return tf.case([(x[0, 0] > 100, lambda: x), (x[0, 1] < 100, lambda: x + 2)], default=lambda: -x)


def _loop(x, n):
    i, total = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + x * tf.cast(i, tf.float32)), [0, x])
    return [i, total]


def _growing(x, n):
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 4])]
    return tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, tf.concat([t, x], 0)), [0, x], shapes)[1]


def _nested_loops(x, n):
    def outer(i, t):
        inner = tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + x), [0, tf.zeros_like(x)])[1]
        return i + 1, t + inner

    return tf.while_loop(lambda i, t: i < n, outer, [0, x])[1]


def _conditional_in_loop(x, n):
    def body(i, t):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: t + x, lambda: t * 0.5)

    return tf.while_loop(lambda i, t: i < n, body, [0, x])[1]


def _loop_in_conditional(x, n):
    return tf.cond(n > 2, lambda: _loop(x, n)[1], lambda: x)


def _fibonacci(n):
    """Writes elements that later iterations read."""
    numbers = tf.TensorArray(tf.int32, n, clear_after_read=False, element_shape=[])
    numbers = numbers.write(0, 1).write(1, 1)

    def body(i, a):
        return i + 1, a.write(i, a.read(i - 1) + a.read(i - 2))

    return tf.while_loop(lambda i, a: i < n, body, [2, numbers])[1].stack()


def _until_large(x):
    """Ends before the array is full, whose last elements are zeros then."""
    rows = tf.TensorArray(tf.float32, 9, element_shape=[4])

    def body(i, a):
        return i + 1, a.write(i, x[0] * tf.cast(i, tf.float32))

    return tf.while_loop(lambda i, a: tf.less(i * i, 20), body, [0, rows])[1].stack()


def _appended(x, n):
    rows = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False)
    found = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, x)), [0, rows])[1]
    return [found.stack(), found.size(), found.read(1)]


def _concatenated(x, n):
    rows = tf.TensorArray(tf.float32, n, infer_shape=False)
    found = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, x[: i + 1])), [0, rows])[1]
    return tf.ensure_shape(found.concat(), [None, 4])


def _split(x):
    return tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2]).read(1)


def _rnn(cell, **options):
    def build(x, n):
        outputs, state = tf.nn.dynamic_rnn(cell(), x, n, dtype=tf.float32, **options)
        return [outputs, *tf.nest.flatten(state)]

    return build


def _listed(x, n):
    rows = raw.TensorListReserve(element_shape=[3, 4], num_elements=n, element_dtype=tf.float32)

    def body(i, a):
        return i + 1, raw.TensorListSetItem(input_handle=a, index=i, item=x * tf.cast(i, tf.float32))

    found = tf.while_loop(lambda i, a: i < n, body, [0, rows])[1]
    given = {"element_shape": [3, 4], "element_dtype": tf.float32}
    return [
        raw.TensorListStack(input_handle=found, **given),
        raw.TensorListGetItem(input_handle=found, index=2, **given),
        raw.TensorListGather(input_handle=found, indices=[2, 0], **given),
        raw.TensorListLength(input_handle=found),
    ]


def _pushed(x, from_tensor):
    given = {"element_dtype": tf.float32, "element_shape": [4]}
    rows = (
        raw.TensorListFromTensor(tensor=x, element_shape=[4])
        if from_tensor
        else raw.EmptyTensorList(max_num_elements=-1, **given)
    )
    rows = raw.TensorListPushBack(input_handle=rows, tensor=x[0])
    rows = raw.TensorListPushBack(input_handle=rows, tensor=x[1])
    rows, last = raw.TensorListPopBack(input_handle=rows, **given)
    return [raw.TensorListStack(input_handle=rows, **given), last]


CASES = [
    case("_Choose", _conditional, X),
    case("_Choose", _conditional, -np.abs(X)),
    case("_Choose", _nested, X),
    case("_Choose", _two_in_a_row, X),
    case("_Choose", _case, X),
    case("_Choose", _crossed, X),
    case("_While", _loop, X, N),
    case("_While", _loop, X, np.array(0, np.int32)),
    case("_While", _growing, X, N, modes=(STATIC, BATCH)),
    case("_While", _nested_loops, X, N),
    case("_While", _conditional_in_loop, X, N),
    case("_While", _loop_in_conditional, X, N),
    case("TensorArrayReadV3", _fibonacci, np.array(7, np.int32)),
    case("TensorArrayGatherV3", _until_large, X, modes=(STATIC, BATCH)),
    case("TensorArraySizeV3", _appended, X, N),
    case("TensorArrayConcatV3", _concatenated, X, np.array(3, np.int32), modes=(STATIC, BATCH)),
    case("TensorArraySplitV3", _split, X, modes=(STATIC,)),
    case("TensorArrayV3", lambda x: tf.map_fn(lambda row: tf.reduce_max(row) * row, x), X),
    case("TensorArrayScatterV3", lambda x: tf.scan(lambda a, row: a + row * 2, x), X),
    case("TensorArrayWriteV3", _fibonacci, np.array(7, np.int32)),
    case("_While", _rnn(lambda: tf.nn.rnn_cell.LSTMCell(4)), STEPS, LENGTHS, modes=(STATIC, BATCH)),
    case("_While", _rnn(lambda: tf.nn.rnn_cell.GRUCell(4)), STEPS, LENGTHS, modes=(STATIC, BATCH)),
    case(
        "_While", _rnn(lambda: tf.nn.rnn_cell.BasicRNNCell(4), time_major=True), STEPS, np.arange(1, 6), modes=(STATIC,)
    ),
    case("TensorListReserve", _listed, X, N),
    case("TensorListSetItem", _listed, X, N),
    case("TensorListStack", _listed, X, N),
    case("TensorListGetItem", _listed, X, N),
    case("TensorListGather", _listed, X, N),
    case("TensorListLength", _listed, X, N),
    case("TensorListPushBack", lambda x: _pushed(x, True), X),
    case("TensorListPopBack", lambda x: _pushed(x, False), X),
    case("EmptyTensorList", lambda x: _pushed(x, False), X),
    case("TensorListFromTensor", lambda x: _pushed(x, True), X),
]


@pytest.mark.parametrize(("each", "mode"), **parameters(CASES))
def test_control_flow_returns_the_same_values(each, mode):
    check(each, mode)


def test_results_of_one_conditional_are_those_of_one_node():
    assert types(check(case("_Choose", _conditional, X))).count("If") == 1


def test_an_array_that_a_loop_fills_in_order_is_no_sequence():
    model = check(case("_While", _rnn(lambda: tf.nn.rnn_cell.LSTMCell(4)), STEPS, LENGTHS), BATCH)
    assert "Loop" in types(model) and not any("Sequence" in each for each in types(model))

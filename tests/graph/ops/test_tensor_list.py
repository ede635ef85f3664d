"""Tensor lists: elements by index, as the loops of TensorFlow 2 use them, with gradients."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.ops import tensor_list as ops

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


def _stack(handle, shape=(2,), dtype=tf.float32, **attrs):
    return ops.list_stack_op(handle, list(shape) or -1, element_dtype=dtype, **attrs)


def test_from_a_tensor_and_back():
    handle = ops.from_tensor_op(ROWS, [2])
    stacked = _stack(handle)
    assert stacked.shape.as_list() == [None, 2] and _stack(handle, num_elements=3).shape.as_list() == [3, 2]
    assert (_run(stacked) == ROWS).all()
    assert _run([ops.length_op(handle), ops.element_shape_op(handle, shape_type=tf.int64)])[1].tolist() == [2]


def test_elements_are_set_and_read():
    handle = ops.reserve_op([2], 3, element_dtype=tf.float32)
    longer = ops.set_item_op(ops.set_item_op(handle, 2, ROWS[0]), 0, ROWS[1])
    item = ops.get_item_op(longer, 2, [2], element_dtype=tf.float32)
    found = _run([_stack(longer), item, _stack(handle), ops.length_op(ops.resize_op(longer, 5))])
    assert found[0].tolist() == [[2, 3], [0, 0], [0, 1]] and found[1].tolist() == [0, 1]
    assert not found[2].any() and found[3] == 5  # a list never changes


def test_a_list_can_grow():
    handle = ops.reserve_op([2], 0, element_dtype=tf.float32)
    handle = ops.set_item_op(handle, 1, ROWS[1], resize_if_index_out_of_bounds=True)
    assert _run(_stack(handle)).tolist() == [[0, 0], [2, 3]]


def test_pushing_and_popping_with_indices():
    handle = ops.push_back_op(ops.from_tensor_op(ROWS[:2], [2]), ROWS[2])
    item = ops.get_item_op(handle, 2, -1, element_dtype=tf.float32)
    shorter, last = ops.pop_back_op.many(ops.from_tensor_op(ROWS, [2]), [2], element_dtype=tf.float32)
    found = _run([item, last, _stack(shorter)])
    assert found[0].tolist() == found[1].tolist() == [4, 5] and found[2].tolist() == ROWS[:2].tolist()


def test_gather_scatter_concat_and_split():
    handle = ops.list_scatter_op(ROWS, [2, 0, 3], [2], -1)
    gathered = ops.list_gather_op(handle, [3, 1], [2], element_dtype=tf.float32)
    parts = ops.list_split_op(ROWS, [-1, 2], np.int64([1, 2]))
    together, lengths = ops.list_concat_op.many(parts, [-1, 2], np.int64([]), element_dtype=tf.float32)
    found = _run([gathered, together, lengths])
    assert found[0].tolist() == [[4, 5], [0, 0]] and (found[1] == ROWS).all() and found[2].tolist() == [1, 2]


def test_strings():
    words = tf.constant(["a", "b"])
    handle = ops.set_item_op(ops.from_tensor_op(words, np.int32([])), 1, "c")
    assert _run(_stack(handle, (), tf.string)).tolist() == [b"a", b"c"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: ops.get_item_op(ops.from_tensor_op(ROWS, [2]), 3, [2], element_dtype=tf.float32),
            "element 3 in a list",
        ),
        (
            lambda: ops.get_item_op(ops.reserve_op(-1, 1, element_dtype=tf.float32), 0, -1, element_dtype=tf.float32),
            "fully",
        ),
        (lambda: _stack(ops.reserve_op(-1, 0, element_dtype=tf.float32), ()), "no elements"),
        (lambda: _stack(ops.from_tensor_op(ROWS, [2]), num_elements=2), "expected a list with 2 elements"),
        (lambda: _stack(ops.list_split_op(ROWS, -1, np.int64([1, 2])), ()), "different shapes"),
        (lambda: ops.length_op(ops.list_split_op(ROWS, -1, np.int64([1, 1]))), "sum 2"),
        (lambda: ops.length_op(ops.reserve_op([2], -1, element_dtype=tf.float32)), "-1 elements"),
        (lambda: ops.length_op(ops.list_scatter_op(ROWS, [0, 1, 5], [2], 3)), "scatter to index 5"),
    ],
)
def test_errors(build, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _run(build())


def test_gradients():
    x = tf.constant(ROWS)
    handle = ops.from_tensor_op(x, [2])
    second = ops.get_item_op(handle, 1, [2], element_dtype=tf.float32)
    changed = ops.set_item_op(handle, 0, second * second)
    picked = ops.list_gather_op(handle, [2, 2], [2], element_dtype=tf.float32)
    scattered = _stack(ops.list_scatter_op(x * x, [2, 0, 1], [2], 3))
    parts = ops.list_split_op(x, [-1, 2], np.int64([1, 2]))
    together = ops.list_concat_op.many(parts, [-1, 2], np.int64([1, 2]), element_dtype=tf.float32)[0]
    weights = np.float32([[1, 2], [3, 4], [5, 6]])
    values = [_stack(changed) * weights, picked * weights[:2], scattered * weights, together * weights]
    found = _run([tf.gradients(value, x)[0] for value in values])
    np.testing.assert_allclose(found[0], [[0, 0], [3 + 2 * 2 * 1, 4 + 2 * 3 * 2], [5, 6]])
    np.testing.assert_allclose(found[1], [[0, 0], [0, 0], [4, 6]])
    np.testing.assert_allclose(found[2], 2 * ROWS * weights[[2, 0, 1]])
    np.testing.assert_allclose(found[3], weights)

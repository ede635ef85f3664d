"""NumPy arrays become values of a step whatever their layout in memory is, and are never written to."""

import numpy as np
import pytest

import thalweg as tf


def unaligned(array):
    """Returns a copy whose first element is one byte behind an address that suits its type."""
    memory = np.empty(array.nbytes + 1, np.uint8)[1:]
    result = memory.view(array.dtype).reshape(array.shape)
    result[...] = array
    assert not result.flags.aligned
    return result


def field(array):
    """Returns a copy in a column of a table whose rows have another size than several of its elements."""
    table = np.zeros(array.shape, [("flag", "u1"), ("value", array.dtype)])
    table["value"] = array
    return table["value"]


def read_only(array):
    result = array.copy()
    result.setflags(write=False)
    return result


LAYOUTS = {
    "unaligned": unaligned,
    "field": field,
    "read-only": read_only,
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder("S")),
    "negative strides": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "one value": lambda array: np.broadcast_to(array[0, 0], array.shape),
    "one row": lambda array: np.broadcast_to(array[0], array.shape),
    "columns first": np.asfortranarray,
    "every second": lambda array: np.repeat(array, 2, 1)[:, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "complex64", "float16"])
def test_arrays_of_any_layout_are_fed_and_stored(dtype, layout):
    value = LAYOUTS[layout](np.arange(1, 13).reshape(3, 4).astype(dtype))
    before = value.copy()
    with tf.Session() as session:
        x = tf.placeholder(dtype, [3, 4])
        variable = tf.Variable(x, use_resource=True)
        session.run(variable.initializer, {x: value})
        np.testing.assert_array_equal(session.run(x + x, {x: value}), 2 * before)
        for result in (session.run(variable.assign_add(x), {x: value}), session.run(variable)):
            np.testing.assert_array_equal(result, 2 * before)
        np.testing.assert_array_equal(session.run(tf.constant(value) + 1), before + 1)
    np.testing.assert_array_equal(value, before)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 3), (0, 2)])
def test_arrays_of_few_elements_with_negative_strides_are_fed(shape):
    value = np.ones(shape, np.float32)[tuple(slice(None, None, -1) for _ in shape)]
    with tf.Session() as session:
        x = tf.placeholder(tf.float32, shape)
        np.testing.assert_array_equal(session.run(x + 1, {x: value}), value + 1)

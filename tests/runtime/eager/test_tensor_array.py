"""TensorArrays of eager execution: lists of tensors, with TensorFlow's errors."""

import numpy as np
import pytest

import thalweg as tf

pytestmark = pytest.mark.usefixtures("eager")


def test_written_elements_are_read_stacked_and_concatenated():
    array = tf.TensorArray(tf.float32, size=2, clear_after_read=False)
    assert array.write(0, [1.0, 2.0]) is array
    array.write(tf.constant(1), tf.constant([3.0, 4.0]))
    np.testing.assert_array_equal(array.read(tf.constant(1)), [3, 4])
    np.testing.assert_array_equal(array.stack(), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(array.concat(), [1, 2, 3, 4])
    np.testing.assert_array_equal(array.gather([1, 0, 1]), [[3, 4], [1, 2], [3, 4]])
    assert array.size().numpy() == 2
    assert array.element_shape.as_list() == [2]
    assert isinstance(array, tf.TensorArray)


def test_rows_become_elements():
    array = tf.TensorArray(tf.int32, size=3).unstack([[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(array.read(2), [5, 6])
    array = tf.TensorArray(tf.int32, size=0, dynamic_size=True).scatter([2, 0], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(array.stack(), [[3, 4], [0, 0], [1, 2]])
    array = tf.TensorArray(tf.int32, size=2, infer_shape=False).split([1, 2, 3], tf.constant([1, 2]))
    np.testing.assert_array_equal(array.read(1), [2, 3])
    assert [part.numpy() for part in tf.TensorArray(tf.string, size=2).unstack(["a", "b"]).stack()] == [b"a", b"b"]


def test_what_was_never_written_is_zero():
    array = tf.TensorArray(tf.float32, size=3, element_shape=[2])
    np.testing.assert_array_equal(array.write(1, [1.0, 2.0]).stack(), [[0, 0], [1, 2], [0, 0]])
    assert tf.TensorArray(tf.float32, size=0, element_shape=[2]).stack().shape.as_list() == [0, 2]


def test_elements_are_differentiated():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
            y = array.write(0, array.read(1) * array.read(2)).stack()
        slope = tape.gradient(y, x)
    np.testing.assert_array_equal(slope, [0, 4, 3])
    np.testing.assert_array_equal(outer.gradient(slope, x), [0, 1, 1])


def test_array_is_closed():
    array = tf.TensorArray(tf.float32, size=2)
    assert array.close() is None
    assert array.size().numpy() == 0


def test_code_for_both_modes_finds_its_names():
    array = tf.TensorArray(tf.float32, size=2)
    assert array.handle is None
    assert array.flow.dtype is tf.float32
    assert array.identity() is array
    with pytest.raises(NotImplementedError, match="not supported when executing eagerly"):
        array.grad("source")


def _new(**options):
    return tf.TensorArray(tf.float32, size=2, **options)


@pytest.mark.parametrize(
    ("use", "kind", "words"),
    [
        (lambda: tf.TensorArray(tf.float32), ValueError, "Size must be declared"),
        (lambda: _new(handle=tf.constant(1.0)), ValueError, "handles are not supported"),
        (lambda: _new().read(2), tf.errors.OutOfRangeError, "read from index 2 but array size is: 2"),
        (lambda: _new().read(-1), tf.errors.OutOfRangeError, "Reading from negative indices"),
        (lambda: _new().write(2, 1.0), tf.errors.OutOfRangeError, "not resizeable and size is: 2"),
        (lambda: _new().write(-1, 1.0), tf.errors.OutOfRangeError, "Writing to negative indices"),
        (lambda: _new().write(0, tf.constant(1)), tf.errors.InvalidArgumentError, "dtype is float32 but .* int32"),
        (lambda: _new().write(0, 1.0).write(1, [1.0]), ValueError, "Incompatible shape for value"),
        (lambda: _new(element_shape=[3]).write(0, [1.0]), ValueError, "Incompatible shape for value"),
        (lambda: _new().unstack([1.0, 2.0, 3.0]), ValueError, "Cannot unstack 3 tensors into .* static size 2"),
        (lambda: _new().split([1.0, 2.0], [1, 2]), tf.errors.InvalidArgumentError, "sum of lengths"),
        (lambda: _new().split([1.0], [1]), tf.errors.InvalidArgumentError, "not equal to the size of lengths"),
        (lambda: _new().split(1.0, [1]), tf.errors.InvalidArgumentError, "at least a vector"),
        (lambda: _new().split([1.0], 1), tf.errors.InvalidArgumentError, "lengths to be a vector"),
        (lambda: _new().unstack([1.0, 2.0]).concat(), tf.errors.InvalidArgumentError, "scalar shape at index 0"),
    ],
)
def test_errors(use, kind, words):
    with pytest.raises(kind, match=words):
        use()


def test_element_is_read_once():
    array = _new().unstack([1.0, 2.0])
    array.read(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="index 1 twice"):
        array.read(1)

"""Arithmetic and shapes of keras.backend: the numbers of the real Keras, and errors."""

import numpy as np
import pytest

import thalweg as tf
from tests.keras.backend_checks import MODES, compare
from tests.keras.backend_names import K


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", ["math", "products", "shapes"])
def test_functions_compute_what_keras_computes(family, mode):
    compare(family, mode)


@pytest.mark.parametrize(
    ("x", "y", "axes", "text"),
    [
        ((3,), (3,), None, "known rank 2 or more"),
        ((2, 3), (2, 3), [0, 1], "others than the first"),
        ((2, 3), (2, 4), 1, "differ in their sizes"),
        ((2, 3), (2, 3), [1, 2], "expected an axis of each tensor"),
        ((2, 3), (2, 3), [1], "expected an axis of each tensor"),
    ],
)
def test_axes_of_batch_dot_are_checked(x, y, axes, text):
    with pytest.raises(ValueError, match=text):
        K.batch_dot(np.ones(x), np.ones(y), axes)


def test_matrices_of_equal_rank_are_multiplied_one_by_one():
    x, y = np.random.RandomState(0).rand(2, 3, 4, 5), np.random.RandomState(1).rand(2, 3, 5, 6)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(K.batch_dot(x, y)), x @ y)
        np.testing.assert_allclose(session.run(K.batch_dot(np.swapaxes(x, 2, 3), y, axes=[2, 2])), x @ y)


def test_dot_of_unknown_shapes_is_computed():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None, None, None])
    left, right = np.ones([2, 3], np.float32), np.ones([2, 4, 3], np.float32)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(K.dot(x, tf.ones([3, 2])), {x: left}), np.full([2, 2], 3.0))
        np.testing.assert_array_equal(session.run(K.dot(y, tf.ones([3, 2])), {y: right}), np.full([2, 4, 2], 3.0))


def test_an_array_is_cast_to_an_array():
    array = K.cast_to_floatx([1, 2])
    assert isinstance(array, np.ndarray)
    assert array.dtype == np.float32


def test_static_shapes_follow_from_unknown_numbers_of_examples():
    x, volumes = K.placeholder((None, 3, 4, 2)), K.placeholder((None, 2, 3, 4, 5))
    assert K.batch_flatten(x).shape.as_list() == [None, 24]
    assert K.resize_images(x, 2, 3, "channels_last").shape.as_list() == [None, 6, 12, 2]
    assert K.resize_images(x, 2, 3, "channels_first").shape.as_list() == [None, 3, 8, 6]
    assert K.resize_volumes(volumes, 2, 3, 1, "channels_last").shape.as_list() == [None, 4, 9, 4, 5]
    assert K.repeat(K.placeholder((None, 3)), 4).shape.as_list() == [None, 4, 3]
    assert K.dot(K.placeholder((None, 2, 3)), K.placeholder((3, 4))).shape.as_list() == [None, 2, 4]


def test_sizes_that_are_unknown_are_computed():
    x = K.placeholder((None, None, None, 2))
    sizes = K.function(
        [x],
        [K.shape(K.resize_images(x, 2, 3, "channels_last")), K.shape(K.batch_flatten(x)), K.repeat_elements(x, 2, 1)],
    )([np.ones([1, 3, 4, 2])])
    np.testing.assert_array_equal(sizes[0], [1, 6, 12, 2])
    np.testing.assert_array_equal(sizes[1], [1, 24])
    assert sizes[2].shape == (1, 6, 4, 2)


def test_arguments_of_resizing_padding_and_repeating_are_checked():
    images = tf.ones([1, 2, 2, 1])
    with pytest.raises(ValueError, match="interpolation: expected nearest or bilinear"):
        K.resize_images(images, 2, 2, "channels_last", "cubic")
    with pytest.raises(ValueError, match="data_format"):
        K.resize_images(images, 2, 2, "channels_middle")
    with pytest.raises(ValueError, match="padding: expected two numbers"):
        K.spatial_2d_padding(images, ((1,), (1, 1)))
    with pytest.raises(ValueError, match="expected a matrix"):
        K.repeat(images, 2)


def test_the_format_of_images_is_a_setting():
    images = tf.ones([1, 2, 3, 4])
    K.set_image_data_format("channels_first")
    try:
        assert K.spatial_2d_padding(images).shape.as_list() == [1, 2, 5, 6]
    finally:
        K.set_image_data_format("channels_last")
    assert K.spatial_2d_padding(images).shape.as_list() == [1, 4, 5, 4]

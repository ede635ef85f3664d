"""Activations, normalization and convolutions of keras.backend: the numbers of the real Keras, and errors."""

import contextlib

import numpy as np
import pytest

import thalweg as tf
from tests.keras.backend_checks import MODES, compare
from tests.keras.backend_names import K
from thalweg._src.keras.backend.convolution import conv3d_transpose


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", ["activations", "normalization", "convolutions", "sequences"])
def test_functions_compute_what_keras_computes(family, mode):
    compare(family, mode)


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_examples_are_selected_by_a_vector(mode, request):
    if mode == "eager":
        request.getfixturevalue("fresh")
    chosen = K.switch(tf.constant([True, False]), lambda: tf.ones([2, 3]), tf.zeros([2, 3]))
    with tf.Session() if mode == "graph" else contextlib.nullcontext():
        np.testing.assert_array_equal(K.get_value(chosen), [[1, 1, 1], [0, 0, 0]])


def test_a_condition_has_no_more_axes_than_what_it_selects():
    with pytest.raises(ValueError, match="expected no more axes"):
        K.switch(tf.constant([[True, False]]), tf.ones([2]), tf.zeros([2]))


def test_only_the_selected_function_runs():
    condition, variable = tf.placeholder(tf.bool, []), K.variable(0.0)
    result = K.switch(condition, lambda: K.update_add(variable, 1.0), lambda: tf.constant(-1.0))
    with tf.Session() as session:
        K.get_session()
        assert session.run(result, {condition: False}) == -1
        assert session.run(result, {condition: True}) == 1
        assert session.run(variable) == 1


def test_the_learning_phase_is_fed():
    x = K.placeholder(())
    function = K.function(
        [x, K.learning_phase()], [K.in_train_phase(x * 2.0, x), K.in_test_phase(lambda: x * 3.0, lambda: x)]
    )
    with tf.Session():
        assert function([5.0, 1]) == [10, 5]
        assert function([5.0, 0]) == [5, 15]
        assert function([5.0, None]) == [5, 15]


@pytest.mark.usefixtures("fresh")
def test_the_learning_phase_is_set_in_eager_execution():
    K.set_learning_phase(1)
    assert K.get_value(K.in_train_phase(tf.constant(2.0), lambda: tf.constant(3.0))) == 2
    K.set_learning_phase(0)
    assert K.get_value(K.in_train_phase(tf.constant(2.0), lambda: tf.constant(3.0))) == 3


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_functions_of_elements_are_mapped_and_folded(mode, request):
    if mode == "eager":
        request.getfixturevalue("fresh")
    with tf.Session() if mode == "graph" else contextlib.nullcontext():
        elements = tf.constant([1.0, 2.0, 4.0])
        np.testing.assert_array_equal(K.get_value(K.map_fn(lambda x: x * x, elements)), [1, 4, 16])
        np.testing.assert_array_equal(
            K.get_value(K.map_fn(lambda x: K.cast(x, "int32"), elements, dtype="int32")), [1, 2, 4]
        )
        assert K.get_value(K.foldl(lambda total, x: total - x, elements)) == -5
        assert K.get_value(K.foldr(lambda total, x: total - x, elements)) == 1
        assert K.get_value(K.foldl(lambda total, x: total - x, elements, initializer=tf.constant(10.0))) == 3


def test_parameters_of_normalization_belong_to_an_axis():
    random = np.random.RandomState(0)
    x = random.rand(2, 3, 4, 5)
    mean, var, beta, gamma = random.rand(4, 3)
    with tf.Session() as session:
        first, last = session.run(
            [
                K.batch_normalization(x, mean, var, beta, gamma, axis=1),
                K.batch_normalization(np.moveaxis(x, 1, -1), mean, var, beta, gamma),
            ]
        )
    np.testing.assert_allclose(first, np.moveaxis(last, -1, 1))


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_a_transposed_convolution_takes_the_number_of_examples_from_its_input(data_format):
    shape = (None, 3, 4, 5) if data_format == "channels_last" else (None, 5, 3, 4)
    output_shape = (None, 6, 8, 2) if data_format == "channels_last" else (None, 2, 6, 8)
    x = K.placeholder(shape)
    result = K.conv2d_transpose(x, tf.ones([2, 2, 2, 5]), output_shape, (2, 2), "same", data_format)
    (array,) = K.function([x], [result])([np.ones([3, *shape[1:]])])
    np.testing.assert_array_equal(array, np.full([3, *output_shape[1:]], 5.0))


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_a_transposed_convolution_of_volumes_is_the_gradient_of_a_convolution(data_format):
    shape = (2, 3, 4, 5, 2) if data_format == "channels_last" else (2, 2, 3, 4, 5)
    x, kernel = tf.random_normal(shape, seed=1), tf.random_normal([2, 2, 2, 2, 3], seed=2)
    result = K.conv3d(x, kernel, (1, 1, 1), "same", data_format)
    (gradient,) = K.gradients(result, [x])
    with tf.Session() as session:
        first, second = session.run(
            [gradient, conv3d_transpose(tf.ones_like(result), kernel, shape, (1, 1, 1), "same", data_format)]
        )
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-5)


def test_local_convolutions_have_gradients():
    images, kernel = tf.ones([1, 3, 3, 1]), K.variable(np.ones([4, 4, 1]))
    result = K.local_conv2d(images, kernel, (2, 2), (1, 1), (2, 2))
    gradients = K.gradients(result, [images, kernel])
    with tf.Session():
        by_image, by_kernel = K.batch_get_value(gradients)
    np.testing.assert_array_equal(by_image[0, :, :, 0], [[1, 2, 1], [2, 4, 2], [1, 2, 1]])
    np.testing.assert_array_equal(by_kernel, np.ones([4, 4, 1]))


def test_labels_become_sparse():
    sparse = K.ctc_label_dense_to_sparse(tf.constant([[1, 2, 3], [4, 5, 6]]), tf.constant([2, 1]))
    with tf.Session() as session:
        value = session.run(sparse)
    np.testing.assert_array_equal(value.indices, [[0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(value.values, [1, 2, 4])
    np.testing.assert_array_equal(value.dense_shape, [2, 3])


def test_arguments_of_convolutions_and_pooling_are_checked():
    images = tf.ones([1, 4, 4, 1])
    with pytest.raises(ValueError, match="padding: expected valid or same"):
        K.conv2d(images, tf.ones([2, 2, 1, 1]), padding="causal")
    with pytest.raises(ValueError, match="strides: expected 2 integers"):
        K.conv2d(images, tf.ones([2, 2, 1, 1]), strides=(1, 1, 1))
    with pytest.raises(ValueError, match="Invalid pooling mode"):
        K.pool2d(images, (2, 2), pool_mode="median")
    with pytest.raises(ValueError, match="pool_size: expected 2 integers"):
        K.pool2d(images, (2, 2, 2))
    with pytest.raises(ValueError, match="data_format: expected"):
        K.conv2d(images, tf.ones([2, 2, 1, 1]), data_format="channels_middle")
    with pytest.raises(ValueError, match="bias has shape"):
        K.bias_add(images, tf.ones([4, 1]))


def test_the_backend_has_a_name():
    assert K.backend() == "tensorflow"

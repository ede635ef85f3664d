"""Merging layers: the functions, shapes, masks and what they refuse."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.engine.input_layer import Input
from thalweg._src.keras.layers import merge

A, B = np.array([[1.0, -2.0]], "float32"), np.array([[3.0, 4.0]], "float32")


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (merge.add, {}, [[4, 2]]),
        (merge.subtract, {}, [[-2, -6]]),
        (merge.multiply, {}, [[3, -8]]),
        (merge.average, {}, [[2, 1]]),
        (merge.maximum, {}, [[3, 4]]),
        (merge.minimum, {}, [[1, -2]]),
        (merge.concatenate, {}, [[1, -2, 3, 4]]),
        (merge.concatenate, {"axis": 0}, [[1, -2], [3, 4]]),
        (merge.dot, {"axes": 1}, [[-5]]),
        (merge.dot, {"axes": 1, "normalize": True}, [[-1 / np.sqrt(5)]]),
    ],
)
def test_a_function_applies_its_layer(function, arguments, expected, fresh):
    np.testing.assert_allclose(function([tf.constant(A), tf.constant(B)], name="x", **arguments), expected, rtol=1e-6)


def test_a_function_of_symbolic_tensors_makes_a_layer():
    output = merge.add([Input((3,)), Input((3,))], name="sum")
    assert output._keras_history.layer.name == "sum"
    assert output.shape.as_list() == [None, 3]


@pytest.mark.parametrize(
    ("layer", "shapes", "words"),
    [
        (merge.Add(), [(2, 3)], "at least 2 inputs"),
        (merge.Add(), (2, 3), "at least 2 inputs"),
        (merge.Add(), [(2, 3), (4, 3)], "different batch sizes"),
        (merge.Add(), [(2, 3), (2, 4)], "could not be broadcast"),
        (merge.Subtract(), [(2, 3)] * 3, "exactly 2 inputs"),
        (merge.Concatenate(), [(2, 3, 1), (2, 4, 1)], "matching shapes"),
        (merge.Concatenate(), [(2, 3), (2, 4, 1)], "matching shapes"),
        (merge.Dot(1), [(2, 3)] * 3, "list of 2 inputs"),
        (merge.Dot(1), [(2, 3), (2, 4)], "3 != 4"),
    ],
)
def test_inputs_that_cannot_be_merged_are_refused(layer, shapes, words):
    with pytest.raises(ValueError, match=words):
        layer.build(shapes)
    with pytest.raises(ValueError, match=words):
        layer.compute_output_shape(shapes)


def test_one_tensor_is_refused():
    with pytest.raises(ValueError, match="list"):
        merge.Add()(tf.constant(A))


def test_axes_of_a_dot_product_are_one_or_two_integers():
    with pytest.raises(TypeError, match="should be a list or an int"):
        merge.Dot("1")
    with pytest.raises(ValueError, match="two integers"):
        merge.Dot([1, 2, 3])


def test_the_shape_of_unknown_sizes_is_unknown():
    assert merge.Add().compute_output_shape([(None, None, 4), (2, 1, 4)]).as_list() == [None, None, 4]
    assert merge.Concatenate().compute_output_shape([(None, 3, 4), (None, 3, None)]).as_list() == [None, 3, None]
    assert merge.Dot(2).compute_output_shape([(None, 3, 4), (None, None, 4)]).as_list() == [None, 3, None]


def test_concatenation_takes_an_input_without_a_mask_as_not_masked(fresh):
    x, y = tf.zeros([2, 3, 4]), tf.zeros([2, 2, 4])
    x._keras_mask = tf.constant([[True, True, False], [True, False, False]])
    found = merge.Concatenate(axis=1)([x, y])._keras_mask
    assert found.numpy().tolist() == [[True, True, False, True, True], [True, False, False, True, True]]


def test_masks_must_match_the_inputs():
    x = tf.zeros([2, 3, 4])
    with pytest.raises(ValueError, match="same length"):
        merge.Add().compute_mask([x, x], [None])
    with pytest.raises(ValueError, match="should be a list"):
        merge.Add().compute_mask([x, x], tf.constant([[True]]))

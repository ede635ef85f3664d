"""Slices and `tensor[...]`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks import check_op
from tests.graph.ops.values import array, run
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.convert import register_tensor_conversion_function
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.ops.slicing import newaxis, slice as slice_, strided_slice
from thalweg._src.graph.tensor import Tensor

KEYS = [
    np.s_[0],
    np.s_[-1],
    np.s_[1, 2, 3],
    np.s_[1:],
    np.s_[:-1],
    np.s_[::2],
    np.s_[::-1],
    np.s_[:, ::-2],
    np.s_[-1:0:-1, 2:0:-1],
    np.s_[5:1:-1],
    np.s_[1:100],
    np.s_[-100:2],
    np.s_[2:1],
    np.s_[0:0:-1],
    np.s_[...],
    np.s_[..., 1],
    np.s_[..., None],
    np.s_[None],
    np.s_[0, ..., None, ::-1],
    np.s_[None, 1:, None, ..., -2],
    np.s_[:, 1:2, 0],
    np.s_[:, :, ::3],
    np.s_[np.int64(1), np.array(2)],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_getitem_matches_numpy(key: Any) -> None:
    value = array(3, 4, 5)

    def reference(x: Any) -> Any:
        # torch cannot step back, so its gradient is taken through the positions of NumPy's slice.
        positions = np.array(np.arange(value.size).reshape(value.shape)[key])
        return x.reshape(-1)[positions.reshape(-1)].reshape(positions.shape)

    check_op(lambda x: x[key], reference, value)
    x = placeholder("float32", value.shape)
    assert x[key].shape.as_list() == list(value[key].shape)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool", "complex64", "float16"])
def test_types(dtype: str) -> None:
    value = array(3, 4, dtype=dtype)
    np.testing.assert_array_equal(run(constant(value)[1:, ::-1]), value[1:, ::-1])


def test_bounds_known_only_in_the_step() -> None:
    x, i, j = placeholder("float32", [None, 4]), placeholder("int32", []), placeholder("int64", [])
    value = array(3, 4)
    feeds = {x: value, i: 1, j: 3}
    for tensor, expected in (
        (x[i], value[1]),
        (x[i, j], value[1, 3]),
        (x[i:], value[1:]),
        (x[:j, i:j], value[:3, 1:3]),
        (x[::-i], value[::-1]),
        (x[-1, i], value[-1, 1]),
        (x[: shape(x)[0] - 1], value[:-1]),
    ):
        np.testing.assert_array_equal(run(tensor, feeds), expected)
    assert x[i].shape.as_list() == [4]
    assert x[i:, j].shape.as_list() == [None]
    np.testing.assert_array_equal(run(gradients(x[i, 1:], x), feeds)[0], [[0] * 4, [0, 1, 1, 1], [0] * 4])


def test_dimensions_as_bounds() -> None:
    x = constant(array(3, 4))
    assert x[: placeholder("float32", [2, 5]).shape[0]].shape.as_list() == [2, 4]
    with pytest.raises(TypeError, match="unknown Dimension"):
        x[placeholder("float32", [None]).shape[0]]


def test_partially_known_shapes() -> None:
    x = placeholder("float32", [None, 4, 5])
    assert x[0].shape.as_list() == [4, 5]
    assert x[::-1].shape.as_list() == [None, 4, 5]
    assert x[1:, 1:].shape.as_list() == [None, 3, 5]
    assert x[..., 0].shape.as_list() == [None, 4]
    assert x[:, newaxis].shape.as_list() == [None, 1, 4, 5]
    assert placeholder("float32")[0].shape.ndims is None


def test_static_values_pass_through() -> None:
    from thalweg._src.graph.ops.reshape import constant_value

    x = placeholder("float32", [None, 4, 5])
    dims = shape(x)
    assert constant_value(dims[1]) == 4
    assert constant_value(dims[1:]).tolist() == [4, 5]
    assert constant_value(dims[::-1]) is None
    assert constant_value(dims[0]) is None


def test_boolean_masks() -> None:
    value = array(3, 4)
    x = placeholder("float32", [3, 4])
    mask = value > 0
    np.testing.assert_array_equal(run(x[mask], {x: value}), value[mask])
    np.testing.assert_array_equal(run(x[constant([True, False, True])], {x: value}), value[[0, 2]])


def test_index_that_converts_to_a_tensor() -> None:
    class Wrapped:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor, self.dtype = tensor, tensor.dtype

    register_tensor_conversion_function(Wrapped, lambda value, dtype=None, name=None, as_ref=False: value.tensor)
    value = array(3, 4)
    x = placeholder("float32", [3, 4])
    index = Wrapped(constant(1))
    np.testing.assert_array_equal(run(x[index, index:], {x: value}), value[1, 1:])
    with pytest.raises(TypeError, match="Wrapped"):
        x[Wrapped(constant(1.0))]


def test_invalid_indices() -> None:
    x = placeholder("float32", [3, 4])
    for key in (1.0, "a", constant(1.0), constant([1, 2]), (0, [1]), (True, 0)):
        with pytest.raises(TypeError, match="are valid indices"):
            x[key]
    with pytest.raises(ValueError, match="slice index 3 of dimension 0 out of bounds"):
        x[3]
    with pytest.raises(ValueError, match="slice index -5 of dimension 1 out of bounds"):
        x[0, -5]
    with pytest.raises(ValueError, match="input has only 2 dims"):
        x[0, 0, 0]
    with pytest.raises(ValueError, match=r"strides\[0\] is 0"):
        x[::0]
    with pytest.raises(ValueError, match="more than one ellipsis"):
        x[..., ...]
    y, i = placeholder("float32"), placeholder("int32", [])
    with pytest.raises(errors.InvalidArgumentError, match="slice index 7 of dimension 0 out of bounds"):
        run(y[i], {y: np.zeros(3), i: 7})
    with pytest.raises(errors.InvalidArgumentError, match="is 0"):
        run(y[::i], {y: np.zeros(3), i: 0})
    with pytest.raises(errors.InvalidArgumentError, match="input has only 1 dims"):
        run(y[0, 0], {y: np.zeros(3)})


def test_slice() -> None:
    value = array(3, 4, 5)
    check_op(lambda x: slice_(x, [1, 0, 2], [2, -1, 1]), lambda x: x[1:, :, 2:3], value)
    check_op(lambda x: slice_(x, [0, 0, 5], [0, 4, -1]), lambda x: x[:0, :, 5:], value)
    check_op(lambda x: slice_(x, [], []), lambda x: x.clone(), array())
    check_op(
        lambda x, b, s: slice_(x, b, s), lambda x, b, s: x[1:, :2, 2:3], value, np.array([1, 0, 2]), np.array([2, 2, 1])
    )
    x = placeholder("float32", [3, None])
    assert slice_(x, [1, 0], [-1, 2]).shape.as_list() == [2, 2]
    for begin, size in (([4, 0], [0, 0]), ([-1, 0], [1, 1]), ([1, 0], [3, 1]), ([0, 0], [-2, 1]), ([0], [1])):
        with pytest.raises(ValueError):
            slice_(x, begin, size)
        y, b, s = placeholder("float32"), placeholder("int32"), placeholder("int32")
        with pytest.raises(errors.InvalidArgumentError):
            run(slice_(y, b, s), {y: np.zeros((3, 4)), b: begin, s: size})


def test_strided_slice() -> None:
    value = array(3, 4)
    x = constant(value)
    np.testing.assert_array_equal(run(strided_slice(x, [0, 1], [2, 3])), value[0:2, 1:3])
    np.testing.assert_array_equal(run(strided_slice(x, [2, 3], [0, 0], [-1, -2], end_mask=3)), value[2::-1, 3::-2])
    np.testing.assert_array_equal(run(strided_slice(x, [1], [2], [1], shrink_axis_mask=1)), value[1])


def test_strings() -> None:
    value = np.array([[b"a", b"b"], [b"c", b"d"]], dtype=object)
    x = placeholder("string")
    first, turned, cut = run([x[0, 1], x[::-1, 0], slice_(x, [1, 0], [1, 1])], {x: value})
    assert (first, turned.tolist(), cut.tolist()) == (b"b", [b"c", b"a"], [[b"c"]])


def test_second_order() -> None:
    x = placeholder("float32", [3, 4])
    (first,) = gradients(x[1:, ::-2] * x[1:, ::-2] * x[1:, ::-2], x)
    (second,) = gradients(first, x)
    value = array(3, 4)
    expected = np.zeros_like(value)
    expected[1:, ::-2] = 6 * value[1:, ::-2]
    np.testing.assert_allclose(run(second, {x: value}), expected, rtol=1e-5)

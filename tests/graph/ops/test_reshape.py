"""Shapes and their changes, joining and splitting, identities and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.values import array, run
from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops import reshape as reshape_ops, sequences as sequences_ops
from thalweg._src.graph.ops.concat import concat, split, stack, unstack
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.identity import bitcast, ensure_shape, identity, identity_n, prevent_gradient, stop_gradient
from thalweg._src.graph.ops.reshape import (
    expand_dims,
    invert_permutation,
    matrix_transpose,
    ones_like,
    reshape,
    shape_n,
    squeeze,
    transpose,
    zeros_like,
)
from thalweg._src.graph.ops.sequences import linspace

TYPES = ["float32", "float64", "float16", "int8", "int32", "uint8", "uint16", "uint64", "bool", "complex64"]


@pytest.mark.parametrize("target", [[6, 4], [-1], [2, -1, 2], [4, 3, 2, 1], [24]])
def test_reshape(target: list[int]) -> None:
    check_op(lambda x: reshape(x, target), lambda x: x.reshape(target), array(2, 3, 4))


@pytest.mark.parametrize("dtype", TYPES)
def test_shape_ops_accept_all_types(dtype: str) -> None:
    x = array(2, 1, 3, dtype=dtype)
    for op, expected in (
        (reshape(x, [3, 2]), x.reshape(3, 2)),
        (expand_dims(x, -1), x[..., None]),
        (squeeze(x), x.squeeze()),
        (transpose(x), x.T),
        (concat([x, x], -1), np.concatenate([x, x], -1)),
        (stack([x, x], 1), np.stack([x, x], 1)),
        (zeros_like(x), np.zeros_like(x)),
        (ones_like(x), np.ones_like(x)),
        (split(x, 3, 2)[1], x[:, :, 1:2]),
    ):
        value = run(op)
        assert value.dtype == x.dtype
        np.testing.assert_array_equal(value, expected)


def test_reshape_of_empty_tensors_and_scalars() -> None:
    check_op(lambda x: reshape(x, [0, 5]), lambda x: x.reshape(0, 5), array(3, 0))
    check_op(lambda x: reshape(x, [-1, 3]), lambda x: x.reshape(0, 3), array(0, 3))
    check_op(lambda x: reshape(x, []), lambda x: x.reshape(()), array(1))
    check_op(lambda x: reshape(x, [1, 1]), lambda x: x.reshape(1, 1), array())


def test_static_shape_of_a_reshape_follows_from_shapes() -> None:
    x, y = placeholder("float32", [None, 3, 4]), placeholder("float32", [None, 6])
    assert reshape(x, [-1, reshape_ops.shape(y)[1]]).shape.as_list() == [None, 6]
    assert reshape(x, [reshape_ops.shape(x)[0], 12]).shape.as_list() == [None, 12]
    assert reshape(x, concat([reshape_ops.shape(x)[:1], [12]], 0)).shape.as_list() == [None, 12]
    assert reshape(constant(np.zeros((2, 6))), [3, -1]).shape.as_list() == [3, 4]
    assert reshape(x, placeholder("int32", [3])).shape.as_list() == [None, None, None]
    assert reshape(x, placeholder("int32")).shape.ndims is None


def test_reshape_rejects_other_element_counts() -> None:
    with pytest.raises(ValueError, match=r"24 elements to shape \[5,5\] \(25 elements\)"):
        reshape(placeholder("float32", [2, 3, 4]), [5, 5])
    with pytest.raises(ValueError, match="more than one -1"):
        reshape(placeholder("float32", [6]), [-1, -1])
    with pytest.raises(ValueError, match="evenly divisible by 5 but is 24"):
        reshape(placeholder("float32", [2, 3, 4]), [5, -1])
    x, target = placeholder("float32"), placeholder("int32")
    y = reshape(x, target)
    with pytest.raises(errors.InvalidArgumentError, match=r"a tensor with 6 values, but the requested shape has 4"):
        run(y, {x: np.zeros(6), target: [2, 2]})
    with pytest.raises(errors.InvalidArgumentError, match="more than one -1"):
        run(y, {x: np.zeros(6), target: [-1, -1]})
    with pytest.raises(errors.InvalidArgumentError, match="is negative"):
        run(y, {x: np.zeros(6), target: [-2, -3]})


def test_shape_size_rank() -> None:
    x = placeholder("float32")
    value = np.zeros((2, 0, 5))
    shape, size, rank = run([reshape_ops.shape(x), reshape_ops.size(x), reshape_ops.rank(x)], {x: value})
    assert shape.tolist() == [2, 0, 5] and size == 0 and rank == 3
    assert shape.dtype == size.dtype == rank.dtype == np.int32
    assert run(reshape_ops.shape(x, out_type=dtypes.int64), {x: value}).dtype == np.int64
    assert reshape_ops.shape(placeholder("float32", [2, 3])).op.type == "Const"
    assert reshape_ops.size(placeholder("float32", [2, 3])).op.type == "Const"
    assert reshape_ops.rank(placeholder("float32", [None, 3])).op.type == "Const"
    assert [v.tolist() for v in run(shape_n([x, x]), {x: value})] == [[2, 0, 5]] * 2
    assert [v.tolist() for v in run(shape_n([x]), {x: value})] == [[2, 0, 5]]


def test_zeros_and_ones() -> None:
    assert reshape_ops.zeros([2, 3]).op.type == "Const"
    assert reshape_ops.zeros([200, 30]).op.type == "Fill" and reshape_ops.zeros([200, 30]).shape.as_list() == [200, 30]
    n = placeholder("int32", [])
    assert reshape_ops.zeros([n, 3]).shape.as_list() == [None, 3]
    np.testing.assert_array_equal(run(reshape_ops.ones([n, 3], "int64"), {n: 2}), np.ones((2, 3), np.int64))
    assert run(reshape_ops.zeros([2], dtypes.string)).tolist() == [b"", b""]
    assert run(reshape_ops.zeros([2], "bool")).tolist() == [False, False]
    assert run(reshape_ops.zeros(3)).tolist() == [0, 0, 0]
    assert run(reshape_ops.ones([])) == 1
    x = placeholder("float32")
    zeros, ones = zeros_like(x), ones_like(x, dtype="int32")
    assert zeros.op.type == "ZerosLike"
    np.testing.assert_array_equal(run([zeros, ones], {x: [[1, 2]]})[1], [[1, 1]])
    assert zeros_like(placeholder("float32", [3])).op.type == "Const"


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_expand_dims(axis: int) -> None:
    check_op(lambda x: expand_dims(x, axis), lambda x: x.unsqueeze(axis), array(2, 3))


def test_expand_dims_by_an_older_name_and_out_of_range() -> None:
    assert expand_dims(constant([1.0, 2.0]), dim=1).shape.as_list() == [2, 1]
    with pytest.raises(ValueError, match="dim 3 not in the interval"):
        expand_dims(placeholder("float32", [2, 3]), 3)
    with pytest.raises(ValueError, match="both"):
        expand_dims(constant(1.0), 0, dim=0)
    x, axis = placeholder("float32"), placeholder("int32", [])
    with pytest.raises(errors.InvalidArgumentError, match="dim 5 not in the interval"):
        run(expand_dims(x, axis), {x: 1.0, axis: 5})


def test_squeeze() -> None:
    check_op(lambda x: squeeze(x), torch.squeeze, array(2, 1, 3, 1))
    check_op(lambda x: squeeze(x, [1, -1]), lambda x: x.squeeze((1, 3)), array(2, 1, 3, 1))
    check_op(lambda x: squeeze(x, 1), lambda x: x.squeeze(1), array(2, 1, 3, 1))
    check_op(lambda x: squeeze(x, squeeze_dims=[3]), lambda x: x.squeeze(3), array(2, 1, 3, 1))
    with pytest.raises(ValueError, match=r"Can not squeeze dim\[0\], expected a dimension of 1, got 2"):
        squeeze(placeholder("float32", [2, 1]), [0])
    x = placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match=r"Can not squeeze dim\[0\], expected a dimension of 1"):
        run(squeeze(x, [0]), {x: np.zeros((2, 1))})


def test_transpose() -> None:
    check_op(lambda x: transpose(x), lambda x: x.permute(2, 1, 0), array(2, 3, 4))
    check_op(lambda x: transpose(x, [1, 2, 0]), lambda x: x.permute(1, 2, 0), array(2, 3, 4))
    check_op(lambda x: transpose(x), lambda x: x, array())
    check_op(lambda x: matrix_transpose(x), lambda x: x.mT, array(2, 3, 4))
    z = array(2, 3, dtype="complex64") + np.complex64(1j)
    check_op(lambda x: transpose(x, conjugate=True), lambda x: x.mH.resolve_conj(), z)
    check_op(lambda x, p: transpose(x, p), lambda x, p: x.permute(1, 2, 0), array(2, 3, 4), np.array([1, 2, 0]))
    for perm in ([0, 0, 1], [0, 1], [0, 1, 3]):
        with pytest.raises(ValueError, match="perm"):
            transpose(placeholder("float32", [2, 3, 4]), perm)


def test_invert_permutation() -> None:
    p = placeholder("int32")
    inverse = invert_permutation(p)
    assert run(inverse, {p: [2, 0, 1]}).tolist() == [1, 2, 0]
    for bad in ([0, 0], [0, 2], [-1, 0]):
        with pytest.raises(errors.InvalidArgumentError):
            run(inverse, {p: bad})


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int) -> None:
    shapes = {0: [(2, 3), (4, 3), (0, 3)], 1: [(2, 3), (2, 1), (2, 4)], -1: [(2, 3), (2, 3)]}[axis]
    check_op(lambda *x: concat(x, axis), lambda *x: torch.cat(x, axis), *[array(*s) for s in shapes])


def test_concat_with_an_axis_of_the_step() -> None:
    check_op(
        lambda x, y, a: concat([x, y], a),
        lambda x, y, a: torch.cat([x, y], 1),
        array(2, 3),
        array(2, 4),
        np.array(1),
    )


def test_concat_errors() -> None:
    x, y = placeholder("float32", [2, 3]), placeholder("float32", [4, 5])
    with pytest.raises(ValueError, match="Dimension 1 in both shapes must be equal, but are 3 and 5"):
        concat([x, y], 0)
    with pytest.raises(ValueError, match="scalars cannot be concatenated"):
        concat([constant(1.0), constant(2.0)], 0)
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        concat([x, x], 2)
    assert concat([x], 0).op.type == "Identity"
    u, v = placeholder("float32"), placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match="Ranks of all input tensors should match"):
        run(concat([u, v], 0), {u: np.zeros((2, 3)), v: np.zeros(0)})
    with pytest.raises(errors.InvalidArgumentError, match="Dimensions of inputs should match"):
        run(concat([u, v], 0), {u: np.zeros((2, 3)), v: np.zeros((2, 4))})


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_stack_and_unstack(axis: int) -> None:
    check_op(lambda x, y: stack([x, y], axis), lambda x, y: torch.stack([x, y], axis), array(2, 3), array(2, 3) + 1)
    value = array(2, 2, 2)
    check_op(lambda x: unstack(x, 2, axis), lambda x: x.unbind(axis), value)


def test_stack_and_unstack_of_one_and_of_none() -> None:
    check_op(lambda x: stack([x]), lambda x: x[None], array(2, 3))
    check_op(lambda x: unstack(x, 1), lambda x: x.unbind(0), array(1, 3))
    assert unstack(placeholder("float32", [0, 3])) == []
    assert stack([1, 2, 3]).op.type == "Const"
    assert len(unstack(placeholder("float32", [None, 3]), axis=1)) == 3
    with pytest.raises(ValueError, match="Cannot infer num"):
        unstack(placeholder("float32", [None, 3]))
    with pytest.raises(ValueError, match="must be equal"):
        stack([placeholder("float32", [2]), placeholder("float32", [3])])
    x, y = placeholder("float32"), placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match="Shapes of all inputs must match"):
        run(stack([x, y]), {x: np.zeros(2), y: np.zeros(3)})
    with pytest.raises(errors.InvalidArgumentError, match="size"):
        run(unstack(x, 2), {x: np.zeros(3)})


def test_split() -> None:
    check_op(lambda x: split(x, 3, 1), lambda x: x.split(2, 1), array(2, 6))
    check_op(lambda x: split(x, 3, -1), lambda x: x.split(2, 1), array(2, 6))
    check_op(lambda x: split(x, 1), lambda x: (x,), array(2, 6))
    check_op(lambda x: split(x, 2), lambda x: (x, x), array(0, 6))
    check_op(lambda x: split(x, [1, -1, 2], 1), lambda x: x.split([1, 3, 2], 1), array(2, 6))
    check_op(lambda x: split(x, [6], 1), lambda x: (x,), array(2, 6))
    check_op(lambda x, s: split(x, s, 1, num=2), lambda x, s: x.split([4, 2], 1), array(2, 6), np.array([4, 2]))
    parts = split(placeholder("float32", [None, 6]), [2, -1], 1)
    assert [p.shape.as_list() for p in parts] == [[None, 2], [None, 4]]
    for sizes in (4, [1, 2], [-1, -1], [7, -1], [-2, 8]):
        with pytest.raises(ValueError):
            split(placeholder("float32", [2, 6]), sizes, 1)
    x = placeholder("float32")
    for sizes in (4, [1, 2], [7, -1]):
        with pytest.raises(errors.InvalidArgumentError):
            run(split(x, sizes, 1), {x: np.zeros((2, 6))})


def test_identities_and_their_gradients() -> None:
    check_op(identity, lambda x: x.clone(), array(2, 3))
    check_op(lambda x, y: identity_n([x, y]), lambda x, y: (x.clone(), y.clone()), array(2), array(3))
    x = placeholder("float32", [2])
    assert gradients(stop_gradient(x), x) == [None]
    with pytest.raises(LookupError, match="because"):
        gradients(prevent_gradient(x, message="because"), x)


def test_ensure_shape() -> None:
    x = placeholder("float32")
    y = ensure_shape(x, [None, 3])
    assert y.shape.as_list() == [None, 3]
    assert run(y, {x: np.zeros((2, 3))}).shape == (2, 3)
    with pytest.raises(errors.InvalidArgumentError, match=r"\[2, 4\]"):
        run(y, {x: np.zeros((2, 4))})
    with pytest.raises(ValueError):
        ensure_shape(placeholder("float32", [2, 4]), [None, 3])


@pytest.mark.parametrize(
    "bounds", [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (3, 3), (0.0, 1.0, 0.25), (0,), (np.int64(2), 9), (1, 4.5, 0.5)]
)
def test_range(bounds: Any) -> None:
    tensor = sequences_ops.range(*bounds)
    value = run(tensor)
    np.testing.assert_allclose(value, np.arange(*bounds))
    assert tensor.shape.as_list() == [len(value)]
    kinds = {np.int64 if isinstance(b, np.int64) else np.float32 if isinstance(b, float) else np.int32 for b in bounds}
    assert value.dtype == max(kinds, key=[np.int32, np.int64, np.float32].index)


def test_range_in_a_step_and_errors() -> None:
    n, d = placeholder("int32", []), placeholder("int32", [])
    count = sequences_ops.range(0, n, d)
    assert run(count, {n: 5, d: 2}).tolist() == [0, 2, 4]
    with pytest.raises(errors.InvalidArgumentError, match="delta is 0"):
        run(count, {n: 5, d: 0})
    with pytest.raises(errors.InvalidArgumentError, match="does not reach"):
        run(count, {n: 5, d: -1})
    with pytest.raises(ValueError, match="delta is 0"):
        sequences_ops.range(0, 5, 0)
    with pytest.raises(ValueError, match="does not reach"):
        sequences_ops.range(5, 0)
    for dtype in ("int64", "float64", "uint16", "uint64", "int8", "float16"):
        assert run(sequences_ops.range(3, dtype=dtype)).dtype == np.dtype(dtype)


def test_linspace() -> None:
    np.testing.assert_allclose(run(linspace(1.0, 2.0, 5)), np.linspace(1, 2, 5))
    assert linspace(1.0, 2.0, 5).shape.as_list() == [5]
    assert run(linspace(1.0, 2.0, 1)).tolist() == [1]
    with pytest.raises(ValueError, match="num is 0"):
        linspace(1.0, 2.0, 0)


def test_bitcast() -> None:
    x = constant([[1.0, 2.0, 3.0]])
    same, narrow = bitcast(x, "int32"), bitcast(x, "uint8")
    assert narrow.shape.as_list() == [1, 3, 4]
    a, c = run([same, bitcast(narrow, "float32")])
    np.testing.assert_array_equal(a, np.array([[1, 2, 3]], np.float32).view(np.int32))
    np.testing.assert_array_equal(c, [[1, 2, 3]])
    with pytest.raises(ValueError, match="last dimension"):
        bitcast(constant([1, 2, 3], "uint8"), "float32")


def test_strings_pass_through() -> None:
    x = placeholder("string")
    value = np.array([[b"a", b"b", b"c"]], dtype=object)
    expected = {
        reshape(x, [3, 1]): value.reshape(3, 1),
        identity(x): value,
        concat([x, x], 0): np.concatenate([value, value]),
        stack([x, x], 1): np.stack([value, value], 1),
        squeeze(x): value[0],
        expand_dims(x, 0): value[None],
        transpose(x): value.T,
        zeros_like(x): np.full((1, 3), b"", object),
        unstack(x, 3, 1)[1]: value[:, 1],
        split(x, 3, 1)[2]: value[:, 2:],
        split(x, [1, -1], 1)[1]: value[:, 1:],
        reshape_ops.shape(x): np.array([1, 3]),
    }
    for tensor, wanted in zip(expected, run(list(expected), {x: value})):
        assert wanted.tolist() == expected[tensor].tolist(), tensor


def test_second_order() -> None:
    x = placeholder("float32", [2, 3])
    y = transpose(reshape(concat([x, x], 0), [3, 4]))
    (first,) = gradients(y * y * y, x)
    (second,) = gradients(first, x)
    value = array(2, 3)
    np.testing.assert_allclose(run(second, {x: value}), 12 * value, rtol=1e-5)

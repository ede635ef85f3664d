"""Statistics and norms: variance, standard deviation, log-sum-exp, nonzero counts, vector and matrix norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import is_finite, not_equal
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.decompositions import svd
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import (
    abs as abs_of,
    add,
    conj,
    divide,
    exp,
    log,
    multiply,
    pow,
    real,
    sqrt,
    square,
    subtract,
)
from thalweg._src.graph.ops.reduction import one_of, reduce_max, reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import (
    expand_dims,
    invert_permutation,
    rank,
    reshape,
    shape,
    squeeze,
    transpose,
    zeros_like,
)
from thalweg._src.graph.ops.sequences import range_op
from thalweg._src.graph.ops.shape_functions import normalize_axis
from thalweg._src.graph.ops.where import setdiff1d, where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("math.reduce_variance")
def reduce_variance(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the variance along the axes.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    with name_scope(name, "reduce_variance", [input_tensor]):
        x = convert_to_tensor(input_tensor)
        mean = reduce_mean(x, axis, keepdims=True)
        if mean.dtype.is_integer:
            raise TypeError(f"x is {mean.dtype.name}, expected a floating or complex type")
        distance = subtract(x, mean)
        if distance.dtype.is_complex:
            squares = real(multiply(conj(distance), distance))
        else:
            squares = square(distance)
        return reduce_mean(squares, axis, keepdims=keepdims)


@export("math.reduce_std")
def reduce_std(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the standard deviation along the axes.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    with name_scope(name, "reduce_std", [input_tensor]):
        return sqrt(reduce_variance(input_tensor, axis, keepdims))


@export("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Returns log(sum(exp(x))) along the axes, without overflow.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "ReduceLogSumExp", [input_tensor]) as scope:
        x = convert_to_tensor(input_tensor)
        greatest = reduce_max(x, axis, keepdims=True)
        base = stop_gradient(where(is_finite(greatest), greatest, zeros_like(greatest)))
        result = log(reduce_sum(exp(subtract(x, base)), axis, keepdims=keep))
        return add(result, base if keep else reshape(base, shape(result)), name=scope)


@export("count_nonzero", "math.count_nonzero")
def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Returns the number of elements along the axes that are not zero, False or empty strings.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
        input: Deprecated name of `input_tensor`.
    """
    keepdims = one_of("keepdims", keepdims, "keep_dims", keep_dims)
    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    input_tensor = one_of("input", input, "input_tensor", input_tensor)
    with name_scope(name, "count_nonzero", [input_tensor]):
        x = convert_to_tensor(input_tensor, name="input")
        zero = "" if x.dtype is dtypes.string else False if x.dtype.is_bool else 0
        return cast(reduce_sum(cast(not_equal(x, zero), dtypes.int64), axis, keepdims), dtype)  # type: ignore[no-any-return]


_MATRIX_NORMS = ("euclidean", "fro", 1, 2, np.inf)


@export("norm", "linalg.norm")
def norm(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Returns the norm of vectors (one axis, or all elements for None) or of matrices (two axes).

    Args:
        axis: One axis for vector norms, two for matrix norms; None takes all elements as one vector.
    """
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    matrix = isinstance(axis, list | tuple) and len(axis) == 2
    _require_norm(ord, axis, matrix)
    with name_scope(name, "norm", [tensor]):
        x = convert_to_tensor(tensor)
        if matrix and ord == 2:
            result = _spectral_norm(x, axis)
        elif ord in ("fro", "euclidean", 2):
            result = sqrt(reduce_sum(multiply(x, conj(x)), axis, keepdims=True))
        elif matrix:
            result = _matrix_norm(abs_of(x), ord, axis)
        elif ord == 1:
            result = reduce_sum(abs_of(x), axis, keepdims=True)
        elif ord == np.inf:
            result = reduce_max(abs_of(x), axis, keepdims=True)
        else:
            result = pow(reduce_sum(pow(abs_of(x), ord), axis, keepdims=True), 1.0 / ord)
        return result if keep else squeeze(result, axis)


def _require_norm(ord: Any, axis: Any, matrix: bool) -> None:
    if matrix:
        if axis[0] == axis[1]:
            raise ValueError(f"axis is {axis}, expected a number, two different numbers, or None")
        if ord not in _MATRIX_NORMS:
            raise ValueError(f"ord is {ord!r}, expected one of {_MATRIX_NORMS} for matrices")
        return
    if isinstance(axis, list | tuple) and len(axis) != 1:
        raise ValueError(f"axis is {axis}, expected a number, two different numbers, or None")
    if ord != "euclidean" and not (isinstance(ord, int | float) and ord > 0):
        raise ValueError(f"ord is {ord!r}, expected 'euclidean' or a positive number for vectors")


def _matrix_norm(magnitude: Tensor, ord: Any, axis: Any) -> Tensor:
    """Returns the largest absolute sum of a column (1) or of a row (inf)."""
    summed, greatest = (axis[0], axis[1]) if ord == 1 else (axis[1], axis[0])
    return reduce_max(reduce_sum(magnitude, summed, keepdims=True), greatest, keepdims=True)


def _spectral_norm(x: Tensor, axis: Any) -> Tensor:
    """Returns the greatest singular value of the matrices that two axes hold, which keep their places."""
    order: Any
    if x.dims is None:
        first, second = (add(rank(x), a) if a < 0 else a for a in axis)
        order = concat([setdiff1d(range_op(0, rank(x), 1), stack([first, second]))[0], [first, second]], 0)
    else:
        pair = [normalize_axis(int(a), len(x.dims)) for a in axis]
        order = [i for i in range(len(x.dims)) if i not in pair] + pair
    greatest = reduce_max(svd(transpose(x, order), compute_uv=False), -1, keepdims=True)
    return transpose(expand_dims(greatest, -1), invert_permutation(order))


@export("linalg.normalize")
def normalize(
    tensor: TensorLike, ord: str | float = "euclidean", axis: TensorLike | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the tensor divided by its norm along the axes, and that norm.

    Args:
        axis: One axis for vector norms, two for matrix norms; None takes all elements as one vector.
    """
    with name_scope(name, "normalize", [tensor]):
        x = convert_to_tensor(tensor)
        length = cast(norm(x, ord, axis, keepdims=True), x.dtype)
        return divide(x, length), length

"""Arithmetic of the Keras backend: products, reductions, elementwise functions and comparisons."""

from __future__ import annotations

import builtins
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import compatible, show
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, comparison, math, reduction, reshape
from thalweg._src.graph.ops.contraction import einsum, tensordot
from thalweg._src.graph.ops.gather import gather as gather_rows
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.sparse_math import sparse_tensor_dense_matmul
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.backend.values import is_sparse
from thalweg._src.training.nn import statistics
from thalweg._src.training.variables.variables import Variable

Axes = int | Sequence[int] | None


# -- types and products -----------------------------------------------------------------------------------------------


@export("keras.backend.cast")
def cast(x: TensorLike, dtype: DTypeLike) -> Any:
    """Returns a tensor in another type."""
    return cast_ops.cast(x, dtype)


@export("keras.backend.cast_to_floatx")
def cast_to_floatx(x: TensorLike) -> Any:
    """Returns a tensor or an array in the type `floatx()`."""
    if isinstance(x, Tensor | Variable | SparseTensor):
        return cast_ops.cast(x, floatx())
    return np.asarray(x, dtype=floatx())


@export("keras.backend.dot")
def dot(x: Any, y: TensorLike) -> Tensor:
    """Returns the sum of products over the last axis of x and the last axis but one of y."""
    if is_sparse(x):
        return sparse_tensor_dense_matmul(x, y)  # type: ignore[no-any-return]
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x.dims is not None and y.dims is not None and builtins.max(len(x.dims), len(y.dims)) > 2:
        return tensordot(x, y, [[len(x.dims) - 1], [len(y.dims) - 2]])
    return matmul(x, y)


@export("keras.backend.batch_dot")
def batch_dot(x: TensorLike, y: TensorLike, axes: Axes = None) -> Tensor:
    """Returns, for each example, the sum of products over one axis of x and one of y.

    Args:
        axes: The axes that are summed over, one of each tensor, or one for both.
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = _ranks_of_batches(x, y)
    if axes is None:
        axes = (ranks[0] - 1, ranks[1] - (1 if ranks[1] == 2 else 2))
    pair = [axes, axes] if isinstance(axes, int) else list(axes)
    if len(pair) != 2 or not builtins.all(-rank <= axis < rank for axis, rank in zip(pair, ranks)):
        raise ValueError(f"axes: expected an axis of each tensor, received {axes} for ranks {ranks[0]} and {ranks[1]}")
    first, second = (axis % rank for axis, rank in zip(pair, ranks))
    if not (first and second):
        raise ValueError(f"axes: expected others than the first, which is that of the batch, received {axes}")
    if not compatible((x.dims[first],), (y.dims[second],)):  # type: ignore[index]
        raise ValueError(f"axes {pair} of shapes {show(x.dims)} and {show(y.dims)} differ in their sizes")
    result = einsum(_equation(*ranks, first, second), x, y)
    return result if result._rank() != 1 else reshape.expand_dims(result, 1)


def _ranks_of_batches(x: Tensor, y: Tensor) -> tuple[int, int]:
    if x.dims is None or y.dims is None or len(x.dims) < 2 or len(y.dims) < 2:
        raise ValueError(f"expected two tensors of known rank 2 or more, received {show(x.dims)} and {show(y.dims)}")
    return len(x.dims), len(y.dims)


def _equation(x_rank: int, y_rank: int, first: int, second: int) -> str:
    """Returns the equation of a product of batches; matrices of equal rank are multiplied one by one."""
    x, others = string.ascii_lowercase[:x_rank], string.ascii_uppercase
    is_matrix = x_rank == y_rank > 3 and builtins.min(first, second) >= x_rank - 2
    shared = x_rank - 2 if is_matrix else 1
    y = "".join(x[first] if axis == second else x[axis] if axis < shared else others[axis] for axis in range(y_rank))
    output = "".join(letter for letter in x if letter != x[first]) + "".join(
        letter for letter in y[shared:] if letter != x[first]
    )
    return f"{x},{y}->{output}"


@export("keras.backend.gather")
def gather(reference: TensorLike, indices: TensorLike) -> Tensor:
    """Returns rows of a tensor."""
    return gather_rows(reference, indices)


# -- reductions -------------------------------------------------------------------------------------------------------


@export("keras.backend.max")
def max(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns the maximum along axes.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return reduction.reduce_max(x, axis, keepdims)


@export("keras.backend.min")
def min(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns the minimum along axes.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return reduction.reduce_min(x, axis, keepdims)


@export("keras.backend.sum")
def sum(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns the sum along axes.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return reduction.reduce_sum(x, axis, keepdims)


@export("keras.backend.prod")
def prod(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns the product along axes.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return reduction.reduce_prod(x, axis, keepdims)


def _number(x: TensorLike) -> Tensor:
    """Returns truth values as zeros and ones, other values unchanged."""
    tensor = convert_to_tensor(x)
    return cast(tensor, floatx()) if tensor.dtype.base_dtype is dtypes.bool else tensor


@export("keras.backend.mean")
def mean(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns the mean along axes.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return reduction.reduce_mean(_number(x), axis, keepdims)


@export("keras.backend.var")
def var(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns the variance along axes.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return statistics.reduce_variance(_number(x), axis, keepdims)


@export("keras.backend.std")
def std(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns the standard deviation along axes.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return statistics.reduce_std(_number(x), axis, keepdims)


def logsumexp(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns log(sum(exp(x))) along axes."""
    return statistics.reduce_logsumexp(x, axis, keepdims)


@export("keras.backend.any")
def any(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns whether any element along axes is not zero.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return reduction.reduce_any(cast(x, dtypes.bool), axis, keepdims)


@export("keras.backend.all")
def all(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Returns whether no element along axes is zero.

    Args:
        axis: The axis or axes to reduce; None takes all.
    """
    return reduction.reduce_all(cast(x, dtypes.bool), axis, keepdims)


@export("keras.backend.argmax")
def argmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns the index of the maximum along an axis."""
    return reduction.argmax(x, axis)


@export("keras.backend.argmin")
def argmin(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns the index of the minimum along an axis."""
    return reduction.argmin(x, axis)


@export("keras.backend.cumsum")
def cumsum(x: TensorLike, axis: int = 0) -> Tensor:
    """Returns cumulative sums along an axis."""
    return reduction.cumsum(x, axis)


@export("keras.backend.cumprod")
def cumprod(x: TensorLike, axis: int = 0) -> Tensor:
    """Returns cumulative products along an axis."""
    return reduction.cumprod(x, axis)


# -- elementwise functions --------------------------------------------------------------------------------------------


@export("keras.backend.abs")
def abs(x: TensorLike) -> Any:
    """Returns absolute values."""
    return math.abs(x)


@export("keras.backend.square")
def square(x: TensorLike) -> Any:
    """Returns squares."""
    return math.square(x)


@export("keras.backend.sqrt")
def sqrt(x: TensorLike) -> Any:
    """Returns square roots, 0 for negative numbers."""
    tensor = convert_to_tensor(x)
    return math.sqrt(math.clip_by_value(tensor, 0.0, np.inf))


@export("keras.backend.exp")
def exp(x: TensorLike) -> Any:
    """Returns exponentials."""
    return math.exp(x)


@export("keras.backend.log")
def log(x: TensorLike) -> Any:
    """Returns natural logarithms."""
    return math.log(x)


@export("keras.backend.round")
def round(x: TensorLike) -> Any:
    """Returns the nearest integers; halves are rounded to even ones."""
    return math.round(x)


@export("keras.backend.sign")
def sign(x: TensorLike) -> Any:
    """Returns -1, 0 or 1 for each element."""
    return math.sign(x)


@export("keras.backend.pow")
def pow(x: TensorLike, a: TensorLike) -> Any:
    """Returns powers.

    Args:
        a: The exponent.
    """
    return math.pow(x, a)


@export("keras.backend.sin")
def sin(x: TensorLike) -> Any:
    """Returns sines."""
    return math.sin(x)


@export("keras.backend.cos")
def cos(x: TensorLike) -> Any:
    """Returns cosines."""
    return math.cos(x)


@export("keras.backend.clip")
def clip(x: TensorLike, min_value: TensorLike, max_value: TensorLike) -> Any:
    """Returns elements, limited by a minimum and a maximum, each of which may be None."""
    low = -np.inf if min_value is None else min_value
    high = np.inf if max_value is None else max_value
    if isinstance(low, int | float) and isinstance(high, int | float):
        high = builtins.max(low, high)
    return math.clip_by_value(x, low, high)


@export("keras.backend.maximum")
def maximum(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the greater elements of two tensors."""
    return math.maximum(x, y)


@export("keras.backend.minimum")
def minimum(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the lesser elements of two tensors."""
    return math.minimum(x, y)


# -- comparisons ------------------------------------------------------------------------------------------------------


@export("keras.backend.equal")
def equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether elements are equal."""
    return comparison.equal(x, y)


@export("keras.backend.not_equal")
def not_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether elements differ."""
    return comparison.not_equal(x, y)


@export("keras.backend.greater")
def greater(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether elements of x are greater."""
    return comparison.greater(x, y)


@export("keras.backend.greater_equal")
def greater_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether elements of x are greater or equal."""
    return comparison.greater_equal(x, y)


@export("keras.backend.less")
def less(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether elements of x are less."""
    return comparison.less(x, y)


@export("keras.backend.less_equal")
def less_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether elements of x are less or equal."""
    return comparison.less_equal(x, y)

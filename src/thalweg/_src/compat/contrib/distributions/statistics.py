"""Functions that distributions are used with: percentiles, and matrices made of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import math
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import logical_or
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.diagonal import matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.pad_tile import pad, reverse
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape, transpose
from thalweg._src.graph.ops.sorting import sort
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_ROUNDING: dict[str, Callable[[Tensor], Tensor]] = {"lower": math.floor, "higher": math.ceil, "nearest": math.round}


@export("contrib.distributions.percentile")
def percentile(
    x: TensorLike,
    q: TensorLike,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    preserve_gradients: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns a percentile of values, which is one of them.

    Args:
        x: The values.
        q: The percentile, a scalar in [0, 100].
        axis: The axis, or axes, of the values; None for all.
        interpolation: Which of two neighbours is taken: "nearest" (the default), "lower" or "higher".
        keep_dims: Whether reduced axes are kept with size 1.
        validate_args: Accepted for compatibility; it has no effect.
        preserve_gradients: Accepted for compatibility; gradients always flow to the values.
        name: A name for the operations that are added to the graph.
    """
    chosen = "nearest" if interpolation is None else interpolation
    if chosen not in _ROUNDING:
        raise ValueError(f"Argument 'interpolation' must be in {sorted(_ROUNDING)}. Found {interpolation}")
    with name_scope(name, "percentile", [x, q]):
        x = convert_to_tensor(x, name="x")
        rank = x.shape.ndims
        if rank is None:
            raise ValueError("x: expected a tensor of known rank")
        axes = [*range(rank)] if axis is None else [int(a) % rank for a in np.atleast_1d(axis)]
        others = [a for a in range(rank) if a not in axes]
        sizes = shape(x)
        rows = reshape(transpose(x, [*others, *axes]), concat([gather(sizes, cast(others, dtypes.int32)), [-1]], 0))
        last = cast(shape(rows)[-1] - 1, dtypes.float64)
        position = _ROUNDING[chosen](last * cast(q, dtypes.float64) / 100.0)
        result = gather(sort(rows), cast(position, dtypes.int32), axis=-1)
        result.set_shape([x.shape.as_list()[a] for a in others])
        if keep_dims:
            for a in sorted(axes):
                result = expand_dims(result, a)
        return result


@export("contrib.distributions.softplus_inverse")
def softplus_inverse(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the y with softplus(y) = x, for positive x.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    with name_scope(name, "softplus_inverse", [x]):
        x = convert_to_tensor(x, name="x")
        # Where exp(-x) is lost or all, y is x or log(x) up to rounding; the middle is computed from a harmless value.
        threshold = float(np.log(np.finfo(x.dtype.as_numpy_dtype).eps)) + 2.0
        too_small, too_large = x < float(np.exp(threshold)), x > -threshold
        middle = where_v2(logical_or(too_small, too_large), 1.0, x)
        result = middle + math.log(-math.expm1(-middle))
        return where_v2(too_small, math.log(x), where_v2(too_large, x, result))


@export("contrib.distributions.fill_triangular")
def fill_triangular(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """Returns triangular matrices filled with the elements of vectors, clockwise from the outside.

    Args:
        x: Vectors [..., n * (n + 1) / 2].
        upper: Whether the matrices are upper triangular.
        name: A name for the operations that are added to the graph.
    """
    with name_scope(name, "fill_triangular", [x]):
        x = convert_to_tensor(x, name="x")
        count = x.shape.with_rank_at_least(1).as_list()[-1]
        if count is None:
            raise ValueError("x: expected a known size of the last axis")
        n = int(np.sqrt(0.25 + 2 * count) - 0.5)
        if n * (n + 1) // 2 != count:
            raise ValueError(f"Input right-most shape ({count}) does not correspond to a triangular matrix.")
        # n * n elements: the vector, and its part after the first row in the opposite direction.
        halves = [x, reverse(x[..., n:], [-1])] if upper else [x[..., n:], reverse(x, [-1])]
        square = reshape(concat(halves, -1), concat([shape(x)[:-1], [n, n]], 0))
        return matrix_band_part(square, 0 if upper else -1, -1 if upper else 0)


@export("contrib.distributions.matrix_diag_transform")
def matrix_diag_transform(
    matrix: TensorLike, transform: Callable[[Tensor], Tensor] | None = None, name: str | None = None
) -> Tensor:
    """Returns matrices with a function applied to their diagonals.

    Args:
        matrix: Matrices [..., n, n].
        transform: The function; None changes nothing.
        name: A name for the operations that are added to the graph.
    """
    with name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return matrix_set_diag(matrix, transform(matrix_diag_part(matrix)))


@export("contrib.distributions.tridiag")
def tridiag(
    below: TensorLike | None = None,
    diag: TensorLike | None = None,
    above: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns matrices with values below, on and above the diagonal, and zeros elsewhere.

    Args:
        below: Values [..., n - 1] below the diagonal, or None.
        diag: Values [..., n] on the diagonal, or None.
        above: Values [..., n - 1] above the diagonal, or None.
        name: A name for the operations that are added to the graph.
    """
    with name_scope(name, "tridiag"):
        diagonals = []
        for values, sides in ((below, ((1, 0), (0, 1))), (above, ((0, 1), (1, 0)))):
            if values is not None:
                square = matrix_diag(convert_to_tensor(values))
                diagonals.append(pad(square, [*[[0, 0]] * (_rank(square) - 2), list(sides[0]), list(sides[1])]))
        if diag is not None:
            diagonals.append(matrix_diag(convert_to_tensor(diag)))
        if not diagonals:
            raise ValueError("Must specify at least one of {below, diag, above}.")
        return math.add_n(diagonals)


def _rank(tensor: Tensor) -> int:
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError(f"{tensor.label}: expected a tensor of known rank")
    return rank

"""Sorting, searchsorted, nth_element and approximate top_k."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.base.signatures import variant
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.math import negative, subtract
from thalweg._src.graph.ops.nn import top_k
from thalweg._src.graph.ops.reshape import constant_value, rank, reshape, shape, transpose
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.ops.shape_functions import (
    at_least_rank,
    normalize_axis,
    require,
    same_dimension,
    scalar_value,
    with_rank,
)
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _bound(c: Inference) -> Sequence[Shape]:
    rows, values = with_rank(c, 0, 2), with_rank(c, 1, 2)
    assert rows is not None and values is not None
    batch = same_dimension(rows[0], values[0], "batches", "sorted_inputs.shape[0] == values.shape[0]")
    return [(batch, values[1])]


def _bound_op(name: str, doc: str) -> OpDef:
    return nondifferentiable_op(
        name,
        "sorted_inputs: T, values: T -> output: out_type",
        doc,
        T=attr.types(),
        out_type=attr.types(dtypes.INDEX, dtypes.int32),
        infer=_bound,
    )


lower_bound = _bound_op(
    "LowerBound", "Finds the first position in its sorted row at which each value could be inserted."
)
upper_bound = _bound_op(
    "UpperBound", "Finds the last position in its sorted row at which each value could be inserted."
)


def _nth(c: Inference) -> Sequence[Shape]:
    source, n = at_least_rank(c, 0, 1), scalar_value(c, 1)
    require(n is None or n >= 0, f"n is {n}", expected="n >= 0")
    if source is None:
        return [None]
    last = source[-1]
    require(n is None or last is None or n < last, f"n is {n} in rows of {last}", expected="n < input.shape[-1]")
    return [source[:-1]]


nth_element = export("contrib.nn.nth_element", n="Position in the sorted row.")(
    op(
        "NthElement",
        "input: T, n: int32 -> values: T",
        reverse=False,
        T=dtypes.REAL,
        host="n",
        infer=_nth,
        doc="Returns the n-th smallest entry of each row, counted from 0; the n-th largest if reverse.",
    )
)


def _approx_top_k(c: Inference) -> Sequence[Shape]:
    source, k = at_least_rank(c, 0, 1), c.attrs["k"]
    require(0 < c.attrs["recall_target"] <= 1, f"recall_target is {c.attrs['recall_target']}", expected="0 to 1")
    if source is None:
        return [None, None]
    axis = normalize_axis(c.attrs["reduction_dimension"], len(source), "reduction_dimension")
    size = source[axis]
    require(size is None or k <= size, f"dimension {axis} has {size} entries", expected=f"at least k = {k}")
    return [(*source[:axis], k, *source[axis + 1 :])] * 2


approx_top_k = export(
    "approx_top_k",
    k="Number of entries to return.",
    is_max_k="Whether the largest entries are wanted, not the smallest.",
)(
    op(
        "ApproxTopK",
        "input: T -> values: T, indices: int32",
        k=attr.integer(0),
        reduction_dimension=-1,
        recall_target=0.95,
        is_max_k=True,
        reduction_input_size_override=-1,
        aggregate_to_topk=True,
        T=frozenset((dtypes.float16, dtypes.bfloat16, dtypes.float32)),
        infer=_approx_top_k,
        doc="Returns the k largest or smallest entries along a dimension; exact, whatever the requested recall.",
    )
)


@export("sort", "contrib.framework.sort")
def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Sorts the values along an axis.

    Args:
        values: The tensor to sort.
        axis: The axis to sort along; the last by default.
    """
    with name_scope(name, "sort", [values]):
        return _ordered(values, axis, direction, places=False)


@export("argsort", "contrib.framework.argsort")
def argsort(
    values: TensorLike, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """Returns the indices that sort values along an axis; the sort is stable.

    Args:
        values: The tensor to sort.
        axis: The axis to sort along; the last by default.
        stable: Accepted for compatibility; the order of equal values is always kept.
    """
    with name_scope(name, "argsort", [values]):
        return _ordered(values, axis, direction, places=True)


def _ordered(values: TensorLike, axis: Any, direction: str, places: bool) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction should be one of ASCENDING, DESCENDING, got {direction!r}")
    static_axis: Any = constant_value(axis) if isinstance(axis, Tensor) else axis
    if static_axis is None or getattr(static_axis, "ndim", None):
        raise ValueError(f"axis must be a constant scalar, got {axis!r}")
    values = convert_to_tensor(values, name="values")
    if direction == "DESCENDING":
        return _descending(values, int(static_axis), places)
    order = _descending(_mirrored(values), int(static_axis), places)
    return order if places else _mirrored(order)


def _mirrored(values: Tensor) -> Tensor:
    """Reverses the order of values within their type: the minimum integer has no negative."""
    if values.dtype.is_unsigned:
        return subtract(convert_to_tensor(values.dtype.max, values.dtype), values)
    if values.dtype.is_integer:
        return subtract(convert_to_tensor(-1, values.dtype), values)
    return negative(values)


def _descending(values: Tensor, axis: int, places: bool) -> Tensor:
    sizes: Any = shape(values)
    output = 1 if places else 0
    dims = values.dims
    if axis == -1 or (dims is not None and axis == len(dims) - 1):
        return top_k(values, sizes[-1])[output]  # type: ignore[no-any-return]
    if dims is not None:
        place = normalize_axis(axis, len(dims))
        order: Any = list(builtins.range(len(dims)))
        order[place], order[-1] = order[-1], order[place]
    else:
        order = _swap(axis, rank(values))
    ordered = top_k(transpose(values, order), sizes[axis])[output]
    return transpose(ordered, order)


def _swap(axis: int, count: Any) -> Tensor:
    """Returns the permutation that swaps an axis with the last one, of a tensor of unknown rank."""
    place, last, order = axis if axis >= 0 else count + axis, count - 1, range(count)
    return where_v2(equal(order, place), last, where_v2(equal(order, last), place, order))


@export("searchsorted")
def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Returns the insertion position of each value in its sorted row: before equal ones, or after them.

    Args:
        sorted_sequence: Rows in increasing order.
        values: Rows of values to find.
        side: "left" for the first possible position, "right" for the last.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'right' or 'left', got {side!r}")
    bound = lower_bound if side == "left" else upper_bound
    with name_scope(name, "searchsorted", [sorted_sequence, values]):
        rows = convert_to_tensor(sorted_sequence, name="sorted_sequence")
        values = convert_to_tensor(values, rows.dtype, name="values")
        if rows.dims is not None and values.dims is not None and len(rows.dims) == len(values.dims) == 2:
            return bound(rows, values, out_type=out_type)
        sizes: Any = shape(values)
        lengths: Any = shape(rows)
        positions = bound(reshape(rows, [-1, lengths[-1]]), reshape(values, [-1, sizes[-1]]), out_type=out_type)
        return reshape(positions, sizes)


def _approx_k(
    is_max_k: bool,
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> Any:
    """Returns the largest or smallest entries along a dimension, and their indices.

    Args:
        operand: The input tensor.
        k: Number of entries to return.
    """
    return approx_top_k.many(
        operand,
        k=k,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        is_max_k=is_max_k,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
        name=name,
    )


@export("math.approx_max_k", "nn.approx_max_k")
@variant(_approx_k, True)
def approx_max_k() -> None:
    """Returns the k largest entries along a dimension and their indices."""


@export("math.approx_min_k", "nn.approx_min_k")
@variant(_approx_k, False)
def approx_min_k() -> None:
    """Returns the k smallest entries along a dimension and their indices."""

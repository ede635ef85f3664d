"""Reductions along axes, cumulative sums, argmax and argmin."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.base.signatures import variant
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import Evaluate, OpDef, op
from thalweg._src.graph.ops.constants import array_constant
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reshape import rank
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.ops.shape_functions import normalize_axis, require, unchanged
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_SMALL = 1024  # elements: static evaluation is for shapes and indices


def _reduced(c: Inference) -> Sequence[Shape]:
    shape, axes_shape, axes = c.shapes[0], c.shapes[1], c.value(1)
    require(
        axes_shape is None or len(axes_shape) <= 1,
        f"reduction_indices has shape {show(axes_shape)}",
        expected="a scalar or a vector of axes",
    )
    if shape is None:
        return [None]
    if axes is None:
        return [(None,) * len(shape) if c.attrs["keep_dims"] else None]
    positions: set[int] = set()
    for axis in axes.ravel().tolist():
        what = f"Invalid reduction dimension {axis} for input with {len(shape)} dimensions."
        require(-len(shape) <= axis < len(shape), what, expected=f"an axis in [{-len(shape)}, {len(shape)})")
        position = normalize_axis(axis, len(shape))
        require(position not in positions, f"axis {axis} is duplicated", expected="distinct axes")
        positions.add(position)
    if c.attrs["keep_dims"]:
        return [tuple(1 if i in positions else d for i, d in enumerate(shape))]
    return [tuple(d for i, d in enumerate(shape) if i not in positions)]


def _evaluated(function: Callable[..., Any]) -> Evaluate:
    """Reduces small static integers, such as parts of a shape."""

    def evaluate(c: Inference) -> Any:
        value, axes = c.partial(0), c.value(1)
        if value is None or axes is None or not c.dtypes[0].is_integer or value.size > _SMALL:
            return None
        axis = tuple(axes.ravel().tolist())
        result = np.asarray(function(value.astype(object), axis=axis, keepdims=c.attrs["keep_dims"]), dtype=object)
        low, high = c.dtypes[0].min, c.dtypes[0].max
        return result if all(low <= e <= high for e in result.ravel().tolist()) else None

    return evaluate


def _reduction(
    name: str, types: frozenset[dtypes.DType] | None, doc: str, evaluate: Evaluate | None = None, **facts: Any
) -> OpDef:
    kind = "bool" if types is None else "T"
    type_attr: dict[str, Any] = {} if types is None else {"T": types}
    return op(
        name,
        f"input: {kind}, reduction_indices: Tidx -> output: {kind}",
        keep_dims=False,
        **type_attr,
        differentiable=types is not None,
        Tidx=attr.types(dtypes.INDEX, dtypes.int32),
        host="reduction_indices",
        infer=_reduced,
        evaluate=evaluate,
        doc=doc,
        **facts,
    )


sum_op = _reduction(
    "Sum", dtypes.NUMERIC, "Computes the sum along axes.", _evaluated(np.sum), traceable=True, fails="never"
)
mean_op = _reduction(
    "Mean",
    dtypes.NUMERIC,
    "Computes the mean along axes; that of integers is truncated toward zero.",
    traceable=True,
    fails="never",
)
prod_op = _reduction("Prod", dtypes.NUMERIC, "Computes the product along axes.", _evaluated(np.prod), traceable=True)
max_op = _reduction(
    "Max", dtypes.REAL, "Computes the maximum along axes.", _evaluated(np.max), traceable=True, fails="never"
)
min_op = _reduction(
    "Min", dtypes.REAL, "Computes the minimum along axes.", _evaluated(np.min), traceable=True, fails="never"
)
euclidean_norm_op = _reduction("EuclideanNorm", dtypes.NUMERIC, "Computes the Euclidean norm along axes.")
all_op = _reduction("All", None, "Returns whether all elements along axes are true.", traceable=True)
any_op = _reduction("Any", None, "Returns whether any element along axes is true.", traceable=True)


def one_of(name: str, value: object, old_name: str, old_value: object) -> Any:
    """Returns an argument that may be given under its TensorFlow 1 name, but not under both."""
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both {name!r} and {old_name!r}")
    return old_value


def _axes(x: Tensor, axis: Any) -> Any:
    """Returns the axes to reduce; None means all."""
    if axis is not None:
        return axis
    if x.is_eager and x.dims:
        return [*builtins.range(len(x.dims))]  # numbers, by which calls are remembered
    if x.dims is not None:
        return array_constant(np.arange(len(x.dims), dtype=np.int32), dtypes.int32)
    return range(0, rank(x))


def _reduce(
    definition: OpDef,
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Reduces a tensor along axes by an op.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    x = convert_to_tensor(input_tensor, dtypes.bool if definition in (all_op, any_op) else None, name="input")
    result = definition(x, _axes(x, axis), keep_dims=keep, name=name)
    if axis is None and not keep and result.dims is None:
        result.set_shape(())
    return result


@export("reduce_sum", "math.reduce_sum")
@dispatches
@variant(_reduce, sum_op)
def reduce_sum() -> None:
    """Sums the elements along the axes, all by default."""


@export("reduce_mean", "math.reduce_mean")
@dispatches
@variant(_reduce, mean_op)
def reduce_mean() -> None:
    """Averages the elements along the axes, all by default."""


@export("reduce_prod", "math.reduce_prod")
@dispatches
@variant(_reduce, prod_op)
def reduce_prod() -> None:
    """Multiplies the elements along the axes, all by default."""


@export("reduce_max", "math.reduce_max")
@dispatches
@variant(_reduce, max_op)
def reduce_max() -> None:
    """Computes the maximum along the axes, all by default."""


@export("reduce_min", "math.reduce_min")
@dispatches
@variant(_reduce, min_op)
def reduce_min() -> None:
    """Computes the minimum along the axes, all by default."""


@export("reduce_all", "math.reduce_all")
@dispatches
@variant(_reduce, all_op)
def reduce_all() -> None:
    """Returns whether all elements along the axes are true."""


@export("reduce_any", "math.reduce_any")
@dispatches
@variant(_reduce, any_op)
def reduce_any() -> None:
    """Returns whether any element along the axes is true."""


@export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Computes the Euclidean norm along the axes.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    return _reduce(euclidean_norm_op, input_tensor, axis, keepdims, name)


def _without_axis(c: Inference) -> Sequence[Shape]:
    shape, axis_shape, axis = c.shapes[0], c.shapes[1], c.value(1)
    require(axis_shape is None or axis_shape == (), f"dimension must be a scalar, got {show(axis_shape)}")
    if shape is None:
        return [None]
    if len(shape) <= 1 and axis is None:
        return [()]
    if axis is None:
        return [(None,) * (len(shape) - 1)]
    position = normalize_axis(int(axis), len(shape), "dimension")
    require(shape[position] != 0, f"the reduction axis {position} is empty", expected="at least one element along it")
    return [shape[:position] + shape[position + 1 :]]


_ORDERED = dtypes.REAL | {dtypes.bool}
arg_max = export("arg_max", dimension="The axis to reduce.")(
    nondifferentiable_op(
        "ArgMax",
        "input: T, dimension: Tidx -> output: output_type",
        "Returns the index of the maximum along an axis, the first among equals.",
        T=_ORDERED,
        Tidx=attr.types(dtypes.INDEX | {dtypes.int16}, dtypes.int32),
        output_type=attr.types(dtypes.INDEX | {dtypes.int16, dtypes.uint16}, dtypes.int64),
        host="dimension",
        infer=_without_axis,
        traceable=True,
    )
)
arg_min = export("arg_min", dimension="The axis to reduce.")(
    nondifferentiable_op(
        "ArgMin",
        "input: T, dimension: Tidx -> output: output_type",
        "Returns the index of the minimum along an axis, the first among equals.",
        T=_ORDERED,
        Tidx=attr.types(dtypes.INDEX, dtypes.int32),
        output_type=attr.types(dtypes.INDEX, dtypes.int64),
        host="dimension",
        infer=_without_axis,
        traceable=True,
    )
)


@export("argmax", "math.argmax")
def argmax(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """Returns the index of the maximum along an axis, the first by default.

    Args:
        axis: The axis to reduce; 0 by default.
    """
    axis = one_of("axis", axis, "dimension", dimension)
    return arg_max(input, 0 if axis is None else axis, output_type=output_type, name=name)


@export("argmin", "math.argmin")
def argmin(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """Returns the index of the minimum along an axis, the first by default.

    Args:
        axis: The axis to reduce; 0 by default.
    """
    axis = one_of("axis", axis, "dimension", dimension)
    return arg_min(input, 0 if axis is None else axis, output_type=output_type, name=name)


def _along_axis(c: Inference) -> Sequence[Shape]:
    shape, axis_shape, axis = c.shapes[0], c.shapes[1], c.value(1)
    require(axis_shape is None or axis_shape == (), f"axis must be a scalar, got {show(axis_shape)}")
    if shape is not None and axis is not None:
        normalize_axis(int(axis), len(shape))
    return unchanged(c)


def _scan(name: str, types: frozenset[dtypes.DType], doc: str, **facts: Any) -> OpDef:
    return op(
        name,
        "x: T, axis: Tidx -> out: T",
        exclusive=False,
        reverse=False,
        T=types,
        Tidx=attr.types(dtypes.INDEX, dtypes.int32),
        host="axis",
        infer=_along_axis,
        doc=doc,
        **facts,
    )


cumsum_op = _scan("Cumsum", dtypes.NUMERIC, "Computes the cumulative sum along an axis.", traceable=True)
cumprod_op = _scan("Cumprod", dtypes.NUMERIC, "Computes the cumulative product along an axis.")
cumulative_logsumexp_op = _scan(
    "CumulativeLogsumexp", dtypes.FLOATING, "Computes the cumulative log-sum-exp along an axis."
)


@export("cumsum", "math.cumsum")
def cumsum(
    x: TensorLike, axis: TensorLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Computes cumulative sums along an axis; exclusive ones start with 0 and omit the element itself.

    Args:
        axis: The axis to accumulate along.
        exclusive: Whether the element itself is left out of its sum or product.
    """
    return cumsum_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)


@export("cumprod", "math.cumprod")
def cumprod(
    x: TensorLike, axis: TensorLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Computes cumulative products along an axis; exclusive ones start with 1 and omit the element itself.

    Args:
        axis: The axis to accumulate along.
        exclusive: Whether the element itself is left out of its sum or product.
    """
    return cumprod_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)


@export("math.cumulative_logsumexp")
def cumulative_logsumexp(
    x: TensorLike, axis: TensorLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Computes log(cumsum(exp(x))) without overflow; exclusive ones start with the lowest finite number.

    Args:
        axis: The axis to accumulate along.
        exclusive: Whether the element itself is left out of its sum or product.
    """
    return cumulative_logsumexp_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)

"""Gradient accumulator ops."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.queues import maker_of
from thalweg._src.graph.ops.shape_functions import require, scalar, scalar_value, vector_size

_MAKERS = ("ResourceConditionalAccumulator", "SparseConditionalAccumulator")
NUMBERS = frozenset(dtypes.ALL) - {dtypes.bool, dtypes.string, dtypes.resource, dtypes.variant}


def _shape_of(c: Inference) -> Shape:
    """Returns the shape of a gradient, if the accumulator is statically known."""
    maker = maker_of(c.sources[0], _MAKERS)
    return None if maker is None else maker.attrs["shape"]


def _applied(c: Inference) -> Sequence[Shape]:
    scalar_value(c, 1)
    return []


def _sparse_applied(c: Inference) -> Sequence[Shape]:
    scalar_value(c, 1)
    count = vector_size(c, 2)
    values = c.shapes[3]
    require(values is None or len(values) > 0, "gradient_values is a scalar", expected="a row for each index")
    require(
        values is None or count is None or values[0] is None or values[0] == count,
        f"gradient_indices has {count} rows, gradient_values has shape {show(values)}",
        expected="a row for each index",
    )
    return []


def _taken(c: Inference) -> Sequence[Shape]:
    _required(c)
    return [_shape_of(c)]


def _sparse_taken(c: Inference) -> Sequence[Shape]:
    _required(c)
    shape = _shape_of(c)
    return [(None,), None if not shape else (None, *shape[1:]), (None,)]


def _required(c: Inference) -> None:
    number = scalar_value(c, 1)
    require(number is None or number > 0, f"num_required is {number}", expected="a positive number of gradients")


def _step_set(c: Inference) -> Sequence[Shape]:
    scalar_value(c, 1)
    return []


def _handle(name: str, kind: str, doc: str) -> OpDef:
    return stateful_op(
        name,
        f"-> handle: {kind}",
        doc,
        dtype=attr.types(NUMBERS),
        shape=attr.AttrDef("shape"),
        container="",
        shared_name="",
        reduction_type=attr.AttrDef("string", "MEAN", frozenset(("MEAN", "SUM"))),
        infer=scalar,
    )


conditional_accumulator_op = _handle(
    "ResourceConditionalAccumulator", "resource", "Creates a gradient accumulator and returns its handle."
)
sparse_conditional_accumulator_op = _handle(
    "SparseConditionalAccumulator", "string", "Creates a sparse gradient accumulator and returns its handle."
)
accumulator_apply_gradient_op = stateful_op(
    "ResourceAccumulatorApplyGradient",
    "handle: resource, local_step: int64, gradient: dtype ->",
    "Adds a gradient to an accumulator, unless it is stale.",
    dtype=attr.types(NUMBERS),
    host="local_step",
    infer=_applied,
)
accumulator_num_accumulated_op = stateful_op(
    "ResourceAccumulatorNumAccumulated",
    "handle: resource -> num_accumulated: int32",
    "Returns the number of gradients accumulated since the last take.",
    host="num_accumulated",
    infer=scalar,
)
accumulator_set_global_step_op = stateful_op(
    "ResourceAccumulatorSetGlobalStep",
    "handle: resource, new_global_step: int64 ->",
    "Sets the global step of an accumulator; gradients of earlier steps are stale.",
    host="new_global_step",
    infer=_step_set,
)
accumulator_take_gradient_op = stateful_op(
    "ResourceAccumulatorTakeGradient",
    "handle: resource, num_required: int32 -> average: dtype",
    "Takes the mean, or sum, of the accumulated gradients; blocks until there are enough.",
    dtype=attr.types(NUMBERS),
    host="num_required",
    waits=True,
    infer=_taken,
)
sparse_accumulator_apply_gradient_op = nondifferentiable_op(
    "SparseAccumulatorApplyGradient",
    "handle: string, local_step: int64, gradient_indices: int64, gradient_values: dtype, gradient_shape: int64 ->",
    "Adds a sparse gradient to an accumulator, unless it is stale.",
    dtype=attr.types(NUMBERS),
    has_known_shape=attr.AttrDef("bool"),
    infer=_sparse_applied,
)
sparse_accumulator_take_gradient_op = nondifferentiable_op(
    "SparseAccumulatorTakeGradient",
    "handle: string, num_required: int32 -> indices: int64, values: dtype, shape: int64",
    "Takes the mean, or sum, of the accumulated sparse gradients; blocks until there are enough.",
    dtype=attr.types(NUMBERS),
    waits=True,
    infer=_sparse_taken,
)
sparse_accumulator_num_accumulated_op = nondifferentiable_op(
    "AccumulatorNumAccumulated",
    "handle: string -> num_accumulated: int32",
    "Returns the number of sparse gradients accumulated since the last take.",
    infer=scalar,
)
sparse_accumulator_set_global_step_op = nondifferentiable_op(
    "AccumulatorSetGlobalStep",
    "handle: string, new_global_step: int64 ->",
    "Sets the global step of a sparse accumulator; gradients of earlier steps are stale.",
    infer=_step_set,
)
accumulator_reset_op = stateful_op(
    "_AccumulatorReset",
    "handle: T, global_step: int64 ->",
    "Drops the gradients of an accumulator, dense or sparse, and sets its global step.",
    T=attr.types([dtypes.resource, dtypes.string]),
    host="global_step",
    infer=_step_set,
)

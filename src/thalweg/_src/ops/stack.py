"""Stack ops, with which TensorFlow 1 graphs save the values of loops; our own loops use tensor lists."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.ops.shape_functions import no_outputs, require
from thalweg._src.shapes import Shape, compatible


def _made(c: Inference) -> Sequence[Shape]:
    require(compatible(c.shapes[0], ()), "max_size is not a scalar", expected="a scalar max_size")
    return [()]


stack_op = op(
    "StackV2",
    "max_size: int32 -> handle: resource",
    elem_type=attr.types(),
    stack_name="",
    host="max_size",
    stateful=True,
    differentiable=False,
    infer=_made,
    doc="Creates a stack that lives as long as the step; a negative max_size means no limit.",
)
stack_push_op = op(
    "StackPushV2",
    "handle: resource, elem: T -> output: T",
    T=attr.types(),
    swap_memory=False,
    stateful=True,
    differentiable=False,
    infer=lambda c: c.shapes[1:],
    doc="Pushes a value onto a stack and returns it.",
)
stack_pop_op = op(
    "StackPopV2",
    "handle: resource -> elem: elem_type",
    elem_type=attr.types(),
    stateful=True,
    differentiable=False,
    infer=lambda c: [None],
    doc="Pops the last value from a stack.",
)
stack_close_op = op(
    "StackCloseV2",
    "handle: resource ->",
    stateful=True,
    differentiable=False,
    infer=no_outputs,
    doc="Releases the memory of a stack.",
)

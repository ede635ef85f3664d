"""Stacks: what graphs made by TensorFlow 1 save the values of loops in; our own loops use tensor lists."""

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
    doc="A new stack; it lives as long as the step. A negative max_size is no limit.",
)
stack_push_op = op(
    "StackPushV2",
    "handle: resource, elem: T -> output: T",
    T=attr.types(),
    swap_memory=False,
    stateful=True,
    differentiable=False,
    infer=lambda c: c.shapes[1:],
    doc="Puts a value on a stack and gives it back.",
)
stack_pop_op = op(
    "StackPopV2",
    "handle: resource -> elem: elem_type",
    elem_type=attr.types(),
    stateful=True,
    differentiable=False,
    infer=lambda c: [None],
    doc="Takes the last value from a stack.",
)
stack_close_op = op(
    "StackCloseV2",
    "handle: resource ->",
    stateful=True,
    differentiable=False,
    infer=no_outputs,
    doc="Gives the memory of a stack's values back.",
)

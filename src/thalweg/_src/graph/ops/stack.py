"""Stack ops, with which TensorFlow 1 graphs save the values of loops; our own loops use tensor lists."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.shapes import Shape, compatible
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, require


def _new_handle(c: Inference) -> Sequence[Shape]:
    require(compatible(c.shapes[0], ()), "max_size is not a scalar", expected="a scalar max_size")
    return [()]


stack_op = stateful_op(
    "StackV2",
    "max_size: int32 -> handle: resource",
    "Creates a stack that lives as long as the step; a negative max_size means no limit.",
    elem_type=attr.types(),
    stack_name="",
    host="max_size",
    infer=_new_handle,
)
stack_push_op = stateful_op(
    "StackPushV2",
    "handle: resource, elem: T -> output: T",
    "Pushes a value onto a stack and returns it.",
    T=attr.types(),
    swap_memory=False,
    infer=lambda c: c.shapes[1:],
)
stack_pop_op = stateful_op(
    "StackPopV2",
    "handle: resource -> elem: elem_type",
    "Pops the last value from a stack.",
    elem_type=attr.types(),
    infer=lambda c: [None],
)
stack_close_op = stateful_op("StackCloseV2", "handle: resource ->", "Releases the memory of a stack.", infer=no_outputs)

"""Control-flow primitives of conditionals and loops, and the structured forms that functionalization produces.

Values are alive or dead. Switch forwards its input to one of its outputs and a dead value to the other; an operation
with a dead input is not run and all its outputs are dead; Merge forwards its first live input. Enter forwards a value
into the first iteration of a frame, NextIteration to the next one, Exit out of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape, compatible, in_common
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, require, unchanged


def _switch_shapes(c: Inference) -> Sequence[Shape]:
    require(c.shapes[1] in ((), None), "pred is not a scalar", expected="a scalar pred")
    return [c.shapes[0], c.shapes[0]]


def _merge_shapes(c: Inference) -> Sequence[Shape]:
    """Returns the shape that all inputs have in common: the dimensions in which they agree."""
    result = c.shapes[0]
    for shape in c.shapes[1:]:
        result = in_common(result, shape)
    return [result, ()]


def _scalar_condition(c: Inference) -> Sequence[Shape]:
    require(compatible(c.shapes[0], ()), "the condition is not a scalar", expected="a scalar")
    return [()]


switch_op = op(
    "Switch",
    "data: T, pred: bool -> output_false: T, output_true: T",
    T=attr.types(),
    host="pred",
    infer=_switch_shapes,
    doc="Forwards data to the output that pred selects; the other output is dead.",
    control_flow=True,
)
merge_op = op(
    "Merge",
    "inputs: N*T -> output: T, value_index: int32",
    T=attr.types(),
    host="value_index",
    infer=_merge_shapes,
    doc="Forwards the one input that is alive, with its index.",
    control_flow=True,
)
enter_op = op(
    "Enter",
    "data: T -> output: T",
    T=attr.types(),
    frame_name=attr.string(),
    is_constant=False,
    parallel_iterations=10,
    infer=unchanged,
    doc="Forwards a value into a frame: into its first iteration, or into every iteration if it is constant.",
    forwards="same",
    control_flow=True,
)
exit_op = op(
    "Exit",
    "data: T -> output: T",
    T=attr.types(),
    infer=unchanged,
    doc="Forwards a value out of its frame.",
    forwards="same",
    control_flow=True,
)
next_iteration_op = op(
    "NextIteration",
    "data: T -> output: T",
    T=attr.types(),
    infer=unchanged,
    doc="Forwards a value to the next iteration of its frame.",
    forwards="same",
    control_flow=True,
)
loop_cond_op = nondifferentiable_op(
    "LoopCond",
    "input: bool -> output: bool",
    "Marks the value that decides whether a loop continues.",
    host="input, output",
    infer=_scalar_condition,
    forwards="same",
    control_flow=True,
)
control_trigger = nondifferentiable_op(
    "ControlTrigger",
    "->",
    "Runs when its control inputs have finished, dead or alive.",
    infer=no_outputs,
    control_flow=True,
)
choose_op = nondifferentiable_op(
    "_Choose",
    "pred: bool, if_false: T, if_true: T -> output: T",
    "Selects one of two values, of which only that one need exist: a Merge with a known predicate.",
    T=attr.types(),
    host="pred",
    numbers="pred",
    infer=lambda c: [in_common(c.shapes[1], c.shapes[2])],
    forwards="chosen",
    compiler=True,
)
alive_op = nondifferentiable_op(
    "_Alive",
    "preds: N*bool, value: T -> output: T",
    "Returns a value of a branch, or fails if the branch was not taken.",
    T=attr.types(),
    sides=attr.AttrDef("list(bool)"),
    host="preds",
    infer=lambda c: c.shapes[-1:],
    forwards="same",
    compiler=True,
)
while_op = stateful_op(
    "_While",
    "input: list(T) -> output: list(T)",
    "Repeats a body graph while a condition graph returns True.",
    T=attr.type_list(0),
    infer=lambda c: c.shapes,
    compiler=True,
)

as_number_op = nondifferentiable_op(
    "_AsNumber",
    "input: T -> output: T",
    "Converts a tensor to a Python number, for a loop counter.",
    T=dtypes.INDEX | {dtypes.bool},
    infer=unchanged,
    forwards="same",
    compiler=True,
)
as_tensor_op = nondifferentiable_op(
    "_AsTensor",
    "input: T -> output: T",
    "Converts a Python number to a tensor.",
    T=dtypes.INDEX | {dtypes.bool},
    infer=unchanged,
    forwards="same",
    compiler=True,
)
cluster_op = nondifferentiable_op(
    "_Cluster",
    "input: list(Tin) -> output: list(Tout)",
    "Runs several pure operations as one call, created by the compiler for a fusion cluster.",
    Tin=attr.type_list(0),
    Tout=attr.type_list(0),
    compiler=True,
)

"""Calls of functions in the graph's library, and the conditionals and loops whose branches and bodies are functions.

A step contains none of them: the pass "inline functions" replaces each by the nodes of its functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import Shape, in_common
from thalweg._src.graph import attr
from thalweg._src.graph.attr import AttrDef
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.function import GraphFunction
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.shape_functions import from_shape_attr
from thalweg._src.graph.tensor import Tensor

_TYPES: dict[str, Any] = {"Tin": attr.type_list(0), "Tout": attr.type_list(0)}
_SHAPES = AttrDef("list(shape)", ())


def _called(c: Inference) -> Sequence[Shape]:
    return c.attrs["f"].output_shapes  # type: ignore[no-any-return]


def _branched(c: Inference) -> Sequence[Shape]:
    """Returns what the results of all branches have in common, unless an attribute states the shapes."""
    if c.attrs["output_shapes"]:
        return c.attrs["output_shapes"]  # type: ignore[no-any-return]
    branches = c.attrs["branches"] if "branches" in c.attrs else (c.attrs["then_branch"], c.attrs["else_branch"])
    result = list(branches[0].output_shapes)
    for branch in branches[1:]:
        result = [in_common(*pair) for pair in zip(result, branch.output_shapes)]
    return result


def _repeated(c: Inference) -> Sequence[Shape]:
    """Returns what the values before the loop and after an iteration have in common."""
    if c.attrs["output_shapes"]:
        return c.attrs["output_shapes"]  # type: ignore[no-any-return]
    return [in_common(*pair) for pair in zip(c.shapes, c.attrs["body"].output_shapes)]


def _call(name: str, doc: str, **facts: Any) -> OpDef:
    options: dict[str, Any] = {"config": "", "config_proto": "", "executor_type": ""}
    signature = "args: list(Tin) -> output: list(Tout)"
    return op(name, signature, **_TYPES, f=AttrDef("func"), **options, infer=_called, doc=doc, **facts)


def _if(name: str, doc: str, **facts: Any) -> OpDef:
    return op(
        name,
        "cond: Tcond, input: list(Tin) -> output: list(Tout)",
        Tcond=attr.types(),
        **_TYPES,
        then_branch=AttrDef("func"),
        else_branch=AttrDef("func"),
        output_shapes=_SHAPES,
        infer=_branched,
        doc=doc,
        **facts,
    )


def _case(name: str, doc: str, **facts: Any) -> OpDef:
    return op(
        name,
        "branch_index: int32, input: list(Tin) -> output: list(Tout)",
        **_TYPES,
        branches=AttrDef("list(func)", minimum=1),
        output_shapes=_SHAPES,
        infer=_branched,
        doc=doc,
        **facts,
    )


def _while(name: str, doc: str, **facts: Any) -> OpDef:
    return op(
        name,
        "input: list(T) -> output: list(T)",
        T=attr.type_list(0),
        cond=AttrDef("func"),
        body=AttrDef("func"),
        output_shapes=_SHAPES,
        parallel_iterations=10,
        infer=_repeated,
        doc=doc,
        **facts,
    )


partitioned_call_op = _call("PartitionedCall", "Calls a function without state.")
stateful_partitioned_call_op = _call("StatefulPartitionedCall", "Calls a function.", stateful=True)
stateless_if_op = _if("StatelessIf", "Calls one of two functions without state, by a condition.")
if_op = _if("If", "Calls one of two functions, by a condition.", stateful=True)
stateless_case_op = _case("StatelessCase", "Calls one of several functions without state, by an index.")
case_op = _case(
    "Case", "Calls one of several functions, by an index; the last one if the index is invalid.", stateful=True
)
stateless_while_op = _while("StatelessWhile", "Calls a function without state while another one returns True.")
while_op = _while("While", "Calls a function while another one returns True.", stateful=True)
symbolic_gradient_op = op(
    "SymbolicGradient",
    "input: list(Tin) -> output: list(Tout)",
    Tin=attr.type_list(1),
    Tout=attr.type_list(1),
    f=AttrDef("func"),
    infer=lambda c: c.shapes[: c.num_outputs],
    doc="Returns the gradients of a function's inputs, from its inputs and the gradients of its results.",
)
fake_param_op = op(
    "FakeParam",
    "-> output: dtype",
    dtype=attr.types(),
    shape=attr.shape(),
    infer=from_shape_attr,
    differentiable=False,
    doc="Stands for a value that only another branch computes, and that is never used.",
)


def call(function: GraphFunction, inputs: Sequence[Tensor], name: str | None = None) -> Operation:
    """Adds a call of a function to the default graph; inputs: the arguments, then the captured tensors."""
    graph = get_default_graph()
    graph._add_function(function)
    definition = stateful_partitioned_call_op if function.is_stateful else partitioned_call_op
    attrs = {"Tin": function.input_types, "Tout": function.output_types, "f": function}
    return graph.create_op(definition.name, list(inputs), attrs=attrs, name=name)

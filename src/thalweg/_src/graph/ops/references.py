"""Reference variables, TensorFlow 1's default: ops whose outputs are references that other ops write to.

They exist in graphs that users build, save and import. Each has a counterpart that takes handles of resources, and only
those are executed: `optimize.lower_references` replaces the ones by the others in the graph of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape, merge
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OPS, ArgDef, Facts, OpDef, op
from thalweg._src.graph.ops import control_flow, state, training
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import unchanged
from thalweg._src.graph.ops.state import handle_shape

_LOCKING = ("Assign", "ScatterUpdate", "ScatterNdUpdate")  # those that lock by default
_OTHER_NAMES = {
    "AssignVariableOp": "Assign",
    "AssignAddVariableOp": "AssignAdd",
    "AssignSubVariableOp": "AssignSub",
    "VarIsInitializedOp": "IsVariableInitialized",
}
_WRITERS = (
    "ResourceApply",
    "ResourceSparseApply",
    "ResourceScatter",
    "ResourceStridedSliceAssign",
    "ResourceCountUpTo",
)
_WITHOUT = ("ResourceApplyAdamWithAmsgrad", "ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum")
_ARITHMETIC = ("AssignAdd", "AssignSub", "ScatterNdAdd", "ScatterNdSub")
VARIABLES = ("Variable", "VariableV2")


def _variable(name: str) -> OpDef:
    definition = stateful_op(
        name,
        "-> ref: Ref(dtype)",
        "Creates a variable and returns a reference to it.",
        shape=attr.shape(),
        dtype=attr.types(),
        container="",
        shared_name="",
        infer=lambda c: [c.attrs["shape"]],
    )
    definition.on_handles = state.var_handle_op
    return definition


variable_op = _variable("Variable")
variable_v2_op = _variable("VariableV2")


def _on_refs(definition: OpDef, name: str) -> OpDef:
    """Registers the op that does with references what another does with handles."""
    type_attr = "T" if {"T", "dtype"} & definition.attrs.keys() else "dtype"

    def converted(arg: ArgDef) -> ArgDef:
        if arg.dtype is dtypes.resource:
            renamed = "ref" if arg.name == "resource" else arg.name
            return replace(arg, name=renamed, dtype=None, type_attr=type_attr, is_ref=True)
        return replace(arg, type_attr="T") if arg.type_attr == "dtype" else arg

    attrs = {"T" if key == "dtype" else key: value for key, value in definition.attrs.items()}
    attrs.setdefault(type_attr, attr.types())
    if name in _ARITHMETIC:
        attrs["T"] = attr.types(dtypes.NUMERIC | dtypes.QUANTIZED)
    if name in ("ScatterMax", "ScatterMin"):
        attrs["T"] = attr.types(dtypes.FLOATING | dtypes.INDEX)
    if name == "Assign":
        attrs["validate_shape"] = attr.from_default(True)
    if definition.facts.writes and not definition.outputs and name != "StridedSliceAssign":
        attrs["use_locking"] = attr.from_default(name in _LOCKING)
    output = ArgDef("out" if "Apply" in name else "output_ref", type_attr=type_attr, is_ref=True)
    on_refs = OpDef(
        name,
        tuple(map(converted, definition.inputs)),
        tuple(map(converted, definition.outputs)) or (output,),
        attrs,
        infer=_assigned if name == "Assign" else definition.infer if definition.outputs else _written(definition),
        evaluate=None,
        facts=Facts(),  # those of the op on handles hold in a step
        host=definition.host,
        numbers=definition.numbers,
        differentiable=False,
        from_shapes=None,
        doc=definition.doc,
    )
    return _pair(definition, OPS.register(name, on_refs))


def _written(definition: OpDef) -> Any:
    def infer(c: Inference) -> Sequence[Shape]:
        definition.infer(c)
        return [handle_shape(c)]

    return infer


def _assigned(c: Inference) -> Sequence[Shape]:
    if not c.attrs["validate_shape"]:
        return [c.shapes[1]]
    state.assign_variable_op.infer(c)
    return [merge(c.shapes[0], c.shapes[1])]


def _pair(definition: OpDef, on_refs: OpDef) -> OpDef:
    definition.on_refs, on_refs.on_handles = on_refs, definition
    return on_refs


def _of_control_flow(definition: OpDef) -> OpDef:
    """Registers the op that forwards a reference as another forwards a value."""
    on_refs = OpDef(
        f"Ref{definition.name}",
        tuple(replace(arg, is_ref=arg.type_attr == "T") for arg in definition.inputs),
        tuple(replace(arg, is_ref=arg.type_attr == "T") for arg in definition.outputs),
        definition.attrs,
        infer=definition.infer,
        evaluate=None,
        facts=definition.facts,
        host=definition.host,
        numbers=definition.numbers,
        differentiable=True,
        from_shapes=None,
        doc=definition.doc.replace("a value", "a reference"),
    )
    return _pair(definition, OPS.register(on_refs.name, on_refs))


for _definition in [value for module in (state, training) for value in vars(module).values()]:
    if isinstance(_definition, OpDef) and _definition.name not in _WITHOUT:
        if _definition.name in _OTHER_NAMES:
            _on_refs(_definition, _OTHER_NAMES[_definition.name])
        elif _definition.name.startswith(_WRITERS):
            _on_refs(_definition, _definition.name.removeprefix("Resource"))
for _definition in (
    control_flow.switch_op,
    control_flow.merge_op,
    control_flow.enter_op,
    control_flow.exit_op,
    control_flow.next_iteration_op,
):
    _of_control_flow(_definition)
ref_identity_op = op(
    "RefIdentity",
    "input: Ref(T) -> output: Ref(T)",
    T=attr.types(),
    infer=unchanged,
    doc="Returns the reference.",
)
ref_identity_op.on_handles = OPS.lookup("Identity")

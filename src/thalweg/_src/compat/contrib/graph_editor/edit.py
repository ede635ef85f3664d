"""Detaching, connecting and bypassing of subgraphs."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.graph_editor.elements import make_placeholder_from_tensor
from thalweg._src.compat.contrib.graph_editor.reroute import drop_controls, replace_inputs
from thalweg._src.compat.contrib.graph_editor.select import check_cios
from thalweg._src.compat.contrib.graph_editor.subgraph import SubGraphView, make_view
from thalweg._src.graph.tensor import Tensor


@export("contrib.graph_editor.detach_control_inputs")
def detach_control_inputs(sgv: object) -> None:
    """Removes the control dependencies of a subgraph on operations outside of it."""
    ops = make_view(sgv).ops
    members = set(ops)
    drop_controls([(op, cop) for op in ops for cop in op.control_inputs if cop not in members])


@export("contrib.graph_editor.detach_control_outputs")
def detach_control_outputs(sgv: object, control_outputs: Any) -> None:
    """Removes the control dependencies of operations outside on a subgraph."""
    ops = make_view(sgv).ops
    members = set(ops)
    drop_controls([(after, op) for op in ops for after in control_outputs.get(op) if after not in members])


@export("contrib.graph_editor.detach_inputs")
def detach_inputs(sgv: object, control_inputs: bool = False) -> tuple[SubGraphView, list[Tensor]]:
    """Replaces the inputs of a subgraph by placeholders, which are returned with its view."""
    view = make_view(sgv)
    if view.graph is None:
        raise ValueError(f"sgv: expected a subgraph with operations, received {sgv!r}")
    with view.graph.as_default():
        placeholders = [make_placeholder_from_tensor(t) for t in view.inputs]
    if control_inputs:
        detach_control_inputs(view)
    detached = view.copy()
    replace_inputs(list(zip(placeholders, view.inputs)), can_modify=view.ops)
    detached._input_ts = placeholders
    replaced = dict(zip(view.passthroughs, (placeholders[view.input_index(t)] for t in view.passthroughs)))
    detached._passthrough_ts = [replaced[t] for t in view.passthroughs]
    detached._output_ts = [replaced.get(t, t) for t in view.outputs]
    return detached, placeholders


@export("contrib.graph_editor.detach_outputs")
def detach_outputs(sgv: object, control_outputs: object = None) -> tuple[SubGraphView, list[Tensor]]:
    """Gives the consumers of a subgraph's outputs placeholders, which are returned with its view."""
    view = make_view(sgv)
    used = [t for t in dict.fromkeys(view.outputs) if set(t.consumers()) - set(view.ops)]
    if view.graph is None:
        raise ValueError(f"sgv: expected a subgraph with operations, received {sgv!r}")
    with view.graph.as_default():
        placeholders = [make_placeholder_from_tensor(t) for t in used]
    replace_inputs(list(zip(placeholders, used)), cannot_modify=view.ops)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, placeholders


@export("contrib.graph_editor.detach")
def detach(
    sgv: object, control_inputs: bool = False, control_outputs: object = None, control_ios: object = None
) -> tuple[SubGraphView, list[Tensor], list[Tensor]]:
    """Detaches a subgraph from the graph; returns its view and the placeholders at its inputs and outputs."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    view, inputs = detach_inputs(sgv, control_inputs)
    view, outputs = detach_outputs(view, control_outputs)
    return view, inputs, outputs


@export("contrib.graph_editor.connect")
def connect(sgv0: object, sgv1: object, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """Connects the outputs of a subgraph to the inputs of another."""
    first, second = make_view(sgv0), make_view(sgv1)
    if len(first.outputs) != len(second.inputs):
        raise ValueError(f"{len(first.outputs)} outputs cannot be connected to {len(second.inputs)} inputs")
    if disconnect_first:
        detach_outputs(first)
    replace_inputs(list(zip(first.outputs, second.inputs)), can_modify=second.ops)
    return first, second.remap_default(remove_output_map=False)


@export("contrib.graph_editor.bypass")
def bypass(sgv: object) -> tuple[SubGraphView, list[Tensor]]:
    """Gives the consumers of a subgraph's outputs its inputs; returns the detached view and its placeholders."""
    view = make_view(sgv)
    inputs = view.inputs
    if len(inputs) != len(view.outputs):
        raise ValueError(f"a subgraph of {len(inputs)} inputs and {len(view.outputs)} outputs cannot be bypassed")
    bypassed, placeholders = detach_inputs(view)
    replace_inputs(list(zip(inputs, bypassed.outputs)), cannot_modify=bypassed.ops)
    return bypassed, placeholders

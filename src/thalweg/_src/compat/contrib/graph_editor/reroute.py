"""Rewiring: consumers of tensors get other tensors in their place."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._src.base.errors import ShapeError, require_kind
from thalweg._src.base.export import export
from thalweg._src.base.shapes import compatible, merge
from thalweg._src.compat.contrib.graph_editor.elements import graph_of_all, make_list_of_op, make_list_of_t
from thalweg._src.compat.contrib.graph_editor.subgraph import SubGraphView, make_view
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

Pairs = list[tuple[Tensor, Tensor]]  # a tensor, and the one whose consumers get it


def _members(ops: object) -> set[Operation] | None:
    if ops is None:
        return None
    return set(ops.ops if isinstance(ops, SubGraphView) else make_list_of_op(ops))


def replace_inputs(pairs: Pairs, can_modify: object = None, cannot_modify: object = None) -> int:
    """Gives the consumers of the second tensors the first ones, all at once; returns the number of changed inputs."""
    allowed, refused = _members(can_modify), _members(cannot_modify) or set()
    changes: list[tuple[Operation, int, Tensor]] = []
    for new, old in pairs:
        if new is old:
            continue
        graph_of_all([new, old])
        if new.dtype.base_dtype is not old.dtype.base_dtype:
            raise TypeError(f"{new.name!r} is {new.dtype.name}, but {old.name!r}, which it replaces, {old.dtype.name}")
        if not compatible(new.dims, old.dims):
            raise ValueError(
                f"Cannot update edge, incompatible shapes: {new.name!r} has shape {new.shape}, "
                f"but {old.name!r}, which it replaces, {old.shape}"
            )
        for op in dict.fromkeys(old.consumers()):
            if (allowed is None or op in allowed) and op not in refused:
                changes += [(op, index, new) for index, tensor in enumerate(op.inputs) if tensor is old]
    if changes:
        graph = changes[0][0].graph
        graph._require_mutable()
        stale = []
        for op, index, new in changes:
            before = op.inputs[index].dims
            op._replace_input(index, new)
            if merge(before, new.dims) != new.dims:
                stale.append(op)
        _refresh([op for op, _, _ in changes], stale)
        graph._changed()
    return len(changes)


def _refresh(changed: list[Operation], stale: list[Operation]) -> None:
    """Forgets what was derived from replaced inputs: constant values, and shapes that are known less well now."""
    front = list(dict.fromkeys(changed))
    reached = set(front)
    while front:
        op = front.pop()
        for output in op.outputs:
            output.static_value = False
            more = [consumer for consumer in output.consumers() if consumer not in reached]
            reached.update(more)
            front += more
    waiting = list(dict.fromkeys(stale))
    seen: set[Operation] = set()
    while waiting:
        op = waiting.pop(0)
        if op in seen:
            continue
        seen.add(op)
        try:
            inferred = op.definition.infer(Inference(op.definition, op.attrs, op.inputs, len(op.outputs)))
        except ShapeError:
            inferred = [None] * len(op.outputs)  # the step that runs it reports the error
        for output, shape in zip(op.outputs, inferred):
            if output.dims != shape:
                output.dims = shape
                waiting += output.consumers()


@export("contrib.graph_editor.swap_ts")
def swap_ts(ts0: object, ts1: object, can_modify: object = None, cannot_modify: object = None) -> int:
    """Exchanges the consumers of tensors pairwise; returns the number of changed inputs."""
    pairs = _paired(ts0, ts1)
    return replace_inputs([*pairs, *((b, a) for a, b in pairs)], can_modify, cannot_modify)


@export("contrib.graph_editor.reroute_ts")
def reroute_ts(ts0: object, ts1: object, can_modify: object = None, cannot_modify: object = None) -> int:
    """Gives the consumers of each tensor of `ts1` the tensor of `ts0`; returns the number of changed inputs."""
    return replace_inputs(_paired(ts0, ts1), can_modify, cannot_modify)


def _paired(ts0: object, ts1: object) -> Pairs:
    first, second = make_list_of_t(ts0), make_list_of_t(ts1)
    if len(first) != len(second):
        raise ValueError(f"ts0 and ts1 must have the same size, received {len(first)} and {len(second)} tensors")
    return list(zip(first, second))


# -- views ------------------------------------------------------------------------------------------------------------


def _views(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    views = make_view(sgv0), make_view(sgv1)
    graph_of_all([op for view in views for op in view.ops])
    return views


def _inputs(sgv0: object, sgv1: object, swap: bool) -> tuple[SubGraphView, SubGraphView]:
    first, second = _views(sgv0, sgv1)
    inside: list[Operation] = [*first.ops, *second.ops]
    for view in (first, second):
        inside += [consumer for t in view.passthroughs for consumer in t.consumers()]
    (swap_ts if swap else reroute_ts)(first.inputs, second.inputs, can_modify=inside)
    return _renewed(first), _renewed(second)


def _outputs(sgv0: object, sgv1: object, swap: bool) -> tuple[SubGraphView, SubGraphView]:
    first, second = _views(sgv0, sgv1)
    (swap_ts if swap else reroute_ts)(first.outputs, second.outputs, cannot_modify=[*first.ops, *second.ops])
    return first, second


def _renewed(view: SubGraphView) -> SubGraphView:
    """Returns the view with the inputs that its operations have now."""
    return view.remap_default(remove_output_map=False)


@export("contrib.graph_editor.swap_inputs")
def swap_inputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Exchanges the inputs of two subgraphs."""
    return _inputs(sgv0, sgv1, swap=True)


@export("contrib.graph_editor.reroute_inputs")
def reroute_inputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Gives the second subgraph the inputs of the first."""
    return _inputs(sgv0, sgv1, swap=False)


@export("contrib.graph_editor.swap_outputs")
def swap_outputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Exchanges the consumers of the outputs of two subgraphs."""
    return _outputs(sgv0, sgv1, swap=True)


@export("contrib.graph_editor.reroute_outputs")
def reroute_outputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Gives the consumers of the second subgraph's outputs those of the first."""
    return _outputs(sgv0, sgv1, swap=False)


@export("contrib.graph_editor.swap_ios")
def swap_ios(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Exchanges inputs and consumers of two subgraphs."""
    return swap_outputs(*swap_inputs(sgv0, sgv1))


@export("contrib.graph_editor.reroute_ios")
def reroute_ios(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Gives the second subgraph's inputs and consumers those of the first."""
    return reroute_outputs(*reroute_inputs(sgv0, sgv1))


# -- control dependencies ---------------------------------------------------------------------------------------------


@export("contrib.graph_editor.add_control_inputs")
def add_control_inputs(op: Operation, cops: object) -> None:
    """Makes an operation run after others."""
    require_kind("op", op, Operation, "an operation")
    cops = make_list_of_op(cops, allow_graph=False)
    for cop in cops:
        if cop in op.control_inputs:
            raise ValueError(f"{cop.name!r} is already a control_input of {op.name!r}")
    op._add_control_inputs(cops)


@export("contrib.graph_editor.remove_control_inputs")
def remove_control_inputs(op: Operation, cops: object) -> None:
    """Removes control dependencies of an operation."""
    require_kind("op", op, Operation, "an operation")
    cops = make_list_of_op(cops, allow_graph=False)
    for cop in cops:
        if cop not in op.control_inputs:
            raise ValueError(f"{cop.name!r} is not a control input of {op.name!r}")
    op.graph._require_mutable()
    drop_controls([(op, cop) for cop in cops])


def drop_controls(edges: Iterable[tuple[Operation, Operation]]) -> None:
    """Removes control edges, given by the later and the earlier operation."""
    for op, cop in edges:
        op._control_inputs.remove(cop)
        cop._control_outputs.remove(op)
        op.graph._changed()

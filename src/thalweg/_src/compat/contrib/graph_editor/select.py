"""Selection of operations and tensors: by name, by a function, and by walks along the edges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.graph_editor.elements import (
    ControlOutputs,
    get_consuming_ops,
    get_generating_ops,
    make_list_of_op,
    make_list_of_t,
)
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

Filter = Callable[[Any], bool] | bool | None
_FOR_TENSORS, _FOR_OPS = "(?#ts)", "(?#ops)"  # comments at the start of a regular expression that say what it selects


def _accepts(positive_filter: Filter) -> Callable[[Any], bool]:
    if positive_filter is True or positive_filter is None:
        return lambda element: True
    if not callable(positive_filter):
        raise TypeError(f"positive_filter: expected True or a function, received {positive_filter!r}")
    return positive_filter


@export("contrib.graph_editor.filter_ts")
def filter_ts(ops: object, positive_filter: Filter) -> list[Tensor]:
    """Returns the inputs and outputs of operations that a filter accepts."""
    accepts = _accepts(positive_filter)
    ops = make_list_of_op(ops)
    tensors = [*(t for op in ops for t in op.inputs), *(t for op in ops for t in op.outputs)]
    return list(filter(accepts, dict.fromkeys(tensors)))


@export("contrib.graph_editor.filter_ts_from_regex")
def filter_ts_from_regex(ops: object, regex: str | re.Pattern[str]) -> list[Tensor]:
    """Returns the inputs and outputs of operations whose names contain a match of a regular expression."""
    pattern = re.compile(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name) is not None)


@export("contrib.graph_editor.filter_ops")
def filter_ops(ops: object, positive_filter: Filter) -> list[Operation]:
    """Returns the operations that a filter accepts."""
    return list(filter(_accepts(positive_filter), make_list_of_op(ops)))


@export("contrib.graph_editor.filter_ops_from_regex")
def filter_ops_from_regex(ops: object, regex: str | re.Pattern[str]) -> list[Operation]:
    """Returns the operations whose names contain a match of a regular expression."""
    pattern = re.compile(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name) is not None)


@export("contrib.graph_editor.get_name_scope_ops")
def get_name_scope_ops(ops: object, scope: str) -> list[Operation]:
    """Returns the operations inside a name scope."""
    require_text("scope", scope)
    inside = f"{scope.rstrip('/')}/"
    return filter_ops(ops, lambda op: not scope or op.name == inside[:-1] or op.name.startswith(inside))


@export("contrib.graph_editor.check_cios")
def check_cios(
    control_inputs: bool = False, control_outputs: object = None, control_ios: object = None
) -> tuple[bool, Any]:
    """Returns whether control inputs are followed, and the control outputs to follow."""
    if control_ios is not None:
        if control_inputs or control_outputs is not None:
            raise ValueError("control_ios: expected no control_inputs and no control_outputs beside it")
        control_inputs, control_outputs = True, control_ios
    if control_outputs is not None and not isinstance(control_outputs, ControlOutputs):
        raise TypeError(f"control_outputs: expected a ControlOutputs, received {type(control_outputs)}")
    return control_inputs, control_outputs


def _before(op: Operation, control_inputs: bool) -> Iterator[Operation]:
    yield from (t.op for t in op.inputs)
    if control_inputs:
        yield from op.control_inputs


def _after(op: Operation, control_outputs: ControlOutputs | None) -> Iterator[Operation]:
    for output in op.outputs:
        yield from output.consumers()
    if control_outputs is not None:
        yield from control_outputs.get(op)


@export("contrib.graph_editor.get_ops_ios")
def get_ops_ios(
    ops: Any, control_inputs: bool = False, control_outputs: Any = None, control_ios: object = None
) -> list[Operation]:
    """Returns the operations that an edge joins to one of the operations."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    neighbours = [
        other for op in make_list_of_op(ops) for other in (*_before(op, control_inputs), *_after(op, control_outputs))
    ]
    return list(dict.fromkeys(neighbours))


@export("contrib.graph_editor.compute_boundary_ts")
def compute_boundary_ts(ops: object) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Returns the tensors that enter a set of operations, those that leave it or end there, and those between them."""
    ops = make_list_of_op(ops)
    members = set(ops)
    inputs = list(dict.fromkeys(t for op in ops for t in op.inputs))
    entering = [t for t in inputs if t.op not in members]
    between = [t for t in inputs if t.op in members]
    leaving = [t for op in ops for t in op.outputs if not t.consumers() or not members.issuperset(t.consumers())]
    return entering, leaving, between


# -- walks ------------------------------------------------------------------------------------------------------------


@export("contrib.graph_editor.get_within_boundary_ops")
def get_within_boundary_ops(
    ops: object,
    seed_ops: object,
    boundary_ops: object = (),
    inclusive: bool = True,
    control_inputs: bool = False,
    control_outputs: object = None,
    control_ios: object = None,
) -> list[Operation]:
    """Returns those of the operations that edges in any direction reach from the seeds without crossing a boundary."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    members, boundary = make_list_of_op(ops), set(make_list_of_op(boundary_ops))
    reached = set(make_list_of_op(seed_ops))
    if boundary & reached:
        raise ValueError("boundary_ops: expected none of the seed operations")
    if not reached <= set(members):
        raise ValueError("seed_ops: expected operations of ops")
    front = list(reached)
    while front:
        around = get_ops_ios(front, control_inputs, control_outputs)
        front = [op for op in around if op not in reached]
        reached.update(front)
        front = [op for op in front if op not in boundary]
    return [op for op in members if op in reached and (inclusive or op not in boundary)]


def _within(within_ops: object, within_ops_fn: Any) -> Callable[[Operation], bool]:
    members = None if within_ops is None else set(make_list_of_op(within_ops, allow_graph=True))
    return lambda op: (members is None or op in members) and (within_ops_fn is None or within_ops_fn(op))


def _walk(
    seeds: list[Operation],
    inclusive: bool,
    is_within: Callable[[Operation], bool],
    following: Callable[[Operation], Iterable[Operation]],
) -> list[Operation]:
    """Returns the operations that the walk reaches, nearest first."""
    reached = dict.fromkeys(seeds)
    front = list(reached)
    while front:
        front = [op for op in dict.fromkeys(n for op in front for n in following(op)) if op not in reached]
        front = [op for op in front if is_within(op)]
        reached.update(dict.fromkeys(front))
    return list(reached) if inclusive else [op for op in reached if op not in set(seeds)]


@export("contrib.graph_editor.get_forward_walk_ops")
def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Operation]:
    """Returns the operations that the outputs of the seeds lead to."""
    _, control_outputs = check_cios(False, control_outputs)
    stop = set(make_list_of_t(stop_at_ts))
    seeds = _seeds(seed_ops, get_consuming_ops)

    def following(op: Operation) -> Iterator[Operation]:
        for output in op.outputs:
            if output not in stop:
                yield from output.consumers()
        if control_outputs is not None:
            yield from control_outputs.get(op)

    return _walk(seeds, inclusive, _within(within_ops, within_ops_fn), following)


@export("contrib.graph_editor.get_backward_walk_ops")
def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Operation]:
    """Returns the operations that lead to the inputs of the seeds."""
    stop = set(make_list_of_t(stop_at_ts))
    seeds = _seeds(seed_ops, get_generating_ops)

    def following(op: Operation) -> Iterator[Operation]:
        yield from (t.op for t in op.inputs if t not in stop)
        if control_inputs:
            yield from op.control_inputs

    return _walk(seeds, inclusive, _within(within_ops, within_ops_fn), following)


def _seeds(seeds: Any, of_tensors: Callable[[Any], list[Operation]]) -> list[Operation]:
    if isinstance(seeds, Graph | Operation):
        return make_list_of_op(seeds)
    tensors = [seeds] if isinstance(seeds, Tensor) else [seed for seed in seeds if isinstance(seed, Tensor)]
    ops = [] if isinstance(seeds, Tensor) else make_list_of_op(seeds, ignore_ts=True)
    return list(dict.fromkeys([*ops, *of_tensors(tensors)]))


def _both_walks(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool,
    backward_inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    control_inputs: bool,
    control_outputs: Any,
    control_ios: object,
) -> tuple[list[Operation], list[Operation]]:
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    forward = get_forward_walk_ops(
        forward_seed_ops, forward_inclusive, within_ops, within_ops_fn, control_outputs=control_outputs
    )
    backward = get_backward_walk_ops(
        backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, control_inputs=control_inputs
    )
    return forward, backward


@export("contrib.graph_editor.get_walks_intersection_ops")
def get_walks_intersection_ops(
    forward_seed_ops: object,
    backward_seed_ops: object,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: object = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    control_inputs: bool = False,
    control_outputs: object = None,
    control_ios: object = None,
) -> list[Operation]:
    """Returns the operations that both a forward and a backward walk reach."""
    forward, backward = _both_walks(**locals())
    reached = set(backward)
    return [op for op in forward if op in reached]


@export("contrib.graph_editor.get_walks_union_ops")
def get_walks_union_ops(
    forward_seed_ops: object,
    backward_seed_ops: object,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: object = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    control_inputs: bool = False,
    control_outputs: object = None,
    control_ios: object = None,
) -> list[Operation]:
    """Returns the operations that a forward or a backward walk reaches."""
    forward, backward = _both_walks(**locals())
    return list(dict.fromkeys([*forward, *backward]))


# -- by name ----------------------------------------------------------------------------------------------------------


def _selected(
    args: tuple[Any, ...], graph: Graph | None, positive_filter: Filter, restrict: bool, default: type
) -> tuple[list[Operation], list[Tensor]]:
    """Returns operations and tensors that are given themselves, or by regular expressions for their names."""
    accepts = _accepts(positive_filter)
    ops: dict[Operation, None] = {}
    tensors: dict[Tensor, None] = {}
    for arg in args:
        if isinstance(arg, str | re.Pattern):
            if graph is None:
                raise ValueError("graph: expected a graph, since a regular expression is given")
            pattern = re.compile(arg)
            marked = pattern.pattern.startswith((_FOR_TENSORS, _FOR_OPS))
            if restrict and not marked:
                continue
            kind = default
            if marked:
                kind = Tensor if pattern.pattern.startswith(_FOR_TENSORS) else Operation
            if kind is Tensor:
                tensors.update(dict.fromkeys(filter(accepts, filter_ts_from_regex(graph, pattern))))
            else:
                ops.update(dict.fromkeys(filter(accepts, filter_ops_from_regex(graph, pattern))))
        elif isinstance(arg, Operation | Graph):
            ops.update(dict.fromkeys(filter(accepts, make_list_of_op(arg))))
        elif isinstance(arg, Tensor):
            tensors.update(dict.fromkeys(filter(accepts, [arg])))
        else:
            more_ops, more_tensors = _selected(tuple(arg), graph, positive_filter, restrict, default)
            ops.update(dict.fromkeys(more_ops))
            tensors.update(dict.fromkeys(more_tensors))
    return list(ops), list(tensors)


@export("contrib.graph_editor.select_ops", "contrib.graph_editor.ops")
def select_ops(
    *args: Any, graph: Graph | None = None, positive_filter: Filter = None, restrict_ops_regex: bool = False
) -> list[Operation]:
    """Returns operations, given themselves or by regular expressions for their names."""
    return _selected(args, graph, positive_filter, restrict_ops_regex, Operation)[0]


@export("contrib.graph_editor.select_ts", "contrib.graph_editor.ts")
def select_ts(
    *args: Any, graph: Graph | None = None, positive_filter: Filter = None, restrict_ts_regex: bool = False
) -> list[Tensor]:
    """Returns tensors, given themselves or by regular expressions for their names."""
    return _selected(args, graph, positive_filter, restrict_ts_regex, Tensor)[1]


@export("contrib.graph_editor.select_ops_and_ts")
def select_ops_and_ts(*args: Any, graph: Graph | None = None) -> tuple[list[Operation], list[Tensor]]:
    """Returns operations and tensors; a regular expression selects tensors if it starts with "(?#ts)"."""
    return _selected(args, graph, None, False, Operation)

"""Functionalize: recovers structured conditionals and loops from Switch, Merge, Enter, Exit and NextIteration.

A loop becomes one `_While` node that contains its body; a node that runs only on one side of a conditional gets a
guard, and a Merge of the two sides becomes a `_Choose` by the predicate. The result has no cycles and no dead values,
so that other passes need not handle control flow. Unstructured graphs are left to the token engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Guard, Node, Output, Region, StepGraph
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.source_line import made_at
from thalweg._src.graph.walk import postorder, preorder, reachable

# Python's compiler accepts 20 nested loops and 100 levels of indentation in the code of a step.
_MAX_LOOPS = 16
_MAX_LEVELS = 80


class Unstructured(Exception):
    """Raised if a graph is not a composition of conditionals and loops."""


@dataclass(slots=True, eq=False)
class _Frame:
    """The nodes of one loop, or of the graph outside of all loops."""

    name: str
    outer: _Frame | None
    depth: int = 0
    nodes: list[Node] = field(default_factory=list)
    inner: list[_Frame] = field(default_factory=list)


def functionalize(step: StepGraph) -> StepGraph:
    """Returns the step graph with guards and `_While` nodes for control flow; unstructured if that is impossible."""
    if any(node.facts.control_flow for node in step.nodes):
        try:
            step = _structure(step)
        except Unstructured:
            step.is_unstructured = True
            return step
    step.prune_and_sort()
    return step


def _structure(step: StepGraph) -> StepGraph:
    # Four stages: find the frame of each node, collapse loops from the innermost outwards, give the nodes of each frame
    # guards, and check the depth. Each may find that the graph is no composition of tf.cond and tf.while_loop; nothing
    # of the original graph has been changed by then.
    copies = _copied(step)
    root = _frames(copies.nodes)
    _require_outside(root, copies)
    replaced: dict[Output, Output] = {}
    nodes = _collapse_inner(root, replaced)
    fetches = [replaced.get(output, output) for output in copies.fetches]
    targets = [
        replaced[Output(target, 0)].node if Output(target, 0) in replaced else target for target in copies.targets
    ]
    guarded, fetches, targets = _guard(nodes, fetches, list(dict.fromkeys(targets)))
    result = StepGraph(guarded, copies.feeds, fetches, targets)
    if _levels(result) > _MAX_LEVELS:
        raise Unstructured(f"conditionals and loops are nested more than {_MAX_LEVELS} levels deep")
    return result


def _levels(step: StepGraph) -> int:
    """Returns the largest number of conditionals and loops around a node."""
    return max((len(node.guard) + _levels_inside(node) for node in step.nodes), default=0)


def _levels_inside(node: Node) -> int:
    return 1 + max(map(_levels, node.attrs["region"].graphs())) if node.type == "_While" else 0


def _copied(step: StepGraph) -> StepGraph:
    """Returns a copy to rewrite, since the original is still needed if the graph proves to be unstructured."""
    copies = {node: node.like(node.type, [], node.attrs, controls=[]) for node in step.nodes}
    for node, copy in copies.items():
        copy.inputs = [Output(copies[producer], index) for producer, index in node.inputs]
        copy.controls = [copies[control] for control in node.controls]
    return StepGraph(
        list(copies.values()),
        [copies[feed] for feed in step.feeds],
        [Output(copies[node], index) for node, index in step.fetches],
        [copies[target] for target in step.targets],
    )


# -- frames -----------------------------------------------------------------------------------------------------------


def _forward(node: Node) -> Iterable[Node]:
    """Yields the predecessors of a node within one iteration, without the back edge of a Merge."""
    for producer in node.predecessors():
        if not (node.type == "Merge" and producer.type == "NextIteration"):
            yield producer


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """Returns the nodes in topological order, ignoring back edges."""
    inside = set(nodes)
    # Without the back edges of loops the graph is acyclic, so that a postorder is a topological order. An edge that
    # leads backwards in it belongs to a cycle through no NextIteration; such a graph would never run in TensorFlow
    # either.
    by_order = sorted(nodes, key=attrgetter("order"))
    order = postorder(by_order, lambda node: [producer for producer in _forward(node) if producer in inside])
    place = {node: index for index, node in enumerate(order)}
    for node in order:
        for producer in _forward(node):
            if place.get(producer, -1) >= place[node]:
                raise Unstructured(f"the graph has a cycle through {producer.name!r} that no NextIteration closes")
    return order


def _frames(nodes: Sequence[Node]) -> _Frame:
    """Finds the frame of each node: that of its inputs, a child of it for Enter, its parent after Exit."""
    # Only Enter and Exit change the frame, and every other node is in the innermost frame of its inputs: a value of an
    # outer frame enters through a constant Enter first. Two inputs from frames of which none contains the other are a
    # value that left its loop without an Exit.
    root = _Frame("", None)
    frame_of: dict[Node, _Frame] = {}
    children: dict[tuple[_Frame, str], _Frame] = {}
    for node in _ordered(nodes):
        frame = _common(root, [frame_of[producer] for producer in _forward(node)], node)
        if node.type == "Enter":
            key = (frame, node.attrs["frame_name"])
            if key not in children:
                if frame.depth == _MAX_LOOPS:
                    raise Unstructured(f"the loop {key[1]!r} is nested in more than {_MAX_LOOPS - 1} others")
                children[key] = _Frame(key[1], frame, frame.depth + 1)
                frame.inner.append(children[key])
            frame = children[key]
        frame_of[node] = frame
        frame.nodes.append(node)
        if node.type == "Exit":
            if frame.outer is None:
                raise Unstructured(f"Exit {node.name!r} is in no loop")
            frame_of[node] = frame.outer
    return root


def _require_outside(root: _Frame, step: StepGraph) -> None:
    """Raises an error if a value inside of a loop is fetched; operations inside are run by the token engine."""
    # A fetch needs one value, and a node inside of a loop has one per iteration. A target needs none: the token engine
    # runs it as often as the loop runs.
    frames = list(root.inner)
    for frame in frames:
        frames += frame.inner
    inside = {node: f for f in frames for node in f.nodes if node.type != "Exit" or f.outer is not root}
    for node, index in step.fetches:
        if node in inside:
            raise errors.InvalidArgumentError(
                node,
                None,
                errors.describe(
                    f"{node.type} {node.name!r}: output {index} cannot be fetched, since it has one value per "
                    f"iteration of the loop {inside[node].name!r}",
                    hint="fetch what the loop returns, such as the output of an Exit",
                    made_at=made_at(node.stack),
                ),
            )
    for node in step.targets:
        if node in inside:
            raise Unstructured(f"{node.name!r} is inside of the loop {inside[node].name!r}")


def _common(root: _Frame, frames: Sequence[_Frame], node: Node) -> _Frame:
    """Returns the innermost frame, which must be nested in all others."""
    result = root
    for frame in frames:
        if _lies_in(frame, result):
            result = frame
        elif not (frame is root or _lies_in(result, frame)):
            raise Unstructured(f"{node.name!r} takes values of two loops, {frame.name!r} and {result.name!r}")
    return result


def _lies_in(frame: _Frame | None, outer: _Frame) -> bool:
    while frame is not None:
        if frame is outer:
            return True
        frame = frame.outer
    return False


# -- loops ------------------------------------------------------------------------------------------------------------


def _collapse_inner(frame: _Frame, replaced: dict[Output, Output]) -> list[Node]:
    """Returns the nodes of a frame, with each inner loop collapsed into one node."""
    # Inner loops come first, so that a body consists of plain nodes and `_While` nodes when it is cut out. What is
    # outside of a loop refers to it by Exit nodes (values) and by control edges (any node inside); both now refer to
    # the loop.
    nodes = list(frame.nodes)
    moved: dict[Node, Node] = {}
    for inner in frame.inner:
        loop, exits = _collapse(inner, replaced)
        nodes.append(loop)
        for index, leaving in enumerate(exits):
            for node in leaving:
                replaced[Output(node, 0)] = Output(loop, index)
                moved[node] = loop
        # A control edge from a node inside the loop waits for the whole loop.
        moved.update(dict.fromkeys(inner.nodes, loop))
    members = set(nodes)
    for node in members:
        node.inputs = [replaced.get(output, output) for output in node.inputs]
        node.controls = list(dict.fromkeys(moved.get(control, control) for control in node.controls))
    return nodes


@dataclass(slots=True)
class _Variable:
    """One loop variable."""

    initial: Output
    merge: Node
    following: Output
    switch: list[Node] = field(default_factory=list)
    exits: list[Node] = field(default_factory=list)


def _collapse(frame: _Frame, replaced: dict[Output, Output]) -> tuple[Node, list[list[Node]]]:
    """Returns the `_While` node of a frame and, for each of its outputs, the Exit nodes that it replaces."""
    nodes = _collapse_inner(frame, replaced)
    conditions = [node for node in nodes if node.type == "LoopCond"]
    if len(conditions) != 1:
        raise Unstructured(f"the loop {frame.name!r} has {len(conditions)} conditions")
    # The condition and the body are cut out separately, from their results down to the arguments: a node that both need
    # is computed twice per iteration, as pure nodes may be, and loop-invariant ones leave the loop later. The values
    # that condition and body see differ: Merge gives the condition the variable, Switch gives it to the body if the
    # loop goes on.
    condition = conditions[0]
    variables = _variables(frame, nodes, condition)
    captures = [node for node in nodes if node.type == "Enter" and node.attrs["is_constant"]]
    arguments, at_condition, at_body = _arguments(variables, captures)
    awaited = {control for node in nodes for control in node.controls}
    region = Region(
        _region_graph(frame, nodes, arguments, at_condition, [condition.inputs[0]]),
        _region_graph(frame, nodes, arguments, at_body, [variable.following for variable in variables]),
    )
    first = variables[0].merge
    inputs = [variable.initial for variable in variables] + [capture.inputs[0] for capture in captures]
    enters = [node for node in nodes if node.type == "Enter"]
    controls = dict.fromkeys(control for enter in enters for control in enter.controls)
    # A control edge from outside to a node inside makes the whole loop wait.
    controls.update(dict.fromkeys(capture.inputs[0].node for capture in captures if capture in awaited))
    loop = Node(
        frame.name,
        OPS.lookup("_While"),
        inputs,
        {"region": region},
        [variable.merge.dtypes[0] for variable in variables],
        [variable.merge.shapes[0] for variable in variables],
        controls=list(controls),
        device=first.device,
        order=max(node.order for node in nodes),
        stack=first.stack,
    )
    return loop, [variable.exits for variable in variables]


def _waiting(back: Node) -> Node:
    """Returns a node with the value that a NextIteration forwards, after its control inputs."""
    return back.like("Identity", list(back.inputs), {"T": back.dtypes[0]})


def _variables(frame: _Frame, nodes: list[Node], condition: Node) -> list[_Variable]:
    # A loop variable is the ring Enter, Merge, Switch, ..., NextIteration, and leaves the loop by an Exit behind the
    # Switch. A Merge without NextIteration belongs to a conditional in the body.
    by_merge: dict[Node, _Variable] = {}
    identities: list[Node] = []
    for node in nodes:
        if node.type != "Merge" or not any(producer.type == "NextIteration" for producer, _ in node.inputs):
            continue
        enter, back = (producer for producer, _ in node.inputs)
        if enter.type != "Enter" or back.type != "NextIteration":
            raise Unstructured(f"Merge {node.name!r} of the loop {frame.name!r} does not join Enter and NextIteration")
        by_merge[node] = _Variable(enter.inputs[0], node, back.inputs[0])
        if back.controls:
            by_merge[node].following = Output(_waiting(back), 0)
            identities.append(by_merge[node].following.node)
    nodes += identities
    switches: dict[Node, _Variable] = {}
    for node in nodes:
        if node.type == "Switch" and node.inputs[1].node is condition:
            variable = by_merge.get(node.inputs[0].node)
            if variable is None:
                raise Unstructured(f"Switch {node.name!r} leaves the loop {frame.name!r} with no value that it carries")
            variable.switch.append(node)
            switches[node] = variable
    for node in nodes:
        if node.type == "Exit":
            producer, index = node.inputs[0]
            if producer not in switches or index != 0:
                raise Unstructured(f"Exit {node.name!r} is not the final value of a loop variable of {frame.name!r}")
            switches[producer].exits.append(node)
    if not by_merge:
        raise Unstructured(f"the loop {frame.name!r} carries no value")
    return list(by_merge.values())


def _arguments(
    variables: Sequence[_Variable], captures: Sequence[Node]
) -> tuple[list[Node], dict[Output, Output], dict[Output, Output]]:
    """Returns the arguments of a loop's regions, and the outputs that they replace in the condition and in the body."""
    arguments: list[Node] = []
    at_condition: dict[Output, Output] = {}
    at_body: dict[Output, Output] = {}
    for index, node in enumerate([*(variable.merge for variable in variables), *captures]):
        attrs = {"T": node.dtypes[0], "index": index}
        argument = node.like("_Arg", [], attrs, dtypes=node.dtypes[:1], shapes=node.shapes[:1], controls=[])
        argument.order = index - 1e9
        arguments.append(argument)
        if index < len(variables):
            at_condition[Output(node, 0)] = Output(argument, 0)
            at_body.update((Output(switch, 1), Output(argument, 0)) for switch in variables[index].switch)
        else:
            at_condition[Output(node, 0)] = at_body[Output(node, 0)] = Output(argument, 0)
    return arguments, at_condition, at_body


def _region_graph(
    frame: _Frame,
    nodes: Sequence[Node],
    arguments: Sequence[Node],
    arguments_of: dict[Output, Output],
    results: list[Output],
) -> StepGraph:
    """Returns the graph of a loop's condition or body: the ancestors of its results, down to the arguments."""
    # The walk ends at Merge, Switch and constant Enter nodes, whose outputs become arguments. Another node of the
    # frame's own machinery in the body, or another output of a gate, would be a loop that does not have the form of a
    # while loop.
    gates = {node for node, _ in arguments_of}
    inside = set(nodes)

    def predecessors(node: Node) -> Iterable[Node]:
        if node not in inside:
            raise Unstructured(f"{node.name!r} is not in the loop {frame.name!r} that uses it")
        closes_loop = any(producer.type == "NextIteration" for producer, _ in node.inputs)
        of_branch = node.type in ("Switch", "ControlTrigger") or (node.type == "Merge" and not closes_loop)
        is_of_frame = node.facts.control_flow and not of_branch
        if is_of_frame or any(output.node in gates and output not in arguments_of for output in node.inputs):
            raise Unstructured(f"the body of the loop {frame.name!r} uses {node.name!r} of its frame")
        before = [*(producer for producer, _ in node.inputs), *node.controls]
        return [producer for producer in before if producer not in gates]

    body = reachable((producer for producer, _ in results if producer not in gates), predecessors)
    for node in body:
        node.inputs = [arguments_of.get(output, output) for output in node.inputs]
        node.controls = [control for control in node.controls if control not in gates]
    fetches = [arguments_of.get(output, output) for output in results]
    for producer, index in fetches:
        if producer in gates:
            raise Unstructured(f"the loop {frame.name!r} takes output {index} of {producer.name!r} past its condition")
    guarded, fetches, _ = _guard(list(body), fetches, [])
    return StepGraph([*arguments, *guarded], list(arguments), fetches)


# -- conditionals -----------------------------------------------------------------------------------------------------


def _guard(
    nodes: Sequence[Node], fetches: Sequence[Output], targets: Sequence[Node]
) -> tuple[list[Node], list[Output], list[Node]]:
    """Sets the guard of each node of an acyclic graph, and removes Switch and Merge."""
    # In topological order, the guard of a node is the conjunction of the guards of its inputs and control inputs: in
    # TensorFlow a node is dead if one of these is. Switch adds a literal, Merge removes one. So the guard says exactly
    # when the node would have been alive, and Switch and Merge can go: their outputs are those of their inputs.
    used = {*fetches, *(output for node in nodes for output in node.inputs)}
    arrivals: dict[Output, Guard] = {}  # the guards that Switch nodes add to their outputs
    value_of: dict[Output, Output] = {}
    guarded: list[Node] = []
    removed: set[Node] = set()
    for node in _ordered(nodes):
        before = [arrivals.get(output) or output.node.guard for output in node.inputs]
        node.inputs = [value_of.get(output, output) for output in node.inputs]
        if node.type == "Merge":
            chosen = _choose(node, before)
            value_of[Output(node, 0)] = Output(chosen, 0)
            removed.add(node)
            node.guard = chosen.guard
            if Output(node, 1) in used:
                raise Unstructured(f"output value_index of Merge {node.name!r} is used")
            guarded.append(chosen)
            continue
        if node.type != "ControlTrigger":
            before += [control.guard for control in node.controls]
            node.guard = _conjunction(before)
        if node.type == "Switch":
            predicate = _source(node.inputs[1], node.guard)
            for side in (False, True):
                arrivals[Output(node, int(side))] = _conjunction([node.guard, ((predicate, side),)])
                value_of[Output(node, int(side))] = node.inputs[0]
            removed.add(node)
            continue
        guarded.append(node)
    for node in guarded:
        node.controls = _real_controls(node.controls, removed)
        if node.type == "Const":
            # A constant is the same in both branches; with a guard it could not be folded, or shared with other
            # branches.
            node.guard = ()  # constants need no guard
    checked_fetches = [
        _alive(output, value_of.get(output, output), arrivals.get(output, output.node.guard), guarded)
        for output in fetches
    ]
    reached = [value_of[Output(target, 0)].node if target in removed else target for target in targets]
    return guarded, checked_fetches, reached


def _source(predicate: Output, guard: Guard) -> Output:
    """Returns the origin of a predicate, which the two sides of a conditional may access in different ways.

    An Identity with control inputs is kept: the whole conditional waits for it. What another conditional chose is known
    in a branch of that conditional.
    """
    # Guards are compared by their predicates, so that these must be traced back to one output each: a conditional
    # inside of another sees the predicate through its own Switch and Identity nodes.
    taken = dict(guard)
    while True:
        node = predicate.node
        if node.type == "Identity" and not node.controls:
            predicate = node.inputs[0]
        elif node.type == "_Choose" and node.inputs[0] in taken:
            predicate = node.inputs[2 if taken[node.inputs[0]] else 1]
        else:
            return predicate


def _real_controls(controls: Sequence[Node], removed: set[Node]) -> list[Node]:
    """Returns control inputs without those that only bind a node to a branch or a loop."""

    def only_forwards(node: Node) -> bool:
        return node in removed or node.type in ("Identity", "Const")

    # What a node waits for that only forwards a value must still be waited for.
    reached = preorder(controls, lambda node: node.predecessors() if only_forwards(node) else ())
    return [control for control in reached if not only_forwards(control) and control.type != "_Arg"]


def _conjunction(guards: Sequence[Guard]) -> Guard:
    """Returns the conjunction of guards."""
    # The longest guard comes first: it has the literals of the enclosing conditionals in order from outside in, as code
    # generation nests them.
    result: Guard = ()
    for guard in sorted(guards, key=len, reverse=True):
        for literal in guard:
            if literal not in result:
                result += (literal,)
        if len(result) > _MAX_LEVELS:
            raise Unstructured(f"conditionals are nested more than {_MAX_LEVELS} levels deep")
    return result


def _choose(merge: Node, guards: Sequence[Guard]) -> Node:
    """Returns the `_Choose` that is equivalent to a Merge of the two sides of a predicate."""
    if len(guards) != 2:
        raise Unstructured(f"Merge {merge.name!r} has {len(guards)} inputs")
    # A Merge joins two sides of one predicate if their guards differ in exactly one literal, which they have with
    # opposite sides. What remains is the guard of the enclosing branch, under which the choice is made. A side that can
    # never be alive leaves the other one.
    first, second = guards
    for living in (0, 1):
        if _never(guards[1 - living]):  # nested conditionals with the same predicate: already decided
            inputs, attrs = [merge.inputs[living]], {"T": merge.attrs["T"]}
            return merge.like(
                "Identity", inputs, attrs, dtypes=merge.dtypes[:1], shapes=merge.shapes[:1], guard=guards[living]
            )
    for predicate, side in first:
        if (predicate, not side) in second:
            outer = tuple(literal for literal in first if literal != (predicate, side))
            other = tuple(literal for literal in second if literal != (predicate, not side))
            if set(outer) == set(other):
                inputs = merge.inputs if not side else merge.inputs[::-1]
                attrs = {"T": merge.attrs["T"]}
                return merge.like(
                    "_Choose",
                    [predicate, *inputs],
                    attrs,
                    dtypes=merge.dtypes[:1],
                    shapes=merge.shapes[:1],
                    guard=outer,
                )
    raise Unstructured(f"Merge {merge.name!r} does not join the two sides of one predicate")


def _never(guard: Guard) -> bool:
    """Returns whether a guard is contradictory."""
    return any((predicate, not side) in guard for predicate, side in guard)


def _alive(fetched: Output, value: Output, guard: Guard, nodes: list[Node]) -> Output:
    """Returns a fetched value, with a check that its branch was taken."""
    if not guard:
        return value
    node, index = fetched
    # A fetched value of a branch that was not taken is an error of the client, not a dead tensor: the check fails
    # unless all predicates have the values that the guard requires.
    predicates = [predicate for predicate, _ in guard]
    attrs = {"T": node.dtypes[index], "N": len(predicates), "sides": tuple(side for _, side in guard)}
    check = node.like(
        "_Alive", [*predicates, value], attrs, dtypes=[node.dtypes[index]], shapes=[node.shapes[index]], guard=()
    )
    nodes.append(check)
    return Output(check, 0)

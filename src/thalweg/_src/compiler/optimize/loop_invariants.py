"""Loop-invariant code motion: values that are the same in every iteration are computed once, before the loop.

A variable that the loop does not change is read once. A loop-invariant value that a loop would save for its gradient in
every iteration is not saved at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import is_fully_defined
from thalweg._src.graph.ir.step_graph import Node, Output, Region, StepGraph


def hoist(step: StepGraph) -> None:
    """Moves loop-invariant nodes out of each loop of a step."""
    loops = [node for node in step.nodes if node.type == "_While"]
    moved = [node for loop in loops for node in _hoisted(loop)]
    if moved:
        step.nodes += moved
        step.prune_and_sort()
    if _pass_invariants_directly(step, loops):
        step.prune_and_sort()


def captured(loop: Node, output: Output) -> Output:
    """Returns the argument of a loop's regions for an outer value, added if there is none."""
    region: Region = loop.attrs["region"]
    count = len(loop.dtypes)
    for index in range(count, len(loop.inputs)):
        if loop.inputs[index] == output:
            return Output(region.body.feeds[index], 0)
    producer, slot = output
    attrs = {"T": producer.dtypes[slot], "index": len(loop.inputs)}
    argument = producer.like(
        "_Arg", [], attrs, dtypes=[producer.dtypes[slot]], shapes=[producer.shapes[slot]], controls=[], guard=()
    )
    argument.order = len(loop.inputs) - 1e9
    loop.inputs.append(output)
    region.condition.feeds = region.body.feeds = [*region.body.feeds, argument]
    return Output(argument, 0)


def _hoisted(loop: Node) -> Iterable[Node]:
    """Removes the loop-invariant nodes of a loop and yields them as nodes of the enclosing graph."""
    # In topological order, a node is invariant if all its inputs are: constants, captured values, or outputs of
    # invariant nodes. It is computed speculatively, since the loop may run no iteration, so that it must be unable to
    # fail and without effect. Branches in the body stay: their predicates may exclude exactly the values for which a
    # node fails. A read of a variable is invariant if neither the loop nor, while the loop blocks, another step can
    # write it.
    region: Region = loop.attrs["region"]
    count = len(loop.dtypes)
    outside: dict[Output, Output] = {
        Output(argument, 0): output for argument, output in zip(region.body.feeds[count:], loop.inputs[count:])
    }
    changed = _changed_handles(region)
    alone = not any(_lets_others_run(node) for graph in region.graphs() for node in graph.everything())
    copies: dict[Node, Node] = {}
    for graph in region.graphs():
        for node in graph.nodes:
            if node.type in ("_Arg", "Const") or node.guard or node.controls or not node.dtypes:
                continue
            is_invariant = all(output in outside or output.node.type == "Const" for output in node.inputs)
            if is_invariant and (
                _is_safe(node) or (node.type == "ReadVariableOp" and alone and node.inputs[0] not in changed)
            ):
                inputs = [outside.get(output) or constant_like(output.node) for output in node.inputs]
                copy = node.like(node.type, inputs, node.attrs, controls=list(loop.controls), guard=loop.guard)
                copy.order = min(node.order, loop.order - 0.5)
                copies[node] = copy
                outside.update((Output(node, i), Output(copy, i)) for i in range(len(node.dtypes)))
    # Only what a remaining node uses becomes a captured value; what only hoisted nodes use stays outside.
    for graph in region.graphs() if copies else ():
        used = {o for n in graph.nodes if n not in copies for o in n.inputs if o.node in copies}
        used |= {output for output in graph.fetches if output.node in copies}
        for node in graph.nodes:
            used |= {predicate for predicate, _ in node.guard if predicate.node in copies}
        graph.rewrite({output: captured(loop, outside[output]) for output in used})
    yield from copies.values()


def _lets_others_run(node: Node) -> bool:
    """Returns whether a node may block: meanwhile other steps may change variables, which must be read again."""
    return node.definition.waits or "PyFunc" in node.type


def _is_safe(node: Node) -> bool:
    """Returns whether a node cannot fail: it may be executed speculatively, although the loop may never have run it."""
    shapes = [node.input_shape(i) for i in range(len(node.inputs))]
    if node.facts.fails == "by shape":
        return all(is_fully_defined(shape) for shape in shapes)
    return node.facts.fails == "never" and None not in shapes


def constant_like(node: Node) -> Output:
    """Returns a copy of a constant for another graph."""
    return Output(node.like("Const", [], node.attrs, controls=[], guard=()), 0)


def _changed_handles(region: Region) -> set[Output]:
    """Returns the resource handles that a loop does not only read."""
    return {
        output
        for graph in region.graphs()
        for node in graph.nodes
        for output in node.inputs
        if output.dtype is dtypes.resource and not node.facts.reads
    }


# -- values saved for the gradient ------------------------------------------------------------------------------------


def _pass_invariants_directly(step: StepGraph, loops: Iterable[Node]) -> bool:
    """Passes loop-invariant values to the gradient's loop directly, instead of saving them in each iteration."""
    is_changed = False
    # The i-th iteration of a backward loop pops what the mirrored iteration of the forward loop pushed. If that is the
    # same value each time, the list is not needed: the value is captured. It must be certain that both loops run
    # equally often, since a pop from an empty list is an error that would vanish.
    for backward in loops:
        region: Region = backward.attrs["region"]
        for index, argument in enumerate(region.body.feeds[: len(backward.dtypes)]):
            forward, saved = backward.inputs[index]
            pop = region.body.fetches[index].node
            if forward.type != "_While" or pop.type != "TensorListPopBack" or pop.inputs[0] != Output(argument, 0):
                continue
            value = _always_saved(forward, saved)
            if value is not None and not pop.guard and mirrors(backward, forward):
                region.body.rewrite(
                    {
                        Output(pop, 1): captured(backward, value)
                        if value.node.type != "Const"
                        else constant_like(value.node)
                    }
                )
                is_changed = True
    return is_changed


def _always_saved(loop: Node, index: int) -> Output | None:
    """Returns the loop-invariant value that a loop saves in a list in every iteration, if there is one."""
    region: Region = loop.attrs["region"]
    push = region.body.fetches[index].node
    first = loop.inputs[index].node
    if push.type != "TensorListPushBack" or push.guard or first.type != "EmptyTensorList":
        return None
    if push.inputs[0] != Output(region.body.feeds[index], 0):
        return None
    value = push.inputs[1]
    if value.node.type == "Const":
        return value
    outside = dict(zip(region.body.feeds[len(loop.dtypes) :], loop.inputs[len(loop.dtypes) :]))
    return outside.get(value.node)


def mirrors(backward: Node, forward: Node) -> bool:
    """Returns whether a loop counts down to zero from the number of iterations of another."""
    region: Region = backward.attrs["region"]
    # The forward loop counts its iterations up from zero in a variable of its own, the backward loop counts down from
    # that number to zero: the form in which gradients of loops are built.
    test = region.condition.fetches[0].node
    if test.type != "Greater" or test.constant(1) is None or test.constant(1) != 0:
        return False
    argument = test.inputs[0].node
    index = region.body.feeds.index(argument) if argument in region.body.feeds else len(backward.dtypes)
    if index >= len(backward.dtypes) or backward.inputs[index].node is not forward:
        return False
    less, (_, counter) = region.body.fetches[index].node, backward.inputs[index]
    more, first = forward.attrs["region"].body.fetches[counter].node, forward.inputs[counter].node
    counts_down = less.type == "Sub" and less.inputs[0].node is argument and _is_one(less)
    counts_up = more.type in ("Add", "AddV2") and _is_one(more) and first.type == "Const" and first.attrs["value"] == 0
    return counts_down and counts_up and more.inputs[0].node is forward.attrs["region"].body.feeds[counter]


def _is_one(node: Node) -> bool:
    value = node.constant(1)
    return value is not None and value.shape == () and value == 1

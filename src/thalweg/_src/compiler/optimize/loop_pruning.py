"""Removal of dead and constant loop variables: loops carry only values that change and are used."""

from __future__ import annotations

from collections import Counter

from thalweg._src.graph.ir.step_graph import Node, Output, Region, StepGraph, ancestors


def narrow(step: StepGraph) -> None:
    """Makes every loop of a step carry only values that change and are used."""
    uses: Counter[Output] = Counter(step.fetches)
    for node in step.nodes:
        uses.update(node.inputs)
        uses.update(predicate for predicate, _ in node.guard)
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    # Uses are counted once and kept up to date as loops lose inputs: an earlier loop sees at once that the later one no
    # longer takes its result.
    for loop in reversed(step.nodes):  # a later loop may be the only one that needs a result of an earlier one
        if loop.type == "_While":
            _propagate_constants(loop)
            slim = _narrowed(loop, {i for i in range(len(loop.dtypes)) if uses[Output(loop, i)]}, replaced)
            if slim is not None:
                uses.subtract(loop.inputs)
                uses.update(slim.inputs)
                moved[loop] = slim
    if moved:
        step.rewrite(replaced, moved)


def _propagate_constants(loop: Node) -> None:
    """Replaces arguments with constant values by constants."""
    region, count = loop.attrs["region"], len(loop.dtypes)
    replaced: dict[Output, Output] = {}
    for argument, (producer, _) in zip(region.body.feeds[count:], loop.inputs[count:]):
        if producer.type == "Const" and not producer.controls:
            replaced[Output(argument, 0)] = Output(producer.like("Const", [], producer.attrs, controls=[], guard=()), 0)
    if replaced:
        for graph in region.graphs():
            graph.rewrite(replaced)


def _narrowed(loop: Node, used: set[int], replaced: dict[Output, Output]) -> Node | None:
    """Returns an equivalent loop with fewer variables and captures, if there is one."""
    region: Region = loop.attrs["region"]
    arguments, count = region.body.feeds, len(loop.dtypes)
    # A variable whose next value is its argument never changes: it becomes a captured value, and its result is its
    # initial value. A loop that would be left without variables stays as it is.
    fixed = {i for i in range(count) if region.body.fetches[i] == Output(arguments[i], 0)}
    needed = _needed(region, used | _with_effects(region))
    variables = [i for i in range(count) if i in needed and i not in fixed]
    captures = [i for i in range(len(arguments)) if i in needed and (i >= count or i in fixed)]
    if not variables or (len(variables) == count and len(variables) + len(captures) == len(arguments)):
        return None
    feeds = [arguments[i] for i in [*variables, *captures]]
    condition = StepGraph(region.condition.nodes, feeds, region.condition.fetches)
    body = StepGraph(region.body.nodes, feeds, [region.body.fetches[i] for i in variables])
    slim = loop.like(
        "_While",
        [loop.inputs[i] for i in [*variables, *captures]],
        {**loop.attrs, "region": Region(condition, body)},
        dtypes=[loop.dtypes[i] for i in variables],
        shapes=[loop.shapes[i] for i in variables],
    )
    replaced.update((Output(loop, old), Output(slim, new)) for new, old in enumerate(variables))
    replaced.update((Output(loop, i), loop.inputs[i]) for i in fixed)
    return slim


def _needed(region: Region, results: set[int]) -> set[int]:
    """Returns the arguments that the condition and some results depend on, over any number of iterations."""
    index_of = {argument: i for i, argument in enumerate(region.body.feeds)}
    count = len(region.body.fetches)
    # A variable is live if the condition, a used result or the next value of a live variable depends on it. The fixed
    # point is reached after as many rounds as there are variables in a chain, usually two; variables that only need
    # each other stay dead, which a single pass over consumers would not find.
    needed: set[int] = set()
    extended = set(results)
    while extended != needed:
        needed = extended
        roots = [*region.condition.roots(), *(region.body.fetches[i].node for i in needed if i < count)]
        extended = needed | {index_of[node] for node in ancestors(roots) if node in index_of}
    return needed


def _with_effects(region: Region) -> set[int]:
    """Returns the variables whose next value depends on a node with an effect, which must run in any case."""
    results = enumerate(region.body.fetches)
    return {
        i
        for i, (node, _) in results
        if any(n.facts.stateful and not n.facts.reads and n.type != "_Arg" for n in ancestors([node]))
    }

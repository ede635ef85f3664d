"""Translation: writes the nodes of a step graph as ONNX nodes, its guards as If and its loops as Loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import CONVERTERS
from thalweg._src.deploy.onnx_export.scans import Scan, find_scans
from thalweg._src.deploy.onnx_export.types import ArrayHandle, Stacked, Table, Type, Value, unsupported
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.walk import reachable


def translate(w: GraphWriter, step: StepGraph, arguments: Sequence[Value]) -> list[Value]:
    """Writes the nodes of a graph and returns the values of its fetches."""
    for feed, value in zip(step.feeds, arguments):
        w.set(Output(feed, 0), value)
    _Branches(step).write(w, frozenset(), step.nodes)
    return [w.value(output) for output in step.fetches]


@dataclass(slots=True, eq=False)
class _Conditional:
    """The `_Choose` nodes of one conditional, with the nodes of its two branches."""

    predicate: Output
    guard: frozenset[Any]
    choices: list[Node] = field(default_factory=list)
    sides: dict[bool, list[Node]] = field(default_factory=dict)

    def needed(self) -> Iterator[Node]:
        """Yields the nodes that come before."""
        yield self.predicate[0]
        for node in (*self.choices, *self.sides[False], *self.sides[True]):
            yield from node.predecessors()


class _Branches:
    """Writes nodes with guards: those of a branch inside of the conditional that chooses among their values.

    In a step graph the branches are flat: a node runs if its guard holds, and `_Choose` takes the value of one side. An
    ONNX If holds its branches as graphs, so the nodes that only one side needs move into it. A node that both sides, or
    nodes outside, need has a guard without the literal of the conditional, and stays outside, where graphs inside can
    use its value. All choices by one predicate in one scope become one If with several outputs, so that what they share
    is computed once. They may depend on each other through nodes between them; then they have no common order, the
    sort finds a cycle, and each choice becomes an If of its own.
    """

    def __init__(self, step: StepGraph) -> None:
        self._step = step
        self._position = {node: index for index, node in enumerate(step.nodes)}

    def write(self, w: GraphWriter, guard: frozenset[Any], nodes: Sequence[Node]) -> None:
        """Writes the nodes with a guard, and the conditionals there."""
        inside = [node for node in nodes if frozenset(node.guard) <= guard]
        for unit in self._ordered(inside, guard):
            if isinstance(unit, Node):
                _write_node(w, unit)
            else:
                self._write_conditional(w, unit)

    def _ordered(self, nodes: Sequence[Node], guard: frozenset[Any]) -> list[Node | _Conditional]:
        """Returns nodes and conditionals so that each follows what it needs."""
        if not any(node.type == "_Choose" for node in nodes):
            return list(nodes)
        try:
            return _sorted(self._units(nodes, guard, merged=True))
        except CycleError:  # between results of conditionals that have one scope but are not one
            return _sorted(self._units(nodes, guard, merged=False))

    def _units(self, nodes: Sequence[Node], guard: frozenset[Any], merged: bool) -> list[Node | _Conditional]:
        """Returns nodes and conditionals; merged: choices by the same predicate in one scope are one conditional."""
        conditionals: dict[Any, _Conditional] = {}
        units: list[Node | _Conditional] = []
        for node in nodes:
            if node.type != "_Choose":
                units.append(node)
                continue
            key = (node.inputs[0], node.name.rpartition("/")[0]) if merged else node
            if key not in conditionals:
                conditionals[key] = _Conditional(node.inputs[0], guard)
                units.append(conditionals[key])
            conditionals[key].choices.append(node)
        for conditional in conditionals.values():
            for side in (False, True):
                conditional.sides[side] = self._branch(conditional, side)
        return units

    def _branch(self, conditional: _Conditional, side: bool) -> list[Node]:
        """Returns the nodes that the choices need of one side."""
        literal = (conditional.predicate, side)
        roots = [choice.inputs[2 if side else 1].node for choice in conditional.choices]
        nodes = reachable(roots, lambda node: node.predecessors() if literal in node.guard else ())
        return sorted((node for node in nodes if literal in node.guard), key=self._position.__getitem__)

    def _write_conditional(self, w: GraphWriter, conditional: _Conditional) -> None:
        first = conditional.choices[0]
        w.scope = first.name
        graphs: dict[str, GraphWriter] = {}
        values: dict[bool, list[Value]] = {}
        for side, name in ((True, "then_branch"), (False, "else_branch")):
            graphs[name] = branch = w.child()
            self.write(branch, conditional.guard | {(conditional.predicate, side)}, conditional.sides[side])
            values[side] = [branch.value(choice.inputs[2 if side else 1]) for choice in conditional.choices]
            for choice, value in zip(conditional.choices, values[side]):
                _add_output(branch, choice, value)
        w.scope = first.name
        outputs = w.many("If", len(conditional.choices), w.value(conditional.predicate), **graphs)
        for choice, value, other, name in zip(conditional.choices, values[True], values[False], outputs):
            if type(value) is not type(other):
                raise unsupported(choice, "chooses among arrays that are kept in different ways", "stack them before")
            w.set(Output(choice, 0), name if isinstance(value, str) else replace(value, name=name))


def _sorted(units: Sequence[Node | _Conditional]) -> list[Node | _Conditional]:
    """Returns nodes and conditionals in topological order."""
    unit_of = {node: unit for unit in units for node in (unit.choices if isinstance(unit, _Conditional) else [unit])}
    before = {
        unit: {
            unit_of[node]
            for node in (unit.needed() if isinstance(unit, _Conditional) else unit.predecessors())
            if node in unit_of
        }
        for unit in units
    }
    return list(TopologicalSorter(before).static_order())


def _name_of(node: Node, value: Value) -> str:
    """Returns the name of a value that can leave a graph."""
    if value is None or isinstance(value, ArrayHandle | Table):
        raise unsupported(node, "chooses among arrays or tables", "choose among their values")
    return value if isinstance(value, str) else value.name


def _add_output(w: GraphWriter, node: Node, value: Value) -> None:
    """Adds an output to a graph inside of a node, with a name of its own."""
    w.scope = node.name
    w.outputs.append(w.add("Identity", _name_of(node, value)))
    if isinstance(value, str):
        w.model.types[w.outputs[-1]] = Type(node.dtypes[0], node.shapes[0])
    else:
        w.model.types[w.outputs[-1]] = w.type_of(value)


def _write_node(w: GraphWriter, node: Node) -> None:
    w.scope = node.name
    if node.type == "_Arg":
        return
    if node.type == "Const":
        dtype = node.dtypes[0]
        w.set(Output(node, 0), w.constant(node.attrs["value"], None if dtype is dtypes.string else dtype))
        return
    if node.type == "_While":
        _write_loop(w, node)
        return
    convert = CONVERTERS.get(node.type)
    if convert is None:
        raise unsupported(node, "has no equivalent in ONNX", _alternative(node))
    results = convert(w, node, *(w.value(output) for output in node.inputs))
    if not isinstance(results, list | tuple):
        results = [results]
    for index, value in enumerate(results):
        if value is not None:
            w.set(Output(node, index), value)


def _alternative(node: Node) -> str:
    """Returns what to do instead of an op that cannot be exported."""
    if node.facts.random:
        return "feed random values, or export a graph without them, such as one with dropout off"
    if node.facts.external or node.type.endswith("PyFunc"):
        return "feed what it returns: name its output among the inputs"
    if node.type.endswith("Grad") or "Backprop" in node.type:
        return "export the graph of inference, not training"
    if node.type == "_Alive":
        return "fetch what the whole conditional returns"
    return "replace it by other ops, or feed its output: name it among the inputs"


# -- loops ------------------------------------------------------------------------------------------------------------


def _write_loop(w: GraphWriter, node: Node) -> None:
    """Writes a Loop: the condition is computed before it, and at the end of each iteration.

    A variable of the loop is one of three: a scan, which ONNX collects by itself; an array or a table by reference,
    which does not change, and which the body sees from outside; or a value that is carried (`places`). The condition of
    the next iteration is computed in the body from the new values, so it is translated twice.
    """
    region = node.attrs["region"]
    count = len(node.dtypes)
    before = [w.value(output) for output in node.inputs]
    scans = find_scans(node)
    condition = translate(w, region.condition, before)[0]
    places = [i for i in range(count) if i not in scans and not isinstance(before[i], ArrayHandle | Table)]
    body = w.child()
    body.scope = node.name
    body.inputs = [body.unique(f"{node.name}/{name}") for name in ("iteration", "condition")]
    body.model.types.update(zip(body.inputs, (Type(dtypes.int64, ()), Type(dtypes.bool, ()))))
    carried = [_carried(body, node, i, before[i]) if i in places else before[i] for i in range(count)]
    body.inputs += [_name_of(node, carried[i]) for i in places]
    results = translate(body, _without_writes(region.body, scans), [*carried, *before[count:]])
    values = [results[i] if i in places else before[i] for i in range(count)]
    going_on = translate(body, region.condition, [*values, *before[count:]])[0]
    _add_outputs(body, node, [(going_on, Type(dtypes.bool, ()))])
    for i in places:
        if type(results[i]) is not type(before[i]):
            raise unsupported(node, f"changes how the elements of its variable {i} are kept", "use a TensorArray")
    _add_outputs(body, node, [(_name_of(node, results[i]), body.type_of(carried[i])) for i in places])
    _add_outputs(body, node, [(_name_of(node, results[i]), Type(before[i].dtype)) for i in scans])
    w.scope = node.name
    initial = [_name_of(node, before[i]) for i in places]
    outputs = w.many("Loop", len(places) + len(scans), None, condition, *initial, body=body)
    for i in range(count):
        w.set(Output(node, i), before[i])
    for i, name in zip(places, outputs):
        w.set(Output(node, i), name if isinstance(before[i], str) else replace(before[i], name=name))
    for (i, scan), name in zip(scans.items(), outputs[len(places) :]):
        w.set(Output(node, i), Stacked(_padded(w, node, scan, name), before[i].dtype, before[i].grows))


def _without_writes(body: StepGraph, scans: Mapping[int, Scan]) -> StepGraph:
    """Returns a body that results in the elements, instead of the arrays that they are written to."""
    writes = {scan.write for scan in scans.values()}
    fetches = [scans[i].value if i in scans else output for i, output in enumerate(body.fetches)]
    return StepGraph([node for node in body.nodes if node not in writes], body.feeds, fetches)


def _add_outputs(body: GraphWriter, node: Node, outputs: Sequence[tuple[str, Type]]) -> None:
    for value, kind in outputs:
        body.scope = node.name
        body.outputs.append(body.add("Identity", value))
        body.model.types[body.outputs[-1]] = kind


def _padded(w: GraphWriter, node: Node, scan: Scan, rows: str) -> str:
    """Returns the rows that a loop wrote, with zeros up to the size of the array if it may have written less."""
    if scan.size is None:
        return rows
    value, index = scan.value
    shape = value.shapes[index]
    if shape is None:
        raise unsupported(node, "may write a part of an array whose elements have unknown rank", "set element_shape")
    lacking = w.add("Sub", w.vector(w.value(scan.size)), w.dims(rows, 0, 1))
    return w.add("Pad", rows, w.join([0] * (len(shape) + 1), lacking, [0] * len(shape)))


def _carried(body: GraphWriter, node: Node, index: int, initial: Value) -> Value:
    """Returns a variable of a loop in its body."""
    name = body.unique(f"{node.name}/variable_{index}")
    if isinstance(initial, str):
        argument = node.attrs["region"].body.feeds[index]
        body.model.types[name] = Type(argument.dtypes[0], argument.shapes[0])
        return name
    body.model.types[name] = body.type_of(initial)
    return replace(initial, name=name)

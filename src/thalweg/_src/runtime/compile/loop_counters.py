"""Loop counters as Python numbers: scalar counters and conditions of loops are computed without torch.

A loop's `i < n` and `i + 1` cost a tenth as much on numbers as on scalar tensors, and on an accelerator they avoid a
synchronization. Values are converted to numbers before the loop, and back to tensors where an operation needs them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.explain import argument_names
from thalweg._src.graph.ir.step_graph import Node, Output, Region, StepGraph, waits
from thalweg._src.runtime.kernels.registry import Call, Input

_BITS = {dtypes.int32: 32, dtypes.int64: 64}
_COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "AddV2": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Maximum": max,
    "Minimum": min,
    "FloorMod": operator.mod,
    "FloorDiv": operator.floordiv,
}
_DECIDED: dict[str, Callable[..., Any]] = {
    "Less": operator.lt,
    "LessEqual": operator.le,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "LogicalAnd": operator.and_,
    "LogicalOr": operator.or_,
    "LogicalNot": operator.not_,
}


def _is_number(dtype: DType, shape: Shape) -> bool:
    return shape == () and (dtype in _BITS or dtype is dtypes.bool)


def _can_compute(node: Node) -> bool:
    """Returns whether a node can be computed with Python numbers, if its inputs are numbers."""
    is_arithmetic = node.type in _COMPUTED or node.type in _DECIDED or node.type in ("Identity", "_Choose")
    return is_arithmetic and node.shapes[0] == () and all(_is_number(p.dtypes[i], p.shapes[i]) for p, i in node.inputs)


def number_call(node: Node) -> Call:
    """Returns the call that computes a node with numbers; integer overflow wraps around as for tensors."""
    inputs = tuple(Input(i) for i in range(len(node.inputs)))
    if node.type == "Identity":
        return Call(_same, inputs)
    if node.type in _DECIDED:
        return Call(_DECIDED[node.type], inputs)
    compute = _COMPUTED[node.type]
    if compute in (max, min, operator.mod):
        return Call(compute, inputs)
    # Python's integers are unbounded. Adding half of the range, masking and subtracting it again maps a result to what
    # two's complement keeps of it, so that a counter overflows as a tensor does. Maximum, minimum and the floor
    # modulo of values in range stay in range.
    half = 1 << (_BITS[node.dtypes[0]] - 1)
    mask = 2 * half - 1

    def wrapped(a: int, b: int) -> Any:
        return ((compute(a, b) + half) & mask) - half

    wrapped.__name__ = node.type.lower()
    return Call(wrapped, inputs)


def _same(value: object) -> Any:
    return value


def count_in_numbers(step: StepGraph, on_host: bool) -> set[Node]:
    """Converts loop counters to Python numbers; returns the nodes that compute with numbers.

    on_host: whether all values are in host memory; otherwise only marked ones are
    """
    nodes: set[Node] = set()
    for loop in [node for node in step.nodes if node.type == "_While"]:
        counted = None if waits(loop) else _Counted(loop, on_host)
        if counted is not None and counted.pays():
            counted.apply(step)
            nodes |= counted.nodes
        for graph in loop.attrs["region"].graphs():
            nodes |= count_in_numbers(graph, on_host)
    return nodes


class _Counted:
    """The variables and nodes of one loop that can be numbers, found by eliminating those that cannot."""

    def __init__(self, loop: Node, on_host: bool) -> None:
        self._loop = loop
        self._region: Region = loop.attrs["region"]
        self._arguments, count = self._region.body.feeds, len(loop.dtypes)
        inner = [node for graph in self._region.graphs() for node in graph.nodes]
        here = {node for node in [*inner, *self._arguments] if on_host or node.attrs.get("_host")}
        counts = [_is_number(dtype, shape) for dtype, shape in zip(loop.dtypes, loop.shapes)]
        self.variables = {i for i in range(count) if counts[i] and self._arguments[i] in here}
        self.nodes = {node for node in inner if _can_compute(node) and node in here}
        # A loop invariant can be converted to a number where it is needed as one.
        fixed: set[Output] = {
            Output(a, 0) for a in self._arguments[count:] if _is_number(a.dtypes[0], a.shapes[0]) and a in here
        }
        fixed |= {Output(n, 0) for n in inner if n.type == "Const" and _is_number(n.dtypes[0], n.shapes[0])}
        # A greatest fixed point: it starts with all candidates and removes nodes with an input that is not a number and
        # variables whose next value is not one, until nothing changes. Starting from nothing would find no counter,
        # since `i` is a number if `i + 1` is one, and the reverse. Nothing that is removed comes back, so it ends.
        while True:
            self.numbers = {Output(self._arguments[i], 0) for i in self.variables} | {
                Output(node, 0) for node in self.nodes
            }
            usable = self.numbers | fixed
            nodes = {node for node in self.nodes if all(output in usable for output in node.inputs)}
            variables = {i for i in self.variables if self._region.body.fetches[i] in usable}
            if nodes == self.nodes and variables == self.variables:
                return
            self.nodes, self.variables = nodes, variables

    def pays(self) -> bool:
        """Returns whether each iteration computes more nodes with numbers than it converts back to tensors."""
        again = {o for graph in self._region.graphs() for n in graph.nodes for o in self._needed_as_tensors(n)}
        return bool(self.variables) and len(self.nodes) > len(again)

    def _needed_as_tensors(self, node: Node) -> Iterable[Output]:
        if node in self.nodes or node.type == "_While":
            return
        names = argument_names(node.definition, len(node.inputs))
        for name, output in zip(names, node.inputs):
            if output in self.numbers and name not in node.definition.numbers:
                yield output

    def apply(self, step: StepGraph) -> None:
        """Rewrites the loop, with conversions before, in and after it."""
        # Variables become numbers for good, converted once before the loop and once after it. An invariant may also be
        # needed as a tensor: it keeps its argument and gets a twin, a further argument that holds the number. Inside
        # the loop only what a tensor op needs is converted back, once per iteration.
        loop, region = self._loop, self._region
        twins: dict[Output, Output] = {}
        for index, argument in enumerate(list(self._arguments[len(loop.dtypes) :]), len(loop.dtypes)):
            if self._computes_with(Output(argument, 0)):
                twin = argument.like("_Arg", [], {**argument.attrs, "index": len(self._arguments)})
                twins[Output(argument, 0)] = Output(twin, 0)
                self._arguments.append(twin)
                loop.inputs.append(_as_number(loop.inputs[index]))
        for index in self.variables:
            loop.inputs[index] = _as_number(loop.inputs[index])
        for graph in region.graphs():
            graph.feeds = list(self._arguments)
            self._change(graph, twins)
        region.body.fetches = [
            self._number(o, twins) if i in self.variables else self._tensor(o)
            for i, o in enumerate(region.body.fetches)
        ]
        after = {Output(loop, i): Output(_converting("_AsTensor", Output(loop, i)), 0) for i in self.variables}
        for node in step.nodes:
            node.inputs = [after.get(output, output) for output in node.inputs]
            node.guard = tuple((after.get(predicate, predicate), side) for predicate, side in node.guard)
        step.fetches = [after.get(output, output) for output in step.fetches]
        step.prune_and_sort()

    def _computes_with(self, output: Output) -> bool:
        results = (self._region.body.fetches[i] for i in self.variables)
        return output in results or any(output in node.inputs for node in self.nodes)

    def _change(self, graph: StepGraph, twins: dict[Output, Output]) -> None:
        self._tensors: dict[Output, Output] = {}
        for node in graph.nodes:
            if node in self.nodes:
                node.inputs = [self._number(output, twins) for output in node.inputs]
            elif node.type != "_Arg":
                needed = set(self._needed_as_tensors(node)) if node.type != "_While" else self.numbers
                node.inputs = [self._tensor(output) if output in needed else output for output in node.inputs]

    def _number(self, output: Output, twins: dict[Output, Output]) -> Output:
        return output if output in self.numbers else twins.get(output) or _as_number(output)

    def _tensor(self, output: Output) -> Output:
        if output not in self.numbers:
            return output
        if output not in self._tensors:
            self._tensors[output] = Output(_converting("_AsTensor", output), 0)
        return self._tensors[output]


def _as_number(output: Output) -> Output:
    """Returns a value as a number: the original number if it was converted from one, a constant as a constant."""
    if output.node.type == "_AsTensor":
        return output.node.inputs[0]
    return Output(_converting("_AsNumber", output), 0)


def _converting(op_type: str, output: Output) -> Node:
    node, index = output
    is_constant = node.type == "Const"
    return node.like(
        op_type,
        [] if is_constant else [output],
        {"T": node.dtypes[index], "value": node.attrs["value"] if is_constant else None},
        name=f"{node.name}/{op_type}",
        dtypes=[node.dtypes[index]],
        shapes=[()],
        controls=list(node.controls) if is_constant else [],
    )

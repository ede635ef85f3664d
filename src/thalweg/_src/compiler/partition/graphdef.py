"""Partitions as GraphDefs: what each device runs, in the ops that TensorFlow and TensorBoard know.

A step graph has loops as nodes with regions, and guards for branches; here they are expanded to Enter, Merge, Switch,
NextIteration and Exit, as in TensorFlow's partitions. A guard becomes a control input from one side of a Switch of its
predicate. Node names are those in traces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.graphdef import MIN_CONSUMER, PRODUCER, message_type, write_attr
from thalweg._src.graph.ir.step_graph import Guard, Node, Output, StepGraph
from thalweg._src.graph.tensor_proto import shape_proto

_REFUSED = re.compile(r"[^A-Za-z0-9_.\\/>-]")
_TRANSFER = {"send_device_incarnation": 1, "client_terminated": False}  # a process has one incarnation


def partition_graph_def(nodes: Sequence[Node], fetches: Iterable[tuple[int, Output]], device: str) -> Any:
    """Returns the nodes of a partition as a GraphDef, with a `_Retval` for each fetch and its number in the step."""
    writer = _Writer(device)
    writer.write_all(nodes)
    for index, (node, output) in fetches:
        name = writer.unique(f"_retval_{node.name}_{output}_{index}")
        attrs = {"T": node.dtypes[output], "index": index}
        writer.add(name, "_Retval", [writer.refs[Output(node, output)]], attrs)
    return writer.message


class _Writer:
    """Adds nodes to a GraphDef, and maps outputs to their names in it."""

    def __init__(self, device: str) -> None:
        self.message = message_type("GraphDef")()
        self.message.versions.producer = PRODUCER
        self.message.versions.min_consumer = MIN_CONSUMER
        self.refs: dict[Output, str] = {}
        self._device = device
        self._ends: dict[Node, list[str]] = {}  # the control inputs that stand for a node
        self._names: dict[str, int] = {}
        self._sides: dict[tuple[str, bool], str] = {}
        self._frames: list[str] = []  # a node in the current frame: control input of nodes without inputs

    # -- names --------------------------------------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        """Returns a valid, unused name: a node may have copies, or be sent to several devices."""
        name = _REFUSED.sub("_", name)
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if count == 0 else self.unique(f"{name}_{count}")

    def _call(self, node: Node, name: str) -> None:
        self.refs.update((Output(node, i), f"{name}:{i}" if i else name) for i in range(len(node.dtypes)))
        self._ends[node] = [name]

    def _name(self, node: Node) -> None:
        """Chooses all names first, since unstructured loops are cyclic."""
        if node.type != "_While":
            self._call(node, self.unique(node.name))
            return
        exits = [self.unique(f"{node.name}/Exit_{i}") for i in range(max(len(node.dtypes), 1))]
        self.refs.update((Output(node, i), name) for i, name in enumerate(exits))
        self._ends[node] = exits

    # -- nodes --------------------------------------------------------------------------------------------------------

    def write_all(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._name(node)
        for node in nodes:
            self._write(node)

    def add(self, name: str, op: str, inputs: Iterable[str], attrs: dict[str, Any], node: Node | None = None) -> str:
        """Adds a node, with the output shapes of the step's node that it represents."""
        message = self.message.node.add(name=name, op=op, device=self._device, input=inputs)
        for key, value in attrs.items():
            definition = node.definition.attrs.get(key) if node is not None else None
            _write(message, key, value, None if definition is None else definition.kind)
        if node is not None and node.dtypes:
            shapes = message.attr["_output_shapes"].list
            shapes.shape.extend(shape_proto(shape) for shape in node.shapes)
        return name

    def _write(self, node: Node) -> None:
        name = self._ends[node][0]
        if node.type == "_While":
            self._write_loop(node)
        elif node.type == "_Choose":
            self._write_choice(node, name)
        elif node.type == "_Alive":
            *predicates, value = node.inputs
            inside = tuple(zip(predicates, node.attrs["sides"]))
            self.add(name, "Identity", [self.refs[value], *self._controls(node, inside)], {"T": node.attrs["T"]}, node)
        elif node.type in ("_AsNumber", "_AsTensor") and node.inputs:
            self.add(name, "Identity", self._inputs(node), {"T": node.attrs["T"]}, node)
        elif node.type in ("_AsNumber", "_AsTensor"):
            attrs = {"dtype": node.dtypes[0], "value": node.attrs["value"]}
            self.add(name, "Const", self._inputs(node), attrs, node)
        else:
            attrs = {**node.attrs, **_TRANSFER} if node.type in ("_Send", "_Recv") else node.attrs
            self.add(name, node.type, self._inputs(node), attrs, node)

    def _inputs(self, node: Node) -> list[str]:
        return [*(self.refs[output] for output in node.inputs), *self._controls(node, node.guard)]

    def _controls(self, node: Node, guard: Guard) -> list[str]:
        names = [end for control in node.controls for end in self._ends.get(control, ())]
        names += [self._side(self.refs[predicate], side) for predicate, side in guard]
        if not names and not node.inputs and self._frames:
            names.append(self._frames[-1])
        return [f"^{name}" for name in dict.fromkeys(names)]

    def _side(self, predicate: str, side: bool) -> str:
        """Returns a node that is alive only if a predicate has a value."""
        if (predicate, side) not in self._sides:
            base = predicate.replace(":", "_")
            switch = self._switch(f"{base}/_switch", predicate, predicate, dtypes.bool)
            name = self.unique(f"{base}/_if_{'true' if side else 'false'}")
            self._sides[predicate, side] = self.add(name, "Identity", [_at(switch, side)], {"T": dtypes.bool})
        return self._sides[predicate, side]

    def _switch(self, name: str, value: str, predicate: str, dtype: DType, controls: Sequence[str] = ()) -> str:
        return self.add(self.unique(name), "Switch", [value, predicate, *controls], {"T": dtype})

    def _write_choice(self, node: Node, name: str) -> None:
        """Writes a `_Choose` as a Merge of two Switches, each of which passes its value on one side."""
        predicate, *values = (self.refs[output] for output in node.inputs)
        dtype, controls = node.dtypes[0], self._controls(node, node.guard)
        passed = [
            _at(self._switch(f"{name}/_{key}", value, predicate, dtype, controls), side)
            for key, value, side in zip(("if_false", "if_true"), values, (False, True))
        ]
        self.add(name, "Merge", passed, {"T": dtype, "N": 2})

    # -- loops --------------------------------------------------------------------------------------------------------

    def _write_loop(self, loop: Node) -> None:
        # The inverse of functionalization. A node without inputs in a body would run once in the outermost frame; a
        # control input from the frame's pivot puts it inside.
        region, count, name = loop.attrs["region"], len(loop.dtypes), loop.name
        controls = self._controls(loop, loop.guard)
        initial = [self.refs[output] for output in loop.inputs[:count]]
        types = list(loop.dtypes)
        if not count:  # a loop needs at least one variable
            types = [dtypes.bool]
            constant = {"dtype": dtypes.bool, "value": np.array(False)}
            initial = [self.add(self.unique(f"{name}/_iteration"), "Const", controls, constant)]
        frame = name.removesuffix("/" + self._device.rpartition("device:")[2])  # parts of one loop share a frame name
        entered = [self._enter(name, frame, value, dtype, controls) for value, dtype in zip(initial, types)]
        backs = [self.unique(f"{name}/NextIteration_{i}") for i in range(len(types))]
        merges = [
            self.add(self.unique(f"{name}/Merge_{i}"), "Merge", [enter, backs[i]], {"T": types[i], "N": 2})
            for i, enter in enumerate(entered)
        ]
        captured = [
            self._enter(name, frame, self.refs[output], producer.dtypes[index], controls, is_constant=True)
            for output in loop.inputs[count:]
            for producer, index in [output]
        ]
        (decided,) = self._write_region_graph(region.condition, [*merges[:count], *captured], merges[0])
        condition = self.add(self.unique(f"{name}/LoopCond"), "LoopCond", [decided], {})
        switches = [self._switch(f"{name}/Switch_{i}", merge, condition, types[i]) for i, merge in enumerate(merges)]
        body = self.add(self.unique(f"{name}/_body"), "Identity", [_at(switches[0], True)], {"T": types[0]})
        inside = [_at(switch, True) for switch in switches]
        results = self._write_region_graph(region.body, [*inside[:count], *captured], body) or inside
        for back, result, dtype in zip(backs, results, types):
            self.add(back, "NextIteration", [result], {"T": dtype})
        for end, switch, dtype in zip(self._ends[loop], switches, types):
            self.add(end, "Exit", [switch], {"T": dtype})

    def _enter(
        self, loop: str, frame: str, value: str, dtype: DType, controls: Sequence[str], is_constant: bool = False
    ) -> str:
        attrs = {"T": dtype, "frame_name": frame, "is_constant": is_constant, "parallel_iterations": 10}
        return self.add(self.unique(f"{loop}/Enter"), "Enter", [value, *controls], attrs)

    def _write_region_graph(self, graph: StepGraph, arguments: Sequence[str], pivot: str) -> list[str]:
        """Writes the condition or the body of a loop, and returns the names of its results."""
        for argument, ref in zip(graph.feeds, arguments):
            self.refs[Output(argument, 0)] = ref
            self._ends[argument] = [ref.partition(":")[0]]
        self._frames.append(pivot)
        fed = set(graph.feeds)
        self.write_all([node for node in graph.nodes if node not in fed])
        self._frames.pop()
        return [self.refs[output] for output in graph.fetches]


def _at(switch: str, side: bool) -> str:
    return f"{switch}:1" if side else switch


def _write(message: Any, key: str, value: Any, attr_type: str | None) -> None:
    """Writes an attribute, unless it is internal and has no form in a message."""
    content = message_type("AttrValue")()
    try:
        write_attr(content, value, attr_type)
    except (AttributeError, KeyError, TypeError, ValueError):
        return
    message.attr[key].CopyFrom(content)

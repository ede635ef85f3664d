"""Serialization of step graphs: the partitions of a step as bytes, for another process.

A message is a header, integers (varints), text, the `order` of each node, and the buffers of constants. Names, keys and
values of attributes, types and shapes stand in tables, and nodes refer to them and to each other by number: nodes that
several graphs share, such as the arguments of a loop, are shared again after reading. Neither the lines of the user's
program (`stack`) nor objects of one process are sent. Reading trusts nothing: what is not valid is a ValueError.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.gc_pause import collector_paused
from thalweg._src.graph.graph_def_checks import check_attr_name, check_device, private_attr, shown, well_formed
from thalweg._src.graph.ir.attr_values import Integers, ValueReader, ValueWriter, decode_shape, encode_shape
from thalweg._src.graph.ir.lint import problems
from thalweg._src.graph.ir.step_graph import Guard, Node, Output, Region, StepGraph
from thalweg._src.graph.ir.varints import decode_varints, encode_varints
from thalweg._src.graph.op_def import OPS, ArgDef, OpDef, normalize, output_types

VERSION = 1
_MAGIC = b"TWSG"
_HEADER = struct.Struct("<4sIQQQ")  # magic, version, bytes of integers, bytes of text, nodes
_ALIGNMENT = 16  # torch's kernels crash on complex128 numbers at other addresses
_CACHE_LINE = 64
_LARGE = 1024  # bytes of a buffer that starts at a cache line
_MAX_LEVELS = 100  # of loops in loops, and of conditionals; functionalization makes fewer
_MAX_ATTRS = 64  # of a node
_MAX_OUTPUTS = 1 << 20  # of all nodes
_MAX_VISITS = 8  # of a node, on average, by a walk through all loops
_step_name = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_./>:\-]*").fullmatch  # passes add names with a device in them

Attrs = dict[str, Any]
Signature = tuple[list[DType], list[Shape]]


def to_bytes(partitions: Mapping[str, StepGraph]) -> bytes:
    """Returns the partitions of a step, by device, as one message; each constant is copied once.

    Raises InvalidArgumentError for a node that can run only in this process.
    """
    with collector_paused():
        return b"".join(_Writer(partitions).message())


def from_bytes(data: Any) -> dict[str, StepGraph]:
    """Returns the partitions of a step from a message; constants are read-only views of its memory, if it is aligned.

    Raises ValueError for bytes that are not a message of this version, or whose graphs are not valid.
    """
    try:
        with collector_paused():
            return _Reader(_aligned(memoryview(data).cast("B"))).partitions()
    except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"cannot read a step graph: {str(error)[:1000]}") from None


def external_nodes(partitions: Mapping[str, StepGraph]) -> Iterator[tuple[str, str, str]]:
    """Yields name, op type and reach of the nodes that reach outside of the graph, those in loops included."""
    for node in dict.fromkeys(node for graph in partitions.values() for node in graph.everything()):
        reach = node.facts.reach(node.attrs)
        if reach:
            yield node.name, node.type, reach


# -- writing ----------------------------------------------------------------------------------------------------------


class _Table(dict[Any, int]):
    """Numbers of distinct items, in the order of their first use."""

    def __missing__(self, item: Any) -> int:
        self[item] = number = len(self)
        return number


class _Writer:
    def __init__(self, partitions: Mapping[str, StepGraph]) -> None:
        self._partitions = partitions
        self._strings = _Table()
        self._attrs = _Table()  # pairs of the numbers of a key and of a value
        self._signatures = _Table()
        self._guards = _Table()
        self._nodes = _Table()
        self._graphs: dict[int, int] = {}  # by id, the graphs of a loop before the one that contains the loop
        self._ordered: list[StepGraph] = []
        self._values = ValueWriter(self._strings.__getitem__, lambda graph: self._graphs[id(graph)])

    def message(self) -> list[Any]:
        """Returns the message in pieces."""
        # Nodes are written before the tables that they refer to are complete, and read after them: so the tables come
        # first in the message, but are encoded last. All integers form one array of varints, which is encoded at once,
        # by vector operations instead of one call per number.
        for partition in self._partitions.values():
            self._add(partition)
        nodes: list[int] = []
        for node in self._nodes:
            nodes += self._node(node)
        graphs = [number for graph in self._ordered for number in self._graph(graph)]
        for name, partition in self._partitions.items():
            graphs += self._strings[name], self._graphs[id(partition)]
        integers = encode_varints([*self._tables(), *nodes, *graphs])
        text = "".join(self._strings).encode("utf-8", "surrogatepass")
        pieces = [_HEADER.pack(_MAGIC, VERSION, len(integers), len(text), len(self._nodes)), integers, text]
        orders = np.array([node.order for node in self._nodes], "<f8")
        size = sum(map(len, pieces))
        for buffer in (orders.view(np.uint8), *self._values.buffers):
            pieces += bytes(_padding(size, len(buffer))), buffer
            size += _padding(size, len(buffer)) + len(buffer)
        return pieces

    def _add(self, graph: StepGraph) -> None:
        """Numbers a graph and its nodes, after the graphs inside of it."""
        if id(graph) in self._graphs:
            return
        for node in (*graph.nodes, *graph.feeds):
            if node not in self._nodes:
                self._nodes[node]
                if node.type == "_While":
                    for inner in node.attrs["region"].graphs():
                        self._add(inner)
        self._graphs[id(graph)] = len(self._ordered)
        self._ordered.append(graph)

    def _node(self, node: Node) -> list[int]:
        numbers = self._nodes
        row = [
            self._strings[node.name],
            self._strings[node.type],
            self._strings[node.device],
            self._attrs[self._attributes(node)],
            self._signatures[tuple(node.dtypes), tuple(node.shapes)],
            self._guards[node.guard],
            len(node.inputs),
            len(node.controls),
        ]
        for producer, index in node.inputs:
            row += numbers[producer], index
        row += [numbers[control] for control in node.controls]
        return row

    def _attributes(self, node: Node) -> tuple[int, ...]:
        code: list[int] = []
        for key, value in node.attrs.items():
            if key == "token" and node.facts.reach(node.attrs) == "calls Python":
                raise _local(node, key, "the name of a Python object")
            try:
                code += self._strings[key], self._values.number(value)
            except TypeError as error:
                raise _local(node, key, str(error)) from None
        return tuple(code)

    def _tables(self) -> list[int]:
        """Returns all that nodes refer to."""
        code = [len(self._strings), *map(len, self._strings)]
        code += len(self._values.buffers), *map(len, self._values.buffers)
        code += len(self._ordered), len(self._partitions)
        code += len(self._values.codes), *(number for value in self._values.codes for number in value)
        code.append(len(self._attrs))
        for attrs in self._attrs:
            code += len(attrs), *attrs
        code.append(len(self._signatures))
        for types, shapes in self._signatures:
            code += len(types), *(dtype.as_datatype_enum for dtype in types)
            code += len(shapes), *(number for shape in shapes for number in encode_shape(shape))
        code.append(len(self._guards))
        for guard in self._guards:
            code.append(len(guard))
            for (predicate, index), side in guard:
                code += self._nodes[predicate], index, int(side)
        return code

    def _graph(self, graph: StepGraph) -> list[int]:
        numbers = self._nodes
        code = [int(graph.is_unstructured), int(graph.positions is not None)]
        for nodes in (graph.nodes, graph.feeds, graph.targets):
            code += len(nodes), *(numbers[node] for node in nodes)
        code += len(graph.fetches), *(number for node, index in graph.fetches for number in (numbers[node], index))
        return [*code, *(graph.positions or ())]


def _local(node: Node, key: str, what: str) -> errors.InvalidArgumentError:
    return errors.invalid(
        f"{node.type} {node.name!r} runs only in the process that built it: "
        f"its attribute {key!r} is {what}, which cannot be sent to another process."
    )


def _padding(position: int, length: int) -> int:
    """Returns how many bytes precede a buffer, so that views of it are aligned."""
    return -position % (_CACHE_LINE if length >= _LARGE else _ALIGNMENT)


# -- reading ----------------------------------------------------------------------------------------------------------


def _aligned(data: memoryview) -> memoryview:
    """Returns the bytes at an address where views of them are aligned: themselves, or a copy."""
    address = np.frombuffer(data, np.uint8).__array_interface__["data"][0] if len(data) else 0
    return data if address % _ALIGNMENT == 0 else memoryview(data.tobytes())


class _Reader:
    def __init__(self, data: memoryview) -> None:
        if len(data) < _HEADER.size or data[:4] != _MAGIC:
            raise ValueError("the bytes do not start as a message does")
        _, version, integers, text, count = _HEADER.unpack_from(data)
        if version != VERSION:
            raise ValueError(f"the message has version {version} of the format, this process reads version {VERSION}")
        self._data = data
        self._position = _HEADER.size
        self._integers = Integers(decode_varints(self._take(integers)))
        self._text = str(self._take(text), "utf-8", "surrogatepass")
        self._count = count
        self._orders = np.frombuffer(self._buffer(8 * count), "<f8")
        if not np.isfinite(self._orders).all():
            raise ValueError("a node is at no finite place of the program")

    def _take(self, length: int) -> memoryview:
        self._position += length
        if self._position > len(self._data):
            raise ValueError(f"the message has {len(self._data)} bytes, {self._position} are announced")
        return self._data[self._position - length : self._position]

    def _buffer(self, length: int) -> memoryview:
        self._take(_padding(self._position, length))
        return self._take(length)

    def partitions(self) -> dict[str, StepGraph]:
        """Returns the graphs by device, which have passed all checks."""
        integers = self._integers
        # The bytes may come from anywhere. Every count is compared with what is left of the message before anything of
        # that size is allocated, every number with the table that it indexes, and the result is linted as after a pass:
        # what follows may rely on a graph from another process as on its own.
        strings = self._strings = list(_split(self._text, integers.many()))
        buffers = [self._buffer(length) for length in integers.many()]
        if self._position != len(self._data):
            raise ValueError(f"{len(self._data) - self._position} bytes follow the last buffer")
        graphs = [StepGraph([], [], []) for _ in range(integers.count(6))]
        num_partitions = integers.count(2)
        values = ValueReader(integers, strings, buffers, graphs)
        self._values = [values.read() for _ in range(integers.count())]
        self._normalized: dict[tuple[Any, ...], Any] = {}
        self._attrs = [self._read_attrs(integers.many()) for _ in range(integers.count())]
        self._signatures = [self._read_signature() for _ in range(integers.count(2))]
        guards = [integers.take(3 * integers.one()) for _ in range(integers.count())]
        nodes = self._read_nodes(guards)
        for graph in graphs:
            self._read_graph(graph, nodes)
        _check_nesting(graphs, len(nodes))
        partitions = {}
        for name, number in (integers.take(2) for _ in range(num_partitions)):
            check_device(strings[name], "a partition")
            partitions[strings[name]] = graphs[number]
        integers.end()
        for partition in partitions.values():
            problem = next(problems(partition), None)
            if problem is not None:
                raise ValueError(problem)
        return partitions

    def _read_attrs(self, code: list[int]) -> dict[str, int]:
        if len(code) > 2 * _MAX_ATTRS:
            raise ValueError(f"a node has more than {_MAX_ATTRS} attributes")
        attrs = {self._strings[key]: value for key, value in zip(code[::2], code[1::2], strict=True)}
        for key in attrs:
            check_attr_name(key, "a node")
        return attrs

    def _read_signature(self) -> Signature:
        types = [DType(number) for number in self._integers.many()]
        return types, [decode_shape(self._integers) for _ in range(self._integers.count())]

    def _read_nodes(self, guard_codes: list[list[int]]) -> list[Node]:
        integers, strings = self._integers, self._strings
        nodes: list[Node] = []
        edges: list[tuple[list[int], list[int], int]] = []
        checked: dict[tuple[int, ...], tuple[OpDef, Attrs, int | None]] = {}
        devices: set[int] = set()
        num_outputs = 0
        for order in self._orders.tolist():
            name, op, device, attrs, signature, guard, num_inputs, num_controls = integers.take(8)
            if not well_formed(strings[name], _step_name):
                raise ValueError(f"a node has the invalid name {shown(strings[name])}")
            if device not in devices:
                check_device(strings[device], f"node {shown(strings[name])}")
                devices.add(device)
            types, shapes = self._signatures[signature]
            num_outputs += len(types)
            if num_outputs > _MAX_OUTPUTS:
                raise ValueError(f"the nodes have more than {_MAX_OUTPUTS} outputs")
            key = op, attrs, signature
            if key not in checked:
                checked[key] = self._checked(strings[name], strings[op], self._attrs[attrs], types)
            definition, values, expected = checked[key]
            if expected not in (None, num_inputs):
                raise ValueError(f"{strings[op]} {strings[name]!r} has {num_inputs} inputs, expected {expected}")
            nodes.append(
                Node(strings[name], definition, [], values, types, shapes, device=strings[device], order=order)
            )
            edges.append((integers.take(2 * num_inputs), integers.take(num_controls), guard))
        guards = [_guard(code, nodes) for code in guard_codes]
        for node, (inputs, controls, guard) in zip(nodes, edges):
            node.inputs = [Output(nodes[producer], index) for producer, index in _pairs(inputs)]
            node.controls = [nodes[control] for control in controls]
            node.guard = guards[guard]
        return nodes

    def _checked(
        self, name: str, op_type: str, attrs: dict[str, int], types: Sequence[DType]
    ) -> tuple[OpDef, Attrs, int | None]:
        """Returns op and attributes of a node, and how many inputs it must have; None if the attributes do not say.

        Numbers are compared before a list of that length is made, here and in the lint that follows: an attribute of a
        few bytes asks for as many.
        """
        definition = OPS.get(op_type)
        if definition is None:
            raise ValueError(f"the op type {shown(op_type)} of node {name!r} is not registered in this process")
        values = {key: self._value(definition, key, number) for key, number in attrs.items()}
        is_loop = op_type == "_While"
        if [key for key, value in values.items() if isinstance(value, Region)] != ["region"] * is_loop:
            raise ValueError(f"{op_type} {name!r}: a loop, and nothing else, has a region")
        if is_loop:
            return definition, values, len(values["T"]) if "T" in values else None
        missing = definition.attrs.keys() - values.keys() - definition.defaults.keys()
        if missing:
            raise ValueError(f"{op_type} {name!r} has no attribute {min(missing)!r}")
        num_outputs = len(definition.outputs) if definition.plain_outputs else _count(definition.outputs, values)
        if num_outputs != len(types):
            raise ValueError(f"{op_type} {name!r} has {len(types)} outputs, expected {num_outputs}")
        for dtype, expected in zip(types, output_types(definition, values)):
            if dtype.base_dtype != expected.base_dtype:
                raise ValueError(f"{op_type} {name!r} has an output of {dtype.name}, expected {expected.name}")
        num_inputs = len(definition.inputs) if definition.plain_inputs else _count(definition.inputs, values)
        return definition, values, num_inputs

    def _value(self, definition: OpDef, key: str, number: int) -> Any:
        """Returns the value of an attribute; one that many nodes have is checked once."""
        attr = definition.attrs.get(key) or private_attr(key)
        if attr is None:
            return self._values[number]
        check = attr.kind, attr.allowed, attr.minimum, number
        if check not in self._normalized:
            self._normalized[check] = normalize(definition, key, attr, self._values[number])
        return self._normalized[check]

    def _read_graph(self, graph: StepGraph, nodes: list[Node]) -> None:
        integers = self._integers
        graph.is_unstructured, has_positions = map(bool, integers.take(2))
        graph.nodes, graph.feeds, graph.targets = ([nodes[number] for number in integers.many()] for _ in range(3))
        graph.fetches = [Output(nodes[number], index) for number, index in _pairs(integers.take(2 * integers.one()))]
        graph.positions = integers.take(len(graph.fetches)) if has_positions else None
        if len(set(graph.nodes)) < len(graph.nodes):
            raise ValueError("a graph has a node twice")
        if any(index >= len(node.dtypes) for node, index in graph.fetches):
            raise ValueError("an output is fetched that its node does not have")
        if any(True for feed in graph.feeds for _ in feed.predecessors()):
            raise ValueError("a feed depends on another node")


def _split(text: str, lengths: list[int]) -> Iterator[str]:
    """Yields the strings of a text, which must be used up."""
    position = 0
    for length in lengths:
        yield text[position : position + length]
        position += length
    if position != len(text):
        raise ValueError(f"strings of {position} characters are in a text of {len(text)}")


def _pairs(numbers: list[int]) -> Iterable[tuple[int, int]]:
    return zip(numbers[::2], numbers[1::2])


def _guard(code: list[int], nodes: list[Node]) -> Guard:
    if len(code) > 3 * _MAX_LEVELS:
        raise ValueError(f"conditionals are nested more than {_MAX_LEVELS} levels deep")
    guard = tuple((Output(nodes[code[i]], code[i + 1]), bool(code[i + 2])) for i in range(0, len(code), 3))
    if any(index >= len(node.dtypes) for (node, index), _ in guard):
        raise ValueError("a predicate is an output that its node does not have")
    return guard


def _count(args: tuple[ArgDef, ...], attrs: Attrs) -> int:
    """Returns how many tensors arguments are."""
    return sum(
        attrs[arg.number_attr] if arg.number_attr else len(attrs[arg.type_list_attr]) if arg.type_list_attr else 1
        for arg in args
    )


def _check_nesting(graphs: list[StepGraph], num_nodes: int) -> None:
    """Raises ValueError for a loop that contains itself, and for graphs whose loops take too long to walk through."""
    # Graphs of loops precede the graph that contains the loop, so that one pass finds the depth of each, and a
    # reference forwards is a loop that contains itself. The graph of a loop may be shared, so that a message of a few
    # hundred bytes could describe a walk of 2**n nodes: visits are counted as well.
    numbers = {id(graph): number for number, graph in enumerate(graphs)}
    levels, visits = [0] * len(graphs), [0] * len(graphs)
    for number, graph in enumerate(graphs):
        visits[number] = len(graph.nodes)
        for region in graph.regions():
            for region_graph in region.graphs():
                inner = numbers[id(region_graph)]
                if inner >= number:
                    raise ValueError("a loop contains itself")
                levels[number] = max(levels[number], levels[inner] + 1)
                visits[number] += visits[inner]
        if levels[number] > _MAX_LEVELS or visits[number] > _MAX_VISITS * num_nodes:
            raise ValueError("loops are nested too deep")

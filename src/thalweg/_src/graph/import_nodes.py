"""Import of nodes: adds the nodes of a GraphDef, or of a function's body, to a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src.base.formats.message_types import GraphDef, Message, NodeDef
from thalweg._src.base.shapes import Shape, in_common
from thalweg._src.graph.foreign_ops import find_op
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graph_def_checks import parse_input, read_attr, read_attrs, shown
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.order_hints import ORDER_HINTS
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.trust import IMPORTED

_GROUP = "loc:@"
_MAX_OUTPUTS = 1 << 18  # in the lists of all operations of an import: an attribute of a few bytes asks for as many
_MAX_REPEATED = 1 << 29  # bytes of all constants of an import whose messages leave out repeated values
_SCALAR_PLACEHOLDERS = 24  # before this version an empty shape of a Placeholder meant an unknown shape
_DESCRIPTIVE = frozenset(("debug_name",))  # attributes of newer producers that change nothing


@dataclass(slots=True)
class Origin:
    """Where nodes come from: what a GraphDef says of all its nodes, those in the bodies of its functions included.

    producer: the version of the format
    producer_ops: the ops of the program that wrote it, by name
    outputs, repeated: outputs in lists, and bytes of repeated values, of the nodes that were created
    """

    producer: int
    producer_ops: dict[str, Any]
    trusted: bool | None
    outputs: int = 0
    repeated: int = 0


def element_key(key: object) -> tuple[str, int]:
    """Parses a key of the input map, or a name to return, as (node, output); output -1 is a control input."""
    if not isinstance(key, str):
        raise TypeError(f"input_map: expected names as keys, received {key!r}")
    parsed = parse_input(key)
    if parsed is None:
        raise ValueError(f"Cannot convert {shown(key)} to a tensor name: write 'name' or 'name:0'")
    return parsed


class NodeImport:
    """One import: the nodes by their names in the message, and the operations created from them."""

    def __init__(
        self,
        graph: Graph,
        graph_def: GraphDef,
        prefix: str,
        mapped: dict[tuple[str, int], Any],
        origin: Origin,
    ) -> None:
        self._graph = graph
        self._prefix = prefix
        self._origin = origin
        self._mapped = mapped
        self._nodes: dict[str, Any] = {}
        for node in graph_def.node:
            if node.name in self._nodes:
                raise ValueError(f"Node {shown(node.name)} is not unique in the graph_def")
            self._nodes[node.name] = node
        # All names are reserved before the first node is created, or a constant that the import adds could take one of
        # them.
        self._inputs = {name: self._sources(node) for name, node in self._nodes.items()}
        self._names = {name: self._reserve(name) for name in self._nodes}
        self._created: dict[str, Operation] = {}
        self._later: list[tuple[Operation, int, tuple[str, int]]] = []  # back edges of loops

    def run(self) -> None:
        # Nodes are created in topological order, so that shapes can be inferred from complete inputs. The back edge of
        # a loop is the exception: its Merge starts with another input in that place, and is connected once the
        # NextIteration exists.
        self._require_mapped_exist()
        for name in self._order():
            self._created[name] = self._add(name, self._nodes[name])
        for operation, position, source in self._later:
            self._close_loop(operation, position, *source)
        self._widen_shapes()
        self._colocate()

    def _close_loop(self, merge: Operation, position: int, source: str, output: int) -> None:
        """Connects the back edge of a loop to the Merge that it leads to."""
        start = f"Node {shown(merge.name)}: "
        outputs = self._created[source].outputs
        if output >= len(outputs):
            raise ValueError(start + _no_output(source, output, outputs))
        if outputs[output].dtype.base_dtype != merge.inputs[position].dtype.base_dtype:
            raise ValueError(
                f"{start}the back edge from {shown(source)} is {outputs[output].dtype.name}, "
                f"the loop starts with {merge.inputs[position].dtype.name}"
            )
        merge._replace_input(position, outputs[output])

    def _widen_shapes(self) -> None:
        """Makes the shapes of loop variables those of all iterations, where they were inferred from the first one."""
        widened: dict[Operation, Shape] = {}
        # The shapes of a loop are a fixed point: a wider variable may widen others. An exact answer takes as many
        # rounds over the graph as there are variables; two rounds suffice if the second one gives up what the first has
        # not settled.
        for is_last in (False, True):
            changing = [
                (merge, p) for merge, p, _ in self._later if not _keeps_shape(merge.inputs[p], merge.outputs[0])
            ]
            if not changing:
                return
            if is_last:  # a wider shape has changed others: rather than follow each, all become unknown
                widened = dict.fromkeys((merge for merge, _, _ in self._later), None)
            for merge, position in changing:
                widened[merge] = None if is_last else in_common(merge.outputs[0].dims, merge.inputs[position].dims)
            for operation in self._created.values():
                for tensor in operation.outputs:
                    tensor.static_value = False
                if operation in widened:
                    operation.outputs[0].dims = widened[operation]
                else:
                    self._graph._infer_shapes(operation)

    def element(self, name: str) -> Any:
        """Returns an operation or a tensor of the import by its name in the message."""
        node, output = element_key(name)
        if ":" in name and (node, output) in self._mapped:
            return self._mapped[node, output]
        operation = self._created.get(node)
        if operation is None or (":" in name and output >= len(operation.outputs)):
            raise ValueError(f"Requested return_element {name!r} not found in graph_def.")
        return operation.outputs[output] if ":" in name else operation

    # -- names and order ----------------------------------------------------------------------------------------------

    def _reserve(self, name: str) -> str:
        """Returns a node's name in the graph: its own under the prefix, with a numeric suffix if that is taken."""
        taken = self._graph._by_name
        start = f"{self._prefix}/" if self._prefix else ""
        result, number = name, 0
        while start + result in taken or (number and result in self._nodes):
            number += 1
            result = f"{name}_{number}"
        self._graph._names_in_use.setdefault((start + result).lower(), 1)
        return start + result

    def _sources(self, node: NodeDef) -> list[tuple[str, int]]:
        """Returns a node's inputs as (node, output), control inputs as output -1, all known to exist."""
        sources = [element_key(text) for text in node.input]
        outputs = [output for _, output in sources]
        if -1 in outputs and max(outputs[outputs.index(-1) :]) >= 0:
            raise ValueError(f"Node {shown(node.name)}: a control input precedes a data input")
        for source, text in zip(sources, node.input):
            if source not in self._mapped and source[0] not in self._nodes:
                raise ValueError(f"Node {shown(node.name)}: Unknown input node {shown(text)}")
        return sources

    def _order(self) -> Iterator[str]:
        """Sorts the nodes topologically; the back edge of a loop, NextIteration to Merge, does not count."""
        followers: dict[str, list[str]] = {}
        waits: dict[str, int] = {}
        for name, sources in self._inputs.items():
            unmapped = [source for source in sources if source not in self._mapped]
            needed = {n for n, output in unmapped if output < 0 or not self._is_back_edge(name, n)}
            waits[name] = len(needed)
            for source in needed:
                followers.setdefault(source, []).append(name)
        # A stack filled in reverse yields nodes close to the order of the message, which after an export is that of
        # creation: then a graph that is exported and imported again has the same order.
        ready = [name for name in reversed(self._nodes) if not waits[name]]
        count = 0
        while ready:
            name = ready.pop()
            count += 1
            yield name
            for follower in reversed(followers.get(name, ())):
                waits[follower] -= 1
                if not waits[follower]:
                    ready.append(follower)
        if count < len(self._nodes):
            stuck = [name for name, left in waits.items() if left]
            raise ValueError(f"the graph_def has a cycle through {', '.join(map(shown, stuck[:5]))}")

    def _is_back_edge(self, consumer: str, producer: str) -> bool:
        return self._nodes[consumer].op in ("Merge", "RefMerge") and self._nodes[producer].op in (
            "NextIteration",
            "RefNextIteration",
        )

    def _require_mapped_exist(self) -> None:
        used = {source for sources in self._inputs.values() for source in sources}
        missing = [source[0] for source in self._mapped if source not in used and source[0] not in self._nodes]
        if missing:
            raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]")

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _add(self, name: str, node: NodeDef) -> Operation:
        try:
            return self._create(name, node)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ValueError(f"Node {shown(name)}: {error}") from None

    def _create(self, name: str, node: NodeDef) -> Operation:
        function = self._graph._functions.get(node.op)
        definition = find_op(node.op) if function is None else function.definition
        if definition.facts.compiler:
            raise ValueError(f"{node.op} is created by the compiler alone, and cannot be imported")
        inputs, controls, later = self._resolve(name)
        attrs = read_attrs(node, definition.attrs)
        for key, message in node.attr.items():
            if not key.startswith("_") and key not in attrs and not self._may_drop(node.op, key, message):
                raise ValueError(f"{node.op} has no attribute {key!r}; it has {', '.join(definition.attrs)}")
        if node.op == "Placeholder" and self._origin.producer < _SCALAR_PLACEHOLDERS and attrs.get("shape") == ():
            attrs["shape"] = None
        if definition.facts.external == "calls Python":
            token = attrs.get("token", "").removeprefix(IMPORTED)
            attrs["token"] = token if self._origin.trusted else IMPORTED + token  # which no object has
        self._limit_memory(node, attrs)
        shapes = attrs.pop("_output_shapes", None)
        if "_class" in attrs:
            attrs["_class"] = tuple(self._renamed_group(group) for group in attrs["_class"])
        if ORDER_HINTS in attrs:
            attrs[ORDER_HINTS] = tuple(self._names.get(earlier, earlier) for earlier in attrs[ORDER_HINTS])
        device = self._graph.device(node.device) if node.device else contextlib.nullcontext()
        order = self._graph.control_dependencies(controls) if controls else contextlib.nullcontext()
        with device, order:
            operation = self._graph.create_op(node.op, inputs, attrs=attrs, name=self._names[name] + "/")
        self._later += [(operation, position, source) for position, source in later]
        for tensor, shape in zip(operation.outputs, shapes or ()):
            tensor.set_shape(shape)
        if not definition.plain_outputs:
            self._origin.outputs += len(operation.outputs)
            if self._origin.outputs > _MAX_OUTPUTS:
                raise ValueError(f"the operations up to this one have more than {_MAX_OUTPUTS} outputs in lists")
        return operation

    def _limit_memory(self, node: Any, attrs: dict[str, Any]) -> None:
        """Limits the memory of constants whose messages leave out repeated values."""
        value = attrs.get("value")
        if isinstance(value, np.ndarray) and value.flags.writeable and value.nbytes > 16 * node.ByteSize():
            self._origin.repeated += value.nbytes
            if self._origin.repeated > _MAX_REPEATED:
                raise ValueError(f"the constants up to this one repeat values in more than {_MAX_REPEATED} bytes")

    def _resolve(self, name: str) -> tuple[list[Tensor], list[Operation], list[tuple[int, tuple[str, int]]]]:
        """Returns a node's inputs, its control inputs, and its back edges, whose producers are not created yet."""
        inputs: list[Tensor | None] = []
        controls: list[Operation] = []
        later: list[tuple[int, tuple[str, int]]] = []
        # The input map comes first: it replaces even nodes that the message contains.
        for source, output in self._inputs[name]:
            replacement = self._mapped.get((source, output))
            if output == -1:
                replacement = self._created[source] if replacement is None else replacement
                controls.append(replacement if isinstance(replacement, Operation) else replacement.op)
            elif replacement is not None:
                inputs.append(replacement)
            elif source not in self._created:
                later.append((len(inputs), (source, output)))
                inputs.append(None)
            else:
                outputs = self._created[source].outputs
                if output >= len(outputs):
                    raise ValueError(_no_output(source, output, outputs))
                inputs.append(outputs[output])
        available = [tensor for tensor in inputs if tensor is not None]
        if later and not available:
            raise ValueError("all of its inputs are back edges of a loop: expected one that enters the loop")
        # another input takes the place of a back edge until the loop is closed
        filled = [available[0] if tensor is None else tensor for tensor in inputs]
        return filled, controls, later

    def _may_drop(self, op_type: str, key: str, message: Message) -> bool:
        """Returns whether an attribute of a newer producer can be ignored: it has its default there, or is zero."""
        if key in _DESCRIPTIVE:
            return True
        producer = self._origin.producer_ops.get(op_type)
        if producer is not None:
            return any(a.name == key and a.default_value == message for a in producer.attr)
        value = read_attr(message)
        return value is None or (isinstance(value, bool | int | float | str | tuple) and not value)

    def _renamed_group(self, group: str) -> str:
        """Returns a colocation group under the names of this graph."""
        member = group.removeprefix(_GROUP)
        if not group.startswith(_GROUP) or member not in self._names:
            return group
        mapped = self._mapped.get((member, 0))
        return _GROUP + (mapped.op.name if isinstance(mapped, Tensor) else self._names[member])

    def _colocate(self) -> None:
        """Assigns to colocated operations the device of the operation they are colocated with."""
        for name, operation in self._created.items():
            for group in operation.attrs.get("_class", ()):
                member = group.removeprefix(_GROUP)
                leader = self._graph._by_name.get(member)
                if group.startswith(_GROUP) and leader is None:
                    raise ValueError(f"Node {shown(name)} is colocated with {shown(member)}, which does not exist")
                if leader is not None and leader is not operation:
                    operation.device = leader.device


def _keeps_shape(following: Tensor, variable: Tensor) -> bool:
    return in_common(following.dims, variable.dims) == variable.dims


def _no_output(source: str, output: int, outputs: Sequence[Tensor]) -> str:
    return f"Connecting to invalid output {output} of source node {shown(source)} which has {len(outputs)} outputs"

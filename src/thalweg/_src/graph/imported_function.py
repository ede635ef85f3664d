"""Functions of a GraphDef's library, whose bodies become graphs when they are first used.

The library of a model often has hundreds of functions, of which a program calls a few.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType, as_dtype
from thalweg._src.base.formats.message_types import Message
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.foreign_ops import find_op
from thalweg._src.graph.function import Body, GraphFunction, with_effects
from thalweg._src.graph.function_def import output_counts
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graph_def_checks import MAX_NAME, read_attr, shown
from thalweg._src.graph.graphdef import message_type, write_attr
from thalweg._src.graph.import_nodes import NodeImport, Origin
from thalweg._src.graph.op_def import OPS, OpDef

_MAX_ARGUMENTS = 1 << 16
# One lock for all: a body may need the outputs of functions that it calls, and two bodies may need each other's.
_building = threading.RLock()


@contextlib.contextmanager
def imported_functions(graph: Graph, library: Message, origin: Origin) -> Iterator[None]:
    """Adds the functions of a GraphDef to a graph's library, and removes them if an exception ends the block."""
    # All functions are entered before any body is built, since they may refer to each other in any order.
    before = dict(graph._functions)
    try:
        for message in library.function:
            name = message.signature.name
            existing = graph._functions.get(name)
            if existing is None:
                graph._functions[name] = ImportedFunction(message, graph._functions, origin)
            elif existing.to_function_def() != message:
                raise ValueError(
                    f"Cannot add function {name!r} because a different function of that name already exists."
                )
        for message in library.gradient:
            if message.function_name in graph._functions:
                graph._functions[message.function_name].gradient = message.gradient_func
        yield
    except BaseException:
        graph._functions.clear()  # the dictionary itself is shared with the functions
        graph._functions.update(before)
        raise


class ImportedFunction(GraphFunction):
    """A function of a GraphDef.

    functions: the library, in which its body looks functions up
    type_attrs: the values of the attributes that its signature declares
    """

    def __init__(
        self,
        message: Message,
        functions: dict[str, GraphFunction],
        origin: Origin,
        type_attrs: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = message.signature.name
        self.attrs = {}
        self.gradient = ""
        self.differentiated = {}
        self._message = message
        self._functions = functions
        self._origin = origin
        self._type_attrs = dict(type_attrs or {})
        self._instances: dict[str, ImportedFunction] = {}

    @property
    def library(self) -> Mapping[str, GraphFunction]:
        """The functions that the body may call, by name."""
        return self._functions

    @property
    def type_attrs(self) -> Mapping[str, Any]:
        """The values of the attributes that the signature declares."""
        return self._type_attrs

    def to_function_def(self) -> Any:
        """Returns the message itself."""
        return self._message

    def instantiate(self, attrs: Mapping[str, Any]) -> GraphFunction:
        """Returns the function for values of the attributes that its signature declares."""
        values = {attr.name: attrs.get(attr.name) for attr in self._message.signature.attr}
        for attr in self._message.signature.attr:
            if values[attr.name] is None:
                values[attr.name] = read_attr(attr.default_value)
            if values[attr.name] is None:
                raise ValueError(f"function {self.name!r} is missing its attribute {shown(attr.name)}")
        if not values or self._type_attrs:
            return self
        # A polymorphic function is built once for each set of types; values may be messages, which have no hash.
        key = repr(sorted(values.items()))
        if key not in self._instances:
            self._instances[key] = ImportedFunction(self._message, self._functions, self._origin, values)
        return self._instances[key]

    @functools.cached_property
    def is_stateful(self) -> bool:
        """Whether a call depends on state, or changes it; also if it calls functions by their names."""
        return bool(self._message.signature.is_stateful) or any(
            node.op not in OPS or OPS.lookup(node.op).stateful for node in self._message.node_def
        )

    # -- the signature ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _arguments(self) -> list[tuple[str, list[DType]]]:
        return [(arg.name, self._types(arg)) for arg in self._message.signature.input_arg]

    @functools.cached_property
    def _results(self) -> list[tuple[str, list[DType]]]:
        return [(arg.name, self._types(arg)) for arg in self._message.signature.output_arg]

    def _types(self, arg: Message) -> list[DType]:
        """Returns the types of the tensors of an argument, which may be a list."""
        if arg.type_list_attr:
            return list(self._type_attr(arg.type_list_attr, tuple))
        dtype = self._type_attr(arg.type_attr, DType) if arg.type_attr else as_dtype(arg.type)
        count = self._type_attr(arg.number_attr, int) if arg.number_attr else 1
        if not 0 <= count <= _MAX_ARGUMENTS:
            raise ValueError(f"function {self.name!r}: the argument {arg.name!r} has {count} tensors")
        return [dtype] * count

    def _type_attr(self, name: str, expected: type) -> Any:
        value = self._type_attrs.get(name)
        if not isinstance(value, expected):
            raise ValueError(f"function {self.name!r} needs a value of its attribute {shown(name)}")
        return value

    @property
    def input_types(self) -> tuple[DType, ...]:
        """The types of the inputs."""
        return tuple(dtype for _, types in self._arguments for dtype in types)

    @property
    def output_types(self) -> tuple[DType, ...]:
        """The types of the results."""
        return tuple(dtype for _, types in self._results for dtype in types)

    @property
    def output_shapes(self) -> tuple[Shape, ...]:
        """The shapes of the results, as far as they are known without the body."""
        # To build a body for its shapes would build all that a graph calls when the graph is read.
        if "body" in self.__dict__:
            return super().output_shapes
        return (None,) * len(self.output_types)

    @functools.cached_property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs in the message."""
        return tuple(name for name, types in self._arguments for _ in types)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the results in the message."""
        return tuple(name for name, types in self._results for _ in types)

    # -- the body -----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def body(self) -> Body:
        """The body as a graph."""
        with _building:
            body = self.__dict__.get("body")  # by another thread
            return self._build() if body is None else body

    def _build(self) -> Body:
        try:
            graph = FunctionGraph()
            graph._functions = self._functions
            graph_def, arguments = self._graph_def()
            with graph.as_default():
                process = NodeImport(graph, graph_def, "", {}, self._origin)
                process.run()
            for operation in graph.operations:
                operation.stack = ()  # the lines that made them are in the program that wrote the message
            inputs = [process.element(f"{name}:0") for name in arguments]
            outputs = [process.element(text) for text in self._result_places()]
            controls = [process.element(self._message.control_ret[key]) for key in sorted(self._message.control_ret)]
        except (ValueError, TypeError, KeyError, LookupError) as error:
            raise errors.InvalidArgumentError(None, None, f"function {self.name!r}: {error}") from None
        types = tuple(tensor.dtype for tensor in outputs)
        if types != self.output_types:
            expected, received = ([dtype.name for dtype in dtypes] for dtypes in (self.output_types, types))
            raise errors.InvalidArgumentError(
                None, None, f"function {self.name!r} returns {received}, but its signature says {expected}"
            )
        # In a body with branches or loops the operations inside of them are not known.
        has_control_flow = any(operation.definition.facts.control_flow for operation in graph.operations)
        return Body(graph, inputs, outputs, controls if has_control_flow else with_effects(graph, controls))

    def _graph_def(self) -> tuple[Any, list[str]]:
        """Returns the body as a GraphDef with a Placeholder per argument, and the names of these."""
        # Translated to a GraphDef, a body goes through the same importer, and the same checks, as every graph.
        graph_def = message_type("GraphDef")()
        for index, (name, types) in enumerate(self._arguments):
            for place, dtype in enumerate(types):
                # A list argument becomes a Placeholder for each of its tensors, whose names the inputs of the other
                # nodes then use.
                node = graph_def.node.add(name=self._argument_name(name, place), op="Placeholder")
                write_attr(node.attr["dtype"], dtype)
                shapes = self._argument_shapes(index)
                if len(shapes) == len(types):
                    node.attr["shape"].shape.CopyFrom(shapes[place])
                else:
                    node.attr["shape"].shape.unknown_rank = True
        arguments = [node.name for node in graph_def.node]
        for original in self._message.node_def:
            node = graph_def.node.add()
            node.CopyFrom(original)
            self._substitute(node.attr)
            del node.input[:]
            node.input.extend(self._place(text) for text in original.input)
        return graph_def, arguments

    def _argument_shapes(self, index: int) -> Any:
        """Returns the shapes of an argument as messages, none if they are not given."""
        # Reading an absent key of a protobuf map adds it, which would change the function that is written out again.
        if index not in self._message.arg_attr:  # an access would add it
            return ()
        attrs = self._message.arg_attr[index].attr
        return attrs["_output_shapes"].list.shape if "_output_shapes" in attrs else ()

    def _argument_name(self, name: str, place: int) -> str:
        is_list = len(dict(self._arguments)[name]) != 1
        return f"{name}/{place}" if is_list else name

    def _substitute(self, attrs: Mapping[str, Message]) -> None:
        """Replaces the placeholders among the attributes of a node by their values."""
        for message in attrs.values():
            if message.WhichOneof("value") == "placeholder":
                write_attr(message, self._type_attr(message.placeholder, object))
            elif message.WhichOneof("value") == "func":
                self._substitute(message.func.attr)

    @functools.cached_property
    def _nodes(self) -> dict[str, Any]:
        nodes = {node.name: node for node in self._message.node_def}
        if len(nodes) < len(self._message.node_def):
            raise ValueError("the name of a node is not unique")
        return nodes

    def _offsets(self, name: str) -> dict[str, int]:
        """Returns where each output argument of a node begins among all its outputs."""
        node = self._nodes.get(name)
        if node is None:
            raise ValueError(f"Unknown input node {shown(name)}")
        # Only the signature and the attributes are needed here: the node itself does not exist yet.
        definition = self._definition(node.op)
        attrs = dict(definition.defaults)
        for key, attr in definition.attrs.items():
            if key in node.attr:
                attrs[key] = self._attr(node.attr[key], attr.kind)
        offsets, position = {}, 0
        for argument, count in output_counts(definition, attrs):
            offsets[argument] = position
            position += count
        return offsets

    def _attr(self, message: Message, kind: str) -> Any:
        if message.WhichOneof("value") == "placeholder":
            return self._type_attr(message.placeholder, object)
        return read_attr(message, kind)

    def _definition(self, op_type: str) -> OpDef:
        called = self._functions.get(op_type)
        return find_op(op_type) if called is None else called.definition

    def _place(self, text: str) -> str:
        """Returns an input of a node in the form of a GraphDef, "node:1", for "node:output:0" or an argument."""
        if len(text) > MAX_NAME or text.startswith("^"):
            return text
        name, *rest = text.split(":")
        if any(name == argument for argument, _ in self._arguments):
            return self._argument_name(name, int(rest[0]) if rest else 0)
        if not rest:
            raise ValueError(f"{shown(text)} is neither an argument nor of the form 'node:output:0'")
        offsets = self._offsets(name)
        if rest[0] not in offsets:
            raise ValueError(f"node {shown(name)} has no output {shown(rest[0])}")
        return f"{name}:{offsets[rest[0]] + int(rest[1] if len(rest) > 1 else 0)}"

    def _result_places(self) -> Iterator[str]:
        """Yields the results as names of tensors of the body."""
        for name, types in self._results:
            if name not in self._message.ret:
                raise ValueError(f"the result {shown(name)} is missing")
            text = self._message.ret[name]
            for index in range(len(types)):
                place = self._place(text if len(types) == 1 else f"{text}:{index}")
                yield place if ":" in place else f"{place}:0"

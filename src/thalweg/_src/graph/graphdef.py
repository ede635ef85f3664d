"""Serialization of graphs as GraphDef messages, which TensorFlow, TensorBoard and `import_graph_def` read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg._src.base.dtypes import DType, as_dtype
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export, export_constants, export_lazy
from thalweg._src.base.formats.message_types import Message
from thalweg._src.graph.tensor_proto import array_proto, shape_proto

if TYPE_CHECKING:
    from thalweg._src.graph.graph import Graph
    from thalweg._src.graph.operation import Operation

PRODUCER = 134  # the GraphDef version of TensorFlow 1.15, whose op semantics apply
MIN_CONSUMER = 0


_MESSAGES = {  # the file of each message, and its description
    "AssetFileDef": (
        "meta_graph",
        "Message of a file that a SavedModel needs: its name, and the tensor that takes it.",
    ),
    "AttrValue": ("attr_value", "Message of an attribute: one of s, i, f, b, type, shape, tensor, list and func."),
    "Event": ("event", "Message of an event file: a summary, graph or log entry, with its wall time and step."),
    "GraphDef": ("graph", "Message of a graph: its nodes, the library of its functions, and the versions it needs."),
    "HistogramProto": ("histogram", "Message of a histogram: bucket limits and counts, extremes, number and sums."),
    "LogMessage": ("event", "Message of a line of a log: its level and text."),
    "MetaGraphDef": (
        "meta_graph",
        "Message of a graph with its collections, signatures, assets and the ops for a Saver.",
    ),
    "NameAttrList": ("attr_value", "Message of a function as the value of an attribute: its name and attributes."),
    "NodeDef": ("node_def", "Message of an operation: its name, op, inputs, requested device and attributes."),
    "SessionLog": ("event", "Message of a change of a session: started, stopped, or a checkpoint at a path."),
    "SignatureDef": (
        "meta_graph",
        "Message of a signature: the inputs and outputs of a method, each a TensorInfo by key.",
    ),
    "Summary": (
        "summary",
        "Message of summaries of a step: values with a tag, such as scalars, images and histograms.",
    ),
    "SummaryMetadata": ("summary", "Message that says which plugin of TensorBoard shows a value, and under what name."),
    "TensorInfo": (
        "meta_graph",
        "Message of a tensor of a signature: its name, or those of a sparse one, type and shape.",
    ),
}
_IN_SUMMARY = ("Event", "SessionLog", "Summary")  # tf.summary has these too

for _name, (_file, _doc) in _MESSAGES.items():
    _names = (_name, f"summary.{_name}") if _name in _IN_SUMMARY else (_name,)
    export_lazy(f"tensorboard.compat.proto.{_file}_pb2", *_names, doc=_doc)


def message_type(name: str) -> Any:
    """Returns the class of a protocol message."""
    return getattr(import_module(f"tensorboard.compat.proto.{_MESSAGES[name][0]}_pb2"), name)


def to_graph_def(graph: Graph, add_shapes: bool = False, since: int = 0) -> Any:
    """Returns a graph as a GraphDef, nodes in order of creation; default attributes are written out.

    since: the number of operations to leave out, those that were created first
    """
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    require_members("graph", graph, "a tf.Graph", "get_operations")
    message = GraphDef()
    message.versions.producer = PRODUCER
    message.versions.min_consumer = MIN_CONSUMER
    for operation in graph.get_operations()[since:]:
        write_node(operation, message.node.add(), add_shapes)
    # Functions are written with every graph, called or not: a program may run them by name in the graph that it reads.
    for function in graph._functions.values():
        message.library.function.append(function.to_function_def())
        if function.gradient:
            message.library.gradient.add(function_name=function.name, gradient_func=function.gradient)
    return message


def node_def(operation: Operation) -> Any:
    """Returns an operation as a NodeDef."""
    from tensorboard.compat.proto.node_def_pb2 import NodeDef

    message = NodeDef()
    write_node(operation, message)
    return message


def write_node(operation: Operation, message: Message, add_shapes: bool = False) -> None:
    """Writes an operation to a NodeDef."""
    message.name = operation.name
    message.op = operation.definition.name
    message.device = operation.device
    # The first output is written without its index, and control inputs follow all data inputs: TensorFlow requires
    # both.
    for tensor in operation.inputs:
        message.input.append(tensor.name if tensor.value_index else tensor.op.name)
    message.input.extend(f"^{control.name}" for control in operation._control_inputs)
    definitions = operation.definition.attrs
    for key, value in operation.attrs.items():
        definition = definitions.get(key)
        write_attr(message.attr[key], value, None if definition is None else definition.kind)
    if add_shapes and operation.outputs:
        shapes = message.attr["_output_shapes"].list
        shapes.SetInParent()
        shapes.shape.extend(shape_proto(tensor.dims) for tensor in operation.outputs)


def write_attr(message: Message, value: Any, kind: str | None = None) -> None:
    """Writes an attribute to an AttrValue; a type is needed only where the value does not imply it."""
    # A message is an attribute that was read for an op without an implementation, and goes out as it came.
    if hasattr(value, "DESCRIPTOR"):
        (message if value.DESCRIPTOR.name == "AttrValue" else message.func).CopyFrom(value)
        return
    # Private attributes have no definition; their values tell their types, except for empty lists.
    kind = kind or kind_of(value)
    if kind.startswith("list("):
        # Without this an empty list would be no value at all.
        message.list.SetInParent()
        _write_list(message.list, kind[5:-1], value)
    elif kind == "shape":
        message.shape.CopyFrom(shape_proto(value))
    elif kind == "tensor":
        message.tensor.CopyFrom(array_proto(value, _dtype_of(value)))
    elif kind == "func":
        _write_function(message.func, value)
    else:
        setattr(message, _FIELD[kind], _plain(kind, value))


def _write_list(message: Message, kind: str, values: Iterable[Any]) -> None:
    if kind == "shape":
        message.shape.extend(shape_proto(value) for value in values)
    elif kind == "tensor":
        message.tensor.extend(array_proto(value, _dtype_of(value)) for value in values)
    elif kind == "func":
        for value in values:
            _write_function(message.func.add(), value)
    else:
        getattr(message, _FIELD[kind]).extend(_plain(kind, value) for value in values)


def _write_function(message: Message, function: Any) -> None:
    if hasattr(function, "DESCRIPTOR"):  # of an operation without an implementation here
        message.CopyFrom(function)
        return
    message.name = function.name
    for key, value in function.type_attrs.items():
        write_attr(message.attr[key], value)


_FIELD = {"type": "type", "int": "i", "float": "f", "bool": "b", "string": "s"}


def _plain(kind: str, value: Any) -> Any:
    if kind == "type":
        return value.as_datatype_enum
    if kind == "string":
        return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    return value


def _dtype_of(array: np.ndarray[Any, Any]) -> DType:
    return as_dtype(array.dtype)


def kind_of(value: object) -> str:
    """Returns the type of an attribute without a definition, from its value."""
    # An empty list has no type; readers accept any.
    if isinstance(value, list | tuple):
        return f"list({kind_of(value[0]) if value else 'string'})"
    for types, kind in _KINDS:
        if isinstance(value, types):
            return kind
    raise TypeError(f"an attribute cannot hold {value!r} of type {type(value).__name__}")


_KINDS: tuple[tuple[Any, str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (str | bytes, "string"),
    (DType, "type"),
    (np.ndarray, "tensor"),
)


@export("io.write_graph", "train.write_graph")
def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph to a file, as text or in protobuf's binary form, and returns the path.

    Args:
        graph_or_graph_def: A Graph or a GraphDef.
        logdir: Folder of the file.
        name: Name of the file.
    """
    from google.protobuf import text_format

    message = graph_or_graph_def
    if not hasattr(message, "SerializeToString"):
        message = to_graph_def(message)
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    content = text_format.MessageToString(message).encode() if as_text else message.SerializeToString()
    with open(path + ".tmp", "wb") as file:
        file.write(content)
    os.replace(path + ".tmp", path)  # readers never see a partial graph
    return path


export_constants(
    PRODUCER=("GRAPH_DEF_VERSION", "version.GRAPH_DEF_VERSION"),
    MIN_CONSUMER=("GRAPH_DEF_VERSION_MIN_CONSUMER", "version.GRAPH_DEF_VERSION_MIN_CONSUMER"),
)

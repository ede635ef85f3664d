"""Protocol messages of graphs that TensorBoard's set lacks: SavedModel, QueueRunnerDef, and those of Keras models."""

from __future__ import annotations

import functools
from typing import Any

_FILE = "thalweg/formats/graph.proto"
_META_GRAPH = "MetaGraphDef"

# Fields by number: type, then name; a star marks repeated fields.
_MESSAGES: dict[str, dict[int, str]] = {
    "SavedModel": {1: "int64 saved_model_schema_version", 2: f"{_META_GRAPH}* meta_graphs"},
    "QueueRunnerDef": {
        1: "string queue_name",
        2: "string* enqueue_op_name",
        3: "string close_op_name",
        4: "string cancel_op_name",
        5: "int32* queue_closed_exception_types",
    },
    "KerasObject": {
        2: "int32 node_id",
        3: "string node_path",
        4: "string identifier",
        5: "string metadata",
        6: "VersionDef version",
    },
    "KerasMetadata": {1: "KerasObject* nodes"},
}


@functools.cache
def message_class(name: str) -> Any:
    """Returns the class of a message."""
    from google.protobuf import descriptor_pool, message_factory

    _add_file()
    return message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(f"thalweg.{name}"))


@functools.cache
def _add_file() -> None:
    """Registers the messages in the descriptor pool of TensorBoard's, since one contains some of those."""
    from google.protobuf import descriptor_pb2, descriptor_pool
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
    from tensorboard.compat.proto.versions_pb2 import VersionDef

    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package="thalweg", syntax="proto3")
    others = {_META_GRAPH: MetaGraphDef.DESCRIPTOR, "VersionDef": VersionDef.DESCRIPTOR}
    file.dependency.extend(descriptor.file.name for descriptor in others.values())
    names = {name: f".{descriptor.full_name}" for name, descriptor in others.items()}
    add_messages(file, _MESSAGES, {**names, "KerasObject": ".thalweg.KerasObject"})
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


def add_messages(file: Any, messages: dict[str, dict[int, str]], type_names: dict[str, str]) -> None:
    """Adds messages to the description of a file; type_names: the full names of types that are messages."""
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, text in fields.items():
            field_type, field_name = text.split()
            field = message.field.add(name=field_name, number=number)
            field.label = field.LABEL_REPEATED if field_type.endswith("*") else field.LABEL_OPTIONAL
            field_type = field_type.rstrip("*")
            if field_type in type_names:
                field.type, field.type_name = field.TYPE_MESSAGE, type_names[field_type]
            else:
                field.type = field.Type.Value(f"TYPE_{field_type.upper()}")


def parse_text(text: str, message: Any) -> Any:
    """Parses text format, in which TensorFlow may have expanded the messages that an Any holds."""
    from google.protobuf import text_format

    try:
        return text_format.Parse(text, message, descriptor_pool=tensorflow_pool())
    except RecursionError:
        raise text_format.ParseError("its messages are nested too deeply") from None


@functools.cache
def tensorflow_pool() -> Any:
    """Returns a pool that has TensorBoard's messages under their names in TensorFlow."""
    from google.protobuf import descriptor_pb2, descriptor_pool, text_format
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()

    def add(file: Any) -> None:
        if file.name in added:
            return
        added.add(file.name)
        for dependency in file.dependencies:
            add(dependency)
        described = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(described)
        if described.package == "tensorboard":
            renamed = text_format.MessageToString(described).replace('".tensorboard.', '".tensorflow.')
            described = text_format.Parse(renamed, descriptor_pb2.FileDescriptorProto())
            described.package = "tensorflow"
        pool.AddSerializedFile(described.SerializeToString())

    add(MetaGraphDef.DESCRIPTOR.file)
    return pool

"""Example and SequenceExample messages for training data, wire-compatible with TensorFlow's.

The classes are built on first use, in their own descriptor pool, so that they can coexist with TensorFlow's.
"""

from __future__ import annotations

import functools
from typing import Any

from thalweg._src.base.export import export_lazy

_FILE = "tensorflow/core/example/example.proto"
_LISTS = {"BytesList": "TYPE_BYTES", "FloatList": "TYPE_FLOAT", "Int64List": "TYPE_INT64"}
_MAPS = {"Features": ("feature", "Feature"), "FeatureLists": ("feature_list", "FeatureList")}
_DOCS = {
    "BytesList": "Message of the values of a feature that are bytes.",
    "FloatList": "Message of the values of a feature that are floats.",
    "Int64List": "Message of the values of a feature that are integers.",
    "Feature": "Message of a feature: a bytes_list, float_list or int64_list.",
    "Features": "Message of the features of an example by name.",
    "FeatureLists": "Message of the features of the steps of a sequence: a FeatureList by name.",
    "FeatureList": "Message of a feature that has a value in each step of a sequence.",
    "Example": "Message of an example of training data: its features.",
    "SequenceExample": "Message of an example that is a sequence: features of the whole (context) and of each step.",
}
NAMES = tuple(_DOCS)


def _add_field(parent: Any, name: str, number: int, field_type: str, repeated: bool = False) -> Any:
    """Adds a field of a scalar type or of one of our messages."""
    field = parent.field.add(name=name, number=number)
    field_proto = type(field)
    field.label = field_proto.LABEL_REPEATED if repeated else field_proto.LABEL_OPTIONAL
    if field_type.startswith("TYPE_"):
        field.type = field_proto.Type.Value(field_type)
    else:
        field.type = field_proto.TYPE_MESSAGE
        field.type_name = f".tensorflow.{field_type}"
    return field


def _file() -> Any:
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package="tensorflow", syntax="proto3")
    for name, field_type in _LISTS.items():
        _add_field(file.message_type.add(name=name), "value", 1, field_type, repeated=True)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, name in enumerate(_LISTS, 1):
        _add_field(feature, name.replace("List", "_list").lower(), number, name).oneof_index = 0
    for name, (field, value) in _MAPS.items():
        holder = file.message_type.add(name=name)
        entry = holder.nested_type.add(name=f"{field.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _add_field(entry, "key", 1, "TYPE_STRING")
        _add_field(entry, "value", 2, value)
        _add_field(holder, field, 1, f"{name}.{entry.name}", repeated=True)
    _add_field(file.message_type.add(name="FeatureList"), "feature", 1, "Feature", repeated=True)
    _add_field(file.message_type.add(name="Example"), "features", 1, "Features")
    sequence = file.message_type.add(name="SequenceExample")
    _add_field(sequence, "context", 1, "Features")
    _add_field(sequence, "feature_lists", 2, "FeatureLists")
    return file


@functools.cache
def _classes() -> dict[str, Any]:
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    classes = {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{name}")) for name in NAMES
    }
    for message in classes.values():
        message.__module__ = "thalweg.train"  # for help() and pickle, which need a name that leads to the class
    return classes


def message_class(name: str) -> Any:
    """Returns the class of a message by its name."""
    return _classes()[name]


def parse_message(name: str, data: bytes) -> Any:
    """Returns the message that bytes hold; raises ValueError if they hold none."""
    from google.protobuf.message import DecodeError

    try:
        return message_class(name).FromString(data)
    except DecodeError as error:
        raise ValueError(str(error)) from None


def example_from_json(text: bytes) -> bytes:
    """Returns the binary form of an Example in JSON; raises ValueError if it is not one."""
    from google.protobuf import json_format
    from google.protobuf.message import DecodeError

    try:
        example = json_format.Parse(text, message_class("Example")())
        return bytes(example.SerializeToString(deterministic=True))
    except (json_format.ParseError, UnicodeDecodeError, RecursionError, DecodeError) as error:
        raise ValueError(str(error)) from None


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return message_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


for _name, _doc in _DOCS.items():
    export_lazy(__name__, f"train.{_name}", doc=_doc)

"""Structures of arguments and results in SavedModels of objects: tuples, lists and dictionaries of types of tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

from thalweg._src.base.dtypes import DType, as_dtype
from thalweg._src.base.shapes import Shape, as_shape
from thalweg._src.graph.tensor_proto import shape_proto


class NamedSpec(NamedTuple):
    """The name, the type and the shape of a tensor."""

    name: str
    dtype: DType
    shape: Shape


def structured_value(value: Any) -> Any:
    """Returns a structure as a message."""
    from tensorboard.compat.proto.struct_pb2 import StructuredValue

    message = StructuredValue()
    if value is None:
        message.none_value.SetInParent()
    elif isinstance(value, NamedSpec):
        spec = message.tensor_spec_value
        spec.name, spec.dtype = value.name, value.dtype.base_dtype.as_datatype_enum
        spec.shape.CopyFrom(shape_proto(value.shape))
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, str):
        message.string_value = value
    elif isinstance(value, dict):
        message.dict_value.SetInParent()
        for key, item in value.items():
            message.dict_value.fields[str(key)].CopyFrom(structured_value(item))
    elif isinstance(value, list | tuple):
        items = message.tuple_value if isinstance(value, tuple) else message.list_value
        items.SetInParent()
        items.values.extend(structured_value(item) for item in value)
    else:
        raise TypeError(f"a SavedModel cannot describe an argument or a result of {type(value).__name__}: {value!r}")
    return message


def read_structure(message: Any) -> Any:
    """Returns the structure that a message describes."""
    kind = message.WhichOneof("kind")
    if kind == "tensor_spec_value":
        spec = message.tensor_spec_value
        return NamedSpec(spec.name, as_dtype(spec.dtype), as_shape(spec.shape))
    if kind == "dict_value":
        return {key: read_structure(item) for key, item in message.dict_value.fields.items()}
    if kind in ("tuple_value", "list_value"):
        items = [read_structure(item) for item in getattr(message, kind).values]
        return tuple(items) if kind == "tuple_value" else items
    return None if kind in (None, "none_value") else getattr(message, kind)


def argument_spec(names: list[str], defaults: tuple[Any, ...]) -> Any:
    """Returns the parameters of a Python function, the last of them with defaults, as a message."""
    from tensorboard.compat.proto.struct_pb2 import StructuredValue

    fields: dict[str, Any] = {
        "args": names,
        "varargs": None,
        "varkw": None,
        "defaults": defaults or None,
        "kwonlyargs": [],
        "kwonlydefaults": None,
        "annotations": {},
    }
    message = StructuredValue()
    message.named_tuple_value.name = "FullArgSpec"
    for key, value in fields.items():
        message.named_tuple_value.values.add(key=key).value.CopyFrom(structured_value(value))
    return message

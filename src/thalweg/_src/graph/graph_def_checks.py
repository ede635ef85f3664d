"""Checks of a GraphDef from outside: names, inputs, devices, attributes and functions, before any of them is used.

Every entrance (`import_graph_def`, MetaGraphs, SavedModels, predictors) comes through here. What is refused is a
ValueError that names the node, as in TensorFlow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from thalweg._src.base.devices import canonical_name
from thalweg._src.base.dtypes import DType, as_dtype
from thalweg._src.base.formats.message_types import GraphDef, Message, NodeDef
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.attr import AttrDef
from thalweg._src.graph.names import INNER_NAME, NAME
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.tensor_proto import MAX_RANK, constant_array

MAX_NAME = 4096  # characters of a name, a device or an input
_SHOWN = 80  # characters of a name in an error
_node_name = re.compile(NAME).fullmatch
_inner_name = re.compile(INNER_NAME).fullmatch
_op_type = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.>\-]*").fullmatch
_attr_name = re.compile(r"[A-Za-z][A-Za-z0-9_]*|_[A-Za-z0-9_.:/>\-]*").fullmatch
_device = re.compile(r"(?!.*[0-9]{10})[A-Za-z0-9_/:*.\-]*").fullmatch
_input = re.compile(rf"(\^)?({NAME})(?::([0-9]{{1,9}}))?").fullmatch
_body_input = re.compile(rf"\^?{INNER_NAME}(:[A-Za-z0-9_]+)?(:[0-9]{{1,9}})?").fullmatch
# Attributes that passes write on nodes of a step: from outside they would state what no pass has found.
_COMPILER_ATTRS = frozenset(("_host", "_feeds", "_fetched"))
_PRIVATE_ATTRS = {
    "_class": "list(string)",
    "_gradient_op_type": "string",
    "_output_shapes": "list(shape)",
    "_after": "list(string)",
}


def shown(text: str) -> str:
    """Returns a text from outside for an error message: escaped and cut short."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def parse_input(text: str) -> tuple[str, int] | None:
    """Parses an input, "name", "name:1" or "^name", as (node, output); output -1 is a control input."""
    match = _input(text) if len(text) <= MAX_NAME else None
    if match is None or (match[1] and match[3]):
        return None
    return match[2], -1 if match[1] else int(match[3] or 0)


def check_graph_def(graph_def: GraphDef) -> None:
    """Raises ValueError unless all names, op types, devices and inputs of a GraphDef are well-formed."""
    for node in graph_def.node:
        _check_node(node, _node_name, lambda text: parse_input(text) is not None, "")
    for function in graph_def.library.function:
        name = function.signature.name
        if not well_formed(name, _inner_name):
            raise ValueError(f"the function library has a function of the invalid name {shown(name)}")
        if name in OPS:
            raise ValueError(f"Cannot add function {name!r} because an op with the same name already exists.")
        for arg in (*function.signature.input_arg, *function.signature.output_arg):
            if not well_formed(arg.name, _attr_name):
                raise ValueError(f"function {name!r}: invalid name of an argument: {shown(arg.name)}")
        # Nodes of bodies may have names that a program could not give, such as those with a leading underscore.
        for node in function.node_def:
            _check_node(node, _inner_name, _body_input, f"function {name!r}: ")


def well_formed(text: str, matches: Callable[[str], Any]) -> bool:
    """Returns whether a name has a grammar and no excessive length."""
    # The length first: a pattern is not run on megabytes.
    return len(text) <= MAX_NAME and bool(matches(text))


def _check_node(node: NodeDef, is_name: Callable[[str], Any], is_input: Callable[[str], Any], where: str) -> None:
    start = f"{where}Node {shown(node.name)}"
    if not well_formed(node.name, is_name):
        why = f"has more than {MAX_NAME}" if is_name(node.name) else "contains invalid"
        raise ValueError(f"{start}: Node name {why} characters")
    if not well_formed(node.op, _op_type):
        raise ValueError(f"{start}: invalid op type {shown(node.op)}")
    for text in node.input:
        if not well_formed(text, is_input):
            raise ValueError(f"{start}: invalid input {shown(text)}; expected 'name', 'name:1' or '^name'")
    for key in node.attr:
        check_attr_name(key, start)
    check_device(node.device, start)


def check_attr_name(key: str, start: str) -> None:
    """Raises ValueError unless the name of an attribute is well-formed; start: the beginning of the message."""
    if not well_formed(key, _attr_name):
        raise ValueError(f"{start}: invalid name of an attribute: {shown(key)}")


def check_device(device: str, start: str) -> None:
    """Raises ValueError unless the name of a device is empty or well-formed; start: the beginning of the message."""
    if not well_formed(device, _device):
        raise ValueError(f"{start}: invalid device {shown(device)}")
    if device:
        try:
            canonical_name(device)
        except ValueError as error:
            raise ValueError(f"{start}: {error}") from None


# -- attributes -------------------------------------------------------------------------------------------------------


def read_attrs(node: NodeDef, definitions: dict[str, AttrDef]) -> dict[str, Any]:
    """Returns the known and the private attributes of a NodeDef; raises ValueError for one of another type."""
    attrs = {}
    for key, message in node.attr.items():
        kind = definitions[key].kind if key in definitions else _PRIVATE_ATTRS.get(key)
        if kind is None and (not key.startswith("_") or key in _COMPILER_ATTRS):
            continue
        try:
            attrs[key] = read_attr(message, kind)
        except (TypeError, ValueError) as error:
            raise ValueError(f"attribute {key!r}: {error}") from None
    return attrs


def private_attr(key: str) -> AttrDef | None:
    """Returns the definition of an attribute that any operation may have, if it is a known one."""
    return AttrDef(_PRIVATE_ATTRS[key]) if key in _PRIVATE_ATTRS else None


def read_attr(message: Message, expected: str | None = None) -> Any:
    """Returns an attribute in the graph's representation; its type, if it is known, must be the expected one."""
    # Types are compared by the field of the message: protobuf reads what is not there as zero, so that a missing or a
    # different value would pass for a valid one.
    field = message.WhichOneof("value")
    if expected is not None:
        expected_field = "list" if expected.startswith("list(") else _FIELD_OF[expected]
        if field != expected_field:
            raise ValueError(f"expected a value of type {expected}, received {field or 'nothing'}")
    if field != "list":
        return None if field is None else _READ[field](getattr(message, field))
    # An empty list fills no field, and is a list of any type.
    filled = message.list.ListFields()
    if len(filled) > 1 or (expected is not None and filled and filled[0][0].name != _FIELD_OF[expected[5:-1]]):
        raise ValueError(f"expected {expected or 'one type'}, received lists of {[f.name for f, _ in filled]}")
    return tuple(_READ[f.name](value) for f, values in filled for value in values)


def _read_shape(message: Message) -> Shape:
    if message.unknown_rank:
        return None
    return checked_shape(tuple(None if dim.size == -1 else dim.size for dim in message.dim))


def checked_shape(sizes: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Returns a shape; raises ValueError if no tensor can have it."""
    if len(sizes) > MAX_RANK:
        raise ValueError(f"a shape has {len(sizes)} dimensions, more than {MAX_RANK}")
    # A dimension of size 0 counts as 1 here: it must not hide that the product of the others overflows in a kernel.
    count = 1
    for size in sizes:
        if size is not None and size < 0:
            raise ValueError(f"a shape has a dimension of size {size}")
        count *= 1 if size is None else max(size, 1)
    if count >= 1 << 63:
        raise ValueError(f"a shape has {count} elements, which 64 bits cannot count")
    return sizes


def _value_type(number: int) -> DType:
    # Numbers above 100 are references, which no attribute or constant of a valid graph has.
    dtype = as_dtype(number)
    if dtype._is_ref_dtype:
        raise TypeError(f"{dtype.name} is the type of a reference, not of a value")
    return dtype


_FIELD_OF = {
    "type": "type",
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}
_READ: dict[str, Callable[[Any], Any]] = {
    "s": lambda value: value.decode("utf-8", "surrogateescape"),
    "i": int,
    "f": float,
    "b": bool,
    "type": _value_type,
    "shape": _read_shape,
    "tensor": constant_array,
    "func": lambda value: value,
    "placeholder": str,
}

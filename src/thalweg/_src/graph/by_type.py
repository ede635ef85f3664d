"""The attributes of an operation that is given by flat inputs and attributes, as a GraphDef holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.dtypes import DType
from thalweg._src.graph.attr import show_value
from thalweg._src.graph.op_def import OpDef, mismatch, normalize
from thalweg._src.graph.tensor import Tensor


def complete_attrs(
    definition: OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any], name: str | None
) -> dict[str, Any]:
    """Returns the attributes with those that the inputs imply and the defaults; raises an error if one is missing."""
    known = {
        key: normalize(definition, key, definition.attrs[key], value) if key in definition.attrs else value
        for key, value in attrs.items()
    }
    for key, default in definition.defaults.items():
        known.setdefault(key, default)
    _imply_attrs(definition, inputs, known)
    missing = [key for key in definition.attrs if key not in known]
    if missing:
        raise ValueError(f"{definition.name} {name!r} is missing attributes: {', '.join(map(show_value, missing))}")
    return known


def _imply_attrs(definition: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> None:
    position = 0
    for arg in definition.inputs:
        if arg.type_list_attr is not None:
            types = attrs.setdefault(arg.type_list_attr, tuple(t.dtype for t in inputs[position:]))
            position += len(types)
            continue
        fixed = len(definition.inputs) - 1
        length = 1 if arg.number_attr is None else attrs.setdefault(arg.number_attr, len(inputs) - fixed)
        if position + length > len(inputs):
            raise ValueError(
                f"{definition.name} requires more inputs than the {len(inputs)} given: {arg.name!r} is missing"
            )
        for tensor in inputs[position : position + length]:
            expected: DType = arg.dtype or attrs.setdefault(arg.type_attr or "", tensor.dtype)
            if tensor.dtype.base_dtype != expected.base_dtype:
                raise TypeError(mismatch(definition, arg, tensor, expected))
        position += length
    if position != len(inputs):
        raise ValueError(f"{definition.name} takes {position} inputs, {len(inputs)} were given")

"""The attributes of an operation that is given by flat inputs and attributes, as a GraphDef holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.graph.attr import show_value
from thalweg._src.graph.graph_def_checks import read_attr, shown
from thalweg._src.graph.op_def import OPS, OpDef, mismatch, normalize
from thalweg._src.graph.tensor import Tensor


def complete_attrs(
    definition: OpDef,
    inputs: Sequence[Tensor],
    attrs: Mapping[str, Any],
    name: str | None,
    functions: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the attributes with those that the inputs imply and the defaults; raises an error if one is missing.

    functions: the library in which names of functions are looked up
    """
    complete = {
        key: normalize(definition, key, definition.attrs[key], value) if key in definition.attrs else value
        for key, value in attrs.items()
    }
    # Functions of ops without an implementation here stay names: nothing calls them.
    if definition.name in OPS:
        for key in [key for key in complete if key in definition.attrs and definition.attrs[key].element == "func"]:
            is_list = definition.attrs[key].is_list
            value = complete[key]
            complete[key] = (
                tuple(_function(functions, one) for one in value) if is_list else _function(functions, value)
            )
    for key, default in definition.defaults.items():
        complete.setdefault(key, default)
    _imply_attrs(definition, inputs, complete)
    missing = [key for key in definition.attrs if key not in complete]
    if missing:
        raise ValueError(f"{definition.name} {name!r} is missing attributes: {', '.join(map(show_value, missing))}")
    return complete


def _function(functions: Mapping[str, Any], reference: Any) -> Any:
    """Returns the function that an attribute names, as text or as a NameAttrList; a function itself is returned."""
    if not isinstance(reference, str) and not hasattr(reference, "DESCRIPTOR"):
        return reference
    name, attrs = (reference, {}) if isinstance(reference, str) else (reference.name, reference.attr)
    if name not in functions:
        raise ValueError(f"the function {shown(name)} is not in the library of the graph")
    return functions[name].instantiate({key: read_attr(message) for key, message in attrs.items()})


def _imply_attrs(definition: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> None:
    position = 0
    for arg in definition.inputs:
        if arg.type_list_attr is not None:
            types = attrs.setdefault(arg.type_list_attr, tuple(t.dtype for t in inputs[position:]))
            position += len(types)
            continue
        # The split of flat inputs into arguments is unambiguous: TensorFlow's ops have at most one list whose length no
        # attribute tells, and it has what the other arguments leave.
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

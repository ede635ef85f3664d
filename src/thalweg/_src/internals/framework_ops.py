"""Names of `tensorflow.python.framework.ops` that are not public: conversions, registries, name scopes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.autodiff.gradients import rule_of
from thalweg._src.autodiff.registry import GRADIENTS, GradientFunction
from thalweg._src.checkpoint import meta_graph
from thalweg._src.dtypes import DTypeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import graph_of
from thalweg._src.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_indexed_slices
from thalweg._src.graph.tensor import Tensor

_gradient_registry = GRADIENTS
_uids = itertools.count(1)
_MARKS = ("^", "loc:@")


def uid() -> int:
    """Returns an integer that no other call in this process returns."""
    return next(_uids)


def internal_convert_to_tensor(
    value: Any,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: DTypeLike | None = None,
    ctx: Any = None,
    accepted_result_types: Any = (Tensor,),
) -> Tensor:
    """Returns the value as a tensor; `as_ref` and `ctx` are ignored, since tensors hold values."""
    return convert_to_tensor(value, dtype, name, preferred_dtype)


def convert_n_to_tensor(
    values: Sequence[Any],
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
) -> list[Tensor]:
    """Returns values as tensors, named with their positions."""
    return [
        convert_to_tensor(value, dtype, None if name is None else f"{name}_{i}", preferred_dtype)
        for i, value in enumerate(values)
    ]


def internal_convert_n_to_tensor(
    values: Sequence[Any],
    dtype: DTypeLike | None = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: DTypeLike | None = None,
    ctx: Any = None,
) -> list[Tensor]:
    """Returns values as tensors; `as_ref` and `ctx` are ignored."""
    return convert_n_to_tensor(values, dtype, name, preferred_dtype)


def convert_n_to_tensor_or_indexed_slices(
    values: Sequence[Any], dtype: DTypeLike | None = None, name: str | None = None
) -> list[Any]:
    """Returns values as tensors; IndexedSlices and None are returned unchanged."""
    return [
        None
        if value is None
        else convert_to_tensor_or_indexed_slices(value, dtype, None if name is None else f"{name}_{i}")
        for i, value in enumerate(values)
    ]


def convert_to_tensor_or_composite(value: Any, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Returns the value as a tensor; sparse tensors and IndexedSlices are returned unchanged."""
    return value if isinstance(value, SparseTensor | IndexedSlices) else convert_to_tensor(value, dtype, name)


def is_dense_tensor_like(t: Any) -> bool:
    """Returns whether a value is a tensor or a variable."""
    return isinstance(t, Tensor) or hasattr(t, "_as_graph_element")


def _get_graph_from_inputs(op_input_list: Sequence[Any], graph: Graph | None = None) -> Graph:
    """Returns the given graph, that of the first input that has one, or the default graph."""
    return graph or graph_of(op_input_list) or get_default_graph()


def get_gradient_function(op: Operation) -> GradientFunction | None:
    """Returns the gradient function of an operation, None if it has none."""
    return rule_of(op) if op.inputs else None


class RegisterShape:
    """A decorator that only returns its function, as in TensorFlow 1.15: an op is declared with its shape function."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: Any) -> Any:
        """Returns the function unchanged."""
        return f


def set_shapes_for_outputs(op: Operation) -> None:
    """Does nothing: shapes are inferred when an operation is created."""


def name_from_scope_name(name: str) -> str:
    """Returns a name without the slash at its end."""
    return name.removesuffix("/")


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Returns the name of a node, control input or colocation group without the scope at its beginning."""
    if not export_scope:
        return name
    for mark in _MARKS:
        if name.startswith(mark):
            return mark + strip_name_scope(name.removeprefix(mark), export_scope)
    return name.removeprefix(f"{export_scope.removesuffix('/')}/")


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Returns the name of a node, control input or colocation group with a scope before it."""
    if not import_scope:
        return name
    for mark in _MARKS:
        if name.startswith(mark):
            return mark + prepend_name_scope(name.removeprefix(mark), import_scope)
    return f"{import_scope.removesuffix('/')}/{name}"


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Registers how members of a collection are converted to messages of a type, and back."""
    meta_graph.register_proto_function(
        collection_name,
        lambda member, scope: member if to_proto is None else to_proto(member, export_scope=scope),
        lambda data, scope: _from_bytes(data, scope, proto_type, from_proto),
    )


def _from_bytes(data: bytes, scope: str | None, proto_type: Any, from_proto: Callable[..., Any] | None) -> Any:
    message = data if proto_type is None else proto_type.FromString(data)
    return message if from_proto is None else from_proto(message, import_scope=scope)

"""Names of `tensorflow.python.framework.ops` that are not public: conversions, registries, name scopes."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.graph.autodiff.gradients import rule_of
from thalweg._src.graph.autodiff.registry import GRADIENTS, GradientFunction
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.default_stacks import default_session_scope
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import colocate_with, graph_of, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_indexed_slices
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.checkpoint import meta_graph
from thalweg._src.training.observe.profiler import STATISTICS, OpStats, statistics_of

_gradient_registry = GRADIENTS
name_scope_v1 = name_scope
NullContextmanager = contextlib.nullcontext
_uids = itertools.count(1)
_MARKS = ("^", "loc:@")


def uid() -> int:
    """Returns an integer that no other call in this process returns."""
    return next(_uids)


def internal_convert_to_tensor(
    value: object,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: DTypeLike | None = None,
    ctx: object = None,
    accepted_result_types: object = (Tensor,),
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
    ctx: object = None,
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


def convert_to_tensor_or_composite(value: object, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Returns the value as a tensor; sparse tensors and IndexedSlices are returned unchanged."""
    return value if isinstance(value, SparseTensor | IndexedSlices) else convert_to_tensor(value, dtype, name)


def is_dense_tensor_like(t: TensorLike) -> bool:
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
    proto_type: object = None,
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


def get_name_scope() -> str:
    """Returns the current name scope of the default graph."""
    return get_default_graph().scopes.name


def get_all_collection_keys() -> list[str]:
    """Returns the names of the collections of the default graph that are not empty."""
    return get_default_graph().get_all_collection_keys()


def default_session(session: object) -> contextlib.AbstractContextManager[Any]:
    """Returns a context manager that makes a session the default one."""
    return default_session_scope(session)


def inside_function() -> bool:
    """Returns whether the default graph is the body of a function."""
    return get_default_graph().building_function


def tensor_id(tensor: Tensor) -> int:
    """Returns a number that differs between tensors."""
    return tensor._id


def _as_graph_element(obj: object) -> Any:
    """Returns the tensor or operation that an object stands for, None if it stands for none."""
    convert = getattr(obj, "_as_graph_element", None)
    return None if convert is None else convert()


def _assert_same_graph(original_item: Any, item: Any) -> None:
    """Raises ValueError unless two elements belong to one graph."""
    if original_item.graph is not item.graph:
        raise ValueError(f"{item} must be from the same graph as {original_item}.")


@contextlib.contextmanager
def _colocate_with_for_gradient(op: Operation, gradient_uid: object, ignore_existing: bool = False) -> Iterator[None]:
    """Places operations created inside on the device of `op`."""
    with colocate_with(op, ignore_existing):
        yield


class RegisterStatistics:
    """A decorator of a function from a graph and a NodeDef to OpStats, such as the "flops" that profiles count."""

    def __init__(self, op_type: str, statistic_type: str) -> None:
        self._key = op_type, statistic_type

    def __call__(self, f: Callable[..., OpStats]) -> Callable[..., OpStats]:
        """Registers the function and returns it."""
        STATISTICS.register(",".join(self._key), f)
        return f


def get_stats_for_node_def(graph: Graph, node: object, statistic_type: str) -> OpStats:
    """Returns a statistic of a node, without a value if none is registered."""
    return statistics_of(graph, node, statistic_type)

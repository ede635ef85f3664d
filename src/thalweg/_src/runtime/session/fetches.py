"""Fetches: nested structures of tensors and operations, flattened for a step and rebuilt from its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices, IndexedSlicesValue
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.session_tensors import get_session_handle_op
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue, components_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.session_tensors import TensorHandle

Build = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class Composite:
    """How a composite type, which stands for several tensors, is fetched and fed."""

    fetch: Callable[[Any], Any]  # value -> (components, function that rebuilds a value)
    feed: Callable[[Any, Any], Any] | None  # (key, value) -> pairs of a component and its value
    feed_keys: Callable[[Any], Any] | None  # key -> components


COMPOSITES: dict[type, Composite] = {}


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], Any],
    feed_function: Callable[..., Any] | None = None,
    feed_function_for_partial_run: Callable[..., Any] | None = None,
) -> None:
    """Registers how sessions fetch and feed a composite type.

    `fetch_function(value)` returns the components and a function that builds one value from theirs, `feed_function(key,
    value)` returns pairs of a component and its value, `feed_function_for_partial_run(key)` returns the components.
    """
    if any(issubclass(tensor_type, registered_type) for registered_type in COMPOSITES):
        raise ValueError(f"{tensor_type} is already registered for Session.run")
    COMPOSITES[tensor_type] = Composite(fetch_function, feed_function, feed_function_for_partial_run)


def _components_of_slices(slices: IndexedSlices) -> list[Tensor]:
    return [slices.values, slices.indices] + ([] if slices.dense_shape is None else [slices.dense_shape])


def _slices_value(components: Sequence[Any]) -> IndexedSlicesValue:
    values, indices, *dense_shape = components
    return IndexedSlicesValue(values, indices, dense_shape[0] if dense_shape else None)


register_session_run_conversion_functions(
    IndexedSlices,
    lambda slices: (_components_of_slices(slices), _slices_value),
    lambda slices, value: list(zip(_components_of_slices(slices), value)),
    _components_of_slices,
)
register_session_run_conversion_functions(
    SparseTensor,
    lambda sparse: (components_of(sparse), lambda values: SparseTensorValue(*values)),
    lambda sparse, value: list(zip(components_of(sparse), value, strict=True)),
    components_of,
)


@dataclass(slots=True)
class Fetches:
    """The distinct tensors and operations of a fetch, and how to build the user's structure from their values."""

    positions: dict[Tensor, int] = field(default_factory=dict)
    targets: dict[Operation, None] = field(default_factory=dict)
    composites: list[Any] = field(default_factory=list)
    session: Any = None
    build: Build = lambda values: None

    @property
    def tensors(self) -> list[Tensor]:
        return list(self.positions)

    @property
    def operations(self) -> list[Operation]:
        return list(self.targets)


def key_of(fetches: object) -> Any:
    """Returns a hashable key that is equal for fetches of the same structure and the same elements."""
    kind = type(fetches)
    if kind is Tensor or kind is Operation or kind is str:
        return fetches
    if isinstance(fetches, list | tuple):
        return (kind, *[key_of(item) for item in fetches])
    if isinstance(fetches, Mapping):
        return (kind, tuple(fetches), *[key_of(item) for item in fetches.values()])
    attributes = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return (kind, *[key_of(getattr(fetches, a.name)) for a in attributes])
    return (kind, id(fetches)) if kind in COMPOSITES else fetches


def flatten(graph: Graph, fetches: object, session: object = None) -> Fetches:
    """Checks the fetches against the graph and returns them flat."""
    result = Fetches(session=session)
    result.build = _builder(graph, fetches, result)
    return result


def _builder(graph: Graph, fetches: object, flat: Fetches) -> Build:
    if fetches is None:
        raise TypeError(f"Fetch argument {fetches!r} has invalid type {type(fetches)}")
    if isinstance(fetches, list | tuple):
        return _sequence_builder(graph, fetches, flat)
    if isinstance(fetches, Mapping):
        keys = list(fetches)
        builders = [_builder(graph, fetches[key], flat) for key in keys]
        kind: Any = type(fetches) if type(fetches) in (dict,) or hasattr(fetches, "move_to_end") else dict
        return lambda values: kind((key, build(values)) for key, build in zip(keys, builders))
    attributes = getattr(type(fetches), "__attrs_attrs__", None)
    if attributes is not None:
        attrs_type, names = type(fetches), [a.name for a in attributes]
        builders = [_builder(graph, getattr(fetches, name), flat) for name in names]
        return lambda values: attrs_type(**{name: build(values) for name, build in zip(names, builders)})
    for kind, composite in COMPOSITES.items():
        if isinstance(fetches, kind):
            tensors, contract = composite.fetch(fetches)
            builders = [_builder(graph, tensor, flat) for tensor in tensors]
            flat.composites.append(fetches)
            return lambda values: contract([build(values) for build in builders])
    return _leaf_builder(graph, fetches, flat)


def _sequence_builder(graph: Graph, fetches: Any, flat: Fetches) -> Build:
    builders = [_builder(graph, item, flat) for item in fetches]
    kind = type(fetches)
    if kind is list:
        return lambda values: [build(values) for build in builders]
    if hasattr(kind, "_fields"):
        return lambda values: kind(*[build(values) for build in builders])
    return lambda values: kind([build(values) for build in builders])


def _leaf_builder(graph: Graph, fetch: object, flat: Fetches) -> Build:
    try:
        element = graph.as_graph_element(fetch)
    except TypeError as error:
        raise TypeError(
            f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or Tensor. ({error}) "
            "A fetch is a tensor, an operation, the name of one, or a structure of these."
        ) from None
    except ValueError as error:
        raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})") from None
    except KeyError as error:
        raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error.args[0]})") from None
    if not graph.is_fetchable(element):
        operation = element if isinstance(element, Operation) else element.op
        sentence = f"Operation {operation.name!r} has been marked as not fetchable"
        raise ValueError(f"{sentence}: it is in a while loop, or prevent_fetching was called.")
    if isinstance(element, Operation):
        flat.targets[element] = None
        return lambda values: None
    position = flat.positions.setdefault(readable(element), len(flat.positions))
    if element.op.definition is get_session_handle_op:
        dtype = element.op.attrs["T"]
        return lambda values: TensorHandle.of(values[position], dtype, flat.session)
    return itemgetter(position)


def readable(tensor: Tensor) -> Tensor:
    """Returns a tensor with a value: for a variable's handle, fetched by name, the variable's value."""
    if tensor.dtype is dtypes.resource and tensor.op.type == "VarHandleOp":
        for consumer in tensor.consumers():
            if consumer.type == "ReadVariableOp":
                return consumer.outputs[0]
    return tensor

"""Lists of operations and tensors, and placeholders for tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_kind, require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.tensor import Tensor

PLACEHOLDER_PREFIX = "geph"


def graph_of_all(elements: Iterable[Any]) -> Graph | None:
    """Returns the one graph of all elements, None without elements; elements of two graphs are refused."""
    graph: Graph | None = None
    for element in elements:
        if graph is not None and element.graph is not graph:
            raise ValueError(f"{element.name!r} is from another graph than the elements before it")
        graph = element.graph
    return graph


def _listed(elements: Any, kind: type, other: type, ignore_others: bool, check_graph: bool) -> list[Any]:
    if isinstance(elements, kind):
        return [elements]
    if isinstance(elements, other) and ignore_others:
        return []
    if isinstance(elements, str | bytes | Tensor | Operation) or not isinstance(elements, Iterable):
        raise TypeError(f"expected a tf.{kind.__name__} or an iterable of them, received {elements!r}")
    listed = list(elements)
    if ignore_others:
        listed = [element for element in listed if not isinstance(element, other)]
    for element in listed:
        if not isinstance(element, kind):
            raise TypeError(f"expected a tf.{kind.__name__}, received {element!r}")
    if check_graph:
        graph_of_all(listed)
    return listed


@export("contrib.graph_editor.make_list_of_op")
def make_list_of_op(
    ops: object, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Operation]:
    """Returns operations as a list."""
    if isinstance(ops, Graph):
        if not allow_graph:
            raise TypeError("ops: expected operations, received a graph")
        return ops.get_operations()
    return _listed(ops, Operation, Tensor, ignore_ts, check_graph)


@export("contrib.graph_editor.make_list_of_t")
def make_list_of_t(
    ts: object, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Tensor]:
    """Returns tensors as a list."""
    if isinstance(ts, Graph):
        if not allow_graph:
            raise TypeError("ts: expected tensors, received a graph")
        return get_tensors(ts)
    return _listed(ts, Tensor, Operation, ignore_ops, check_graph)


@export("contrib.graph_editor.get_tensors")
def get_tensors(graph: Graph) -> list[Tensor]:
    """Returns all tensors of a graph, in the order of their creation."""
    if not isinstance(graph, Graph):
        raise TypeError(f"graph: expected a tf.Graph, received {type(graph)}")
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


@export("contrib.graph_editor.get_generating_ops")
def get_generating_ops(ts: object) -> list[Operation]:
    """Returns the operations whose outputs the tensors are."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


@export("contrib.graph_editor.get_consuming_ops")
def get_consuming_ops(ts: object) -> list[Operation]:
    """Returns the operations that have one of the tensors as an input, each once."""
    return list(dict.fromkeys(op for tensor in make_list_of_t(ts, allow_graph=False) for op in tensor.consumers()))


@export("contrib.graph_editor.ControlOutputs")
class ControlOutputs:
    """The operations that each operation of a graph runs before, by control dependencies."""

    def __init__(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"graph: expected a tf.Graph, received {type(graph)}")
        self._graph = graph

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    def update(self) -> ControlOutputs:
        """Returns this object, which is always up to date."""
        return self

    def get_all(self) -> dict[Operation, list[Operation]]:
        """Returns the operations that run after each operation that has some."""
        return {op: self.get(op) for op in self._graph.get_operations() if op._control_outputs}

    def get(self, op: Operation) -> list[Operation]:
        """Returns the operations that run after an operation."""
        return list(op._control_outputs)


@export("contrib.graph_editor.placeholder_name")
def placeholder_name(t: Tensor | None = None, scope: str | None = None, prefix: str = PLACEHOLDER_PREFIX) -> str:
    """Returns the name of the placeholder for a tensor, or for none in particular."""
    if scope:
        require_text("scope", scope)
    scope = f"{scope.rstrip('/')}/" if scope else ""
    if t is None:
        return f"{scope}{prefix}"
    if not isinstance(t, Tensor):
        raise TypeError(f"t: expected a tf.Tensor, received {type(t)}")
    return f"{scope}{prefix}__{t.op.name.rpartition('/')[2]}_{t.value_index}"


@export("contrib.graph_editor.make_placeholder_from_tensor")
def make_placeholder_from_tensor(t: Tensor, scope: str | None = None, prefix: str = PLACEHOLDER_PREFIX) -> Tensor:
    """Returns a placeholder with the type and shape of a tensor."""
    require_kind("t", t, Tensor, "a tf.Tensor")
    return placeholder(t.dtype.base_dtype, t.shape, name=placeholder_name(t, scope, prefix))


@export("contrib.graph_editor.make_placeholder_from_dtype_and_shape")
def make_placeholder_from_dtype_and_shape(
    dtype: DTypeLike, shape: ShapeLike = None, scope: str | None = None, prefix: str = PLACEHOLDER_PREFIX
) -> Tensor:
    """Returns a placeholder."""
    return placeholder(dtype, shape, name=placeholder_name(None, scope, prefix))

"""Constant folding: what depends on constants alone is computed once, and becomes a constant."""

from __future__ import annotations

from collections.abc import Collection

from thalweg._src.base import dtypes
from thalweg._src.base.formats.message_types import GraphDef
from thalweg._src.base.shapes import num_elements
from thalweg._src.deploy.transform.names import sort_by_execution_order
from thalweg._src.deploy.transform.nodes import Array, constant_node, edited, is_pure, used_by, with_nodes
from thalweg._src.deploy.transform.registry import Context, transform
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.freezing import source_of
from thalweg._src.runtime.session.session import Session

_LARGEST = 10 << 20  # bytes of a folded constant, as in TensorFlow


@transform("fold_constants", "clear_output_shapes", "exclude_op")
def fold_constants(graph_def: GraphDef, context: Context) -> GraphDef:
    """Replaces nodes that depend on constants alone by constants, and removes what is not used any more."""
    if context.flag("clear_output_shapes", True):
        graph_def = edited(graph_def, lambda node: node.attr.pop("_output_shapes", None))
    needed = sort_by_execution_order(used_by(graph_def, context.outputs), context)
    values = _values(needed, _foldable(needed, context.inputs, context.many("exclude_op")), context.outputs)
    nodes = [constant_node(n.name, values[n.name]) if n.name in values else n for n in needed.node]
    for node, original in zip(nodes, needed.node):
        node.device = original.device
    return used_by(with_nodes(needed, nodes), context.outputs)


def _foldable(graph_def: GraphDef, inputs: Collection[str], excluded: Collection[str]) -> list[str]:
    """Returns the nodes that depend on constants alone, constants excepted, in the order of execution."""
    constants = {node.name for node in graph_def.node if node.op == "Const" and not node.input}
    foldable: list[str] = []
    for node in graph_def.node:
        if node.name in inputs or node.op in excluded or not node.input:
            continue
        if not is_pure(node) or not OPS.lookup(node.op).single_output:
            continue
        if all(text[0] != "^" and source_of(text) in constants for text in node.input):
            constants.add(node.name)
            foldable.append(node.name)
    return foldable


def _values(graph_def: GraphDef, foldable: list[str], outputs: Collection[str]) -> dict[str, Array]:
    """Returns the values of those foldable nodes that others or the outputs use."""
    inside = set(foldable)
    used = {source_of(text) for node in graph_def.node if node.name not in inside for text in node.input}
    names = [name for name in foldable if name in used or name in outputs]
    if not names:
        return {}
    with Graph().as_default() as graph, Session(graph=graph) as session:
        needed = used_by(graph_def, names)
        for node in needed.node:
            node.device = ""
        tensors = import_graph_def(needed, name="", return_elements=[f"{name}:0" for name in names])
        assert tensors is not None
        small = [tensor for tensor in tensors if _is_small(tensor)]
        return dict(zip((tensor.op.name for tensor in small), session.run(small)))


def _is_small(tensor: Tensor) -> bool:
    size = num_elements(tensor.dims)
    of_values = tensor.dtype not in (dtypes.resource, dtypes.variant)
    return of_values and (size is None or size * tensor.dtype.size <= _LARGEST)

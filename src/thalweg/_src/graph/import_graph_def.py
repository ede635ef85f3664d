"""GraphDef import: adds the nodes of a GraphDef, ours or TensorFlow's, to the default graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.message_types import GraphDef, Message
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph_def_checks import check_graph_def
from thalweg._src.graph.graphdef import PRODUCER
from thalweg._src.graph.import_nodes import NodeImport, Origin, element_key
from thalweg._src.graph.imported_function import imported_functions
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.trust import refuse


@export("import_graph_def", "graph_util.import_graph_def")
def import_graph_def(
    graph_def: GraphDef,
    input_map: dict[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: object = None,
    producer_op_list: Message | None = None,
    trusted: bool | None = None,
) -> list[Any] | None:
    """Adds the nodes under a name prefix; returns the requested elements: operations by name, tensors by "name:0".

    input_map replaces tensors of the GraphDef with tensors of the graph: keys are "name:0", "name" (its first
    output) and "^name" (a control input). op_dict is ignored, as in TensorFlow.

    trusted: by default the graph may contain whatever TensorFlow accepts, but it cannot call Python functions and
    datasets of this process, as it can with True; False refuses all operations that reach files or Python

    Args:
        input_map: Tensors of this graph that replace inputs of the GraphDef, by their name in it.
        return_elements: Names of the operations and tensors to return.
        name: Prefix of the imported names; "import" by default.
        op_dict: Deprecated and ignored.
        producer_op_list: The `OpList` of the program that wrote the graph; default attributes are removed by it.
    """
    if getattr(getattr(graph_def, "DESCRIPTOR", None), "name", "") != "GraphDef":
        raise TypeError(f"graph_def must be a GraphDef proto, received {type(graph_def).__name__}")
    if graph_def.versions.min_consumer > PRODUCER:
        raise ValueError(
            f"the GraphDef needs a reader of version {graph_def.versions.min_consumer}, this one has {PRODUCER}"
        )
    # Everything that can be refused by looking at the message is refused before the graph is touched.
    check_graph_def(graph_def)
    if trusted is False:
        refuse(graph_def)
    requested = _checked(return_elements)
    if input_map is not None:
        require_members("input_map", input_map, "a dict of names and tensors, or None", "items")
    if producer_op_list is not None:
        require_members("producer_op_list", producer_op_list, "an OpList message or None", "op")
    mapped = {element_key(key): value for key, value in (input_map or {}).items()}
    graph = get_default_graph()
    producer_ops = {} if producer_op_list is None else {op.name: op for op in producer_op_list.op}
    origin = Origin(graph_def.versions.producer, producer_ops, trusted)
    # An error half-way leaves the graph and its library of functions as they were.
    with (
        graph.all_or_nothing(),
        imported_functions(graph, graph_def.library, origin),
        name_scope(name, "import", list(mapped.values())) as scope,
    ):
        process = NodeImport(graph, graph_def, scope[:-1], _as_tensors(mapped, name), origin)
        process.run()
        return None if requested is None else [process.element(element) for element in requested]


def _checked(return_elements: Iterable[str] | None) -> list[str] | None:
    if return_elements is None:
        return None
    elements = list(return_elements)
    if isinstance(return_elements, str) or not all(isinstance(element, str) for element in elements):
        raise TypeError(f"return_elements: expected a list of names, received {return_elements!r}")
    return elements


def _as_tensors(mapped: dict[tuple[str, int], Any], name: str | None) -> dict[tuple[str, int], Any]:
    for (key, output), value in mapped.items():
        if output >= 0 and isinstance(value, Operation):
            raise TypeError(f"input_map[{key!r}] must be a Tensor, not the Operation {value.name!r}")
    # Other values become constants, which need a scope to be named in; without a prefix there is none.
    if all(isinstance(value, Tensor | Operation) for value in mapped.values()):
        return mapped
    if name == "":
        raise ValueError(
            "import_graph_def with name='' takes only tensors in input_map: "
            "convert the other values with tf.convert_to_tensor first"
        )
    with name_scope("_inputs"):
        return {k: v if isinstance(v, Tensor | Operation) else convert_to_tensor(v) for k, v in mapped.items()}

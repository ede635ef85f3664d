"""Inlining of functions in GraphDefs: the nodes of their bodies stand where they are called.

SavedModels of TensorFlow 2 consist of calls; what looks for layers in a graph finds none in them otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.deploy.transform.nodes import copied, new_node, with_nodes
from thalweg._src.graph.function import CALLS, FunctionOp
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

_MAX_DEPTH = 64  # functions that call each other
_MAX_NODES = 1 << 20  # a library of a few bytes can ask for any number


def inline_calls(graph_def: GraphDef) -> GraphDef:
    """Returns a frozen graph without calls of functions; conditionals and loops keep theirs."""
    functions = {function.signature.name for function in graph_def.library.function}
    if not any(node.op in CALLS or node.op in functions for node in graph_def.node):
        return graph_def
    graph = Graph()
    with graph.as_default():
        import_graph_def(graph_def, name="")
    inlined: list[NodeDef] = []
    for operation in graph.get_operations():
        _expand(inlined, operation, "", {}, 0)
    result = with_nodes(graph_def, inlined)
    if not any(value.HasField("func") or value.list.func for node in inlined for value in node.attr.values()):
        result.ClearField("library")
    return result


def _expand(
    inlined: list[NodeDef], operation: Operation, prefix: str, places: Mapping[Tensor, str], depth: int
) -> None:
    """Adds an operation of a body, or the body that it calls and an identity with its name.

    places: what stands for arguments of the body
    """
    if depth > _MAX_DEPTH or len(inlined) > _MAX_NODES:
        raise invalid(
            f"functions: expected {_MAX_DEPTH} levels of calls and {_MAX_NODES} nodes at most, "
            f"received more at {operation.name!r}"
        )

    def place(tensor: Tensor) -> str:
        return places.get(tensor) or f"{prefix}{tensor.name}".removesuffix(":0")

    node = copied(operation.node_def)
    node.name = f"{prefix}{node.name}"
    arguments = [place(tensor) for tensor in operation.inputs]
    fed = {tensor.op for tensor in places}
    controls = [f"^{prefix}{source.name}" for source in operation.control_inputs if source not in fed]
    if operation.type not in CALLS and not isinstance(operation.definition, FunctionOp):
        node.input[:] = [*arguments, *controls]
        node.attr.pop("_class", None)  # names of nodes
        inlined.append(node)
        return
    function = operation.definition.function if isinstance(operation.definition, FunctionOp) else operation.attrs["f"]
    inner = dict(zip(function.inputs, arguments))
    for inner_op in function.operations:
        _expand(inlined, inner_op, f"{node.name}/", inner, depth + 1)
    results = [inner.get(tensor) or f"{node.name}/{tensor.name}" for tensor in function.outputs]
    types = list(function.output_types)
    if len(results) == 1:
        inlined.append(new_node("Identity", node.name, [*results, *controls], T=types[0]))
    elif results:
        inlined.append(new_node("IdentityN", node.name, [*results, *controls], T=types))
    else:
        targets = [f"^{node.name}/{target.name}" for target in function.targets]
        inlined.append(new_node("NoOp", node.name, [*targets, *controls]))

"""Rewrites of GraphDefs for deployment: extracting subgraphs, freezing variables, removing training nodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._src import dtypes
from thalweg._src.export import export
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graphdef import message_type, write_attr
from thalweg._src.graph.operation import Operation
from thalweg._src.ops.tensor_proto import make_tensor_proto
from thalweg._src.shapes import TensorShape

_VARIABLES = ("VarHandleOp", "Variable", "VariableV2", "AutoReloadVariable")
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")


def _source(name: str) -> str:
    """Returns the name of the node in an input of a NodeDef."""
    return name.removeprefix("^").partition(":")[0]


@export("graph_util.must_run_on_cpu")
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Returns whether a node must run on the host, as operations on strings and shapes do."""
    node_def = node.node_def if isinstance(node, Operation) else node
    if pin_variables_on_cpu and node_def.op in (*_VARIABLES, "Assign", "AssignVariableOp"):
        return True
    kinds = {node_def.attr[key].type for key in ("dtype", "T", "SrcT", "DstT") if key in node_def.attr}
    counts = node_def.op in ("Const", "DynamicStitch", "ParallelDynamicStitch")
    return dtypes.string.as_datatype_enum in kinds or (counts and dtypes.int32.as_datatype_enum in kinds)


@export("graph_util.extract_sub_graph")
def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """Returns the GraphDef of the given nodes and all their ancestors, in the original order."""
    _require_graph_def(graph_def)
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    needed: set[str] = set()
    waiting = deque(dest_nodes)
    while waiting:
        name = waiting.popleft()
        if name not in needed and name in nodes:
            needed.add(name)
            waiting.extend(_source(source) for source in nodes[name].input)
    result = _without_nodes(graph_def)
    result.node.extend(node for node in graph_def.node if node.name in needed)
    return result


def _require_graph_def(graph_def: Any) -> None:
    if getattr(getattr(graph_def, "DESCRIPTOR", None), "name", "") != "GraphDef":
        raise TypeError(f"expected a GraphDef message as graph_def, received {type(graph_def)}")


def _without_nodes(graph_def: Any) -> Any:
    result = message_type("GraphDef")()
    result.library.CopyFrom(graph_def.library)
    result.versions.CopyFrom(graph_def.versions)
    return result


@export("graph_util.tensor_shape_from_node_def_name")
def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """Returns the static shape of the tensor named by an input of a NodeDef."""
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).get_shape()


@export("graph_util.convert_variables_to_constants")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """Freezes a graph: returns the subgraph of the outputs with variables replaced by constants of their values."""
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    names = variables_of(graph_def, variable_names_whitelist, variable_names_blacklist)
    values = dict(zip(names, sess.run([_read_name(sess.graph, name) for name in names]))) if names else {}
    return frozen(graph_def, values)


def variables_of(graph_def: Any, whitelist: Collection[str] | None, blacklist: Collection[str] | None) -> list[str]:
    """Returns the names of the variables of a graph that are on the first list, if given, and not on the second."""
    return [
        node.name
        for node in graph_def.node
        if node.op in _VARIABLES
        and (whitelist is None or node.name in whitelist)
        and (blacklist is None or node.name not in blacklist)
    ]


def frozen(graph_def: Any, values: Mapping[str, Any]) -> Any:
    """Returns the graph with variables replaced by constants."""
    nodes = {node.name: node for node in graph_def.node}
    result = _without_nodes(graph_def)
    for node in graph_def.node:
        if node.name in values:
            _write_constant(result.node.add(), node, values[node.name])
        elif node.op in _READS and _handle(nodes, node) in values:
            _write_read(result, node)
        else:
            result.node.add().CopyFrom(node)
    return result


def _read_name(graph: Graph, name: str) -> str:
    """Returns the name of a tensor that holds a variable's value."""
    operation = graph.get_operation_by_name(name)
    if operation.type != "VarHandleOp":
        return f"{name}:0"
    for consumer in operation.outputs[0].consumers():
        if consumer.type == "ReadVariableOp":
            return consumer.outputs[0].name
    raise ValueError(f"no operation of the session's graph reads the variable {name!r}")


def _handle(nodes: dict[str, Any], node: Any) -> str:
    """Returns the name of the variable that a node reads, through identities."""
    name = _source(node.input[0])
    while name in nodes and nodes[name].op == "Identity":
        name = _source(nodes[name].input[0])
    return name


def _write_constant(message: Any, variable: Any, value: Any) -> None:
    message.name, message.op, message.device = variable.name, "Const", variable.device
    message.attr["dtype"].CopyFrom(variable.attr["dtype"])
    message.attr["value"].tensor.CopyFrom(make_tensor_proto(value, dtype=variable.attr["dtype"].type))


def _write_read(graph_def: Any, node: Any) -> None:
    """Replaces an operation that reads a variable by the equivalent one on a constant."""
    message = graph_def.node.add()
    message.name, message.device = node.name, node.device
    message.input.extend(node.input)
    if node.op == "ReadVariableOp":
        message.op = "Identity"
        message.attr["T"].CopyFrom(node.attr["dtype"])
        return
    message.op = "GatherNd" if node.op == "ResourceGatherNd" else "GatherV2"
    message.attr["Tparams"].CopyFrom(node.attr["dtype"])
    message.attr["Tindices"].CopyFrom(node.attr["Tindices"])
    if message.op == "GatherV2":
        axis = graph_def.node.add()
        axis.name, axis.op, axis.device = f"{node.name}/axis", "Const", node.device
        write_attr(axis.attr["dtype"], dtypes.int32, "type")
        write_attr(axis.attr["value"], np.array(node.attr["batch_dims"].i, np.int32), "tensor")
        message.input.insert(2, axis.name)
        write_attr(message.attr["Taxis"], dtypes.int32, "type")
        message.attr["batch_dims"].CopyFrom(node.attr["batch_dims"])


@export("graph_util.remove_training_nodes")
def remove_training_nodes(input_graph: Any, protected_nodes: Collection[str] | None = None) -> Any:
    """Returns the GraphDef without the nodes that only check or forward a value: CheckNumerics and Identity.

    An Identity node stays if it has control inputs or control outputs.
    """
    protected = set(protected_nodes or ())
    checked = _spliced(input_graph, {n.name for n in input_graph.node if n.op == "CheckNumerics"} - protected)
    controls = {_source(i) for node in checked.node for i in node.input if i.startswith("^")}
    plain = {n.name for n in checked.node if n.op == "Identity" and not any(i.startswith("^") for i in n.input)}
    return _spliced(checked, plain - protected - controls)


def _spliced(graph_def: Any, removed: set[str]) -> Any:
    """Returns the GraphDef with each use of a removed node replaced by the node's first input."""
    inputs = {node.name: node.input[0] for node in graph_def.node if node.name in removed and node.input}

    def follow(name: str) -> str:
        control = "^" if name.startswith("^") else ""
        while _source(name) in inputs:
            name = inputs[_source(name)]
        return control + _source(name) if control else name

    result = message_type("GraphDef")()
    result.CopyFrom(graph_def)
    del result.node[:]
    for node in graph_def.node:
        if node.name not in inputs:
            kept = result.node.add()
            kept.CopyFrom(node)
            del kept.input[:]
            kept.input.extend(map(follow, node.input))
    return result

"""Freezing of GraphDefs: variables become constants, also where functions, branches and loops read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.graph.graphdef import message_type, write_attr
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.ops.tensor_proto import make_tensor_proto

_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
_GATHERS = {"ResourceGather": "GatherV2", "ResourceGatherNd": "GatherNd"}
_BRANCHES = ("If", "StatelessIf", "Case")  # their first input chooses, the others are arguments
_RESOURCE = dtypes.resource.as_datatype_enum

Types = dict[str, int]  # nodes that hold the value of a variable instead of the variable -> the type of the value


def source_of(name: str) -> str:
    """Returns the name of the node in an input of a NodeDef."""
    return name.removeprefix("^").partition(":")[0]


def is_variable(node: Any) -> bool:
    return node.op in _VARIABLES or node.op == "AutoReloadVariable"


def variables_of(graph_def: Any, whitelist: Collection[str] | None, blacklist: Collection[str] | None) -> list[str]:
    """Returns the names of the variables of a graph that are on the first list, if given, and not on the second."""
    return [
        node.name
        for node in graph_def.node
        if is_variable(node)
        and (whitelist is None or node.name in whitelist)
        and (blacklist is None or node.name not in blacklist)
    ]


def without_nodes(graph_def: Any) -> Any:
    """Returns an empty GraphDef with the functions and the versions of another."""
    result = message_type("GraphDef")()
    for name in ("library", "versions"):
        if graph_def.HasField(name):
            getattr(result, name).CopyFrom(getattr(graph_def, name))
    return result


def frozen(graph_def: Any, values: Mapping[str, Any]) -> Any:
    """Returns the graph with variables replaced by constants."""
    result = without_nodes(graph_def)
    types = {node.name: node.attr["dtype"].type for node in graph_def.node if node.name in values}
    functions = _Functions(result.library)
    _propagate_types(graph_def.node, types)
    for node in graph_def.node:
        if node.name in values:
            _write_constant(result.node.add(), node, values[node.name])
        else:
            result.node.extend(_on_values(node, types, functions, ""))
    return result


def _write_constant(message: Any, variable: Any, value: Any) -> None:
    message.name, message.op, message.device = variable.name, "Const", variable.device
    message.attr["dtype"].CopyFrom(variable.attr["dtype"])
    message.attr["value"].tensor.CopyFrom(make_tensor_proto(value, dtype=variable.attr["dtype"].type))


def _propagate_types(nodes: Iterable[Any], types: Types) -> None:
    """Adds the nodes that forward variables to the types, as branches and loops do."""
    forwards = [node for node in nodes if _takes_resource(node) or _plain_op(node) != node.op]
    is_changed = True
    while is_changed:
        is_changed = False
        for node in forwards:
            input_types = [types[source_of(name)] for name in node.input if name[0] != "^" and source_of(name) in types]
            if input_types and node.name not in types:
                types[node.name] = input_types[0]
                is_changed = True


def _takes_resource(node: Any) -> bool:
    return "T" in node.attr and node.attr["T"].type == _RESOURCE


def _plain_op(node: Any) -> str:
    """Returns the op that forwards a value where this one forwards a reference to a variable."""
    op = str(node.op)
    plain = op.removeprefix("Ref")
    is_forward = plain == "Identity" or (plain in OPS and OPS.lookup(plain).facts.control_flow)
    return plain if op in OPS and is_forward else op


def _on_values(node: Any, types: Types, functions: _Functions, output: str) -> list[Any]:
    """Returns what computes with the values of variables as a node does with the variables.

    output: how an input names the first output of a constant, ":output:0" in functions
    """
    message = message_type("NodeDef")()
    message.CopyFrom(node)
    input_types = {place: types[source_of(name)] for place, name in enumerate(node.input) if source_of(name) in types}
    if not input_types or all(node.input[place].startswith("^") for place in input_types):
        return [message]
    if node.name in types:
        message.op = _plain_op(node)
        message.attr["T"].type = types[node.name]
        message.attr.pop("_output_shapes", None)  # that of the variable itself is a scalar
    elif node.op == "ReadVariableOp":
        message.op = "Identity"
        message.attr["T"].CopyFrom(message.attr.pop("dtype"))
    elif node.op == "VariableShape":
        message.op = "Shape"
        message.attr["T"].type = input_types[0]
    elif node.op in _GATHERS:
        return _gather(node, message, output)
    else:
        functions.call_on_values(message, input_types)
    return [message]


def _gather(node: Any, message: Any, output: str) -> list[Any]:
    message.op = _GATHERS[node.op]
    message.attr.clear()
    message.attr["Tparams"].CopyFrom(node.attr["dtype"])
    message.attr["Tindices"].CopyFrom(node.attr["Tindices"])
    if message.op == "GatherNd":
        return [message]
    axis = message_type("NodeDef")(name=f"{node.name}/axis", op="Const", device=node.device)
    write_attr(axis.attr["dtype"], dtypes.int32, "type")
    write_attr(axis.attr["value"], np.array(node.attr["batch_dims"].i, np.int32), "tensor")
    message.input.insert(2, axis.name + output)
    write_attr(message.attr["Taxis"], dtypes.int32, "type")
    message.attr["batch_dims"].CopyFrom(node.attr["batch_dims"])
    return [axis, message]


class _Functions:
    """The functions of a graph, with copies that take values where the originals take variables."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._by_name = {function.signature.name: function for function in library.function}
        self._copies: dict[tuple[str, tuple[tuple[int, int], ...], bool], str] = {}

    def call_on_values(self, node: Any, input_types: dict[int, int]) -> None:
        """Lets a node call such copies; known: the types of the variables among its inputs, by place."""
        skipped = int(node.op in _BRANCHES)
        is_loop = node.op in ("While", "StatelessWhile")
        types = {place - skipped: dtype for place, dtype in input_types.items()}
        if node.op in self._by_name:
            node.op = self._copy(node.op, types, False)
            return
        called = [function for message in node.attr.values() for function in _called(message)]
        if not any(function.name in self._by_name for function in called):
            return  # an operation that changes the variable, which no frozen graph can run
        for function in called:
            function.name = self._copy(function.name, types, is_loop and function == node.attr["body"].func)
        taken = node.attr["T" if is_loop else "Tin"].list.type
        for place, dtype in types.items():
            taken[place] = dtype

    def _copy(self, name: str, types: dict[int, int], returns_them: bool) -> str:
        key = name, tuple(sorted(types.items())), returns_them
        if key not in self._copies:
            self._copies[key] = f"{name}_frozen_{len(self._copies)}"
            self._write(self._by_name[name], self._copies[key], types, returns_them)
        return self._copies[key]

    def _write(self, function: Any, name: str, types: dict[int, int], returns_them: bool) -> None:
        copy = type(function)()
        copy.CopyFrom(function)
        copy.signature.name = name
        held = {}
        for place, dtype in types.items():
            held[copy.signature.input_arg[place].name] = dtype
            copy.signature.input_arg[place].type = dtype
            if place in copy.arg_attr:
                copy.arg_attr[place].attr.pop("_output_shapes", None)
            if returns_them:
                copy.signature.output_arg[place].type = dtype
        _propagate_types(function.node_def, held)
        for node in function.node_def:
            if node.op in OPS and OPS.lookup(node.op).facts.writes and source_of(node.input[0]) in held:
                raise ValueError(
                    f"{node.op} {node.name!r} of function {function.signature.name!r} changes a variable, which a "
                    "frozen graph cannot; name outputs that do not need it"
                )
        reads = {n.name for n in function.node_def if n.op == "ReadVariableOp" and source_of(n.input[0]) in held}
        del copy.node_def[:]
        for node in function.node_def:
            copy.node_def.extend(_on_values(node, held, self, ":output:0"))
        for node in copy.node_def:
            node.input[:] = [_value_of(text, reads) for text in node.input]
        for key, text in function.ret.items():
            copy.ret[key] = _value_of(text, reads)
        self._library.function.append(copy)


def _called(message: Any) -> list[Any]:
    """Returns the functions in an attribute."""
    return [message.func] if message.HasField("func") else list(message.list.func)


def _value_of(text: str, reads: set[str]) -> str:
    """Returns an input in a function, where operations that read variables have become identities."""
    node, _, rest = text.partition(":")
    return f"{node}:output:{rest.rpartition(':')[2]}" if rest and node in reads else text

"""Serialization of functions as FunctionDef messages, which the library of a GraphDef contains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thalweg._src.graph.graphdef import write_attr, write_node
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.tensor_proto import shape_proto

if TYPE_CHECKING:
    from thalweg._src.graph.function import GraphFunction


def function_def(function: GraphFunction) -> Any:
    """Returns a function as a FunctionDef."""
    from tensorboard.compat.proto.function_pb2 import FunctionDef

    message = FunctionDef()
    signature = message.signature
    signature.name = function.name
    signature.is_stateful = function.is_stateful
    names = dict(zip(function.inputs, function.input_names))
    for index, (tensor, name) in enumerate(names.items()):
        signature.input_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
        shapes = message.arg_attr[index].attr["_output_shapes"].list
        shapes.shape.append(shape_proto(tensor.dims))
    # Arguments and nodes share the names of a FunctionDef, and arguments come first, since callers know them.
    taken = set(names.values())
    operations = dict.fromkeys(function.operations)
    for operation in operations:
        node = message.node_def.add()
        write_node(operation, node, add_shapes=True)
        node.name = _renamed(operation.name, taken)
        del node.input[:]
        node.input.extend(_place(tensor, names, taken) for tensor in operation.inputs)
        # Operations that the body contains but no call runs are left out, and edges from them with them.
        controls = [control for control in operation._control_inputs if control in operations]
        node.input.extend(f"^{_renamed(control.name, taken)}" for control in controls)
    for name, tensor in zip(function.output_names, function.outputs):
        signature.output_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
        message.ret[name] = _place(tensor, names, taken)
    for operation in function.targets:
        signature.control_output.append(operation.name)
        message.control_ret[operation.name] = _renamed(operation.name, taken)
    for key, value in function.attrs.items():
        write_attr(message.attr[key], value)
    return message


def _renamed(name: str, taken: set[str]) -> str:
    """Returns the name of a node, which differs from those of all arguments."""
    return f"{name}/_" if name in taken else name


def _place(tensor: Tensor, names: dict[Tensor, str], taken: set[str]) -> str:
    """Returns what a node of a body writes for an input: an argument's name, or "node:output:index"."""
    if tensor in names:
        return names[tensor]
    argument, index = _output(tensor.op.definition, tensor.op.attrs, tensor.value_index)
    return f"{_renamed(tensor.op.name, taken)}:{argument}:{index}"


def _output(definition: OpDef, attrs: dict[str, Any], index: int) -> tuple[str, int]:
    """Returns the output argument that a flat output belongs to, and its place in it."""
    for argument, count in output_counts(definition, attrs):
        if index < count:
            return argument, index
        index -= count
    raise AssertionError(f"{definition.name} has no such output")


def output_counts(definition: OpDef, attrs: dict[str, Any]) -> list[tuple[str, int]]:
    """Returns each output argument of an op with the number of tensors that it stands for."""
    counts = []
    for arg in definition.outputs:
        # A FunctionDef counts outputs within their argument, "node:output:1", where a GraphDef counts all of a node.
        if arg.type_list_attr is not None:
            counts.append((arg.name, len(attrs[arg.type_list_attr])))
        else:
            counts.append((arg.name, 1 if arg.number_attr is None else attrs[arg.number_attr]))
    return counts

"""Fusion: merges several nodes into one kernel call, and reuses by-products of kernels."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, descendants


def fuse(step: StepGraph) -> None:
    """Applies all fusions, each of which preserves the values of the graph."""
    _leave_out_gradients(step)
    _fuse_bias(step)
    for op_type, (group_type, variables) in _GROUPS.items():
        _group_updates(step, op_type, group_type, variables)


# -- losses -----------------------------------------------------------------------------------------------------------

_LOSSES = {
    "SoftmaxCrossEntropyWithLogits": "_SoftmaxCrossEntropyLoss",
    "SparseSoftmaxCrossEntropyWithLogits": "_SparseSoftmaxCrossEntropyLoss",
}


def _leave_out_gradients(step: StepGraph) -> None:
    """Computes only the loss where the gradient, the second output of its op, is unused."""
    losses = [node for node in step.nodes if node.type in _LOSSES]
    used = {output for node in step.nodes for output in node.inputs}.union(step.fetches) if losses else set()
    made = {
        node: node.like(_LOSSES[node.type], node.inputs, node.attrs, dtypes=node.dtypes[:1], shapes=node.shapes[:1])
        for node in losses
        if Output(node, 1) not in used
    }
    if made:
        step.rewrite({Output(node, 0): Output(loss, 0) for node, loss in made.items()}, made)


# -- bias and activation ----------------------------------------------------------------------------------------------


def _fuse_bias(step: StepGraph) -> None:
    """Fuses bias and ReLU into matrix products and convolutions, so that `relu(x @ w + b)` is one pass over memory."""
    consumers = step.consumers()
    fetched = set(step.fetches)
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}

    def only_for(node: Node, consumer: Node) -> bool:
        return consumers[node] == [consumer] and Output(node, 0) not in fetched and not consumer.controls

    for node in step.nodes:
        product, bias = _bias_of(node)
        if product is None or bias is None or not only_for(product, node) or product.dtypes[0] not in dtypes.FLOATING:
            continue
        last = node
        fused_ops: tuple[str, ...] = ("BiasAdd",)
        follower = consumers[node][0] if len(consumers[node]) == 1 else None
        if follower is not None and follower.type == "Relu" and only_for(node, follower):
            last, fused_ops = follower, ("BiasAdd", "Relu")
        op_type = "_FusedMatMul" if product.type == "MatMul" else "_FusedConv2D"
        attrs = {**product.attrs, "num_args": 1, "fused_ops": fused_ops, "epsilon": 0.0}
        attrs.update({"TArgs": (product.dtypes[0],), "num_host_args": 0} if product.type == "Conv2D" else {})
        fused = last.like(op_type, [*product.inputs, bias], attrs, controls=list(product.controls))
        for old in {node, last}:
            moved[old] = fused
        replaced[Output(last, 0)] = Output(fused, 0)
    if replaced:
        step.rewrite(replaced, moved)


def _bias_of(node: Node) -> tuple[Node | None, Output | None]:
    """Returns the product and the bias, if a node adds a bias to a product."""
    if node.type == "BiasAdd" and node.attrs["data_format"] == "NHWC":
        product, bias = node.inputs
    elif node.type in ("Add", "AddV2"):
        product, bias = node.inputs
        if bias.node.type in ("MatMul", "Conv2D") and product.node.type not in ("MatMul", "Conv2D"):
            product, bias = bias, product
    else:
        return None, None
    shape, bias_shape = product.shape, bias.shape
    if product.node.type not in ("MatMul", "Conv2D") or shape is None or bias_shape is None:
        return None, None
    fits = len(bias_shape) == 1 and bias_shape[0] is not None and bias_shape[0] == shape[-1]
    if product.node.type == "MatMul" and node.type != "BiasAdd" and None not in shape and bias_shape == shape:
        fits = True
    if product.node.type == "Conv2D" and product.node.attrs["data_format"] != "NHWC":
        return None, None
    return (product.node, bias) if fits else (None, None)


# -- optimizer updates ------------------------------------------------------------------------------------------------

# Update op -> its grouped form and its number of leading variable inputs. The last input is the gradient unless
# it is named here; the inputs in between must be the same for all members.
_GROUPS: dict[str, tuple[str, int]] = {
    "ResourceApplyAdam": ("_ApplyAdamGroup", 3),
    "ResourceApplyMomentum": ("_ApplyMomentumGroup", 2),
    "ResourceApplyGradientDescent": ("_ApplyGradientDescentGroup", 1),
}


def _group_updates(step: StepGraph, op_type: str, group_type: str, variables: int) -> None:
    """Merges the updates of all variables that an optimizer treats alike into one grouped update."""
    alike: dict[Any, list[Node]] = {}
    for node in step.nodes:
        if node.type == op_type:
            shared = tuple(output for i, output in enumerate(node.inputs) if i in _shared(node, variables))
            attrs = tuple((k, v) for k, v in node.attrs.items() if not k.startswith("_"))
            alike.setdefault((shared, attrs, node.device, node.guard), []).append(node)
    moved: dict[Node, Node] = {}
    for members in alike.values():
        if len(members) > 1 and _are_independent(step, members):
            group = _group(members, group_type, variables)
            moved.update(dict.fromkeys(members, group))
    if moved:
        step.rewrite({}, moved)


def _shared(node: Node, variables: int) -> list[int]:
    gradient = _gradient_index(node)
    return [i for i in range(variables, len(node.inputs)) if i != gradient]


def _gradient_index(node: Node) -> int:
    names = [arg.name for arg in node.definition.inputs]
    return names.index("grad") if "grad" in names else names.index("delta")


def _group(members: list[Node], group_type: str, variables: int) -> Node:
    last = max(members, key=lambda node: node.order)
    gradient = _gradient_index(last)
    inputs: list[Output] = []
    for index in range(len(last.inputs)):
        if index < variables or index == gradient:
            inputs += [node.inputs[index] for node in members]
        else:
            inputs.append(last.inputs[index])
    controls = list(dict.fromkeys(control for node in members for control in node.controls))
    name = f"{last.name}/_group_of_{len(members)}"
    return last.like(group_type, inputs, {**last.attrs, "N": len(members)}, name=name, controls=controls)


def _are_independent(step: StepGraph, members: list[Node]) -> bool:
    """Returns whether no member depends on another."""
    return descendants(members, step.consumers()).isdisjoint(members)

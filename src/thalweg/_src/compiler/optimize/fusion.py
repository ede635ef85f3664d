"""Fusion: merges several nodes into one kernel call, and reuses by-products of kernels."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.compiler.optimize.match import ANY, Pattern, Uses, match
from thalweg._src.graph.ir.rewrite import Rewrite
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
    uses, rewrite = Uses(step), Rewrite(step)
    for node in step.nodes:
        if node.type in _LOSSES and not uses.has(Output(node, 1)):
            outputs = {"dtypes": node.dtypes[:1], "shapes": node.shapes[:1]}
            rewrite.replace(node, node.like(_LOSSES[node.type], node.inputs, node.attrs, **outputs))
    rewrite.apply()


# -- bias and activation ----------------------------------------------------------------------------------------------


_PRODUCT = Pattern("MatMul|Conv2D")
_BIASED = Pattern("BiasAdd|Add|AddV2", _PRODUCT)
_BIASED_SECOND = Pattern("Add|AddV2", ANY, _PRODUCT)


def _fuse_bias(step: StepGraph) -> None:
    """Fuses bias and ReLU into matrix products and convolutions, so that `relu(x @ w + b)` is one pass over memory."""
    uses, rewrite = Uses(step), Rewrite(step)
    for node in step.nodes:
        product, bias = _bias_of(node) or (None, None)
        if product is None or bias is None or product.dtypes[0] not in dtypes.FLOATING:
            continue
        if node.controls or not uses.only(product, node):
            continue
        # The product may go only if nothing else takes it: otherwise it would be computed twice. A node that waits for
        # others stays, since the fused node would make the product wait as well.
        last = node
        fused_ops: tuple[str, ...] = ("BiasAdd",)
        for follower in uses.consumers[node][:1]:
            if follower.type == "Relu" and not follower.controls and uses.only(node, follower):
                last, fused_ops = follower, ("BiasAdd", "Relu")
        attrs = {**product.attrs, "num_args": 1, "fused_ops": fused_ops, "epsilon": 0.0}
        attrs.update({"TArgs": (product.dtypes[0],), "num_host_args": 0} if product.type == "Conv2D" else {})
        fused = last.like(f"_Fused{product.type}", [*product.inputs, bias], attrs, controls=list(product.controls))
        rewrite.replace(node, fused)
        rewrite.replace(last, fused)
    rewrite.apply()


def _bias_of(node: Node) -> tuple[Node, Output] | None:
    """Returns the product and the bias, if a node adds a bias to a product."""
    if match(node, _BIASED):
        product, bias = node.inputs
    elif match(node, _BIASED_SECOND):
        bias, product = node.inputs
    else:
        return None
    shape, bias_shape = product.shape, bias.shape
    if shape is None or bias_shape is None:
        return None
    if any(user.attrs.get("data_format", "NHWC") != "NHWC" for user in (node, product.node)):
        return None
    is_vector = len(bias_shape) == 1 and bias_shape[0] is not None and bias_shape[0] == shape[-1]
    may_be_matrix = product.node.type == "MatMul" and node.type != "BiasAdd"
    is_matrix = may_be_matrix and None not in shape and bias_shape == shape
    return (product.node, bias) if is_vector or is_matrix else None


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
    # Grouped are updates with the same hyperparameters, attributes, device and guard; a group waits for what any member
    # waits for. This is a cycle if a member depends on another one, and changes an order that is visible if a node
    # between them reads a variable: such updates depend on each other through it.
    alike: dict[Any, list[Node]] = {}
    for node in step.nodes:
        if node.type == op_type:
            shared = tuple(output for i, output in enumerate(node.inputs) if i in _shared(node, variables))
            attrs = tuple((k, v) for k, v in node.attrs.items() if not k.startswith("_"))
            alike.setdefault((shared, attrs, node.device, node.guard), []).append(node)
    rewrite = Rewrite(step)
    for members in alike.values():
        if len(members) > 1 and _are_independent(step, members):
            group = _group(members, group_type, variables)
            for node in members:
                rewrite.replace(node, group)
    rewrite.apply()


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

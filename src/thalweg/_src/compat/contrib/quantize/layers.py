"""Layers of a graph: a convolution or matrix product with its weights, its normalization or bias, its activation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thalweg._src.base.dtypes import float32
from thalweg._src.base.errors import require_text
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.references import VARIABLES
from thalweg._src.graph.tensor import Tensor

PRODUCTS = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_SUMS = ("Add", "AddV2", "BiasAdd")
_ACTIVATIONS = ("Relu", "Relu6")
_READS = ("Identity", "ReadVariableOp")


@dataclass(frozen=True, slots=True)
class Layer:
    """A product, and what belongs to it.

    norm: the batch normalization of the product
    output: what the layer gives to others
    """

    product: Operation
    norm: Operation | None
    output: Tensor

    @property
    def context(self) -> str:
        """The scope of the layer: `conv1` of `conv1/Conv2D`, the name itself outside of scopes."""
        return self.product.name.rpartition("/")[0] or self.product.name


def layers_of(graph: Graph, scope: str | None) -> list[Layer]:
    """Returns the layers of a graph, or of those operations whose names start with a scope, in order of creation."""
    if scope:
        require_text("scope", scope)
    inside = f"{scope.rstrip('/')}/" if scope else ""
    return [
        _layer(operation)
        for operation in graph.get_operations()
        if operation.type in PRODUCTS and operation.name.startswith(inside) and _has_weights(operation)
    ]


def _has_weights(operation: Operation) -> bool:
    """Returns whether a product has variables as weights, and runs in every step: in no branch and no loop."""
    is_float = operation.outputs[0].dtype is float32
    return is_float and operation.context is None and variable_behind(operation.inputs[1]) is not None


def variable_behind(tensor: Tensor) -> Operation | None:
    """Returns the variable whose value a tensor is, None if it is computed otherwise."""
    operation = tensor.op
    while operation.type in _READS:
        operation = operation.inputs[0].op
    return operation if operation.type in (*VARIABLES, "VarHandleOp") else None


def _layer(product: Operation) -> Layer:
    norm, output = None, product.outputs[0]
    following = _only_consumer(output)
    if following is not None and following.type in _NORMS and following.inputs[0] is output:
        norm, output = following, following.outputs[0]
    elif following is not None and following.type in _SUMS and _is_bias(following, output):
        output = following.outputs[0]
    return Layer(product, norm, after_activation(output))


def after_activation(tensor: Tensor) -> Tensor:
    """Returns the activation of a tensor, if that is all that is computed of it, else the tensor."""
    following = _only_consumer(tensor)
    return following.outputs[0] if following is not None and following.type in _ACTIVATIONS else tensor


def _only_consumer(tensor: Tensor) -> Operation | None:
    """Returns what uses a tensor, if that is one operation, apart from those that look at its shape."""
    consumers = [consumer for consumer in tensor.consumers() if not consumer.definition.facts.shape_only]
    return consumers[0] if len(consumers) == 1 else None


def _is_bias(operation: Operation, product: Tensor) -> bool:
    """Returns whether a sum adds a variable or a constant to a product."""
    others = [tensor for tensor in operation.inputs if tensor is not product]
    return len(others) == 1 and (others[0].op.type == "Const" or variable_behind(others[0]) is not None)


def sums_of(operations: list[Operation], outputs: set[Tensor]) -> Iterator[Operation]:
    """Yields the sums of outputs with other values, connections around layers; the caller may add outputs meanwhile."""
    for operation in operations:
        if operation.type in _SUMS[:2] and operation.context is None and outputs & set(operation.inputs):
            tensors = operation.inputs
            if not any(tensor.op.type == "Const" or variable_behind(tensor) is not None for tensor in tensors):
                yield operation

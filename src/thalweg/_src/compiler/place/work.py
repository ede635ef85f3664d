"""Work of a node: floating-point operations and bytes accessed, from static shapes; users' ops can register theirs."""

from __future__ import annotations

import math
from collections.abc import Callable

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.registry import Registry
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.ir.step_graph import Node

Flops = Callable[[Node, "Sizes"], float]

FLOPS: Registry[Flops] = Registry("count of operations")
_STRING_BYTES = 64


class Sizes:
    """Counts elements and bytes; an unknown dimension counts as `unknown`."""

    __slots__ = ("unknown",)

    def __init__(self, unknown: int = 32) -> None:
        self.unknown = unknown

    def dimensions(self, shape: Shape) -> tuple[int, ...]:
        return () if shape is None else tuple(self.unknown if size is None else size for size in shape)

    def elements(self, shape: Shape) -> int:
        return math.prod(self.dimensions(shape))

    def bytes(self, dtype: DType, shape: Shape) -> int:
        """Returns the size of a tensor in bytes; a handle has none."""
        if dtype in (dtypes.resource, dtypes.variant):
            return 0
        return self.elements(shape) * (_STRING_BYTES if dtype is dtypes.string else dtype.size)

    def outputs(self, node: Node) -> int:
        return sum(map(self.bytes, node.dtypes, node.shapes))

    def inputs(self, node: Node) -> int:
        return sum(self.bytes(producer.dtypes[i], producer.shapes[i]) for producer, i in node.inputs)

    def persistent(self, node: Node) -> int:
        """Returns the bytes that a node holds between steps."""
        return self.bytes(node.attrs["dtype"], node.attrs["shape"]) if node.type == "VarHandleOp" else 0


def flops(*types: str) -> Callable[[Flops], Flops]:
    """Registers how the floating-point operations of these op types are counted, for the cost model."""

    def register(function: Flops) -> Flops:
        for name in types:
            FLOPS.register(name, function)
        return function

    return register


def flop_count(node: Node, sizes: Sizes) -> float:
    """Returns the operations of a node: one per output element, unless a rule is registered for its type."""
    rule = FLOPS.get(node.type)
    return rule(node, sizes) if rule is not None else float(sum(map(sizes.elements, node.shapes)))


def bytes_accessed(node: Node, sizes: Sizes) -> int:
    """Returns the bytes that a node reads and writes."""
    if node.facts.instant or node.facts.is_alias or node.facts.shape_only:
        return 0
    variables = sum(sizes.persistent(producer) for producer, _ in node.inputs)  # accessed through handles
    return sizes.inputs(node) + sizes.outputs(node) + variables


@flops("MatMul", "_FusedMatMul", "SparseMatMul", "BatchMatMul", "BatchMatMulV2")
def _products(node: Node, sizes: Sizes) -> float:
    a = sizes.dimensions(node.input_shape(0))
    transposed = node.attrs.get("transpose_a", node.attrs.get("adj_x", False))
    return 2.0 * sizes.elements(node.shapes[0]) * (a[-2 if transposed else -1] if len(a) > 1 else 1)


@flops("Conv2D", "_FusedConv2D", "Conv3D")
def _convolution(node: Node, sizes: Sizes) -> float:
    return 2.0 * sizes.elements(node.shapes[0]) * math.prod(sizes.dimensions(node.input_shape(1))[:-1])


@flops("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def _convolution_input(node: Node, sizes: Sizes) -> float:
    return 2.0 * sizes.elements(node.input_shape(2)) * math.prod(sizes.dimensions(node.input_shape(1))[:-1])


@flops("Conv2DBackpropFilter", "Conv3DBackpropFilterV2")
def _convolution_filter(node: Node, sizes: Sizes) -> float:
    return 2.0 * sizes.elements(node.input_shape(2)) * math.prod(sizes.dimensions(node.shapes[0])[:-1])


@flops("DepthwiseConv2dNative")
def _depthwise(node: Node, sizes: Sizes) -> float:
    return 2.0 * sizes.elements(node.shapes[0]) * math.prod(sizes.dimensions(node.input_shape(1))[:2])


@flops("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter")
def _depthwise_gradient(node: Node, sizes: Sizes) -> float:
    kernel = node.input_shape(1) if node.type.endswith("Input") else node.shapes[0]
    return 2.0 * sizes.elements(node.input_shape(2)) * math.prod(sizes.dimensions(kernel)[:2])


@flops("AvgPool", "MaxPool", "AvgPool3D", "MaxPool3D", "_MaxPoolIndexed")
def _pooling(node: Node, sizes: Sizes) -> float:
    return float(sizes.elements(node.shapes[0]) * math.prod(node.attrs["ksize"]))


@flops("AvgPoolGrad", "MaxPoolGrad", "_MaxPoolIndexedGrad")
def _pooling_gradient(node: Node, sizes: Sizes) -> float:
    return float(sizes.elements(node.input_shape(len(node.inputs) - 1)) * math.prod(node.attrs["ksize"]))


@flops("Exp", "Log", "Log1p", "Expm1", "Sin", "Cos", "Tan", "Tanh", "Sigmoid", "Erf", "Pow", "Softmax", "LogSoftmax")
def _transcendental(node: Node, sizes: Sizes) -> float:
    return 10.0 * sizes.elements(node.shapes[0])


@flops("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx")
def _normalization(node: Node, sizes: Sizes) -> float:
    return 8.0 * sizes.elements(node.input_shape(0))


@flops("Sum", "Mean", "Prod", "Max", "Min", "ArgMax", "ArgMin", "BiasAddGrad", "L2Loss", "All", "Any")
def _reduction(node: Node, sizes: Sizes) -> float:
    return float(sizes.elements(node.input_shape(0)))


@flops("TopKV2", "Unique", "UniqueV2")
def _sorting(node: Node, sizes: Sizes) -> float:
    elements = sizes.elements(node.input_shape(0))
    return 2.0 * elements * math.log2(elements + 2)


@flops("Cholesky", "MatrixInverse", "MatrixDeterminant", "Qr", "SelfAdjointEigV2", "Svd")
def _decomposition(node: Node, sizes: Sizes) -> float:
    matrix = sizes.dimensions(node.input_shape(0))
    return 2.0 * math.prod(matrix) * (min(matrix[-2:]) if len(matrix) > 1 else 1)

"""Converters of matrix products."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.converters.math import widened
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


@converter("MatMul")
def matmul(w: GraphWriter, node: Node, a: str, b: str) -> str:
    """Multiplies; Gemm transposes operands that are no constants, and takes biases of integer weights."""
    if node.attrs["transpose_b"] and (w.static_value(b) is not None or b in w.model.quantized):
        b, turned = w.transpose(b, (1, 0)), (node.attrs["transpose_a"], False)
    else:
        turned = (node.attrs["transpose_a"], node.attrs["transpose_b"])
    if (any(turned) or b in w.model.quantized) and node.dtypes[0].is_floating:
        return w.add("Gemm", a, b, transA=int(turned[0]), transB=int(turned[1]))
    if any(turned):
        a, b = (w.transpose(x, (1, 0)) if flag else x for x, flag in zip((a, b), turned))
    return widened(w, node, lambda *wide: w.add("MatMul", *wide), a, b)


@converter("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(w: GraphWriter, node: Node, x: str, y: str) -> str:
    operands = [
        _adjoint(w, node, index, value) if node.attrs[flag] else value
        for index, (value, flag) in enumerate(((x, "adj_x"), (y, "adj_y")))
    ]
    return widened(w, node, lambda *wide: w.add("MatMul", *wide), *operands)


def _adjoint(w: GraphWriter, node: Node, index: int, value: str) -> str:
    shape = node.input_shape(index)
    if shape is None:
        raise unsupported(node, "transposes a value of unknown rank", "give its placeholder a shape of known rank")
    rank = len(shape)
    return w.transpose(value, (*range(rank - 2), rank - 1, rank - 2))

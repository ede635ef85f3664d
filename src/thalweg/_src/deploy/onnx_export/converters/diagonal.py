"""Converters of diagonals and bands of matrices."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.where import choose
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


def _distance(w: GraphWriter, sizes: str) -> str:
    """Returns how far each element of a matrix is right of the main diagonal; sizes: of rows and columns."""
    zero, one = w.like(0, dtypes.int64), w.like(1, dtypes.int64)
    counts = [w.add("Gather", sizes, w.like(axis, dtypes.int64)) for axis in (0, 1)]
    row, column = (w.add("Range", zero, count, one) for count in counts)
    return w.add("Sub", column, w.add("Unsqueeze", row, [1]))


@converter("MatrixBandPart")
def band_part(w: GraphWriter, node: Node, x: str, lower: str, upper: str) -> str:
    """Keeps a band; a negative number keeps the whole triangle."""
    distance, zero = _distance(w, w.dims(x, -2)), w.like(0, dtypes.int64)
    below, above = w.index(lower), w.index(upper)
    outside = w.add("Or", w.add("Less", below, zero), w.add("LessOrEqual", w.add("Neg", distance), below))
    inside = w.add("Or", w.add("Less", above, zero), w.add("LessOrEqual", distance, above))
    return choose(w, node, w.add("And", outside, inside), x, w.like(0, node.dtypes[0]))


@converter("MatrixDiag", "MatrixDiagV2", "MatrixDiagV3")
def diag(w: GraphWriter, node: Node, x: str, *placement: str) -> str:
    _require_main(w, node, placement)
    size = w.dims(x, -1)
    on_diagonal = w.add("Equal", _distance(w, w.join(size, size)), w.like(0, dtypes.int64))
    return choose(w, node, on_diagonal, w.add("Unsqueeze", x, [-1]), w.like(0, node.dtypes[0]))


def _require_main(w: GraphWriter, node: Node, placement: tuple[str, ...]) -> None:
    """Raises an error for other diagonals than the main one of square matrices."""
    for name, default in zip(placement, (0, -1, -1, 0)):
        offset = w.static_value(name)
        if offset is None or offset.size != 1 or offset.reshape(()).item() != default:
            raise unsupported(node, "has other diagonals than the main one", "multiply by a constant matrix")


@converter("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3")
def diag_part(w: GraphWriter, node: Node, x: str, *placement: str) -> str:
    """Gathers the element of each row that lies on the diagonal."""
    for name in placement:
        offset = w.static_value(name)
        if offset is None or offset.size != 1 or offset.reshape(()).item() != 0:
            raise unsupported(node, "has other diagonals than the main one", "gather their elements")
    dims = w.dims(x, -2)
    count = w.add("ReduceMin", dims, keepdims=0)
    places = w.add("Range", w.like(0, dtypes.int64), count, w.like(1, dtypes.int64))
    row = w.add("Unsqueeze", places, [1])
    lead = w.join(w.dims(x, 0, -2), w.dims(row))
    top = w.add("Slice", x, [0], w.add("Reshape", count, [1]), [-2])
    return w.add("Squeeze", w.add("GatherElements", top, w.add("Expand", row, lead), axis=-1), [-1])


@converter("MatrixSetDiag")
def set_diag(w: GraphWriter, node: Node, x: str, diagonal: str) -> str:
    on_diagonal = w.add("Equal", _distance(w, w.dims(x, -2)), w.like(0, dtypes.int64))
    return choose(w, node, on_diagonal, w.add("Unsqueeze", diagonal, [-1]), x)

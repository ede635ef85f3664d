"""Converters of non-maximum suppression."""

from __future__ import annotations

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


def _selected(
    w: GraphWriter, boxes: str, scores: str, count: str, overlap: str | float, score: str | float | None
) -> str:
    """Returns the indices of the boxes that stay, as int64, best first."""
    selected = w.add(
        "NonMaxSuppression",
        w.add("Unsqueeze", boxes, [0]),
        w.add("Unsqueeze", scores, [0, 1]),
        w.vector(count),
        _threshold(w, overlap),
        None if score is None else _threshold(w, score),
    )
    return w.add("Gather", selected, w.like(2, dtypes.int64), axis=1)


def _threshold(w: GraphWriter, value: str | float) -> str:
    if isinstance(value, float):
        return w.constant(np.array([value], np.float32))
    threshold = w.static_value(value)
    if threshold is not None:
        return w.constant(threshold.reshape(1).astype(np.float32))
    return w.add("Reshape", w.cast(value, dtypes.float32), [1])


@converter("NonMaxSuppression")
def suppression(w: GraphWriter, node: Node, boxes: str, scores: str, count: str) -> str:
    return w.cast(_selected(w, boxes, scores, count, float(node.attrs["iou_threshold"]), None), dtypes.int32)


@converter("NonMaxSuppressionV2", "NonMaxSuppressionV3")
def suppression_by_score(
    w: GraphWriter, node: Node, boxes: str, scores: str, count: str, overlap: str, score: str | None = None
) -> str:
    boxes, scores = (w.cast(x, dtypes.float32, node.input_dtype(0)) for x in (boxes, scores))
    return w.cast(_selected(w, boxes, scores, count, overlap, score), dtypes.int32)


@converter("NonMaxSuppressionV4", "NonMaxSuppressionV5")
def padded_suppression(
    w: GraphWriter,
    node: Node,
    boxes: str,
    scores: str,
    count: str,
    overlap: str,
    score: str,
    sigma: str | None = None,
) -> list[str]:
    """Selects boxes, with zeros up to the number that was asked for if the node says so."""
    static_sigma = None if sigma is None else w.static_value(sigma)
    if sigma is not None and (static_sigma is None or float(static_sigma) != 0.0):
        raise unsupported(node, "reduces scores instead of removing boxes", "use soft_nms_sigma=0.0")
    boxes, scores = (w.cast(x, dtypes.float32, node.input_dtype(0)) for x in (boxes, scores))
    selected = _selected(w, boxes, scores, count, overlap, score)
    valid = w.cast(w.add("Size", selected), dtypes.int32)
    chosen = w.add("Gather", scores, selected)
    if node.attrs["pad_to_max_output_size"]:
        lacking = w.join([0], w.add("Sub", w.vector(count), w.dims(selected)))
        selected, chosen = w.add("Pad", selected, lacking), w.add("Pad", chosen, lacking)
    indices = w.cast(selected, dtypes.int32)
    return [indices, valid] if sigma is None else [indices, chosen, valid]


# -- all classes of all images ----------------------------------------------------------------------------------------


@converter("CombinedNonMaxSuppression")
def combined_suppression(
    w: GraphWriter, node: Node, boxes: str, scores: str, per_class: str, total: str, overlap: str, score: str
) -> list[str]:
    """Suppresses in each class, then takes the best boxes of each image, with zeros where there are less."""
    shape, limits = node.input_shape(0), (w.static_value(per_class), w.static_value(total))
    if shape is None or shape[2] != 1 or limits[0] is None or limits[1] is None:
        raise unsupported(node, "has boxes of their own for each class, or limits that are computed", "share the boxes")
    flat = w.add("Squeeze", boxes, [2])
    by_class = w.add("Transpose", scores, perm=[0, 2, 1])
    vector = [w.vector(per_class), _threshold(w, overlap), _threshold(w, score)]
    chosen = w.add("NonMaxSuppression", flat, by_class, *vector)
    nothing = w.like(float("-inf"), dtypes.float32)
    selected_scores = w.add(
        "ScatterND", w.add("Expand", nothing, w.dims(by_class)), chosen, w.add("GatherND", by_class, chosen)
    )
    rows = w.reshape(selected_scores, w.join(w.dims(by_class, 0, 1), [-1]))
    room = w.add("Pad", rows, [0, 0, 0, int(limits[1])], nothing)  # so that there are as many as are asked for
    width = _width(w, node, by_class, int(limits[0]), int(limits[1]))
    best, place = w.many("TopK", 2, room, width, axis=1)
    is_valid = w.add("Greater", best, nothing)
    count = w.dims(by_class, 2)
    index = w.add("Where", is_valid, place, w.like(0, dtypes.int64))
    selected_boxes = w.add("GatherND", flat, w.add("Unsqueeze", w.add("Mod", index, count), [-1]), batch_dims=1)
    if node.attrs["clip_boxes"]:
        selected_boxes = w.add("Clip", selected_boxes, w.like(0, dtypes.float32), w.like(1, dtypes.float32))
    zero = w.like(0, dtypes.float32)
    classes = w.cast(w.add("Div", index, count), dtypes.float32)
    return [
        w.add("Where", w.add("Unsqueeze", is_valid, [-1]), selected_boxes, zero),
        w.add("Where", is_valid, best, zero),
        w.add("Where", is_valid, classes, zero),
        w.add("ReduceSum", w.cast(is_valid, dtypes.int32), [1], keepdims=0),
    ]


def _width(w: GraphWriter, node: Node, by_class: str, per_class: int, total: int) -> str:
    """Returns the number of boxes of each image as a vector."""
    if not node.attrs["pad_per_class"]:
        return w.constant([total])
    return w.add("Min", w.add("Mul", w.dims(by_class, 1, 2), [per_class]), w.constant([total]))

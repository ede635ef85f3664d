"""Converters of non-maximum suppression."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src import dtypes
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.onnx_export.graph_writer import GraphWriter
from thalweg._src.onnx_export.registry import converter
from thalweg._src.onnx_export.types import unsupported


def _selected(w: GraphWriter, boxes: str, scores: str, count: str, overlap: Any, score: Any) -> str:
    """Returns the indices of the boxes that stay, as int64, best first."""
    found = w.add(
        "NonMaxSuppression",
        w.add("Unsqueeze", boxes, [0]),
        w.add("Unsqueeze", scores, [0, 1]),
        w.vector(count),
        _threshold(w, overlap),
        None if score is None else _threshold(w, score),
    )
    return w.add("Gather", found, w.like(2, dtypes.int64), axis=1)


def _threshold(w: GraphWriter, value: Any) -> str:
    if isinstance(value, float):
        return w.constant(np.array([value], np.float32))
    found = w.known(value)
    if found is not None:
        return w.constant(found.reshape(1).astype(np.float32))
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
    known = None if sigma is None else w.known(sigma)
    if sigma is not None and (known is None or float(known) != 0.0):
        raise unsupported(node, "reduces scores instead of removing boxes", "use soft_nms_sigma=0.0")
    boxes, scores = (w.cast(x, dtypes.float32, node.input_dtype(0)) for x in (boxes, scores))
    found = _selected(w, boxes, scores, count, overlap, score)
    valid = w.cast(w.add("Size", found), dtypes.int32)
    chosen = w.add("Gather", scores, found)
    if node.attrs["pad_to_max_output_size"]:
        lacking = w.join([0], w.add("Sub", w.vector(count), w.dims(found)))
        found, chosen = w.add("Pad", found, lacking), w.add("Pad", chosen, lacking)
    indices = w.cast(found, dtypes.int32)
    return [indices, valid] if sigma is None else [indices, chosen, valid]

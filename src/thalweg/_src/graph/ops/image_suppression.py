"""Non-maximum suppression of overlapping boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, same_dimension, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_SCORES = attr.types({dtypes.float16, dtypes.float32}, dtypes.float32)
_NEVER = float("-inf")


def _scalar_number(c: Inference, index: int) -> int | None:
    """Returns a count from an input, which must be non-negative."""
    name, shape = c.definition.inputs[index].name, c.shapes[index]
    require(not shape, f"{name} has shape {show(shape)}", expected=f"a scalar {name}")
    value = c.value(index)
    count = None if value is None else int(value)
    require(count is None or count >= 0, f"{name} is {count}", expected="a non-negative number")
    return count


def _require_scalars(c: Inference, first: int) -> None:
    for index in range(first, len(c.shapes)):
        name, shape = c.definition.inputs[index].name, c.shapes[index]
        require(not shape, f"{name} has shape {show(shape)}", expected=f"a scalar {name}")


def _selected(c: Inference) -> Sequence[Shape]:
    boxes, scores = with_rank(c, 0, 2), with_rank(c, 1, 1)
    assert boxes is not None and scores is not None
    if c.definition.name == "NonMaxSuppressionWithOverlaps":
        same_dimension(boxes[0], boxes[1], "sizes", expected="a square of overlaps")
    else:
        require(boxes[1] in (None, 4), f"boxes has shape {show(boxes)}", expected="y1, x1, y2, x2 for each box")
    same_dimension(boxes[0], scores[0], "sizes", expected="a score for each box")
    count = _scalar_number(c, 2)
    _require_scalars(c, 3)
    threshold = c.attrs.get("iou_threshold", 0.5)
    require(0 <= threshold <= 1, f"iou_threshold is {threshold}", expected="a number in [0, 1]")
    chosen = count if c.attrs.get("pad_to_max_output_size") else None
    outputs = len(c.definition.outputs)
    return [(chosen,)] * max(outputs - 1, 1) + [()] * (outputs > 1)


_BOXES = "boxes: T, scores: T, max_output_size: int32"
_COMMON: dict[str, Any] = {"differentiable": False, "infer": _selected}
non_max_suppression_op = op(
    "NonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size: int32 -> selected_indices: int32",
    iou_threshold=0.5,
    host="max_output_size",
    **_COMMON,
    doc="Selects boxes by descending score, omitting those that overlap a selected one too much.",
    capturable=False,
)
non_max_suppression_v2_op = op(
    "NonMaxSuppressionV2",
    f"{_BOXES}, iou_threshold: T_threshold -> selected_indices: int32",
    T=_SCORES,
    T_threshold=_SCORES,
    host="max_output_size, iou_threshold",
    **_COMMON,
    doc="Selects boxes by descending score, omitting those that overlap a selected one too much.",
    capturable=False,
)
non_max_suppression_v3_op = op(
    "NonMaxSuppressionV3",
    f"{_BOXES}, iou_threshold: T_threshold, score_threshold: T_threshold -> selected_indices: int32",
    T=_SCORES,
    T_threshold=_SCORES,
    host="max_output_size, iou_threshold, score_threshold",
    **_COMMON,
    doc="Selects boxes with scores above a threshold, omitting those that overlap a selected one too much.",
    capturable=False,
)
non_max_suppression_v4_op = op(
    "NonMaxSuppressionV4",
    f"{_BOXES}, iou_threshold: T_threshold, score_threshold: T_threshold"
    " -> selected_indices: int32, valid_outputs: int32",
    T=_SCORES,
    T_threshold=_SCORES,
    pad_to_max_output_size=False,
    host="max_output_size, iou_threshold, score_threshold",
    **_COMMON,
    doc="Selects boxes by descending score, optionally padded with zeros to the maximum count.",
    capturable=False,
)
non_max_suppression_v5_op = op(
    "NonMaxSuppressionV5",
    f"{_BOXES}, iou_threshold: T, score_threshold: T, soft_nms_sigma: T"
    " -> selected_indices: int32, selected_scores: T, valid_outputs: int32",
    T=_SCORES,
    pad_to_max_output_size=False,
    host="max_output_size, iou_threshold, score_threshold, soft_nms_sigma",
    **_COMMON,
    doc="Selects boxes by descending score; with a sigma (soft NMS), overlapping boxes lose score instead.",
    capturable=False,
)
non_max_suppression_with_overlaps_op = op(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float32, scores: float32, max_output_size: int32, overlap_threshold: float32,"
    " score_threshold: float32 -> selected_indices: int32",
    host="max_output_size, overlap_threshold, score_threshold",
    **_COMMON,
    doc="Selects items by descending score, omitting those that overlap a selected one too much, given all overlaps.",
    capturable=False,
)


def _combined(c: Inference) -> Sequence[Shape]:
    boxes, scores = with_rank(c, 0, 4), with_rank(c, 1, 3)
    assert boxes is not None and scores is not None
    require(boxes[3] in (None, 4), f"boxes has shape {show(boxes)}", expected="y1, x1, y2, x2 for each box")
    batch = same_dimension(boxes[0], scores[0], "batches", expected="scores for each image")
    same_dimension(boxes[1], scores[1], "sizes", expected="a score for each box")
    if boxes[2] not in (None, 1) and scores[2] is not None:
        same_dimension(boxes[2], scores[2], "classes", expected="one set of boxes for all classes, or one per class")
    per_class, total = _scalar_number(c, 2), _scalar_number(c, 3)
    require(per_class is None or per_class > 0, "max_output_size_per_class is 0", expected="at least 1")
    require(total is None or total > 0, "max_total_size is 0", expected="at least 1")
    _require_scalars(c, 4)
    if c.attrs["pad_per_class"]:
        is_static = None not in (per_class, total, scores[2])
        total = min(total, per_class * scores[2]) if is_static else None  # type: ignore[operator,type-var]
    return [(batch, total, 4), (batch, total), (batch, total), (batch,)]


combined_non_max_suppression_op = nondifferentiable_op(
    "CombinedNonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size_per_class: int32, max_total_size: int32,"
    " iou_threshold: float32, score_threshold: float32"
    " -> nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32",
    "Selects boxes per class and image, and the best of all classes.",
    pad_per_class=False,
    clip_boxes=True,
    host="max_output_size_per_class, max_total_size, iou_threshold, score_threshold",
    infer=_combined,
    capturable=False,
)


def _threshold(value: TensorLike, boxes: Tensor, name: str) -> Tensor:
    """Returns a threshold as a tensor; a Python number takes the type of the boxes."""
    return value if isinstance(value, Tensor) else convert_to_tensor(value, boxes.dtype, name=name)


@export("image.non_max_suppression")
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NEVER,
    name: str | None = None,
) -> Tensor:
    """Returns the indices of boxes by descending score, omitting those that overlap a selected one too much.

    Args:
        boxes: Boxes [y1, x1, y2, x2], in any unit.
    """
    with name_scope(name, "non_max_suppression", [boxes, scores]):
        boxes = convert_to_tensor(boxes, name="boxes")
        iou, least = _thresholds(iou_threshold, score_threshold, boxes)
        return non_max_suppression_v3_op(boxes, scores, max_output_size, iou, least)


def _thresholds(iou_threshold: TensorLike, score_threshold: TensorLike, boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Returns both thresholds in one type."""
    typed = next((t for t in (iou_threshold, score_threshold) if isinstance(t, Tensor)), boxes)
    return _threshold(iou_threshold, typed, "iou_threshold"), _threshold(score_threshold, typed, "score_threshold")


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NEVER,
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns indices and scores; with a sigma (soft NMS), overlap lowers scores instead of removing boxes.

    Args:
        boxes: Boxes [y1, x1, y2, x2], in any unit.
        soft_nms_sigma: Width of the Gaussian by which overlap lowers scores; 0 drops boxes instead.
    """
    with name_scope(name, "non_max_suppression_with_scores", [boxes, scores]):
        boxes = convert_to_tensor(boxes, name="boxes")
        iou, least = _thresholds(iou_threshold, score_threshold, boxes)
        sigma = _threshold(soft_nms_sigma, boxes, "soft_nms_sigma")
        indices, best, _ = non_max_suppression_v5_op.many(boxes, scores, max_output_size, iou, least, sigma)
        return indices, best


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NEVER,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the indices, optionally zero-padded to max_output_size, and the number of valid ones.

    Args:
        boxes: Boxes [y1, x1, y2, x2], in any unit.
        pad_to_max_output_size: Whether the result is padded with zeros to `max_output_size`.
    """
    with name_scope(name, "non_max_suppression_padded", [boxes, scores]):
        boxes = convert_to_tensor(boxes, name="boxes")
        iou, least = _thresholds(iou_threshold, score_threshold, boxes)
        return non_max_suppression_v4_op.many(
            boxes, scores, max_output_size, iou, least, pad_to_max_output_size=pad_to_max_output_size
        )


@export("image.non_max_suppression_overlaps")
def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NEVER,
    name: str | None = None,
) -> Tensor:
    """Returns the indices of items by descending score, given a matrix of pairwise overlaps.

    Args:
        overlaps: Square matrix of the overlap of each pair.
        scores: Score of each item.
        overlap_threshold: Items that overlap a better one by more than this are dropped.
        score_threshold: Lowest score.
    """
    with name_scope(name, "non_max_suppression_overlaps", [overlaps, scores]):
        return non_max_suppression_with_overlaps_op(
            overlaps, scores, max_output_size, overlap_threshold, score_threshold
        )


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NEVER,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """Returns boxes, scores, classes and their count per image: the best of all classes, suppressed per class.

    Args:
        boxes: Boxes [batch, count, classes or 1, 4].
        scores: Scores [batch, count, classes].
        max_output_size_per_class: Largest number of boxes for each class.
        max_total_size: Largest number of boxes over all classes.
        pad_per_class: Whether the result is padded to the size per class times the classes, up to the total size.
        clip_boxes: Whether boxes are clipped to [0, 1].
    """
    with name_scope(name, "combined_non_max_suppression", [boxes, scores]):
        return combined_non_max_suppression_op.many(
            boxes,
            scores,
            max_output_size_per_class,
            max_total_size,
            iou_threshold,
            score_threshold,
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )

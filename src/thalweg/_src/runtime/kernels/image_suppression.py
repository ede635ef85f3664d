"""Kernels of non-maximum suppression: a loop over the selected boxes, on the host, that compares all others at once."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
Overlap = Callable[[int, Any], Array]


def _host(value: torch.Tensor) -> Array:
    return value.detach().to("cpu", torch.float32).numpy()


class _Boxes:
    """Boxes with ordered corners, and their overlaps."""

    def __init__(self, boxes: Array) -> None:
        a, b, c, d = np.ascontiguousarray(boxes.T)
        self.top, self.left, self.bottom, self.right = (
            np.minimum(a, c),
            np.minimum(b, d),
            np.maximum(a, c),
            np.maximum(b, d),
        )
        self.areas = (self.bottom - self.top) * (self.right - self.left)

    def overlap(self, box: int, others: object) -> Array:
        """Returns the intersection over union with the boxes at an index; empty boxes overlap nothing."""
        height = np.minimum(self.bottom[others], self.bottom[box]) - np.maximum(self.top[others], self.top[box])
        width = np.minimum(self.right[others], self.right[box]) - np.maximum(self.left[others], self.left[box])
        common = np.maximum(height, 0) * np.maximum(width, 0)
        areas, area = self.areas[others], self.areas[box]
        union = areas + area - common
        some = (areas > 0) & (area > 0)
        ratio: Array = np.divide(common, union, out=np.zeros_like(common), where=some)
        return ratio


def _order(scores: Array, least: float) -> Array:
    """Returns the indices of the scores above a threshold in descending order, ties by index."""
    chosen = np.flatnonzero(scores > least)
    order: Array = chosen[np.argsort(-scores[chosen], kind="stable")]
    return order


def _suppress(
    overlap_in: Callable[[Array], Overlap], scores: Array, count: int, threshold: float, least: float
) -> list[int]:
    """Returns the selected indices. overlap_in(order): the overlap of the box at one position with those at others."""
    order = _order(scores, least)
    overlap, left = overlap_in(order), np.ones(len(order), bool)
    selected: list[int] = []
    for i in range(len(order)):
        if len(selected) == count:
            break
        if left[i]:
            selected.append(int(order[i]))
            left[i + 1 :] &= ~(overlap(i, slice(i + 1, None)) > threshold)
    return selected


def _suppress_boxes(boxes: Array, scores: Array, count: int, threshold: float, least: float) -> list[int]:
    return _suppress(lambda order: _Boxes(boxes[order]).overlap, scores, count, threshold, least)


def _soften(overlap: Overlap, scores: Array, count: int, sigma: float, least: float) -> tuple[list[int], list[float]]:
    """Soft NMS: selects boxes by score, where each selected box lowers the scores of the boxes it overlaps."""
    factor = np.float32(-0.5) / np.float32(sigma)
    # Each entry: the score, its box, and the number of selected boxes already applied to it.
    queue = [(-scores[i], int(i), 0) for i in _order(scores, least)]
    heapq.heapify(queue)
    selected: list[int] = []
    values: list[float] = []
    while queue and len(selected) < count:
        negative, box, seen = heapq.heappop(queue)
        score = original = np.float32(-negative)
        if seen < len(selected):
            for similarity in overlap(box, np.array(selected[seen:], np.int64))[::-1]:
                score = np.float32(score * np.exp(factor * similarity * similarity))
                if score <= least:
                    break
        if score == original:
            selected.append(box)
            values.append(float(score))
        elif score > least:
            heapq.heappush(queue, (-score, box, len(selected)))
    return selected, values


def _number(value: torch.Tensor, what: str) -> float:
    require(value.ndim == 0, f"{what} has shape {list(value.shape)}", expected=f"a scalar {what}")
    return float(value)


def _require_unit(threshold: float, what: str) -> float:
    require(0 <= threshold <= 1, f"{what} is {threshold}", expected="a number in [0, 1]")
    return threshold


def _count(value: torch.Tensor, what: str) -> int:
    require(value.ndim == 0, f"{what} has shape {list(value.shape)}", expected=f"a scalar {what}")
    require(int(value) >= 0, f"{what} is {int(value)}", expected="a non-negative number")
    return int(value)


def _boxes_and_scores(boxes: torch.Tensor, scores: torch.Tensor) -> tuple[Array, Array]:
    require(boxes.ndim == 2 and boxes.shape[1] == 4, f"boxes has shape {list(boxes.shape)}", expected="4 columns")
    require(scores.shape == boxes.shape[:1], f"scores has shape {list(scores.shape)}", expected="one score per box")
    return _host(boxes), _host(scores)


def _padded(values: list[Any], size: int | None, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    if size is None or size <= len(values):
        return torch.tensor(values, dtype=dtype, device=device)
    result = torch.zeros(size, dtype=dtype, device=device)
    result[: len(values)] = torch.tensor(values, dtype=dtype)
    return result


@kernel(
    *("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5")
)
def bind_suppression(node: Node, device: Device) -> Callable[..., Any]:
    pad, outputs, fixed = (
        node.attrs.get("pad_to_max_output_size"),
        len(node.dtypes),
        node.attrs.get("iou_threshold", 0.5),
    )

    def select(
        boxes: torch.Tensor,
        scores: torch.Tensor,
        max_output_size: torch.Tensor,
        iou_threshold: torch.Tensor | None = None,
        score_threshold: torch.Tensor | None = None,
        soft_nms_sigma: torch.Tensor | None = None,
    ) -> Any:
        host_boxes, values = _boxes_and_scores(boxes, scores)
        count = _count(max_output_size, "max_output_size")
        iou = float(fixed) if iou_threshold is None else _number(iou_threshold, "iou_threshold")
        _require_unit(iou, "iou_threshold")
        least = float("-inf") if score_threshold is None else _number(score_threshold, "score_threshold")
        sigma = 0.0 if soft_nms_sigma is None else _number(soft_nms_sigma, "soft_nms_sigma")
        require(sigma >= 0, f"soft_nms_sigma is {sigma}", expected="a non-negative number")
        if sigma > 0:
            selected, best = _soften(_Boxes(host_boxes).overlap, values, count, sigma, least)
        else:
            selected = _suppress_boxes(host_boxes, values, count, iou, least)
            best = values[selected].tolist()
        size = count if pad else None
        indices = _padded(selected, size, torch.int32, device.torch)
        if outputs == 1:
            return indices
        valid = torch.tensor(len(selected), dtype=torch.int32, device=device.torch)
        if outputs == 2:
            return indices, valid
        return indices, _padded(best, size, scores.dtype, device.torch), valid

    return select


@kernel("NonMaxSuppressionWithOverlaps")
def bind_suppression_by_table(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    def select(
        overlaps: torch.Tensor,
        scores: torch.Tensor,
        max_output_size: torch.Tensor,
        overlap_threshold: torch.Tensor,
        score_threshold: torch.Tensor,
    ) -> torch.Tensor:
        square = overlaps.ndim == 2 and overlaps.shape[0] == overlaps.shape[1]
        require(square, f"overlaps has shape {list(overlaps.shape)}", expected="a square")
        require(scores.shape == overlaps.shape[:1], f"scores has shape {list(scores.shape)}", expected="one per row")
        table = _host(overlaps)
        selected = _suppress(
            lambda order: lambda i, others: table[order[others], order[i]],
            _host(scores),
            _count(max_output_size, "max_output_size"),
            _number(overlap_threshold, "overlap_threshold"),
            _number(score_threshold, "score_threshold"),
        )
        return torch.tensor(selected, dtype=torch.int32, device=device.torch)

    return select


@kernel("CombinedNonMaxSuppression")
def bind_combined(node: Node, device: Device) -> Callable[..., Any]:
    pad_per_class, clip = node.attrs["pad_per_class"], node.attrs["clip_boxes"]

    def select(
        boxes: torch.Tensor,
        scores: torch.Tensor,
        max_output_size_per_class: torch.Tensor,
        max_total_size: torch.Tensor,
        iou_threshold: torch.Tensor,
        score_threshold: torch.Tensor,
    ) -> Any:
        require(boxes.ndim == 4 and boxes.shape[3] == 4, f"boxes has shape {list(boxes.shape)}", expected="4 columns")
        same = scores.ndim == 3 and scores.shape[:2] == boxes.shape[:2]
        require(same, f"scores has shape {list(scores.shape)}", expected="one row of scores per box")
        classes = scores.shape[2]
        require(boxes.shape[2] in (1, classes), f"boxes has {boxes.shape[2]} classes", expected=f"1 or {classes}")
        per_class = _count(max_output_size_per_class, "max_output_size_per_class")
        total = _count(max_total_size, "size")
        require(per_class > 0 and total > 0, f"the sizes are {per_class} and {total}", expected="at least 1")
        iou = _require_unit(_number(iou_threshold, "iou_threshold"), "iou_threshold")
        least = _number(score_threshold, "score_threshold")
        size = min(total, per_class * classes) if pad_per_class else total
        results = torch.zeros((boxes.shape[0], size, 6), device="cpu")  # four corners, score and class
        valid = []
        for target, image, points in zip(results.numpy(), _host(boxes), _host(scores)):
            best = _best_of_classes(image, points, per_class, iou, least)[:size]
            target[: len(best)] = best
            valid.append(len(best))
        corners = results[..., :4].clamp(0, 1) if clip else results[..., :4].contiguous()
        counts = torch.tensor(valid, dtype=torch.int32)
        outputs = (corners, results[..., 4].contiguous(), results[..., 5].contiguous(), counts)
        return tuple(output.to(device.torch) for output in outputs)

    return select


def _best_of_classes(boxes: Array, scores: Array, per_class: int, iou: float, least: float) -> Array:
    """Returns corners, score and class of the selected boxes of all classes of one image, best first."""
    rows = [np.empty((0, 6), np.float32)]
    for number in range(scores.shape[1]):
        class_boxes = boxes[:, number if boxes.shape[1] > 1 else 0]
        selected = _suppress_boxes(class_boxes, scores[:, number], per_class, iou, least)
        labels = np.full((len(selected), 1), number, np.float32)
        rows.append(np.concatenate([class_boxes[selected], scores[selected, number, None], labels], 1))
    every = np.concatenate(rows)
    best: Array = every[np.argsort(-every[:, 4], kind="stable")]
    return best

"""Boxes: crops, suppression, drawings, glimpses and random windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg import image
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.autodiff.numeric import compute_gradient_error
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.kernels import image_suppression
from thalweg._src.runtime.session.session import Session

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 5, 7, 3)).astype(np.float32)


def run(fetch: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetch, feeds)


# -- crops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_crops(method: str) -> None:
    boxes = np.array([[0, 0, 1, 1], [0.25, 0.5, 0.75, 1], [1, 1, 0, 0], [-1, 0, 1, 1]], np.float32)
    crops = image.crop_and_resize(X, boxes, [0, 1, 1, 0], [5, 7], method, extrapolation_value=9)
    assert crops.get_shape().as_list() == [4, 5, 7, 3]
    value = run(crops)
    np.testing.assert_allclose(value[0], X[0], atol=1e-5)
    np.testing.assert_allclose(value[2], X[1, ::-1, ::-1], atol=1e-5)
    np.testing.assert_allclose(value[1][::4, ::6], X[1][1:4:2, 3::3], atol=1e-5)
    assert (value[3][:2] == 9).all()


def test_crop_gradients() -> None:
    boxes = RNG.uniform(0.1, 0.9, size=(3, 4)).astype(np.float32)
    x, b = constant(X), constant(boxes)
    crops = image.crop_and_resize(x, b, [0, 1, 0], [3, 4])
    with Session():
        assert compute_gradient_error(x, X.shape, crops, [3, 3, 4, 3], X, delta=1e-2) < 1e-2
        assert compute_gradient_error(b, [3, 4], crops, [3, 3, 4, 3], boxes, delta=1e-4) < 0.1
    by_nearest = gradients(image.crop_and_resize(x, b, [0, 1, 0], [3, 4], "nearest"), x)[0]
    assert run(by_nearest).sum() == pytest.approx(3 * 3 * 4 * 3)


def test_crops_of_missing_images() -> None:
    with pytest.raises(errors.OutOfRangeError, match=r"outside \[0, 2\)"):
        run(image.crop_and_resize(X, [[0.0, 0, 1, 1]], [2], [3, 3]))
    with pytest.raises(errors.InvalidArgumentError, match="not finite"):
        run(image.crop_and_resize(X, [[0.0, 0, 1, np.nan]], [1], [3, 3]))
    assert run(image.crop_and_resize(X, np.zeros((0, 4), "f"), np.zeros(0, "i"), [3, 3])).shape == (0, 3, 3, 3)
    nothing = constant(X[..., :0])
    crops = image.crop_and_resize(nothing, [[0.0, 0, 1, 1]], [1], [3, 3])
    assert [v.shape for v in run([crops, *gradients(crops, nothing)])] == [(1, 3, 3, 0), (2, 5, 7, 0)]


# -- suppression ------------------------------------------------------------------------------------------------------


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    common = np.maximum(sides, 0).prod()
    return common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common)


def suppressed(boxes: np.ndarray, scores: np.ndarray, count: int, iou: float, least: float) -> list[int]:
    kept: list[int] = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if len(kept) < count and scores[i] > least and all(overlap(boxes[i], boxes[k]) <= iou for k in kept):
            kept.append(i)
    return kept


BOXES = RNG.uniform(size=(80, 4)).astype(np.float32)
BOXES[:, 2:] = BOXES[:, :2] + RNG.uniform(0.05, 0.4, size=(80, 2))
SCORES = RNG.uniform(size=80).astype(np.float32)


@pytest.mark.parametrize("iou", [0.0, 0.2, 0.5])
@pytest.mark.parametrize(("count", "least"), [(100, -np.inf), (7, -np.inf), (100, 0.5), (0, 0.0)])
def test_non_max_suppression(iou: float, count: int, least: float) -> None:
    expected = suppressed(BOXES, SCORES, count, iou, least)
    assert run(image.non_max_suppression(BOXES, SCORES, count, iou, least)).tolist() == expected
    flipped = BOXES[:, [2, 1, 0, 3]]
    assert run(image.non_max_suppression(flipped, SCORES, count, iou, least)).tolist() == expected
    padded, valid = image.non_max_suppression_padded(BOXES, SCORES, 90, iou, least, pad_to_max_output_size=True)
    assert padded.get_shape().as_list() == [90]
    indices, number = run([padded, valid])
    whole = suppressed(BOXES, SCORES, 90, iou, least)
    assert number == len(whole) and indices.tolist() == whole + [0] * (90 - number)


def test_suppression_of_equal_scores_keeps_the_first() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [5, 5, 5, 6]], np.float32)
    assert run(image.non_max_suppression(boxes, np.ones(4, "f"), 4)).tolist() == [0, 2, 3]


def test_soft_suppression_lowers_scores() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]], np.float32)
    scores = np.array([0.9, 0.8, 0.3], np.float32)
    indices, values = run(image.non_max_suppression_with_scores(boxes, scores, 3, soft_nms_sigma=0.5))
    low = 0.8 * np.exp(-(overlap(boxes[0], boxes[1]) ** 2) / (2 * 0.5))
    assert indices.tolist() == [0, 2, 1] if low < 0.3 else [0, 1, 2]
    np.testing.assert_allclose(sorted(values), sorted([0.9, low, 0.3]), rtol=1e-5)


def test_suppression_by_a_table() -> None:
    table = np.array([[1, 0.9, 0], [0.9, 1, 0.2], [0, 0.2, 1]], np.float32)
    assert run(image.non_max_suppression_overlaps(table, [0.5, 0.9, 0.7], 3)).tolist() == [1, 2]
    assert run(image.non_max_suppression_overlaps(table, [0.5, 0.9, 0.7], 3, 0.1)).tolist() == [1]


def test_suppression_in_classes() -> None:
    boxes, scores = BOXES[:60].reshape(2, 30, 1, 4), RNG.uniform(size=(2, 30, 3)).astype(np.float32)
    found = run(image.combined_non_max_suppression(boxes, scores, 4, 9, 0.3, 0.1, clip_boxes=False))
    for i in range(2):
        every = [
            (-scores[i, k, c], c, k) for c in range(3) for k in suppressed(boxes[i, :, 0], scores[i, :, c], 4, 0.3, 0.1)
        ]
        best = sorted(every)[:9]
        assert found.valid_detections[i] == len(best)
        np.testing.assert_array_equal(found.nmsed_classes[i][: len(best)], [c for _, c, _ in best])
        np.testing.assert_array_equal(found.nmsed_boxes[i][: len(best)], [boxes[i, k, 0] for *_, k in best])


def test_each_selected_box_is_compared_once_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, overlap = [], image_suppression._Boxes.overlap

    def counted(self: Any, box: int, others: Any) -> Any:
        looks.append(box)
        return overlap(self, box, others)

    monkeypatch.setattr(image_suppression._Boxes, "overlap", counted)
    boxes = RNG.uniform(size=(1000, 4)).astype(np.float32)
    boxes[:, 2:] = boxes[:, :2] + 0.1
    kept = run(image.non_max_suppression(boxes, RNG.uniform(size=1000).astype("f"), 100))
    assert len(kept) == 100 == len(looks) == len(set(looks))


def test_invalid_thresholds() -> None:
    threshold = placeholder("float32", [])
    kept = image.non_max_suppression(BOXES, SCORES, 3, threshold)
    with pytest.raises(errors.InvalidArgumentError, match=r"iou_threshold is 1\.5"):
        run(kept, {threshold: 1.5})
    with pytest.raises(ValueError, match="a score for each box"):
        image.non_max_suppression(BOXES, SCORES[:5], 3)


# -- drawing, glimpses, windows ---------------------------------------------------------------------------------------


def test_drawing() -> None:
    images = np.zeros((1, 5, 6, 3), np.float32)
    value = run(image.draw_bounding_boxes(images, [[[0, 0, 0.5, 0.4], [-1, -1, 2, 2], [0.9, 0.9, 0.1, 0.1]]]))[0]
    yellow = np.zeros((5, 6), bool)
    yellow[:3, :3] = True
    yellow[1, 1] = False
    np.testing.assert_array_equal(value, yellow[..., None] * np.array([1, 1, 0], "f"))
    own = run(image.draw_bounding_boxes(images, [[[0.0, 0, 1, 1]]], colors=[[0.1, 0.2, 0.3]]))[0]
    np.testing.assert_allclose(own[0, 0], [0.1, 0.2, 0.3])
    assert not own[1:-1, 1:-1].any()


def test_glimpses() -> None:
    inside = run(image.extract_glimpse(X, [3, 3], np.zeros((2, 2), "f")))
    np.testing.assert_array_equal(inside, X[:, 1:4, 2:5])
    corner = run(image.extract_glimpse(X, [4, 4], [[-1.0, -1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(corner[0, 2:, 2:], X[0, :2, :2])
    np.testing.assert_array_equal(corner[1, :2, :2], X[1, -2:, -2:])
    assert X[0].min() <= corner[0].min() and corner[0].max() <= X[0].max()


def test_random_windows() -> None:
    box = np.array([[[0.2, 0.3, 0.7, 0.8]]], np.float32)
    sample = image.sample_distorted_bounding_box(
        [60, 80, 3], box, seed=5, min_object_covered=0.6, aspect_ratio_range=[0.8, 1.25], area_range=[0.2, 1.0]
    )
    with Session() as session:
        values = [session.run(list(sample)) for _ in range(30)]
    assert len({tuple(begin) for begin, _, _ in values}) > 5
    top, left, bottom, right = 12, 24, 42, 64
    for begin, size, drawn in values:
        y, x, _ = begin
        height, width, rest = size
        assert rest == -1 and 0.15 < height * width / 4800 <= 1 and 0.75 < width / height < 1.35
        shown = (min(bottom, y + height) - max(top, y)) * (min(right, x + width) - max(left, x))
        assert shown >= 0.6 * 30 * 40
        np.testing.assert_allclose(drawn[0, 0] * [60, 80, 60, 80], [y, x, y + height, x + width], rtol=1e-5)
    np.testing.assert_array_equal(run(sample.begin), values[0][0])


def test_sampled_windows_require_boxes() -> None:
    none = np.zeros((1, 0, 4), np.float32)
    with pytest.raises(errors.InvalidArgumentError, match="use_image_if_no_bounding_boxes"):
        run(list(image.sample_distorted_bounding_box([60, 80, 3], none)))
    whole = image.sample_distorted_bounding_box([60, 80, 3], none, seed=1, use_image_if_no_bounding_boxes=True)
    assert run(whole.size)[2] == -1

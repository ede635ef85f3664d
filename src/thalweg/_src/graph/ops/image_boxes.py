"""Bounding boxes in images: crop_and_resize, drawing, glimpses and random crops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reduction import one_of
from thalweg._src.graph.ops.shape_functions import require, same_dimension, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.seeds import get_seed
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_FLOATS = frozenset((dtypes.float16, dtypes.float32, dtypes.float64))
_IMAGES = _FLOATS | {dtypes.uint8, dtypes.uint16, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64}
_PIXELS = attr.types({dtypes.float32, dtypes.float16}, dtypes.float32)
# In single precision, as in TensorFlow.
_ASPECTS = attr.AttrDef("list(float)", (0.75, 1.3300000429153442))
_AREAS = attr.AttrDef("list(float)", (0.05000000074505806, 1.0))


def _boxes(c: Inference, index: int) -> int | None:
    """Returns the number of boxes in an input, and requires as many image indices in the next."""
    boxes, numbers = with_rank(c, index, 2), with_rank(c, index + 1, 1)
    assert boxes is not None and numbers is not None
    require(boxes[1] in (None, 4), f"boxes has shape {show(boxes)}", expected="y1, x1, y2, x2 for each box")
    return same_dimension(boxes[0], numbers[0], "sizes", expected="an image index for each box")


def _two(c: Inference, index: int, least: int) -> tuple[int | None, int | None]:
    name, shape = c.definition.inputs[index].name, with_rank(c, index, 1)
    assert shape is not None
    require(shape[0] in (None, 2), f"{name} has {shape[0]} elements", expected="a height and a width")
    value = c.partial(index)
    for number in () if value is None or value.ndim != 1 else value.tolist():
        require(number is None or number >= least, f"{name} is {value}", expected=f"sizes of at least {least}")
    height, width = c.shape_value(index) or (None, None)
    return height, width


def _require_pixels(shape: Shape, name: str = "image") -> None:
    require(shape is None or 0 not in shape[1:3], f"{name} has shape {show(shape)}", expected="images with pixels")


def _crops(c: Inference) -> Sequence[Shape]:
    image = with_rank(c, 0, 4)
    assert image is not None
    _require_pixels(image)
    return [(_boxes(c, 1), *_two(c, 3, 1), image[3])]


def _crops_grad_image(c: Inference) -> Sequence[Shape]:
    grads, size = with_rank(c, 0, 4), with_rank(c, 3, 1)
    assert grads is not None and size is not None
    same_dimension(grads[0], _boxes(c, 1), "sizes", expected="grads for each box")
    require(size[0] in (None, 4), f"image_size has {size[0]} elements", expected="batch, height, width, channels")
    shape = c.shape_value(3) or (None,) * 4
    value = c.partial(3)
    for number in () if value is None or value.ndim != 1 else value.tolist():
        require(number is None or number >= 0, f"image_size is {value}", expected="non-negative sizes")
    _require_pixels(shape)
    same_dimension(grads[3], shape[3], "channels", expected="grads.shape[3] == image_size[3]")
    return [shape]


def _crops_grad_boxes(c: Inference) -> Sequence[Shape]:
    grads, image = with_rank(c, 0, 4), with_rank(c, 1, 4)
    assert grads is not None and image is not None
    _require_pixels(image)
    _require_pixels(grads, "grads")
    same_dimension(grads[3], image[3], "channels", expected="grads.shape[3] == image.shape[3]")
    return [(same_dimension(grads[0], _boxes(c, 2), "sizes", expected="grads for each box"), 4)]


crop_and_resize_op = op(
    "CropAndResize",
    "image: T, boxes: float32, box_ind: int32, crop_size: int32 -> crops: float32",
    T=_IMAGES,
    method=attr.string("bilinear", "nearest", default="bilinear"),
    extrapolation_value=0.0,
    host="crop_size",
    infer=_crops,
    doc="Crops boxes from images and resizes them to one size.",
    capturable=False,
)
crop_and_resize_grad_image = op(
    "CropAndResizeGradImage",
    "grads: float32, boxes: float32, box_ind: int32, image_size: int32 -> output: T",
    T=_FLOATS,
    method=attr.string("bilinear", "nearest", default="bilinear"),
    host="image_size",
    infer=_crops_grad_image,
    doc="Computes the gradient of CropAndResize with respect to its images.",
    capturable=False,
)
crop_and_resize_grad_boxes = nondifferentiable_op(
    "CropAndResizeGradBoxes",
    "grads: float32, image: T, boxes: float32, box_ind: int32 -> output: float32",
    "Computes the gradient of CropAndResize with respect to its boxes.",
    T=_IMAGES,
    method=attr.string("bilinear", default="bilinear"),
    infer=_crops_grad_boxes,
    capturable=False,
)


@export("image.crop_and_resize")
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike | None = None,
    crop_size: TensorLike | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: TensorLike | None = None,
) -> Tensor:
    """Crops boxes (in fractions of height and width) from images and resizes them to one size.

    Args:
        image: Images [batch, height, width, channels].
        boxes: Boxes [y_min, x_min, y_max, x_max] in fractions of the image's height and width.
        box_ind: Number of the image that each box belongs to.
        crop_size: Height and width of each crop.
        method: "bilinear" or "nearest".
        extrapolation_value: Value of pixels outside the image.
        box_indices: Another name of `box_ind`.
    """
    numbers = one_of("box_indices", box_indices, "box_ind", box_ind)
    return crop_and_resize_op(
        image, boxes, numbers, crop_size, method=method, extrapolation_value=extrapolation_value, name=name
    )


# -- drawing ----------------------------------------------------------------------------------------------------------


def _drawn(c: Inference) -> Sequence[Shape]:
    images, boxes = with_rank(c, 0, 4), with_rank(c, 1, 3)
    assert images is not None and boxes is not None
    require(images[3] in (None, 1, 3, 4), f"images has {images[3]} channels", expected="1, 3 or 4 channels")
    require(boxes[2] in (None, 4), f"boxes has shape {show(boxes)}", expected="y1, x1, y2, x2 for each box")
    batch = same_dimension(images[0], boxes[0], "sizes", expected="boxes for each image")
    if len(c.shapes) > 2:
        colors = with_rank(c, 2, 2)
        assert colors is not None
        if None not in (colors[1], images[3]):
            enough = colors[1] >= images[3]  # type: ignore[operator]
            require(enough, f"colors has {colors[1]} channels, images {images[3]}", expected="at least as many")
    return [(batch, *images[1:])]


draw_bounding_boxes_op = nondifferentiable_op(
    "DrawBoundingBoxes",
    "images: T, boxes: float32 -> output: T",
    "Draws the outlines of boxes on images, in ten colors.",
    T=_PIXELS,
    infer=_drawn,
    capturable=False,
)
draw_bounding_boxes_v2_op = nondifferentiable_op(
    "DrawBoundingBoxesV2",
    "images: T, boxes: float32, colors: float32 -> output: T",
    "Draws the outlines of boxes on images, in given colors.",
    T=_PIXELS,
    infer=_drawn,
    capturable=False,
)


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Tensor:
    """Draws the outlines of boxes (in fractions of height and width) on images, cycling through the colors.

    Args:
        boxes: Boxes [batch, count, 4] in fractions of height and width.
        colors: Colors [count, depth], used cyclically.
    """
    if colors is None:
        return draw_bounding_boxes_op(images, boxes, name=name)
    return draw_bounding_boxes_v2_op(images, boxes, colors, name=name)


# -- glimpses ---------------------------------------------------------------------------------------------------------


def _glimpsed(c: Inference) -> Sequence[Shape]:
    images, offsets = with_rank(c, 0, 4), with_rank(c, 2, 2)
    assert images is not None and offsets is not None
    require(offsets[1] in (None, 2), f"offsets has shape {show(offsets)}", expected="y and x for each image")
    noise = c.attrs["noise"]
    require(noise in ("uniform", "gaussian", "zero"), f"noise is {noise!r}", expected="uniform, gaussian or zero")
    batch = same_dimension(images[0], offsets[0], "sizes", expected="an offset for each image")
    return [(batch, *_two(c, 1, 0), images[3])]


_GLIMPSE: dict[str, Any] = {
    "centered": True,
    "normalized": True,
    "uniform_noise": True,
    "noise": "uniform",
    "host": "size",
    "differentiable": False,
    "infer": _glimpsed,
}
extract_glimpse_op = op(
    "ExtractGlimpse",
    "input: float32, size: int32, offsets: float32 -> glimpse: float32",
    **_GLIMPSE,
    doc="Extracts a window of each image; pixels outside are noise.",
)
extract_glimpse_v2_op = op(
    "ExtractGlimpseV2",
    "input: float32, size: int32, offsets: float32 -> glimpse: float32",
    **_GLIMPSE,
    doc="Extracts a window of each image; pixels outside are noise.",
)


@export("image.extract_glimpse")
def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Extracts a window from each image; parts outside the image are filled with noise.

    Args:
        input: Images [batch, height, width, channels].
        size: Height and width of the window.
        offsets: Position of the window in each image, [batch, (y, x)].
        centered: Whether offsets are relative to the centre of the image.
        normalized: Whether offsets are in fractions of the image, not in pixels.
        uniform_noise: Whether noise outside the image is uniform, not normal.
    """
    return extract_glimpse_op(
        input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise, name=name
    )


# -- random windows ---------------------------------------------------------------------------------------------------


def _sampled(c: Inference) -> Sequence[Shape]:
    size, boxes = with_rank(c, 0, 1), with_rank(c, 1, 3)
    assert size is not None and boxes is not None
    require(size[0] in (None, 3), f"image_size has {size[0]} elements", expected="height, width, channels")
    require(boxes[2] in (None, 4), f"bounding_boxes has shape {show(boxes)}", expected="y1, x1, y2, x2 for each")
    require(not c.shapes[-1] or len(c.shapes) < 3, f"min_object_covered has shape {show(c.shapes[-1])}", "a scalar")
    for key in ("aspect_ratio_range", "area_range"):
        low_high = c.attrs[key]
        require(len(low_high) == 2, f"{key} has {len(low_high)} numbers", expected="the minimum and the maximum")
        low, high = low_high
        least = low > 0 if key == "aspect_ratio_range" else low >= 0
        require(least and 0 < high < float("inf"), f"{key} is {list(low_high)}", expected="positive numbers")
        require(key == "aspect_ratio_range" or high <= 1, f"{key} is {list(low_high)}", expected="numbers up to 1")
        require(low <= high, f"{key} is {list(low_high)}", expected="the minimum first")
    attempts = c.attrs["max_attempts"]
    require(attempts > 0, f"max_attempts is {attempts}", expected="at least 1")
    return [(3,), (3,), (1, 1, 4)]


_SAMPLE: dict[str, Any] = {
    "T": frozenset((dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)),
    "seed": 0,
    "seed2": 0,
    "aspect_ratio_range": _ASPECTS,
    "area_range": _AREAS,
    "max_attempts": 100,
    "use_image_if_no_bounding_boxes": False,
    "stateful": True,
    "differentiable": False,
    "infer": _sampled,
}
sample_distorted_bounding_box_op = op(
    "SampleDistortedBoundingBox",
    "image_size: T, bounding_boxes: float32 -> begin: T, size: T, bboxes: float32",
    min_object_covered=0.1,
    **_SAMPLE,
    host="image_size, bounding_boxes, begin, size, bboxes",
    doc="Draws a random window that covers enough of some box.",
)
sample_distorted_bounding_box_v2_op = op(
    "SampleDistortedBoundingBoxV2",
    "image_size: T, bounding_boxes: float32, min_object_covered: float32 -> begin: T, size: T, bboxes: float32",
    **_SAMPLE,
    host="image_size, bounding_boxes, min_object_covered, begin, size, bboxes",
    doc="Draws a random window that covers enough of some box.",
)


@export("image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """Returns begin and size for `tf.slice`, and the box for drawing, of a random window that covers part of a box.

    Args:
        image_size: Height, width and channels of the image.
        bounding_boxes: Boxes [batch, count, 4] as fractions of the image.
        seed: The first seed.
        min_object_covered: Smallest fraction of a box that the window must contain.
        aspect_ratio_range: Allowed range of width over height.
        area_range: Allowed range of the window's fraction of the image.
        max_attempts: How many windows are tried before the whole image is returned.
        use_image_if_no_bounding_boxes: Whether an image without boxes counts as one box; otherwise it is an error.
    """
    optional = {
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "max_attempts": max_attempts,
        "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes,
    }
    attrs = {key: value for key, value in optional.items() if value is not None}
    with name_scope(name, "sample_distorted_bounding_box", [image_size, bounding_boxes]):
        first, second = get_seed(None) if not seed and not seed2 else (seed, seed2)
        return sample_distorted_bounding_box_v2_op.many(
            image_size, bounding_boxes, min_object_covered, seed=first or 0, seed2=second or 0, **attrs
        )

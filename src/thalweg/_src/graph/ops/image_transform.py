"""Geometric image operations: flips, rotations, crops and padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_greater_equal, assert_positive
from thalweg._src.graph.ops.comparison import less
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.image_resize import ResizeMethod, resize_images
from thalweg._src.graph.ops.math import floor, maximum, minimum
from thalweg._src.graph.ops.pad_tile import pad, reverse
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reshape import (
    constant_value,
    expand_dims,
    rank,
    reshape,
    shape as shape_of,
    squeeze,
    transpose,
)
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.shape_functions import require, scalar_value
from thalweg._src.graph.ops.slicing import slice
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _rotated(c: Inference) -> list[Shape]:
    quarters, shape = scalar_value(c, 1), c.shapes[0]
    if shape is None:
        return [None]
    require(len(shape) >= 3, f"image has rank {len(shape)}", expected="height, width and channels")
    *outer, height, width, channels = shape
    if quarters is None:
        height, width = (height, width) if height == width else (None, None)
    elif quarters % 2:
        height, width = width, height
    return [(*outer, height, width, channels)]


rotate_quarters = op(
    "_RotateQuarters",
    "image: T, k: int32 -> output: T",
    T=attr.types(),
    host="k",
    infer=_rotated,
    doc="Rotates images counter-clockwise by multiples of 90 degrees.",
)


def image_tensor(image: TensorLike) -> Tensor:
    """Returns an image or a batch that is not empty: checked now where sizes are static, else in the step."""
    image = convert_to_tensor(image, name="image")
    checks = _pixel_checks(image)
    return with_dependencies(checks, image) if checks else image


def _pixel_checks(image: Tensor) -> list[Operation]:
    static = image.dims
    if static is not None and len(static) < 3:
        raise ValueError(f"'image' (shape {shapes.TensorShape(static)}) must be at least three-dimensional.")
    if static is not None and 0 in static[-3:]:
        raise ValueError(f"image is empty: its shape is {shapes.show(static)}")
    if static is not None and None not in static[-3:]:
        return []
    sizes = shape_of(image)
    return [
        assert_positive(sizes[-3:], message="image is empty"),
        assert_greater_equal(rank(image), 3, message="image has a rank less than 3"),
    ]


def _require_rank(image: Tensor) -> None:
    static = image.dims
    if static is not None and len(static) not in (3, 4):
        raise ValueError(f"'image' (shape {shapes.TensorShape(static)}) must have either 3 or 4 dimensions.")


# -- flips and turns --------------------------------------------------------------------------------------------------


def _flip(image: TensorLike, axis: int, name: str) -> Tensor:
    with name_scope(None, name, [image]):
        image = image_tensor(image)
        _require_rank(image)
        return reverse(image, [axis])


@export("image.flip_left_right")
def flip_left_right(image: TensorLike) -> Tensor:
    """Flips images horizontally."""
    return _flip(image, -2, "flip_left_right")


@export("image.flip_up_down")
def flip_up_down(image: TensorLike) -> Tensor:
    """Flips images vertically."""
    return _flip(image, -3, "flip_up_down")


def _random_flip(image: TensorLike, axis: int, seed: int | None, name: str) -> Tensor:
    with name_scope(None, name, [image]):
        image = image_tensor(image)
        _require_rank(image)
        one = image.dims is not None and len(image.dims) == 3
        chances: Any = [] if one else concat([shape_of(image)[:-3], [1, 1, 1]], 0)
        flipped = less(random_uniform(chances, 0, 1.0, seed=seed), 0.5)
        result = where_v2(flipped, reverse(image, [axis]), image)
        result.set_shape(image.get_shape())
        return result


@export("image.random_flip_left_right")
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Flips each image left to right with probability 0.5."""
    return _random_flip(image, -2, seed, "random_flip_left_right")


@export("image.random_flip_up_down")
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Flips each image upside down with probability 0.5."""
    return _random_flip(image, -3, seed, "random_flip_up_down")


@export("image.transpose", "image.transpose_image")
def transpose_image(image: TensorLike, name: str | None = None) -> Tensor:
    """Swaps height and width."""
    with name_scope(name, "transpose", [image]):
        image = image_tensor(image)
        _require_rank(image)
        static = image.dims
        if static is not None:
            return transpose(image, [1, 0, 2] if len(static) == 3 else [0, 2, 1, 3])
        count = rank(image)
        return transpose(image, concat([range_of(count - 3), stack([count - 2, count - 3, count - 1])], 0))


@export("image.rot90")
def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Rotates images by `k` quarter turns counterclockwise.

    Args:
        k: Number of quarter turns, counterclockwise.
    """
    with name_scope(name, "rot90", [image, k]) as scope:
        image = image_tensor(image)
        _require_rank(image)
        k = convert_to_tensor(k, dtypes.int32, name="k")
        k.get_shape().assert_has_rank(0)
        turns, static = constant_value(k), image.dims
        if turns is None or static is None:
            return rotate_quarters(image, k, name=scope)
        across = [1, 0, 2] if len(static) == 3 else [0, 2, 1, 3]
        if turns % 4 == 1:
            return transpose(reverse(image, [-2]), across, name=scope)
        if turns % 4 == 3:
            return reverse(transpose(image, across), [-2], name=scope)
        return reverse(image, [-3, -2], name=scope) if turns % 4 else identity(image, name=scope)


# -- crops and margins ------------------------------------------------------------------------------------------------


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def _assert(condition: Any, message: str) -> list[Operation]:
    """Checks a condition now if it is static, else in the step."""
    if _is_tensor(condition):
        return [Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


class _Batch:
    """An image or a batch as a batch, with sizes as ints where they are static, else as tensors."""

    def __init__(self, image: TensorLike) -> None:
        image = convert_to_tensor(image, name="image")
        _require_rank(image)
        static = image.dims
        self.single = static is None or len(static) == 3
        if self.single:
            image = expand_dims(image, 0)
            if static is None:
                image.set_shape([None] * 4)
        self.images = image
        self.checks = _pixel_checks(image)

    @property
    def sizes(self) -> list[Any]:
        static = self.images.dims
        assert static is not None
        if None not in static:
            return list(static)
        dynamic = shape_of(self.images)
        return [dynamic[i] if size is None else size for i, size in enumerate(static)]

    def checked(self, checks: list[Operation]) -> Tensor:
        every = self.checks + checks
        return with_dependencies(every, self.images) if every else self.images

    def result(self, images: Tensor) -> Tensor:
        return squeeze(images, axis=[0]) if self.single else images


def _static(*sizes: Any) -> list[int | None]:
    return [None if _is_tensor(size) else int(size) for size in sizes]


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: TensorLike,
    offset_height: int | Tensor,
    offset_width: int | Tensor,
    target_height: int | Tensor,
    target_width: int | Tensor,
) -> Tensor:
    """Zero-pads images: offset_height rows above, offset_width columns left, the remainder below and right.

    Args:
        offset_height: Number of rows of zeros above the image.
        offset_width: Number of columns of zeros left of the image.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        batch = _Batch(image)
        count, height, width, depth = batch.sizes
        below, right = target_height - offset_height - height, target_width - offset_width - width
        checks = _assert(offset_height >= 0, "offset_height must be >= 0")
        checks += _assert(offset_width >= 0, "offset_width must be >= 0")
        checks += _assert(right >= 0, "width must be <= target - offset")
        checks += _assert(below >= 0, "height must be <= target - offset")
        images = batch.checked(checks)
        paddings = reshape(stack([0, 0, offset_height, below, offset_width, right, 0, 0]), [4, 2])
        padded = pad(images, paddings)
        padded.set_shape(_static(count, target_height, target_width, depth))
        return batch.result(padded)


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: TensorLike,
    offset_height: int | Tensor,
    offset_width: int | Tensor,
    target_height: int | Tensor,
    target_width: int | Tensor,
) -> Tensor:
    """Crops a window of a size at an offset from images."""
    with name_scope(None, "crop_to_bounding_box", [image]):
        batch = _Batch(image)
        count, height, width, depth = batch.sizes
        checks = _assert(offset_width >= 0, "offset_width must be >= 0.")
        checks += _assert(offset_height >= 0, "offset_height must be >= 0.")
        checks += _assert(target_width > 0, "target_width must be > 0.")
        checks += _assert(target_height > 0, "target_height must be > 0.")
        checks += _assert(width >= target_width + offset_width, "width must be >= target + offset.")
        checks += _assert(height >= target_height + offset_height, "height must be >= target + offset.")
        begin = stack([0, offset_height, offset_width, 0])
        cropped = slice(batch.checked(checks), begin, stack([-1, target_height, target_width, -1]))
        cropped.set_shape(_static(count, target_height, target_width, depth))
        return batch.result(cropped)


def _greater(x: Any, y: Any) -> Any:
    return maximum(x, y) if _is_tensor(x) or _is_tensor(y) else max(x, y)


def _less(x: Any, y: Any) -> Any:
    return minimum(x, y) if _is_tensor(x) or _is_tensor(y) else min(x, y)


def _require_target(batch: _Batch, target_height: Any, target_width: Any) -> Tensor:
    checks = _assert(target_width > 0, "target_width must be > 0.")
    checks += _assert(target_height > 0, "target_height must be > 0.")
    return batch.checked(checks)


@export("image.resize_image_with_crop_or_pad", "image.resize_with_crop_or_pad")
def resize_image_with_crop_or_pad(image: TensorLike, target_height: int | Tensor, target_width: int | Tensor) -> Tensor:
    """Crops or zero-pads images centrally to a size."""
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        batch = _Batch(image)
        images = _require_target(batch, target_height, target_width)
        _, height, width, _ = batch.sizes
        wider, higher = target_width - width, target_height - height
        cropped = crop_to_bounding_box(
            images,
            _greater(-higher // 2, 0),
            _greater(-wider // 2, 0),
            _less(target_height, height),
            _less(target_width, width),
        )
        resized = pad_to_bounding_box(
            cropped, _greater(higher // 2, 0), _greater(wider // 2, 0), target_height, target_width
        )
        return batch.result(resized)


@export("image.central_crop")
def central_crop(image: Any, central_fraction: float | Tensor) -> Tensor:
    """Crops the margins, so that the central fraction of height and width remains."""
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        message = "central_fraction is out of range, expected 0 < central_fraction <= 1"
        static_fraction = constant_value(central_fraction) if isinstance(central_fraction, Tensor) else central_fraction
        if static_fraction is None:
            least, most = Assert(central_fraction > 0, [message]), Assert(central_fraction <= 1, [message])
            image = with_dependencies([least, most], image)
        elif not 0 < static_fraction <= 1:
            raise ValueError(message)
        elif static_fraction == 1:
            return image  # type: ignore[no-any-return]
        static = image.dims
        if static is None or len(static) not in (3, 4):
            raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
        image = image_tensor(image)
        (top, height), (left, width) = (_middle(image, axis, central_fraction, static_fraction) for axis in (-3, -2))
        outer = len(static) - 3
        begin = stack([0] * outer + [top, left, 0])
        return slice(image, begin, stack([-1] * outer + [height, width, -1]))


def _middle(image: Tensor, axis: int, fraction: Any, static_fraction: Any) -> tuple[Any, Any]:
    """Returns start and size of the central part of an axis."""
    static = image.dims
    assert static is not None
    size = static[axis]
    if size is not None and static_fraction is not None:
        start = int((size - size * float(static_fraction)) / 2)
        return start, size - 2 * start
    whole = shape_of(image)[axis]
    wide = cast(whole, dtypes.float64)
    first = cast((wide - wide * cast(fraction, dtypes.float64)) / 2, dtypes.int32)
    return first, whole - 2 * first


# -- sizes with proportions kept --------------------------------------------------------------------------------------


def _resize_with_pad(image: TensorLike, target_height: Any, target_width: Any, resize: Any) -> Tensor:
    with name_scope(None, "resize_image_with_pad", [image]):
        batch = _Batch(image)
        images = _require_target(batch, target_height, target_width)
        _, height, width, _ = batch.sizes
        if not any(map(_is_tensor, (height, width, target_height, target_width))):
            size, (top, left) = _fitted(height, width, int(target_height), int(target_width))
            resized = resize(images, size)
            return batch.result(pad_to_bounding_box(resized, top, left, target_height, target_width))
        numbers = [cast(n, dtypes.float32) for n in (height, width, target_height, target_width)]
        high, wide, target_high, target_wide = numbers
        ratio = maximum(wide / target_wide, high / target_high)
        new_high, new_wide = high / ratio, wide / ratio
        sizes = stack([cast(floor(new_high), dtypes.int32), cast(floor(new_wide), dtypes.int32)])
        top, left = (
            maximum(0, cast(floor((target - new) / 2), dtypes.int32))
            for target, new in ((target_high, new_high), (target_wide, new_wide))
        )
        resized = resize(images, sizes)
        return batch.result(pad_to_bounding_box(resized, top, left, target_height, target_width))


def _fitted(height: int, width: int, target_height: int, target_width: int) -> tuple[Any, Any]:
    """Returns the size that fits into the target, and its offset there, in TensorFlow's single precision."""
    have, target = np.array([height, width], np.float32), np.array([target_height, target_width], np.float32)
    new = have / np.max(have / target)
    offsets = np.maximum(np.floor((target - new) / np.float32(2)), 0).astype(int).tolist()
    return np.floor(new).astype(int).tolist(), offsets


@export("image.resize_image_with_pad")
def resize_image_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Resizes images to fit into a size, preserving the aspect ratio, and zero-pads them.

    Args:
        method: A constant of `tf.image.ResizeMethod`.
    """

    def resize(images: Tensor, size: Any) -> Tensor:
        return resize_images(images, size, method, align_corners=align_corners)

    return _resize_with_pad(image, target_height, target_width, resize)

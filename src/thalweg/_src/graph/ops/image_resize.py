"""Image resizing: nearest, bilinear, bicubic and area, and antialiasing filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge, show
from thalweg._src.base.signatures import variant
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import minimum, round, truediv
from thalweg._src.graph.ops.reshape import constant_value, expand_dims, shape as shape_of, squeeze, zeros
from thalweg._src.graph.ops.shape_functions import require, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_FLOATS = frozenset((dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16))
_IMAGES = _FLOATS | {dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.int64}
_TINY = frozenset((dtypes.float32, dtypes.float64))
KERNELS = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")


def _sizes(c: Inference, index: int = 1) -> tuple[int | None, int | None]:
    """Returns height and width from an input, which must be positive."""
    name = c.definition.inputs[index].name
    shape = with_rank(c, index, 1)
    assert shape is not None
    require(shape[0] in (None, 2), f"{name} has {shape[0]} elements", expected="a height and a width")
    height, width = c.shape_value(index) or (None, None)
    value = c.partial(index)
    for number in () if value is None or value.ndim != 1 else value.tolist():
        require(number is None or number > 0, f"{name} is {value}", expected="positive sizes")
    return height, width


def _require_pixels(shape: Shape) -> None:
    require(shape is None or 0 not in shape[1:], f"images has shape {show(shape)}", expected="images with pixels")


def _require_one_way(c: Inference) -> None:
    both = c.attrs.get("align_corners") and c.attrs.get("half_pixel_centers")
    require(not both, "align_corners and half_pixel_centers are both true", expected="at most one of them")


def _of_sizes(c: Inference) -> Sequence[Shape]:
    images = with_rank(c, 0, 4)
    assert images is not None
    return [(images[0], *_sizes(c), images[3])]


def _resized(c: Inference) -> Sequence[Shape]:
    _require_one_way(c)
    _require_pixels(with_rank(c, 0, 4))
    return _of_sizes(c)


def _of_image(c: Inference) -> Sequence[Shape]:
    grads, image = with_rank(c, 0, 4), with_rank(c, 1, 4)
    assert grads is not None and image is not None
    batch, channels = merge((grads[0], grads[3]), (image[0], image[3])) or (None, None)
    return [(batch, image[1], image[2], channels)]


def _unresized(c: Inference) -> Sequence[Shape]:
    _require_one_way(c)
    for index in (0, 1):
        _require_pixels(with_rank(c, index, 4))
    return _of_image(c)


def _resize(name: str, output: str, doc: str, differentiable: bool = True, **attrs: Any) -> OpDef:
    return op(
        name,
        f"images: T, size: int32 -> resized_images: {output}",
        T=_IMAGES,
        align_corners=False,
        **attrs,
        host="size",
        differentiable=differentiable,
        infer=_resized,
        doc=doc,
    )


def _resize_grad(name: str, types: frozenset[dtypes.DType], doc: str) -> OpDef:
    return op(
        name,
        "grads: float32, original_image: T -> output: T",
        T=types,
        align_corners=False,
        half_pixel_centers=False,
        infer=_unresized,
        doc=doc,
    )


_resize_bilinear = _resize(
    "ResizeBilinear", "float32", "Resizes images by bilinear interpolation.", half_pixel_centers=False
)
_resize_bicubic = _resize(
    "ResizeBicubic", "float32", "Resizes images by bicubic interpolation.", half_pixel_centers=False
)
_resize_nearest = _resize(
    "ResizeNearestNeighbor", "T", "Resizes images to the nearest pixels.", half_pixel_centers=False
)
resize_area = export("image.resize_area", size="New height and width.")(
    _resize(
        "ResizeArea",
        "float32",
        "Resizes a batch of images to floats, each the mean of the area it covers.",
        differentiable=False,
    )
)
resize_bilinear_grad = _resize_grad("ResizeBilinearGrad", _FLOATS, "Computes the gradient of ResizeBilinear.")
resize_bicubic_grad = _resize_grad("ResizeBicubicGrad", _TINY, "Computes the gradient of ResizeBicubic.")
resize_nearest_grad = op(
    "ResizeNearestNeighborGrad",
    "grads: T, size: int32 -> output: T",
    T=_FLOATS | {dtypes.uint8, dtypes.int8, dtypes.int32},
    align_corners=False,
    half_pixel_centers=False,
    host="size",
    infer=_of_sizes,
    doc="Computes the gradient of ResizeNearestNeighbor.",
)


def _require_kernel(c: Inference) -> None:
    kind = c.attrs["kernel_type"]
    require(kind in KERNELS, f"kernel_type is {kind!r}", expected=f"one of {', '.join(KERNELS)}")
    for index in (2, 3):
        shape, name = c.shapes[index], c.definition.inputs[index].name
        require(shape is None or shape in ((2,), (None,)), f"{name} has shape {show(shape)}", expected="two numbers")


def _scaled(c: Inference) -> Sequence[Shape]:
    _require_kernel(c)
    return _resized(c)


def _unscaled(c: Inference) -> Sequence[Shape]:
    _require_kernel(c)
    return _of_image(c)


scale_and_translate = op(
    "ScaleAndTranslate",
    "images: T, size: int32, scale: float32, translation: float32 -> resized_images: float32",
    T=_IMAGES,
    kernel_type="lanczos3",
    antialias=True,
    host="size, scale, translation",
    infer=_scaled,
    doc="Scales and translates images with an optionally antialiased filter.",
)
scale_and_translate_grad = op(
    "ScaleAndTranslateGrad",
    "grads: T, original_image: T, scale: float32, translation: float32 -> output: T",
    T=frozenset((dtypes.float32,)),
    kernel_type="lanczos3",
    antialias=True,
    host="scale, translation",
    infer=_unscaled,
    doc="Computes the gradient of ScaleAndTranslate.",
)


def _resize_with(
    definition: OpDef,
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resizes a batch of images by an op.

    Args:
        size: New height and width.
        half_pixel_centers: Whether pixels are taken to lie at half-integer coordinates.
    """
    return definition(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name)


@export("image.resize_bilinear")
@variant(_resize_with, _resize_bilinear)
def resize_bilinear() -> None:
    """Resizes a batch of images to floats by bilinear interpolation."""


@export("image.resize_bicubic")
@variant(_resize_with, _resize_bicubic)
def resize_bicubic() -> None:
    """Resizes a batch of images to floats by bicubic interpolation."""


@export("image.resize_nearest_neighbor")
@variant(_resize_with, _resize_nearest)
def resize_nearest_neighbor() -> None:
    """Resizes a batch of images to the nearest pixels."""


# -- any method -------------------------------------------------------------------------------------------------------


@export("image.ResizeMethod")
class ResizeMethod:
    """The methods of `resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


class ResizeMethodV2:
    """The methods of `resize_images_v2`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


_METHODS: dict[Any, Callable[..., Tensor]] = {
    0: resize_bilinear,
    1: resize_nearest_neighbor,
    2: resize_bicubic,
    3: resize_area,
    "bilinear": resize_bilinear,
    "nearest": resize_nearest_neighbor,
    "bicubic": resize_bicubic,
    "area": resize_area,
}


@export("image.resize", "image.resize_images")
def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes an image or a batch; images that already have the size are returned unchanged.

    Args:
        images: An image, or a batch of images [batch, height, width, channels].
        size: New height and width.
        method: A constant of `tf.image.ResizeMethod`.
        preserve_aspect_ratio: Whether the proportions are kept, the result then fitting into `size`.
    """
    if method not in _METHODS:
        raise ValueError(f"Resize method is not implemented: {method}")
    resize = _METHODS[method]

    def apply(batch: Tensor, new_size: Tensor) -> Tensor:
        return resize(batch, new_size, align_corners=align_corners)

    return _resize_by(apply, images, size, preserve_aspect_ratio, name, skip=True)


def resize_images_v2(
    images: TensorLike,
    size: TensorLike,
    method: str = ResizeMethodV2.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes an image or a batch as TensorFlow 2 does, with half-pixel centers."""
    if method not in set(_METHODS) | set(KERNELS) or not isinstance(method, str):
        raise ValueError(f"Resize method is not implemented: {method}")
    filters = {"bilinear": "triangle", "bicubic": "keyscubic"}

    def apply(batch: Tensor, new_size: Tensor) -> Tensor:
        if method == "area":
            return resize_area(batch, new_size)
        if method == "nearest" or (method in _METHODS and not antialias):
            return _METHODS[method](batch, new_size, half_pixel_centers=True)
        scale = cast(new_size, dtypes.float32) / cast(shape_of(batch)[1:3], dtypes.float32)
        kind = filters.get(method, method)
        return scale_and_translate(batch, new_size, scale, zeros([2]), kernel_type=kind, antialias=antialias)

    return _resize_by(apply, images, size, preserve_aspect_ratio, name, skip=False)


def _resize_by(
    apply: Callable[[Tensor, Any], Tensor],
    images: TensorLike,
    size: TensorLike,
    keep_ratio: bool,
    name: str | None,
    skip: bool,
) -> Tensor:
    with name_scope(name, "resize", [images, size]):
        source = convert_to_tensor(images, name="images")
        static = source.dims
        if static is None:
            raise ValueError("'images' contains no shape: its rank is unknown, expected 3 or 4")
        if len(static) not in (3, 4):
            raise ValueError(f"'images' must have either 3 or 4 dimensions, not {len(static)}.")
        size = _size_tensor(size)
        height, width = static[-3], static[-2]
        if keep_ratio:
            size = _keeping_ratio(size, source, height, width)
        static_size = constant_value(size)
        if skip and static_size is not None and (height, width) == tuple(static_size.tolist()):
            return source
        if len(static) == 3:
            return squeeze(apply(expand_dims(source, 0), size), axis=[0])
        return apply(source, size)


def _size_tensor(size: TensorLike) -> Tensor:
    try:
        tensor = convert_to_tensor(size, dtypes.int32, name="size")
    except (TypeError, ValueError):
        raise ValueError(f"size is {size!r}, expected int32 (height, width)") from None
    if tensor.dims is not None and tensor.dims not in ((2,), (None,)):
        raise ValueError(
            f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width, not of shape {tensor.get_shape()}"
        )
    return tensor


def _keeping_ratio(size: Tensor, images: Tensor, height: int | None, width: int | None) -> Tensor:
    """Returns the largest size within the given one that preserves the aspect ratio."""
    static_size = constant_value(size)
    if static_size is not None and height and width:
        have = np.array([height, width], np.float32)
        factor = np.min(static_size.astype(np.float32) / have)
        return convert_to_tensor(np.round(factor * have).astype(np.int32), name="size")
    have = cast(shape_of(images)[-3:-1], dtypes.float32)
    ratios = truediv(cast(size, dtypes.float32), have)
    factor = minimum(ratios[0], ratios[1])
    return cast(round(factor * have), dtypes.int32)  # type: ignore[no-any-return]

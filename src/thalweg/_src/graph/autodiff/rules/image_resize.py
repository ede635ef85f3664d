"""Gradients of resizing, a linear map: the gradient of its gradient is resizing again."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import image_resize as resize
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.tensor import Tensor


def _coordinates(op: Operation) -> dict[str, Any]:
    return {key: op.attrs[key] for key in ("align_corners", "half_pixel_centers")}


def _sizes(image: Tensor) -> Any:
    static = image.dims
    if static is not None and static[1] is not None and static[2] is not None:
        return [static[1], static[2]]
    return shape(image)[1:3]


@gradient("ResizeNearestNeighbor")
def nearest(op: Operation, grad: Tensor) -> list[Any]:
    image = op.inputs[0]
    return [resize.resize_nearest_grad(grad, _sizes(image), **_coordinates(op)), None]


@gradient("ResizeNearestNeighborGrad")
def nearest_grad(op: Operation, grad: Tensor) -> list[Any]:
    return [resize.resize_nearest_neighbor(grad, _sizes(op.inputs[0]), **_coordinates(op)), None]


@gradient("ResizeBilinear")
def bilinear(op: Operation, grad: Tensor) -> list[Any]:
    image = op.inputs[0]
    if not image.dtype.is_floating:
        return [None, None]
    return [resize.resize_bilinear_grad(grad, image, **_coordinates(op)), None]


@gradient("ResizeBilinearGrad")
def bilinear_grad(op: Operation, grad: Tensor) -> list[Any]:
    return [resize.resize_bilinear(grad, _sizes(op.inputs[0]), **_coordinates(op)), None]


@gradient("ResizeBicubic")
def bicubic(op: Operation, grad: Tensor) -> list[Any]:
    image = op.inputs[0]
    if image.dtype not in (dtypes.float32, dtypes.float64):
        return [None, None]
    return [resize.resize_bicubic_grad(grad, image, **_coordinates(op)), None]


@gradient("ResizeBicubicGrad")
def bicubic_grad(op: Operation, grad: Tensor) -> list[Any]:
    return [resize.resize_bicubic(grad, _sizes(op.inputs[0]), **_coordinates(op)), None]


def _filter(op: Operation) -> dict[str, Any]:
    return {key: op.attrs[key] for key in ("kernel_type", "antialias")}


@gradient("ScaleAndTranslate")
def scale_and_translate(op: Operation, grad: Tensor) -> list[Any]:
    image, _, scale, translation = op.inputs
    if not image.dtype.is_floating:
        return [None] * 4

    def by_image() -> Tensor:
        wide = cast(image, dtypes.float32)
        back = resize.scale_and_translate_grad(grad, wide, scale, translation, **_filter(op))
        return cast(back, image.dtype)  # type: ignore[no-any-return]

    return [by_image, None, None, None]


@gradient("ScaleAndTranslateGrad")
def scale_and_translate_grad(op: Operation, grad: Tensor) -> list[Any]:
    grads, _, scale, translation = op.inputs
    return [resize.scale_and_translate(grad, _sizes(grads), scale, translation, **_filter(op)), None, None, None]

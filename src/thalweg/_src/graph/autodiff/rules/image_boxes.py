"""Gradients of crop_and_resize."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import image_boxes
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.tensor import Tensor

_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)


@gradient("CropAndResize")
def crop_and_resize(op: Operation, grad: Tensor) -> list[Any]:
    image, boxes, box_ind, _ = op.inputs

    def by_image() -> Tensor:
        static = image.dims
        size = list(static) if static is not None and None not in static else shape(image)
        return image_boxes.crop_and_resize_grad_image(
            grad, boxes, box_ind, size, T=image.dtype, method=op.attrs["method"]
        )

    def by_boxes() -> Tensor:
        # Nearest-neighbor sampling uses the gradient of bilinear interpolation: its own is zero or undefined.
        return image_boxes.crop_and_resize_grad_boxes(grad, image, boxes, box_ind)

    return [by_image if image.dtype in _FLOATS else None, by_boxes, None, None]


@gradient("CropAndResizeGradImage")
def crop_and_resize_grad_image(op: Operation, grad: Tensor) -> list[Any]:
    grads, boxes, box_ind, _ = op.inputs
    method = op.attrs["method"]
    back = image_boxes.crop_and_resize_op(grad, boxes, box_ind, shape(grads)[1:3], method=method)

    def by_boxes() -> Tensor:
        return image_boxes.crop_and_resize_grad_boxes(grads, grad, boxes, box_ind)

    return [cast(back, grads.dtype), by_boxes, None, None]

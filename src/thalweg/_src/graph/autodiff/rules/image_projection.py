"""Gradients of projective transforms: as in TensorFlow, the gradient is sampled through the inverse transform."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.image_projection import inverted, project_v2, project_v3
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.tensor import Tensor


def _attrs(op: Operation) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("interpolation", "fill_mode")}


@gradient("ImageProjectiveTransformV2")
def transform_v2(op: Operation, grad: Tensor) -> list[Any]:
    images, transforms, _ = op.inputs
    if not images.dtype.is_floating:
        return [None, None, None]
    return [project_v2(grad, inverted(transforms), shape_of(images)[1:3], **_attrs(op)), None, None]


@gradient("ImageProjectiveTransformV3")
def transform_v3(op: Operation, grad: Tensor) -> list[Any]:
    images, transforms, _, _ = op.inputs
    if not images.dtype.is_floating:
        return [None] * 4
    return [project_v3(grad, inverted(transforms), shape_of(images)[1:3], 0.0, **_attrs(op)), None, None, None]

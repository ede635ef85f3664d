"""Gradients of color space conversions and contrast."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import cast as cast_ops, math
from thalweg._src.graph.ops.comparison import greater, greater_equal, logical_and
from thalweg._src.graph.ops.concat import stack, unstack
from thalweg._src.graph.ops.reduction import reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.tensor import Tensor


def _greatest(r: Tensor, g: Tensor, b: Tensor) -> list[Tensor]:
    """Returns masks of the largest channel; ties go to red, then green."""
    red = logical_and(greater_equal(r, g), greater_equal(r, b))
    green = logical_and(greater(g, r), greater_equal(g, b))
    blue = logical_and(greater(b, r), greater(b, g))
    return [cast_ops.cast(mask, r.dtype) for mask in (red, green, blue)]


@gradient("RGBToHSV")
def rgb_to_hsv(op: Operation, grad: Tensor) -> Tensor:
    rgb = unstack(op.inputs[0], 3, axis=-1)
    by_hue, by_saturation, by_value = unstack(grad, 3, axis=-1)
    value = unstack(op.outputs[0], 3, axis=-1)[2]
    most, least = _greatest(*rgb), _greatest(*(-c for c in reversed(rgb)))[::-1]
    lowest = math.add_n([mask * c for mask, c in zip(least, rgb)])
    inverse = math.div_no_nan(cast_ops.cast(1.0, value.dtype), value - lowest)  # 0 for gray
    over_value = math.div_no_nan(cast_ops.cast(1.0, value.dtype), value)
    results = []
    for i in range(3):
        one, two = (i + 1) % 3, (i + 2) % 3
        # Hue is (next - next but one) / spread where a channel is the largest.
        across = most[two] - most[one]
        turn = math.add_n([most[k] * (rgb[(k + 1) % 3] - rgb[(k + 2) % 3]) for k in range(3)])
        hue = (across - turn * inverse * (most[i] - least[i])) * inverse / 6
        positive = cast_ops.cast(greater(rgb[i], 0), value.dtype)
        saturation = positive * (most[i] * lowest * over_value - least[i]) * over_value
        results.append(by_hue * hue + by_saturation * saturation + by_value * most[i])
    return stack(results, axis=-1)


@gradient("HSVToRGB")
def hsv_to_rgb(op: Operation, grad: Tensor) -> Tensor:
    hue, saturation, value = unstack(op.inputs[0], 3, axis=-1)
    angle, grads = hue * 6, unstack(grad, 3, axis=-1)
    by_hue, by_saturation, by_value = [], [], []
    for g, center, sign in zip(grads, (3.0, 2.0, 4.0), (1, -1, -1)):
        offset = math.abs(angle - center)
        portion = offset - 1 if sign > 0 else 2 - offset
        inside = logical_and(greater(portion, 0), greater(1 - portion, 0))
        slope = where(inside, sign * math.sign(angle - center), zeros_like(angle))
        clipped = math.minimum(math.maximum(portion, 0), 1)
        by_hue.append(g * value * saturation * slope * 6)
        by_saturation.append(g * value * (clipped - 1))
        by_value.append(g * (1 - saturation + saturation * clipped))
    return stack([math.add_n(terms) for terms in (by_hue, by_saturation, by_value)], axis=-1)


@gradient("AdjustContrastv2")
def adjust_contrast(op: Operation, grad: Tensor) -> list[Any]:
    images, factor = op.inputs
    scale = cast_ops.cast(factor, images.dtype)
    mean = reduce_mean(grad, [-3, -2], keepdims=True)

    def by_factor() -> Tensor:
        deviation = images - reduce_mean(images, [-3, -2], keepdims=True)
        return reduce_sum(cast_ops.cast(grad * deviation, factor.dtype))

    return [grad * scale + mean * (1 - scale), by_factor]

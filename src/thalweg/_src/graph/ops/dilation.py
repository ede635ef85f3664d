"""Morphological operations: dilation and erosion with a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.math import negative
from thalweg._src.graph.ops.pad_tile import reverse
from thalweg._src.graph.ops.reduction import one_of
from thalweg._src.graph.ops.shape_functions import require, same_dimension, with_rank
from thalweg._src.graph.ops.windows import Window, window_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def dilation_window(attrs: Mapping[str, Any]) -> Window:
    return window_of({**attrs, "dilations": attrs["rates"]})


def _dilated(c: Inference) -> Shape:
    source, filter = with_rank(c, 0, 4), with_rank(c, 1, 3)
    assert source is not None and filter is not None
    depth = same_dimension(source[3], filter[2], "depths", "input.shape[3] == filter.shape[2]")
    return (source[0], *dilation_window(c.attrs).output(source[1:3], filter[:2]), depth)


def _dilation(c: Inference) -> Sequence[Shape]:
    return [_dilated(c)]


def _backprop(index: int) -> Any:
    def infer(c: Inference) -> Sequence[Shape]:
        expected = _dilated(c)
        grad = with_rank(c, 2, 4)
        try:
            merge(expected, grad)
        except ValueError:
            require(False, f"out_backprop is {show(grad)}", expected=show(expected))
        return [with_rank(c, index, 4 - index)]

    return infer


_ATTRS: dict[str, Any] = {
    "T": dtypes.REAL,
    "strides": attr.integers(4),
    "rates": attr.integers(4),
    "padding": attr.string("SAME", "VALID"),
}
dilation2d_op = op(
    "Dilation2D",
    "input: T, filter: T -> output: T",
    infer=_dilation,
    doc="Computes grayscale dilation: the maximum of input plus filter over each window, per channel.",
    **_ATTRS,
)
dilation2d_backprop_input = nondifferentiable_op(
    "Dilation2DBackpropInput",
    "input: T, filter: T, out_backprop: T -> in_backprop: T",
    infer=_backprop(0),
    **_ATTRS,
    doc="Computes the gradient of morphological dilation with respect to its input.",
)
dilation2d_backprop_filter = nondifferentiable_op(
    "Dilation2DBackpropFilter",
    "input: T, filter: T, out_backprop: T -> filter_backprop: T",
    infer=_backprop(1),
    **_ATTRS,
    doc="Computes the gradient of morphological dilation with respect to its filter.",
)


@export("nn.dilation2d")
def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    rates: int | Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Computes the maximum of input plus filter over each window, per channel.

    Args:
        input: Images [batch, height, width, channels].
        filter: The kernel [height, width, channels].
        filters: Another name of `filter`.
        dilations: Another name of `rates`.
    """
    filter = one_of("filters", filters, "filter", filter)
    rates = one_of("dilations", dilations, "rates", rates)
    return dilation2d_op(input, filter, strides=strides, rates=rates, padding=padding, name=name)


@export("nn.erosion2d")
def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int],
    rates: int | Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Returns the grayscale erosion: the minimum of pixel minus kernel over each window of each channel.

    Args:
        value: Images [batch, height, width, channels].
        kernel: The kernel [height, width, channels].
    """
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        value = convert_to_tensor(value, name="value")
        turned = reverse(convert_to_tensor(kernel, value.dtype, name="kernel"), [0, 1])
        grown = dilation2d_op(negative(value), turned, strides=strides, rates=rates, padding=padding)
        return negative(grown, name=scope)

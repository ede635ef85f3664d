"""Converters of convolutions: ONNX has channels behind the batch, in data and in filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


def spatial(node: Node, name: str, rank: int) -> list[int]:
    """Returns the part of an attribute with one number per axis that belongs to the axes of an image."""
    values = list(node.attrs.get(name) or [1] * rank)
    return values[1:-1] if is_channels_last(node) else values[2:]


def is_channels_last(node: Node) -> bool:
    return str(node.attrs.get("data_format", "NHWC")).endswith("C")


def image_sizes(node: Node, shape: Shape) -> Sequence[int | None] | None:
    """Returns the sizes of an image's axes."""
    if shape is None:
        return None
    return shape[1:-1] if is_channels_last(node) else shape[2:]


def padding(node: Node, shape: Shape, window: Sequence[int], strides: Sequence[int]) -> dict[str, Any]:
    """Returns ONNX's attributes for the padding of a window that moves over an image.

    window: the sizes of the window, with the gaps of dilation
    """
    kind = node.attrs["padding"]
    kind = kind.decode() if isinstance(kind, bytes) else kind
    if kind == "EXPLICIT":
        pads = list(node.attrs["explicit_paddings"])
        inner = pads[2:-2] if is_channels_last(node) else pads[4:]
        return {"pads": inner[::2] + inner[1::2]}
    if kind == "VALID":
        return {"pads": [0] * (2 * len(window))}
    sizes = image_sizes(node, shape)
    if set(strides) == {1}:
        sizes = [1] * len(window)  # which do not matter
    if sizes is None or None in sizes:
        return {"auto_pad": "SAME_UPPER"}
    totals = [
        max((-(-size // stride) - 1) * stride + width - size, 0)  # type: ignore[operator]
        for size, stride, width in zip(sizes, strides, window)
    ]
    return {"pads": [total // 2 for total in totals] + [total - total // 2 for total in totals]}


def around(w: GraphWriter, node: Node, x: str, rank: int, compute: Callable[[str], str]) -> str:
    """Computes with channels behind the batch."""
    if not is_channels_last(node):
        return compute(x)
    return w.channels_last(compute(w.channels_first(x, rank)), rank)


def dilated(window: Sequence[int], dilations: Sequence[int]) -> list[int]:
    return [(size - 1) * dilation + 1 for size, dilation in zip(window, dilations)]


def _filter_shape(node: Node, index: int = 1) -> list[int]:
    shape = node.input_shape(index)
    if shape is None or None in shape:
        raise unsupported(node, "has a filter whose shape is not known", "give its variable or placeholder a shape")
    return list(shape)  # type: ignore[arg-type]


def _convolution(w: GraphWriter, node: Node, x: str, weights: str, rank: int, groups: int) -> str:
    """Convolves; weights: with output channels first."""
    window = _filter_shape(node)[: rank - 2]
    strides, dilations = spatial(node, "strides", rank), spatial(node, "dilations", rank)
    attrs = {
        "kernel_shape": window,
        "strides": strides,
        "dilations": dilations,
        "group": groups,
        **padding(node, node.input_shape(0), dilated(window, dilations), strides),
    }
    dtype, inner = node.dtypes[0], single(node.dtypes[0])
    filters = w.cast(weights, inner, dtype)
    result = around(w, node, w.cast(x, inner, dtype), rank, lambda turned: w.add("Conv", turned, filters, **attrs))
    return w.cast(result, dtype, inner)


def single(dtype: DType) -> DType:
    """Returns the type in which images are computed: float16 or float32."""
    return dtype if dtype is dtypes.float16 else dtypes.float32


@converter("Conv2D", "Conv3D")
def convolution(w: GraphWriter, node: Node, x: str, weights: str) -> str:
    shape = _filter_shape(node)
    rank = len(shape)
    input_shape = node.input_shape(0)
    channels = None if input_shape is None else input_shape[-1 if is_channels_last(node) else 1]
    groups = 1 if channels is None else channels // shape[-2]
    turned = w.transpose(weights, (rank - 1, rank - 2, *range(rank - 2)))
    return _convolution(w, node, x, turned, rank, groups)


@converter("DepthwiseConv2dNative")
def depthwise(w: GraphWriter, node: Node, x: str, weights: str) -> str:
    """Convolves each channel with filters of its own."""
    height, width, channels, multiplier = _filter_shape(node)
    flat = w.reshape(weights, [height, width, 1, channels * multiplier])
    return _convolution(w, node, x, w.transpose(flat, (3, 2, 0, 1)), 4, channels)


# -- transposed convolutions ------------------------------------------------------------------------------------------


@converter("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def transposed(w: GraphWriter, node: Node, sizes: str, weights: str, x: str) -> str:
    """Adds up what each pixel contributes, and cuts out the part with the given sizes."""
    shape = _filter_shape(node)
    rank = len(shape)
    window = shape[: rank - 2]
    strides, dilations = spatial(node, "strides", rank), spatial(node, "dilations", rank)
    turned = w.transpose(weights, (rank - 1, rank - 2, *range(rank - 2)))
    attrs = {"kernel_shape": window, "strides": strides, "dilations": dilations}
    output, input = image_sizes(node, node.shapes[0]), image_sizes(node, node.input_shape(2))
    reach = dilated(window, dilations)

    def cut(x: str) -> str:
        if output is None or input is None or None in output or None in input:
            full = w.add("ConvTranspose", x, turned, pads=[0] * 2 * len(window), **attrs)
            return _cut(w, node, full, sizes, rank)
        pads: list[int] = padding(node, node.shapes[0], reach, strides)["pads"]
        count = len(window)
        missing = [
            size - ((old - 1) * stride + width - pads[axis] - pads[axis + count])  # type: ignore[operator]
            for axis, (size, old, stride, width) in enumerate(zip(output, input, strides, reach))
        ]
        return w.add("ConvTranspose", x, turned, pads=pads, output_padding=missing, **attrs)

    return around(w, node, x, rank, cut)


def _cut(w: GraphWriter, node: Node, full: str, sizes: str, rank: int) -> str:
    """Returns the part of a full transposed convolution that has the sizes of the images, which a vector holds."""
    first = 1 if is_channels_last(node) else 2
    output_sizes = w.add("Slice", w.index(sizes), [first], [first + rank - 2])
    have = w.dims(full, 2)
    zero, two = w.constant([0] * (rank - 2)), w.like(2, dtypes.int64)
    begin = w.add("Div", w.add("Max", w.add("Sub", have, output_sizes), zero), two)
    if node.attrs["padding"] in ("VALID", b"VALID"):
        begin = zero
    lacking = w.add("Max", w.add("Sub", output_sizes, have), zero)
    padded = w.add("Pad", full, w.join([0] * rank, [0, 0], lacking))
    return w.add("Slice", padded, begin, w.add("Add", begin, output_sizes), list(range(2, rank)))

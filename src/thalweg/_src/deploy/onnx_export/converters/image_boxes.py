"""Converters of crops of images, at boxes."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


@converter("CropAndResize")
def crop_and_resize(w: GraphWriter, node: Node, images: str, boxes: str, examples: str, size: str) -> str:
    """Interpolates the pixels around each place of a crop; places outside of the image have one value."""
    x = w.cast(images, dtypes.float32, node.input_dtype(0))
    sizes = w.index(size)
    example = w.reshape(w.index(examples), [-1, 1, 1])
    axes = [_places(w, x, boxes, sizes, axis) for axis in (0, 1)]
    kind = node.attrs["method"]
    if kind in ("nearest", b"nearest"):
        half = w.like(0.5, dtypes.float32)  # which is rounded up
        pixels = _pixels(w, x, example, *(_rounded(w, w.add("Add", place, half), "Floor") for place, _ in axes))
    else:
        pixels = _interpolated(w, x, example, axes[0][0], axes[1][0])
    inside = w.add("Unsqueeze", w.add("And", axes[0][1], axes[1][1]), [-1])
    return w.add("Where", inside, pixels, w.like(float(node.attrs["extrapolation_value"]), dtypes.float32))


def _places(w: GraphWriter, x: str, boxes: str, sizes: str, axis: int) -> tuple[str, str]:
    """Returns where the pixels of crops lie along an axis, and whether that is inside of the image."""
    one, half = w.like(1, dtypes.float32), w.like(0.5, dtypes.float32)
    zero = w.like(0, dtypes.float32)
    last = w.add("Sub", w.cast(w.add("Squeeze", w.dims(x, axis + 1, axis + 2), [0]), dtypes.float32), one)
    begin, end = (w.add("Slice", boxes, [place], [place + 1], [1]) for place in (axis, axis + 2))
    count = w.add("Gather", sizes, w.like(axis, dtypes.int64))
    steps = w.cast(w.add("Range", w.like(0, dtypes.int64), count, w.like(1, dtypes.int64)), dtypes.float32)
    gaps = w.add("Sub", w.cast(count, dtypes.float32), one)
    is_single = w.add("Equal", gaps, zero)
    share = w.add("Where", is_single, half, w.add("Div", steps, w.add("Max", gaps, one)))
    place = w.add("Mul", w.add("Add", begin, w.add("Mul", share, w.add("Sub", end, begin))), last)
    shaped = w.add("Unsqueeze", place, [2 - axis])
    inside = w.add("And", w.add("GreaterOrEqual", shaped, zero), w.add("LessOrEqual", shaped, last))
    return w.add("Min", w.add("Max", shaped, zero), last), inside


def _rounded(w: GraphWriter, place: str, how: str) -> str:
    return w.index(w.add(how, place))


def _pixels(w: GraphWriter, x: str, example: str, y: str, column: str) -> str:
    """Returns the pixels at integer places."""
    whole = w.dims(w.add("Add", w.add("Add", example, y), column))
    index = [w.add("Unsqueeze", w.add("Expand", coordinate, whole), [-1]) for coordinate in (example, y, column)]
    return w.add("GatherND", x, w.add("Concat", *index, axis=-1))


def _interpolated(w: GraphWriter, x: str, example: str, y: str, column: str) -> str:
    rows = [_rounded(w, y, how) for how in ("Floor", "Ceil")]
    left, right = (_rounded(w, column, how) for how in ("Floor", "Ceil"))
    upper, lower = (
        _between(w, _pixels(w, x, example, row, left), _pixels(w, x, example, row, right), column) for row in rows
    )
    return _between(w, upper, lower, y)


def _between(w: GraphWriter, first: str, second: str, place: str) -> str:
    """Returns pixels between two, nearer to the second the larger the fraction of their place is."""
    share = w.add("Unsqueeze", w.add("Sub", place, w.add("Floor", place)), [-1])
    return w.add("Add", first, w.add("Mul", w.add("Sub", second, first), share))

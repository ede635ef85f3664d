"""Converters of padding, repetition and reversal."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.math import computed_as
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


def _pads(w: GraphWriter, paddings: str) -> Any:
    """Returns all sizes before the axes, then all sizes after them."""
    sizes = w.static_value(paddings)
    if sizes is not None:
        return sizes.T.ravel().tolist()
    return w.add("Reshape", w.add("Transpose", w.index(paddings), perm=[1, 0]), [-1])


@converter("Pad", "PadV2")
def pad(w: GraphWriter, node: Node, x: str, paddings: str, value: str | None = None) -> str:
    source = node.dtypes[0]
    wide = dtypes.int32 if source is dtypes.bool else computed_as(source)
    fill = None if value is None else w.cast(value, wide, source)
    padded = w.add("Pad", w.cast(x, wide, source), _pads(w, paddings), fill)
    return w.cast(padded, source, wide)


@converter("MirrorPad")
def mirror_pad(w: GraphWriter, node: Node, x: str, paddings: str) -> str:
    mode = node.attrs["mode"]
    mode = mode.decode() if isinstance(mode, bytes) else mode
    if mode == "REFLECT":
        return w.add("Pad", x, _pads(w, paddings), mode="reflect")
    return _pad_symmetrically(w, node, x, paddings)


def _pad_symmetrically(w: GraphWriter, node: Node, x: str, paddings: str) -> str:
    """Repeats the edges too: each axis gathers its indices, which are reflected at the edges."""
    sizes, shape = w.static_value(paddings), node.input_shape(0)
    if sizes is None or shape is None or any(size is None for size, row in zip(shape, sizes) if row.any()):
        raise unsupported(node, "mirrors an axis of unknown size", "use the mode REFLECT, or a static shape")
    for axis, (before, after) in enumerate(sizes.tolist()):
        if before or after:
            places = np.pad(np.arange(int(shape[axis] or 0)), (int(before), int(after)), mode="symmetric")
            x = w.add("Gather", x, places.tolist(), axis=axis)
    return x


@converter("Tile")
def tile(w: GraphWriter, node: Node, x: str, multiples: str) -> str:
    return w.add("Tile", x, w.index(multiples))


@converter("BroadcastTo")
def broadcast_to(w: GraphWriter, node: Node, x: str, shape: str) -> str:
    return w.add("Expand", x, w.index(shape))


@converter("BroadcastArgs")
def broadcast_args(w: GraphWriter, node: Node, x: str, y: str) -> str:
    """Returns the shape of a sum of values with two shapes."""
    ones = [w.add("Expand", w.like(0, dtypes.int64), w.index(shape)) for shape in (x, y)]
    return w.cast(w.dims(w.add("Add", *ones)), node.dtypes[0], dtypes.int64)


@converter("ReverseV2")
def reverse(w: GraphWriter, node: Node, x: str, axes: str) -> str:
    static_axes = w.static_value(axes)
    if static_axes is None:
        raise unsupported(node, "has axes that are computed in the graph", "write them as numbers")
    count = static_axes.size
    if count == 0:
        return x
    return w.add("Slice", x, [-1] * count, [-(1 << 63) + 1] * count, static_axes.tolist(), [-1] * count)


@converter("ReverseSequence")
def reverse_sequence(w: GraphWriter, node: Node, x: str, lengths: str) -> str:
    """Reverses with the two axes first, as ONNX has them."""
    time, batch = int(node.attrs["seq_dim"]), int(node.attrs["batch_dim"])
    shape = node.input_shape(0)
    if {time, batch} != {0, 1} and shape is None:
        raise unsupported(node, "has a value of unknown rank", "give its placeholder a shape of known rank")
    if {time, batch} == {0, 1}:
        return w.add("ReverseSequence", x, w.index(lengths), batch_axis=batch, time_axis=time)
    rank = len(shape or ())
    order = [batch, time, *(axis for axis in range(rank) if axis not in (batch, time))]
    turned = w.add("ReverseSequence", w.transpose(x, order), w.index(lengths), batch_axis=0, time_axis=1)
    return w.transpose(turned, np.argsort(order).tolist())


@converter("Roll")
def roll(w: GraphWriter, node: Node, x: str, shift: str, axis: str) -> str:
    """Puts the end of each axis before its beginning."""
    shifts, axes = w.static_value(shift), w.static_value(axis)
    if shifts is None or axes is None:
        raise unsupported(node, "has shifts that are computed in the graph", "write them as numbers")
    static = node.input_shape(0)
    for count, where in zip(shifts.ravel().tolist(), axes.ravel().tolist()):
        if static is None or static[where] is None:
            raise unsupported(node, "rolls an axis of unknown size", "give its placeholder a static shape")
        size: Any = static[where]
        if size and count % size:
            places = np.roll(np.arange(size), count).tolist()
            x = w.add("Gather", x, places, axis=where)
    return x

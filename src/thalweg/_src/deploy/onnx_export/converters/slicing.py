"""Converters of slices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node

_END = (1 << 63) - 1
_START = -(1 << 63) + 1  # before all elements, for slices in reverse


@converter("Slice")
def slice_by_size(w: GraphWriter, node: Node, x: str, begin: str, size: str) -> str:
    """Slices; a size of -1 reaches to the end."""
    starts, sizes = w.static_value(begin), w.static_value(size)
    if starts is not None and sizes is not None:
        ends = [_END if n == -1 else start + n for start, n in zip(starts.tolist(), sizes.tolist())]
        return w.add("Slice", x, starts.tolist(), ends, list(range(len(ends))))
    first, count = w.index(begin), w.index(size)
    is_open = w.add("Equal", count, w.like(-1, dtypes.int64))
    end = w.add("Where", is_open, w.like(_END, dtypes.int64), w.add("Add", first, count))
    return w.add("Slice", x, first, end)


@dataclass(slots=True)
class _Plan:
    """What a strided slice does: slices along axes, single elements of axes, and axes to insert."""

    axes: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # where the axes stand in begin, end and strides
    single: list[tuple[int, int]] = field(default_factory=list)  # axis and place
    inserted: list[int] = field(default_factory=list)  # axes of the result


@converter("StridedSlice")
def strided_slice(w: GraphWriter, node: Node, x: str, begin: str, end: str, strides: str) -> str:
    plan = _plan(node)
    x = _sliced(w, node, plan, x, begin, end, strides)
    for axis, place in reversed(plan.single):
        static = w.static_value(begin)
        index = w.like(int(static[place]), dtypes.int64) if static is not None else _element(w, begin, place)
        x = w.add("Gather", x, index, axis=axis)
    return w.add("Unsqueeze", x, plan.inserted) if plan.inserted else x


def _plan(node: Node) -> _Plan:
    """Assigns the entries of a slice to axes; an ellipsis stands for as many as there are left."""
    masks = {key: int(node.attrs[f"{key}_mask"]) for key in ("ellipsis", "new_axis", "shrink_axis")}
    counts = node.input_shape(1)
    if counts is None or counts[0] is None:
        raise unsupported(node, "has a number of indices that is not known", "index with a fixed number of slices")
    count = counts[0]
    plan, axis, result = _Plan(), 0, 0
    for place in range(count):
        bit = 1 << place
        if masks["ellipsis"] & bit:
            shape = node.input_shape(0)
            after = sum(1 for later in range(place + 1, count) if not masks["new_axis"] & (1 << later))
            if shape is None and after:
                raise unsupported(node, "has an ellipsis and a value of unknown rank", "write all axes")
            width = 0 if shape is None else len(shape) - axis - after
            axis, result = axis + width, result + width
        elif masks["new_axis"] & bit:
            plan.inserted.append(result)
            result += 1
        elif masks["shrink_axis"] & bit:
            plan.single.append((axis, place))
            axis += 1
        else:
            plan.axes.append(axis)
            plan.places.append(place)
            axis, result = axis + 1, result + 1
    return plan


def _sliced(w: GraphWriter, node: Node, plan: _Plan, x: str, begin: str, end: str, strides: str) -> str:
    steps = w.static_value(strides)
    if steps is None:
        raise unsupported(node, "has strides that are computed in the graph", "write them as numbers")
    axes, starts, ends, jumps = [], [], [], []
    for axis, place in zip(plan.axes, plan.places):
        step, bit = int(steps[place]), 1 << place
        starts.append((0 if step > 0 else _END) if node.attrs["begin_mask"] & bit else _bound(w, begin, place))
        ends.append((_END if step > 0 else _START) if node.attrs["end_mask"] & bit else _bound(w, end, place))
        axes.append(axis)
        jumps.append(step)
        if step == 1 and starts[-1] == 0 and ends[-1] == _END:
            for bounds in (axes, starts, ends, jumps):
                bounds.pop()
    if not axes:
        return x
    return w.add("Slice", x, _vector(w, starts), _vector(w, ends), axes, None if set(jumps) == {1} else jumps)


def _bound(w: GraphWriter, bounds: str, place: int) -> Any:
    """Returns a number, or where it is computed in the graph, the vector with it."""
    static = w.static_value(bounds)
    return int(static[place]) if static is not None else w.add("Slice", w.index(bounds), [place], [place + 1])


def _element(w: GraphWriter, vector: str, place: int) -> str:
    return w.add("Gather", w.index(vector), w.like(place, dtypes.int64))


def _vector(w: GraphWriter, bounds: list[Any]) -> Any:
    if all(isinstance(bound, int) for bound in bounds):
        return bounds
    return w.join(*([bound] if isinstance(bound, int) else bound for bound in bounds))

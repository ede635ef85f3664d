"""Converters of TensorArrays: their elements, in the flow, are a sequence, or the rows of one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import ArrayHandle, Elements, Sequenced, Stacked, number_of, unsupported
from thalweg._src.graph.ir.step_graph import Node


def reserved(w: GraphWriter, size: str, dtype: DType, shape: Shape) -> str:
    """Returns a sequence of zeros; where the shape of its elements is not known, of elements without numbers."""
    element = [] if shape is None else [0 if axis is None else axis for axis in shape]
    sizes = w.join(w.vector(size), element)
    static_size = w.static_value(size)
    if static_size is not None and int(static_size) == 0:
        return w.add("SequenceEmpty", dtype=number_of(dtype))
    if shape is None:  # ONNX must not take the elements for scalars, so that their rank follows from values
        sizes = w.add("Compress", sizes, np.array([True]))
    return w.add("SplitToSequence", w.add("Expand", w.like(0, dtype), sizes), axis=0, keepdims=0)


def element(w: GraphWriter, elements: Sequenced, index: str) -> str:
    """Returns an element."""
    if isinstance(elements, Stacked):
        return w.add("Gather", elements.name, w.index(index), axis=0)
    return w.add("SequenceAt", elements.name, w.index(index))


def with_element(w: GraphWriter, elements: Sequenced, index: str, value: str) -> Sequenced:
    """Returns the elements with one of them replaced; an array that grows may get one at its end."""
    place = w.index(index)
    if isinstance(elements, Stacked):
        where = w.add("Reshape", place, [1, 1])
        row = w.add("Unsqueeze", value, [0])
        return Stacked(w.add("ScatterND", elements.name, where, row), elements.dtype, elements.grows)
    rest = _without(w, elements, place)
    return Elements(w.add("SequenceInsert", rest, value, place), elements.dtype, elements.grows)


def _without(w: GraphWriter, elements: Elements, place: str) -> str:
    """Returns a sequence without the element at a place, which may be the end of one that grows."""
    if not elements.grows:
        return w.add("SequenceErase", elements.name, place)
    is_inside = w.add("Less", place, w.add("SequenceLength", elements.name))
    graphs = {}
    for name in ("then_branch", "else_branch"):
        graphs[name] = branch = w.child()
        inputs = [elements.name, place] if name == "then_branch" else [elements.name]
        branch.outputs.append(branch.add("SequenceErase" if len(inputs) == 2 else "Identity", *inputs))
        w.model.types[branch.outputs[0]] = w.type_of(elements)
    return w.add("If", is_inside, **graphs)


def rows(w: GraphWriter, elements: Sequenced) -> str:
    """Returns all elements as rows of one tensor."""
    if isinstance(elements, Stacked):
        return elements.name
    return w.add("ConcatFromSequence", elements.name, axis=0, new_axis=1)


def length(w: GraphWriter, elements: Sequenced) -> str:
    """Returns the number of elements as a scalar of int32."""
    if isinstance(elements, Stacked):
        return w.cast(w.add("Squeeze", w.dims(elements.name, 0, 1), [0]), dtypes.int32)
    return w.cast(w.add("SequenceLength", elements.name), dtypes.int32)


# -- TensorArray ------------------------------------------------------------------------------------------------------


@converter("TensorArrayV3")
def tensor_array(w: GraphWriter, node: Node, size: str) -> list[Any]:
    dtype, shape, grows = node.attrs["dtype"], node.attrs["element_shape"], bool(node.attrs["dynamic_size"])
    name = reserved(w, size, dtype, shape)
    return [ArrayHandle(dtype, shape, grows), Elements(name, dtype, grows)]


@converter("TensorArrayWriteV3")
def write(w: GraphWriter, node: Node, handle: ArrayHandle, index: str, value: str, flow: Sequenced) -> Sequenced:
    return with_element(w, flow, index, value)


@converter("TensorArrayReadV3")
def read(w: GraphWriter, node: Node, handle: ArrayHandle, index: str, flow: Sequenced) -> str:
    return element(w, flow, index)


@converter("TensorArraySizeV3")
def array_size(w: GraphWriter, node: Node, handle: ArrayHandle, flow: Sequenced) -> str:
    return length(w, flow)


@converter("TensorArrayGatherV3")
def gather(w: GraphWriter, node: Node, handle: ArrayHandle, indices: str, flow: Sequenced) -> str:
    all_rows = rows(w, flow)
    return all_rows if _is_everything(w, node, indices) else w.add("Gather", all_rows, w.index(indices), axis=0)


@converter("TensorArrayScatterV3")
def scatter(w: GraphWriter, node: Node, handle: ArrayHandle, indices: str, value: str, flow: Sequenced) -> Sequenced:
    """Unstacks a tensor; its rows are the elements as they are if the indices count them."""
    if not _counts(w, node, indices):
        raise unsupported(node, "writes elements at indices that are not in order", "use unstack, or write each")
    return Stacked(value, handle.dtype, handle.grows)


@converter("TensorArrayConcatV3")
def concat(w: GraphWriter, node: Node, handle: ArrayHandle, flow: Sequenced) -> list[Any]:
    if isinstance(flow, Stacked):
        dims = w.dims(flow.name)
        tail = w.add("Slice", dims, [2], [1 << 62])
        lengths = w.add("Expand", w.add("Slice", dims, [1], [2]), w.add("Slice", dims, [0], [1]))
        return [w.reshape(flow.name, w.join([-1], tail)), lengths]
    return [w.add("ConcatFromSequence", flow.name, axis=0, new_axis=0), None]


@converter("TensorArraySplitV3")
def split(w: GraphWriter, node: Node, handle: ArrayHandle, value: str, lengths: str, flow: Sequenced) -> Sequenced:
    name = w.add("SplitToSequence", value, w.index(lengths), axis=0)
    return Elements(name, handle.dtype, handle.grows)


def _is_everything(w: GraphWriter, node: Node, indices: str) -> bool:
    """Returns whether indices are the numbers from 0 to the size of the array."""
    if not _counts(w, node, indices):
        return False
    array, static_indices = node.inputs[0].node, w.static_value(indices)
    if static_indices is not None:
        size = array.constant(0) if array.type == "TensorArrayV3" else None
        return size is not None and int(size) == static_indices.size
    limit = node.inputs[1].node.inputs[1]
    counts = limit.node.type == "TensorArraySizeV3" and limit.node.inputs[0] == node.inputs[0]
    return counts or (array.type == "TensorArrayV3" and array.inputs[0] == limit)


def _counts(w: GraphWriter, node: Node, indices: str) -> bool:
    """Returns whether indices are 0, 1, 2 and so on."""
    static_indices = w.static_value(indices)
    if static_indices is not None:
        return bool((static_indices == np.arange(static_indices.size)).all())
    producer = node.inputs[1][0]
    if producer.type != "Range":
        return False
    starts, steps = producer.constant(0), producer.constant(2)
    return starts is not None and int(starts) == 0 and steps is not None and int(steps) == 1

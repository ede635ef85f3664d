"""Converters of tensor lists, which the loops of TensorFlow 2 read and write."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape
from thalweg._src.deploy.onnx_export.converters.tensor_array import element, length, reserved, rows, with_element
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import Elements, Sequenced, Stacked, number_of
from thalweg._src.graph.ir.step_graph import Node


def _shape(w: GraphWriter, name: str) -> Shape:
    """Returns the shape that a vector holds, if all its sizes are known."""
    sizes = w.static_value(name)
    if sizes is None or sizes.ndim != 1 or (sizes < 0).any():
        return None
    return tuple(sizes.tolist())


@converter("TensorListReserve")
def reserve(w: GraphWriter, node: Node, shape: str, count: str) -> Elements:
    dtype = node.attrs["element_dtype"]
    return Elements(reserved(w, count, dtype, _shape(w, shape)), dtype)


@converter("EmptyTensorList")
def empty(w: GraphWriter, node: Node, shape: str, count: str) -> Elements:
    dtype = node.attrs["element_dtype"]
    return Elements(w.add("SequenceEmpty", dtype=number_of(dtype)), dtype, grows=True)


@converter("TensorListFromTensor")
def from_tensor(w: GraphWriter, node: Node, x: str, shape: str) -> Stacked:
    return Stacked(x, node.attrs["element_dtype"])


@converter("TensorListStack")
def stack(w: GraphWriter, node: Node, elements: Sequenced, shape: str) -> str:
    return rows(w, elements)


@converter("TensorListGetItem")
def get_item(w: GraphWriter, node: Node, elements: Sequenced, index: str, shape: str) -> str:
    return element(w, elements, index)


@converter("TensorListSetItem")
def set_item(w: GraphWriter, node: Node, elements: Sequenced, index: str, value: str) -> Sequenced:
    return with_element(w, elements, index, value)


@converter("TensorListLength")
def list_length(w: GraphWriter, node: Node, elements: Sequenced) -> str:
    return length(w, elements)


@converter("TensorListPushBack")
def push_back(w: GraphWriter, node: Node, elements: Sequenced, value: str) -> Sequenced:
    if isinstance(elements, Stacked):
        row = w.add("Unsqueeze", value, [0])
        return Stacked(w.add("Concat", elements.name, row, axis=0), elements.dtype, elements.grows)
    return Elements(w.add("SequenceInsert", elements.name, value), elements.dtype, elements.grows)


@converter("TensorListPopBack")
def pop_back(w: GraphWriter, node: Node, elements: Sequenced, shape: str) -> list[Any]:
    last = w.like(-1, dtypes.int64)
    value = element(w, elements, last)
    if isinstance(elements, Stacked):
        return [Stacked(w.add("Slice", elements.name, [0], [-1]), elements.dtype, elements.grows), value]
    return [Elements(w.add("SequenceErase", elements.name), elements.dtype, elements.grows), value]


@converter("TensorListGather")
def gather(w: GraphWriter, node: Node, elements: Sequenced, indices: str, shape: str) -> str:
    return w.add("Gather", rows(w, elements), w.index(indices), axis=0)

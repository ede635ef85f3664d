"""Converters of gathering, scattering and partitions."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.reduction import constant_axis
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


@converter("Gather", "GatherV2")
def gather(w: GraphWriter, node: Node, x: str, indices: str, axis: str | None = None) -> str:
    where = 0 if axis is None else constant_axis(w, node, axis)
    batch = int(node.attrs.get("batch_dims", 0))
    if batch == 0:
        return w.add("Gather", x, _indices(w, node, indices), axis=where)
    return _gather_in_batches(w, node, x, indices, where, batch)


def _indices(w: GraphWriter, node: Node, indices: str) -> str:
    """Returns indices in a type that ONNX takes: int32 or int64."""
    dtype = node.input_dtype(1)
    return indices if dtype in (dtypes.int32, dtypes.int64) else w.index(indices)


def _gather_in_batches(w: GraphWriter, node: Node, x: str, indices: str, axis: int, batch: int) -> str:
    """Gathers with indices of their own for each example: with the axis behind those of the batch."""
    shapes = node.input_shape(0), node.input_shape(1)
    if shapes[0] is None or shapes[1] is None:
        raise unsupported(node, "gathers in batches of unknown rank", "give placeholders shapes of known rank")
    rank, count = len(shapes[0]), len(shapes[1])
    axis, batch = axis % rank, batch % count
    order = [*range(batch), axis, *(i for i in range(batch, rank) if i != axis)]
    index = w.add("Unsqueeze", w.index(indices), [-1])
    gathered = w.add("GatherND", w.transpose(x, order), index, batch_dims=batch)
    # The result has the axes of the batch, of the indices, and the others of the values, of which some come first.
    between = axis - batch
    inner = count - batch
    total = rank - 1 + inner
    permutation = [*range(batch), *range(batch + inner, batch + inner + between), *range(batch, batch + inner)]
    return w.transpose(gathered, [*permutation, *range(len(permutation), total)])


@converter("GatherNd")
def gather_nd(w: GraphWriter, node: Node, x: str, indices: str) -> str:
    return w.add("GatherND", x, w.index(indices))


# -- scattering -------------------------------------------------------------------------------------------------------


@converter("ScatterNd")
def scatter_nd(w: GraphWriter, node: Node, indices: str, updates: str, shape: str) -> str:
    zeros = w.add("Expand", w.like(0, node.dtypes[0]), w.index(shape))
    return w.add("ScatterND", zeros, w.index(indices), updates, reduction="add")


@converter("TensorScatterUpdate")
def scatter_update(w: GraphWriter, node: Node, x: str, indices: str, updates: str) -> str:
    return w.add("ScatterND", x, w.index(indices), updates)


def _scatter(reduction: str, op: str) -> None:
    @converter(op)
    def convert(w: GraphWriter, node: Node, x: str, indices: str, updates: str) -> str:
        values = w.add("Neg", updates) if node.type == "TensorScatterSub" else updates
        return w.add("ScatterND", x, w.index(indices), values, reduction=reduction)


_scatter("add", "TensorScatterAdd")
_scatter("add", "TensorScatterSub")
_scatter("max", "TensorScatterMax")
_scatter("min", "TensorScatterMin")


# -- partitions -------------------------------------------------------------------------------------------------------


@converter("DynamicPartition")
def dynamic_partition(w: GraphWriter, node: Node, x: str, partitions: str) -> list[str]:
    shape = node.input_shape(1)
    if shape is None:
        raise unsupported(node, "has partitions of unknown rank", "give placeholders shapes of known rank")
    if len(shape) > 1:
        x = w.reshape(x, w.join([-1], w.dims(x, len(shape))))
        partitions = w.reshape(partitions, [-1])
    return [
        w.add("Compress", x, w.add("Equal", partitions, w.like(i, dtypes.int32)), axis=0)
        for i in range(len(node.dtypes))
    ]


@converter("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(w: GraphWriter, node: Node, *inputs: str) -> str:
    """Scatters all rows into as many zeros as the largest index says."""
    count = len(inputs) // 2
    rows, values = [], []
    for place, (indices, data) in enumerate(zip(inputs[:count], inputs[count:])):
        shape = node.input_shape(place)
        if shape is None:
            raise unsupported(node, "has indices of unknown rank", "give placeholders shapes of known rank")
        rows.append(w.reshape(w.index(indices), [-1]))
        values.append(w.reshape(data, w.join([-1], w.dims(data, len(shape)))))
    index = w.join(*rows)
    data = values[0] if count == 1 else w.add("Concat", *values, axis=0)
    size = w.add("Add", w.add("ReduceMax", index, keepdims=1), w.constant([1]))
    zeros = w.add("Expand", w.like(0, node.dtypes[0]), w.join(size, w.dims(data, 1)))
    return w.add("ScatterND", zeros, w.add("Unsqueeze", index, [1]), data)


@converter("UnravelIndex")
def unravel_index(w: GraphWriter, node: Node, indices: str, dims: str) -> str:
    """Divides by the sizes of the axes behind each axis."""
    sizes = w.static_value(dims)
    if sizes is None:
        raise unsupported(node, "has sizes that are computed in the graph", "write them as numbers")
    index, left = w.index(indices), 1
    rows: list[str] = []
    for size in reversed(sizes.tolist()):
        row = w.add("Mod", w.add("Div", index, w.like(left, dtypes.int64)), w.like(size, dtypes.int64))
        rows.insert(0, w.add("Unsqueeze", row, [0]))
        left *= size
    return w.cast(rows[0] if len(rows) == 1 else w.add("Concat", *rows, axis=0), node.dtypes[0], dtypes.int64)

"""Converters of blocks of pixels that become channels or examples."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.converters.convolution import around
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


@converter("DepthToSpace")
def depth_to_space(w: GraphWriter, node: Node, x: str) -> str:
    size = int(node.attrs["block_size"])
    return around(w, node, x, 4, lambda turned: w.add("DepthToSpace", turned, blocksize=size, mode="DCR"))


@converter("SpaceToDepth")
def space_to_depth(w: GraphWriter, node: Node, x: str) -> str:
    size = int(node.attrs["block_size"])
    return around(w, node, x, 4, lambda turned: w.add("SpaceToDepth", turned, blocksize=size))


def _blocks(w: GraphWriter, node: Node, block: str, borders: str) -> tuple[list[int], list[list[int]], int]:
    """Returns the sizes of blocks, the borders of the axes, and the rank."""
    sizes, static_borders, shape = w.static_value(block), w.static_value(borders), node.input_shape(0)
    if sizes is None or static_borders is None or shape is None:
        raise unsupported(node, "has blocks or borders that are computed in the graph", "use the rate of a convolution")
    return sizes.tolist(), static_borders.tolist(), len(shape)


@converter("SpaceToBatchND")
def space_to_batch(w: GraphWriter, node: Node, x: str, block: str, paddings: str) -> str:
    """Pads, splits each axis into blocks, and moves the places in a block before the examples."""
    sizes, pads, rank = _blocks(w, node, block, paddings)
    count = len(sizes)
    if any(map(any, pads)):
        before = [0, *(row[0] for row in pads), *[0] * (rank - 1 - count)]
        after = [0, *(row[1] for row in pads), *[0] * (rank - 1 - count)]
        x = w.add("Pad", x, before + after)
    shape: list[str | list[int]] = [w.dims(x, 0, 1)]
    for axis, size in enumerate(sizes):
        shape += [w.add("Div", w.dims(x, axis + 1, axis + 2), [size]), [size]]
    split = w.reshape(x, w.join(*shape, w.dims(x, count + 1)))
    places = [2 * axis + 2 for axis in range(count)]
    outer = [2 * axis + 1 for axis in range(count)]
    turned = w.transpose(split, [*places, 0, *outer, *range(2 * count + 1, rank + count)])
    merged = w.dims(turned, count + 1)
    return w.reshape(turned, w.join([-1], merged))


@converter("BatchToSpaceND")
def batch_to_space(w: GraphWriter, node: Node, x: str, block: str, crops: str) -> str:
    """Undoes what SpaceToBatchND does."""
    sizes, borders, rank = _blocks(w, node, block, crops)
    count = len(sizes)
    split = w.reshape(x, w.join(list(sizes), [-1], w.dims(x, 1)))
    mixed = [axis for i in range(count) for axis in (count + 1 + i, i)]
    turned = w.transpose(split, [count, *mixed, *range(2 * count + 1, rank + count)])
    split_shape: list[str | list[int]] = [[-1]]
    split_shape += [w.add("Mul", w.dims(x, axis + 1, axis + 2), [size]) for axis, size in enumerate(sizes)]
    merged = w.reshape(turned, w.join(*split_shape, w.dims(x, count + 1)))
    if not any(map(any, borders)):
        return merged
    ends = [-row[1] if row[1] else (1 << 62) for row in borders]
    return w.add("Slice", merged, [row[0] for row in borders], ends, list(range(1, count + 1)))

"""Space-to-depth, space-to-batch and their inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.shape_functions import require, vector_size, with_rank
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_FORMAT = attr.string("NHWC", "NCHW", default="NHWC")


def _divided(size: int | None, block: int, what: str) -> int | None:
    require(size is None or size % block == 0, f"{what} of size {size} is not divisible into blocks of {block}")
    return None if size is None else size // block


def _times(size: int | None, factor: int) -> int | None:
    return None if size is None else size * factor


def _arranged(c: Inference, batch: int | None, height: int | None, width: int | None, depth: int | None) -> Shape:
    return (batch, height, width, depth) if c.attrs["data_format"] == "NHWC" else (batch, depth, height, width)


def _dimensions(c: Inference) -> Sequence[int | None]:
    """Returns batch, height, width and depth."""
    dims = with_rank(c, 0, 4)
    assert dims is not None
    return dims if c.attrs["data_format"] == "NHWC" else (dims[0], dims[2], dims[3], dims[1])


def _space_to_depth(c: Inference) -> Sequence[Shape]:
    (batch, height, width, depth), block = _dimensions(c), c.attrs["block_size"]
    return [
        _arranged(c, batch, _divided(height, block, "height"), _divided(width, block, "width"), _times(depth, block**2))
    ]


def _depth_to_space(c: Inference) -> Sequence[Shape]:
    (batch, height, width, depth), block = _dimensions(c), c.attrs["block_size"]
    return [_arranged(c, batch, _times(height, block), _times(width, block), _divided(depth, block**2, "depth"))]


space_to_depth_op = op(
    "SpaceToDepth",
    "input: T -> output: T",
    T=attr.types(),
    block_size=attr.integer(2),
    data_format=_FORMAT,
    infer=_space_to_depth,
    doc="Rearranges blocks of pixels into channels.",
)
depth_to_space_op = op(
    "DepthToSpace",
    "input: T -> output: T",
    T=attr.types(),
    block_size=attr.integer(2),
    data_format=_FORMAT,
    infer=_depth_to_space,
    doc="Rearranges blocks of channels into blocks of pixels.",
)


def _block_facts(c: Inference, what: str) -> tuple[list[Any], list[list[Any]]] | None:
    count = vector_size(c, 1)
    require(c.shapes[2] is None or len(c.shapes[2]) == 2, f"{what} has shape {show(c.shapes[2])}", expected="[n, 2]")
    block, margins = c.partial(1), c.partial(2)
    if c.shapes[0] is None or (block is None and count is None):
        return None
    sizes = [None] * (count or 0) if block is None else block.tolist()
    require(all(b is None or b >= 1 for b in sizes), f"block_shape {sizes} has a size less than 1")
    require(len(c.shapes[0]) > len(sizes), f"input has rank {len(c.shapes[0])}", expected=f"at least {len(sizes) + 1}")
    row_count = c.shapes[2][0] if c.shapes[2] is not None else None
    require(row_count in (None, len(sizes)), f"{what} has {row_count} rows", expected=f"{len(sizes)}")
    rows = [[None, None]] * len(sizes) if margins is None else margins.tolist()
    require(all(m is None or m >= 0 for row in rows for m in row), f"{what} {rows} has a negative entry")
    return sizes, rows


def _space_to_batch(c: Inference) -> Sequence[Shape]:
    source, facts = c.shapes[0], _block_facts(c, "paddings")
    if facts is None or source is None:
        return [None if source is None else (None,) * len(source)]
    block, paddings = facts
    space: list[int | None] = []
    for axis, (size, b, row) in enumerate(zip(source[1:], block, paddings), 1):
        padded = None if None in (size, *row) else size + sum(row)
        space.append(None if b is None else _divided(padded, b, f"padded dimension {axis}"))
    batch = None if source[0] is None or None in block else source[0] * math.prod(block)
    return [(batch, *space, *source[1 + len(block) :])]


def _batch_to_space(c: Inference) -> Sequence[Shape]:
    source, facts = c.shapes[0], _block_facts(c, "crops")
    if facts is None or source is None:
        return [None if source is None else (None,) * len(source)]
    block, crops = facts
    space: list[int | None] = []
    for axis, (size, b, row) in enumerate(zip(source[1:], block, crops), 1):
        whole = None if None in (size, b, *row) else size * b - sum(row)
        require(whole is None or whole >= 0, f"crops {row} exceed dimension {axis}")
        space.append(whole)
    batch = None if None in block else _divided(source[0], math.prod(block), "batch")
    return [(batch, *space, *source[1 + len(block) :])]


space_to_batch_nd = export(
    "space_to_batch_nd", "manip.space_to_batch_nd", paddings="Zeros to add before and after each spatial dimension."
)(
    op(
        "SpaceToBatchND",
        "input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T",
        T=attr.types(),
        Tblock_shape=attr.types(dtypes.INDEX, dtypes.int32),
        Tpaddings=attr.types(dtypes.INDEX, dtypes.int32),
        host="block_shape, paddings",
        infer=_space_to_batch,
        doc="Moves spatial blocks, after padding, to the batch dimension.",
    )
)
batch_to_space_nd = export("batch_to_space_nd", "manip.batch_to_space_nd")(
    op(
        "BatchToSpaceND",
        "input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T",
        T=attr.types(),
        Tblock_shape=attr.types(dtypes.INDEX, dtypes.int32),
        Tcrops=attr.types(dtypes.INDEX, dtypes.int32),
        host="block_shape, crops",
        infer=_batch_to_space,
        doc="Moves batch entries to spatial blocks, which are then cropped.",
    )
)


@export("space_to_depth", "nn.space_to_depth")
def space_to_depth(input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Moves each spatial block of pixels to the depth of one pixel.

    Args:
        input: Images [batch, height, width, channels].
    """
    return space_to_depth_op(input, block_size=block_size, data_format=data_format, name=name)


@export("depth_to_space", "nn.depth_to_space")
def depth_to_space(input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Moves the depth of each pixel to a spatial block of pixels.

    Args:
        input: Images [batch, height, width, channels].
    """
    return depth_to_space_op(input, block_size=block_size, data_format=data_format, name=name)


@export("space_to_batch", "nn.space_to_batch")
def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """Moves spatial blocks, after padding, to the batch dimension.

    Args:
        paddings: Zeros to add before and after each spatial dimension.
        block_size: Size of the blocks along each spatial dimension.
        block_shape: Another name of `block_size`, which may differ by dimension.
    """
    block = [block_size, block_size] if block_shape is None else block_shape
    return space_to_batch_nd(input, block, paddings, name=name)


@export("batch_to_space")
def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """Moves batch entries to spatial blocks, which are then cropped.

    Args:
        block_size: Size of the blocks along each spatial dimension.
        block_shape: Another name of `block_size`, which may differ by dimension.
    """
    block = [block_size, block_size] if block_shape is None else block_shape
    return batch_to_space_nd(input, block, crops, name=name)

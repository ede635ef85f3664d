"""tf.contrib.resampler: images sampled at given points."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import logical_and
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.gather import gather_nd
from thalweg._src.graph.ops.math import clip_by_value, floor
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape, zeros_like
from thalweg._src.graph.ops.sequences import range as range_
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("contrib.resampler.resampler")
def resampler(data: TensorLike, warp: TensorLike, name: str = "resampler") -> Tensor:
    """Returns the values of images at points, by bilinear interpolation; images are zero outside.

    Args:
        data: Images [batch, height, width, channels].
        warp: Points [batch, ..., 2], each the column and the row.
        name: A name for the operations that are added to the graph.
    """
    with name_scope(name, "resampler", [data, warp]):
        data, warp = convert_to_tensor(data, name="data"), convert_to_tensor(warp, name="warp")
        if data.shape.ndims != 4:
            raise ValueError(f"data has shape {data.shape}, expected [batch, height, width, channels]")
        if warp.shape.ndims is not None and (warp.shape.ndims < 2 or warp.shape.as_list()[-1] not in (2, None)):
            raise ValueError(f"warp has shape {warp.shape}, expected [batch, ..., 2]")
        sizes, outer = shape(data), shape(warp)[:-1]
        height, width = cast(sizes[1], warp.dtype), cast(sizes[2], warp.dtype)
        points = reshape(warp, [sizes[0], -1, 2])
        x, y = points[:, :, 0], points[:, :, 1]
        inside = logical_and(logical_and(x > -1.0, x < width), logical_and(y > -1.0, y < height))
        padded = pad(data, [[0, 0], [1, 1], [1, 1], [0, 0]])
        left, top = floor(x), floor(y)
        image = expand_dims(range_(sizes[0]), 1) + zeros_like(cast(left, dtypes.int32))
        total = None
        for right, below in ((0, 0), (0, 1), (1, 0), (1, 1)):
            weight_x = x - left if right else 1.0 - (x - left)
            weight_y = y - top if below else 1.0 - (y - top)
            column = cast(clip_by_value(left + 1.0 + right, 0.0, width + 1.0), dtypes.int32)
            row = cast(clip_by_value(top + 1.0 + below, 0.0, height + 1.0), dtypes.int32)
            weight = weight_x * weight_y * cast(inside, warp.dtype)
            weighted = cast(expand_dims(weight, 2), data.dtype) * gather_nd(padded, stack([image, row, column], 2))
            total = weighted if total is None else total + weighted
        assert total is not None
        result = reshape(total, concat([outer, sizes[3:]], 0))
        if warp.shape.ndims is not None:
            result.set_shape([*warp.shape.as_list()[:-1], data.shape.as_list()[3]])
        return result

"""tf.manip: tensors rearranged."""

from thalweg._src.ops.gather import gather_nd, scatter_nd
from thalweg._src.ops.pad_tile import reverse, roll, tile
from thalweg._src.ops.reshape import reshape
from thalweg._src.ops.space_to_depth import batch_to_space_nd, space_to_batch_nd

__all__ = [
    "batch_to_space_nd",
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "space_to_batch_nd",
    "tile",
]

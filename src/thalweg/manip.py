"""tf.manip: Tensor manipulation."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    batch_to_space_nd as batch_to_space_nd,
    roll as roll,
    space_to_batch_nd as space_to_batch_nd,
    tile as tile,
)
from thalweg._src.graph.ops.gather import (
    gather_nd as gather_nd,
    scatter_nd as scatter_nd,
)
from thalweg._src.graph.ops.pad_tile import reverse as reverse
from thalweg._src.graph.ops.reshape import reshape as reshape

__all__ = ["batch_to_space_nd", "gather_nd", "reshape", "reverse", "roll", "scatter_nd", "space_to_batch_nd", "tile"]

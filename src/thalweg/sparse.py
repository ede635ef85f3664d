"""tf.sparse: Sparse tensors."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.ops.sparse import (
    sparse_eye as eye,
    sparse_from_dense as from_dense,
    sparse_mask as mask,
    sparse_placeholder as placeholder,
    sparse_reset_shape as reset_shape,
    sparse_retain as retain,
    sparse_tensor_to_dense as to_dense,
)
from thalweg._src.graph.ops.sparse_cross import (
    sparse_cross as cross,
    sparse_cross_hashed as cross_hashed,
)
from thalweg._src.graph.ops.sparse_math import (
    sparse_add as add,
    sparse_maximum as maximum,
    sparse_minimum as minimum,
    sparse_reduce_max as reduce_max,
    sparse_reduce_max_sparse as reduce_max_sparse,
    sparse_reduce_sum as reduce_sum,
    sparse_reduce_sum_sparse as reduce_sum_sparse,
    sparse_softmax as softmax,
    sparse_tensor_dense_matmul as matmul,
    sparse_tensor_dense_matmul as sparse_dense_matmul,
)
from thalweg._src.graph.ops.sparse_rows import (
    sparse_bincount as bincount,
    sparse_fill_empty_rows as fill_empty_rows,
)
from thalweg._src.graph.ops.sparse_segments import (
    sparse_segment_mean as segment_mean,
    sparse_segment_sqrt_n as segment_sqrt_n,
    sparse_segment_sum as segment_sum,
)
from thalweg._src.graph.ops.sparse_shaping import (
    sparse_concat as concat,
    sparse_expand_dims as expand_dims,
    sparse_merge as merge,
    sparse_reorder as reorder,
    sparse_reshape as reshape,
    sparse_slice as slice,
    sparse_split as split,
    sparse_to_indicator as to_indicator,
    sparse_transpose as transpose,
)
from thalweg._src.graph.sparse_tensor import SparseTensor as SparseTensor
from thalweg._src.training.input.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator

__all__ = [
    "SparseConditionalAccumulator", "SparseTensor", "add", "bincount", "concat", "cross", "cross_hashed", "expand_dims",
    "eye", "fill_empty_rows", "from_dense", "mask", "matmul", "maximum", "merge", "minimum", "placeholder",
    "reduce_max", "reduce_max_sparse", "reduce_sum", "reduce_sum_sparse", "reorder", "reset_shape", "reshape", "retain",
    "segment_mean", "segment_sqrt_n", "segment_sum", "slice", "softmax", "sparse_dense_matmul", "split", "to_dense",
    "to_indicator", "transpose",
]

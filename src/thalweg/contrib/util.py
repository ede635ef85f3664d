"""tf.contrib.util: Constant values of tensors, and conversion between arrays and TensorProto."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.framework.names import ops_used_by_graph_def as ops_used_by_graph_def
from thalweg._src.graph.ops.reshape import constant_value as constant_value
from thalweg._src.graph.ops.tensor_proto import make_tensor_proto as make_tensor_proto
from thalweg._src.graph.tensor_proto import MakeNdarray as make_ndarray

__all__ = ["constant_value", "make_ndarray", "make_tensor_proto", "ops_used_by_graph_def"]

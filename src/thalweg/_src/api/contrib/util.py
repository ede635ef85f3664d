"""tf.contrib.util: values of constants, and arrays as messages."""

from thalweg._src.graph.tensor_proto import make_ndarray
from thalweg._src.ops.reshape import constant_value
from thalweg._src.ops.tensor_proto import make_tensor_proto

__all__ = [
    "constant_value",
    "make_ndarray",
    "make_tensor_proto",
]

"""tf.saved_model.utils: TensorInfo messages: names, types and shapes of tensors."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.saved_model.signatures import (
    build_tensor_info as build_tensor_info,
    get_tensor_from_tensor_info as get_tensor_from_tensor_info,
)

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]

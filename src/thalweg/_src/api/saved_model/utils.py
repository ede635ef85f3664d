"""tf.saved_model.utils: tensors by name, type and shape."""

from thalweg._src.saved_model.signatures import build_tensor_info, get_tensor_from_tensor_info

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]

"""tf.contrib.slim.model_analyzer: Sizes of the variables and operations of a model."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.model_analyzer import (
    analyze_ops as analyze_ops,
    analyze_vars as analyze_vars,
    tensor_description as tensor_description,
)

__all__ = ["analyze_ops", "analyze_vars", "tensor_description"]

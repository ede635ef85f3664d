"""tf.estimator.inputs: Input functions of arrays and tables."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.estimator.inputs import (
    numpy_input_fn as numpy_input_fn,
    pandas_input_fn as pandas_input_fn,
)

__all__ = ["numpy_input_fn", "pandas_input_fn"]

"""tf.raw_ops: Every op under its own name, inputs and attributes by keyword."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.raw_ops import __dir__ as __dir__, __getattr__ as __getattr__

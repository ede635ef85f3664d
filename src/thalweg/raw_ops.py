"""tf.raw_ops: Every op under its own name, with inputs and attributes as keyword arguments."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.raw_ops import __dir__ as __dir__, __getattr__ as __getattr__

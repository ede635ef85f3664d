"""tf.compat.v1: This package under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.version_1 import __dir__ as __dir__, __getattr__ as __getattr__, install as _install

_install()

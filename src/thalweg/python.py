"""tf.python: Paths of TensorFlow's source that published programs import, showing the public names."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.source_paths import register as _register

_register(__name__)

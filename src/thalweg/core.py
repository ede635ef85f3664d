"""tf.core: Modules of protocol messages under the paths that published programs import."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.source_paths import register as _register

_register(__name__)

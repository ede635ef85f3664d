"""tf.app.flags: Command-line flags, those of absl."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg.flags import *

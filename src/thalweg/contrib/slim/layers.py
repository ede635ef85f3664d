"""tf.contrib.slim.layers: The layers of tf.contrib.layers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg.contrib.layers import *

"""thalweg.contrib.all_reduce under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg.contrib.all_reduce import *

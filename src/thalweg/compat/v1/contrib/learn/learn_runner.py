"""thalweg.contrib.learn.learn_runner under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg.contrib.learn.learn_runner import *

"""thalweg.keras.applications.resnet_v2 under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg.keras.applications.resnet_v2 import *

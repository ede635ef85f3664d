"""tf.keras.datasets.mnist: Handwritten digits."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.datasets.images import load_mnist as load_data

__all__ = ["load_data"]

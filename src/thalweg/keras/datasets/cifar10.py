"""tf.keras.datasets.cifar10: Photographs of ten kinds of things."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.datasets.images import load_cifar10 as load_data

__all__ = ["load_data"]

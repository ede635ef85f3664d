"""tf.keras.datasets.boston_housing: Prices of houses in Boston."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.datasets.housing import load_boston_housing as load_data

__all__ = ["load_data"]

"""Prices of houses in Boston, with what is known of their surroundings."""

from __future__ import annotations

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.keras.datasets.files import Split, arrays, located, shuffled

_HASH = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"


@export("keras.datasets.boston_housing.load_data")
def load_boston_housing(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Split:
    """Returns 13 features of places and the price of houses there, for training and for a test."""
    if not 0 <= test_split < 1:
        raise ValueError(f"test_split: expected a fraction from 0 to below 1, received {test_split}")
    x, y = arrays(located(path, "boston_housing.npz", _HASH), "x", "y")
    x, y = shuffled(np.random.RandomState(seed), x, y)
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])

"""Ranges of values that arrive in batches: their ends, or the percentiles of a histogram that grows with them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_BINS = 8192


class Range(ABC):
    """The range of all values that were seen."""

    @abstractmethod
    def see(self, values: Array) -> None:
        """Takes values of a batch into account."""

    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """Returns the least and the greatest value that the range contains, with 0 between."""


class MinMax(Range):
    """The range from the least to the greatest value."""

    def __init__(self) -> None:
        self._low = self._high = 0.0

    def see(self, values: Array) -> None:
        if values.size:
            self._low, self._high = min(self._low, float(values.min())), max(self._high, float(values.max()))

    def ends(self) -> tuple[float, float]:
        return self._low, self._high


class Percentile(Range):
    """The range between percentiles: of 99.9, it leaves the least and the greatest thousandth out.

    The values of all batches do not fit into memory, and their range is known only after the last batch. So they are
    counted in a histogram whose bound is a power of two. A value beyond it doubles the bound: two neighbouring bins
    become one exactly, since the bins of the wider histogram are unions of those of the narrower one, so that no count
    is ever split. More than half of the bound is used, so that a bin is at most 1/2048 of the largest value wide.
    """

    def __init__(self, percentile: float) -> None:
        self._percentile = percentile
        self._bound = 0.0  # of the histogram, in both directions
        self._counts = np.zeros(_BINS, np.int64)

    def see(self, values: Array) -> None:
        if not values.size:
            return
        self._widen(float(np.abs(values).max()))
        self._counts += np.histogram(values, _BINS, (-self._bound, self._bound))[0]

    def _widen(self, largest: float) -> None:
        """Doubles the bound until it contains a value; then two bins become one."""
        if not self._bound:
            self._bound = 2.0 ** math.ceil(math.log2(largest)) if largest > 0 else 2.0**-20
        while self._bound < largest:
            pairs = self._counts.reshape(-1, 2).sum(1)
            self._counts = np.pad(pairs, _BINS // 4)
            self._bound *= 2

    def ends(self) -> tuple[float, float]:
        total = self._counts.sum()
        if not total:
            return 0.0, 0.0
        share = np.cumsum(self._counts) / total
        width = 2 * self._bound / _BINS
        first = int(np.searchsorted(share, 1 - self._percentile / 100, side="right"))
        last = int(np.searchsorted(share, self._percentile / 100))
        return min(first * width - self._bound, 0.0), max((last + 1) * width - self._bound, 0.0)


def weight_ends(weights: Array, per_channel: bool, least: Array | float = 0.0) -> tuple[Array, Array]:
    """Returns the ends of symmetric ranges of weights: one range, or one for each entry of the last dimension.

    least: what ranges must contain, one number for each range or some for all
    """
    axes = tuple(range(weights.ndim - 1)) if per_channel else None
    high = np.asarray(np.abs(weights).max(axis=axes), np.float32)
    least = np.asarray(least, np.float32)
    high = np.maximum(high, least if least.shape == high.shape else least.max())
    high = np.where(high == 0, np.float32(1e-6), high)
    return -high, high

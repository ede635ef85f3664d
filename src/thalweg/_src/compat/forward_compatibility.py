"""Dates up to which a program may rely on TensorFlow's changes; within a scope, other ones."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator

from thalweg._src.export import export

_horizon = datetime.date(2019, 10, 16)  # the day of TensorFlow 1.15.0


@export("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Returns whether a program may use what TensorFlow added on a date: before 1.15, or the scope's date."""
    return _horizon > datetime.date(year, month, day)


@export("compat.forward_compatibility_horizon")
@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Makes `forward_compatible` answer for another date, to test both answers."""
    global _horizon
    before, _horizon = _horizon, datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon = before

"""Determinism: whether a program's results must be the same, bit by bit, in every run."""

from __future__ import annotations


class _Determinism:
    is_required = False


def require() -> None:
    """Requires deterministic results from now on; `runtime/determinism.py` sets up the process for them."""
    _Determinism.is_required = True


def is_required() -> bool:
    """Returns whether results must be deterministic."""
    return _Determinism.is_required

"""Determinism: whether a program's results must be the same, bit by bit, in every run."""

from __future__ import annotations


class _Determinism:
    is_required = False
    needs_seeds = False


def require() -> None:
    """Requires deterministic results from now on; `runtime/determinism.py` sets up the process for them."""
    _Determinism.is_required = True


def require_seeds() -> None:
    """Makes a random operation without a seed an error from now on."""
    _Determinism.needs_seeds = True


def needs_seeds() -> bool:
    """Returns whether a random operation without a seed is an error."""
    return _Determinism.needs_seeds


def is_required() -> bool:
    """Returns whether results must be deterministic."""
    return _Determinism.is_required

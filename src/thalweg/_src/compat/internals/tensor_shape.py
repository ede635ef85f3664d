"""Names of `tensorflow.python.framework.tensor_shape` that are not public."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.shapes import TensorShape


def scalar() -> TensorShape:
    """Returns the shape of a scalar."""
    return TensorShape([])


def vector(length: Any) -> TensorShape:
    """Returns the shape of a vector."""
    return TensorShape([length])


def matrix(rows: Any, cols: Any) -> TensorShape:
    """Returns the shape of a matrix."""
    return TensorShape([rows, cols])

"""RaggedTensorValue: the value of a ragged tensor, and its construction from nested lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.read_only import ReadOnly

Array = np.ndarray[Any, Any]


@export("ragged.RaggedTensorValue")
class RaggedTensorValue:
    """The value of a RaggedTensor, as fetched from a session or fed to it: `values[row_splits[i]:row_splits[i + 1]]`
    is row i.

    Args:
        values: The joined rows.
        row_splits: Positions where rows start, and the end of the last one.
    """

    values = ReadOnly[Any]("The joined rows, an array or a RaggedTensorValue.")
    row_splits = ReadOnly[Array]("The positions where rows start, and the end of the last one.")

    def __init__(self, values: Any, row_splits: Any) -> None:
        splits = np.asarray(row_splits)
        if splits.ndim != 1 or splits.dtype not in (np.int32, np.int64):
            raise ValueError(f"row_splits: expected a vector of int32 or int64, received {row_splits!r}")
        self._values = values if isinstance(values, RaggedTensorValue) else np.asarray(values)
        self._row_splits = splits

    @property
    def flat_values(self) -> Array:
        """The values of the innermost rows."""
        values: Any = self._values
        return values.flat_values if isinstance(values, RaggedTensorValue) else values

    @property
    def nested_row_splits(self) -> tuple[Array, ...]:
        """The row_splits of all ragged dimensions, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """The element type, one of NumPy's."""
        return self._values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, None for ragged dimensions."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Returns the rows as nested lists."""
        values = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [values[start:end] for start, end in zip(self._row_splits[:-1], self._row_splits[1:])]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"


@export("ragged.constant_value")
def constant_value(
    pylist: object,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:
    """Returns nested lists as a RaggedTensorValue, or as an array where no dimension is ragged."""
    numpy_dtype = None if dtype is None else np.dtype(dtypes.as_dtype(dtype).as_numpy_dtype)
    splits_type = np.dtype(dtypes.as_dtype(row_splits_dtype).as_numpy_dtype)
    return build(pylist, numpy_dtype, ragged_rank, inner_shape, splits_type)


def build(pylist: Any, dtype: Any, ragged_rank: int | None, inner_shape: Any, splits_type: Any) -> Any:
    """Returns the value that nested lists describe; without a ragged rank all but the last dimension are ragged."""
    if not isinstance(pylist, list | tuple | np.ndarray):
        if ragged_rank:
            raise ValueError(f"pylist: expected nested lists of rank {ragged_rank + 1}, received the scalar {pylist!r}")
        return np.array(pylist, dtype)
    depth, deepest = _scalar_depth(pylist), _max_depth(pylist)
    if depth is not None and depth < deepest:
        raise ValueError("pylist: all scalar values must have the same nesting depth, received different ones")
    if ragged_rank is None:
        ragged_rank = max(deepest - 1 - len(inner_shape or ()), 0)
    if ragged_rank >= deepest or ragged_rank < 0:
        raise ValueError(f"ragged_rank is {ragged_rank}, expected less than the nesting depth {deepest}")
    nested: list[Array] = []
    level = list(pylist)
    for _ in range(ragged_rank):
        lengths = [len(row) for row in level]
        nested.append(np.concatenate([[0], np.cumsum(lengths)]).astype(splits_type))
        level = [item for row in level for item in row]
    values: Any = _flat(level, dtype, inner_shape)
    for splits in reversed(nested):
        values = RaggedTensorValue(values, splits)
    return values


def _flat(items: list[Any], dtype: Any, inner_shape: Sequence[int] | None) -> Array:
    try:
        values = np.array(items, dtype) if items or dtype is not None else np.zeros(0, np.float32)
    except ValueError:
        raise ValueError("pylist: the values of the innermost dimensions have different lengths") from None
    if values.dtype == object and not all(isinstance(v, str | bytes) for v in values.ravel().tolist()):
        raise ValueError("pylist: the values have different types or lengths")
    if values.dtype.kind in "OSU":
        flat = [v.encode() if isinstance(v, str) else v for v in values.ravel().tolist()]
        values = object_array(flat, values.shape)
    return values if inner_shape is None else values.reshape(-1, *inner_shape)


def _max_depth(value: object) -> int:
    """Returns the largest nesting depth."""
    if not isinstance(value, list | tuple | np.ndarray):
        return 0
    return 1 + max(map(_max_depth, value), default=0)


def _scalar_depth(value: object) -> int | None:
    """Returns the least nesting depth of a scalar, None if there are no scalars."""
    if not isinstance(value, list | tuple | np.ndarray):
        return 0
    depths = [depth for depth in map(_scalar_depth, value) if depth is not None]
    return 1 + min(depths) if depths else None


def splits_dtype(dtype: DTypeLike) -> Any:
    """Returns the type of row splits, int32 or int64."""
    kind = dtypes.as_dtype(dtype)
    if kind not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"row_splits_dtype: expected int32 or int64, received {kind.name}")
    return kind

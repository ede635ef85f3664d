"""HDF5Matrix: a data set of an HDF5 file in the place of an array, whose rows are read when they are needed."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.keras.places import in_file
from thalweg._src.keras.saving import hdf5_contents


@export("keras.utils.HDF5Matrix")
class HDF5Matrix:
    """Rows of a data set of an HDF5 file; `shuffle="batch"` of `fit` reads those of a batch at once.

    trusted: by default the file may not refer to others; with True it may

    Args:
        datapath: Path of the file.
        dataset: Name of the data set.
        start: First row.
        end: Row after the last one; None for all.
        normalizer: Function of rows that is applied when they are read.
        trusted: Whether the file may refer to other files.
    """

    def __init__(
        self,
        datapath: PathLike,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
        *,
        trusted: bool | None = None,
    ) -> None:
        with in_file(datapath):
            file = hdf5_contents.open_file(os.fspath(datapath))
            self.data: Any = file[dataset] if trusted else hdf5_contents.dataset(file, dataset, hdf5_contents.ANY_KIND)
        self.start = start
        self.end: int = self.data.shape[0] if end is None else end
        self.normalizer = normalizer
        if not 0 <= self.start <= self.end <= self.data.shape[0]:
            raise ValueError(f"start and end: expected rows of {self.data.shape[0]}, received {start} and {self.end}")

    def __len__(self) -> int:
        return max(0, self.end - self.start)

    def __getitem__(self, key: int | slice | Sequence[int] | np.ndarray[Any, Any]) -> Any:
        """Returns a row, a range of rows, or those of a list; other indices are of the whole array."""
        rows = self._rows(key)
        return rows if self.normalizer is None else self.normalizer(rows)

    def _rows(self, key: Any) -> Any:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            return self.data[start + self.start : stop + self.start : step]
        if isinstance(key, list | np.ndarray):
            rows = np.asarray(key, int)
            if rows.size and not 0 <= rows.min() <= rows.max() < len(self):
                raise IndexError(f"expected rows of {len(self)}, received {rows.min()} to {rows.max()}")
            distinct, places = np.unique(rows + self.start, return_inverse=True)  # files are read forwards
            return self.data[distinct][places]
        if isinstance(key, tuple):
            return self.data[self.start : self.end][key]
        row = operator.index(key)
        if not 0 <= row < len(self):
            raise IndexError(f"expected a row of {len(self)}, received {row}")
        return self.data[row + self.start]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and their shape."""
        return (len(self), *np.shape(self[0])) if self.normalizer is not None else (len(self), *self.data.shape[1:])

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self[0:0].dtype if self.normalizer is None else np.asarray(self[0]).dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return int(np.prod(self.shape))

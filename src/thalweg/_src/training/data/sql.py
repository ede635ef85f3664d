"""SqlDataset: the rows of a SQL query."""

from __future__ import annotations

import sqlite3
from typing import Any, ClassVar

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.kernels.elements import from_python
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.iteration import BoundDataset, Element, Iteration
from thalweg._src.training.data.node import add_dataset
from thalweg._src.training.data.structure import Structure, TensorSpec, flatten, structure_from

_TYPES = frozenset(
    (
        dtypes.string,
        dtypes.int8,
        dtypes.int16,
        dtypes.int32,
        dtypes.int64,
        dtypes.uint8,
        dtypes.uint16,
        dtypes.bool,
        dtypes.float64,
    )
)


class Rows(Iteration):
    """The rows of a query in order; a restored iteration repeats the query and skips the earlier rows."""

    __slots__ = ("_connection", "_cursor", "count")
    saved_attributes: ClassVar = ("count",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.count = 0
        self._connection: sqlite3.Connection | None = None
        self._cursor: Any = None

    def __next__(self) -> Element:
        if self.closed:
            raise self.end()
        try:
            if self._cursor is None:
                self._begin()
            row = self._cursor.fetchone()
        except sqlite3.Error as error:
            raise errors.UnknownError(None, None, f"{type(error).__name__}: {error}") from None
        if row is None:
            raise StopIteration
        self.count += 1
        return tuple(_converted(value, dtype) for value, dtype in zip(row, self.dataset.types))

    def _begin(self) -> None:
        driver, source, query = (value.item() for value in self.dataset.values)
        if driver != b"sqlite":
            raise invalid(
                f"The database type, {driver.decode(errors='replace')}, is not supported by SqlDataset. "
                "The set of supported databases is: {'sqlite'}."
            )
        path = f"file:{source.decode()}?mode=ro" if not source.startswith(b"file:") else source.decode()
        # The next element may be requested from any thread, one at a time.
        self._connection = sqlite3.connect(path, uri=True, check_same_thread=False)
        self._connection.text_factory = bytes
        cursor = self._connection.execute(query.decode())
        columns = len(cursor.description or ())
        if columns != len(self.dataset.types):
            raise invalid(
                f"The number of columns in query ({columns}) must match the number of elements in "
                f"output_types ({len(self.dataset.types)})."
            )
        for _ in range(self.count):
            cursor.fetchone()
        self._cursor = cursor

    def close(self) -> None:
        super().close()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _converted(value: Any, dtype: DType) -> Any:
    """Returns a cell converted as by SQLite: NULL is zero or empty, text is parsed as a number."""
    if dtype is dtypes.string:
        text = b"" if value is None else value if isinstance(value, bytes) else str(value).encode()
        return from_python(text, dtype)
    try:
        number = 0 if value is None or value == b"" else float(value) if isinstance(value, bytes) else value
        if dtype is dtypes.bool:
            return from_python(bool(number), dtype)
        return from_python(float(number) if dtype is dtypes.float64 else int(number), dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise errors.invalid(f"{value!r} is not {dtype.name}: {error}") from None


@export("data.experimental.SqlDataset", "contrib.data.SqlDataset")
class SqlDataset(Dataset):
    """The rows of a database query; each element is a tuple with one scalar per column.

    Args:
        driver_name: Type of the database; "sqlite".
        data_source_name: The database, such as the path of its file.
        query: The SQL query.
    """

    def __init__(
        self, driver_name: TensorLike, data_source_name: TensorLike, query: TensorLike, output_types: Structure
    ) -> None:
        structure = structure_from(output_types, None)
        for spec in flatten(structure):
            if spec.dtype not in _TYPES:
                names = ", ".join(sorted(dtype.name for dtype in _TYPES))
                raise TypeError(f"output_types: expected {names}, received {spec.dtype.name}")
        structure = tuple(TensorSpec((), spec.dtype) for spec in flatten(structure))
        values = [
            convert_to_tensor(value, dtypes.string, name=name)
            for value, name in ((driver_name, "driver_name"), (data_source_name, "data_source_name"), (query, "query"))
        ]
        super().__init__(add_dataset(Rows, structure, values=values), structure)

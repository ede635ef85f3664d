"""Datasets of CSV files: records as tuples of columns, or batches of named columns with inferred types."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.formats.gfile import glob
from thalweg._src.base.formats.record_files import Source, open_source
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.csv import decode_csv
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.element_refs import ElementRefs
from thalweg._src.training.data.experimental import ignore_errors as without_errors
from thalweg._src.training.data.iteration import BoundDataset
from thalweg._src.training.data.node import add_dataset, parameter
from thalweg._src.training.data.readers import Lines
from thalweg._src.training.data.structure import TensorSpec

_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)  # narrowest first


class CsvRecords(Lines):
    """The records of CSV files: lines, where a quoted field may span several."""

    __slots__ = ("_header", "_quotes")

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset, refs)
        self._header, self._quotes = bool(dataset.values[2]), bool(dataset.values[3])

    def parse(self, source: Source, name: bytes) -> Iterator[list[bytes]]:
        begun: list[bytes] = []  # the lines of an incomplete record
        header = self._header
        for lines in super().parse(source, name):
            records = []
            for line in lines[1:] if header else lines:
                begun.append(line)
                if not self._quotes or sum(begun_line.count(b'"') for begun_line in begun) % 2 == 0:
                    records.append(b"\n".join(begun))
                    begun = []
            header = header and not lines
            yield records
        if begun:
            raise errors.invalid(f"{name!r}: the file ends in a quoted field")


def _records(filenames: TensorLike, compression: TensorLike | None, header: TensorLike, quotes: bool) -> Dataset:
    structure = TensorSpec((), dtypes.string)
    values = [
        convert_to_tensor(filenames, dtypes.string, name="filenames"),
        convert_to_tensor("" if compression is None else compression, dtypes.string),
        parameter(header, dtypes.bool),
        parameter(quotes, dtypes.bool),
    ]
    return Dataset(add_dataset(CsvRecords, structure, values=values), structure)


@export("data.experimental.CsvDataset", "contrib.data.CsvDataset")
class CsvDataset(Dataset):
    """The records of CSV files, each a tuple with one tensor per column.

    Args:
        buffer_size: Accepted for compatibility; the buffer's size is chosen.
        header: Whether the first line of each file is skipped.
    """

    def __init__(
        self,
        filenames: TensorLike,
        record_defaults: Sequence[Any],
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        header: TensorLike = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        defaults = [_default(default) for default in record_defaults]
        columns = _records(filenames, compression_type, header, use_quote_delim).map(
            lambda record: tuple(
                decode_csv(record, defaults, field_delim, use_quote_delim, na_value=na_value, select_cols=select_cols)
            )
        )
        super().__init__(columns._variant, columns._structure)


def _default(value: object) -> Tensor:
    """Returns the default of an empty field; if only a dtype is given there is none, and the field is required."""
    if isinstance(value, DType) or (isinstance(value, type) and issubclass(value, np.generic)):
        return constant([], dtypes.as_dtype(value))
    if isinstance(value, Tensor):
        return value
    return convert_to_tensor(value if isinstance(value, list | tuple | np.ndarray) else [value])


@export("data.experimental.make_csv_dataset", "contrib.data.make_csv_dataset")
def make_csv_dataset(
    file_pattern: TensorLike,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Returns batches of CSV records as dictionaries of columns, paired with the label column if it is named."""
    names = _matching(file_pattern)
    quoting = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
    rows = _Rows(names, compression_type, field_delim, quoting)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = rows.header()
    if len(set(column_names)) != len(column_names):
        raise ValueError("Cannot have duplicate column names.")
    chosen = _chosen(select_columns, column_names)
    defaults: Sequence[Any]
    if column_defaults is not None:
        defaults = [_default(default) for default in column_defaults]
    else:
        defaults = [_default(dtype) for dtype in rows.types(chosen, header, na_value, num_rows_for_inference)]
        defaults = [constant([""] if d.dtype is dtypes.string else [0], d.dtype) for d in defaults]
    if len(defaults) != len(chosen):
        raise ValueError(f"there are {len(defaults)} column_defaults for {len(chosen)} columns")
    shown = [column_names[index] for index in chosen]
    if label_name is not None and label_name not in shown:
        raise ValueError(f"`label_name` provided must be one of the columns {shown}, it is {label_name!r}")
    dataset: Dataset = Dataset.from_tensor_slices(names)
    if shuffle:
        dataset = dataset.shuffle(len(names), shuffle_seed)

    def read(name: Tensor) -> Dataset:
        table = CsvDataset(
            name, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, chosen
        )
        return table.apply(without_errors()) if ignore_errors else table

    dataset = dataset.interleave(read, cycle_length=num_parallel_reads or 1)
    if num_epochs != 1:
        dataset = (
            dataset.shuffle(shuffle_buffer_size, shuffle_seed).repeat(num_epochs)
            if shuffle
            else dataset.repeat(num_epochs)
        )
    elif shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)

    def named(*columns: Any) -> Any:
        features = dict(zip(shown, columns))
        return features if label_name is None else (features, features.pop(label_name))

    batches = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return batches.prefetch(-1 if prefetch_buffer_size is None else prefetch_buffer_size)


def _matching(file_pattern: object) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, list | tuple) else [file_pattern]
    if not patterns:
        raise ValueError("File pattern is empty.")
    names: list[str] = []
    for pattern in patterns:
        matches = sorted(glob(pattern))
        if not matches:
            raise ValueError(f"No files match {pattern!r}")
        names += matches
    return names


def _chosen(select_columns: Sequence[Any] | None, column_names: Sequence[str]) -> list[int]:
    if select_columns is None:
        return list(range(len(column_names)))
    numbers = []
    for column in select_columns:
        if isinstance(column, str) and column not in column_names:
            raise ValueError(f"{column!r} is not a column: the columns are {list(column_names)}")
        numbers.append(list(column_names).index(column) if isinstance(column, str) else int(column))
    if len(set(numbers)) != len(numbers):
        raise ValueError("`select_columns` contains duplicate columns")
    if numbers and (min(numbers) < 0 or max(numbers) >= len(column_names)):
        raise ValueError(f"`select_columns` {numbers} are not all among the {len(column_names)} columns")
    return sorted(numbers)


class _Rows:
    """The rows of CSV files, read while the graph is built."""

    def __init__(self, names: list[str], compression: str | None, delimiter: str, quoting: int) -> None:
        self._names = names
        self._compression = compression or ""
        self._options: dict[str, Any] = {"delimiter": delimiter, "quoting": quoting}

    def _of(self, name: str) -> Iterator[list[str]]:
        source, file = open_source(name, self._compression)
        with file:
            blocks = iter(lambda: source.read(1 << 16), b"")
            content = b"".join(blocks).decode("utf-8", "surrogateescape")
        return iter(csv.reader(content.splitlines(keepends=True), **self._options))

    def header(self) -> list[str]:
        """Returns the header row, which all files must share."""
        first = next(self._of(self._names[0]), [])
        for name in self._names[1:]:
            if next(self._of(name), []) != first:
                raise ValueError("All input CSV files must have the same column names in the header row.")
        return first

    def types(self, columns: list[int], header: bool, na_value: str, limit: int | None) -> list[DType]:
        """Returns the narrowest dtype that fits all values of each column."""
        type_indices: list[int] = [0] * len(columns)
        seen = 0
        for name in self._names:
            rows = self._of(name)
            if header:
                next(rows, None)
            for row in rows:
                if limit is not None and seen >= limit:
                    return [_TYPES[index] for index in type_indices]
                for place, column in enumerate(columns):
                    if column >= len(row):
                        raise ValueError(f"{name}: a row has {len(row)} columns, column {column} is selected")
                    type_indices[place] = _wide_enough(row[column], na_value, type_indices[place])
                seen += 1
        return [_TYPES[index] for index in type_indices]


def _wide_enough(value: str, na_value: str, least: int) -> int:
    if value in ("", na_value):
        return least
    for index in range(least, len(_TYPES)):
        if _fits(value, _TYPES[index]):
            return index
    return len(_TYPES) - 1


def _fits(value: str, dtype: DType) -> bool:
    try:
        if dtype.is_integer:
            return bool(dtype.min <= int(value) <= dtype.max)
        if dtype.is_floating:
            number = float(value)
            return bool(dtype is dtypes.float64 or not abs(number) > dtype.max)
    except ValueError:
        return False
    return True

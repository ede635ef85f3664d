"""RaggedTensor: a tensor with rows of different lengths, as their joined values and the positions of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import is_dispatched, register_type
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_equal, assert_non_negative
from thalweg._src.graph.ops.comparison import less, not_equal
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.constants import fill
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import maximum
from thalweg._src.graph.ops.reduction import cumsum, reduce_any, reduce_max, reduce_prod
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape as shape_of, zeros
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.ops.sequences import range as sequence
from thalweg._src.graph.ops.sorting import searchsorted
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.session.fetches import register_session_run_conversion_functions
from thalweg._src.training.nn.ragged.value import RaggedTensorValue, build, splits_dtype
from thalweg._src.training.variables.sessions import SessionLike


@export("RaggedTensor")
class RaggedTensor:
    """Rows of different lengths: row i is `values[row_splits[i]:row_splits[i + 1]]`; values may be ragged themselves.

    Ragged tensors are made by functions such as `RaggedTensor.from_row_splits` and `tf.ragged.constant`.

    Args:
        values: The joined rows.
        row_splits: Positions where rows start, and the end of the last one.
        internal: Whether the caller has checked the arguments.
    """

    __array_priority__ = 100  # makes NumPy's operators defer to ours
    __iter__: None = None  # rows are not known when the graph is built

    values = ReadOnly[Any]("The joined rows, a Tensor or a RaggedTensor.")
    row_splits = ReadOnly[Tensor]("The positions where rows start, and the end of the last one.")
    dtype = ReadOnly[DType]("The element type.", "_values.dtype")
    graph = ReadOnly[Graph]("The graph of the values.", "_row_splits.graph")
    name = ReadOnly[str]("The name of the values.", "_values.name")
    op = ReadOnly[Operation]("The operation of the values.", "_values.op")

    def __init__(self, values: Any, row_splits: Tensor, internal: bool = False) -> None:
        if not internal:
            raise ValueError("RaggedTensor: use a function such as RaggedTensor.from_row_splits or tf.ragged.constant")
        self._values = values
        self._row_splits = row_splits

    # -- construction -------------------------------------------------------------------------------------------------

    @classmethod
    def from_row_splits(
        cls, values: TensorLike, row_splits: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns the rows `values[row_splits[i]:row_splits[i + 1]]`."""
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = _values(values), _integers(row_splits, "row_splits")
            if splits.dims is not None and len(splits.dims) != 1:
                raise ValueError(f"row_splits: expected a vector, received shape {splits.dims}")
            if splits.dims is not None and splits.dims[0] == 0:
                raise ValueError("row_splits: expected at least one element, received none")
            if validate:
                checks = [
                    assert_equal(splits[0], cast(0, splits.dtype), message="row_splits must begin with 0"),
                    assert_non_negative(splits[1:] - splits[:-1], message="row_splits must not decrease"),
                    assert_equal(splits[-1], _count(values, splits.dtype), message="row_splits must end at the values"),
                ]
                with control_dependencies([check for check in checks if check is not None]):
                    splits = identity(splits)
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_lengths(
        cls, values: TensorLike, row_lengths: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns the rows of given lengths."""
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            return cls.from_row_splits(values, from_lengths(_integers(row_lengths, "row_lengths")), validate=validate)

    @classmethod
    def from_row_starts(
        cls, values: TensorLike, row_starts: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns the rows that start at given positions."""
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = _values(values), _integers(row_starts, "row_starts")
            splits = concat([starts, expand_dims(_count(values, starts.dtype), 0)], 0)
            return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_row_limits(
        cls, values: TensorLike, row_limits: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns the rows that end before given positions."""
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            limits = _integers(row_limits, "row_limits")
            return cls.from_row_splits(values, concat([zeros([1], limits.dtype), limits], 0), validate=validate)

    @classmethod
    def from_value_rowids(
        cls,
        values: TensorLike,
        value_rowids: TensorLike,
        nrows: TensorLike | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Returns the rows whose values have given, sorted row numbers."""
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            ids = _integers(value_rowids, "value_rowids")
            splits = splits_of_ids(ids, nrows)
            if validate:
                with control_dependencies(
                    [assert_non_negative(ids[1:] - ids[:-1], message="value_rowids must be sorted")]
                ):
                    splits = identity(splits)
            return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: TensorLike,
        nested_row_splits: Sequence[TensorLike],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Returns ragged rows within rows, given the splits of all dimensions, the outermost first."""
        with name_scope(name, "RaggedFromNestedRowSplits", [flat_values, *nested_row_splits]):
            result: Any = _values(flat_values)
            for splits in reversed(nested_row_splits):
                result = cls.from_row_splits(result, splits, validate=validate)
            return result

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: TensorLike,
        nested_row_lengths: Sequence[TensorLike],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Returns ragged rows within rows, given the lengths of all dimensions, the outermost first."""
        with name_scope(name, "RaggedFromNestedRowLengths", [flat_values, *nested_row_lengths]):
            result: Any = _values(flat_values)
            for lengths in reversed(nested_row_lengths):
                result = cls.from_row_lengths(result, lengths, validate=validate)
            return result

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: TensorLike,
        nested_value_rowids: Sequence[TensorLike],
        nested_nrows: Sequence[TensorLike] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Returns ragged rows within rows, given the row numbers of all dimensions, the outermost first."""
        counts: list[Any] = [None] * len(nested_value_rowids) if nested_nrows is None else list(nested_nrows)
        if len(counts) != len(nested_value_rowids):
            raise ValueError(f"nested_nrows: expected {len(nested_value_rowids)} numbers, received {len(counts)}")
        with name_scope(name, "RaggedFromNestedValueRowIds", [flat_values, *nested_value_rowids]):
            result: Any = _values(flat_values)
            for ids, count in zip(reversed(nested_value_rowids), reversed(counts)):
                result = cls.from_value_rowids(result, ids, count, validate=validate)
            return result

    @classmethod
    def from_tensor(
        cls,
        tensor: TensorLike,
        lengths: TensorLike | None = None,
        padding: TensorLike | None = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
    ) -> Any:
        """Returns a tensor as rows, all whole, or without the end that `lengths` or a `padding` value exclude."""
        if lengths is not None and padding is not None:
            raise ValueError("from_tensor: give lengths or padding, not both")
        kind = splits_dtype(row_splits_dtype)
        with name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
            dense = convert_to_tensor(tensor, name="tensor")
            if dense.dims is None or not 0 < ragged_rank < len(dense.dims):
                raise ValueError(f"ragged_rank is {ragged_rank}, expected from 1 to the rank of {dense} minus 1")
            if padding is not None:
                lengths = _lengths_without(dense, convert_to_tensor(padding, dense.dtype), ragged_rank, kind)
            sizes = shape_of(dense, out_type=kind)
            if lengths is not None:
                return _truncated(cls, dense, convert_to_tensor(lengths, kind), ragged_rank, sizes, kind)
            flat = reshape(dense, concat([[-1], sizes[ragged_rank + 1 :]], 0))
            flat.set_shape((None, *dense.dims[ragged_rank + 1 :]))
            result: Any = flat
            for axis in range(ragged_rank, 0, -1):
                rows = reduce_prod(sizes[:axis])
                result = cls(result, sequence(rows + 1) * sizes[axis], internal=True)
                if None not in dense.dims[:axis]:
                    result._row_splits.set_shape((_product(dense.dims[:axis]) + 1,))
            return result

    @classmethod
    def from_sparse(
        cls, st_input: SparseTensor, name: str | None = None, row_splits_dtype: DTypeLike = dtypes.int64
    ) -> RaggedTensor:
        """Returns the elements of a sparse matrix, which must fill the start of each row without a gap."""
        if not isinstance(st_input, SparseTensor):
            raise TypeError(f"st_input: expected a SparseTensor, received {st_input!r}")
        if st_input.dims is not None and len(st_input.dims) != 2:
            raise ValueError(f"st_input: expected rank 2, received shape {st_input.dims}")
        kind = splits_dtype(row_splits_dtype)
        with name_scope(name, "RaggedFromSparse", [st_input.indices]):
            rows, columns = cast(st_input.indices[:, 0], kind), cast(st_input.indices[:, 1], kind)
            splits = splits_of_ids(rows, cast(st_input.dense_shape[0], kind))
            places = sequence(_count(st_input.values, kind)) - gather(splits, rows)
            check = assert_equal(places, columns, message="st_input must have no gaps in its rows, and be sorted")
            with control_dependencies([check]):
                return cls(identity(st_input.values), splits, internal=True)

    # -- parts --------------------------------------------------------------------------------------------------------

    @property
    def flat_values(self) -> Tensor:
        """The values of the innermost rows."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row_splits of all ragged dimensions, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> TensorShape:
        """The static shape, with None for ragged dimensions."""
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        """Returns the static shape."""
        return self.shape

    @property
    def dims(self) -> Shape:
        """The static shape as a tuple."""
        splits, values = self._row_splits.dims, self._values.dims
        if values is None:
            return None
        count = None if splits is None or splits[0] is None else splits[0] - 1
        return (count, None, *values[1:])

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """Returns the number of rows."""
        with name_scope(name, "RaggedNRows", [self._row_splits]):
            return cast(shape_of(self._row_splits, out_type=self._row_splits.dtype)[0] - 1, self._index_type(out_type))  # type: ignore[no-any-return]

    def row_starts(self, name: str | None = None) -> Tensor:
        """Returns the positions where rows start."""
        with name_scope(name, "RaggedRowStarts", [self._row_splits]):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Returns the positions before which rows end."""
        with name_scope(name, "RaggedRowLimits", [self._row_splits]):
            return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Returns the lengths of rows, of an inner ragged dimension where `axis` is above 1."""
        with name_scope(name, "RaggedRowLengths", [self._row_splits]):
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._row_splits[1:] - self._row_splits[:-1]
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            sizes = shape_of(self._values, out_type=self._row_splits.dtype)
            return self.with_values(fill(sizes[: axis - 1], sizes[axis - 1]))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Returns the lengths of the rows of all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedRowLengths", [self._row_splits]):
            return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Returns the row number of each value."""
        with name_scope(name, "RaggedValueRowIds", [self._row_splits]):
            return ids_of_splits(self._row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Returns the row numbers of the values of all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedValueRowIds", [self._row_splits]):
            return tuple(ids_of_splits(splits) for splits in self.nested_row_splits)

    def bounding_shape(
        self, axis: TensorLike | None = None, name: str | None = None, out_type: DTypeLike | None = None
    ) -> Tensor:
        """Returns the shape of the smallest dense tensor that holds all rows, or some of its dimensions."""
        with name_scope(name, "RaggedBoundingBox", [self._row_splits]):
            kind = self._row_splits.dtype
            longest = [reduce_max(concat([lengths, [0]], 0)) for lengths in map(_differences, self.nested_row_splits)]
            inner = shape_of(self.flat_values, out_type=kind)[1:]
            whole = cast(concat([stack([self.nrows(), *longest]), inner], 0), self._index_type(out_type))
            return whole if axis is None else gather(whole, axis)

    def _index_type(self, out_type: DTypeLike | None) -> DType:
        return self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)

    def consumers(self) -> list[Operation]:
        """Returns the operations that use the values or the splits."""
        components = (self.flat_values, *self.nested_row_splits)
        return list(dict.fromkeys(consumer for component in components for consumer in component.consumers()))

    # -- changes ------------------------------------------------------------------------------------------------------

    def with_values(self, new_values: RaggedTensor | TensorLike) -> RaggedTensor:
        """Returns the same rows with other values."""
        return RaggedTensor(_values(new_values), self._row_splits, internal=True)

    def with_flat_values(self, new_values: RaggedTensor | TensorLike) -> RaggedTensor:
        """Returns the same rows with other values in the innermost ones."""
        inner = self._values.with_flat_values(new_values) if isinstance(self._values, RaggedTensor) else new_values
        return self.with_values(inner)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """Returns the same rows with row_splits of another type, int32 or int64."""
        kind, values = splits_dtype(dtype), self._values
        inner = values.with_row_splits_dtype(kind) if isinstance(values, RaggedTensor) else values
        return RaggedTensor(inner, cast(self._row_splits, kind), internal=True)

    def to_tensor(self, default_value: TensorLike | None = None, name: str | None = None) -> Tensor:
        """Returns a dense tensor: rows are padded with zeros, empty strings, or the default value."""
        with name_scope(name, "RaggedToTensor", [self._row_splits, self.flat_values]):
            values: Any = self._values
            if isinstance(values, RaggedTensor):
                values = values.to_tensor(default_value)
            inner = shape_of(values)[1:]
            if default_value is None:
                padding = zeros(inner, self.dtype)
            else:
                padding = fill_to(convert_to_tensor(default_value, self.dtype), inner)
            kind = self._row_splits.dtype
            lengths = _differences(self._row_splits)
            columns = expand_dims(sequence(reduce_max(concat([lengths, [0]], 0))), 0)
            places = expand_dims(self._row_splits[:-1], 1) + columns
            places = where_v2(less(columns, expand_dims(lengths, 1)), places, _count(values, kind))
            result: Tensor = gather(concat([values, expand_dims(padding, 0)], 0), places)
            result.set_shape(self.dims)
            return result

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Returns the elements as a sparse tensor."""
        with name_scope(name, "RaggedToSparse", [self._row_splits, self.flat_values]):
            flat = self.flat_values
            if flat.dims is None:
                raise ValueError("to_sparse: the rank of flat_values must be known")
            whole: Any = self
            for axis in range(1, len(flat.dims)):  # uniform inner dimensions become ragged ones
                del axis
                whole = whole.with_flat_values(RaggedTensor.from_tensor(whole.flat_values))
            indices = stack([cast(column, dtypes.int64) for column in coordinates(whole)], 1)
            return SparseTensor(indices, whole.flat_values, self.bounding_shape(out_type=dtypes.int64))

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: SessionLike | None = None) -> Any:
        """Evaluates the tensor in the given or the default session and returns its RaggedTensorValue."""
        return self.graph.session_for(session, self._row_splits.name).run(self, feed_dict)

    def to_list(self) -> list[Any]:
        """Returns the rows as nested lists; only in eager execution."""
        if not self._row_splits.is_eager:
            raise ValueError(
                "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate it first."
            )
        return self._value().to_list()

    def _value(self) -> RaggedTensorValue:
        values: Any = self._values
        inner = values._value() if isinstance(values, RaggedTensor) else values.numpy()
        return RaggedTensorValue(inner, self._row_splits.numpy())  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values!s}, row_splits={self._row_splits!s})"

    def __str__(self) -> str:
        return f"<tf.RaggedTensor {self.to_list()}>" if self._row_splits.is_eager else repr(self)

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")


register_type(RaggedTensor)


# -- row partitions ---------------------------------------------------------------------------------------------------


def from_lengths(lengths: Tensor) -> Tensor:
    """Returns the row splits of rows with given lengths."""
    return concat([zeros([1], lengths.dtype), cumsum(lengths)], 0)


def ids_of_splits(splits: Tensor) -> Tensor:
    """Returns the row number of each value."""
    next_rows = searchsorted(splits, sequence(splits[-1]), side="right", out_type=dtypes.int64)
    return cast(next_rows, splits.dtype) - 1  # type: ignore[no-any-return]


def splits_of_ids(ids: Tensor, nrows: TensorLike | None = None) -> Tensor:
    """Returns the row splits for sorted row numbers; without a number of rows the last one ends with the values."""
    count = reduce_max(concat([ids + 1, [0]], 0)) if nrows is None else convert_to_tensor(nrows, ids.dtype)
    return from_lengths(unsorted_segment_sum(ids * 0 + 1, ids, count))


def coordinates(rows: RaggedTensor) -> list[Tensor]:
    """Returns the indices of each flat value along the outer dimension and all ragged ones."""
    columns: list[Tensor] = []
    for splits in rows.nested_row_splits:
        ids = ids_of_splits(splits)
        columns = [gather(column, ids) for column in columns] if columns else [ids]
        columns.append(sequence(splits[-1]) - gather(splits, ids))
    return columns


def fill_to(value: Tensor, sizes: Tensor) -> Tensor:
    """Returns a value broadcast to sizes."""
    return value + zeros(sizes, value.dtype) if value.dtype is not dtypes.string else fill(sizes, value)


def _differences(splits: Tensor) -> Tensor:
    return splits[1:] - splits[:-1]


def _product(sizes: Sequence[Any]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def _values(values: Any) -> Any:
    return values if is_dispatched(values) else convert_to_tensor_or_ragged_tensor(values)


def _integers(values: TensorLike, name: str) -> Tensor:
    preferred = None if isinstance(values, np.ndarray) else dtypes.int64  # an array has a type already
    tensor = convert_to_tensor(values, preferred_dtype=preferred, name=name)
    if tensor.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"{name}: expected int32 or int64, received {tensor.dtype.name}")
    return tensor


def _count(values: TensorLike, dtype: DType) -> Tensor:
    if isinstance(values, RaggedTensor):
        return values.nrows(dtype)
    return shape_of(values, out_type=dtype)[0]


def _truncated(cls: Any, dense: Tensor, lengths: Tensor, ragged_rank: int, sizes: Tensor, kind: DType) -> RaggedTensor:
    """Returns the starts of the rows of a tensor, as long as `lengths` says."""
    if ragged_rank != 1 or (lengths.dims is not None and len(lengths.dims) != 1):
        raise ValueError("from_tensor: lengths and padding require ragged_rank=1 and a vector of lengths")
    assert dense.dims is not None
    lengths = maximum(lengths, cast(0, kind))
    splits = from_lengths(where_v2(less(lengths, sizes[1]), lengths, sizes[1]))
    ids = ids_of_splits(splits)
    places = sequence(splits[-1]) - gather(splits, ids) + ids * sizes[1]
    flat = reshape(dense, concat([[-1], sizes[2:]], 0))
    flat.set_shape((None, *dense.dims[2:]))
    return cls(gather(flat, places), splits, internal=True)  # type: ignore[no-any-return]


def _lengths_without(dense: Tensor, padding: Tensor, ragged_rank: int, kind: DType) -> Tensor:
    """Returns the lengths of the rows without trailing values that equal the padding."""
    if ragged_rank != 1:
        raise ValueError("from_tensor: padding requires ragged_rank=1")
    assert dense.dims is not None
    differ = reduce_any(not_equal(dense, padding), list(range(2, len(dense.dims))))
    columns = sequence(shape_of(dense, out_type=kind)[1]) + 1
    return reduce_max(where_v2(differ, expand_dims(columns, 0), cast(0, kind)), 1)


# -- conversion -------------------------------------------------------------------------------------------------------


def convert_to_tensor_or_ragged_tensor(value: object, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Returns a ragged tensor unchanged, the value of one as constants, and everything else as a Tensor."""
    if isinstance(value, RaggedTensor):
        if dtype is not None and dtypes.as_dtype(dtype) is not value.dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype} for RaggedTensor with dtype {value.dtype.name}"
            )
        return value
    if isinstance(value, RaggedTensorValue):
        with name_scope(name, "ConvertToTensorOrRaggedTensor"):
            flat = convert_to_tensor(value.flat_values, dtype, name="flat_values")
            return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits, validate=False)
    return convert_to_tensor(value, dtype, name)


def _components(rows: RaggedTensor) -> list[Tensor]:
    return [rows.flat_values, *rows.nested_row_splits]


def _rebuilt(arrays: Sequence[Any]) -> RaggedTensorValue:
    value, *nested = arrays
    for splits in reversed(nested):
        value = RaggedTensorValue(value, splits)
    return value  # type: ignore[no-any-return]


def _fed(rows: RaggedTensor, value: Any) -> list[tuple[Tensor, Any]]:
    """Returns the components of a ragged tensor with their values, given a RaggedTensorValue or nested lists."""
    if not isinstance(value, RaggedTensorValue):
        splits_type = rows.row_splits.dtype.as_numpy_dtype
        value = build(value, rows.dtype.as_numpy_dtype, rows.ragged_rank, None, splits_type)
    if value.ragged_rank != rows.ragged_rank:
        raise ValueError(f"expected ragged_rank {rows.ragged_rank}, received {value.ragged_rank}")
    return list(zip(_components(rows), [value.flat_values, *value.nested_row_splits]))


register_session_run_conversion_functions(RaggedTensor, lambda rows: (_components(rows), _rebuilt), _fed, _components)

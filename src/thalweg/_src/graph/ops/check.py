"""Assertions about tensors: checked during graph construction if the values are static, otherwise in the step."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.errors import invalid, require_members
from thalweg._src.base.export import export
from thalweg._src.base.signatures import variant
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater, greater_equal, less, less_equal, logical_or, not_equal
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.math import abs as absolute, add, multiply, subtract
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_all
from thalweg._src.graph.ops.reshape import constant_value, rank, reshape, shape
from thalweg._src.graph.ops.slicing import strided_slice
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

Compare = Callable[..., Any]


# -- values -----------------------------------------------------------------------------------------------------------


def _pair(x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns both as tensors; a Python number takes the type of the other tensor."""
    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        return convert_to_tensor(x, preferred_dtype=y.dtype, name="x"), y
    x = convert_to_tensor(x, name="x")
    return x, convert_to_tensor(y, preferred_dtype=x.dtype, name="y")


class _Comparison(NamedTuple):
    """An assertion's name, the sign it shows, and the comparison of tensors and of arrays."""

    title: str
    sign: str
    build: Compare
    test: Compare


def _compared(
    comparison: _Comparison, x: TensorLike, y: TensorLike, data: Any, summarize: int | None, message: str | None
) -> Operation:
    x, y = _pair(x, y)
    if executing_eagerly():
        _require_now(comparison, x, y, data, summarize, message)
        return no_op()
    if data is None:
        data = [
            f"Condition x {comparison.sign} y did not hold element-wise:",
            f"x ({x.name}) = ",
            x,
            f"y ({y.name}) = ",
            y,
        ]
    data = list(data) if message is None else [message, *data]
    known_x, known_y = constant_value(x), constant_value(y)
    if known_x is not None and known_y is not None:
        _require_static(bool(np.all(comparison.test(known_x, known_y))), data)
    return Assert(reduce_all(comparison.build(x, y)), data, summarize)


def _require_now(
    comparison: _Comparison, x: Any, y: Any, data: Any, summarize: int | None, message: str | None
) -> None:
    """Compares eager tensors, and raises InvalidArgumentError with the first elements that differ."""
    holds = comparison.build(x, y).numpy()
    if np.all(holds):
        return
    count = 3 if summarize is None else sys.maxsize if summarize < 0 else summarize
    if data is None:
        data = _different_elements(comparison.sign, x.numpy(), y.numpy(), holds, count)
    lines = [_line(item, count) for item in data]
    raise invalid("\n".join(lines if message is None else [message, *lines]))


def _different_elements(sign: str, x: Any, y: Any, holds: Any, count: int) -> list[Any]:
    lines: list[Any] = [f"Condition x {sign} y did not hold."]
    if count and np.shape(x) == np.shape(y) != ():
        places = np.argwhere(~holds)[:count]
        lines += [f"Indices of first {len(places)} different values:", places]
        lines += ["Corresponding x values:", x[~holds][:count], "Corresponding y values:", y[~holds][:count]]
    for name, array in (("x", np.ravel(x)[:count]), ("y", np.ravel(y)[:count])):
        lines += [f"First {len(array)} elements of {name}:", array] if count else []
    return lines


def _line(item: object, count: int) -> str:
    if not isinstance(item, Tensor) or not item.dims:
        return str(item.numpy() if isinstance(item, Tensor) else item)  # type: ignore[attr-defined]
    flat = np.ravel(item.numpy()).tolist()  # type: ignore[attr-defined]
    return str([*map(str, flat[:count]), *(["..."] if len(flat) > count else [])])


def _title(tensor: Any) -> str:
    """Returns what sentences call a tensor."""
    return str(tensor.label if getattr(tensor, "is_eager", False) else tensor.name)


def _facts(tensor: Tensor) -> str:
    """Returns what is shown before the elements of a tensor."""
    return f"shape={tensor.shape} dtype={tensor.dtype.name}" if tensor.is_eager else tensor.name


def _require_static(condition: bool, data: list[Any]) -> None:
    if not condition:
        shown = [constant_value(item) if isinstance(item, Tensor) else item for item in data]
        raise invalid("\n".join(str(item) for item in shown if item is not None))


@export("assert_equal", "debugging.assert_equal")
def assert_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless x == y everywhere.

    Args:
        x: The tensor to check.
        y: The tensor to compare with.
        data: Tensors that are printed with the error; by default the inputs.
        summarize: How many entries of each tensor are printed with the error.
    """
    with name_scope(name, "assert_equal", [x, y]):
        if x is y:
            return no_op()
        comparison = _Comparison("assert_equal", "==", equal, operator.eq)
        return _compared(comparison, x, y, data, summarize, message)


def _compare(
    comparison: _Comparison,
    x: TensorLike,
    y: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Fails the step unless a comparison holds for all elements of two tensors.

    Args:
        x: The tensor to check.
        y: The tensor to compare with.
        data: Tensors that are printed with the error; by default the inputs.
        summarize: How many entries of each tensor are printed with the error.
    """
    with name_scope(name, comparison.title, [x, y]):
        return _compared(comparison, x, y, data, summarize, message)


@export("assert_none_equal", "debugging.assert_none_equal")
@variant(_compare, _Comparison("assert_none_equal", "!=", not_equal, operator.ne))
def assert_none_equal() -> None:
    """Returns an operation that fails unless x != y everywhere."""


@export("assert_less", "debugging.assert_less")
@variant(_compare, _Comparison("assert_less", "<", less, operator.lt))
def assert_less() -> None:
    """Returns an operation that fails unless x < y everywhere."""


@export("assert_less_equal", "debugging.assert_less_equal")
@variant(_compare, _Comparison("assert_less_equal", "<=", less_equal, operator.le))
def assert_less_equal() -> None:
    """Returns an operation that fails unless x <= y everywhere."""


@export("assert_greater", "debugging.assert_greater")
@variant(_compare, _Comparison("assert_greater", ">", greater, operator.gt))
def assert_greater() -> None:
    """Returns an operation that fails unless x > y everywhere."""


@export("assert_greater_equal", "debugging.assert_greater_equal")
@variant(_compare, _Comparison("assert_greater_equal", ">=", greater_equal, operator.ge))
def assert_greater_equal() -> None:
    """Returns an operation that fails unless x >= y everywhere."""


def _compare_with_zero(
    comparison: _Comparison,
    x: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Fails the step unless a comparison with zero holds for all elements.

    Args:
        x: The tensor to check.
        data: Tensors that are printed with the error; by default the inputs.
        summarize: How many entries of each tensor are printed with the error.
    """
    with name_scope(name, comparison.title, [x]):
        x = convert_to_tensor(x, name="x")
        if data is None:
            data = [f"Condition x {comparison.sign} 0 did not hold element-wise:", f"x ({_facts(x)}) = ", x]
        zero = convert_to_tensor(0, x.dtype, name="zero")
        return _compared(comparison, x, zero, data, summarize, message)


@export("assert_positive", "debugging.assert_positive")
@variant(_compare_with_zero, _Comparison("assert_positive", ">", greater, operator.gt))
def assert_positive() -> None:
    """Returns an operation that fails unless x > 0 everywhere."""


@export("assert_negative", "debugging.assert_negative")
@variant(_compare_with_zero, _Comparison("assert_negative", "<", less, operator.lt))
def assert_negative() -> None:
    """Returns an operation that fails unless x < 0 everywhere."""


@export("assert_non_negative", "debugging.assert_non_negative")
@variant(_compare_with_zero, _Comparison("assert_non_negative", ">=", greater_equal, operator.ge))
def assert_non_negative() -> None:
    """Returns an operation that fails unless x >= 0 everywhere."""


@export("assert_non_positive", "debugging.assert_non_positive")
@variant(_compare_with_zero, _Comparison("assert_non_positive", "<=", less_equal, operator.le))
def assert_non_positive() -> None:
    """Returns an operation that fails unless x <= 0 everywhere."""


@export("assert_near", "debugging.assert_near")
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless |x - y| <= atol + rtol * |y| everywhere; tolerances default to 10 ulps.

    Args:
        x: The tensor to check.
        y: The tensor to compare with.
        data: Tensors that are printed with the error; by default the inputs.
        summarize: How many entries of each tensor are printed with the error.
    """
    with name_scope(name, "assert_near", [x, y]):
        x, y = _pair(x, y)
        rounding = 10 * _rounding(x.dtype)
        real = x.dtype.real_dtype
        relative, least = (
            cast(convert_to_tensor(rounding if t is None else t, preferred_dtype=real), real) for t in (rtol, atol)
        )
        if data is None:
            data = ["x and y differ by more than the tolerance:", f"x ({_facts(x)}) = ", x, f"y ({_facts(y)}) = ", y]
        data = list(data) if message is None else [message, *data]
        allowed = add(least, multiply(relative, absolute(y)))
        return Assert(reduce_all(less_equal(absolute(subtract(x, y)), allowed)), data, summarize)


def _rounding(dtype: DType) -> float:
    if dtype.base_dtype is dtypes.bfloat16:
        return 2.0**-7
    if not (dtype.is_floating or dtype.is_complex):
        raise TypeError(f"assert_near compares floating or complex tensors, not {dtype.name}; use assert_equal")
    return float(np.finfo(dtype.as_numpy_dtype).eps)


@export("is_non_decreasing", "debugging.is_non_decreasing", "math.is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether no element is less than the one before it, in row-major order.

    Args:
        x: The tensor to test.
    """
    with name_scope(name, "is_non_decreasing", [x]):
        return reduce_all(less_equal(*_neighbours(x)))


@export("is_strictly_increasing", "debugging.is_strictly_increasing", "math.is_strictly_increasing")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether every element is greater than the one before it, in row-major order.

    Args:
        x: The tensor to test.
    """
    with name_scope(name, "is_strictly_increasing", [x]):
        return reduce_all(less(*_neighbours(x)))


def _neighbours(x: Any) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(x, name="x")
    if not is_numeric_tensor(x):
        raise TypeError(f"x is not numeric: {x}")
    flat = reshape(x, [-1])
    return strided_slice(flat, [0], [-1], [1]), strided_slice(flat, [1], [0], [1], end_mask=1)


# -- ranks ------------------------------------------------------------------------------------------------------------


@export("assert_rank", "debugging.assert_rank")
def assert_rank(
    x: TensorLike,
    rank: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless x has the rank; raises ValueError now if both are static.

    Args:
        x: The tensor to check.
        rank: The expected rank.
        data: Tensors that are printed with the error; by default the inputs.
        summarize: How many entries of each tensor are printed with the error.
    """
    with name_scope(name, "assert_rank", [x]):
        return _rank_checked(x, [rank], operator.eq, equal, "must have rank", data, summarize, message)


@export("assert_rank_at_least", "debugging.assert_rank_at_least")
def assert_rank_at_least(
    x: TensorLike,
    rank: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless x has at least the rank; raises ValueError now if both are static.

    Args:
        x: The tensor to check.
        rank: The expected rank.
        data: Tensors that are printed with the error; by default the inputs.
        summarize: How many entries of each tensor are printed with the error.
    """
    with name_scope(name, "assert_rank_at_least", [x]):
        return _rank_checked(x, [rank], operator.ge, greater_equal, "must have rank at least", data, summarize, message)


@export("assert_rank_in", "debugging.assert_rank_in")
def assert_rank_in(
    x: TensorLike,
    ranks: Iterable[Any],
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless x has one of the ranks; raises ValueError now if all are static.

    Args:
        x: The tensor to check.
        ranks: The allowed ranks.
        data: Tensors that are printed with the error; by default the inputs.
        summarize: How many entries of each tensor are printed with the error.
    """
    with name_scope(name, "assert_rank_in", [x]):
        return _rank_checked(x, list(ranks), operator.eq, equal, "must have rank in", data, summarize, message)


def _rank_checked(
    x: Any, ranks: list[Any], test: Compare, build: Compare, what: str, data: Any, summarize: Any, message: str | None
) -> Operation:
    x = convert_to_tensor(x, name="x")
    rank_tensors = [convert_to_tensor(r, name="rank") for r in ranks]
    for tensor in rank_tensors:
        if tensor.dtype is not dtypes.int32:
            raise TypeError(f"rank must be of type int32, not {tensor.dtype.name}")
        if tensor.dims:
            raise ValueError("Rank must be a scalar.")
    static_ranks = [constant_value(tensor) for tensor in rank_tensors]
    if x.dims is not None and all(value is not None for value in static_ranks):
        actual = len(x.dims)
        if not any(test(actual, int(value)) for value in static_ranks):
            expected = ", ".join(str(value) for value in static_ranks)
            start = f"{message}.  " if message else ""
            raise ValueError(f"{start}Tensor {_title(x)} {what} {expected}.  Received rank {actual}, shape {x.shape}")
        return no_op(name="static_checks_determined_all_ok")
    actual_rank = rank(x)
    condition = build(actual_rank, rank_tensors[0])
    for tensor in rank_tensors[1:]:
        condition = logical_or(condition, build(actual_rank, tensor))
    if data is None:
        data = [message or "", f"Tensor {x.name} {what}", *rank_tensors, "Received shape: ", shape(x)]
    return Assert(condition, data, summarize)


# -- types ------------------------------------------------------------------------------------------------------------


@export("assert_type", "debugging.assert_type")
def assert_type(
    tensor: TensorLike | SparseTensor, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Raises TypeError unless the tensor has the type; returns an operation that does nothing.

    Args:
        tensor: The tensor to check.
        tf_type: The expected type.
    """
    with name_scope(name, "assert_type", [tensor]):
        tensor, expected = convert_to_tensor(tensor, name="tensor"), dtypes.as_dtype(tf_type)
        if tensor.dtype != expected:
            start = f"{message}  " if message else ""
            raise TypeError(f"{start}{_title(tensor)} must be of type {expected.name}, but is {tensor.dtype.name}")
        return no_op(name="statically_determined_correct_type")


@export("assert_integer", "debugging.assert_integer")
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Raises TypeError unless x has an integer type; returns an operation that does nothing.

    Args:
        x: The tensor to check.
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            start = f"{message}  " if message else ""
            raise TypeError(f"{start}x = {_title(x)} is {x.dtype.name}, expected an integer type")
        return no_op(name="statically_determined_was_integer")


@export("assert_scalar", "debugging.assert_scalar", "contrib.framework.assert_scalar")
def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """Returns the tensor; raises ValueError if it is statically known not to be a scalar.

    Args:
        tensor: The tensor to check.
    """
    with name_scope(name, "assert_scalar", [tensor]):
        result = convert_to_tensor(tensor, name="tensor")
        if result.dims:
            start = f"{message}  " if message else ""
            raise ValueError(f"{start}Expected scalar shape for {_title(result)}, saw shape: {result.shape}.")
        return result


@export("assert_same_float_dtype", "debugging.assert_same_float_dtype", "contrib.framework.assert_same_float_dtype")
def assert_same_float_dtype(tensors: Any = None, dtype: DTypeLike | None = None) -> DType:
    """Returns the common floating type of the tensors and dtype, float32 if there are none.

    Args:
        tensors: The tensors to check.
        dtype: The expected type, if there is one.
    """
    common = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    first: Any = None
    for tensor in tensors or ():
        require_members("tensors", tensor, "tensors", "dtype")
        kind = dtypes.as_dtype(tensor.dtype).base_dtype
        if common is None:
            common, first = kind, tensor
        elif kind is not common:
            against = f" as {_title(first)}" if first is not None else ""
            raise ValueError(f"Tensor {_title(tensor)} has type {kind.name}, expected {common.name}{against}.")
    if common is None:
        return dtypes.float32
    if not common.is_floating:
        raise ValueError(f"Expected floating point type, got {common.name}.")
    return common


@export("is_numeric_tensor", "debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: object) -> bool:
    """Returns whether the argument is a tensor of a numeric type.

    Args:
        tensor: The value to test.
    """
    if not isinstance(tensor, Tensor):
        return False
    dtype = tensor.dtype.base_dtype
    return dtype.is_integer or dtype.is_floating or dtype.is_complex or dtype.is_quantized


@export("assert_proper_iterable", "debugging.assert_proper_iterable")
def assert_proper_iterable(values: object) -> None:
    """Raises TypeError unless the values are a list or another iterable other than a tensor, array or string.

    Args:
        values: The object to check.
    """
    if isinstance(values, Tensor | np.ndarray | str | bytes) or not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable, and not a tensor or string: found {type(values)}")

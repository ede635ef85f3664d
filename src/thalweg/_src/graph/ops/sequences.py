"""Ranges and evenly spaced sequences."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _range_value(c: Inference) -> Any:
    start, limit, delta = (c.value(i) for i in builtins.range(3))
    if start is None or limit is None or delta is None or not delta:
        return None
    return np.arange(start.item(), limit.item(), delta.item(), dtype=np.result_type(start, limit, delta))


def _range(c: Inference) -> Sequence[Shape]:
    for index in builtins.range(3):
        name = c.definition.inputs[index].name
        require(c.shapes[index] in ((), None), f"{name} must be a scalar, got {show(c.shapes[index])}")
    start, limit, delta = (c.value(i) for i in builtins.range(3))
    if delta is not None:
        require(bool(delta != 0), "delta is 0", expected="a step other than 0")
    if start is None or limit is None or delta is None:
        return [(None,)]
    first, last, step = start.item(), limit.item(), delta.item()
    require(
        (last - first) * step >= 0,
        f"the step {step} does not reach {last} from {first}",
        expected="start <= limit with a positive delta, start >= limit with a negative one",
    )
    if all(isinstance(n, int) for n in (first, last, step)):
        return [(-((first - last) // step),)]
    steps = (last - first) / step
    require(math.isfinite(steps), f"a range from {first} to {last} with step {step} is infinite")
    return [(math.ceil(steps),)]


range_op = nondifferentiable_op(
    "Range",
    "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
    "Creates a sequence of numbers from start to limit, exclusive, in steps of delta.",
    Tidx=attr.types(dtypes.REAL - {dtypes.uint8}, dtypes.int32),
    host="start, limit, delta",
    infer=_range,
    evaluate=_range_value,
    fails="never",
)


_RANGE_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


@export("range")
def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """Creates a sequence of numbers from start to limit, exclusive, in steps of delta.

    Args:
        start: The first value; with one argument, the limit.
        limit: Upper bound, excluded.
        delta: The step.
        dtype: The element type; by default the common type of the arguments.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        names = ("start", "limit", "delta")
        if dtype is not None:
            target = dtypes.as_dtype(dtype)
            bounds = [_as_type(value, target, n) for value, n in zip((start, limit, delta), names)]
            return range_op(*bounds, name=scope)
        kinds = [_type_of(value) for value in (start, limit, delta)]
        if all(kind in _RANGE_TYPES for kind in kinds):
            target = max(kinds, key=_RANGE_TYPES.index)
            return range_op(*[_as_type(v, target, n) for v, n in zip((start, limit, delta), names)], name=scope)
        return range_op(start, limit, delta, name=scope)


def _type_of(value: object) -> dtypes.DType:
    if isinstance(value, float):
        return dtypes.float32
    if isinstance(value, int | shapes.Dimension):
        return dtypes.int32 if -(2**31) <= int(value) < 2**31 else dtypes.int64
    return dtypes.as_dtype(value.dtype) if hasattr(value, "dtype") else convert_to_tensor(value).dtype


def _as_type(value: TensorLike, dtype: dtypes.DType, name: str) -> Tensor:
    if not isinstance(value, Tensor) or value.dtype.base_dtype is dtype:
        return convert_to_tensor(value, dtype, name=name)
    result: Tensor = cast(value, dtype)
    return result


def _linspace(c: Inference) -> Sequence[Shape]:
    for index in builtins.range(3):
        name = c.definition.inputs[index].name
        require(c.shapes[index] in ((), None), f"{name} must be a scalar, got {show(c.shapes[index])}")
    count = c.value(2)
    require(count is None or int(count) > 0, f"num is {count}", expected="num > 0")
    return [(None if count is None else int(count),)]


lin_space = export("lin_space", "linspace", start="The first value.", stop="The last value.", num="Number of values.")(
    nondifferentiable_op(
        "LinSpace",
        "start: T, stop: T, num: Tidx -> output: T",
        "Creates num evenly spaced values from start to stop, inclusive.",
        T=dtypes.FLOATING,
        Tidx=attr.types(dtypes.INDEX, dtypes.int32),
        host="start, stop, num",
        infer=_linspace,
    )
)
linspace = lin_space

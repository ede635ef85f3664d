"""Slots: variables that accompany another one, such as its momentum, with its name as prefix and on its device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.reshape import ones, shape, zeros
from thalweg._src.graph.scopes import colocate_with
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from thalweg._src.training.variables.variables import Variable


def create_slot(primary: Variable | Tensor, val: TensorLike, name: str, colocate_with_primary: bool = True) -> Any:
    """Returns a slot `<primary>/<name>` with the given initial value."""
    return _make(primary, val, name, None, None, colocate_with_primary)


def create_slot_with_initializer(
    primary: Variable | Tensor,
    initializer: TensorLike | Callable[..., Any],
    shape: TensorShape,
    dtype: DTypeLike,
    name: str,
    colocate_with_primary: bool = True,
) -> Any:
    """Returns a slot `<primary>/<name>` with the initial value of an initializer."""
    return _make(primary, initializer, name, shape, dtype, colocate_with_primary)


def create_zeros_slot(
    primary: Variable | Tensor, name: str, dtype: DTypeLike | None = None, colocate_with_primary: bool = True
) -> Any:
    """Returns a slot of zeros with the shape of the primary variable or tensor."""
    dtype = dtypes.as_dtype(primary.dtype if dtype is None else dtype).base_dtype
    if primary.get_shape().is_fully_defined():
        return create_slot_with_initializer(
            primary, filled_with(0), primary.get_shape(), dtype, name, colocate_with_primary
        )
    return create_slot(primary, zeros(shape(_initial(primary)), dtype), name, colocate_with_primary)


def filled_with(value: float) -> Callable[..., Any]:
    """Returns an initializer with one value everywhere."""

    def initializer(
        shape: ShapeLike | TensorLike, dtype: DTypeLike = dtypes.float32, partition_info: object = None
    ) -> Any:
        if value == 0:
            return zeros(shape, dtype)
        filled = ones(shape, dtype)
        return filled if value == 1 else multiply(filled, value)

    return initializer


def like(primary: Variable | Tensor, value: float) -> Any:
    """Returns the initial value of a slot for a variable whose shape is only known in a step."""
    dtype = primary.dtype.base_dtype
    return multiply(ones(shape(_initial(primary)), dtype), cast(value, dtype))


def owner_name(primary: Variable | Tensor) -> str:
    """Returns the name of a variable, or of the operation of a tensor, as the prefix of a slot's name."""
    return primary.op.name if isinstance(primary, Tensor) else primary._shared_name


def _initial(primary: Variable | Tensor) -> Any:
    return primary.initialized_value() if isinstance(primary, Variable) else primary


def beside(primary: Variable | Tensor) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager that creates variables on the device of another one; for a distributed one, on each."""
    strategy = getattr(primary, "distribute_strategy", None)
    return colocate_with(primary) if strategy is None else strategy.extended.colocate_vars_with(primary)


def _make(
    primary: Variable | Tensor,
    initializer: Any,
    name: str,
    shape: TensorShape | None,
    dtype: DTypeLike | None,
    colocate_with_primary: bool,
) -> Any:
    static_shape = shape if shape is not None else initializer.get_shape()
    place = beside(primary) if colocate_with_primary else contextlib.nullcontext()
    owner = owner_name(getattr(primary, "primary", primary))  # of a distributed variable, that of its first copy
    with variable_scope(None, f"{owner}/{name}"), place:
        scope = get_variable_scope()
        partitioner = scope.partitioner
        scope.set_partitioner(None)
        try:
            slot = get_variable(
                "",
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                trainable=False,
                validate_shape=static_shape.is_fully_defined(),
                use_resource=primary.uses_resource if isinstance(primary, Variable) else None,
            )
        finally:
            scope.set_partitioner(partitioner)
    slice_info = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if slice_info is not None:  # slots of the partitions of a variable are partitions of a partitioned slot
        slot_name = slot._shared_name[len(owner) + 1 :]
        slot._set_save_slice_info(
            Variable.SaveSliceInfo(
                f"{slice_info.full_name}/{slot_name}",
                slice_info.full_shape,
                slice_info.var_offset,
                slice_info.var_shape,
            )
        )
    return slot

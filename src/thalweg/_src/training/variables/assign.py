"""Assignment functions of variables, and tests whether they are initialized."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import require_members, wrong_kind
from thalweg._src.base.export import export
from thalweg._src.base.signatures import variant
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import sequences as sequences_ops, state
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import logical_not
from thalweg._src.graph.ops.concat import pack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.gather import boolean_mask
from thalweg._src.graph.ops.pad_tile import meshgrid
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.scopes import control_dependencies, device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.variables import Variable, global_variables, local_variables


@contextlib.contextmanager
def _written(ref: Variable | Tensor) -> Any:
    """Returns the variable to write: the result of an assignment denotes its variable after that write."""
    if isinstance(ref, Tensor):
        variable = getattr(ref, "_variable", None)
        if variable is None:
            raise TypeError(f"only variables can be assigned to, but {ref.name!r} is a tensor")
        with control_dependencies([ref]):
            yield variable
    else:
        yield ref


def _write(definition: OpDef, ref: Variable | Tensor, *args: Any, name: str | None = None, **attrs: Any) -> Any:
    """Adds a write to a variable or a reference; returns the reference, or the value read after the write."""
    if isinstance(ref, Tensor) and ref.dtype._is_ref_dtype:
        return definition(ref, *args, name=name, **attrs)
    with _written(ref) as variable:
        return variable._write(definition, *args, name=name, **attrs)


def _value_for(ref: Variable | Tensor, value: TensorLike) -> TensorLike:
    """Returns the value in the type of a resource variable; an operation on a reference converts it itself."""
    try:
        return value if ref.dtype._is_ref_dtype else convert_to_tensor(value, ref.dtype)
    except AttributeError:
        if not isinstance(getattr(ref, "dtype", None), DType):
            raise wrong_kind("ref", "a variable or a reference", ref) from None
        raise


@export("assign")
def assign(
    ref: Variable | Tensor,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Assigns a new value to a variable or to a slice of one, as in `assign(v[i], x)`; returns the new value.

    Args:
        value: The new value, or the amount to add or subtract.
        validate_shape: Accepted for compatibility; the shape of a variable does not change.
    """
    if isinstance(ref, Tensor) and hasattr(ref, "assign"):
        return ref.assign(value, name=name)
    attrs = {} if validate_shape is None else {"validate_shape": validate_shape}
    return _write(state.assign_variable_op, ref, _value_for(ref, value), name=name, use_locking=use_locking, **attrs)


def _update(
    definition: OpDef,
    ref: Variable | Tensor,
    value: TensorLike,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Updates a variable by an op.

    Args:
        value: The new value, or the amount to add or subtract.
    """
    return _write(definition, ref, _value_for(ref, value), name=name, use_locking=use_locking)


@export("assign_add")
@variant(_update, state.assign_add_variable_op)
def assign_add() -> None:
    """Adds to a variable; returns the new value."""


@export("assign_sub")
@variant(_update, state.assign_sub_variable_op)
def assign_sub() -> None:
    """Subtracts from a variable; returns the new value."""


@export("scatter_update")
def scatter_update(
    ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces rows of a variable.

    Args:
        indices: Rows of the variable to update.
    """
    return _scatter(state.resource_scatter_update, ref, indices, updates, use_locking, name)


def _scatter(
    definition: OpDef,
    ref: Variable | Tensor,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Updates rows of a variable by an op.

    Args:
        indices: Rows of the variable to update.
    """
    return _write(definition, ref, indices, _value_for(ref, updates), name=name, use_locking=use_locking)


@export("scatter_add")
@variant(_scatter, state.resource_scatter_add)
def scatter_add() -> None:
    """Adds to rows of a variable; equal indices add up."""


@export("scatter_sub")
@variant(_scatter, state.resource_scatter_sub)
def scatter_sub() -> None:
    """Subtracts from rows of a variable; equal indices add up."""


@export("scatter_mul")
@variant(_scatter, state.resource_scatter_mul)
def scatter_mul() -> None:
    """Multiplies rows of a variable by the updates; factors of equal indices are all applied."""


@export("scatter_div")
@variant(_scatter, state.resource_scatter_div)
def scatter_div() -> None:
    """Divides rows of a variable by the updates; divisors of equal indices are all applied."""


@export("scatter_min")
@variant(_scatter, state.resource_scatter_min)
def scatter_min() -> None:
    """Replaces rows of a variable by the element-wise minimum of the row and the updates."""


@export("scatter_max")
@variant(_scatter, state.resource_scatter_max)
def scatter_max() -> None:
    """Replaces rows of a variable by the element-wise maximum of the row and the updates."""


@export("scatter_nd_update")
def scatter_nd_update(
    ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces elements or slices of a variable, each addressed by a vector of indices.

    Args:
        indices: Positions to update; the last dimension holds one index vector.
        updates: The values to write, one element or slice for each index vector.
    """
    return _scatter(state.resource_scatter_nd_update, ref, indices, updates, use_locking, name)


@export("scatter_nd_add")
def scatter_nd_add(
    ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Adds to elements or slices of a variable, each addressed by a vector of indices.

    Args:
        indices: Positions to update; the last dimension holds one index vector.
        updates: The values to write, one element or slice for each index vector.
    """
    return _scatter(state.resource_scatter_nd_add, ref, indices, updates, use_locking, name)


@export("scatter_nd_sub")
def scatter_nd_sub(
    ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtracts from elements or slices of a variable, each addressed by a vector of indices.

    Args:
        indices: Positions to update; the last dimension holds one index vector.
        updates: The values to write, one element or slice for each index vector.
    """
    return _scatter(state.resource_scatter_nd_sub, ref, indices, updates, use_locking, name)


@export("batch_scatter_update")
def batch_scatter_update(
    ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces slices of a variable by indices that have its leading dimensions, each within its own batch.

    Args:
        indices: Rows of the variable to update.
    """
    with name_scope(name, "batch_scatter_update", [indices, updates]):
        indices = convert_to_tensor(indices, name="indices")
        if indices.dims is None or not indices.dims:
            raise ValueError(f"expected indices with one dimension or more, received {indices}")
        sizes: Any = shape(indices)
        grids = meshgrid(*[sequences_ops.range(sizes[i]) for i in range(len(indices.dims))], indexing="ij")
        places = [reshape(grid, sizes) for grid in grids[:-1]]
        rows = pack([*[cast(place, indices.dtype) for place in places], indices], axis=-1)
        return scatter_nd_update(ref, rows, updates, use_locking, name=name)


@export("count_up_to")
def count_up_to(ref: Variable | Tensor, limit: int, name: str | None = None) -> Tensor:
    """Increments a variable, and fails with OutOfRangeError once it has reached the limit.

    Args:
        ref: The integer variable.
        limit: Value at which it fails.
    """
    if isinstance(ref, Tensor) and ref.dtype._is_ref_dtype:
        return state.resource_count_up_to(ref, limit=limit, name=name)
    with _written(ref) as variable:
        require_members("ref", variable, "a variable", "count_up_to")
        return variable.count_up_to(limit, name=name)  # type: ignore[no-any-return]


@export("is_variable_initialized")
def is_variable_initialized(variable: Variable | Tensor) -> Tensor:
    """Returns a boolean tensor: whether a variable has a value.

    Args:
        variable: The variable to test.
    """
    if isinstance(variable, Tensor):
        return state.var_is_initialized_op(variable)
    require_members("variable", variable, "a variable", "is_initialized")
    return variable.is_initialized()


@export("assert_variables_initialized")
def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Operation | None:
    """Returns an operation that fails with FailedPreconditionError if a variable has no value.

    Args:
        var_list: The variables to check; by default all global and local ones.
    """
    variables = global_variables() + local_variables() if var_list is None else var_list
    if not variables:
        return None
    for variable in variables:
        require_members("var_list", variable, "variables", "value")
    return group(*[variable.value().op for variable in variables])


@export("report_uninitialized_variables")
def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Returns the names of the variables that have no value.

    Args:
        var_list: The variables to check; by default all global and local ones.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    with name_scope(name):
        if not variables:
            return constant([], dtypes.string)
        for variable in variables:
            require_members("var_list", variable, "variables", "_shared_name", "is_initialized")
        names = constant([variable._shared_name for variable in variables], dtypes.string)
        missing = [logical_not(is_variable_initialized(variable)) for variable in variables]
        with device("/cpu:0"):
            return boolean_mask(names, pack(missing))

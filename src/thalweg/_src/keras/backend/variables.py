"""Variables, placeholders and constants of the Keras backend, and updates of variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.ops import constants, diagonal, identity as identity_ops, random, reshape
from thalweg._src.graph.ops.sparse import sparse_placeholder
from thalweg._src.graph.scopes import init_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.training.nn.ragged.factories import placeholder as ragged_placeholder
from thalweg._src.training.optimizers.moving_averages import assign_moving_average
from thalweg._src.training.variables import assign
from thalweg._src.training.variables.resource_variable import ResourceVariable
from thalweg._src.training.variables.variables import Variable, global_variables

_SEEDS = 10**9  # drawn from NumPy's generator, so that numpy.random.seed makes a program repeatable


@export("keras.backend.variable")
def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """Returns a new variable; a sparse matrix of SciPy becomes a sparse tensor.

    Args:
        value: The initial value: an array, a number, or a sparse matrix of SciPy.
    """
    dtype = dtype or floatx()
    if hasattr(value, "tocoo"):
        matrix = value.tocoo()
        return SparseTensor(np.stack([matrix.row, matrix.col], 1), matrix.data, matrix.shape)
    resource = ResourceVariable(value, dtype=dtype, name=name, constraint=constraint)
    state.track_variable(resource)
    return resource


@export("keras.backend.placeholder")
def placeholder(
    shape: ShapeLike = None,
    ndim: int | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    """Returns a placeholder of a shape, or of a number of axes whose sizes are unknown.

    Args:
        ndim: Number of axes of unknown sizes, if no shape is given.
        sparse: Whether the placeholder is a sparse tensor.
        ragged: Whether the placeholder is a ragged tensor.
    """
    if sparse and ragged:
        raise ValueError("expected at most one of sparse and ragged, received both")
    dtype = dtype or floatx()
    sizes: Any = (None,) * ndim if shape is None and ndim else shape
    with state.get_graph().as_default():
        if sparse:
            return sparse_placeholder(dtype, sizes, name)
        if not ragged:
            return constants.placeholder(dtype, sizes, name)
        fixed_axes = [axis for axis, size in enumerate(sizes) if axis and size is not None]
        ragged_axes = (fixed_axes[0] if fixed_axes else len(sizes)) - 1  # those of unknown size after the first axis
        return ragged_placeholder(dtype, ragged_axes, sizes[ragged_axes + 1 :], name)


def is_placeholder(x: object) -> bool:
    """Returns whether a tensor is a placeholder."""
    return isinstance(x, Tensor) and not x.is_eager and x.op.type == "Placeholder"


@export("keras.backend.constant")
def constant(value: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str = "Const") -> Tensor:
    """Returns a constant, by default of the type `floatx()`."""
    return constants.constant(value, dtype or floatx(), shape, name)


@export("keras.backend.zeros")
def zeros(shape: ShapeLike, dtype: Any = None, name: str | None = None) -> Any:
    """Returns a new variable with zeros; a tensor if the shape is not fully known."""
    return _filled(reshape.zeros, shape, dtype, name)


@export("keras.backend.ones")
def ones(shape: ShapeLike, dtype: Any = None, name: str | None = None) -> Any:
    """Returns a new variable with ones; a tensor if the shape is not fully known."""
    return _filled(reshape.ones, shape, dtype, name)


def _filled(fill: Any, shape: Any, dtype: DTypeLike, name: str | None) -> Any:
    with init_scope():
        value = fill(shape, dtype or floatx(), name)
        # As in Keras, an empty variable is not made either.
        return variable(value, dtype, name) if value.dims is not None and all(value.dims) else value


@export("keras.backend.eye")
def eye(size: int, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Returns a new variable with an identity matrix."""
    return variable(diagonal.eye(size, dtype=dtype or floatx()), dtype, name)


@export("keras.backend.zeros_like")
def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns zeros of the shape of a tensor."""
    return reshape.zeros_like(x, dtype, name)


@export("keras.backend.ones_like")
def ones_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns ones of the shape of a tensor."""
    return reshape.ones_like(x, dtype, name)


def identity(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with the same value."""
    return identity_ops.identity(x, name=name)


@export("keras.backend.random_uniform_variable")
def random_uniform_variable(
    shape: ShapeLike,
    low: float,
    high: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Returns a new variable with uniform numbers between two limits."""
    seed = np.random.randint(_SEEDS) if seed is None else seed
    return variable(random.random_uniform(shape, low, high, dtype or floatx(), seed), dtype, name)


@export("keras.backend.random_normal_variable")
def random_normal_variable(
    shape: ShapeLike,
    mean: float,
    scale: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Returns a new variable with normal numbers."""
    seed = np.random.randint(_SEEDS) if seed is None else seed
    return variable(random.random_normal(shape, mean, scale, dtype or floatx(), seed), dtype, name)


# -- updates ----------------------------------------------------------------------------------------------------------


@export("keras.backend.update")
def update(x: Variable, new_x: TensorLike) -> Any:
    """Assigns a new value to a variable."""
    return assign.assign(x, new_x)


@export("keras.backend.update_add")
def update_add(x: Variable, increment: TensorLike) -> Any:
    """Adds to a variable."""
    return assign.assign_add(x, increment)


@export("keras.backend.update_sub")
def update_sub(x: Variable, decrement: TensorLike) -> Any:
    """Subtracts from a variable."""
    return assign.assign_sub(x, decrement)


@export("keras.backend.moving_average_update")
def moving_average_update(x: Variable, value: TensorLike, momentum: TensorLike) -> Any:
    """Moves a variable towards a value; in graphs, without the bias of a variable that has started at zero.

    Args:
        value: The value that the average moves towards.
        momentum: Fraction of the previous average that is kept.
    """
    if executing_eagerly_outside_functions():  # each call would count its updates from one
        return assign_moving_average(x, value, momentum, zero_debias=False)
    existing = {id(candidate) for candidate in global_variables()}
    result = assign_moving_average(x, value, momentum, zero_debias=True)
    for candidate in global_variables():
        if id(candidate) not in existing:
            state.track_variable(candidate)
    return result

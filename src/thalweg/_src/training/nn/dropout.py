"""Dropout, and the fraction of zeros: compositions of random and comparison ops."""

from __future__ import annotations

import numbers
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, is_fully_defined
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.ops import (
    cast as cast_ops,
    comparison,
    reduction,
    reshape as reshape_ops,
)
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        return list(x.dims) if x.dims is not None and is_fully_defined(x.dims) else reshape_ops.shape(x)
    if isinstance(noise_shape, Tensor):
        return noise_shape
    dims = list(noise_shape)
    if x.dims is not None and len(dims) == len(x.dims):
        dims = [size if requested is None else requested for requested, size in zip(dims, x.dims)]
    if None not in dims:
        return dims
    return [reshape_ops.shape(x)[i] if size is None else size for i, size in enumerate(dims)]


@export("nn.dropout")
@dispatches
def dropout(
    x: TensorLike,
    keep_prob: Any = None,
    noise_shape: ShapeLike | TensorLike = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Sets random elements to zero and scales the others so that the expectation is preserved.

    Args:
        keep_prob: Probability that an element is kept; deprecated, use `rate`.
        rate: Probability that an element is set to zero.
    """
    if keep_prob is not None and rate is not None:
        raise ValueError("Cannot specify both 'rate' and 'keep_prob'.")
    if keep_prob is not None:
        try:
            rate = 1.0 - keep_prob
        except TypeError:
            raise ValueError(f"keep_prob is {keep_prob!r}, expected a floating number or tensor") from None
    if rate is None:
        raise ValueError("dropout received no rate")
    with name_scope(name, "dropout", [x]):
        x = tensor = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(f"x is {x.dtype.name}, expected a floating type, as dropout scales it")
        if isinstance(rate, numbers.Real):
            rate = float(rate)
            if not 0 <= rate < 1:
                raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate}")
            if rate == 0:
                return tensor
        else:
            rate = convert_to_tensor(rate, x.dtype, name="rate")
        uniform = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype)
        scaled: Tensor = x * (1 / (1 - rate)) * cast_ops.cast(uniform >= rate, x.dtype)
        scaled.set_shape(x.dims)
        return scaled


@export("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Computes the fraction of elements that are zero.

    Args:
        value: The tensor.
    """
    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        zeros = cast_ops.cast(comparison.equal(value, cast_ops.cast(0, value.dtype)), dtypes.float32)
        return identity(reduction.reduce_mean(zeros), name="fraction")

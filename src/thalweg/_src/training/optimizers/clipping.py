"""Gradient clipping, by the norm of each gradient or by their global norm."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import maximum, minimum, multiply, rsqrt, sqrt
from thalweg._src.graph.ops.nn import l2_loss
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import ones_like, size
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import colocate_with, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("clip_by_norm")
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Any:
    """Scales a tensor to an L2 norm of at most `clip_norm`; with `axes`, the norm is taken over these only.

    Args:
        t: The tensor to clip.
        axes: The axes over which each norm is computed; None takes the whole tensor.
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = _values(t, "t")
        if isinstance(clip_norm, numbers.Real):
            clip_norm = max(clip_norm, 0)
        else:
            clip_norm = convert_to_tensor(clip_norm)
            clip_norm = cast(maximum(clip_norm, constant(0, clip_norm.dtype)), values.dtype)
        squares = reduce_sum(values * values, axes, keepdims=True)
        # The square root has no derivative at zero, so it is taken of one there.
        positive = greater(squares, constant(0, squares.dtype))
        norm = where(positive, sqrt(where(positive, squares, ones_like(squares))), squares)
        scaled = values * clip_norm
        values.shape.assert_is_compatible_with(scaled.shape)
        return _like(t, identity(scaled / maximum(norm, clip_norm), name=scope))


@export("global_norm", "linalg.global_norm")
def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """Returns the L2 norm of all tensors together, ignoring None."""
    tensors = _as_list(t_list)
    with name_scope(name, "global_norm", tensors):
        halves = []
        for i, t in enumerate(tensors):
            if t is not None:
                values = _values(t, f"t_{i}")
                with colocate_with(values):
                    halves.append(l2_loss(values))
        half = reduce_sum(stack(halves))
        return sqrt(multiply(half, constant(2.0, half.dtype)), name="global_norm")


@export("clip_by_global_norm")
def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Any], Tensor]:
    """Scales all tensors by one factor so that their global norm is at most `clip_norm`; returns them and the norm.

    If the norm is not finite, all results are NaN, so that the problem is visible.
    """
    tensors = _as_list(t_list)
    norm: Any = global_norm(tensors, name) if use_norm is None else convert_to_tensor(use_norm)
    with name_scope(name, "clip_by_global_norm", [*tensors, clip_norm]) as scope:
        one = constant(1.0, norm.dtype)
        scale = clip_norm * minimum(one / norm, one / clip_norm)
        scale = scale + (norm - norm)  # adds zero, or NaN if the norm is not finite
        clipped: list[Any] = []
        for i, t in enumerate(tensors):
            if t is None:
                clipped.append(None)
                continue
            values = _values(t, f"t_{i}")
            with colocate_with(values):
                clipped.append(_like(t, identity(values * cast(scale, values.dtype), name=f"{scope}_{i}")))
    return clipped, norm


@export("clip_by_average_norm")
def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Scales a tensor to an average L2 norm per element of at most `clip_norm`.

    Args:
        t: The tensor to clip.
    """
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        values: Any = convert_to_tensor(t, name="t")
        count = cast(size(values), dtypes.float32)
        inverse = rsqrt(reduce_sum(values * values))
        scale = minimum(inverse * count, constant(1.0) / clip_norm)
        return identity(values * clip_norm * scale, name=scope)


def _values(t: TensorLike | IndexedSlices, name: str) -> Any:
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=name)


def _like(t: TensorLike | IndexedSlices, values: Tensor) -> Any:
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


def _as_list(t_list: Sequence[Any]) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"t_list should be a sequence, got {type(t_list).__name__}")
    return list(t_list)

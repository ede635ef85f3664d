"""Initializers of tf.contrib.layers: variance scaling and Xavier."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import as_shape
from thalweg._src.graph.ops.random import random_uniform, truncated_normal

_MODES = ("FAN_IN", "FAN_OUT", "FAN_AVG")


@export(
    "contrib.layers.variance_scaling_initializer",
    "contrib.slim.variance_scaling_initializer",
    "contrib.slim.initializers.variance_scaling_initializer",
)
def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Callable[..., Any]:
    """Returns an initializer whose variance is `factor` divided by fan-in, fan-out or their mean."""
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in _MODES:
        raise TypeError(f"Unknown mode {mode} [{', '.join(_MODES)}]")

    def initializer(shape: Any, dtype: DTypeLike = dtype, partition_info: object = None) -> Any:
        kind = dtypes.as_dtype(dtype)
        if not kind.is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        sizes = [int(size or 0) for size in as_shape(shape) or ()]
        window = math.prod(sizes[:-2])
        fan_in = float(sizes[-2] if len(sizes) > 1 else sizes[-1]) * window if sizes else 1.0
        fan_out = float(sizes[-1]) * window if sizes else 1.0
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, kind, seed=seed)
        # The factor 1.3 compensates for the variance that truncation removes.
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), kind, seed=seed)

    return initializer


@export(
    "contrib.layers.xavier_initializer",
    "contrib.layers.xavier_initializer_conv2d",
    "contrib.slim.xavier_initializer",
    "contrib.slim.xavier_initializer_conv2d",
    "contrib.slim.initializers.xavier_initializer",
    "contrib.slim.initializers.xavier_initializer_conv2d",
)
def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = dtypes.float32
) -> Callable[..., Any]:
    """Returns the initializer of Glorot and Bengio."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer

"""Layers that disturb their inputs in training, and return them unchanged otherwise."""

from __future__ import annotations

import math
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.random import random_normal, random_uniform
from thalweg._src.keras.layers.elementwise import Elementwise
from thalweg._src.training.nn.smart_cond import smart_cond

# The value of SELU for large negative inputs: -alpha * scale.
_SATURATED = -1.6732632423543772 * 1.0507009873554805


class _Noise(Elementwise):
    """The base class of layers that disturb their inputs."""

    def _disturbed(self, x: Tensor) -> Any:
        """Returns the inputs in training."""
        raise NotImplementedError("a subclass says what training does to the inputs")

    def call(self, inputs: TensorLike, training: TensorLike | None = None) -> Tensor:
        """Disturbs the inputs if `training`, which may be a tensor."""
        x = convert_to_tensor(inputs)
        return smart_cond(  # type: ignore[no-any-return]
            False if training is None else training, lambda: self._disturbed(x), lambda: identity(x)
        )


@export("keras.layers.GaussianNoise")
class GaussianNoise(_Noise):
    """Adds normal numbers of mean 0 in training."""

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def _disturbed(self, x: Tensor) -> Any:
        return x + random_normal(shape_of(x), 0.0, self.stddev, x.dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "stddev": self.stddev}


@export("keras.layers.GaussianDropout")
class GaussianDropout(_Noise):
    """Multiplies with normal numbers of mean 1 in training, whose variance is that of dropout."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def _disturbed(self, x: Tensor) -> Any:
        if not 0 < self.rate < 1:
            return identity(x)
        return x * random_normal(shape_of(x), 1.0, math.sqrt(self.rate / (1 - self.rate)), x.dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "rate": self.rate}


@export("keras.layers.AlphaDropout")
class AlphaDropout(_Noise):
    """Sets a fraction of the inputs to the limit of SELU in training, and keeps mean 0 and variance 1."""

    def __init__(self, rate: float, noise_shape: ShapeLike = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def _disturbed(self, x: Tensor) -> Any:
        if not 0 < self.rate < 1:
            return identity(x)
        shape = shape_of(x) if self.noise_shape is None else self.noise_shape
        is_kept = cast(random_uniform(shape, dtype=x.dtype, seed=self.seed) >= self.rate, x.dtype)
        factor = 1 / math.sqrt((1 - self.rate) * (1 + self.rate * _SATURATED**2))
        return (x * is_kept + _SATURATED * (1 - is_kept)) * factor - factor * _SATURATED * self.rate

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        names = ("rate", "noise_shape", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

"""Dropout and Flatten: layers without variables."""

from __future__ import annotations

import math
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape, transpose
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn import dropout as dropout_ops
from thalweg._src.training.nn.layers.base import Layer
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.windows import data_format_of
from thalweg._src.training.nn.smart_cond import smart_cond


@export("layers.Dropout")
class Dropout(Layer):
    """Dropout: in training, sets a random part of the inputs to zero and scales the rest up."""

    def __init__(
        self,
        rate: TensorLike = 0.5,
        noise_shape: ShapeLike | TensorLike = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: TensorLike, training: TensorLike = False, **kwargs: Any) -> Tensor:
        """Applies dropout if `training`, which may be a tensor."""
        return smart_cond(  # type: ignore[no-any-return]
            False if training is None else training,
            lambda: dropout_ops.dropout(inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate),
            lambda: identity(inputs),
        )

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        return input_shape


@export("layers.dropout")
def dropout(
    inputs: TensorLike,
    rate: float | Tensor = 0.5,
    noise_shape: ShapeLike | TensorLike = None,
    seed: int | None = None,
    training: TensorLike = False,
    name: str | None = None,
) -> Tensor:
    """Applies dropout: if `training`, sets a random part of the inputs to zero and scales the rest up."""
    return Dropout(rate, noise_shape, seed, name=name)(inputs, training=training)  # type: ignore[no-any-return]


@export("layers.Flatten")
class Flatten(Layer):
    """Flattens all dimensions but the first."""

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format_of(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Reshapes the inputs; with channels_first, the channels are moved last before."""
        inputs = convert_to_tensor(inputs)
        sizes = inputs.dims
        if sizes is not None and len(sizes) == 1:
            return expand_dims(inputs, -1)
        if self.data_format == "channels_first" and sizes is not None and len(sizes) > 2:
            inputs = transpose(inputs, [0, *range(2, len(sizes)), 1])
        if sizes is not None and None not in sizes[1:]:
            return reshape(inputs, [-1 if sizes[0] is None else sizes[0], math.prod(s or 0 for s in sizes[1:])])
        if sizes is not None and sizes[0] is not None:
            return reshape(inputs, [sizes[0], -1])
        return reshape(inputs, [shape(inputs)[0], -1])

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the batch size and the product of the other sizes."""
        sizes = as_shape(input_shape)
        if not sizes:
            raise ValueError(f"Flatten needs inputs of a known rank of one at least, got {input_shape}")
        rest = sizes[1:]
        return TensorShape((sizes[0], None if None in rest else math.prod(s or 0 for s in rest)))


@export("layers.flatten")
def flatten(inputs: TensorLike, name: str | None = None, data_format: str | None = "channels_last") -> Tensor:
    """Flattens all dimensions but the first."""
    return Flatten(data_format, name=name)(inputs)  # type: ignore[no-any-return]

"""Dense: a fully connected layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.base import Layer
from thalweg._src.training.nn.layers.functions import function_of
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.named import ZEROS, activation_of, initializer_of


@export("layers.Dense")
class Dense(Layer):
    """A fully connected layer: activation(inputs @ kernel + bias), along the last axis.

    Args:
        units: Number of output units.
        trainable: Whether the layer's variables are added to `TRAINABLE_VARIABLES`.
    """

    def __init__(
        self,
        units: int,
        activation: str | Callable[..., Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: str | Callable[..., Any] | None = None,
        bias_initializer: str | Callable[..., Any] = ZEROS,
        kernel_regularizer: Callable[..., Any] | None = None,
        bias_regularizer: Callable[..., Any] | None = None,
        activity_regularizer: Callable[..., Any] | None = None,
        kernel_constraint: Callable[..., Any] | None = None,
        bias_constraint: Callable[..., Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates kernel and bias."""
        kind = dtypes.as_dtype(self.dtype or dtypes.float32)
        if not (kind.is_floating or kind.is_complex):
            raise TypeError(f"Dense: expected a floating or complex dtype, received {kind.name}")
        sizes = as_shape(input_shape)
        size = sizes[-1] if sizes else None
        if size is None:
            problem = "The last dimension of the inputs to `Dense` should be defined. Found `None`"
            raise ValueError(f"{problem} in shape {input_shape}.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            shape=[size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Returns the outputs; inputs of a higher rank keep their leading axes."""
        inputs = convert_to_tensor(inputs)
        rank = None if inputs.dims is None else len(inputs.dims)
        outputs = matmul(inputs, self.kernel) if rank == 2 else self._along_last_axis(inputs)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def _along_last_axis(self, inputs: Tensor) -> Tensor:
        leading = inputs.dims[:-1] if inputs.dims is not None else None
        with name_scope("Tensordot") as scope:
            kernel = convert_to_tensor(self.kernel)
            flat = matmul(reshape(inputs, [-1, kernel.dims[0]]), kernel)  # type: ignore[index]
            if leading is not None and leading.count(None) <= 1 and math.prod(s or 1 for s in leading) > 0:
                return reshape(flat, [*(-1 if size is None else size for size in leading), self.units], name=scope)
            outputs = reshape(flat, concat([shape(inputs)[:-1], [self.units]], 0), name=scope)
        if leading is not None:
            outputs.set_shape((*leading, self.units))
        return outputs

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the input shape with `units` as the last size."""
        sizes = as_shape(input_shape)
        if not sizes or sizes[-1] is None:
            raise ValueError(f"input_shape: the last dimension must be known, received {input_shape}")
        return TensorShape((*sizes[:-1], self.units))


dense = export("layers.dense")(function_of(Dense))

"""Locally connected layers: convolutions that have a kernel of their own at each place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.contraction import einsum
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reshape import reshape, transpose
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import activations, regularizers
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.arguments import Window, channels_of, objects_of
from thalweg._src.keras.layers.core import weight_config
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.windows import around, padding_of, sizes_of, split_sizes, window_output


class _LocallyConnected(Layer):
    """The base class of locally connected layers.

    The kernel is [places, elements of a window, filters] whatever `implementation` says, which only decides whether
    the padding may be "same".
    """

    _rank: ClassVar[int]

    def __init__(
        self,
        filters: int,
        kernel_size: Window,
        strides: Window = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Identifier = None,
        use_bias: bool = True,
        kernel_initializer: Identifier = "glorot_uniform",
        bias_initializer: Identifier = "zeros",
        kernel_regularizer: Identifier = None,
        bias_regularizer: Identifier = None,
        activity_regularizer: Identifier = None,
        kernel_constraint: Identifier = None,
        bias_constraint: Identifier = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = sizes_of(kernel_size, self._rank, "kernel_size")
        self.strides = sizes_of(strides, self._rank, "strides")
        self.padding = padding_of(padding)
        if implementation not in (1, 2, 3):
            raise ValueError(f"Unrecognized implementation mode: {implementation}; expected 1, 2 or 3")
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f'Invalid border mode for {type(self).__name__} (only "valid" is supported if implementation is 1): '
                f"{padding}"
            )
        self.data_format = channels_of(data_format)
        objects = objects_of(
            {
                "activation": activation,
                "kernel_initializer": kernel_initializer,
                "bias_initializer": bias_initializer,
                "kernel_regularizer": kernel_regularizer,
                "bias_regularizer": bias_regularizer,
                "kernel_constraint": kernel_constraint,
                "bias_constraint": bias_constraint,
            }
        )
        self.activation = objects.pop("activation")
        for key, value in objects.items():
            setattr(self, key, value)
        self.use_bias = use_bias
        self.implementation = implementation
        self.bias: Any = None
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _places(self, spatial: Sequence[int]) -> list[Any]:
        """Returns the sizes of the spatial axes of the outputs."""
        windows = zip(spatial, self.kernel_size, self.strides)
        return [window_output(size, extent, self.padding, stride) for size, extent, stride in windows]

    def build(self, input_shape: ShapeLike) -> None:
        """Creates a kernel and a bias for each place."""
        spatial, channels = split_sizes(as_shape(input_shape) or (), self.data_format)
        if None in (*spatial, channels):
            raise ValueError(
                f"The spatial dimensions of the inputs to {type(self).__name__} should be fully-defined, but layer "
                f"received the inputs shape {input_shape}"
            )
        places = self._places(spatial)
        kinds = ("initializer", "regularizer", "constraint")
        self.kernel = self.add_weight(
            "kernel",
            shape=[math.prod(places), math.prod(self.kernel_size) * channels, self.filters],
            **{kind: getattr(self, f"kernel_{kind}") for kind in kinds},
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", shape=[*places, self.filters], **{kind: getattr(self, f"bias_{kind}") for kind in kinds}
            )
        axis = 1 if self.data_format == "channels_first" else -1
        self.input_spec = InputSpec(ndim=self._rank + 2, axes={axis: channels})
        self.built = True

    def call(self, inputs: TensorLike) -> Tensor:
        """Multiplies the elements of each window with its kernel."""
        x = convert_to_tensor(inputs)
        spatial, _ = split_sizes(as_shape(x.shape) or (), self.data_format)
        places, rank, is_first = self._places(spatial), self._rank, self.data_format == "channels_first"
        if self.padding == "same":
            missing = [
                max((count - 1) * stride + extent - size, 0)
                for count, stride, extent, size in zip(places, self.strides, self.kernel_size, spatial)
            ]
            x = pad(x, around([[n // 2, n - n // 2] for n in missing], self.data_format, [0, 0], [0, 0]))
        first = 2 if is_first else 1
        for axis, (count, stride, extent) in enumerate(zip(places, self.strides, self.kernel_size)):
            # The axis becomes two: the place, and the element of its window.
            x = gather(x, np.arange(count)[:, None] * stride + np.arange(extent), axis=first + 2 * axis)
        place_axes, window_axes = ([first + 2 * axis + i for axis in range(rank)] for i in (0, 1))
        elements = [1, *window_axes] if is_first else [*window_axes, 2 * rank + 1]
        windows = transpose(x, [0, *place_axes, *elements])
        columns = reshape(windows, [-1, *self.kernel.shape.as_list()[:2]])
        outputs: Any = reshape(einsum("bpe,pef->bpf", columns, self.kernel), [-1, *places, self.filters])
        if is_first:
            outputs = transpose(outputs, [0, rank + 1, *range(1, rank + 1)])
        if self.bias is not None:
            outputs += reshape(self.bias, around(places, self.data_format, 1, self.filters))
        return self.activation(outputs)  # type: ignore[no-any-return]

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the shape of the outputs."""
        sizes = as_shape(input_shape) or ()
        places = self._places(split_sizes(sizes, self.data_format)[0])
        return TensorShape(around(places, self.data_format, sizes[0], self.filters))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        names = ("filters", "kernel_size", "strides", "padding", "data_format", "use_bias", "implementation")
        return {
            **super().get_config(),
            **{name: getattr(self, name) for name in names},
            "activation": activations.serialize(self.activation),
            **weight_config(self, "kernel", "bias"),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
        }


@export("keras.layers.LocallyConnected1D")
class LocallyConnected1D(_LocallyConnected):
    """A locally connected layer over sequences."""

    _rank = 1


@export("keras.layers.LocallyConnected2D")
class LocallyConnected2D(_LocallyConnected):
    """A locally connected layer over images."""

    _rank = 2

"""Pooling layers of Keras: over windows, and over all of the spatial axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.reduction import reduce_max, reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.arguments import Window, channels_of
from thalweg._src.training.nn.layers import pooling
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.windows import split_sizes


class _Pooling:
    """A mixin of pooling layers, before the class that computes."""

    def __init__(
        self,
        pool_size: Window,
        strides: Window | None,
        padding: str,
        data_format: str | None,
        **kwargs: Any,
    ) -> None:
        window = {"pool_size": pool_size, "strides": strides, "padding": padding}
        super().__init__(**window, **{**kwargs, "data_format": channels_of(data_format)})

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        names = ("pool_size", "strides", "padding", "data_format")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}  # type: ignore[misc]


class _Pooling1D(_Pooling):
    def __init__(
        self,
        pool_size: Window = 2,
        strides: Window | None = None,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


class _Pooling2D(_Pooling):
    @parameters_of(_Pooling1D.__init__, pool_size=(2, 2), data_format=None)
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)


class _Pooling3D(_Pooling):
    @parameters_of(_Pooling1D.__init__, pool_size=(2, 2, 2), data_format=None)
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)


@export("keras.layers.MaxPooling1D", "keras.layers.MaxPool1D")
class MaxPooling1D(_Pooling1D, pooling.MaxPooling1D, Layer):
    """Max pooling over sequences."""


@export("keras.layers.MaxPooling2D", "keras.layers.MaxPool2D")
class MaxPooling2D(_Pooling2D, pooling.MaxPooling2D, Layer):
    """Max pooling over images."""


@export("keras.layers.MaxPooling3D", "keras.layers.MaxPool3D")
class MaxPooling3D(_Pooling3D, pooling.MaxPooling3D, Layer):
    """Max pooling over volumes."""


@export("keras.layers.AveragePooling1D", "keras.layers.AvgPool1D")
class AveragePooling1D(_Pooling1D, pooling.AveragePooling1D, Layer):
    """Average pooling over sequences."""


@export("keras.layers.AveragePooling2D", "keras.layers.AvgPool2D")
class AveragePooling2D(_Pooling2D, pooling.AveragePooling2D, Layer):
    """Average pooling over images."""


@export("keras.layers.AveragePooling3D", "keras.layers.AvgPool3D")
class AveragePooling3D(_Pooling3D, pooling.AveragePooling3D, Layer):
    """Average pooling over volumes."""


# -- over all of the spatial axes -------------------------------------------------------------------------------------


class _GlobalPooling(Layer):
    """The base class of layers that reduce the spatial axes."""

    _rank: ClassVar[int]
    _function: ClassVar[Callable[..., Any]]

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = channels_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns a number for each channel."""
        first = 2 if self.data_format == "channels_first" else 1
        return type(self)._function(inputs, axis=list(range(first, first + self._rank)))  # type: ignore[no-any-return]

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the batch and the channels."""
        sizes = as_shape(input_shape) or ()
        return TensorShape([sizes[0], split_sizes(sizes, self.data_format)[1]])

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "data_format": self.data_format}


@export("keras.layers.GlobalAveragePooling1D", "keras.layers.GlobalAvgPool1D")
class GlobalAveragePooling1D(_GlobalPooling):
    """The mean of the steps of sequences, without those that are masked."""

    supports_masking = True
    _rank = 1
    _function = reduce_mean

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)

    def call(self, inputs: TensorLike, mask: TensorLike | None = None) -> Tensor:
        """Returns the mean for each channel."""
        if mask is None:
            return super().call(inputs)
        x = convert_to_tensor(inputs)
        steps = 1 if self.data_format == "channels_last" else 2
        weights = expand_dims(cast(mask, x.dtype), 3 - steps)
        return reduce_sum(x * weights, axis=steps) / reduce_sum(weights, axis=steps)

    def compute_mask(self, inputs: TensorLike, mask: TensorLike | None = None) -> Any:
        """Returns None: there are no steps left."""
        return None


@export("keras.layers.GlobalAveragePooling2D", "keras.layers.GlobalAvgPool2D")
class GlobalAveragePooling2D(_GlobalPooling):
    """The mean of the pixels of images."""

    _rank = 2
    _function = reduce_mean


@export("keras.layers.GlobalAveragePooling3D", "keras.layers.GlobalAvgPool3D")
class GlobalAveragePooling3D(_GlobalPooling):
    """The mean of the elements of volumes."""

    _rank = 3
    _function = reduce_mean


@export("keras.layers.GlobalMaxPooling1D", "keras.layers.GlobalMaxPool1D")
class GlobalMaxPooling1D(_GlobalPooling):
    """The largest of the steps of sequences."""

    _rank = 1
    _function = reduce_max

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)


@export("keras.layers.GlobalMaxPooling2D", "keras.layers.GlobalMaxPool2D")
class GlobalMaxPooling2D(_GlobalPooling):
    """The largest of the pixels of images."""

    _rank = 2
    _function = reduce_max


@export("keras.layers.GlobalMaxPooling3D", "keras.layers.GlobalMaxPool3D")
class GlobalMaxPooling3D(_GlobalPooling):
    """The largest of the elements of volumes."""

    _rank = 3
    _function = reduce_max

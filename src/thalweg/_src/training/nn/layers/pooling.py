"""Pooling layers: the mean or the maximum of each window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.ops import pooling
from thalweg._src.graph.ops.reshape import expand_dims, squeeze
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.base import Layer
from thalweg._src.training.nn.layers.functions import function_of
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.windows import (
    around,
    data_format_of,
    layout,
    padding_of,
    sizes_of,
    split_sizes,
    window_output,
)


class _Pooling(Layer):
    """The base class of pooling layers."""

    _rank: ClassVar[int]
    _function: ClassVar[Any]

    def __init__(
        self,
        pool_size: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str = "valid",
        data_format: str | None = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        rank = self._rank
        self.pool_size = sizes_of(pool_size, rank, "pool_size")
        self.strides = self.pool_size if strides is None else sizes_of(strides, rank, "strides")
        self.padding = padding_of(padding)
        self.data_format = data_format_of(data_format)
        self.input_spec = InputSpec(ndim=rank + 2)

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the pooling."""
        form = self.data_format
        return self._function(  # type: ignore[no-any-return]
            inputs,
            around(self.pool_size, form),
            around(self.strides, form),
            self.padding.upper(),
            data_format=layout(form, self._rank),
        )

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the output shape."""
        sizes = as_shape(input_shape)
        assert sizes is not None
        spatial, channels = split_sizes(sizes, self.data_format)
        places = [window_output(n, w, self.padding, s) for n, w, s in zip(spatial, self.pool_size, self.strides)]
        return TensorShape(around(places, self.data_format, sizes[0], channels))


class _Pooling1D(_Pooling):
    """The base class of 1-D pooling layers, which pool sequences as images of width one."""

    _rank = 1

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the pooling."""
        form = self.data_format
        axis = 2 if form == "channels_last" else 3
        images = expand_dims(inputs, axis)
        sizes, strides = around((*self.pool_size, 1), form), around((*self.strides, 1), form)
        pooled = self._function(images, sizes, strides, self.padding.upper(), data_format=layout(form, 2))
        return squeeze(pooled, [axis])


@export("layers.MaxPooling1D")
class MaxPooling1D(_Pooling1D):
    """Max pooling over sequences."""

    _function = staticmethod(pooling.max_pool)


@export("layers.MaxPooling2D")
class MaxPooling2D(_Pooling):
    """Max pooling over images."""

    _rank = 2
    _function = staticmethod(pooling.max_pool)


@export("layers.MaxPooling3D")
class MaxPooling3D(_Pooling):
    """Max pooling over volumes."""

    _rank = 3
    _function = staticmethod(pooling.max_pool3d)


@export("layers.AveragePooling1D")
class AveragePooling1D(_Pooling1D):
    """Average pooling over sequences."""

    _function = staticmethod(pooling.avg_pool)


@export("layers.AveragePooling2D")
class AveragePooling2D(_Pooling):
    """Average pooling over images."""

    _rank = 2
    _function = staticmethod(pooling.avg_pool)


@export("layers.AveragePooling3D")
class AveragePooling3D(_Pooling):
    """Average pooling over volumes."""

    _rank = 3
    _function = staticmethod(pooling.avg_pool3d)


max_pooling1d = export("layers.max_pooling1d")(function_of(MaxPooling1D, has_reuse=False))
max_pooling2d = export("layers.max_pooling2d")(function_of(MaxPooling2D, has_reuse=False))
max_pooling3d = export("layers.max_pooling3d")(function_of(MaxPooling3D, has_reuse=False))
average_pooling1d = export("layers.average_pooling1d")(function_of(AveragePooling1D, has_reuse=False))
average_pooling2d = export("layers.average_pooling2d")(function_of(AveragePooling2D, has_reuse=False))
average_pooling3d = export("layers.average_pooling3d")(function_of(AveragePooling3D, has_reuse=False))

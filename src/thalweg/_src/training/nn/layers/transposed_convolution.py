"""Transposed convolution layers: Conv2DTranspose, Conv3DTranspose."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.convolution import conv2d_transpose as transpose2d, conv3d_transpose as transpose3d
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.layers.convolution import Conv2D, Conv3D
from thalweg._src.training.nn.layers.functions import function_of
from thalweg._src.training.nn.layers.windows import around, layout, padding_of, split_sizes, transposed_output


class _Transposed:
    """A mixin of transposed convolution layers; it precedes the convolution in the list of bases.

    Args:
        trainable: Whether the layer's variables are added to `TRAINABLE_VARIABLES`.
    """

    _function: ClassVar[Any]

    @parameters_of(Conv2D.__init__, without=["dilation_rate"])
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**{**arguments, "padding": padding_of(arguments["padding"])})

    def build(self: Any, input_shape: ShapeLike) -> None:
        """Creates the kernel, whose last axis is the input channels, and the bias."""
        self.kernel = self.add_weight(
            "kernel",
            shape=[*self.kernel_size, self.filters, self._input_channels(input_shape)],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self._add_bias()
        self.built = True

    def call(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the transposed convolution, the bias and the activation."""
        inputs, form = convert_to_tensor(inputs), self.data_format
        static_sizes = inputs.dims
        dynamic = shape_of(inputs)
        sizes = [dynamic[i] if size is None else size for i, size in enumerate(static_sizes)]
        outputs = self._function(
            inputs,
            self.kernel,
            self._output_sizes(sizes),
            around(self.strides, form),
            self.padding.upper(),
            data_format=layout(form, self.rank),
        )
        outputs.set_shape(self.compute_output_shape(static_sizes))
        return self._finished(self._biased(outputs))  # type: ignore[no-any-return]

    def _output_sizes(self: Any, sizes: Any) -> list[Any]:
        windows = zip(split_sizes(sizes, self.data_format)[0], self.kernel_size, self.strides)
        spatial = [transposed_output(n, k, self.padding, s) for n, k, s in windows]
        return around(spatial, self.data_format, sizes[0], self.filters)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the output shape."""
        return TensorShape(self._output_sizes(as_shape(input_shape)))


@export("layers.Conv2DTranspose")
class Conv2DTranspose(_Transposed, Conv2D):
    """A transposed convolution layer over images."""

    _function = staticmethod(transpose2d)


@export("layers.Conv3DTranspose")
class Conv3DTranspose(_Transposed, Conv3D):
    """A transposed convolution layer over volumes."""

    _function = staticmethod(transpose3d)


conv2d_transpose = export("layers.conv2d_transpose")(function_of(Conv2DTranspose))
conv3d_transpose = export("layers.conv3d_transpose")(function_of(Conv3DTranspose))

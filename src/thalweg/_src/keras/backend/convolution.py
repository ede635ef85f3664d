"""Convolutions and pooling of the Keras backend, with channels first or last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.errors import wrong_kind
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import convolution, depthwise_convolution, nn
from thalweg._src.graph.ops.contraction import einsum
from thalweg._src.graph.ops.math import add
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.patches import extract_patches
from thalweg._src.graph.ops.pooling import pool
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape, squeeze, transpose
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.shapes import channels_last, format_of
from thalweg._src.training.nn.layers.windows import around, layout, padding_of, sizes_of

Sizes = int | Sequence[int]


# -- convolutions -----------------------------------------------------------------------------------------------------


@export("keras.backend.conv1d")
def conv1d(
    x: TensorLike,
    kernel: TensorLike,
    strides: int = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int = 1,
) -> Tensor:
    """Returns sequences convolved with a kernel; the padding "causal" lets no step depend on later ones.

    Args:
        strides: Step of the window.
        padding: "valid", "same", or "causal", which lets no step depend on later ones.
        dilation_rate: Distance between the elements of the kernel.
    """
    data_format = format_of(data_format)
    kind, kernel = padding_of(padding, causal=True), convert_to_tensor(kernel)
    if kind == "causal":
        before = dilation_rate * (_sizes(kernel)[0] - 1)
        x, kind = pad(x, around([[before, 0]], data_format, [0, 0], [0, 0])), "valid"
    return _convolved(1, x, kernel, strides, kind, data_format, dilation_rate)


@export("keras.backend.conv2d")
def conv2d(
    x: TensorLike,
    kernel: TensorLike,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1),
) -> Tensor:
    """Returns images convolved with a kernel."""
    return _convolved(2, x, kernel, strides, padding, format_of(data_format), dilation_rate)


@export("keras.backend.conv3d")
def conv3d(
    x: TensorLike,
    kernel: TensorLike,
    strides: Sizes = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1, 1),
) -> Tensor:
    """Returns volumes convolved with a kernel."""
    return _convolved(3, x, kernel, strides, padding, format_of(data_format), dilation_rate)


def _convolved(
    rank: int, x: TensorLike, kernel: TensorLike, strides: Sizes, padding: str, data_format: str, dilation_rate: Sizes
) -> Tensor:
    return convolution.convolution(
        x,
        kernel,
        padding_of(padding).upper(),
        strides=sizes_of(strides, rank, "strides"),
        dilation_rate=sizes_of(dilation_rate, rank, "dilation_rate"),
        data_format=layout(data_format, rank),
    )


@export("keras.backend.conv2d_transpose")
def conv2d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: ShapeLike | TensorLike,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1),
) -> Tensor:
    """Returns the transposed convolution of images: the gradient of a convolution by its input."""
    data_format, x = format_of(data_format), convert_to_tensor(x)
    return convolution.conv2d_transpose(
        x,
        kernel,
        _with_batch(output_shape, x),
        around(sizes_of(strides, 2, "strides"), data_format),
        padding_of(padding).upper(),
        layout(data_format, 2),
        dilations=around(sizes_of(dilation_rate, 2, "dilation_rate"), data_format),
    )


def conv3d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: ShapeLike | TensorLike,
    strides: Sizes = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """Returns the transposed convolution of volumes: the gradient of a convolution by its input."""
    data_format, x = format_of(data_format), convert_to_tensor(x)
    return convolution.conv3d_transpose(
        x,
        kernel,
        _with_batch(output_shape, x),
        around(sizes_of(strides, 3, "strides"), data_format),
        padding_of(padding).upper(),
        layout(data_format, 3),
    )


def _sizes(kernel: Tensor) -> list[int]:
    """Returns the shape of a kernel, which must be known."""
    kernel.shape.assert_is_fully_defined()
    return kernel.shape.as_list()  # type: ignore[return-value]


def _with_batch(output_shape: Any, x: Tensor) -> Any:
    """Returns an output shape with the number of examples of the input, if it has none."""
    if isinstance(output_shape, Tensor):
        return output_shape
    if isinstance(output_shape, str | dict) or not hasattr(output_shape, "__len__") or len(output_shape) == 0:
        raise wrong_kind("output_shape", "a list of sizes or a tensor", output_shape)
    if output_shape[0] is not None:
        return output_shape
    return [shape(x)[0], *output_shape[1:]]


@export("keras.backend.depthwise_conv2d")
def depthwise_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1),
) -> Tensor:
    """Returns images, each channel of which is convolved with kernels of its own."""
    return depthwise_convolution.depthwise_conv2d(
        x, depthwise_kernel, **_settings(strides, padding, data_format, dilation_rate)
    )


@export("keras.backend.separable_conv2d")
def separable_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1),
) -> Tensor:
    """Returns images, each channel of which is convolved with kernels of its own before the channels are mixed."""
    settings = _settings(strides, padding, data_format, dilation_rate)
    return depthwise_convolution.separable_conv2d(x, depthwise_kernel, pointwise_kernel, **settings)


def _settings(
    strides: int | Sequence[int], padding: str, data_format: str | None, dilation_rate: int | Sequence[int]
) -> dict[str, Any]:
    """Returns the arguments of convolutions of single channels."""
    data_format = format_of(data_format)
    return {
        "strides": around(sizes_of(strides, 2, "strides"), data_format),
        "padding": padding_of(padding).upper(),
        "rate": sizes_of(dilation_rate, 2, "dilation_rate"),
        "data_format": layout(data_format, 2),
    }


# -- kernels that differ from place to place --------------------------------------------------------------------------


@export("keras.backend.local_conv1d")
def local_conv1d(
    inputs: TensorLike,
    kernel: TensorLike,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    data_format: str | None = None,
) -> Tensor:
    """Returns sequences convolved with a kernel of its own at each step.

    Args:
        kernel: The weights, [places, window * channels, filters].
    """
    data_format = format_of(data_format)
    axis = 2 if data_format == "channels_first" else 1
    images = expand_dims(inputs, axis)
    kernel = convert_to_tensor(kernel, name="kernel")
    kernel.shape.assert_has_rank(3)
    steps = _sizes(kernel)[0]
    result = local_conv2d(images, kernel, (1, *kernel_size), (1, *strides), (1, steps), data_format)
    return squeeze(result, [axis])


@export("keras.backend.local_conv2d")
def local_conv2d(
    inputs: TensorLike,
    kernel: TensorLike,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    output_shape: Sequence[int],
    data_format: str | None = None,
) -> Tensor:
    """Returns images convolved with a kernel of its own at each place, [places, window * channels, filters].

    Args:
        kernel: The weights, [places, window * channels, filters].
        output_shape: Spatial sizes of the result.
    """
    data_format, kernel = format_of(data_format), convert_to_tensor(kernel)
    images = channels_last(convert_to_tensor(inputs), data_format)
    windows = extract_patches(images, [1, *kernel_size, 1], [1, *strides, 1], [1, 1, 1, 1], "VALID")
    places, features, filters = _sizes(kernel)
    windows = reshape(windows, [-1, places, features])
    if data_format == "channels_last":
        return reshape(einsum("bpf,pfo->bpo", windows, kernel), [-1, *output_shape, filters])
    # The elements of a kernel are in the order of its images: all of a channel come before those of the next.
    area = kernel_size[0] * kernel_size[1]
    windows = transpose(reshape(windows, [-1, places, area, features // area]), [0, 1, 3, 2])
    windows = reshape(windows, [-1, places, features])
    return reshape(einsum("bpf,pfo->bop", windows, kernel), [-1, filters, *output_shape])


# -- pooling and bias -------------------------------------------------------------------------------------------------


@export("keras.backend.pool2d")
def pool2d(
    x: TensorLike,
    pool_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """Returns the maxima or the means of windows of images."""
    return _pooled(2, x, pool_size, strides, padding, data_format, pool_mode)


@export("keras.backend.pool3d")
def pool3d(
    x: TensorLike,
    pool_size: Sequence[int],
    strides: Sequence[int] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """Returns the maxima or the means of windows of volumes."""
    return _pooled(3, x, pool_size, strides, padding, data_format, pool_mode)


def _pooled(
    rank: int,
    x: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str | None,
    pool_mode: str,
) -> Tensor:
    if pool_mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: expected max or avg, received {pool_mode!r}")
    return pool(
        x,
        sizes_of(pool_size, rank, "pool_size"),
        pool_mode.upper(),
        padding_of(padding).upper(),
        strides=sizes_of(strides, rank, "strides"),
        data_format=layout(format_of(data_format), rank),
    )


@export("keras.backend.bias_add")
def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Tensor:
    """Returns a tensor to which a bias is added, of the size of its channels or of the shape of an example.

    Args:
        bias: The bias, [channels], or of the shape of an example.
    """
    data_format = format_of(data_format)
    x, bias = convert_to_tensor(x), convert_to_tensor(bias)
    rank, sizes = x._rank(), bias.shape.as_list()
    if rank is None or len(sizes) not in (1, rank - 1):
        raise ValueError(f"bias has shape {bias.shape}: expected one axis, or all of {x.shape} but the first")
    if data_format == "channels_last" or rank < 3:
        return nn.bias_add(x, bias) if len(sizes) == 1 else add(x, reshape(bias, [1, *sizes]))
    return add(x, reshape(bias, [1, sizes[-1], *(sizes[:-1] or [1] * (rank - 2))]))

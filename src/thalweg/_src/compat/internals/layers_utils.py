"""`tensorflow.python.layers.utils`: arguments of convolutions in canonical form, and the sizes of their outputs."""

from __future__ import annotations

from typing import Any

from thalweg._src.training.nn.layers.windows import (
    data_format_of as normalize_data_format,
    layout,
    padding_of as normalize_padding,
    sizes_of as normalize_tuple,
    transposed_output,
    window_output,
)
from thalweg._src.training.nn.smart_cond import smart_cond as smart_cond, smart_constant_value as constant_value

__all__ = ["constant_value", "normalize_data_format", "normalize_padding", "normalize_tuple", "smart_cond"]


def convert_data_format(data_format: str, ndim: int) -> str:
    """Returns the layout of `channels_last` or `channels_first` for a rank, batch and channels included."""
    return layout(normalize_data_format(data_format), ndim - 2)


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Returns the size of a convolution's output along one dimension, None if the input's is unknown."""
    if padding == "full" and input_length is not None:
        return (input_length + (filter_size - 1) * dilation + stride - 1) // stride
    return window_output(input_length, filter_size, padding, stride, dilation)


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """Returns the size of a convolution's input along one dimension, None if the output's is unknown."""
    if output_length is None:
        return None
    around = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * around + filter_size


def deconv_output_length(input_length: object, filter_size: int, padding: str, stride: int) -> Any:
    """Returns the size of a transposed convolution's output along one dimension, None if the input's is unknown."""
    return None if input_length is None else transposed_output(input_length, filter_size, padding, stride)

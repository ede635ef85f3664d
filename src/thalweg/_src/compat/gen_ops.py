"""Functions that add one op each to the graph, with the parameters of its schema."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.graph.ops.audio import (
    decode_wav as _decode_wav,
    encode_wav as _encode_wav,
)
from thalweg._src.graph.ops.comparison import (
    bitwise_and as _bitwise_and,
    bitwise_or as _bitwise_or,
    bitwise_xor as _bitwise_xor,
    greater as _greater,
    greater_equal as _greater_equal,
    invert as _invert,
    is_finite as _is_finite,
    is_inf as _is_inf,
    is_nan as _is_nan,
    left_shift as _left_shift,
    less as _less,
    less_equal as _less_equal,
    logical_and as _logical_and,
    logical_not as _logical_not,
    logical_or as _logical_or,
    right_shift as _right_shift,
)
from thalweg._src.graph.ops.constants import fill as _fill
from thalweg._src.graph.ops.contraction import (
    cross as _cross,
    sparse_matmul as _sparse_matmul,
)
from thalweg._src.graph.ops.decoding import (
    as_string as _as_string,
    decode_base64 as _decode_base64,
    decode_compressed as _decode_compressed,
    encode_base64 as _encode_base64,
)
from thalweg._src.graph.ops.decompositions import (
    cholesky as _cholesky,
    lu as _lu,
    qr as _qr,
)
from thalweg._src.graph.ops.diagonal import (
    diag as _diag,
    diag_part as _diag_part,
    matrix_band_part as _matrix_band_part,
)
from thalweg._src.graph.ops.fake_quantization import (
    fake_quant_with_min_max_args as _fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as _fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as _fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as _fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as _fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as _fake_quant_with_min_max_vars_per_channel_gradient,
)
from thalweg._src.graph.ops.files import (
    matching_files as _matching_files,
    read_file as _read_file,
    timestamp as _timestamp,
    write_file as _write_file,
)
from thalweg._src.graph.ops.fractional_pooling import (
    fractional_avg_pool as _fractional_avg_pool,
    fractional_max_pool as _fractional_max_pool,
)
from thalweg._src.graph.ops.gather import (
    dynamic_stitch as _dynamic_stitch,
    unravel_index as _unravel_index,
)
from thalweg._src.graph.ops.hashing import (
    string_to_hash_bucket_fast as _string_to_hash_bucket_fast,
    string_to_hash_bucket_strong as _string_to_hash_bucket_strong,
)
from thalweg._src.graph.ops.identity import (
    bitcast as _bitcast,
    identity as _identity,
    stop_gradient as _stop_gradient,
)
from thalweg._src.graph.ops.image_coding import (
    decode_and_crop_jpeg as _decode_and_crop_jpeg,
    decode_bmp as _decode_bmp,
    decode_gif as _decode_gif,
    decode_jpeg as _decode_jpeg,
    decode_png as _decode_png,
    encode_jpeg as _encode_jpeg,
    extract_jpeg_shape as _extract_jpeg_shape,
)
from thalweg._src.graph.ops.image_color import (
    hsv_to_rgb as _hsv_to_rgb,
    rgb_to_hsv as _rgb_to_hsv,
)
from thalweg._src.graph.ops.image_resize import resize_area as _resize_area
from thalweg._src.graph.ops.linalg import (
    expm as _expm,
    logm as _logm,
    matrix_determinant as _matrix_determinant,
    matrix_inverse as _matrix_inverse,
    matrix_solve_op as _matrix_solve_op,
    sqrtm as _sqrtm,
)
from thalweg._src.graph.ops.math import (
    acos as _acos,
    acosh as _acosh,
    asin as _asin,
    asinh as _asinh,
    atan as _atan,
    atan2 as _atan2,
    atanh as _atanh,
    ceil as _ceil,
    cos as _cos,
    cosh as _cosh,
    exp as _exp,
    expm1 as _expm1,
    floor as _floor,
    floormod as _floormod,
    log as _log,
    log1p as _log1p,
    maximum as _maximum,
    minimum as _minimum,
    negative as _negative,
    nextafter as _nextafter,
    pow as _pow,
    realdiv as _realdiv,
    reciprocal as _reciprocal,
    rint as _rint,
    rsqrt as _rsqrt,
    sigmoid as _sigmoid,
    sign as _sign,
    sin as _sin,
    sinh as _sinh,
    sqrt as _sqrt,
    square as _square,
    squared_difference as _squared_difference,
    tan as _tan,
    tanh as _tanh,
    truncatediv as _truncatediv,
    truncatemod as _truncatemod,
    xdivy as _xdivy,
    xlog1py as _xlog1py,
    xlogy as _xlogy,
)
from thalweg._src.graph.ops.nn import (
    elu as _elu,
    l2_loss as _l2_loss,
    relu as _relu,
    relu6 as _relu6,
    selu as _selu,
    softplus as _softplus,
    softsign as _softsign,
)
from thalweg._src.graph.ops.normalization import local_response_normalization as _local_response_normalization
from thalweg._src.graph.ops.numerics import check_numerics as _check_numerics
from thalweg._src.graph.ops.pad_tile import (
    broadcast_to as _broadcast_to,
    roll as _roll,
    tile as _tile,
)
from thalweg._src.graph.ops.parsing import (
    decode_json_example as _decode_json_example,
    parse_tensor as _parse_tensor,
    serialize_tensor as _serialize_tensor,
)
from thalweg._src.graph.ops.patches import extract_volume_patches as _extract_volume_patches
from thalweg._src.graph.ops.quantized import (
    quantized_avg_pool as _quantized_avg_pool,
    quantized_concat as _quantized_concat,
    quantized_max_pool as _quantized_max_pool,
    quantized_relu_x as _quantized_relu_x,
)
from thalweg._src.graph.ops.reduction import (
    arg_max as _arg_max,
    arg_min as _arg_min,
)
from thalweg._src.graph.ops.reshape import invert_permutation as _invert_permutation
from thalweg._src.graph.ops.segment import (
    segment_max as _segment_max,
    segment_mean as _segment_mean,
    segment_min as _segment_min,
    segment_prod as _segment_prod,
    segment_sum as _segment_sum,
    unsorted_segment_max as _unsorted_segment_max,
    unsorted_segment_min as _unsorted_segment_min,
    unsorted_segment_prod as _unsorted_segment_prod,
    unsorted_segment_sum as _unsorted_segment_sum,
)
from thalweg._src.graph.ops.sequences import lin_space as _lin_space
from thalweg._src.graph.ops.sorting import (
    approx_top_k as _approx_top_k,
    nth_element as _nth_element,
)
from thalweg._src.graph.ops.space_to_depth import (
    batch_to_space_nd as _batch_to_space_nd,
    space_to_batch_nd as _space_to_batch_nd,
)
from thalweg._src.graph.ops.special import (
    betainc as _betainc,
    digamma as _digamma,
    erf as _erf,
    erfc as _erfc,
    erfinv as _erfinv,
    igamma as _igamma,
    igammac as _igammac,
    lgamma as _lgamma,
    ndtri as _ndtri,
    polygamma as _polygamma,
    zeta as _zeta,
)
from thalweg._src.graph.ops.spectral import (
    fft as _fft,
    fft2d as _fft2d,
    fft3d as _fft3d,
    ifft as _ifft,
    ifft2d as _ifft2d,
    ifft3d as _ifft3d,
)
from thalweg._src.graph.ops.strings import (
    lower as _lower,
    string_strip as _string_strip,
    unsorted_segment_join as _unsorted_segment_join,
    upper as _upper,
)
from thalweg._src.graph.ops.unicode import (
    unicode_script as _unicode_script,
    unicode_transcode as _unicode_transcode,
)
from thalweg._src.graph.ops.where import unique_with_counts as _unique_with_counts
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.base.shapes import ShapeLike


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse cosine of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _acos(x, name=name)


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse hyperbolic cosine of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _acosh(x, name=name)


def approx_top_k(input: TensorLike, k: int, reduction_dimension: int = -1, recall_target: float = 0.95, is_max_k: bool = True, reduction_input_size_override: int = -1, aggregate_to_topk: bool = True, name: str | None = None) -> Any:
    """Returns the k largest or smallest entries along a dimension; exact, whatever the requested recall.

    Args:
        input: The input tensor.
        k: Number of entries to return.
        reduction_dimension: The dimension to search along.
        recall_target: Wanted share of correct entries; the result is exact in any case.
        is_max_k: Whether the largest entries are wanted, not the smallest.
        reduction_input_size_override: Accepted for compatibility; the result is exact in any case.
        aggregate_to_topk: Accepted for compatibility; the result always has `k` entries.
        name: A name for the operations that are added to the graph.
    """
    return _approx_top_k.many(input, k=k, reduction_dimension=reduction_dimension, recall_target=recall_target, is_max_k=is_max_k, reduction_input_size_override=reduction_input_size_override, aggregate_to_topk=aggregate_to_topk, name=name)


def arg_max(input: TensorLike, dimension: TensorLike, output_type: DTypeLike = dtypes.int64, name: str | None = None) -> Tensor:
    """Returns the index of the maximum along an axis, the first among equals.

    Args:
        input: The input tensor.
        dimension: The axis to reduce.
        output_type: The element type of the result.
        name: A name for the operations that are added to the graph.
    """
    return _arg_max(input, dimension, output_type=output_type, name=name)


def arg_min(input: TensorLike, dimension: TensorLike, output_type: DTypeLike = dtypes.int64, name: str | None = None) -> Tensor:
    """Returns the index of the minimum along an axis, the first among equals.

    Args:
        input: The input tensor.
        dimension: The axis to reduce.
        output_type: The element type of the result.
        name: A name for the operations that are added to the graph.
    """
    return _arg_min(input, dimension, output_type=output_type, name=name)


def as_string(input: TensorLike, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str = '', name: str | None = None) -> Tensor:
    """Formats numbers as strings, as C's printf does.

    Args:
        input: The input tensor.
        precision: Number of digits after the point; -1 takes the default.
        scientific: Whether numbers are written with an exponent, as `%e` does.
        shortest: Whether the shorter of both forms is used, as `%g` does.
        width: Smallest number of characters; -1 does not pad.
        fill: What pads to `width`: a space, "0", or "-" to pad on the right.
        name: A name for the operations that are added to the graph.
    """
    return _as_string(input, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill, name=name)


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse sine of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _asin(x, name=name)


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse hyperbolic sine of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _asinh(x, name=name)


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse tangent of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _atan(x, name=name)


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the angle of the point (x, y), element-wise.

    Args:
        y: The ordinates.
        x: The abscissas.
        name: A name for the operations that are added to the graph.
    """
    return _atan2(y, x, name=name)


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse hyperbolic tangent of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _atanh(x, name=name)


def batch_to_space_nd(input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None) -> Tensor:
    """Moves batch entries to spatial blocks, which are then cropped.

    Args:
        input: The input tensor.
        block_shape: Size of the blocks along each spatial dimension.
        crops: Number of elements to remove before and after each spatial dimension.
        name: A name for the operations that are added to the graph.
    """
    return _batch_to_space_nd(input, block_shape, crops, name=name)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the regularized incomplete beta function, element-wise.

    Args:
        a: The first parameter.
        b: The second parameter.
        x: Upper limit of the integral.
        name: A name for the operations that are added to the graph.
    """
    return _betainc(a, b, x, name=name)


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Reinterprets the bits of a tensor as another type.

    Args:
        input: The input tensor.
        type: The new element type, whose size need not be the same.
        name: A name for the operations that are added to the graph.
    """
    return _bitcast(input, type=type, name=name)


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the bitwise AND of x and y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _bitwise_and(x, y, name=name)


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the bitwise OR of x and y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _bitwise_or(x, y, name=name)


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the bitwise XOR of x and y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _bitwise_xor(x, y, name=name)


def broadcast_to(input: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Broadcasts a tensor to a shape.

    Args:
        input: The input tensor.
        shape: The shape.
        name: A name for the operations that are added to the graph.
    """
    return _broadcast_to(input, shape, name=name)


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the smallest integer not less than x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _ceil(x, name=name)


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Returns its input, or fails if it contains NaN or infinity.

    Args:
        tensor: The tensor to check.
        message: Text of the error.
        name: A name for the operations that are added to the graph.
    """
    return _check_numerics(tensor, message=message, name=name)


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the Cholesky decomposition: the lower triangular L with L @ adjoint(L) equal to the input.

    Args:
        input: The matrices.
        name: A name for the operations that are added to the graph.
    """
    return _cholesky(input, name=name)


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the cosine of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _cos(x, name=name)


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the hyperbolic cosine of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _cosh(x, name=name)


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Computes the cross products of vectors of three elements.

    Args:
        a: The first tensor.
        b: The second tensor.
        name: A name for the operations that are added to the graph.
    """
    return _cross(a, b, name=name)


def decode_and_crop_jpeg(contents: TensorLike, crop_window: TensorLike, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False, acceptable_fraction: float = 1.0, dct_method: str = '', name: str | None = None) -> Tensor:
    """Decodes a window (top, left, height, width) of a JPEG file.

    Args:
        contents: The bytes of the file, a string tensor.
        crop_window: Top, left, height and width of the window.
        channels: Number of color channels to return; 0 takes those of the file.
        ratio: Factor by which the image is shrunk while decoding: 1, 2, 4 or 8.
        fancy_upscaling: Whether chroma is interpolated smoothly.
        try_recover_truncated: Whether an incomplete file is decoded as far as it goes.
        acceptable_fraction: Smallest fraction of lines that must be there.
        dct_method: Hint for the decoder: "", "INTEGER_FAST" or "INTEGER_ACCURATE".
        name: A name for the operations that are added to the graph.
    """
    return _decode_and_crop_jpeg(contents, crop_window, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling, try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction, dct_method=dct_method, name=name)


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Decodes strings in URL-safe base64, with or without padding.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _decode_base64(input, name=name)


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """Decodes an uncompressed BMP file.

    Args:
        contents: The bytes of the file, a string tensor.
        channels: Number of color channels to return; 0 takes those of the file.
        name: A name for the operations that are added to the graph.
    """
    return _decode_bmp(contents, channels=channels, name=name)


def decode_compressed(bytes: TensorLike, compression_type: str = '', name: str | None = None) -> Tensor:
    """Decompresses strings: "ZLIB", "GZIP", or "" for uncompressed.

    Args:
        bytes: The strings.
        compression_type: "ZLIB", "GZIP", or "" for none.
        name: A name for the operations that are added to the graph.
    """
    return _decode_compressed(bytes, compression_type=compression_type, name=name)


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """Decodes the frames of a GIF file, each drawn over the previous one.

    Args:
        contents: The bytes of the file, a string tensor.
        name: A name for the operations that are added to the graph.
    """
    return _decode_gif(contents, name=name)


def decode_jpeg(contents: TensorLike, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False, acceptable_fraction: float = 1.0, dct_method: str = '', name: str | None = None) -> Tensor:
    """Decodes a JPEG file, optionally downscaled by 2, 4 or 8.

    Args:
        contents: The bytes of the file, a string tensor.
        channels: Number of color channels to return; 0 takes those of the file.
        ratio: Factor by which the image is shrunk while decoding: 1, 2, 4 or 8.
        fancy_upscaling: Whether chroma is interpolated smoothly.
        try_recover_truncated: Whether an incomplete file is decoded as far as it goes.
        acceptable_fraction: Smallest fraction of lines that must be there.
        dct_method: Hint for the decoder: "", "INTEGER_FAST" or "INTEGER_ACCURATE".
        name: A name for the operations that are added to the graph.
    """
    return _decode_jpeg(contents, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling, try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction, dct_method=dct_method, name=name)


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Converts Examples in JSON to their binary form.

    Args:
        json_examples: Strings with one Example in JSON form each.
        name: A name for the operations that are added to the graph.
    """
    return _decode_json_example(json_examples, name=name)


def decode_png(contents: TensorLike, channels: int = 0, dtype: DTypeLike = dtypes.uint8, name: str | None = None) -> Tensor:
    """Decodes a PNG file.

    Args:
        contents: The bytes of the file, a string tensor.
        channels: Number of color channels to return; 0 takes those of the file.
        dtype: Element type of the pixels.
        name: A name for the operations that are added to the graph.
    """
    return _decode_png(contents, channels=channels, dtype=dtype, name=name)


def decode_wav(contents: TensorLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> Any:
    """Decodes a 16-bit WAV file to samples in [-1, 1), one column per channel; returns them and the sample rate.

    Args:
        contents: The bytes of the file, a string tensor.
        desired_channels: Number of channels to return; -1 takes those of the file.
        desired_samples: Number of samples to return; -1 takes those of the file.
        name: A name for the operations that are added to the graph.
    """
    return _decode_wav.many(contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name)


def diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Creates a tensor of twice the rank with the input on its diagonal.

    Args:
        diagonal: The diagonals.
        name: A name for the operations that are added to the graph.
    """
    return _diag(diagonal, name=name)


def diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the diagonal of a tensor.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _diag_part(input, name=name)


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the derivative of lgamma, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _digamma(x, name=name)


def dynamic_stitch(indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Merges the rows of several tensors into one, at the given indices; later rows replace earlier ones.

    Args:
        indices: List of integer tensors: rows of the result that the data go to.
        data: List of tensors with one slice for each index.
        name: A name for the operations that are added to the graph.
    """
    return _dynamic_stitch(indices, data, name=name)


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes x where it is positive, exp(x) - 1 elsewhere.

    Args:
        features: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _elu(features, name=name)


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Encodes strings in URL-safe base64.

    Args:
        input: The input tensor.
        pad: Whether the strings are padded with `=`.
        name: A name for the operations that are added to the graph.
    """
    return _encode_base64(input, pad=pad, name=name)


def encode_jpeg(image: TensorLike, format: str = '', quality: int = 95, progressive: bool = False, optimize_size: bool = False, chroma_downsampling: bool = True, density_unit: str = 'in', x_density: int = 300, y_density: int = 300, xmp_metadata: str = '', name: str | None = None) -> Tensor:
    """Encodes an image as a JPEG file.

    Args:
        image: An image [height, width, channels] of uint8.
        format: Colors of the file: "" by the number of channels, "grayscale" or "rgb".
        quality: Quality of the file, 0 to 100.
        progressive: Whether the file is progressive.
        optimize_size: Whether more time is spent for a smaller file.
        chroma_downsampling: Whether chroma is stored at half the resolution.
        density_unit: Unit of the densities: "in" or "cm".
        x_density: Horizontal pixels per unit.
        y_density: Vertical pixels per unit.
        xmp_metadata: XMP metadata to embed.
        name: A name for the operations that are added to the graph.
    """
    return _encode_jpeg(image, format=format, quality=quality, progressive=progressive, optimize_size=optimize_size, chroma_downsampling=chroma_downsampling, density_unit=density_unit, x_density=x_density, y_density=y_density, xmp_metadata=xmp_metadata, name=name)


def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """Encodes samples in [-1, 1] as a 16-bit PCM WAV file.

    Args:
        audio: Samples [length, channels] in [-1, 1].
        sample_rate: Samples per second.
        name: A name for the operations that are added to the graph.
    """
    return _encode_wav(audio, sample_rate, name=name)


def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the Gauss error function, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _erf(x, name=name)


def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes 1 - erf(x), element-wise, accurate for large x.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _erfc(x, name=name)


def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse of erf, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _erfinv(x, name=name)


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes e to the power x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _exp(x, name=name)


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the exponential of matrices.

    Args:
        input: The matrices.
        name: A name for the operations that are added to the graph.
    """
    return _expm(input, name=name)


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes exp(x) - 1, element-wise, accurate near 0.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _expm1(x, name=name)


def extract_jpeg_shape(contents: TensorLike, output_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """Returns height, width and channels of a JPEG file without decoding its pixels.

    Args:
        contents: The bytes of the file, a string tensor.
        output_type: The element type of the result.
        name: A name for the operations that are added to the graph.
    """
    return _extract_jpeg_shape(contents, output_type=output_type, name=name)


def extract_volume_patches(input: TensorLike, ksizes: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None) -> Tensor:
    """Extracts the cells of each 3-D window to the depth dimension; zero-padded at the border.

    Args:
        input: The input tensor.
        ksizes: Size of the window along each dimension.
        strides: Step of the window along each dimension.
        padding: "SAME" pads with zeros so that strides alone decide the output size, "VALID" does not pad.
        name: A name for the operations that are added to the graph.
    """
    return _extract_volume_patches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)


def fake_quant_with_min_max_args(inputs: TensorLike, min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Quantizes and dequantizes values with a fixed range, in which 0 is exact.

    Args:
        inputs: The numbers to quantize.
        min: Lower end of the range.
        max: Upper end of the range.
        num_bits: Number of bits of a quantized integer.
        narrow_range: Whether the smallest integer of the quantized range is left out.
        name: A name for the operations that are added to the graph.
    """
    return _fake_quant_with_min_max_args(inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_args_gradient(gradients: TensorLike, inputs: TensorLike, min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Passes the gradient inside the range, and zero outside.

    Args:
        gradients: Gradient with respect to the output.
        inputs: The numbers to quantize.
        min: Lower end of the range.
        max: Upper end of the range.
        num_bits: Number of bits of a quantized integer.
        narrow_range: Whether the smallest integer of the quantized range is left out.
        name: A name for the operations that are added to the graph.
    """
    return _fake_quant_with_min_max_args_gradient(gradients, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars(inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Quantizes and dequantizes values with a trainable range.

    Args:
        inputs: The numbers to quantize.
        min: Lower end of the range.
        max: Upper end of the range.
        num_bits: Number of bits of a quantized integer.
        narrow_range: Whether the smallest integer of the quantized range is left out.
        name: A name for the operations that are added to the graph.
    """
    return _fake_quant_with_min_max_vars(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_gradient(gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Any:
    """Passes the gradient inside the range, and the sum outside to the respective bound.

    Args:
        gradients: Gradient with respect to the output.
        inputs: The numbers to quantize.
        min: Lower end of the range.
        max: Upper end of the range.
        num_bits: Number of bits of a quantized integer.
        narrow_range: Whether the smallest integer of the quantized range is left out.
        name: A name for the operations that are added to the graph.
    """
    return _fake_quant_with_min_max_vars_gradient.many(gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel(inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Quantizes and dequantizes values with one trainable range per channel, the last dimension.

    Args:
        inputs: The numbers to quantize.
        min: Lower end of the range.
        max: Upper end of the range.
        num_bits: Number of bits of a quantized integer.
        narrow_range: Whether the smallest integer of the quantized range is left out.
        name: A name for the operations that are added to the graph.
    """
    return _fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel_gradient(gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Any:
    """Passes the gradient inside the channel's range, and the sum outside to the respective bound.

    Args:
        gradients: Gradient with respect to the output.
        inputs: The numbers to quantize.
        min: Lower end of the range.
        max: Upper end of the range.
        num_bits: Number of bits of a quantized integer.
        narrow_range: Whether the smallest integer of the quantized range is left out.
        name: A name for the operations that are added to the graph.
    """
    return _fake_quant_with_min_max_vars_per_channel_gradient.many(gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the Fourier transform along the last dimension.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _fft(input, name=name)


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the Fourier transform over the last two dimensions.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _fft2d(input, name=name)


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the Fourier transform over the last three dimensions.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _fft3d(input, name=name)


def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """Creates a tensor of the given shape filled with one value.

    Args:
        dims: The shape of the result.
        value: The scalar to fill it with.
        name: A name for the operations that are added to the graph.
    """
    return _fill(dims, value, name=name)


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the largest integer not greater than x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _floor(x, name=name)


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the remainder of floored division, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _floormod(x, y, name=name)


def fractional_avg_pool(value: TensorLike, pooling_ratio: Sequence[float], pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False, seed: int = 0, seed2: int = 0, name: str | None = None) -> Any:
    """Computes the means of windows with random sizes; also returns the windows' row and column boundaries.

    Args:
        value: Images [batch, height, width, channels].
        pooling_ratio: Ratio of input to output size for each dimension; the first and last are 1.
        pseudo_random: Whether windows are chosen pseudo-randomly, not at random.
        overlapping: Whether neighbouring windows share their border.
        deterministic: Whether each step uses the same windows.
        seed: The first seed; for `deterministic` windows.
        seed2: The second seed.
        name: A name for the operations that are added to the graph.
    """
    return _fractional_avg_pool.many(value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping, deterministic=deterministic, seed=seed, seed2=seed2, name=name)


def fractional_max_pool(value: TensorLike, pooling_ratio: Sequence[float], pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False, seed: int = 0, seed2: int = 0, name: str | None = None) -> Any:
    """Computes the maxima of windows with random sizes; also returns the windows' row and column boundaries.

    Args:
        value: Images [batch, height, width, channels].
        pooling_ratio: Ratio of input to output size for each dimension; the first and last are 1.
        pseudo_random: Whether windows are chosen pseudo-randomly, not at random.
        overlapping: Whether neighbouring windows share their border.
        deterministic: Whether each step uses the same windows.
        seed: The first seed; for `deterministic` windows.
        seed2: The second seed.
        name: A name for the operations that are added to the graph.
    """
    return _fractional_max_pool.many(value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping, deterministic=deterministic, seed=seed, seed2=seed2, name=name)


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x > y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _greater(x, y, name=name)


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x >= y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _greater_equal(x, y, name=name)


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts HSV images to RGB, with all values in [0, 1].

    Args:
        images: Images [..., channels].
        name: A name for the operations that are added to the graph.
    """
    return _hsv_to_rgb(images, name=name)


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns its input unchanged.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _identity(input, name=name)


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse Fourier transform along the last dimension.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _ifft(input, name=name)


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse Fourier transform over the last two dimensions.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _ifft2d(input, name=name)


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse Fourier transform over the last three dimensions.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _ifft3d(input, name=name)


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the regularized lower incomplete gamma function, element-wise.

    Args:
        a: The parameter.
        x: Limit of the integral.
        name: A name for the operations that are added to the graph.
    """
    return _igamma(a, x, name=name)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the regularized upper incomplete gamma function, element-wise.

    Args:
        a: The parameter.
        x: Limit of the integral.
        name: A name for the operations that are added to the graph.
    """
    return _igammac(a, x, name=name)


def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverts every bit of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _invert(x, name=name)


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse of a permutation: y[x[i]] = i.

    Args:
        x: The permutation, an integer vector.
        name: A name for the operations that are added to the graph.
    """
    return _invert_permutation(x, name=name)


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x is neither infinite nor NaN, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _is_finite(x, name=name)


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x is infinite, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _is_inf(x, name=name)


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x is NaN, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _is_nan(x, name=name)


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Computes half the sum of squares.

    Args:
        t: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _l2_loss(t, name=name)


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shifts the bits of x left by y positions, element-wise.

    Args:
        x: The input tensor.
        y: The number of bits.
        name: A name for the operations that are added to the graph.
    """
    return _left_shift(x, y, name=name)


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x < y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _less(x, y, name=name)


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x <= y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _less_equal(x, y, name=name)


def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes log |gamma(x)|, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _lgamma(x, name=name)


def lin_space(start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None) -> Tensor:
    """Creates num evenly spaced values from start to stop, inclusive.

    Args:
        start: The first value.
        stop: The last value.
        num: Number of values.
        name: A name for the operations that are added to the graph.
    """
    return _lin_space(start, stop, num, name=name)


def local_response_normalization(input: TensorLike, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, name: str | None = None) -> Tensor:
    """Computes x / (bias + alpha * sum of squares of the neighboring channels) ** beta.

    Args:
        input: The input tensor.
        depth_radius: Number of neighbouring channels on each side.
        bias: What is added to the sum of squares.
        alpha: Factor of the sum of squares.
        beta: The exponent.
        name: A name for the operations that are added to the graph.
    """
    return _local_response_normalization(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the natural logarithm of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _log(x, name=name)


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes log(1 + x), element-wise, accurate near 0.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _log1p(x, name=name)


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the logical AND of x and y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _logical_and(x, y, name=name)


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the logical NOT of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _logical_not(x, name=name)


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the logical OR of x and y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _logical_or(x, y, name=name)


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the principal logarithm of matrices.

    Args:
        input: The matrices.
        name: A name for the operations that are added to the graph.
    """
    return _logm(input, name=name)


def lower(input: TensorLike, encoding: str = '', name: str | None = None) -> Tensor:
    """Converts strings to lower case: ASCII, or with encoding 'utf-8' Unicode.

    Args:
        input: The input tensor.
        encoding: "utf-8", or "" to change ASCII letters alone.
        name: A name for the operations that are added to the graph.
    """
    return _lower(input, encoding=encoding, name=name)


def lu(input: TensorLike, output_idx_type: DTypeLike = dtypes.int32, name: str | None = None) -> Any:
    """Returns (lu, p): L below and U on and above the diagonal, and the row permutation p of the input.

    Args:
        input: The matrices.
        output_idx_type: Integer type of the permutation.
        name: A name for the operations that are added to the graph.
    """
    return _lu.many(input, output_idx_type=output_idx_type, name=name)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sorted names of the files that match any of the patterns.

    Args:
        pattern: Patterns of file names, with `*` and `?`.
        name: A name for the operations that are added to the graph.
    """
    return _matching_files(pattern, name=name)


def matrix_band_part(input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None) -> Tensor:
    """Copies matrices, with everything outside a central band set to zero.

    Args:
        input: The matrices.
        num_lower: Number of diagonals kept below the main one; a negative number keeps all.
        num_upper: Number of diagonals kept above the main one; a negative number keeps all.
        name: A name for the operations that are added to the graph.
    """
    return _matrix_band_part(input, num_lower, num_upper, name=name)


def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the determinant of matrices.

    Args:
        input: The matrices.
        name: A name for the operations that are added to the graph.
    """
    return _matrix_determinant(input, name=name)


def matrix_inverse(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Inverts matrices, or their adjoints.

    Args:
        input: The input tensor.
        adjoint: Whether the conjugate transpose of the inverse is returned.
        name: A name for the operations that are added to the graph.
    """
    return _matrix_inverse(input, adjoint=adjoint, name=name)


def matrix_solve_op(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solves `matrix @ output = rhs`, or with the adjoint of matrix.

    Args:
        matrix: The matrices of the equations.
        rhs: The right-hand sides.
        adjoint: Whether the equations have the conjugate transpose of `matrix`.
        name: A name for the operations that are added to the graph.
    """
    return _matrix_solve_op(matrix, rhs, adjoint=adjoint, name=name)


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the maximum of x and y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _maximum(x, y, name=name)


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the minimum of x and y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _minimum(x, y, name=name)


def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the quantile function of the normal distribution, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _ndtri(x, name=name)


def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """-x.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _negative(x, name=name)


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Returns the next representable number after x1 in the direction of x2, element-wise.

    Args:
        x1: The numbers to start from.
        x2: The numbers to go towards.
        name: A name for the operations that are added to the graph.
    """
    return _nextafter(x1, x2, name=name)


def nth_element(input: TensorLike, n: TensorLike, reverse: bool = False, name: str | None = None) -> Tensor:
    """Returns the n-th smallest entry of each row, counted from 0; the n-th largest if reverse.

    Args:
        input: The input tensor.
        n: Position in the sorted row.
        reverse: Whether it works from the last element to the first.
        name: A name for the operations that are added to the graph.
    """
    return _nth_element(input, n, reverse=reverse, name=name)


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Parses a serialized TensorProto.

    Args:
        serialized: Serialized protocol messages, a string tensor.
        out_type: Element type of the tensor.
        name: A name for the operations that are added to the graph.
    """
    return _parse_tensor(serialized, out_type=out_type, name=name)


def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the derivative of order a of digamma, element-wise.

    Args:
        a: The order.
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _polygamma(a, x, name=name)


def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x to the power y, element-wise.

    Args:
        x: The base.
        y: The exponent.
        name: A name for the operations that are added to the graph.
    """
    return _pow(x, y, name=name)


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Any:
    """Returns (q, r): an orthonormal and an upper triangular matrix whose product is the input.

    Args:
        input: The matrices.
        full_matrices: Whether full-sized factors are returned.
        name: A name for the operations that are added to the graph.
    """
    return _qr.many(input, full_matrices=full_matrices, name=name)


def quantized_avg_pool(input: TensorLike, min_input: TensorLike, max_input: TensorLike, ksize: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None) -> Any:
    """Computes the mean of quantized values in each window; also returns the range.

    Args:
        input: The input tensor.
        min_input: The number that the smallest quantized input stands for.
        max_input: The number that the largest quantized input stands for.
        ksize: Size of the window along each dimension.
        strides: Step of the window along each dimension.
        padding: "SAME" pads with zeros so that strides alone decide the output size, "VALID" does not pad.
        name: A name for the operations that are added to the graph.
    """
    return _quantized_avg_pool.many(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


def quantized_concat(concat_dim: TensorLike, values: Sequence[TensorLike], input_mins: Sequence[TensorLike], input_maxes: Sequence[TensorLike], name: str | None = None) -> Any:
    """Concatenates quantized tensors along a dimension; also returns a range that covers all of theirs.

    Args:
        concat_dim: The axis to join along.
        values: The quantized tensors.
        input_mins: Lower end of the range of each input.
        input_maxes: Upper end of the range of each input.
        name: A name for the operations that are added to the graph.
    """
    return _quantized_concat.many(concat_dim, values, input_mins, input_maxes, name=name)


def quantized_max_pool(input: TensorLike, min_input: TensorLike, max_input: TensorLike, ksize: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None) -> Any:
    """Computes the maximum of quantized values in each window; also returns the range.

    Args:
        input: The input tensor.
        min_input: The number that the smallest quantized input stands for.
        max_input: The number that the largest quantized input stands for.
        ksize: Size of the window along each dimension.
        strides: Step of the window along each dimension.
        padding: "SAME" pads with zeros so that strides alone decide the output size, "VALID" does not pad.
        name: A name for the operations that are added to the graph.
    """
    return _quantized_max_pool.many(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


def quantized_relu_x(features: TensorLike, max_value: TensorLike, min_features: TensorLike, max_features: TensorLike, out_type: DTypeLike = dtypes.quint8, name: str | None = None) -> Any:
    """Clips quantized features to [0, max_value]; also returns their range.

    Args:
        features: The input tensor.
        max_value: Upper bound of the result.
        min_features: The number that the smallest quantized feature stands for.
        max_features: The number that the largest quantized feature stands for.
        out_type: The element type of the result.
        name: A name for the operations that are added to the graph.
    """
    return _quantized_relu_x.many(features, max_value, min_features, max_features, out_type=out_type, name=name)


def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """Returns the contents of a file, read in each step.

    Args:
        filename: Path of the file.
        name: A name for the operations that are added to the graph.
    """
    return _read_file(filename, name=name)


def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _realdiv(x, y, name=name)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes 1 / x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _reciprocal(x, name=name)


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes max(x, 0), element-wise.

    Args:
        features: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _relu(features, name=name)


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes min(max(x, 0), 6), element-wise.

    Args:
        features: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _relu6(features, name=name)


def resize_area(images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Resizes a batch of images to floats, each the mean of the area it covers.

    Args:
        images: Images [batch, height, width, channels].
        size: New height and width.
        align_corners: Whether the centres of the corner pixels of input and output are aligned.
        name: A name for the operations that are added to the graph.
    """
    return _resize_area(images, size, align_corners=align_corners, name=name)


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts RGB images to HSV, with all values in [0, 1].

    Args:
        images: Images [..., channels].
        name: A name for the operations that are added to the graph.
    """
    return _rgb_to_hsv(images, name=name)


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shifts the bits of x right by y positions, element-wise.

    Args:
        x: The input tensor.
        y: The number of bits.
        name: A name for the operations that are added to the graph.
    """
    return _right_shift(x, y, name=name)


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Rounds x to the nearest integer, element-wise, halves to even.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _rint(x, name=name)


def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Rolls a tensor along dimensions; elements shifted past one end reappear at the other.

    Args:
        input: The input tensor.
        shift: How far elements move along each axis.
        axis: The axes to move along.
        name: A name for the operations that are added to the graph.
    """
    return _roll(input, shift, axis, name=name)


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes 1 / sqrt(x), element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _rsqrt(x, name=name)


def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Computes the maximum of the rows of each segment.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row; ids must not decrease.
        name: A name for the operations that are added to the graph.
    """
    return _segment_max(data, segment_ids, name=name)


def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Computes the mean of the rows of each segment.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row; ids must not decrease.
        name: A name for the operations that are added to the graph.
    """
    return _segment_mean(data, segment_ids, name=name)


def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Computes the minimum of the rows of each segment.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row; ids must not decrease.
        name: A name for the operations that are added to the graph.
    """
    return _segment_min(data, segment_ids, name=name)


def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Multiplies the rows of each segment.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row; ids must not decrease.
        name: A name for the operations that are added to the graph.
    """
    return _segment_prod(data, segment_ids, name=name)


def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Sums the rows of each segment.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row; ids must not decrease.
        name: A name for the operations that are added to the graph.
    """
    return _segment_sum(data, segment_ids, name=name)


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes the scaled exponential linear unit (self-normalizing), element-wise.

    Args:
        features: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _selu(features, name=name)


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Serializes a tensor as a TensorProto.

    Args:
        tensor: The tensor to serialize.
        name: A name for the operations that are added to the graph.
    """
    return _serialize_tensor(tensor, name=name)


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the logistic function 1 / (1 + exp(-x)), element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _sigmoid(x, name=name)


def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the sign of x, element-wise: -1, 0 or 1; x / |x| for complex numbers.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _sign(x, name=name)


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the sine of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _sin(x, name=name)


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the hyperbolic sine of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _sinh(x, name=name)


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes log(1 + exp(x)), element-wise.

    Args:
        features: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _softplus(features, name=name)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / (1 + |x|), element-wise.

    Args:
        features: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _softsign(features, name=name)


def space_to_batch_nd(input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None) -> Tensor:
    """Moves spatial blocks, after padding, to the batch dimension.

    Args:
        input: The input tensor.
        block_shape: Size of the blocks along each spatial dimension.
        paddings: Zeros to add before and after each spatial dimension.
        name: A name for the operations that are added to the graph.
    """
    return _space_to_batch_nd(input, block_shape, paddings, name=name)


def sparse_matmul(a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None) -> Tensor:
    """Multiplies two matrices that contain many zeros.

    Args:
        a: The first tensor.
        b: The second tensor.
        transpose_a: Whether `a` is transposed before the product.
        transpose_b: Whether `b` is transposed before the product.
        a_is_sparse: Whether `a` holds many zeros.
        b_is_sparse: Whether `b` holds many zeros.
        name: A name for the operations that are added to the graph.
    """
    return _sparse_matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse, name=name)


def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the square root of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _sqrt(x, name=name)


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the principal square root of matrices.

    Args:
        input: The matrices.
        name: A name for the operations that are added to the graph.
    """
    return _sqrtm(input, name=name)


def square(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes x * x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _square(x, name=name)


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes (x - y) ** 2, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _squared_difference(x, y, name=name)


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns its input unchanged; gradients treat it as constant.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _stop_gradient(input, name=name)


def string_strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Strips leading and trailing whitespace.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _string_strip(input, name=name)


def string_to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Hashes each string to a bucket with FarmHash: fast and stable, but not safe against chosen collisions.

    Args:
        input: The input tensor.
        num_buckets: Number of buckets.
        name: A name for the operations that are added to the graph.
    """
    return _string_to_hash_bucket_fast(input, num_buckets=num_buckets, name=name)


def string_to_hash_bucket_strong(input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None) -> Tensor:
    """Hashes each string to a bucket with keyed SipHash: collisions cannot be constructed without the key.

    Args:
        input: The input tensor.
        num_buckets: Number of buckets.
        key: Two integers that select the hash function.
        name: A name for the operations that are added to the graph.
    """
    return _string_to_hash_bucket_strong(input, num_buckets=num_buckets, key=key, name=name)


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the tangent of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _tan(x, name=name)


def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the hyperbolic tangent of x, element-wise.

    Args:
        x: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _tanh(x, name=name)


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """Repeats a tensor along its dimensions.

    Args:
        input: The input tensor.
        multiples: How often the tensor is repeated along each dimension.
        name: A name for the operations that are added to the graph.
    """
    return _tile(input, multiples, name=name)


def timestamp(name: str | None = None) -> Tensor:
    """Returns the current Unix time in seconds.

    Args:
        name: A name for the operations that are added to the graph.
    """
    return _timestamp(name=name)


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y truncated toward zero, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _truncatediv(x, y, name=name)


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes the remainder of truncated division, element-wise.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _truncatemod(x, y, name=name)


def unicode_script(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the script of each character as an ICU code; -1 for an invalid code point.

    Args:
        input: The input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _unicode_script(input, name=name)


def unicode_transcode(input: TensorLike, input_encoding: str, output_encoding: str, errors: str = 'replace', replacement_char: int = 65533, replace_control_characters: bool = False, name: str | None = None) -> Tensor:
    """Converts strings from one encoding to another.

    Args:
        input: The input tensor.
        input_encoding: Encoding of the input, as ICU names it.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: What happens to invalid characters: "replace", "ignore" or "strict", which fails.
        replacement_char: Code point that replaces invalid characters.
        replace_control_characters: Whether C0 control characters are replaced too.
        name: A name for the operations that are added to the graph.
    """
    return _unicode_transcode(input, input_encoding=input_encoding, output_encoding=output_encoding, errors=errors, replacement_char=replacement_char, replace_control_characters=replace_control_characters, name=name)


def unique_with_counts(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> Any:
    """Returns the distinct values, the index of each element among them, and their counts.

    Args:
        x: A vector.
        out_idx: The integer type of the indices that are returned.
        name: A name for the operations that are added to the graph.
    """
    return _unique_with_counts.many(x, out_idx=out_idx, name=name)


def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """Converts flat indices to coordinates, one row per dimension.

    Args:
        indices: Flat indices.
        dims: Shape that the indices refer to.
        name: A name for the operations that are added to the graph.
    """
    return _unravel_index(indices, dims, name=name)


def unsorted_segment_join(inputs: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, separator: str = '', name: str | None = None) -> Tensor:
    """Joins the strings of each segment in order.

    Args:
        inputs: The strings to join.
        segment_ids: Segment of each row, in any order; negative ids leave a row out.
        num_segments: Number of segments.
        separator: String put between the joined parts.
        name: A name for the operations that are added to the graph.
    """
    return _unsorted_segment_join(inputs, segment_ids, num_segments, separator=separator, name=name)


def unsorted_segment_max(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None) -> Tensor:
    """Computes the maximum of the rows that share an id.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row, in any order; negative ids leave a row out.
        num_segments: Number of segments.
        name: A name for the operations that are added to the graph.
    """
    return _unsorted_segment_max(data, segment_ids, num_segments, name=name)


def unsorted_segment_min(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None) -> Tensor:
    """Computes the minimum of the rows that share an id.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row, in any order; negative ids leave a row out.
        num_segments: Number of segments.
        name: A name for the operations that are added to the graph.
    """
    return _unsorted_segment_min(data, segment_ids, num_segments, name=name)


def unsorted_segment_prod(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None) -> Tensor:
    """Multiplies the rows that share an id.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row, in any order; negative ids leave a row out.
        num_segments: Number of segments.
        name: A name for the operations that are added to the graph.
    """
    return _unsorted_segment_prod(data, segment_ids, num_segments, name=name)


def unsorted_segment_sum(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None) -> Tensor:
    """Sums the rows that share an id; rows with negative ids are dropped.

    Args:
        data: The rows to combine.
        segment_ids: Segment of each row, in any order; negative ids leave a row out.
        num_segments: Number of segments.
        name: A name for the operations that are added to the graph.
    """
    return _unsorted_segment_sum(data, segment_ids, num_segments, name=name)


def upper(input: TensorLike, encoding: str = '', name: str | None = None) -> Tensor:
    """Converts strings to upper case: ASCII, or with encoding 'utf-8' Unicode.

    Args:
        input: The input tensor.
        encoding: "utf-8", or "" to change ASCII letters alone.
        name: A name for the operations that are added to the graph.
    """
    return _upper(input, encoding=encoding, name=name)


def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Operation:
    """Writes a file, and creates its parent directories if they are missing.

    Args:
        filename: Path of the file.
        contents: The string to write.
        name: A name for the operations that are added to the graph.
    """
    return _write_file.operation(filename, contents, name=name)


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y, element-wise, and 0 where x is 0.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _xdivy(x, y, name=name)


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x * log(1 + y), element-wise, and 0 where x is 0.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _xlog1py(x, y, name=name)


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x * log(y), element-wise, and 0 where x is 0.

    Args:
        x: The input tensor.
        y: The second input tensor.
        name: A name for the operations that are added to the graph.
    """
    return _xlogy(x, y, name=name)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Computes the Hurwitz zeta function, element-wise.

    Args:
        x: The exponents.
        q: The offsets.
        name: A name for the operations that are added to the graph.
    """
    return _zeta(x, q, name=name)

"""Image quality and gradients: total variation, Sobel edges, PSNR and SSIM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater_equal
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.depthwise_convolution import depthwise_conv2d
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.image_color import convert_image_dtype
from thalweg._src.graph.ops.math import abs, log, pow, square, squared_difference, subtract
from thalweg._src.graph.ops.nn import relu
from thalweg._src.graph.ops.pad_tile import pad, tile
from thalweg._src.graph.ops.pooling import avg_pool
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_all, reduce_mean, reduce_prod, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape as shape_of, shape_n, size as size_of, zeros
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
_SOBEL = [[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]]  # by height, by width


@export("image.total_variation")
def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sum of absolute differences of neighbouring pixels, per image.

    Args:
        images: An image, or a batch of images.
    """
    with name_scope(name, "total_variation", [images]):
        images = convert_to_tensor(images, name="images")
        count = None if images.dims is None else len(images.dims)
        if count not in (3, 4):
            raise ValueError(f"'images' must be either 3 or 4-dimensional, not of shape {images.get_shape()}")
        axes = None if count == 3 else [1, 2, 3]
        down = images[..., 1:, :, :] - images[..., :-1, :, :]
        right = images[..., 1:, :] - images[..., :-1, :]
        return reduce_sum(abs(down), axis=axes) + reduce_sum(abs(right), axis=axes)


@export("image.image_gradients")
def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns the vertical and horizontal differences of pixels (dy, dx); they are 0 at the last row and column.

    Args:
        image: Images [batch, height, width, channels].
    """
    image = convert_to_tensor(image, name="image")
    if image.dims is None or len(image.dims) != 4:
        raise ValueError(f"image has shape {image.get_shape()}, expected [batch, height, width, channels]")
    sizes = shape_of(image)
    batch, height, width, depth = (sizes[i] for i in range(4))
    down, right = image[:, 1:] - image[:, :-1], image[:, :, 1:] - image[:, :, :-1]
    dy = concat([down, zeros(stack([batch, 1, width, depth]), image.dtype)], 1)
    dx = concat([right, zeros(stack([batch, height, 1, depth]), image.dtype)], 2)
    return reshape(dy, sizes), reshape(dx, sizes)


@export("image.sobel_edges")
def sobel_edges(image: TensorLike) -> Tensor:
    """Returns the Sobel filter responses along height and width, stacked in a last dimension.

    Args:
        image: Images [batch, height, width, channels].
    """
    image = convert_to_tensor(image, name="image")
    sizes = shape_of(image)
    weights = np.array(_SOBEL).transpose(1, 2, 0)[:, :, None].astype(image.dtype.as_numpy_dtype)
    kernels = tile(weights, stack([1, 1, sizes[3], 1]), name="sobel_filters")
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    output = reshape(depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID"), concat([sizes, [2]], 0))
    output.set_shape(image.get_shape().concatenate([2]))
    return output


# -- likeness ---------------------------------------------------------------------------------------------------------


def _comparable_shapes(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, list[Operation]]:
    """Returns the shapes of two images, and checks that they are equal up to broadcast outer dimensions."""
    one, two = first.get_shape().with_rank_at_least(3), second.get_shape().with_rank_at_least(3)
    one[-3:].assert_is_compatible_with(two[-3:])
    if first.dims is not None and second.dims is not None:
        for a, b in zip(reversed(first.dims[:-3]), reversed(second.dims[:-3])):
            if None not in (a, b) and a != b and 1 not in (a, b):
                raise ValueError(f"Two images are not compatible: {one} and {two}")
    sizes, others = shape_n([first, second])
    checks = [
        Assert(greater_equal(size_of(sizes), 3), [sizes, others], summarize=10),
        Assert(reduce_all(equal(sizes[-3:], others[-3:])), [sizes, others], summarize=10),
    ]
    return sizes, others, checks


@export("image.psnr")
def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """Returns the peak signal-to-noise ratio in decibels, per image.

    Args:
        a: The first images.
        b: The second images.
    """
    with name_scope(name, "PSNR", [a, b]):
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, a.dtype, name="b")
        limit = convert_image_dtype(cast(max_val, a.dtype), dtypes.float32)
        first, second = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
        _, _, checks = _comparable_shapes(first, second)
        error = reduce_mean(squared_difference(first, second), [-3, -2, -1])
        signal = 20 * log(limit) / np.float32(np.log(10.0))
        ratio = subtract(signal, np.float32(10 / np.log(10)) * log(error), name="psnr")
        with control_dependencies(checks):
            return identity(ratio)


def _prepared(img1: TensorLike, img2: TensorLike, max_val: TensorLike) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
    """Returns both images and the maximum value as floats, and the shapes of the images."""
    img1 = convert_to_tensor(img1, name="img1")
    img2 = convert_to_tensor(img2, img1.dtype, name="img2")
    sizes, others, checks = _comparable_shapes(img1, img2)
    with control_dependencies(checks):
        img1 = identity(img1)
    limit = convert_image_dtype(cast(max_val, img1.dtype), dtypes.float32)
    first, second = convert_image_dtype(img1, dtypes.float32), convert_image_dtype(img2, dtypes.float32)
    return first, second, limit, [sizes, others]


def _gaussian_window(size: int, sigma: float) -> np.ndarray[Any, Any]:
    """Returns a normalized Gaussian window."""
    squares = (np.arange(size, dtype=np.float32) - np.float32(size - 1) / 2) ** 2 * np.float32(-0.5 / sigma**2)
    weights = np.exp(squares[:, None] + squares[None])
    bell: np.ndarray[Any, Any] = (weights / weights.sum()).astype(np.float32).reshape(size, size, 1, 1)
    return bell


def _windowed(size: int, sigma: float, channels: Tensor) -> Callable[[Tensor], Tensor]:
    """Returns the function that computes the weighted mean over each window."""
    kernel = tile(_gaussian_window(size, sigma), stack([1, 1, channels, 1]))

    def reduce(x: Tensor) -> Tensor:
        sizes = shape_of(x)
        flat = reshape(x, concat([[-1], sizes[-3:]], 0))
        means = depthwise_conv2d(flat, kernel, [1, 1, 1, 1], "VALID")
        return reshape(means, concat([sizes[:-3], shape_of(means)[1:]], 0))

    return reduce


def _ssim_per_channel(
    x: Tensor,
    y: Tensor,
    limit: Tensor,
    filter_size: int,
    filter_sigma: float,
    k1: float,
    k2: float,
    index_map: bool = False,
) -> tuple[Tensor, Tensor]:
    """Returns the SSIM of each channel, and its contrast-structure factor."""
    sizes, others = shape_n([x, y])
    checks = [
        Assert(reduce_all(greater_equal(s[-3:-1], filter_size)), [s, filter_size], summarize=8) for s in (sizes, others)
    ]
    with control_dependencies(checks):
        x = identity(x)
    reduce = _windowed(filter_size, filter_sigma, sizes[-1])
    c1, c2 = square(k1 * limit), square(k2 * limit)
    mean_x, mean_y = reduce(x), reduce(y)
    product, squares = mean_x * mean_y * 2.0, square(mean_x) + square(mean_y)
    luminance = (product + c1) / (squares + c1)
    structure = (reduce(x * y) * 2.0 - product + c2) / (reduce(square(x) + square(y)) - squares + c2)
    if index_map:
        return luminance * structure, structure
    return reduce_mean(luminance * structure, [-3, -2]), reduce_mean(structure, [-3, -2])


@export("image.ssim")
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Returns the structural similarity of images, at most 1: the mean, or that of each window."""
    with name_scope(None, "SSIM", [img1, img2]):
        first, second, limit, _ = _prepared(img1, img2, max_val)
        similarity, _ = _ssim_per_channel(first, second, limit, filter_size, filter_sigma, k1, k2, return_index_map)
        return reduce_mean(similarity, [-1])


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = _SCALES,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Returns the multi-scale structural similarity of images; each scale halves the size."""
    with name_scope(None, "MS-SSIM", [img1, img2]):
        first, second, limit, sizes = _prepared(img1, img2, max_val)
        images, heads = [first, second], [s[:-3] for s in sizes]
        structures: list[Tensor] = []
        likeness = first
        for scale in range(len(power_factors)):
            with name_scope(None, f"Scale{scale}", images):
                if scale:
                    images = [_downsampled(image, head) for image, head in zip(images, heads)]
                x, y = images
                likeness, structure = _ssim_per_channel(x, y, limit, filter_size, filter_sigma, k1, k2)
                structures.append(relu(structure))
        values = stack([*structures[:-1], relu(likeness)], axis=-1)
        return reduce_mean(reduce_prod(pow(values, np.array(power_factors, np.float32)), [-1]), [-1])


def _downsampled(image: Tensor, head: Tensor) -> Tensor:
    """Returns images of half the size; an odd last row or column is repeated first."""
    tail = shape_of(image)[-3:]
    flat = reshape(image, concat([[-1], tail], 0))
    rest = expand_dims(tail % [2, 2, 1], -1)
    padded = pad(flat, pad(rest, [[1, 0], [1, 0]]), mode="SYMMETRIC")
    small = avg_pool(padded, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    return reshape(small, concat([head, shape_of(small)[1:]], 0))

"""Kernels of batch normalization and local response normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
Function = Callable[..., Any]
_backward = torch.ops.aten.native_batch_norm_backward.default


def _permutations(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the permutations from the op's layout to torch's NC... and back."""
    layout = node.attrs["data_format"]
    rank = len(layout)
    if layout.startswith("NC"):
        return tuple(range(rank)), tuple(range(rank))
    return (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)


def _entered(x: Tensor, order: tuple[int, ...]) -> Tensor:
    if x.dim() != len(order):
        raise errors.ShapeError(f"the images have rank {x.dim()}", expected=f"rank {len(order)}")
    return x.permute(order)


def _require(x: Tensor, *vectors: Tensor) -> None:
    for vector in vectors:
        if vector.dim() != 1 or vector.shape[0] != x.shape[1]:
            raise errors.ShapeError(
                f"channels differ: {x.shape[1]} and {list(vector.shape)}", expected="one entry per channel"
            )


def _fits(node: Node) -> bool:
    """Returns whether the vectors are statically known to have one entry per channel."""
    layout, shape = node.attrs["data_format"], node.input_shape(0)
    if shape is None or len(shape) != len(layout):
        return False
    channels = shape[layout.index("C")]
    used = range(1, 3) if node.attrs["is_training"] else range(1, 5)
    return channels is not None and all(node.input_shape(i) == (channels,) for i in used)


@kernel("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def bind_batch_norm(node: Node, device: Device) -> Function:
    enter, leave = _permutations(node)
    epsilon, count, factor = node.attrs["epsilon"], len(node.dtypes), node.attrs["exponential_avg_factor"]
    fits = _fits(node)
    reserved = torch.empty(0, dtype=TORCH[node.dtypes[1]], device=device.torch)

    def by_batch(x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, ...]:
        image = x.permute(enter) if fits else _entered(x, enter)
        if not fits:
            _require(image, scale, offset)
        if factor == 1.0:
            mean, variance = torch.zeros_like(scale), torch.zeros_like(scale)
        else:
            _require(image, mean, variance)
            mean, variance = mean.clone(), variance.clone()
        if x.numel() == 0:
            nothing = torch.full_like(scale, torch.nan)
            return (x, nothing, nothing, nothing, nothing, reserved)[:count]
        single = image.numel() == image.shape[1]
        old = variance.clone() if single else variance
        # torch blends the statistics into its arguments, with the unbiased variance: exactly what the op returns.
        y, batch_mean, inverse = torch.native_batch_norm(image, scale, offset, mean, variance, True, factor, epsilon)
        if single:
            variance = old * (1 - factor)  # a single element has no unbiased variance; TensorFlow uses 0
        return (y.permute(leave), mean, variance, batch_mean, inverse, reserved)[:count]

    def by_moments(x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, ...]:
        image = x.permute(enter) if fits else _entered(x, enter)
        if not fits:
            _require(image, scale, offset, mean, variance)
        y = torch.native_batch_norm(image, scale, offset, mean, variance, False, 0.0, epsilon)[0]
        return (y.permute(leave), mean, variance, mean, variance, reserved)[:count]

    return by_batch if node.attrs["is_training"] else by_moments


_VECTORS = ("scale", "reserve_space_1", "reserve_space_2")


@kernel("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", dense=_VECTORS)
def bind_batch_norm_grad(node: Node, device: Device) -> Function:
    enter, leave = _permutations(node)
    epsilon, training = node.attrs["epsilon"], node.attrs["is_training"]

    def grads(g: Tensor, x: Tensor, scale: Tensor, first: Tensor, second: Tensor, *_: Tensor) -> tuple[Tensor, ...]:
        """Uses the batch's mean and inverse standard deviation in training, otherwise the given mean and variance."""
        grad, image = _entered(g, enter), _entered(x, enter)
        _require(image, scale, first, second)
        if grad.shape != image.shape:
            raise errors.ShapeError(f"Shapes {list(g.shape)} and {list(x.shape)} are not compatible.")
        empty = scale.new_empty(0)
        if x.numel() == 0:
            return x, torch.zeros_like(scale), torch.zeros_like(scale), empty, empty
        saved: tuple[Tensor | None, ...] = (None, None, first, second)
        if not training:
            saved = (first, second, first, torch.rsqrt(second + epsilon))
        by_x, by_scale, by_offset = _backward(grad, image, scale, *saved, training, epsilon, [True, True, True])
        return by_x.permute(leave), by_scale, by_offset, empty, empty

    return grads


def _sum_of_neighbours(x: Tensor, radius: int) -> Tensor:
    """Sums each channel with those at most `radius` away."""
    if not x.numel():
        return x
    return torch.constant_pad_nd(x, [radius, radius]).unfold(-1, 2 * radius + 1, 1).sum(-1)


def _lrn_settings(node: Node) -> tuple[int, float, float, float]:
    attrs = node.attrs
    return attrs["depth_radius"], attrs["bias"], attrs["alpha"], attrs["beta"]


@kernel("LRN")
def bind_lrn(node: Node, device: Device) -> Function:
    radius, bias, alpha, beta = _lrn_settings(node)

    def normalize(x: Tensor) -> Tensor:
        return x * (bias + alpha * _sum_of_neighbours(torch.square(x), radius)).pow(-beta)

    return normalize


@kernel("LRNGrad")
def bind_lrn_grad(node: Node, device: Device) -> Function:
    radius, bias, alpha, beta = _lrn_settings(node)

    def by_input(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
        require(grad.shape == x.shape == y.shape, "gradient, input and output have different shapes")
        norm = bias + alpha * _sum_of_neighbours(torch.square(x), radius)
        return grad * norm.pow(-beta) - 2 * alpha * beta * x * _sum_of_neighbours(grad * y / norm, radius)

    return by_input

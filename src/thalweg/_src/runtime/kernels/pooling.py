"""Kernels of pooling, on channels-last views of NHWC tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.pooling import depth_window
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.ops.windows import Window, kernel_of, window_of
from thalweg._src.runtime.kernels.convolution import Layout, check
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.scatter import movable
from thalweg._src.runtime.kernels.sorting import comparable, restored
from thalweg._src.runtime.kernels.types import INTEGERS, TORCH, TORCH_UNSIGNED
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
Function = Callable[..., Any]
_aten = torch.ops.aten
_MAX = {2: torch._C._nn.max_pool2d_with_indices, 3: torch._C._nn.max_pool3d_with_indices}
_MAX_BACKWARD = {
    2: _aten.max_pool2d_with_indices_backward.grad_input,
    3: _aten.max_pool3d_with_indices_backward.grad_input,
}
_AVG = {2: torch._C._nn.avg_pool2d, 3: torch._C._nn.avg_pool3d}
_AVG_BACKWARD = {2: _aten.avg_pool2d_backward.default, 3: _aten.avg_pool3d_backward.default}
_FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}


class _Plan:
    """How torch pools images of certain sizes: its own padding, ceil_mode, and explicit padding beforehand.

    Windows that extend past the far border, as SAME requires where the sides differ, are torch's ceil_mode; only what
    neither of the two can express needs a padded copy.
    """

    __slots__ = ("added", "ceil", "kernel", "padding", "pads", "sizes", "strides")

    def __init__(self, window: Window, kernel: tuple[int, ...], sizes: Sequence[int]) -> None:
        if window.padding == "SAME":  # beyond some size every window covers the whole image
            spans = [size + (-(-size // stride) - 1) * stride for size, stride in zip(sizes, window.strides)]
            kernel = tuple(map(min, kernel, spans))
        pads = window.pads(tuple(sizes), kernel)
        assert pads is not None
        counts = window.output(tuple(sizes), kernel)
        self.kernel, self.strides, self.pads = list(kernel), list(window.strides), pads
        self.sizes = list(sizes)
        self.padding = [before for before, _ in pads]
        self.added: list[int] | None = None
        self.ceil = False
        if all(before * 2 <= extent for before, extent in zip(self.padding, kernel)):
            if self._positions(False) == counts:
                return
            if self._positions(True) == counts:
                self.ceil = True
                return
        self.padding = [0] * len(pads)
        self.added = [size for pair in reversed(pads) for size in pair]
        self.sizes = [size + sum(pair) for size, pair in zip(sizes, pads)]

    def _positions(self, ceil: bool) -> tuple[int, ...]:
        """Returns the number of windows that torch would use."""
        result = []
        for size, extent, stride, pad in zip(self.sizes, self.kernel, self.strides, self.padding):
            room = size + 2 * pad - extent
            count = (-(-room // stride) if ceil else room // stride) + 1
            if ceil and (count - 1) * stride >= size + pad:
                count -= 1
            result.append(count)
        return tuple(result)

    def crop(self, x: Tensor) -> Tensor:
        """Removes the explicit padding."""
        if self.added is None:
            return x
        for axis, (before, after) in enumerate(self.pads, 2):
            x = x.narrow(axis, before, x.shape[axis] - before - after)
        return x.contiguous(memory_format=_FORMATS[x.dim() - 2])


class Pool:
    """A bound pool: its plan is fixed if the sizes are static, otherwise it is computed from each step's sizes."""

    def __init__(self, node: Node, shape: Shape) -> None:
        self.node = node
        self.window = window_of(node.attrs)
        self.kernel = kernel_of(node.attrs)
        self.layout = Layout(self.window)
        self.rank = self.window.rank
        self.plan: _Plan | None = None
        self.sizes = self.window.spatial(shape or (None,) * (self.rank + 2))
        if None not in self.sizes and 0 not in self.sizes:
            self.plan = _Plan(self.window, self.kernel, self.sizes)
        self._plans: dict[tuple[int, ...], _Plan] = {}

    def plan_for(self, sizes: Sequence[int]) -> _Plan:
        if self.plan is not None:
            return self.plan
        key = tuple(sizes)
        plan = self._plans.get(key)
        if plan is None:
            plan = _Plan(self.window, self.kernel, key)
            if len(self._plans) < 64:
                self._plans[key] = plan
        return plan

    def maximum(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the maxima of images in torch's layout, and their indices in the (padded) image."""
        if x.numel() == 0:
            dims = (*x.shape[:2], *self.window.output(tuple(x.shape[2:]), self.kernel))
            return x.new_zeros(dims), x.new_zeros(dims, dtype=torch.int64)
        if x.dtype in TORCH_UNSIGNED:
            y, indices = self.maximum(x.to(torch.int64))
            return y.to(x.dtype), indices
        plan = self.plan_for(x.shape[2:])
        if plan.added is not None:
            x = torch.constant_pad_nd(x, plan.added, _lowest(x.dtype))
        return _MAX[self.rank](x, plan.kernel, plan.strides, plan.padding, 1, plan.ceil)

    def max_backward(self, grad: Tensor, indices: Tensor, dims: Sequence[int]) -> Tensor:
        """Scatters gradients to the positions of the maxima, in an image of zeros with the given NC... sizes."""
        if grad.numel() == 0:
            return grad.new_zeros(dims)
        if not grad.dtype.is_floating_point:
            return self.max_backward(grad.to(torch.float64), indices, dims).to(grad.dtype)
        plan = self.plan_for(dims[2:])
        image = torch.empty(
            (*dims[:2], *plan.sizes), dtype=grad.dtype, device=grad.device, memory_format=_FORMATS[self.rank]
        )
        # The kernel uses only the sizes of the image, so the result itself can be passed instead.
        _MAX_BACKWARD[self.rank](
            grad, image, plan.kernel, plan.strides, plan.padding, [1] * self.rank, plan.ceil, indices, grad_input=image
        )
        return plan.crop(image)

    def collect(self, grad: Tensor, indices: Tensor) -> Tensor:
        """Gathers from an image the elements at the positions of the maxima."""
        plan = self.plan_for(grad.shape[2:])
        if plan.added is not None:
            grad = torch.constant_pad_nd(grad, plan.added)
        positions = indices.flatten(2)
        return movable(grad).flatten(2).gather(2, positions).view(indices.shape).view(grad.dtype)

    def mean(self, x: Tensor) -> Tensor:
        if self.rank == 3 and x.dtype is torch.bfloat16:  # torch lacks this pool on some devices
            return self.mean(x.float()).to(x.dtype)
        if x.numel() == 0:
            return x.new_zeros((*x.shape[:2], *self.window.output(tuple(x.shape[2:]), self.kernel)))  # type: ignore[arg-type]
        plan = self.plan_for(x.shape[2:])
        pool = _AVG[self.rank]
        if plan.added is None:
            return pool(x, plan.kernel, plan.strides, plan.padding, plan.ceil, False)
        return pool(torch.constant_pad_nd(x, plan.added), plan.kernel, plan.strides) / self._filled(plan, x)

    def mean_backward(self, grad: Tensor, dims: Sequence[int]) -> Tensor:
        if self.rank == 3 and grad.dtype is torch.bfloat16:
            return self.mean_backward(grad.float(), dims).to(grad.dtype)
        if grad.numel() == 0:
            return grad.new_zeros(dims)
        plan = self.plan_for(dims[2:])
        # torch's channels-last kernel on GPUs computes wrong gradients with padding.
        last = grad.device.type == "cpu" or not any(plan.padding)
        order = _FORMATS[self.rank] if last else torch.contiguous_format
        like = torch.empty((*dims[:2], *plan.sizes), dtype=grad.dtype, device=grad.device, memory_format=order)
        if plan.added is not None:
            grad = grad / self._filled(plan, grad)
        result: Tensor = _AVG_BACKWARD[self.rank](
            grad, like, plan.kernel, plan.strides, plan.padding, plan.ceil, False, None
        )
        return plan.crop(result) if last else result.contiguous(memory_format=_FORMATS[self.rank])

    def _filled(self, plan: _Plan, x: Tensor) -> Tensor:
        """Returns the fraction of each window that lies in the image."""
        assert plan.added is not None
        inner = [size - sum(pair) for size, pair in zip(plan.sizes, plan.pads)]
        ones = x.new_ones((1, 1, *inner))
        return _AVG[self.rank](torch.constant_pad_nd(ones, plan.added), plan.kernel, plan.strides)


def _lowest(dtype: torch.dtype) -> float:
    return -torch.inf if dtype.is_floating_point else torch.iinfo(dtype).min


@kernel("MaxPool", "MaxPool3D", cpu_types=INTEGERS)
def bind_max_pool(node: Node, device: Device) -> Function | Call:
    depth = depth_window(node.attrs)
    if depth > 1:
        return _over_depth(node, depth)
    pool = Pool(node, node.input_shape(0))
    layout, plan = pool.layout, pool.plan
    halves = plan is not None and plan.kernel == plan.strides == [2, 2] and all(size % 2 == 0 for size in plan.sizes)
    if halves and device.type == "CPU" and TORCH[node.attrs["T"]] not in TORCH_UNSIGNED:
        return _halve_rows_last if layout.first else _halve_rows_first

    def largest(x: Tensor) -> Tensor:
        _require_fit(pool, x)
        return layout.leave(pool.maximum(layout.enter(x))[0])

    return largest


def _over_depth(node: Node, depth: int) -> Function:
    def largest(x: Tensor) -> Tensor:
        check(node, x.shape)
        groups = comparable(x).reshape(*x.shape[:3], x.shape[3] // depth, depth)
        return restored(groups.amax(4), x.dtype)

    return largest


def _halve_rows_first(x: Tensor) -> Tensor:
    """Computes 2x2 max pooling of NHWC images by three passes without indices."""
    upper = torch.maximum(x[:, ::2, ::2], x[:, ::2, 1::2])
    return torch.maximum(upper, torch.maximum(x[:, 1::2, ::2], x[:, 1::2, 1::2]))


def _halve_rows_last(x: Tensor) -> Tensor:
    upper = torch.maximum(x[..., ::2, ::2], x[..., ::2, 1::2])
    return torch.maximum(upper, torch.maximum(x[..., 1::2, ::2], x[..., 1::2, 1::2]))


def _require_fit(pool: Pool, x: Tensor) -> None:
    if pool.plan is None:
        check(pool.node, x.shape)


@kernel("_MaxPoolIndexed", cpu_types=INTEGERS)
def bind_max_pool_indexed(node: Node, device: Device) -> Function:
    pool = Pool(node, node.input_shape(0))
    layout = pool.layout

    def largest(x: Tensor) -> tuple[Tensor, Tensor]:
        _require_fit(pool, x)
        y, indices = pool.maximum(layout.enter(x))
        return layout.leave(y), layout.leave(indices)

    return largest


@kernel("_MaxPoolIndexedGrad", cpu_types=INTEGERS)
def bind_max_pool_indexed_grad(node: Node, device: Device) -> Function | Call:
    shape = node.shapes[0]
    pool = Pool(node, shape)
    layout, window = pool.layout, pool.window
    channels = None if shape is None else window.channels(shape)
    inner = [channels, *pool.sizes] if pool.plan is not None and channels is not None else None

    def backward(dims: Sequence[int], indices: Tensor, grad: Tensor) -> Tensor:
        return layout.leave(pool.max_backward(layout.enter(grad), layout.enter(indices), dims))

    source = node.inputs[1][0]
    is_trusted = source.type == "_MaxPoolIndexed" and source.inputs[0] == node.inputs[0]
    if not is_trusted and not device.compiling:  # a cluster sees no further than its inputs

        def backward_checked(x: Tensor, indices: Tensor, grad: Tensor) -> Tensor:
            check(node, x.shape, indices.shape, grad.shape)
            dims = layout.enter(x).shape
            _require_inside(pool.plan_for(dims[2:]), indices)
            return backward(dims, indices, grad)

        return backward_checked
    if inner is None:
        return lambda x, indices, grad: backward(layout.enter(x).shape, indices, grad)

    def backward_static(indices: Tensor, grad: Tensor) -> Tensor:
        return backward([grad.shape[0], *inner], indices, grad)

    # With static sizes the input itself is not used, so that it need not be kept alive until now.
    return Call(backward_static, (Input(1), Input(2)))


def _require_inside(plan: _Plan, indices: Tensor) -> None:
    """Requires indices within the (padded) image: torch would write out of bounds."""
    if indices.numel():
        low, high = (int(bound) for bound in torch.aminmax(indices))
        limit = math.prod(plan.sizes)
        require(low >= 0 and high < limit, f"indices has {low if low < 0 else high}", expected=f"0 to {limit - 1}")


@kernel("MaxPoolGrad", "MaxPool3DGrad", cpu_types=INTEGERS)
def bind_max_pool_grad(node: Node, device: Device) -> Function:
    pool = Pool(node, node.input_shape(0))
    layout = pool.layout

    def backward(x: Tensor, y: Tensor, grad: Tensor) -> Tensor:
        if grad.shape != y.shape or pool.plan is None:
            check(node, x.shape, y.shape, grad.shape)
        image = layout.enter(x)
        return layout.leave(pool.max_backward(layout.enter(grad), pool.maximum(image)[1], image.shape))

    return backward


@kernel("MaxPoolGradGrad", "MaxPool3DGradGrad", cpu_types=INTEGERS)
def bind_max_pool_grad_grad(node: Node, device: Device) -> Function:
    pool = Pool(node, node.input_shape(0))
    layout = pool.layout

    def collect(x: Tensor, y: Tensor, grad: Tensor) -> Tensor:
        if grad.shape != x.shape or pool.plan is None:
            check(node, x.shape, y.shape, grad.shape)
        return layout.leave(pool.collect(layout.enter(grad), pool.maximum(layout.enter(x))[1]))

    return collect


@kernel("AvgPool", "AvgPool3D")
def bind_avg_pool(node: Node, device: Device) -> Function | Call:
    pool = Pool(node, node.input_shape(0))
    layout, plan = pool.layout, pool.plan
    shape = node.input_shape(0)
    plain = pool.rank == 2 or node.attrs["T"] is not dtypes.bfloat16
    if plain and plan is not None and plan.added is None and window_is_full(pool.window, shape):
        mean = (layout.entering(Input(0)), plan.kernel, plan.strides, plan.padding, plan.ceil, False)
        return layout.leaving(Call(_AVG[pool.rank], mean))

    def mean_of(x: Tensor) -> Tensor:
        _require_fit(pool, x)
        return layout.leave(pool.mean(layout.enter(x)))

    return mean_of


def window_is_full(window: Window, shape: Shape) -> bool:
    """Returns whether images are known to be non-empty apart from the batch: torch rejects empty pools."""
    return shape is not None and bool(window.channels(shape)) and shape[0] is not None and shape[0] > 0


@kernel("AvgPoolGrad", "AvgPool3DGrad")
def bind_avg_pool_grad(node: Node, device: Device) -> Function:
    pool = Pool(node, node.shapes[0])
    layout, window = pool.layout, pool.window
    is_known = pool.plan is not None and None not in (node.input_shape(1) or (None,))

    def backward(shape: Tensor, grad: Tensor) -> Tensor:
        dims = shape.tolist()
        if not is_known:  # torch would read beyond the end
            check(node, shape.shape, grad.shape, values={0: shape.numpy()})
        whole = [dims[0], window.channels(dims), *window.spatial(dims)]
        return layout.leave(pool.mean_backward(layout.enter(grad), whole))

    return backward


# Pools with indices, in TensorFlow's order: rows, columns, channels, and optionally batches.


@kernel("MaxPoolWithArgmax", cpu_types=INTEGERS)
def bind_max_pool_with_argmax(node: Node, device: Device) -> Function:
    pool = Pool(node, node.input_shape(0))
    layout = pool.layout
    kind, batches = TORCH[node.attrs["Targmax"]], node.attrs["include_batch_in_index"]

    def largest(x: Tensor) -> tuple[Tensor, Tensor]:
        _require_fit(pool, x)
        y, indices = pool.maximum(layout.enter(x))
        return layout.leave(y), _flat_indices(layout.leave(indices), x, pool.plan_for(x.shape[1:3]), batches).to(kind)

    return largest


def _flat_indices(indices: Tensor, x: Tensor, plan: _Plan, batches: bool) -> Tensor:
    batch, height, width, channels = x.shape
    if plan.added is not None:
        rows = indices // plan.sizes[1] - plan.pads[0][0]
        indices = rows * width + indices % plan.sizes[1] - plan.pads[1][0]
    flat = indices * channels + torch.arange(channels, device=x.device)
    if batches:
        flat = flat + torch.arange(batch, device=x.device).reshape(-1, 1, 1, 1) * (height * width * channels)
    return flat


@kernel("MaxPoolGradWithArgmax", "MaxPoolGradGradWithArgmax", cpu_types=INTEGERS)
def bind_max_pool_grad_with_argmax(node: Node, device: Device) -> Function:
    batches, backward = node.attrs["include_batch_in_index"], node.type == "MaxPoolGradWithArgmax"

    def flat_positions(x: Tensor, argmax: Tensor, count: int) -> Tensor:
        """Returns positions among `count` elements; on a GPU, which checks no values, wrong ones are moved inside."""
        flat = argmax.to(torch.int64)
        if not batches:
            step = x.shape[1] * x.shape[2] * x.shape[3]
            flat = flat + torch.arange(x.shape[0], device=x.device).reshape(-1, 1, 1, 1) * step
        flat = flat.flatten()
        return flat if flat.device.type == "cpu" or not count else flat.clamp(0, count - 1)

    def scatter(x: Tensor, grad: Tensor, argmax: Tensor) -> Tensor:
        check(node, x.shape, grad.shape, argmax.shape)
        image = torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
        movable(image).index_add_(0, flat_positions(x, argmax, x.numel()), movable(grad.flatten()))
        return image.reshape(x.shape)

    def collect(x: Tensor, grad: Tensor, argmax: Tensor) -> Tensor:
        check(node, x.shape, grad.shape, argmax.shape)
        elements = movable(grad.flatten()).index_select(0, flat_positions(x, argmax, grad.numel()))
        return elements.reshape(argmax.shape).view(grad.dtype)

    return scatter if backward else collect

"""Kernels of reductions, cumulative sums and argmax/argmin.

Constant axes are bound once; if the rank is known too, the step calls torch directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import normalize_axis
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.types import TORCH, UNSIGNED
from thalweg._src.runtime.resources.devices import Device

Dims = tuple[int, ...]
_TORCH = (torch.sum, torch.mean, torch.amax, torch.amin, torch.all, torch.any)


def _distinct(axes: Any, rank: int) -> Dims:
    flat = np.ravel(axes).tolist()
    dims = tuple(sorted({normalize_axis(axis, rank, "reduction axis") for axis in flat}))
    if len(dims) != len(flat):
        raise ShapeError(f"{flat} contains a duplicate axis", expected="distinct axes", hint=None)
    return dims


def _static_dims(node: Node) -> Dims | None:
    """Returns the axes if they are constant and the input's rank is known."""
    shape, axes = node.input_shape(0), node.constant(1)
    return None if shape is None or axes is None else _distinct(axes, len(shape))


def _unchanged(x: torch.Tensor) -> torch.Tensor:
    return x


def _call(node: Node, function: Callable[..., Any], dims: Dims, options: dict[str, Any]) -> Call:
    """Returns the call with the dimensions in torch's fastest form: omitted for all of them, an int for one."""
    if function not in _TORCH:
        return Call(function, (Input(0), dims), options)
    if len(dims) == len(node.input_shape(0) or ()) and not node.attrs["keep_dims"]:
        return Call(function, (Input(0),), options)
    return Call(function, (Input(0), dims[0] if len(dims) == 1 else dims), options)


def _bind(node: Node, function: Callable[..., Any], **options: Any) -> Callable[..., Any] | Call:
    """Binds `function(x, dims, keepdim=...)`; an empty dims means all to torch, none to TensorFlow."""
    if node.attrs["keep_dims"]:
        options["keepdim"] = True
    dims = _static_dims(node)
    if dims is not None:
        return _call(node, function, dims, options) if dims else Call(_unchanged, (Input(0),))
    constant = node.constant(1)

    def reduce(x: torch.Tensor, axes: torch.Tensor) -> Any:
        dims = _distinct(axes.tolist() if constant is None else constant, x.dim())
        return function(x, dims, **options) if dims else x

    return reduce


@kernel("Sum", cpu_types=UNSIGNED)
def bind_sum(node: Node, device: Device) -> Callable[..., Any] | Call:
    if node.dtypes[0].is_integer:
        return _bind(node, torch.sum, dtype=TORCH[node.dtypes[0]])  # torch would widen the type
    return _bind(node, torch.sum)


@kernel("Mean", cpu_types=UNSIGNED)
def bind_mean(node: Node, device: Device) -> Callable[..., Any] | Call:
    if node.dtypes[0].is_integer:
        return _bind(node, _integer_mean)
    if node.dtypes[0].is_complex:
        return _bind(node, _complex_mean)
    return _bind(node, torch.mean)


def _integer_mean(x: torch.Tensor, dims: Dims, keepdim: bool = False) -> torch.Tensor:
    total = torch.sum(x, dims, keepdim=keepdim, dtype=torch.int64)
    count = x.numel() // max(total.numel(), 1)
    return torch.div(total, max(count, 1), rounding_mode="trunc").to(x.dtype)


def _complex_mean(x: torch.Tensor, dims: Dims, keepdim: bool = False) -> torch.Tensor:
    return torch.mean(x, dims, keepdim=keepdim) if x.numel() else torch.sum(x, dims, keepdim=keepdim)


@kernel("Prod", cpu_types=UNSIGNED)
def bind_prod(node: Node, device: Device) -> Callable[..., Any] | Call:
    dtype = TORCH[node.dtypes[0]]
    dims = _static_dims(node)
    if dims and len(dims) == 1:
        return Call(torch.prod, (Input(0), dims[0]), {"keepdim": node.attrs["keep_dims"], "dtype": dtype})
    return _bind(node, _product)


def _product(x: torch.Tensor, dims: Dims, keepdim: bool = False) -> torch.Tensor:
    for dim in reversed(dims):  # torch reduces products along one dimension at a time
        x = torch.prod(x, dim, keepdim=keepdim, dtype=x.dtype)
    return x


@kernel("Max", cpu_types=UNSIGNED)
def bind_max(node: Node, device: Device) -> Callable[..., Any] | Call:
    return _bind_extreme(node, torch.amax)


@kernel("Min", cpu_types=UNSIGNED)
def bind_min(node: Node, device: Device) -> Callable[..., Any] | Call:
    return _bind_extreme(node, torch.amin)


def _bind_extreme(node: Node, function: Callable[..., torch.Tensor]) -> Callable[..., Any] | Call:
    """Binds amax or amin, which reject empty input; TensorFlow returns the type's minimum or maximum then."""
    shape, dims = node.input_shape(0), _static_dims(node)
    if shape is not None and dims is not None and all(shape[dim] for dim in dims):
        return _bind(node, function)
    dtype = TORCH[node.dtypes[0]]
    largest = float("inf") if dtype.is_floating_point else torch.iinfo(dtype).max
    smallest = -float("inf") if dtype.is_floating_point else torch.iinfo(dtype).min
    identity = smallest if function is torch.amax else largest

    def extreme(x: torch.Tensor, dims: Dims, keepdim: bool = False) -> torch.Tensor:
        if x.numel():
            return function(x, dims, keepdim=keepdim)
        return torch.full_like(torch.sum(x, dims, keepdim=keepdim, dtype=x.dtype), identity)

    return _bind(node, extreme)


@kernel("All")
def bind_all(node: Node, device: Device) -> Callable[..., Any] | Call:
    return _bind(node, torch.all)


@kernel("Any")
def bind_any(node: Node, device: Device) -> Callable[..., Any] | Call:
    return _bind(node, torch.any)


@kernel("EuclideanNorm", cpu_types=UNSIGNED)
def bind_euclidean_norm(node: Node, device: Device) -> Callable[..., Any] | Call:
    return _bind(node, _euclidean_norm)


def _euclidean_norm(x: torch.Tensor, dims: Dims, keepdim: bool = False) -> torch.Tensor:
    exact = x.is_floating_point() or x.is_complex()
    norm: torch.Tensor = torch.linalg.vector_norm(x if exact else x.double(), 2, dims, keepdim=keepdim)
    return norm.to(x.dtype)


@kernel("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm", T=UNSIGNED, priority=1, devices=["CPU"])
def bind_wide_unsigned(node: Node, device: Device) -> Callable[..., Any] | Call:
    return _bind(node, _on_arrays(_WIDE_REDUCTIONS[node.type]))


def _on_arrays(function: Callable[..., Any]) -> Callable[..., torch.Tensor]:
    def reduce(x: torch.Tensor, dims: Dims, keepdim: bool = False) -> torch.Tensor:
        array = x.numpy()
        return torch.from_numpy(np.asarray(function(array, axis=dims, keepdims=keepdim)).astype(array.dtype))

    return reduce


def _array_mean(array: np.ndarray[Any, Any], axis: Dims, keepdims: bool) -> Any:
    total = np.sum(array, axis=axis, keepdims=keepdims, dtype=np.uint64)
    return total // np.uint64(max(array.size // max(total.size, 1), 1))


_WIDE_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "Sum": np.sum,
    "Mean": _array_mean,
    "Prod": np.prod,
    "Max": lambda array, **options: np.max(array, initial=0, **options),
    "Min": lambda array, **options: np.min(array, initial=np.iinfo(array.dtype).max, **options),
    "EuclideanNorm": lambda array, **options: np.sqrt(np.sum(np.square(array.astype(np.float64)), **options)),
}


def _along(node: Node, what: str, function: Callable[[torch.Tensor, int], Any]) -> Callable[..., Any]:
    """Returns a kernel for one axis; torch lets a scalar have an axis, TensorFlow does not."""
    constant = node.constant(1)

    def apply(x: torch.Tensor, axis: torch.Tensor) -> Any:
        return function(x, normalize_axis(int(axis if constant is None else constant), x.dim(), what))

    return apply


def _static_dim(node: Node) -> int | None:
    dims = _static_dims(node)
    return None if dims is None else dims[0]


@kernel("ArgMax", "ArgMin", cpu_types=UNSIGNED)
def bind_position(node: Node, device: Device) -> Callable[..., Any] | Call:
    function = torch.argmax if node.type == "ArgMax" else torch.argmin
    dtype = TORCH[node.dtypes[0]]
    dim = _static_dim(node)
    x: Any = Input(0)
    if node.input_dtype(0) is dtypes.bool:
        x = Call(torch.Tensor.to, (x, torch.uint8))
    if dim is None:
        return _along(
            node, "dimension", lambda x, dim: function(x.byte() if x.dtype is torch.bool else x, dim).to(dtype)
        )
    position = Call(function, (x, dim))
    return position if dtype is torch.int64 else Call(torch.Tensor.to, (position, dtype))


@kernel("ArgMax", "ArgMin", T=UNSIGNED, priority=1, devices=["CPU"])
def bind_wide_position(node: Node, device: Device) -> Callable[..., Any]:
    function = np.argmax if node.type == "ArgMax" else np.argmin
    dtype = TORCH[node.dtypes[0]]
    return _along(
        node, "dimension", lambda x, dim: torch.from_numpy(np.asarray(function(x.numpy(), axis=dim))).to(dtype)
    )


@kernel("Cumsum", "Cumprod", "CumulativeLogsumexp")
def bind_scan(node: Node, device: Device) -> Callable[..., Any] | Call:
    dtype = TORCH[node.dtypes[0]]
    # int64 wraps around like the wide unsigned types
    working = torch.int64 if node.dtypes[0] in UNSIGNED else dtype
    function, start = _SCANS[node.type]
    options = {} if node.type == "CumulativeLogsumexp" else {"dtype": working}
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]
    dim = _static_dim(node)
    if dim is not None and not exclusive and not reverse and working is dtype:
        return Call(function, (Input(0), dim), options)

    def scan(x: torch.Tensor, dim: int) -> torch.Tensor:
        x = torch.flip(x.to(working), (dim,)) if reverse else x.to(working)
        if exclusive and x.shape[dim]:
            first = torch.full_like(torch.narrow(x, dim, 0, 1), start)
            x = torch.cat((first, torch.narrow(x, dim, 0, x.shape[dim] - 1)), dim)
        total = function(x, dim, **options)
        return (torch.flip(total, (dim,)) if reverse else total).to(dtype)

    return Call(scan, (Input(0), dim)) if dim is not None else _along(node, "axis", scan)


_SCANS: dict[str, tuple[Callable[..., torch.Tensor], float]] = {
    "Cumsum": (torch.cumsum, 0),
    "Cumprod": (torch.cumprod, 1),
    "CumulativeLogsumexp": (torch.logcumsumexp, -float("inf")),
}

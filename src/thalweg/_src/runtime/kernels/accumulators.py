"""Kernels of gradient accumulators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import compatible, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH, UNSIGNED, TensorValue
from thalweg._src.runtime.kernels.waiting import failure, require_same, shared
from thalweg._src.runtime.resources.accumulators import Accumulator, Origin, SparseAccumulator
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]
# dtypes that torch adds and divides
_TYPES = frozenset(TORCH) - dtypes.QUANTIZED - {dtypes.bool, *UNSIGNED}
_DENSE, _SPARSE = ("CPU", "GPU"), ("CPU",)


def _bind_handle(node: Node, device: Device, kind: type[Accumulator]) -> Constant:
    dtype, shape, reduction = (node.attrs[key] for key in ("dtype", "shape", "reduction_type"))
    accumulator = shared(node, device, "accumulator", lambda name: kind(name, dtype, shape, reduction))
    require_same(
        accumulator,
        {"kind": kind.__name__, "dtype": dtype.name, "shape": show(shape), "reduction_type": reduction},
        {
            "kind": type(accumulator).__name__,
            "dtype": accumulator.dtype.name,
            "shape": show(accumulator.shape),
            "reduction_type": accumulator.reduction,
        },
    )
    return Constant(accumulator)


@kernel("ResourceConditionalAccumulator", devices=_DENSE, dtype=_TYPES)
def bind_accumulator(node: Node, device: Device) -> Constant:
    return _bind_handle(node, device, Accumulator)


@kernel("SparseConditionalAccumulator", devices=_SPARSE, dtype=_TYPES)
def bind_sparse_accumulator(node: Node, device: Device) -> Constant:
    return _bind_handle(node, device, SparseAccumulator)


def _require(handle: object, kind: type[Accumulator], dtype: DType | None = None) -> Any:
    if type(handle) is not kind and not (kind is Accumulator and isinstance(handle, Accumulator) and dtype is None):
        raise invalid(f"the handle is not that of a {kind.__name__}: {handle!r}")
    if dtype is not None and handle.dtype is not dtype:
        raise invalid(f"{handle} accumulates {handle.dtype.name}, but is used with {dtype.name}")
    return handle


def _number(value: torch.Tensor, name: str) -> int:
    if value.ndim:
        raise invalid(f"{name} has shape {show(tuple(value.shape))}, expected a scalar")
    return int(value)


def _origin(node: Node) -> Origin | None:
    """Returns the replica that a gradient comes from, which synchronous optimizers note in attributes."""
    replica = node.attrs.get("_replica")
    if replica is None:
        return None
    return Origin(replica, node.attrs.get("_per_replica", 1), node.attrs.get("_in_order", False))


@kernel("ResourceAccumulatorApplyGradient", devices=_DENSE)
def bind_apply(node: Node, device: Device) -> Function:
    dtype, origin = node.attrs["dtype"], _origin(node)

    def apply(handle: object, local_step: torch.Tensor, gradient: torch.Tensor) -> None:
        _require(handle, Accumulator, dtype).apply(_number(local_step, "local_step"), gradient, origin)

    return apply


@kernel("SparseAccumulatorApplyGradient", devices=_SPARSE)
def bind_sparse_apply(node: Node, device: Device) -> Function:
    dtype, has_shape, origin = node.attrs["dtype"], node.attrs["has_known_shape"], _origin(node)

    def apply(
        handle: object, local_step: torch.Tensor, indices: TensorValue, values: TensorValue, shape: torch.Tensor
    ) -> None:
        accumulator = _require(handle, SparseAccumulator, dtype)
        step = _number(local_step, "local_step")
        if indices.ndim != 1 or not values.ndim or len(indices) != len(values):
            raise invalid(
                f"gradient_indices has shape {show(tuple(indices.shape))}, gradient_values "
                f"{show(tuple(values.shape))}, expected one row of values per index"
            )
        if len(indices) and int(indices.min()) < 0:
            raise invalid(f"an index of the gradient is negative: {int(indices.min())}")
        rows = accumulator.shape[0] if accumulator.shape else None
        if rows is not None and len(indices) and int(indices.max()) >= rows:
            slice_, index = int(indices.argmax()), int(indices.max())
            text = f"index of slice {slice_} exceeded limits of shape; index is {index} exceeded {rows}"
            raise invalid(f"Shape mismatch: {text}")
        if has_shape:
            sizes = tuple(shape.tolist()) if shape.ndim == 1 else None
            if sizes is None or sizes[1:] != tuple(values.shape[1:]) or not compatible(accumulator.shape, sizes):
                raise invalid(
                    f"gradient_shape is {shape.tolist()}, expected one that fits {accumulator} of shape "
                    f"{show(accumulator.shape)} and values of shape {show(tuple(values.shape))}"
                )
        accumulator.apply(step, (indices, values), origin)

    return apply


@kernel("ResourceAccumulatorTakeGradient", devices=_DENSE)
def bind_take(node: Node, device: Device) -> Function:
    return _bind_take(node, device, Accumulator)


@kernel("SparseAccumulatorTakeGradient", devices=_SPARSE)
def bind_sparse_take(node: Node, device: Device) -> Function:
    return _bind_take(node, device, SparseAccumulator)


def _bind_take(node: Node, device: Device, kind: type[Accumulator]) -> Function:
    dtype, fail = node.attrs["dtype"], failure(node, device)

    def take(step: Step, finish: Function, handle: object, num_required: torch.Tensor) -> None:
        accumulator = _require(handle, kind, dtype)

        def reduce(total: torch.Tensor, count: int) -> None:
            try:
                results = accumulator.reduced(total, count)
            except Exception as error:
                fail(step, invalid(f"the gradients of {accumulator} cannot be reduced: {error}"))
                return
            finish(*results)

        accumulator.take(_number(num_required, "num_required"), step, reduce, fail)

    return take


@kernel("ResourceAccumulatorNumAccumulated", devices=_DENSE)
@kernel("AccumulatorNumAccumulated", devices=_SPARSE)
def bind_count(node: Node, device: Device) -> Function:
    return lambda handle: torch.tensor(_require(handle, Accumulator).count, dtype=torch.int32)


@plain_kernel("ResourceAccumulatorSetGlobalStep", devices=_DENSE)
@plain_kernel("AccumulatorSetGlobalStep", devices=_SPARSE)
def _set_global_step(handle: object, step: torch.Tensor) -> None:
    _require(handle, Accumulator).set_global_step(_number(step, "new_global_step"))


@plain_kernel("_AccumulatorReset", devices=_DENSE)
def _reset(handle: object, step: torch.Tensor) -> None:
    _require(handle, Accumulator).reset(_number(step, "global_step"))

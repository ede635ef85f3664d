"""Gradients of NCCL ops: that of a sum is a broadcast, and that of a broadcast is a sum."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.nccl import nccl_all_reduce_op, nccl_broadcast_op
from thalweg._src.graph.scopes import device
from thalweg._src.graph.tensor import Tensor


def _require_sum(op: Operation) -> None:
    if op.attrs["reduction"] != "sum":
        raise LookupError(f"No gradient defined for {op.type} {op.name!r} with reduction {op.attrs['reduction']!r}")


@gradient("NcclAllReduce")
def all_reduce(op: Operation, grad: Tensor) -> Any:
    _require_sum(op)
    name = f"{op.attrs['shared_name']}_grad"
    with device(op.device):
        return nccl_all_reduce_op(grad, reduction="sum", num_devices=op.attrs["num_devices"], shared_name=name)


@gradient("NcclReduce")
def reduce(op: Operation, grad: Tensor) -> list[Any]:
    _require_sum(op)
    with device(op.device):
        sent = nccl_broadcast_op(grad, shape=grad.shape)
    return [sent] * len(op.inputs)


@gradient("NcclBroadcast")
def broadcast(op: Operation, grad: Tensor) -> Any:
    return grad

"""Collective ops: all-reduce, all-gather and broadcast over a group of devices, of one process or of several tasks.

Each member of a group runs an op of its own with the same `group_key`, `group_size` and `instance_key`. The step's
graph is lowered (`partition/collectives.py`): members of one process exchange values by Send and Recv, and one of them
takes part in what several tasks do together, by `_CollectiveStart` and `_CollectiveWait`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.shapes import Shape, ShapeLike, as_shape, compatible, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import (
    at_least_rank,
    from_shape_attr,
    no_outputs,
    require,
    scalar,
    unchanged,
)
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_GATHERED = (dtypes.float32, dtypes.float16, dtypes.float64, dtypes.int32, dtypes.int64)
_GROUP: dict[str, Any] = {
    "group_size": attr.integer(),
    "group_key": attr.integer(),
    "instance_key": attr.integer(),
    "communication_hint": "auto",
    "timeout_seconds": 0.0,
}


def _gathered(c: Inference) -> Sequence[Shape]:
    shape = at_least_rank(c, 0, 1)
    require(c.attrs["group_size"] > 0, f"group_size is {c.attrs['group_size']}", expected="a positive number")
    if shape is None:
        return [None]
    first = None if shape[0] is None else shape[0] * c.attrs["group_size"]
    return [(first, *shape[1:])]


def sent_shape(c: Inference) -> Sequence[Shape]:
    """Returns the shape of a broadcast, which that of the input must match."""
    expected = c.attrs["shape"]
    what = f"the shape {show(c.shapes[0])} of the input is not that of the broadcast"
    require(compatible(c.shapes[0], expected), what, expected=show(expected))
    return [expected]


collective_reduce_op = stateful_op(
    "CollectiveReduce",
    "input: T -> data: T",
    "Reduces the tensors of all members of a group; each member has the result.",
    T=attr.types((dtypes.bfloat16, *_GATHERED)),
    merge_op=attr.string("Min", "Max", "Mul", "Add"),
    final_op=attr.string("Id", "Div"),
    subdiv_offsets=attr.integers(),
    wait_for=attr.integers(default=[]),
    waits=True,
    infer=unchanged,
    **_GROUP,
)
collective_gather_op = stateful_op(
    "CollectiveGather",
    "input: T -> data: T",
    "Concatenates the tensors of all members of a group along the first axis.",
    T=attr.types(_GATHERED),
    shape=attr.shape(),
    waits=True,
    infer=_gathered,
    **_GROUP,
)
collective_send_op = stateful_op(
    "CollectiveBcastSend",
    "input: T -> data: T",
    "Sends a tensor to all other members of a group.",
    T=attr.types((dtypes.bool, *_GATHERED)),
    shape=attr.shape(),
    waits=True,
    infer=sent_shape,
    **_GROUP,
)
collective_receive_op = stateful_op(
    "CollectiveBcastRecv",
    "-> data: T",
    "Receives the tensor that one member of a group sends to all others.",
    T=attr.types((dtypes.bool, *_GATHERED)),
    shape=attr.shape(),
    waits=True,
    infer=from_shape_attr,
    **_GROUP,
)


def all_reduce(
    t: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str = "Add",
    final_op: str = "Id",
    subdiv_offsets: Sequence[int] = (0,),
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Reduces tensors of all members of a group, each on a device of its own."""
    _require_members(group_size, 1, "all_reduce")
    return collective_reduce_op(
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=list(subdiv_offsets),
        communication_hint=communication_hint.lower(),
        timeout_seconds=float(timeout),
    )


def all_gather(
    t: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Concatenates tensors of all members of a group along the first axis, in the order of their device names."""
    _require_members(group_size, 1, "all_gather")
    return collective_gather_op(
        t,
        shape=[0],
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=float(timeout),
    )


def broadcast_send(
    t: TensorLike,
    shape: ShapeLike,
    dtype: DTypeLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Sends a tensor to all other members of a group, which call `broadcast_recv`."""
    _require_members(group_size, 2, "broadcast_send")
    t, dtype = convert_to_tensor(t), dtypes.as_dtype(dtype)
    if t.dtype.base_dtype is not dtype:
        raise ValueError(f"dtype: expected {t.dtype.base_dtype.name}, the type of the tensor, received {dtype.name}")
    if not compatible(as_shape(t.shape), as_shape(shape)):
        raise ValueError(f"shape: expected {t.shape}, the shape of the tensor, received {shape}")
    return collective_send_op(t, **_broadcast(shape, group_size, group_key, instance_key, communication_hint, timeout))


def broadcast_recv(
    shape: ShapeLike,
    dtype: DTypeLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Receives the tensor that another member of a group sends by `broadcast_send`."""
    _require_members(group_size, 2, "broadcast_recv")
    group = _broadcast(shape, group_size, group_key, instance_key, communication_hint, timeout)
    return collective_receive_op(T=dtypes.as_dtype(dtype), **group)


def _broadcast(shape: ShapeLike, size: int, key: int, instance: int, hint: str, timeout: float) -> dict[str, Any]:
    return {
        "shape": as_shape(shape),
        "group_size": size,
        "group_key": key,
        "instance_key": instance,
        "communication_hint": hint.lower(),
        "timeout_seconds": float(timeout),
    }


def _require_members(group_size: int, least: int, function: str) -> None:
    if group_size < least:
        raise ValueError(f"Parameter group_size to {function} must be at least {least}. Received: {group_size}")


# -- what the compiler makes of them ----------------------------------------------------------------------------------

_REMOTE: dict[str, Any] = {
    "group_size": attr.integer(2),
    "group_key": attr.integer(),
    "local_size": attr.integer(1),
    "compiler": True,
}
collective_begin_op = stateful_op(
    "_CollectiveBegin",
    "->",
    "Compares what the members of a group at several tasks are about to do in a step, before any of it starts.",
    plan=attr.string(),
    count=attr.integer(0),
    infer=no_outputs,
    **_REMOTE,
)
collective_start_op = stateful_op(
    "_CollectiveStart",
    "inputs: list(T) -> token: variant",
    "Starts what the members of a group at several tasks do together; `_CollectiveWait` waits for the result.",
    T=attr.type_list(0),
    action=attr.string("reduce", "gather", "send", "receive"),
    dtype=attr.types(),
    shape=attr.shape(),
    instance_keys=attr.integers(1),
    merge_op="Add",
    final_op="Id",
    is_planned=False,
    is_owned=False,
    infer=scalar,
    **_REMOTE,
)
collective_wait_op = stateful_op(
    "_CollectiveWait",
    "token: variant -> data: list(T)",
    "Waits for the result of a collective.",
    T=attr.type_list(1),
    waits=True,
    compiler=True,
)

"""NCCL ops, as TensorFlow's graphs contain them: reductions and a broadcast over devices of one process."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.graph import attr
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.collective import sent_shape
from thalweg._src.graph.ops.shape_functions import merged_inputs, unchanged

_TYPES = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
_REDUCTIONS = ("min", "max", "prod", "sum")

nccl_all_reduce_op = op(
    "NcclAllReduce",
    "input: T -> data: T",
    doc="Reduces the tensors of several devices; each has the result. The ops have one `shared_name`.",
    reduction=attr.string(*_REDUCTIONS),
    T=attr.types(_TYPES),
    num_devices=attr.integer(),
    shared_name=attr.string(),
    stateful=True,
    waits=True,
    infer=unchanged,
)
nccl_reduce_op = op(
    "NcclReduce",
    "input: num_devices*T -> data: T",
    doc="Reduces tensors of several devices to the device of this op.",
    reduction=attr.string(*_REDUCTIONS),
    T=attr.types(_TYPES),
    stateful=True,
    infer=merged_inputs,
)
nccl_broadcast_op = op(
    "NcclBroadcast",
    "input: T -> output: T",
    doc="Returns a tensor that is copied once to each device that uses it.",
    T=attr.types(_TYPES),
    shape=attr.shape(),
    stateful=True,
    infer=sent_shape,
)

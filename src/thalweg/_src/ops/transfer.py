"""Transfer ops: Send and Recv, which partitioning inserts where a value crosses devices."""

from __future__ import annotations

from thalweg._src.graph import attr
from thalweg._src.graph.op_def import op
from thalweg._src.ops.shape_functions import no_outputs, unchanged

send_op = op(
    "_Send",
    "tensor: T ->",
    compiler=True,
    T=attr.types(),
    tensor_name=attr.string(),
    send_device=attr.string(),
    recv_device=attr.string(),
    stateful=True,
    differentiable=False,
    infer=no_outputs,
    doc="Sends a value to the step's rendezvous.",
)
recv_op = op(
    "_Recv",
    "-> tensor: tensor_type",
    compiler=True,
    tensor_type=attr.types(),
    tensor_name=attr.string(),
    send_device=attr.string(),
    recv_device=attr.string(),
    stateful=True,
    waits=True,
    differentiable=False,
    doc="Receives a value from the step's rendezvous; blocks until it is there.",
)
copy_to_host_op = op(
    "_CopyToHost",
    "input: T -> output: T",
    compiler=True,
    T=attr.types(),
    host="output",
    differentiable=False,
    infer=unchanged,
    doc="Copies a value from the device to host memory; synchronizes.",
)
copy_to_device_op = op(
    "_CopyToDevice",
    "input: T -> output: T",
    compiler=True,
    T=attr.types(),
    host="input",
    differentiable=False,
    infer=unchanged,
    doc="Copies a value from host memory to the device asynchronously.",
)

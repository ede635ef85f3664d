"""Transfer ops: Send and Recv, which partitioning inserts where a value crosses devices."""

from __future__ import annotations

from thalweg._src.graph import attr
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, unchanged

send_op = stateful_op(
    "_Send",
    "tensor: T ->",
    "Sends a value to the step's rendezvous.",
    T=attr.types(),
    tensor_name=attr.string(),
    send_device=attr.string(),
    recv_device=attr.string(),
    infer=no_outputs,
    compiler=True,
)
recv_op = stateful_op(
    "_Recv",
    "-> tensor: tensor_type",
    "Receives a value from the step's rendezvous; blocks until it is there.",
    tensor_type=attr.types(),
    tensor_name=attr.string(),
    send_device=attr.string(),
    recv_device=attr.string(),
    waits=True,
    compiler=True,
)
send_many_op = stateful_op(
    "_SendMany",
    "tensors: list(T) ->",
    "Sends several values to another task as one message.",
    T=attr.type_list(2),
    tensor_name=attr.string(),
    send_device=attr.string(),
    recv_device=attr.string(),
    infer=no_outputs,
    compiler=True,
)
recv_many_op = stateful_op(
    "_RecvMany",
    "-> tensors: list(T)",
    "Receives several values that another task sends as one message; blocks until they are there.",
    T=attr.type_list(2),
    tensor_name=attr.string(),
    send_device=attr.string(),
    recv_device=attr.string(),
    waits=True,
    compiler=True,
)
copy_to_host_op = nondifferentiable_op(
    "_CopyToHost",
    "input: T -> output: T",
    "Copies a value from the device to host memory; synchronizes.",
    T=attr.types(),
    host="output",
    infer=unchanged,
    compiler=True,
)
copy_to_device_op = nondifferentiable_op(
    "_CopyToDevice",
    "input: T -> output: T",
    "Copies a value from host memory to the device asynchronously.",
    T=attr.types(),
    host="input",
    infer=unchanged,
    compiler=True,
)

"""Send and Recv nodes, which carry a value between devices by a rendezvous key."""

from __future__ import annotations

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Guard, Node, Output
from thalweg._src.graph.op_def import OPS


def send(
    output: Output,
    key: str,
    source: str,
    destination: str,
    controls: list[Node] | None = None,
    guard: Guard = (),
) -> Node:
    producer, index = output
    attrs = {"T": producer.dtypes[index], "tensor_name": key, "send_device": source, "recv_device": destination}
    return Node(
        f"{producer.name}/_send_{index}",
        OPS.lookup("_Send"),
        [output],
        attrs,
        [],
        [],
        controls=controls,
        order=producer.order,
        stack=producer.stack,
        guard=guard,
    )


def receive(output: Output, key: str, source: str, destination: str, guard: Guard = ()) -> Node:
    producer, index = output
    dtype = producer.dtypes[index]
    attrs = {"tensor_type": dtype, "tensor_name": key, "send_device": source, "recv_device": destination}
    return Node(
        f"{producer.name}/_recv_{index}",
        OPS.lookup("_Recv"),
        [],
        attrs,
        [dtype],
        [producer.shapes[index]],
        order=producer.order,
        stack=producer.stack,
        guard=guard,
    )


def signal(after: Node) -> Node:
    """Returns an empty value that is sent after a node has run, for control dependencies."""
    attrs = {"value": np.array(False), "dtype": dtypes.bool}
    return after.like("Const", [], attrs, dtypes=[dtypes.bool], shapes=[()], controls=[], name=f"{after.name}/_signal")

"""Bind: choose the kernel of each node and pay once for everything that does not change from step to step."""

from __future__ import annotations

from typing import Any

from thalweg.execute.failure import explain
from thalweg.graph.step_graph import Node, Output, StepGraph
from thalweg.kernels.registry import Call, Input, Known, select


class Bound:
    """The calls of a partition, and the values that are known before any step."""

    __slots__ = ("calls", "constants", "waiting")

    def __init__(self) -> None:
        self.calls: dict[Node, Call] = {}
        self.waiting: dict[Node, Call] = {}
        self.constants: dict[Output, Any] = {}


def bind(step: StepGraph, device: Any) -> Bound:
    """Binds the nodes of a partition on its device; feeds come with the step."""
    bound = Bound()
    for node in step.nodes:
        if node.type == "_Arg":
            continue
        kernel = bind_node(node, device)
        if isinstance(kernel, Known):
            bound.constants.update(((node, i), kernel.value) for i in range(len(node.dtypes)))
        elif node.definition.waits:
            bound.waiting[node] = kernel
        else:
            bound.calls[node] = kernel
    return bound


def bind_node(node: Node, device: Any) -> Call | Known:
    """Returns the call of one node: what the binder gave, or the plain call of it with all inputs."""
    if "_host" in node.attrs:
        device = device.host_side()
    try:
        kernel = select(node, device.type).bind(node, device)
    except Exception as error:
        raise explain(error, node, None, device.name) from error
    if isinstance(kernel, Call | Known):
        return kernel
    return Call(kernel, tuple(Input(i) for i in range(len(node.inputs))))

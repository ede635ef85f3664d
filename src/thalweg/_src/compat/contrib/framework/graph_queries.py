"""Graph queries, and VariableDeviceChooser, which distributes variables over parameter servers."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import graph_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.variables.initializers import Zeros


@export("contrib.framework.get_graph_from_inputs")
def get_graph_from_inputs(op_input_list: Any, graph: Graph | None = None) -> Graph:
    """Returns the graph of tensors and operations; a given graph must be the graph of all of them.

    Args:
        op_input_list: Tensors and operations.
        graph: The graph they must belong to, if given.
    """
    for element in op_input_list:
        element_graph = getattr(element, "graph", None)
        if graph is not None and element_graph is not None and element_graph is not graph:
            raise ValueError(f"{element} is not from the graph that was passed")
    return graph or graph_of(list(op_input_list)) or get_default_graph()


@export("contrib.framework.get_name_scope")
def get_name_scope() -> str:
    """Returns the current name scope."""
    return get_default_graph().get_name_scope()


@export("contrib.framework.get_placeholders")
def get_placeholders(graph: Graph) -> list[Tensor]:
    """Returns the placeholders of a graph."""
    require_kind("graph", graph, Graph, "a Graph")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


@export("contrib.framework.zero_initializer")
def zero_initializer(ref: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """Returns an operation that sets a variable to zero, even if it is uninitialized."""
    require_members("ref", ref, "a variable", "assign", "get_shape")
    return ref.assign(Zeros()(ref.get_shape(), ref.dtype.base_dtype), use_locking=use_locking, name=name)


@export("contrib.framework.VariableDeviceChooser")
class VariableDeviceChooser:
    """Assigns variables to parameter servers, round-robin."""

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: Any = None,
    ) -> None:
        self._num_tasks = num_tasks
        self._job_name = job_name
        self._device_type = device_type
        self._device_index = device_index
        self._replica = replica
        self._next = 0

    def __call__(self, op: object) -> str:
        """Returns the device for one more variable."""
        device = DeviceSpec(device_type=self._device_type, device_index=self._device_index, replica=self._replica)
        if self._num_tasks > 0:
            device = device.replace(job=self._job_name, task=self._next)
            self._next = (self._next + 1) % self._num_tasks
        return device.to_string()

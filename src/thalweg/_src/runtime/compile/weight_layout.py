"""Weight layout assignment: stores conv filters in the memory format that an accelerator's convolutions prefer.

TensorFlow stores a filter as (height, width, input channels, output channels). Accelerators prefer output channels
first, and would copy every filter twice per step, and its gradient once. Here the variable itself has the preferred
memory format, and so do the optimizer's slots for it; values and shapes are unchanged. The convolutions of the host
gain by it too, where a session only infers.
"""

from __future__ import annotations

from collections.abc import Iterator

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.runtime.compile.bind import bind_node
from thalweg._src.runtime.kernels.registry import Constant
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.variables import VariableResource

_CONVOLUTIONS = {"Conv2D", "_FusedConv2D"}
_ORDERS = {"NHWC": (3, 0, 1, 2), "NCHW": (3, 2, 0, 1)}  # dimensions in memory order, by the image layout


def assign_weight_layouts(graph: StepGraph, device: Device) -> None:
    """Sets the memory format of the filters that a partition's convolutions read, and of their slots."""
    for node in graph.everything():
        if node.type in _CONVOLUTIONS:
            filter = _variable(node.inputs[1], device)
            # Only the strides of the buffer change: whatever reads the variable sees the same shape and values. The
            # first convolution that asks decides, and none does after code was compiled for the present layout.
            if filter is not None and filter.shape is not None:
                filter.set_memory_format(_ORDERS[node.attrs["data_format"]])
    for node in graph.everything():
        # An update works element by element on a variable and its slots: with different layouts it would read one of
        # them across the grain, or need a copy. The first loop is over, so that all filters have their formats.
        if node.facts.writes:
            for variable, slot in _slots(node, device):
                if variable.memory_format is not None and slot.shape == variable.shape:
                    slot.set_memory_format(variable.memory_format)


def _variable(output: Output, device: Device) -> VariableResource | None:
    """Returns the variable that a value is read from."""
    while output.node.facts.forwards in ("same", "cast") and output.node.inputs:
        output = output.node.inputs[0]
    if output.node.type != "VarHandleOp":
        return None
    handle = bind_node(output.node, device)
    return handle.value if isinstance(handle, Constant) else None


def _slots(update: Node, device: Device) -> Iterator[tuple[VariableResource, VariableResource]]:
    """Yields each variable that an update changes with each of its slots; the variables come first, then the slots."""
    handles = [o for i, o in enumerate(update.inputs) if update.input_dtype(i) is dtypes.resource]
    count = update.attrs.get("N", 1)
    for index, handle in enumerate(handles[count:]):
        variable, slot = _variable(handles[index % count], device), _variable(handle, device)
        if variable is not None and slot is not None:
            yield variable, slot

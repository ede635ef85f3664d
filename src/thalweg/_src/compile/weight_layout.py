"""Filters: variables that convolutions read, in the order of memory that an accelerator's convolutions want.

TensorFlow keeps a filter as height, width, channels in, channels out. Accelerators want channels out first, and would
copy every filter in every step, twice, and its gradient once. Here the variable itself lies in memory as they want it,
and so do the slots that an optimizer keeps beside it; nobody else can tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from thalweg._src import dtypes
from thalweg._src.compile.bind import Bound
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.resources.variables import VariableResource

_CONVOLUTIONS = {"Conv2D", "_FusedConv2D"}
_ORDERS = {"NHWC": (3, 0, 1, 2), "NCHW": (3, 2, 0, 1)}  # of the dimensions in memory, by the images' layout


def lay_out_filters(bound: Bound) -> None:
    """Sees that filters and their slots lie in memory as convolutions want them."""
    for node in bound.calls:
        if node.type in _CONVOLUTIONS:
            filter = _variable(node.inputs[1], bound)
            if filter is not None and filter.shape is not None:
                filter.lay_out(_ORDERS[node.attrs["data_format"]])
    for node in bound.calls:
        if node.facts.writes:
            for variable, slot in _slots(node, bound):
                if variable.order is not None and slot.shape == variable.shape:
                    slot.lay_out(variable.order)


def _variable(output: Output, bound: Bound) -> VariableResource | None:
    """Returns the variable that a value is read from."""
    while output[0].facts.forwards in ("same", "cast"):
        output = output[0].inputs[0]
    found = bound.constants.get(output)
    return found if isinstance(found, VariableResource) else None


def _slots(update: Node, bound: Bound) -> Iterator[tuple[VariableResource, VariableResource]]:
    """Yields each variable that an update changes with each of its slots; the variables come first, then the slots."""
    handles = [o for i, o in enumerate(update.inputs) if update.input_dtype(i) is dtypes.resource]
    count = update.attrs.get("N", 1)
    for index, handle in enumerate(handles[count:]):
        variable, slot = bound.constants.get(handles[index % count]), bound.constants.get(handle)
        if isinstance(variable, VariableResource) and isinstance(slot, VariableResource):
            yield variable, slot

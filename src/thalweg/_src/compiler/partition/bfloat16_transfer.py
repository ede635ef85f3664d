"""Lossy compression of transfers: float32 is sent between devices as bfloat16, with half the bytes.

Stored values stay exact: a value that a stateful node stores unchanged (assigns to a variable, saves, enqueues) is sent
in full precision. A gradient that an optimizer applies is not stored.
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Guard, Node, Output
from thalweg._src.graph.op_def import OPS


def stored_values(nodes: Iterable[Node]) -> set[Output]:
    """Returns the values that stateful nodes of a graph store, directly or through identities and reshapes."""
    # Rounding a value once on its way to a computation costs accuracy there; rounding what is stored would change the
    # state of the model in each step. So the walk goes from what stateful nodes take back through nodes that only
    # forward it.
    stored: set[Output] = set()
    for node in nodes:
        if node.definition.stateful and node.type != "_While" and "Apply" not in node.type:
            for output in node.inputs:
                while output not in stored:
                    stored.add(output)
                    if output.node.facts.is_alias and not output.node.facts.reads:
                        output = output.node.inputs[0]
    return stored


def can_narrow(output: Output) -> bool:
    return output.dtype is dtypes.float32


def narrow(output: Output, guard: Guard) -> Node:
    """Returns the node that casts a float32 to bfloat16 on the sending device."""
    return _cast(output, output.node.name + f"/_narrow_{output.index}", dtypes.bfloat16, guard)


def widen(received: Node, guard: Guard) -> Node:
    """Returns the node that casts a received bfloat16 back to float32."""
    return _cast(Output(received, 0), received.name.replace("/_narrow_", "/_widen_", 1), dtypes.float32, guard)


def _cast(output: Output, name: str, dtype: dtypes.DType, guard: Guard) -> Node:
    producer, index = output
    return Node(
        name,
        OPS.lookup("Cast"),
        [output],
        {"SrcT": producer.dtypes[index], "DstT": dtype, "Truncate": False},
        [dtype],
        [producer.shapes[index]],
        order=producer.order,
        stack=producer.stack,
        guard=guard,
    )

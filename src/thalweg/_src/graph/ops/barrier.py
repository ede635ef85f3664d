"""Barrier ops: queues of elements whose components arrive separately under a key."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.shapes import Shape, concatenate
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.queues import maker_of
from thalweg._src.graph.ops.shape_functions import (
    no_outputs,
    require,
    same_dimension,
    scalar,
    scalar_value,
    vector_size,
)


def _inserted(c: Inference) -> Sequence[Shape]:
    count, values = vector_size(c, 1), c.shapes[2]
    require(values is None or len(values) > 0, "values is a scalar", expected="a value for each key")
    if values is not None:
        same_dimension(count, values[0], "numbers of keys and values", expected="a value for each key")
    return []


def _taken(c: Inference) -> Sequence[Shape]:
    count = scalar_value(c, 1)
    require(count is None or count >= 0, f"num_elements is {count}", expected="at least 0")
    lead = (None,) if c.attrs["allow_small_batch"] else (count,)
    barrier = maker_of(c.sources[0], ("Barrier",))
    shapes = () if barrier is None else barrier.attrs["shapes"]
    types = c.attrs["component_types"]
    if len(shapes) != len(types):
        shapes = (None,) * len(types)
    return [lead, lead, *[concatenate(lead, shape) for shape in shapes]]


barrier_op = stateful_op(
    "Barrier",
    "-> handle: string",
    "Creates a barrier and returns its handle.",
    component_types=attr.type_list(1),
    shapes=attr.AttrDef("list(shape)", (), None, 0),
    capacity=-1,
    container="",
    shared_name="",
    infer=scalar,
)
barrier_insert_many_op = nondifferentiable_op(
    "BarrierInsertMany",
    "handle: string, keys: string, values: T ->",
    "Inserts one component of the elements with the given keys.",
    T=attr.types(),
    component_index=attr.integer(),
    infer=_inserted,
)
barrier_take_many_op = nondifferentiable_op(
    "BarrierTakeMany",
    "handle: string, num_elements: int32 -> indices: int64, keys: string, values: list(component_types)",
    "Takes complete elements from a barrier; blocks until there are enough.",
    component_types=attr.type_list(1),
    allow_small_batch=False,
    wait_for_incomplete=False,
    timeout_ms=-1,
    waits=True,
    infer=_taken,
)
barrier_close_op = nondifferentiable_op(
    "BarrierClose",
    "handle: string ->",
    "Closes a barrier to new keys.",
    cancel_pending_enqueues=False,
    infer=no_outputs,
)
barrier_ready_size_op = nondifferentiable_op(
    "BarrierReadySize",
    "handle: string -> size: int32",
    "Returns the number of complete elements in a barrier.",
    infer=scalar,
)
barrier_incomplete_size_op = nondifferentiable_op(
    "BarrierIncompleteSize",
    "handle: string -> size: int32",
    "Returns the number of incomplete elements in a barrier.",
    infer=scalar,
)

"""Ops of update records, by which an update that is repeated after a failure is applied once."""

from __future__ import annotations

from thalweg._src.base.shapes import Shape
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import scalar


def _identity(inference: Inference) -> list[Shape]:
    return [(2,)]


claim_updates_op = stateful_op(
    "_ClaimUpdates",
    "record: resource, replica: int64 -> identity: int64",
    "Makes the caller the only one that updates as a replica; returns its claim, and the number of the last update.",
    reads=True,
    writes=True,
    infer=_identity,
)
record_update_op = stateful_op(
    "_RecordUpdate",
    "record: resource, replica: int64, identity: int64 -> is_new: bool",
    "Records a claim and the number of an update; an update with a recorded number is undone when the step commits.",
    reads=True,
    writes=True,
    host="is_new",
    infer=scalar,
)

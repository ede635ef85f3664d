"""Memory statistics of a device."""

from __future__ import annotations

from thalweg._src.graph.attr import string
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import scalar

memory_statistic_op = stateful_op(
    "_MemoryStatistic",
    "-> bytes: int64",
    "Returns a statistic of the memory of the device that runs the operation, in bytes.",
    statistic=string("in use", "limit", "peak"),
    host="bytes",
    infer=scalar,
)

"""Mutex ops, of which critical sections are built."""

from __future__ import annotations

from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, scalar

mutex_op = stateful_op(
    "MutexV2",
    "-> resource: resource",
    "Creates a mutex and returns its handle.",
    container="",
    shared_name="",
    infer=scalar,
)
mutex_lock_op = stateful_op(
    "MutexLock",
    "mutex: resource -> mutex_lock: variant",
    "Acquires a mutex; it is held until the lock is consumed or the step ends.",
    waits=True,
    infer=scalar,
)
consume_mutex_lock_op = stateful_op("ConsumeMutexLock", "mutex_lock: variant ->", "Releases a mutex.", infer=no_outputs)

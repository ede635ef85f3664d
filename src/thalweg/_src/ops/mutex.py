"""Mutex ops, of which critical sections are built."""

from __future__ import annotations

from thalweg._src.graph.op_def import op
from thalweg._src.ops.shape_functions import no_outputs, scalar

mutex_op = op(
    "MutexV2",
    "-> resource: resource",
    container="",
    shared_name="",
    stateful=True,
    differentiable=False,
    infer=scalar,
    doc="Creates a mutex and returns its handle.",
)
mutex_lock_op = op(
    "MutexLock",
    "mutex: resource -> mutex_lock: variant",
    stateful=True,
    waits=True,
    differentiable=False,
    infer=scalar,
    doc="Acquires a mutex; it is held until the lock is consumed or the step ends.",
)
consume_mutex_lock_op = op(
    "ConsumeMutexLock",
    "mutex_lock: variant ->",
    stateful=True,
    differentiable=False,
    infer=no_outputs,
    doc="Releases a mutex.",
)

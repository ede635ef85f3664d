"""Valid calls of queues and of all else that steps wait at; what could wait for ever is closed first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.sandbox import Variable
from tests.valid_calls.values import Call, floats, held, ints, longs, texts


@dataclass(frozen=True)
class Handle(Variable):
    """An input that is the handle of something of this family; spoiled, it becomes a variable's."""

    kind: str = "queue"
    closed: bool = False

    def make_handle(self, setup: list[Any]) -> Any:
        return getattr(self, f"_{self.kind}")(setup)

    def _queue(self, setup: list[Any]) -> Any:
        from thalweg._src.training.input.queues import FIFOQueue

        queue = FIFOQueue(9, ["float32", "int32"], shapes=[[2], []], shared_name="queue")
        if self.closed:
            _in_turn(setup, lambda: queue.enqueue_many([floats(5, 2), ints(1, 2, 3, 4, 5)]), queue.close)
        return queue.queue_ref

    def _names(self, setup: list[Any]) -> Any:
        from thalweg._src.training.input.queues import FIFOQueue

        queue = FIFOQueue(9, "string", shapes=[[]], shared_name="names")
        _in_turn(setup, lambda: queue.enqueue_many([texts("/proc/version", "b")]), queue.close)
        return queue.queue_ref

    def _reader(self, setup: list[Any]) -> Any:
        from thalweg._src.training.input.readers import IdentityReader

        return IdentityReader().reader_ref

    def _mutex(self, setup: list[Any]) -> Any:
        from thalweg._src.graph.ops.mutex import mutex_op

        return mutex_op()

    def _lock(self, setup: list[Any]) -> Any:
        from thalweg._src.graph.ops.mutex import mutex_lock_op, mutex_op

        return mutex_lock_op(mutex_op())

    def _transaction(self, setup: list[Any]) -> Any:
        from thalweg._src.graph.ops.mutex import mutex_op
        from thalweg._src.graph.ops.transactions import begin_transaction_op

        return begin_transaction_op(mutex_op(), variables=[])

    def _accumulator(self, setup: list[Any]) -> Any:
        from thalweg._src.training.input.accumulators import ConditionalAccumulator

        accumulator = ConditionalAccumulator("float32", [2, 3], shared_name="sum")
        setup.append(accumulator.apply_grad(floats(2, 3)))
        return accumulator.accumulator_ref

    def _sparse_accumulator(self, setup: list[Any]) -> Any:
        from thalweg._src.training.input.accumulators import SparseConditionalAccumulator

        accumulator = SparseConditionalAccumulator("float32", [None, 3], shared_name="sum")
        setup.append(accumulator.apply_grad(longs(0, 4), floats(2, 3)))
        return accumulator.accumulator_ref

    def _barrier(self, setup: list[Any]) -> Any:
        from thalweg._src.training.input.barrier import Barrier

        barrier = Barrier(["float32"], shapes=[[3]], shared_name="barrier")
        if self.closed:
            _in_turn(setup, lambda: barrier.insert_many(0, texts("a", "b"), floats(2, 3)), barrier.close)
        return barrier.barrier_ref

    def _replica_group(self, setup: list[Any]) -> Any:
        from thalweg._src.graph.ops import replica_groups as ops

        group = ops.replica_group_op(num_required=0, shared_name="replicas")
        end = ops.replica_group_stop_op.operation(group) if self.closed else None
        setup.append(end or ops.replica_group_open_op.operation(group, longs(0)))
        return group


def _in_turn(setup: list[Any], first: Any, then: Any) -> None:
    from thalweg._src.graph.scopes import control_dependencies

    with control_dependencies([first()]):
        setup.append(then())


def _handle(kind: str, closed: bool = False) -> Handle:
    return Handle("float32", (), None, kind, closed)


_QUEUE, _CLOSED, _NAMES, _READER = _handle("queue"), _handle("queue", True), _handle("names"), _handle("reader")
_SUM, _SPARSE_SUM, _BARRIER = _handle("accumulator"), _handle("sparse_accumulator"), _handle("barrier")
_REPLICAS = _handle("replica_group")
_RECORD = held(np.array([[0, 0], [5, 7]], np.int64))
_TYPES = {"component_types": ["float32", "int32"]}
_ELEMENT, _ELEMENTS = [floats(2), ints(1)], [floats(3, 2), ints(1, 2, 3)]
_AREA = {"dtypes": ["float32", "int32"], "shared_name": "area"}
_MAPS = ("Map", "OrderedMap")

VALID: dict[str, Call] = {
    **{f"{kind}QueueV2": ((), {**_TYPES, "shapes": [(2,), ()]}) for kind in ("FIFO", "PaddingFIFO", "Priority")},
    "RandomShuffleQueueV2": ((), {**_TYPES, "capacity": 9}),
    "QueueEnqueueV2": ((_QUEUE, _ELEMENT), {}),
    "QueueEnqueueManyV2": ((_QUEUE, _ELEMENTS), {}),
    "QueueDequeueV2": ((_CLOSED,), _TYPES),
    "QueueDequeueManyV2": ((_CLOSED, ints(2)), _TYPES),
    "QueueDequeueUpToV2": ((_CLOSED, ints(7)), _TYPES),
    "QueueCloseV2": ((_QUEUE,), {}),
    "QueueSizeV2": ((_QUEUE,), {}),
    "QueueIsClosedV2": ((_QUEUE,), {}),
    "_SelectHandle": ((ints(1), [_QUEUE, _CLOSED]), {}),
    "ReaderReadV2": ((_READER, _NAMES), {}),
    "ReaderReadUpToV2": ((_READER, _NAMES, longs(3)), {}),
    **{
        f"Reader{what}V2": ((_READER,), {})
        for what in ("NumRecordsProduced", "NumWorkUnitsCompleted", "SerializeState", "Reset")
    },
    "ReaderRestoreStateV2": ((_READER, np.array(b"", dtype=object)), {}),
    "FixedLengthRecordReaderV2": ((), {"record_bytes": 4}),
    "ResourceAccumulatorApplyGradient": ((_SUM, longs(0), floats(2, 3)), {}),
    "ResourceAccumulatorNumAccumulated": ((_SUM,), {}),
    "ResourceAccumulatorSetGlobalStep": ((_SUM, longs(2)), {}),
    "SparseAccumulatorApplyGradient": (
        (_SPARSE_SUM, longs(0), longs(0, 2), floats(2, 3), longs(5, 3)),
        {"has_known_shape": True},
    ),
    "AccumulatorNumAccumulated": ((_SPARSE_SUM,), {}),
    "AccumulatorSetGlobalStep": ((_SPARSE_SUM, longs(2)), {}),
    "Barrier": ((), {"component_types": ["float32"], "shapes": [(3,)]}),
    "BarrierInsertMany": ((_BARRIER, texts("a", "b"), floats(2, 3)), {"component_index": 0}),
    "BarrierTakeMany": ((_handle("barrier", True), ints(2)), {"component_types": ["float32"]}),
    "BarrierClose": ((_BARRIER,), {}),
    "BarrierReadySize": ((_BARRIER,), {}),
    "BarrierIncompleteSize": ((_BARRIER,), {}),
    "MutexLock": ((_handle("mutex"),), {}),
    "_AccumulatorReset": ((_SUM, longs(2)), {}),
    "_ReplicaGroup": ((), {"num_required": 2}),
    "_ReplicaGroupStart": ((_REPLICAS, longs(3)), {}),
    "_ReplicaGroupOpen": ((_REPLICAS, longs(3)), {}),
    "_ReplicaGroupRound": ((_REPLICAS, longs(3)), {}),
    "_ReplicaGroupArrive": ((_REPLICAS, longs(3)), {"replica": 1}),
    "_ReplicaGroupJoin": ((_handle("replica_group", True),), {"replica": 1}),
    **{
        f"_ReplicaGroup{what}": ((_REPLICAS,), {})
        for what in ("Cancel", "Interrupted", "Pause", "Resume", "Stop", "Take")
    },
    "ConsumeMutexLock": ((_handle("lock"),), {}),
    "_BeginTransaction": ((_handle("mutex"),), {"variables": []}),
    "_PrepareTransaction": ((_handle("transaction"),), {}),
    "_CommitTransaction": ((_handle("transaction"), [np.array(True)]), {"participants": []}),
    "_EndTransaction": ((_handle("transaction"), np.array(True)), {}),
    "_ReleaseTransaction": ((_handle("transaction"),), {}),
    "_ClaimUpdates": ((_RECORD, longs(1)), {}),
    "_RecordUpdate": ((_RECORD, longs(1), longs(6, 8)), {}),
    "GetSessionHandle": ((floats(2, 3),), {}),
    "GetSessionTensor": ((texts("handle").reshape(()),), {"dtype": "float32"}),
    "DeleteSessionTensor": ((texts("handle").reshape(()),), {}),
    "Stage": (([floats(2), ints(1)],), {"shared_name": "area"}),
    **{f"{name}Stage": ((longs(7), ints(0, 1), [floats(2), ints(1)]), _AREA) for name in _MAPS},
    **dict.fromkeys(
        ("StageSize", "StageClear", *(f"{m}{w}" for m in _MAPS for w in ("Size", "IncompleteSize", "Clear"))),
        ((), _AREA),
    ),
}

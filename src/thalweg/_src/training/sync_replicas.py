"""SyncReplicasOptimizer: replicas deliver gradients, and the chief applies their mean once enough have arrived.

Each variable has an accumulator beside it, which drops gradients of earlier rounds and repeated ones of a replica. A
replica group beside the global step counts the replicas that have delivered all gradients.
A thread of the chief runs the step that waits for enough of them, takes the means, applies them, and opens the next
round.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from thalweg._src.base import dtypes, errors, logging
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control, replica_groups as ops
from thalweg._src.graph.ops.accumulators import accumulator_reset_op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.scopes import (
    GraphKeys,
    add_to_collection,
    colocate_with,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    name_scope,
)
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint_hook import PAUSES
from thalweg._src.training.input.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.input.queue_runner import QueueRunner
from thalweg._src.training.input.queues import FIFOQueue
from thalweg._src.training.optimizers.moving_averages import ExponentialMovingAverage
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.wrapping import WrappingOptimizer
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.training_state import INTERRUPTIONS
from thalweg._src.training.variables.assign import report_uninitialized_variables
from thalweg._src.training.variables.variables import Variable, global_variables

_WITHOUT_CHIEF = "sync_replicas_without_chief"  # collection of the names of optimizers that no chief starts


@export("train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(WrappingOptimizer):
    """Wraps an optimizer so that an update is the mean of the gradients of several replicas.

    With `replicas_to_aggregate` less than `total_num_replicas` the others are backup workers: a round takes the first
    gradients that arrive and drops late ones. If they are equal, gradients are added in the order of tasks: training is
    reproducible bit by bit.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Sequence[Any] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(opt, name)
        self._use_locking = use_locking
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        if replicas_to_aggregate < 1 or total < 1:
            raise ValueError(
                f"expected positive numbers of replicas, received replicas_to_aggregate={replicas_to_aggregate}, "
                f"total_num_replicas={total}"
            )
        logging.info("%s: applies the mean of %s gradients of %s replicas", name, replicas_to_aggregate, total)
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._group: Any = None

    # -- the graph ----------------------------------------------------------------------------------------------------

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns the operation that delivers the gradients of this replica and waits for the next round."""
        pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        anchor = no_op()
        with colocate_with(anchor):  # a device function would place it at a parameter server
            self._local_step = Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self._replica = _replica_of(anchor.device)
        self._global_step = global_step
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            with device(global_step.device):
                self._group = self._create_group()
            # A gradient carries the round in which its replica read the variables. Accumulators compare it with their
            # own round, which the chief's take increments, so that a late gradient of a backup worker is dropped at
            # each variable, without a message between them. A replica arrives only after all its gradients have been
            # delivered: once the group has counted enough arrivals, every accumulator has enough gradients. Counting
            # gradients per variable instead would let one variable begin a round that another has not ended.
            step = cast(self._local_step, dtypes.int64)
            accumulators = [_Accumulator(grad, variable) for grad, variable in pairs]
            with get_default_graph()._attr_scope(self._origin()):
                delivered = [accumulator.deliver(grad, step) for accumulator, (grad, _) in zip(accumulators, pairs)]
            with device(global_step.device), control_dependencies(delivered):
                round_ = ops.replica_group_arrive_op(self._group, step, replica=self._replica)
            with colocate_with(anchor):
                train = self._local_step.assign(cast(round_, self._local_step.dtype.base_dtype))
        self._add_chief(accumulators, name)
        self._add_initializers(accumulators)
        add_to_collection(_WITHOUT_CHIEF, self._name)
        return train

    def _create_group(self) -> Tensor:
        return ops.replica_group_op(
            num_required=self._replicas_to_aggregate, per_replica=self._per_replica, shared_name=self._name
        )

    @property
    def _per_replica(self) -> int:
        """How many gradients each replica delivers for one update."""
        return -(-self._replicas_to_aggregate // self._total_num_replicas)

    @property
    def _in_order(self) -> bool:
        return self._replicas_to_aggregate >= self._total_num_replicas

    def _origin(self) -> dict[str, Any]:
        """Returns the attributes by which accumulators know where gradients come from."""
        return {"_replica": self._replica, "_per_replica": self._per_replica, "_in_order": self._in_order}

    def _add_chief(self, accumulators: Sequence[_Accumulator], name: str | None) -> None:
        """Adds the step that applies the gradients of a round, and the runner that repeats it."""
        step = self._global_step
        with device(step.device), name_scope(""):
            # The order take, apply, open is the barrier. Replicas wait for the next round, so none reads a variable
            # before all updates of this round are applied: opening the round earlier would mix variables of two
            # rounds in one gradient. The arrivals guarantee that gradients are present, hence the 1 in take(): it must
            # not wait again, and the mean is over whatever has arrived, backup workers that were in time included.
            round_ = ops.replica_group_take_op(self._group)
            with control_dependencies([round_]):
                means = [(accumulator.take(), accumulator.variable) for accumulator in accumulators]
            applied = self._opt.apply_gradients(means, step, name)
            if self._variable_averages is not None:
                with control_dependencies([applied]):
                    applied = self._variable_averages.apply(self._variables_to_average)
            with control_dependencies([applied]):
                opened = ops.replica_group_open_op.operation(self._group, round_ + 1)
            runs = FIFOQueue(1, dtypes.int32, shapes=((),), name="dummy_queue", shared_name="dummy_queue")
            cancel = ops.replica_group_cancel_op.operation(self._group)
            self._chief_queue_runner = QueueRunner(runs, [opened], cancel_op=cancel)
            self._stop_op = ops.replica_group_stop_op.operation(self._group)
            pauses = [ops.replica_group_pause_op, ops.replica_group_resume_op]
            for operation in (op.operation(self._group) for op in pauses):
                add_to_collection(PAUSES, operation.name)
            add_to_collection(INTERRUPTIONS, ops.replica_group_interrupted_op(self._group).name)

    def _add_initializers(self, accumulators: Sequence[_Accumulator]) -> None:
        step = self._global_step
        dtype = self._local_step.dtype.base_dtype
        with device(step.device), name_scope(""):
            now = cast(step, dtypes.int64)
            self._round = ops.replica_group_round_op(self._group, now)
            first = ops.replica_group_start_op(self._group, now)
        # A chief that starts again, possibly from an older checkpoint, begins with a number above all earlier rounds.
        # Accumulators are reset to it, so that gradients of the time before, in flight or already added, are stale by
        # their number. The global step itself could not serve as the round, since a restored one goes back.
        self.local_step_init_op = self._local_step.assign(cast(self._round, dtype), read_value=False)
        resets = [accumulator.reset(first) for accumulator in accumulators]
        self.chief_init_op = control.group(*resets, self._local_step.assign(cast(first, dtype), read_value=False))

    # -- what programs run --------------------------------------------------------------------------------------------

    def get_chief_queue_runner(self) -> QueueRunner:
        """Returns the queue runner that applies gradients, which the chief must start."""
        if self._group is None:
            raise ValueError("Should be called after apply_gradients().")
        self._has_chief()
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Returns the operation that lets replicas begin, which the chief must run after `chief_init_op`."""
        if self._group is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens != -1 and num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        self._has_chief()
        with device(self._global_step.device), name_scope(""):
            return ops.replica_group_open_op.operation(self._group, cast(self._local_step, dtypes.int64))

    def _has_chief(self) -> None:
        waiting = get_collection_ref(_WITHOUT_CHIEF)
        if self._name in waiting:
            waiting.remove(self._name)

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Returns the hook that starts synchronous training in a monitored session."""
        return SyncReplicasHook(self, is_chief, num_tokens)


class _Accumulator:
    """The accumulator of a variable's gradients, beside the variable."""

    def __init__(self, grad: Tensor | IndexedSlices, variable: Variable) -> None:
        self.variable = variable
        self._is_sparse = isinstance(grad, IndexedSlices)
        name = f"{variable.op.name}/grad_accum"
        with device(variable.device):
            kind = SparseConditionalAccumulator if self._is_sparse else ConditionalAccumulator
            self._sum: Any = kind(grad.dtype, variable.get_shape(), shared_name=name, name=name)

    def deliver(self, grad: Tensor | IndexedSlices, step: Tensor) -> Operation:
        with device(self.variable.device):
            apply = self._sum.apply_indexed_slices_grad if self._is_sparse else self._sum.apply_grad
            return apply(grad, local_step=step)  # type: ignore[no-any-return]

    def take(self) -> Any:
        with device(self.variable.device):
            return self._sum.take_indexed_slices_grad(1) if self._is_sparse else self._sum.take_grad(1)

    def reset(self, step: Tensor) -> Operation:
        with device(self.variable.device):
            return accumulator_reset_op.operation(self._sum.accumulator_ref, step)


def _replica_of(task_device: str) -> int:
    """Returns the number of a replica by its task; a random one if the program does not say at which task it runs."""
    spec = DeviceSpec.from_string(task_device or "")
    if spec.task is None:
        return random.getrandbits(62)
    if spec.job is None or spec.job == "worker":
        return spec.task
    return zlib.crc32(spec.job.encode()) << 30 | spec.task


class SyncReplicasHook(SessionRunHook):
    """Starts a round when a session has been created; in the chief, also the thread that applies gradients."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        if self._optimizer._group is None:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        if self._is_chief:
            self._init_tokens_op = self._optimizer.get_init_tokens_op(self._num_tokens)
            self._runner = self._optimizer.get_chief_queue_runner()

    def after_create_session(self, session: Any, coord: Coordinator) -> None:
        optimizer = self._optimizer
        missing = session.run(optimizer.ready_for_local_init_op)
        if len(missing):
            raise RuntimeError(f"Model is not ready for SyncReplicasOptimizer local init: {missing.tolist()}")
        session.run(optimizer.chief_init_op if self._is_chief else optimizer.local_step_init_op)
        if self._is_chief:
            session.run(self._init_tokens_op)
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)

    def end(self, session: Any) -> None:
        if self._is_chief:
            try:
                session.run(self._optimizer._stop_op)  # replicas that wait for another round end too
            except errors.OpError as error:
                logging.info("the end of training could not be told to all replicas: %s", error)


def require_chief() -> None:
    """Raises if no hook of the chief's session starts a synchronous optimizer of the default graph."""
    for name in get_collection(_WITHOUT_CHIEF):
        raise RuntimeError(
            f"the gradients of {name!r} would never be applied: expected the hook of the SyncReplicasOptimizer, "
            "MonitoredTrainingSession(..., hooks=[optimizer.make_session_run_hook(is_chief)])"
        )

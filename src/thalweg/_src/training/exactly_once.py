"""ExactlyOnceOptimizer: each update is applied to all variables once, whatever fails and is repeated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.constants import constant, no_op, placeholder_with_default
from thalweg._src.graph.ops.update_records import claim_updates_op, record_update_op
from thalweg._src.graph.scopes import colocate_with, control_dependencies, device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.consistency import atomic_updates
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.wrapping import WrappingOptimizer
from thalweg._src.training.session_layers import current_call
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import Variable

_HOST = "/device:CPU:0"  # of the records, which are small, and read and written by the host


@export("train.experimental.ExactlyOnceOptimizer")
class ExactlyOnceOptimizer(WrappingOptimizer):
    """Wraps an optimizer so that each update of this replica is applied to all variables, and once.

    Updates of the variables, the slots and the global step are atomic (`atomic_updates`): an update is applied to all
    of them or to none, and checkpoints have whole updates. Each update has a number, and a record beside the global
    step has the last one of each replica. So an update is not applied again when a step is repeated whose result was
    lost, and the record is restored with the rest of a checkpoint.

    The hook of `make_session_run_hook` numbers the runs of a monitored session. Other programs feed `identity`.
    """

    claim = ReadOnly[Tensor](
        "A tensor to fetch once in each process: the claim of this process, and the number of the last update that was "
        "applied for this replica. A process that claimed before cannot update any more."
    )

    def __init__(
        self, opt: Optimizer, replica: int | None = None, max_replicas: int = 256, name: str = "exactly_once"
    ) -> None:
        """Wraps an optimizer; `replica` is by default that of the task: 0 for the chief, 1 + the index for a worker."""
        super().__init__(opt, name)
        self._replica = replica
        self._max_replicas = max_replicas
        self._identity: Tensor | None = None
        self._claim: Any = None

    @property
    def replica(self) -> int:
        """The number of this replica, which is its row of the record."""
        return _replica_of(self.identity.device) if self._replica is None else self._replica

    @property
    def identity(self) -> Tensor:
        """A tensor to feed: the first number that `claim` returned, and the number of the update; numbers grow.

        Without it, updates are applied to all variables or none, but not recorded.
        """
        if self._identity is None:
            with colocate_with(no_op()):  # a device function would place it at a parameter server
                zeros = constant([0, 0], dtypes.int64)
                self._identity = placeholder_with_default(zeros, [2], f"{self._name}/identity")
        return self._identity

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Operation:
        """Returns the operation that applies the gradients to all variables or, if it was applied before, to none."""
        pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
        if not pairs:
            raise ValueError("grads_and_vars: expected at least one gradient, received none")
        replica = self.replica
        if not 0 <= replica < self._max_replicas:
            raise ValueError(f"replica: expected a number from 0 to {self._max_replicas - 1}, received {replica}")
        beside = pairs[0][1] if global_step is None else global_step
        with device(beside.device), device(_HOST):
            shape = [self._max_replicas, 2]
            record: Any = Variable(
                lambda: constant(0, dtypes.int64, shape),
                trainable=False,
                use_resource=True,
                name=f"{self._name}/record",
            )
        # The record is one of the variables that the transaction updates. If a step fails, or its result is lost, the
        # number in the record says whether its updates were applied, since both became visible together; a repeated
        # step with that number, or a lower one, undoes its transaction. The record is in checkpoints too, so that after
        # a restore exactly the updates that the variables have lost count as not applied. The gradients come first:
        # the transaction is then short, and a step that fails while it computes them leaves no record.
        with name_scope(None, self._name), device(beside.device), device(_HOST):
            row = constant(replica, dtypes.int64)
            self._claim = claim_updates_op(record.handle, row)
            with control_dependencies([grad.values if hasattr(grad, "values") else grad for grad, _ in pairs]):
                recorded = record_update_op.operation(record.handle, row, self.identity)
        applied = self._opt.apply_gradients(pairs, global_step)
        steps = [] if global_step is None else [global_step]
        atomic_updates([*(variable for _, variable in pairs), *self._opt.variables(), *steps, record])
        return control.group(applied, recorded, name=name or self._name)

    def make_session_run_hook(self) -> ExactlyOnceHook:
        """Returns the hook that numbers the updates of a monitored session."""
        return ExactlyOnceHook(self)


def _replica_of(task_device: str) -> int:
    spec = DeviceSpec.from_string(task_device or "")
    return 1 + (spec.task or 0) if spec.job == "worker" else 0


@export("train.experimental.ExactlyOnceHook")
class ExactlyOnceHook(SessionRunHook):
    """Numbers the runs of a monitored session: a run that is repeated in a new session has the same number.

    A program that is started again goes on with the number after the last that was applied, so that data which follow
    from `number` are used once as well.
    """

    number = ReadOnly[int]("The number of the latest run.")

    def __init__(self, optimizer: ExactlyOnceOptimizer) -> None:
        self._optimizer = optimizer
        self._claim = self._number = 0
        self._call: object = None  # of the monitored session, which repeats it if it loses its session
        self._first = self._runs = 0  # the number of the first run of this call, and the runs since it was begun

    def begin(self) -> None:
        if self._optimizer.claim is None:
            raise ValueError("apply_gradients of the ExactlyOnceOptimizer must be called before its hook is used")

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        self._runs = 0
        if not self._claim:
            self._claim, self._number = session.run(self._optimizer.claim).tolist()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        # A monitored session repeats a call of `run` in a new session after a failure. The numbers of the runs in a
        # call are therefore counted from the first number of the call: the repetition gets the numbers of the first
        # attempt, and those runs that were applied before are skipped. A new call goes on after the last number.
        call = current_call()
        if call is None or call is not self._call:
            self._call, self._first, self._runs = call, self._number + 1, 0
        self._number = self._first + self._runs
        self._runs += 1
        return SessionRunArgs(None, feed_dict={self._optimizer.identity: [self._claim, self._number]})

"""AsyncReplicasOptimizer: asynchronous updates whose staleness is measured and, on request, bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src.base import dtypes, logging
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.consistency import READ_FIRST
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.mutex import consume_mutex_lock_op, mutex_lock_op, mutex_op
from thalweg._src.graph.scopes import GraphKeys, colocate_with, control_dependencies, device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.wrapping import WrappingOptimizer
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.variables.variables import Variable


@export("train.experimental.AsyncReplicasOptimizer")
class AsyncReplicasOptimizer(WrappingOptimizer):
    """Wraps an optimizer for asynchronous training, and counts the updates of others between reading and updating.

    With a `staleness_bound`, a gradient is dropped if its parameters have been updated more often than that since they
    were read. Check and update are then one critical section: the bound holds for every update that is applied.
    """

    staleness = ReadOnly[Any]("A local variable: the staleness of the last gradient of this worker.")
    num_dropped = ReadOnly[Any]("A local variable: how many gradients of this worker were dropped.")

    def __init__(self, opt: Optimizer, staleness_bound: int | None = None, name: str = "async_replicas") -> None:
        super().__init__(opt, name)
        if staleness_bound is not None and staleness_bound < 0:
            raise ValueError(f"staleness_bound: expected at least 0, received {staleness_bound}")
        self._bound = staleness_bound
        self._staleness: Any = None
        self._num_dropped: Any = None

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Operation:
        """Returns the operation that applies the gradients, unless they are too old, and measures their staleness."""
        if global_step is None:
            raise ValueError("Global step is required to measure staleness")
        pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
        anchor = no_op()
        with colocate_with(anchor):
            self._staleness, self._num_dropped = self._local("staleness"), self._local("num_dropped")
        # Staleness is the difference of two reads of the global step, so the first one must precede every read of a
        # variable that the gradients depend on (`READ_FIRST`): the compiler orders all other reads of the step after
        # it. An update between it and them is counted although they see it, which errs on the safe side; read later,
        # it would miss updates that the gradients do not contain.
        with name_scope(None, self._name), global_step.graph._attr_scope({READ_FIRST: True}):
            seen = global_step.read_value()
        computed = [grad.values if isinstance(grad, IndexedSlices) else grad for grad, _ in pairs]

        def apply() -> Operation:
            return control.group(self._opt.apply_gradients(pairs, global_step, name))

        with control_dependencies([seen, *computed]):
            age, applied = self._measured_update(seen, global_step, apply)
        with name_scope(None, self._name), colocate_with(anchor):
            noted = [self._staleness.assign(age, read_value=False)]
            if self._bound is not None:
                dropped = cast(age > self._bound, dtypes.int64)
                noted.append(self._num_dropped.assign_add(dropped, read_value=False))
            return control.group(applied, *noted, name=name)

    def _local(self, name: str) -> Any:
        return Variable(
            0,
            dtype=dtypes.int64,
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            name=f"{self._name}/{name}",
        )

    def _measured_update(
        self, seen: Tensor, global_step: Variable, apply: Callable[[], Operation]
    ) -> tuple[Tensor, Operation]:
        """Returns the staleness of the gradients, and the operation that applies them unless they are too old."""

        def measure() -> Tensor:
            return cast(global_step.read_value() - seen, dtypes.int64)  # type: ignore[no-any-return]

        # Without a bound the age is only reported, and may be outdated by the time of the update. With a bound, check
        # and update are one critical section for all workers, since the global step must not grow in between. The lock
        # depends on the gradients: it is held for the update, not for the computation.
        if self._bound is None:
            age = measure()
            with control_dependencies([age]):
                return age, apply()
        with device(global_step.device):
            lock = mutex_lock_op(mutex_op(shared_name=self._name))
        with control_dependencies([lock]):
            age = measure()
            applied = cond(age <= self._bound, apply, no_op)
        with device(global_step.device), control_dependencies([applied]):
            return age, consume_mutex_lock_op.operation(lock)

    def make_session_run_hook(self, every_n_steps: int = 100) -> SessionRunHook:
        """Returns a hook that logs the mean and the largest staleness, and how many gradients were dropped."""
        return _StalenessHook(self, every_n_steps)


class _StalenessHook(SessionRunHook):
    """Logs what it has seen every so many steps."""

    def __init__(self, optimizer: AsyncReplicasOptimizer, every_n_steps: int) -> None:
        self._optimizer = optimizer
        self._every = every_n_steps
        self._seen: list[int] = []
        self._dropped = 0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs([self._optimizer.staleness, self._optimizer.num_dropped])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        age, dropped = map(int, run_values.results)
        self._seen.append(age)
        if len(self._seen) >= self._every:
            mean = sum(self._seen) / len(self._seen)
            text = "staleness of the last %d steps: mean %.2f, largest %d; %d gradients dropped"
            logging.info(text, len(self._seen), mean, max(self._seen), dropped - self._dropped)
            self._seen, self._dropped = [], dropped

"""ElasticReplicasOptimizer: synchronous training with workers that join and leave between steps."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.export import export
from thalweg._src.graph.ops import replica_groups as ops
from thalweg._src.graph.scopes import device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.optimizers.moving_averages import ExponentialMovingAverage
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.sync_replicas import SyncReplicasHook, SyncReplicasOptimizer
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import Variable


@export("train.experimental.ElasticReplicasOptimizer")
class ElasticReplicasOptimizer(SyncReplicasOptimizer):
    """A SyncReplicasOptimizer whose replicas are the workers that currently have a session with its hook.

    A worker that joins takes part from the next step on. One that closes its session, or is lost, is not waited for any
    more. An update is the mean of the gradients of all members but `backup_replicas`, and of `min_replicas` at least.
    """

    def __init__(
        self,
        opt: Optimizer,
        min_replicas: int = 1,
        backup_replicas: int = 0,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Sequence[Variable] | None = None,
        name: str = "elastic_replicas",
    ) -> None:
        if backup_replicas < 0:
            raise ValueError(f"backup_replicas: expected at least 0, received {backup_replicas}")
        self._backup_replicas = backup_replicas
        super().__init__(opt, min_replicas, min_replicas, variable_averages, variables_to_average, name=name)

    def _create_group(self) -> Tensor:
        return ops.replica_group_op(
            num_required=self._replicas_to_aggregate, num_backups=self._backup_replicas, shared_name=self._name
        )

    @property
    def _in_order(self) -> bool:
        return self._backup_replicas == 0

    def _add_initializers(self, accumulators: Any) -> None:
        super()._add_initializers(accumulators)
        with device(self._global_step.device), name_scope(""):
            self._join_op = ops.replica_group_join_op.operation(self._group, replica=self._replica)

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Returns the hook by which a worker is a member while its session is open."""
        return _ElasticHook(self, is_chief, num_tokens)


class _ElasticHook(SyncReplicasHook):
    """Keeps a step running that is the membership of this worker: it ends with the session, however that ends."""

    _optimizer: ElasticReplicasOptimizer

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        join_op = self._optimizer._join_op

        def hold() -> None:
            try:
                session.run(join_op)
            except (errors.OpError, RuntimeError) as error:  # the session was closed, or is lost
                logging.vlog(1, "no longer a replica: %s", error)

        threading.Thread(target=hold, name="thalweg_membership", daemon=True).start()
        super().after_create_session(session, coord)

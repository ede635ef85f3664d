"""ReplicaContext: what code that runs once per replica knows of the others, and `merge_call`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.autodiff.custom_gradient import custom_gradient
from thalweg._src.graph.nest import flatten, pack_sequence_as
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.scopes import init_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.distribute.reduce_op import ReduceOp, as_reduce_op
from thalweg._src.training.variables.distribution import Mode, current_mode, entered


@export("distribute.ReplicaContext")
class ReplicaContext:
    """The context of one replica, in which the function of a strategy's run is called."""

    strategy = ReadOnly[Any]("The strategy of the replica.")

    def __init__(self, strategy: Any, replica_id_in_sync_group: int | Tensor) -> None:
        self._strategy = strategy
        self._replica_id_in_sync_group = replica_id_in_sync_group
        self.local_index = 0  # the number of the replica among those of this process
        self._entered: list[contextlib.AbstractContextManager[None]] = []

    def __enter__(self) -> ReplicaContext:
        scope = entered(Mode(self._strategy, self))
        scope.__enter__()
        self._entered.append(scope)
        return self

    def __exit__(self, *exc: object) -> None:
        self._entered.pop().__exit__(None, None, None)

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """Calls a function once for all replicas, in the cross-replica context, and returns its result to each.

        Each replica must make the same calls. Arguments that differ between replicas arrive as distributed values.
        """
        require_replica_context(self)
        return self._merge_call(merge_fn, args, kwargs or {})

    def _merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        with entered(Mode(self._strategy)):
            return merge_fn(self._strategy, *args, **kwargs)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are aggregated."""
        return self._strategy.num_replicas_in_sync  # type: ignore[no-any-return]

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        """The number of this replica among all of them, as a tensor."""
        require_replica_context(self)
        if not isinstance(self._replica_id_in_sync_group, Tensor):
            with init_scope():
                self._replica_id_in_sync_group = constant(self._replica_id_in_sync_group, name="replica_id")
        return self._replica_id_in_sync_group

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that this replica computes on."""
        require_replica_context(self)
        return (self._strategy.extended.worker_devices[self.local_index],)

    def all_reduce(self, reduce_op: ReduceOp | str, value: object) -> Any:
        """Returns the sum or mean over all replicas of each tensor of a structure; it is differentiable."""
        reduce_op = as_reduce_op(reduce_op)

        def merge(strategy: Any, *values: Any) -> list[Any]:
            return strategy.extended.batch_reduce_to(reduce_op, [(v, v) for v in values])  # type: ignore[no-any-return]

        @custom_gradient
        def reduced(*values: Any) -> Any:
            # The loss of each replica depends on the value of every one: the gradients are reduced in the same way.
            return self.merge_call(merge, args=values), lambda *grads: self.all_reduce(reduce_op, list(grads))

        results = reduced(*flatten(value))
        return pack_sequence_as(value, results if isinstance(results, list | tuple) else [results])


def require_replica_context(replica: ReplicaContext) -> None:
    """Raises RuntimeError unless a replica context is the current one of this thread."""
    mode = current_mode()
    require_members("replica_ctx", replica, "a replica context", "strategy")
    if (mode is None and replica.strategy._is_default) or (mode is not None and mode.replica is replica):
        return
    if mode is None:
        where = "outside of the scope of a strategy"
    elif mode.replica is None:
        where = "in a cross-replica context"
    else:
        where = "in the context of another replica"
    raise RuntimeError(
        f"a method of this ReplicaContext was called {where}: call it from the function that the strategy runs in "
        "each replica, on what tf.distribute.get_replica_context() returns there"
    )

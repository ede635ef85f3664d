"""The current strategy and replica, and the default strategy: one replica, wherever operations are placed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.distribute.extended import StrategyExtended
from thalweg._src.training.distribute.reduce_op import ReduceOp
from thalweg._src.training.distribute.replica_context import ReplicaContext, require_replica_context as require_current
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.variables.distribution import Mode, current_mode, entered, losses_are_averaged


class _DefaultExtended(StrategyExtended):
    """One replica, and variables as they are without a strategy."""

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return ("",)

    def _creator(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        kwargs.pop("colocate_with", None)
        return next_creator(**kwargs)

    def variable_created_in_scope(self, v: object) -> bool:
        return getattr(v, "distribute_strategy", None) is None

    def _call_for_each_replica(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with ReplicaContext(self._container_strategy(), 0):
            return fn(*args, **kwargs)

    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        return [value for value, _ in value_destination_pairs]

    def broadcast_to(self, tensor: TensorLike, destinations: object) -> Any:
        return tensor

    def update(
        self, var: Any, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        self._require_created_here(var)
        with entered(Mode(self._container_strategy(), updating=0)):
            result = fn(var, *args, **(kwargs or {}))
        return result if group else [result]

    def update_non_slot(
        self,
        colocate_with: object,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        with entered(Mode(self._container_strategy(), updating=0)):
            result = fn(*args, **(kwargs or {}))
        return result if group else [result]


class _DefaultStrategy(Strategy):
    """The strategy of a program that has none."""

    _is_default = True

    def __init__(self) -> None:
        super().__init__(_DefaultExtended(self))


_default = _DefaultStrategy()


@export("distribute.get_strategy", "contrib.distribute.get_strategy", "contrib.distribute.get_distribution_strategy")
def get_strategy() -> Strategy:
    """Returns the current strategy; outside of the scope of one, a default strategy with one replica."""
    mode = current_mode()
    return _default if mode is None else mode.strategy


@export("distribute.has_strategy", "contrib.distribute.has_strategy", "contrib.distribute.has_distribution_strategy")
def has_strategy() -> bool:
    """Returns whether the scope of a strategy has been entered."""
    return not get_strategy()._is_default


@export("distribute.get_replica_context", "contrib.distribute.get_replica_context")
def get_replica_context() -> ReplicaContext | None:
    """Returns the context of the current replica; None in a cross-replica context."""
    mode = current_mode()
    return ReplicaContext(_default, 0) if mode is None else mode.replica


@export("distribute.in_cross_replica_context", "contrib.distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Returns whether the current code is for all replicas: inside `strategy.scope()` but not in a replica."""
    mode = current_mode()
    return mode is not None and mode.replica is None


@export("contrib.distribute.get_cross_replica_context")
def get_cross_replica_context() -> Strategy | None:
    """Returns the current strategy in a cross-replica context, and None in a replica."""
    return get_strategy() if in_cross_replica_context() else None


@export("contrib.distribute.require_replica_context")
def require_replica_context(replica_ctx: ReplicaContext) -> None:
    """Raises RuntimeError unless a replica context is the current one."""
    require_current(replica_ctx)


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Makes a strategy the current one of the default graph from here on; None leaves it."""
    graph = get_default_graph()
    held: list[contextlib.AbstractContextManager[Any]] = graph.singleton("global_strategy", list)
    mode = current_mode()
    if mode is not None and (mode.replica is not None or not held):
        raise RuntimeError("experimental_set_strategy was called inside `with strategy.scope():`: leave that first")
    if held:
        held.pop().__exit__(None, None, None)
    if strategy is not None:
        require_members("strategy", strategy, "a tf.distribute.Strategy or None", "scope")
        scope = strategy.scope()
        scope.__enter__()
        held.append(scope)


@export("distribute.get_loss_reduction", "contrib.distribute.get_loss_reduction")
def get_loss_reduction() -> ReduceOp:
    """Returns how the losses of replicas are reduced: SUM, except that Estimators take the mean of mean losses."""
    return ReduceOp.MEAN if losses_are_averaged() else ReduceOp.SUM

"""Strategy: the state and computation of a model distributed over replicas, as programs with sessions use it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.graph.nest import map_structure
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.math import divide
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.variable_creators import variable_creator_scope
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.distribute.extended import StrategyExtended
from thalweg._src.training.distribute.input_context import InputReplicationMode
from thalweg._src.training.distribute.reduce_op import ReduceOp, as_reduce_op
from thalweg._src.training.distribute.values import local_values
from thalweg._src.training.variables.distribution import Mode, current_mode, entered
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variable_scope import get_variable_scope, variable_scope


@export("distribute.Strategy", "contrib.distribute.DistributionStrategy")
class Strategy:
    """A way to distribute the variables and the computation of a model; `extended` has what libraries use."""

    _is_default = False
    # Estimators train with the mean of the replicas' losses; other programs scale their losses themselves.
    _scale_loss_for_estimator = False

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended

    @property
    def extended(self) -> Any:
        """The part of the strategy that libraries use."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are aggregated."""
        return self._extended._num_replicas_in_sync

    # -- contexts -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Context manager: makes this the current strategy, which creates the variables, in a cross-replica context."""
        mode = current_mode()
        if mode is not None:
            if mode.strategy is not self:
                raise RuntimeError(
                    f"the scope of {self} was entered inside the scope of {mode.strategy}: a graph is built for one "
                    "strategy at a time; leave the scope of the other one first"
                )
            if mode.replica is not None:
                raise RuntimeError(
                    "scope() was called in a replica: use tf.distribute.get_replica_context().merge_call there"
                )
            yield self
            return
        with (
            entered(Mode(self)),
            variable_scope(get_variable_scope(), custom_getter=_without_partitions, auxiliary_name_scope=False),
            variable_creator_scope(self._extended._creator),
            self._extended._default_device(),
        ):
            yield self

    @contextlib.contextmanager
    def _cross_replica(self, method: str) -> Iterator[None]:
        """Enters the scope for a method that is called outside of replicas."""
        mode = current_mode()
        if mode is not None and mode.replica is not None:
            raise RuntimeError(
                f"{method} was called in a replica: use tf.distribute.get_replica_context().merge_call there"
            )
        with self.scope():
            yield

    def colocate_vars_with(self, colocate_with_variable: object) -> contextlib.AbstractContextManager[None]:
        """Deprecated form of `extended.colocate_vars_with`."""
        return self._extended.colocate_vars_with(colocate_with_variable)

    # -- running ------------------------------------------------------------------------------------------------------

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Calls a function in each replica, with the next element of an iterator of this strategy."""
        with self._cross_replica("experimental_run"):
            args = () if input_iterator is None else (input_iterator.get_next(),)
            return self._extended.call_for_each_replica(fn, args=args)

    def experimental_run_v2(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """Calls a function in each replica, with the replica's part of distributed arguments."""
        with self._cross_replica("experimental_run_v2"):
            return self._extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    run = experimental_run_v2

    def reduce(self, reduce_op: ReduceOp | str, value: object, axis: int | None = None) -> Any:
        """Returns the sum or mean of a value over replicas and, with an axis, over that dimension of each value."""
        reduce_op = as_reduce_op(reduce_op)
        with self._cross_replica("reduce"), name_scope("reduce"):
            return map_structure(lambda leaf: self._reduce(reduce_op, leaf, axis), value)

    def _reduce(self, reduce_op: ReduceOp, value: object, axis: int | None) -> Any:
        if axis is None:
            return self._extended._reduce_here(reduce_op, value)
        total = self._extended.call_for_each_replica(lambda local_value: reduce_sum(local_value, axis), args=(value,))
        total = self._extended._reduce_here(ReduceOp.SUM, total)
        if reduce_op is ReduceOp.SUM:
            return total
        # Replicas may have parts of different sizes, so that a mean of their means would be wrong.
        counts = self._extended.call_for_each_replica(
            lambda local_value: cast(shape(local_value)[axis], dtypes.int64), args=(value,)
        )
        return divide(total, cast(self._extended._reduce_here(ReduceOp.SUM, counts), total.dtype))

    def experimental_local_results(self, value: object) -> tuple[Any, ...]:
        """Returns the values of the replicas of this process."""
        return local_values(value)

    def unwrap(self, value: object) -> tuple[Any, ...]:
        """Deprecated name of `experimental_local_results`."""
        return local_values(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """Returns an operation that completes once those of all replicas have."""
        values = local_values(value)
        if len(values) == 1 and name is None:
            return values[0]
        return group(*values, name=name)

    # -- input --------------------------------------------------------------------------------------------------------

    def make_dataset_iterator(self, dataset: Dataset) -> Any:
        """Returns an iterator that splits each batch of a dataset among all replicas."""
        return self._extended._make_dataset_iterator(dataset)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[Any], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> Any:
        """Returns an iterator whose replicas take elements in turn from what `input_fn(InputContext)` returns."""
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise ValueError("Input replication mode not supported: expected InputReplicationMode.PER_WORKER")
        with self.scope():
            return self._extended._make_input_fn_iterator(input_fn)

    def experimental_distribute_dataset(self, dataset: Dataset) -> Any:
        """Returns a dataset whose iterators split each batch among all replicas."""
        return self._extended._distribute_dataset(dataset)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable[[Any], Any]) -> Any:
        """Returns a dataset whose replicas take elements in turn from that of `dataset_fn(InputContext)`."""
        return self._extended._distribute_function(dataset_fn)

    def experimental_make_numpy_dataset(self, numpy_input: object, session: SessionLike | None = None) -> Any:
        """Returns a dataset of the slices of NumPy arrays."""
        return self._extended.experimental_make_numpy_dataset(numpy_input, session=session)

    # -- sessions -----------------------------------------------------------------------------------------------------

    def configure(
        self,
        session_config: ConfigProto | None = None,
        cluster_spec: Any = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        """Sets the cluster and the task of this process, and changes a session's configuration to suit."""
        self._extended._configure(session_config, cluster_spec, task_type, task_id)

    def update_config_proto(self, config_proto: ConfigProto) -> Any:
        """Returns a copy of a session's configuration with what the strategy needs."""
        return self._extended._update_config_proto(config_proto)

    def __deepcopy__(self, memo: dict[int, Any]) -> Strategy:
        return self  # variables and iterators refer to their strategy by identity


def _without_partitions(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A custom getter: a strategy replicates variables as a whole."""
    if kwargs.get("partitioner") is not None:
        kwargs["partitioner"] = None
    return getter(*args, **kwargs)

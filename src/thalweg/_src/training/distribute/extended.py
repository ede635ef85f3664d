"""StrategyExtended: what libraries such as optimizers and metrics ask of a strategy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.nest import flatten, pack_sequence_as
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control import group as group_of
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import colocate_with, control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.graph.variable_creators import variable_creator_scope
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.distribute.cross_device_ops import (
    CrossDeviceOps,
    ReductionToOneDevice,
    broadcast_copies,
    devices_of,
    placed_on,
    reduced,
)
from thalweg._src.training.distribute.input import (
    DistributedDataset,
    Shares,
    SplitIterator,
    TurnIterator,
    dataset_of,
    host_of,
    iterator_of_function,
)
from thalweg._src.training.distribute.input_context import InputContext
from thalweg._src.training.distribute.reduce_op import ReduceOp, as_reduce_op
from thalweg._src.training.distribute.steps import MultiStepContext, run_steps
from thalweg._src.training.distribute.values import DistributedValues, Mirrored, copy_of, element, is_distributed
from thalweg._src.training.distribute.variables import create_copies
from thalweg._src.training.variables.distribution import Mode, current_mode, entered
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import Variable


@export("distribute.StrategyExtended")
class StrategyExtended:
    """What libraries ask of a strategy; a subclass says where replicas and variables are.

    A subclass overrides `worker_devices` and what differs from one variable copy per worker device.
    """

    _cross_device_ops: CrossDeviceOps = ReductionToOneDevice()

    def __init__(self, container_strategy: Any) -> None:
        self._container_strategy_ = container_strategy

    def _container_strategy(self) -> Any:
        return self._container_strategy_

    # -- devices ------------------------------------------------------------------------------------------------------

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas of this process."""
        raise NotImplementedError(f"{type(self).__name__} does not define worker_devices")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of the copies of variables."""
        return self.worker_devices

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self.worker_devices)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Returns the devices of an optimizer's own variables, given the variables that it updates."""
        return self.parameter_devices

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether all shapes must be known when the graph is built."""
        return False

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a graph of its own."""
        return False

    @property
    def experimental_should_init(self) -> bool:
        """Whether this process initializes the variables."""
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process saves checkpoints."""
        return True

    @property
    def should_save_summary(self) -> bool:
        """Whether this process writes summaries."""
        return True

    def _default_device(self) -> contextlib.AbstractContextManager[Any]:
        """Returns the device scope of operations outside of replicas."""
        return contextlib.nullcontext()

    # -- variables ----------------------------------------------------------------------------------------------------

    def _creator(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Creates a variable of the strategy; it is a function of `variable_creator_scope`."""
        kwargs["use_resource"] = True
        return self._create_variable(next_creator, **kwargs)

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        beside = kwargs.pop("colocate_with", None)
        places = self.parameter_devices if beside is None else devices_of(beside)
        return create_copies(self._container_strategy(), places, next_creator, kwargs)

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: object) -> Iterator[None]:
        """Context manager: creates variables on the devices of another one."""
        self._require_created_here(colocate_with_variable)

        def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            kwargs["colocate_with"] = colocate_with_variable
            return next_creator(**kwargs)

        with variable_creator_scope(create):
            yield

    def variable_created_in_scope(self, v: object) -> bool:
        """Returns whether a variable was created in the scope of this strategy."""
        return getattr(v, "distribute_strategy", None) is self._container_strategy()

    def _require_created_here(self, variable: object) -> None:
        if not self.variable_created_in_scope(variable):
            raise ValueError(
                f"variable {getattr(variable, 'name', variable)!r} was not created in the scope of this strategy: "
                "create it inside `with strategy.scope():`"
            )

    def value_container(self, value: Any) -> Any:
        """Returns the distributed variable that a variable is a copy of, or the value itself."""
        return value if getattr(value, "_container", None) is None else value._container

    def read_var(self, v: object) -> Any:
        """Returns the value of a variable in the cross-replica context."""
        return v.value() if isinstance(v, Variable) else v

    # -- replicas -----------------------------------------------------------------------------------------------------

    def call_for_each_replica(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """Calls a function in the context of each replica; results that differ are returned as distributed values."""
        self._require_cross_replica("call_for_each_replica")
        return self._call_for_each_replica(fn, tuple(args), dict(kwargs or {}))

    def _call_for_each_replica(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _call_for_each_replica")

    def _require_cross_replica(self, method: str) -> None:
        mode = current_mode()
        strategy = self._container_strategy()
        if mode is None and strategy._is_default:
            return
        if mode is None or mode.strategy is not strategy:
            raise RuntimeError(f"{method} was called outside of `with strategy.scope():`")
        if mode.replica is not None:
            raise RuntimeError(
                f"{method} was called in a replica: use tf.distribute.get_replica_context().merge_call there"
            )

    # -- reductions ---------------------------------------------------------------------------------------------------

    def reduce_to(self, reduce_op: ReduceOp | str, value: object, destinations: object) -> Any:
        """Returns the sum or mean of a value over all replicas, on the devices of the destinations."""
        return self.batch_reduce_to(reduce_op, [(value, destinations)])[0]

    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """Returns the sum or mean of each of several values over all replicas, on its destinations."""
        self._require_cross_replica("reduce_to")
        reduce_op = as_reduce_op(reduce_op)
        pairs = list(value_destination_pairs)
        reduced = [index for index, (value, _) in enumerate(pairs) if self._must_reduce(reduce_op, value)]
        results = iter(self._batch_reduce(reduce_op, [pairs[index] for index in reduced]))
        whole = set(reduced)
        return [
            next(results) if index in whole else _unreduced(value, devices_of(destinations))
            for index, (value, destinations) in enumerate(pairs)
        ]

    def _must_reduce(self, reduce_op: ReduceOp, value: object) -> bool:
        """Returns whether replicas have values to reduce; a value that is the same in all of them is its own mean."""
        if isinstance(value, DistributedValues):
            return not (isinstance(value, Mirrored) and reduce_op is ReduceOp.MEAN)
        if reduce_op is ReduceOp.MEAN or self._num_replicas_in_sync == 1 or (_is_number(value) and value == 0):
            return False
        raise ValueError(
            f"the sum over {self._num_replicas_in_sync} replicas of {value!r} is not defined, since it has no value "
            "per replica: reduce what the function of a replica returns"
        )

    def _batch_reduce(self, reduce_op: ReduceOp, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        return self._cross_device_ops.batch_reduce(reduce_op, pairs)

    def _reduce_here(self, reduce_op: ReduceOp, value: object) -> Any:
        """Returns the reduction of a value on the current device."""
        result = self.reduce_to(reduce_op, value, self._current_device())
        return result.primary if isinstance(result, DistributedValues) else result

    def _current_device(self) -> str:
        return self.worker_devices[0]

    def _reduce_copies(self, reduce_op: ReduceOp, values: Sequence[Tensor]) -> Tensor:
        """Returns the reduction of the copies of a variable, over all workers, on the current device."""
        return reduced(reduce_op, list(values))  # type: ignore[no-any-return]

    def broadcast_to(self, tensor: TensorLike, destinations: object) -> Any:
        """Returns a tensor copied to the devices of the destinations."""
        self._require_cross_replica("broadcast_to")
        return self._cross_device_ops.broadcast(tensor, destinations)

    # -- updates ------------------------------------------------------------------------------------------------------

    def update(
        self, var: Any, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """Calls `fn(copy, *args, **kwargs)` for each copy of a variable, with the copy's part of the arguments.

        Returns what the calls return: with `group` as one result that is complete once all copies are updated, without
        it as a list with one result per copy.
        """
        self._require_cross_replica("update")
        self._require_created_here(var)
        places = [(copy.device, copy) for copy in var.values]
        return self._updated(places, lambda copy, *a, **k: fn(copy, *a, **k), tuple(args), dict(kwargs or {}), group)

    def update_non_slot(
        self,
        colocate_with: object,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Calls `fn(*args, **kwargs)` on each of the devices that `non_slot_devices` returned."""
        self._require_cross_replica("update_non_slot")
        places = [(place, None) for place in devices_of(colocate_with)]
        return self._updated(places, lambda _, *a, **k: fn(*a, **k), tuple(args), dict(kwargs or {}), group)

    def _updated(
        self,
        places: Sequence[tuple[str, Any]],
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any] | None,
        group: bool,
    ) -> Any:
        results = []
        for index, (place, copy) in enumerate(places):
            with (
                placed_on(place),
                entered(Mode(self._container_strategy(), updating=index)),
                name_scope(f"update_{index}") if index else contextlib.nullcontext(),
            ):
                results.append(fn(copy, *copy_of(index, args), **copy_of(index, kwargs)))
        return _grouped(results) if group else results

    # -- input --------------------------------------------------------------------------------------------------------

    def _input_context(self) -> InputContext:
        return InputContext(1, 0, self._num_replicas_in_sync)

    def _first_replica_id(self) -> int:
        """Returns the number of the first replica of this process."""
        return self._input_context().input_pipeline_id * len(self.worker_devices)

    def _shares(self) -> Shares:
        places = self.worker_devices
        return Shares(self._num_replicas_in_sync, self._first_replica_id(), len(places), host_of(places[0]))

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        return SplitIterator(self._shares(), dataset)

    def _make_input_fn_iterator(self, input_fn: Callable[[Any], Any]) -> Any:
        return iterator_of_function(input_fn, self._input_context(), self._shares())

    def _distribute_dataset(self, dataset: Any) -> DistributedDataset:
        return DistributedDataset(self._shares(), dataset, SplitIterator)

    def _distribute_function(self, dataset_fn: Callable[[Any], Any]) -> DistributedDataset:
        dataset = dataset_of(dataset_fn, self._input_context(), self._shares())
        return DistributedDataset(self._shares(), dataset, TurnIterator)

    def experimental_make_numpy_dataset(self, numpy_input: object, session: SessionLike | None = None) -> Any:
        """Returns a dataset of the slices of NumPy arrays."""
        return Dataset.from_tensor_slices(numpy_input)

    def experimental_run_steps_on_iterator(
        self,
        fn: Callable[..., Any],
        iterator: Any,
        iterations: TensorLike = 1,
        initial_loop_values: object = None,
    ) -> MultiStepContext:
        """Adds a loop that calls `fn(context, inputs)` with several elements of an iterator in one step."""
        self._require_cross_replica("experimental_run_steps_on_iterator")
        return run_steps(fn, iterator, iterations, initial_loop_values)

    # -- sessions -----------------------------------------------------------------------------------------------------

    def _configure(
        self, session_config: ConfigProto | None, cluster_spec: Any, task_type: str | None, task_id: int | None
    ) -> None:
        """Sets cluster and task; a strategy of one process needs neither."""

    def _update_config_proto(self, config_proto: ConfigProto) -> Any:
        config = ConfigProto()
        config.CopyFrom(config_proto)
        return config

    def _new_session(self, graph: Graph) -> Session:
        """Returns a session that can run what the strategy builds in a graph."""
        return Session(graph=graph)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _first(value: Any) -> Any:
    return element(value.primary if is_distributed(value) else value)


def _unreduced(value: Any, places: tuple[str, ...]) -> Any:
    """Returns a value that is equal in all replicas on the given devices: its own copies if it has them there."""
    if is_distributed(value) and len(places) > 1 and devices_of(value) == places:
        return Mirrored([element(copy) for copy in value.values])
    return broadcast_copies(_first(value), places)


def _grouped(results: list[Any]) -> Any:
    """Returns the results of several devices as one, whose parts are available once all of them are."""
    first = results[0]
    leaves = [flatten(result) for result in results]
    grouped = []
    for values in zip(*leaves):
        elements = [value for value in values if isinstance(value, Operation | Tensor | IndexedSlices)]
        if not elements or len(values) == 1:
            grouped.append(values[0])
        elif any(isinstance(value, Operation) for value in elements):
            grouped.append(group_of(*elements))
        else:
            with control_dependencies(elements):
                grouped.append(Mirrored([_here(value) for value in elements]))
    return pack_sequence_as(first, grouped)


def _here(value: Any) -> Any:
    with colocate_with(value.op, ignore_existing=True):
        return identity(value)

"""Distributed variables: a variable with one copy per device, read and written as one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base import shapes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import state
from thalweg._src.graph.ops.comparison import logical_and
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import divide
from thalweg._src.graph.scopes import GraphKeys, colocate_with, control_dependencies, device, init_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.distribute.cross_device_ops import reduced
from thalweg._src.training.distribute.reduce_op import ReduceOp
from thalweg._src.training.distribute.values import DistributedValues, Mirrored
from thalweg._src.training.variables.distribution import Mode, current_mode
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import Variable

_REDUCED = (state.assign_variable_op, state.assign_add_variable_op, state.assign_sub_variable_op)


# The invariant of mirrored variables: all copies are equal between steps. They start from one initial value, and every
# write goes to all copies with the same argument, because a write in a replica is a merge call that aggregates the
# arguments of all replicas first. A write whose arguments cannot be aggregated is refused rather than applied to the
# copy of one replica. Three contexts address copies: a replica its own one, `update` the one that it is updating, and
# the cross-replica context all of them for writing, the first one for reading. Variables that are synchronized on read
# give the invariant up: replicas write their own copies without communication, and the aggregation of all copies is
# the value outside of replicas, as counters and metrics need it.


class DistributedVariable(Variable):
    """A variable with one copy per device: a replica reads its own copy, an update writes all of them."""

    uses_resource = True
    _has_copies = True
    values: tuple[Variable, ...]
    _strategy: Any
    _element: Tensor

    @classmethod
    def _of(cls, strategy: Any, values: Sequence[Variable], aggregation: VariableAggregation, trainable: bool) -> Any:
        variable = cls.__new__(cls)
        variable.values = tuple(values)
        variable._strategy = strategy
        variable._aggregation = aggregation
        variable._trainable = trainable
        variable._constraint = values[0].constraint
        variable._dtype = values[0]._dtype
        variable._save_slice_info = None
        for copy in values:
            copy._container = variable
        if values[0]._handle.is_eager:
            return variable
        variable._initial_value = values[0].initial_value
        with init_scope(), values[0].graph.name_scope(None):
            variable._initializer = group(
                *[copy.initializer for copy in values], name=f"{values[0].op.name}/initialize_copies"
            )
            variable._prepare()
        return variable

    def _prepare(self) -> None:
        """Adds what is read outside of replicas, since a session may fetch it from a finalized graph."""
        self._element = self.primary._graph_element

    @property
    def primary(self) -> Variable:
        """The copy on the first device."""
        return self.values[0]

    distribute_strategy = ReadOnly[Any]("The strategy whose scope the variable was created in.", "_strategy")

    def _mode(self) -> Mode | None:
        """Returns the context of this thread if it is one of the strategy of this variable."""
        mode = current_mode()
        return mode if mode is not None and mode.strategy is self._strategy else None

    def get(self) -> Variable:
        """Returns the copy of the current replica or update; outside of both, the first one."""
        mode = self._mode()
        copy = None if mode is None else mode.copy
        return self.values[copy if copy is not None and copy < len(self.values) else 0]

    # What Variable's own methods use, of the copy that is meant.
    _handle = property(lambda self: self.get()._handle)
    _synchronization = VariableSynchronization.ON_WRITE

    handle = ReadOnly[Tensor]("The tensor of the resource of the current replica's copy.")
    name = ReadOnly[str]('The name of the first copy, ending in ":0".', "primary.name")
    dtype = ReadOnly[DType]("The element type.", "primary.dtype")
    graph = ReadOnly[Graph]("The graph of the variable.", "primary.graph")

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the copies."""
        return tuple(copy.device for copy in self.values)

    @property
    def _shared_name(self) -> str:
        return self.primary._shared_name

    @property
    def dims(self) -> shapes.Shape:  # type: ignore[override]
        return self.primary.dims

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges the given shape into the static shape."""
        for copy in self.values:
            copy.set_shape(shape)

    def _as_graph_element(self) -> Tensor:
        mode = self._mode()
        return self._element if mode is None or mode.copy is None else self.get()._graph_element

    @property
    def _graph_element(self) -> Tensor:  # type: ignore[override]
        return self._as_graph_element()

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the first copy as a VariableDef message; None if it is outside the scope."""
        return self.primary.to_proto(export_scope)

    def __repr__(self) -> str:
        inside = "".join(f"\n  {index}: {copy!r}" for index, copy in enumerate(self.values))
        return f"{type(self).__name__}:{{{inside}\n}}"

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self, name: str | None = None) -> Tensor:
        return self.get()._read(name)

    def value(self) -> Tensor:
        """Returns the value in the current replica."""
        return self.get().value()

    def read_value(self) -> Tensor:
        """Returns a tensor that reads the copy of the current replica after the current control dependencies."""
        return self.get().read_value()

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns rows of the variable; their gradient is sparse."""
        return self.get().sparse_read(indices, name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Gathers elements or slices, each addressed by a vector of indices."""
        return self.get().gather_nd(indices, name)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Returns a boolean tensor: whether all copies have a value."""
        result = self.primary.is_initialized(name if len(self.values) == 1 else None)
        for copy in self.values[1:]:
            result = logical_and(result, copy.is_initialized(), name=name if copy is self.values[-1] else None)
        return result

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Assigns a value to all copies in a session without adding operations to the graph."""
        for copy in self.values:
            copy.load(value, session)

    # -- writing ------------------------------------------------------------------------------------------------------

    def _convert(self, value: Any) -> Any:
        return value if isinstance(value, DistributedValues) else super()._convert(value)

    def _write(
        self, definition: OpDef, *args: Any, name: str | None = None, read_value: bool = True, **attrs: Any
    ) -> Any:
        mode = self._mode()
        settings = {"name": name, "read_value": read_value, **attrs}
        if mode is not None and mode.updating is not None:
            return self.get()._write(definition, *args, **settings)
        if mode is not None and mode.replica is not None:
            return self._write_in_replica(mode.replica, definition, args, settings)
        return self._write_all(definition, args, settings)

    def _write_in_replica(self, replica: Any, definition: OpDef, args: tuple[Any, ...], settings: Any) -> Any:
        """Aggregates the arguments of all replicas and writes the result to all copies."""
        aggregation = self._aggregation
        if aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"variable {self.name!r} is mirrored: a replica updates it only with an aggregation of the replicas' "
                "values; create it with aggregation=tf.VariableAggregation.SUM, MEAN or ONLY_FIRST_REPLICA"
            )
        if definition not in _REDUCED and aggregation is not VariableAggregation.ONLY_FIRST_REPLICA:
            raise NotImplementedError(
                f"{definition.name} on the mirrored variable {self.name!r} in a replica: values of replicas with "
                "indices are not aggregated; use merge_call, or aggregation=ONLY_FIRST_REPLICA"
            )

        def write(strategy: Any, *values: Any) -> Any:
            return self._write_all(definition, tuple(self._aggregated(value) for value in values), settings)

        return replica.merge_call(write, args=args)

    def _aggregated(self, value: Any) -> Any:
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            first = value.primary if isinstance(value, DistributedValues) else value
            return self._strategy.extended.broadcast_to(first, self)
        return self._strategy.extended.reduce_to(ReduceOp.from_variable_aggregation(self._aggregation), value, self)

    def _write_all(self, definition: OpDef, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        """Writes to all copies; the result is available once all are written."""
        writes = [
            copy._write(definition, *[_at(index, arg) for arg in args], **{**settings, "name": None})
            for index, copy in enumerate(self.values)
        ]
        if len(writes) == 1:
            return writes[0]
        if not settings["read_value"]:
            return group(*writes, name=settings["name"])
        if self.primary._handle.is_eager:
            return Mirrored([identity(written) for written in writes])
        results = []
        # A result depends on the writes of all copies: a reader that goes on with it in another replica's context must
        # not see a copy from before the write.
        with control_dependencies(writes):
            for copy, written in zip(self.values, writes):
                with colocate_with(copy.op, ignore_existing=True):
                    result: Any = identity(written)
                result._variable = self
                results.append(result)
        return Mirrored(results)

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def _value_to_save(self) -> Tensor:
        with _placed(self.primary):
            return self.primary._read()

    def _restore(self, value: Tensor) -> Operation:
        return group(*[copy._restore(value) for copy in self.values])


def _at(index: int, value: object) -> Any:
    return value.values[index] if isinstance(value, DistributedValues) else value


class MirroredVariable(DistributedVariable):
    """A variable whose copies are equal at all times, since each update writes the same to all of them."""


class SyncOnReadVariable(DistributedVariable):
    """A variable whose copies are written by their replicas alone, and aggregated when it is read outside of them."""

    _synchronization = VariableSynchronization.ON_READ

    def _prepare(self) -> None:
        with self.graph.name_scope(f"{self.primary.op.name}/aggregated/"):
            self._element = self._aggregate(reduced)

    def _aggregate(self, reduce: Callable[[ReduceOp, list[Tensor]], Any], reads: Sequence[Tensor] = ()) -> Tensor:
        """Returns the value of all copies as the aggregation says."""
        values = list(reads) or [copy.value() for copy in self.values]
        if self._aggregation in (VariableAggregation.NONE, VariableAggregation.ONLY_FIRST_REPLICA):
            return values[0]
        with _placed(self.primary):
            return reduce(ReduceOp.from_variable_aggregation(self._aggregation), values)  # type: ignore[no-any-return]

    def _of_all_workers(self, reads: Sequence[Tensor] = ()) -> Tensor:
        return self._aggregate(self._strategy.extended._reduce_copies, reads)

    def _is_inside(self) -> bool:
        mode = self._mode()
        return mode is not None and mode.copy is not None

    def value(self) -> Tensor:
        """Returns the value in the current replica; outside of replicas, that of all copies."""
        return super().value() if self._is_inside() else self._of_all_workers()

    def read_value(self) -> Tensor:
        """Returns a tensor that reads the variable after the current control dependencies."""
        return (
            super().read_value() if self._is_inside() else self._of_all_workers([v.read_value() for v in self.values])
        )

    def _read(self, name: str | None = None) -> Tensor:
        return super()._read(name) if self._is_inside() else self._of_all_workers()

    def _write(
        self, definition: OpDef, *args: Any, name: str | None = None, read_value: bool = True, **attrs: Any
    ) -> Any:
        settings = {"name": name, "read_value": read_value, **attrs}
        if self._is_inside():
            return self.get()._write(definition, *args, **settings)
        if self._aggregation is VariableAggregation.SUM:
            if definition is not state.assign_variable_op:
                raise ValueError(
                    f"variable {self.name!r} is the sum of its copies: outside of replicas it can be assigned only, "
                    f"received {definition.name}"
                )
            args = (self._shared_among_copies(args[0]),)
        return self._write_all(definition, args, settings)

    def _shared_among_copies(self, value: Any) -> Any:
        """Returns what each copy is set to so that all of them add up to a value."""
        number = len(self.values)
        return value if number == 1 else divide(value, number) if self._dtype.is_floating else value // number

    def _value_to_save(self) -> Tensor:
        return self._aggregate(reduced)  # a worker saves by itself

    def _restore(self, value: Tensor) -> Operation:
        if self._aggregation is VariableAggregation.SUM:
            value = self._shared_among_copies(value)
        return super()._restore(value)


class AggregatingVariable(DistributedVariable):
    """A variable in one place that all replicas read, and that aggregated values update."""

    def get(self) -> Variable:
        """Returns the only copy."""
        return self.primary


@contextlib.contextmanager
def _placed(variable: Variable) -> Iterator[None]:
    if variable._handle.is_eager:
        with device(variable.device or None):
            yield
        return
    graph = variable.graph
    with graph.colocate_with(None, ignore_existing=True), device(None), device(variable.device or None):
        yield


Creator = Callable[..., Any]


def create_copies(
    strategy: Any, devices: Sequence[str], next_creator: Creator, kwargs: dict[str, Any], shared: bool = False
) -> Any:
    """Returns a variable with a copy on each device, or with `shared` one that all replicas read.

    All copies start from the initial value of the first, so that a random one is drawn once.
    """
    collections = kwargs.pop("collections", None)
    synchronization = kwargs.pop("synchronization", None) or VariableSynchronization.AUTO
    aggregation = kwargs.pop("aggregation", None) or VariableAggregation.NONE
    on_read = synchronization is VariableSynchronization.ON_READ
    if synchronization is VariableSynchronization.NONE:
        raise ValueError("synchronization=NONE: a variable of a strategy is synchronized; use ON_WRITE or ON_READ")
    trainable = kwargs.pop("trainable", None)
    trainable = not on_read if trainable is None else trainable
    if on_read and trainable:
        raise ValueError("a variable with synchronization=ON_READ cannot be trainable")
    copies: list[Any] = []
    for index, place in enumerate(devices):
        if index:
            # A name that ends in "/" is the whole name, whatever the current name scope is.
            kwargs["name"] = f"{copies[0]._shared_name}/replica_{index}/"
            kwargs["initial_value"] = lambda: identity(_initial_value(copies[0]))
        copies.append(_create_on(place, next_creator, {**kwargs, "trainable": False, "collections": []}))
    kind = SyncOnReadVariable if on_read else AggregatingVariable if shared else MirroredVariable
    variable = kind._of(strategy, copies, aggregation, trainable)
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections.append(GraphKeys.TRAINABLE_VARIABLES)
    if not variable._handle.is_eager:  # a collection is a part of a graph
        variable.graph.add_to_collections(collections, variable)
    return variable


def _initial_value(variable: Variable) -> Tensor:
    """Returns the initial value of a copy, which in eager execution it has already."""
    return variable.read_value() if variable._handle.is_eager else variable.initial_value


def _create_on(place: str, next_creator: Creator, kwargs: dict[str, Any]) -> Any:
    graph = get_default_graph()
    with init_scope(), graph.colocate_with(None, ignore_existing=True), graph.device(None), graph.device(place):
        return next_creator(**kwargs)

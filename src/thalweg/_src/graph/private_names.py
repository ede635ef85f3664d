"""Names of Graph that TensorFlow 1 programs read: those of its state, most of which are not public."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from thalweg._src.base.devices import merge_device
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.graphdef import MIN_CONSUMER, PRODUCER
from thalweg._src.graph.op_def import OPS, OpDef

if TYPE_CHECKING:
    from thalweg._src.graph.function import GraphFunction
    from thalweg._src.graph.operation import Operation


class PrivateNames:
    """The base class of Graph with names that are computed on access."""

    building_function = ReadOnly[bool]("Whether the graph is the body of a function.", "captures")
    _nodes_by_name = ReadOnly[dict[str, Any]]("The operations by name.", "_by_name")
    _name_stack = ReadOnly[str]("The current name scope.", "scopes.name")
    _container = ReadOnly[str]("The current resource container.", "scopes.container")
    _gradient_override_map = ReadOnly[dict[str, str]]("The current gradient overrides.", "scopes.gradient_overrides")
    _control_dependencies_stack = ReadOnly[list[Any]]("The current control dependencies.", "scopes.controls")
    _colocation_stack = ReadOnly[list[Any]]("The operations that new ones are colocated with.", "scopes.colocated")
    _control_flow_context = ReadOnly[Any]("The current branch or loop.", "scopes.context")
    _building_function = ReadOnly[bool]("Whether the graph is the body of a function.", "captures")

    if TYPE_CHECKING:
        operations: list[Operation]
        _functions: dict[str, GraphFunction]

        def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any: ...

    @property
    def graph_def_versions(self) -> Any:
        """The versions of the GraphDef format, a VersionDef message."""
        from tensorboard.compat.proto.versions_pb2 import VersionDef

        return VersionDef(producer=PRODUCER, min_consumer=MIN_CONSUMER)

    def switch_to_thread_local(self) -> None:
        """Does nothing: each thread has scopes of its own."""

    @property
    def _nodes_by_id(self) -> dict[int, Operation]:
        """The operations by creation index."""
        return dict(enumerate(self.operations))

    @property
    def _last_id(self) -> int:
        """The number of operations."""
        return len(self.operations)

    @property
    def _registered_ops(self) -> dict[str, OpDef]:
        """All ops by name."""
        return {name: OPS.lookup(name) for name in OPS}

    @property
    def _device_functions_outer_to_inner(self: Any) -> tuple[Callable[[Any], str], ...]:
        """The current device scopes as functions that return the device of an operation, outermost first."""
        entries = self.scopes.devices
        # None in the stack hides all scopes outside of it.
        first = max((i for i, entry in enumerate(entries) if entry is None), default=-1) + 1
        return tuple(entry if callable(entry) else merge_device(entry) for entry in entries[first:])

    def _as_graph_element_locked(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        return self.as_graph_element(obj, allow_tensor, allow_operation)

    def _current_control_dependencies(self: Any) -> set[Operation]:
        return {operation for scope in self.scopes.controls for operation in scope.controls}

    def _is_function(self, name: str) -> bool:
        return name in self._functions

    def _get_function(self, name: str | bytes) -> GraphFunction | None:
        return self._functions.get(name.decode() if isinstance(name, bytes) else name)

    def _add_function(self, function: GraphFunction) -> None:
        """Adds a function, and those that it calls, to the library."""
        # A function that is there already is the same object if it was added with another caller of it.
        added = {function.name: function, **function.library}
        for name, member in added.items():
            if self._functions.setdefault(name, member) is not member:
                raise ValueError(
                    f"Cannot add function {name!r} because a different function of that name already exists."
                )

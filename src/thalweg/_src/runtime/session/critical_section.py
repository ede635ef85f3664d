"""Critical sections: functions whose operations are run by one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph import nest
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.mutex import consume_mutex_lock_op, mutex_lock_op, mutex_op
from thalweg._src.graph.scopes import add_to_collection, colocate_with, control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor

CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"


class _Execution:
    """One use of a critical section in a graph: its lock, and the resources that it uses exclusively."""

    def __init__(self, lock: Operation, handle: Tensor, resources: list[Tensor], is_exclusive: bool) -> None:
        self.op = lock
        self.handle = handle
        self.resources = resources
        self.exclusive_resource_access = is_exclusive


@export("CriticalSection", "contrib.framework.CriticalSection")
class CriticalSection:
    """Runs one function at a time among all steps and sessions that share it.

    Args:
        name: A name for the section.
        shared_name: Name by which sections are the same one.
        critical_section_def: Serialized form of a critical section to restore.
        import_scope: Accepted for compatibility and ignored.
    """

    name = ReadOnly[str]("The name of the critical section.", "_handle.source_name")

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: object = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None:
            raise ValueError("a CriticalSection is made by name; critical_section_def is not supported")
        graph = get_default_graph()
        with name_scope(name, "CriticalSection", []) as scope, control_dependencies(None):
            self._handle = mutex_op(
                shared_name=shared_name or ("" if graph.executes else scope.rstrip("/")),
                container=graph.scopes.container,
                name=scope,
            )

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """Returns the results of the function, whose operations run while the section is locked."""
        graph = get_default_graph()
        if graph.executes:
            return self._execute_now(fn)
        with name_scope(name, "critical_section_execute", []):
            lock = mutex_lock_op(self._handle)
            with graph._lock:
                before = len(graph.operations)
                with control_dependencies([lock]):
                    result = fn()
                operations = list(graph.operations[before:])
            self._enter_after_inputs(lock.op, operations)
            resources = self._resources_of(operations)
            self._require_exclusive(resources, exclusive_resource_access)
            flat = [_identity(item) for item in nest.flatten(result, expand_composites=True) if item is not None]
            with control_dependencies(flat), colocate_with(self._handle):
                unlock = consume_mutex_lock_op.operation(lock)
            with control_dependencies([unlock]):
                outputs = iter([_identity(item) for item in flat])
                leaves = [
                    None if item is None else next(outputs) for item in nest.flatten(result, expand_composites=True)
                ]
                packed = nest.pack_sequence_as(result, leaves, expand_composites=True)
            add_to_collection(
                CRITICAL_SECTION_EXECUTIONS, _Execution(lock.op, self._handle, resources, exclusive_resource_access)
            )
            return packed

    def _execute_now(self, fn: Callable[[], Any]) -> Any:
        """Returns the results of the function, which runs at once."""
        lock = mutex_lock_op(self._handle)
        try:
            return fn()
        finally:
            consume_mutex_lock_op.operation(lock)

    def _enter_after_inputs(self, lock: Operation, operations: list[Operation]) -> None:
        """Delays the lock until all external inputs are computed, since those may need another section."""
        inside = {*operations, lock}
        outside = {tensor.op for op in operations for tensor in op.inputs if tensor.op not in inside}
        outside |= {control for op in operations for control in op.control_inputs if control not in inside}
        outside = {op for op in outside if op.context is lock.context}
        if outside:
            lock._add_control_inputs(sorted(outside, key=lambda op: op.id))

    def _resources_of(self, operations: list[Operation]) -> list[Tensor]:
        taken = [tensor for op in operations for tensor in op.inputs]
        resources = {tensor: None for tensor in taken if tensor.dtype is dtypes.resource or tensor.dtype._is_ref_dtype}
        if any(tensor.op is self._handle.op for tensor in resources):
            raise ValueError(
                f"the function locks the critical section {self.name!r} in which it runs: it would deadlock"
            )
        return list(resources)

    def _require_exclusive(self, resources: list[Tensor], is_exclusive: bool) -> None:
        """Raises if another section uses a resource that either of them uses exclusively."""
        graph = get_default_graph()
        for other in graph.get_collection(CRITICAL_SECTION_EXECUTIONS):
            if other.handle is self._handle or not (is_exclusive or other.exclusive_resource_access):
                continue
            common = [tensor for tensor in resources if any(tensor is theirs for theirs in other.resources)]
            if common:
                raise ValueError(
                    f"{common[0].op.name!r} is used in the critical sections {self.name!r} and "
                    f"{other.handle.op.name!r}; if that is intended, pass exclusive_resource_access=False to both"
                )


def _identity(item: object) -> Any:
    if isinstance(item, Operation):
        with control_dependencies([item]):
            return no_op()
    return identity(item)

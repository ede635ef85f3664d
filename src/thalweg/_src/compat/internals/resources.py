"""`tensorflow.python.ops.resources`: resources other than variables that must be initialized before use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thalweg._src.base import dtypes
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.comparison import logical_not
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.constants import constant, no_op
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.gather import boolean_mask
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, get_collection
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.variables.variables import Variable


class _Resource(NamedTuple):
    handle: Any
    create: Any
    is_initialized: Any


def register_resource(handle: Variable, create_op: object, is_initialized_op: object, is_shared: bool = True) -> None:
    """Adds a resource to the collection of shared or of local resources."""
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    add_to_collection(key, _Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Any]:
    """Returns the resources that all workers share."""
    return get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """Returns the resources of this worker alone."""
    return get_collection(GraphKeys.LOCAL_RESOURCES)


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Operation:
    """Returns an operation that creates all given resources."""
    return group(*(resource.create for resource in resource_list), name=name) if resource_list else no_op(name=name)


def report_uninitialized_resources(
    resource_list: Sequence[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """Returns the names of the resources that are not initialized, by default of all."""
    listed = [*shared_resources(), *local_resources()] if resource_list is None else list(resource_list)
    if not listed:
        return constant([], dtypes.string, name=name)
    names = constant([resource.handle.name for resource in listed])
    missing = logical_not(stack([resource.is_initialized for resource in listed]))
    return boolean_mask(names, missing, name=name)

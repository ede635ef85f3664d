"""Control dependencies: group, tuple and with_dependencies."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor


@export("group")
def group(*inputs: object, name: str | None = None) -> Operation:
    """Returns an operation that finishes when all inputs, in any nesting of lists, have run."""
    controls = builtins.list(_flat(inputs))
    if stacks.is_eager:
        return None  # type: ignore[return-value]  # what it groups has run
    with name_scope(name, "group_deps", controls) as scope, control_dependencies(controls):
        return no_op(name=scope)


def _flat(inputs: Any) -> Any:
    for item in inputs:
        if isinstance(item, builtins.list | builtins.tuple):
            yield from _flat(item)
        elif isinstance(item, dict):
            yield from _flat(item.values())
        elif item is not None:
            if not (isinstance(item, Tensor | Operation | IndexedSlices) or hasattr(item, "_as_graph_element")):
                raise TypeError(f"Expected tf.group() expected Tensor or Operation, but got {item!r}")
            yield item


@export("tuple")
def tuple(tensors: Any, name: str | None = None, control_inputs: Iterable[object] | None = None) -> list[Any]:
    """Returns the tensors unchanged, each available only when all of them are.

    Args:
        tensors: The tensors; None entries stay None.
    """
    if stacks.is_eager:
        return builtins.list(tensors)
    with name_scope(name, "tuple"):
        tensors = [t if t is None or hasattr(t, "op") else convert_to_tensor(t, name="tensors") for t in tensors]
        controls = [t.op for t in tensors if t is not None] + [getattr(c, "op", c) for c in control_inputs or ()]
        if not controls:
            raise ValueError("tuple() received neither tensors nor control inputs")
        gate = group(*controls)
        return [None if t is None else with_dependencies([gate], t) for t in tensors]


def with_dependencies(dependencies: Iterable[object], output_tensor: Any, name: str | None = None) -> Any:
    """Returns the tensor unchanged, available only when the dependencies have run."""
    if stacks.is_eager:
        return output_tensor
    with control_dependencies(dependencies):
        if isinstance(output_tensor, IndexedSlices):
            return IndexedSlices(
                identity(output_tensor.values, name=name), output_tensor.indices, output_tensor.dense_shape
            )
        return identity(output_tensor, name=name)

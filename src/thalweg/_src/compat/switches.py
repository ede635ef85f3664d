"""Switches of late TensorFlow 1: graph mode and its variants, forward compatibility, and scopes for compilation.

Graph mode is the only one here, so most switches only report it.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.export import export
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.dispatch import is_dispatched
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor


class _Defaults:
    resource_variables = False


_defaults = _Defaults()
_horizon = datetime.date(2019, 10, 16)  # the release of TensorFlow 1.15.0


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Does nothing: TensorFlow 1 behaviour is the only one."""


@export("disable_resource_variables")
def disable_resource_variables() -> None:
    """Makes new variables reference variables, the default."""
    _defaults.resource_variables = False


@export("enable_resource_variables")
def enable_resource_variables() -> None:
    """Makes new variables resource variables unless their scope or caller says otherwise."""
    _defaults.resource_variables = True


@export("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Returns whether new variables are resource variables by default."""
    return _defaults.resource_variables


@export("control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Returns False: conditionals and loops are built from Switch, Merge, Enter and Exit."""
    return False


@export("enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Does nothing: it would change how loops are represented in a graph, not what they compute."""


@export("disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Does nothing: the representation of loops in TensorFlow 1 graphs is the only one."""


@export("disable_tensor_equality")
def disable_tensor_equality() -> None:
    """Does nothing: tensors are compared by identity, as in TensorFlow 1."""


@export("disable_v2_tensorshape")
def disable_v2_tensorshape() -> None:
    """Does nothing: shapes are made of Dimensions, as in TensorFlow 1."""


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: Any) -> bool:
    """Returns whether a value is a tensor, a variable, IndexedSlices, or a sparse or ragged tensor."""
    known = isinstance(x, Tensor | IndexedSlices | SparseTensor) or hasattr(x, "_as_graph_element")
    return known or is_dispatched(x)


@export("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Returns whether a program may use what TensorFlow added on a date: before 1.15, or the scope's date."""
    return _horizon > datetime.date(year, month, day)


@export("compat.forward_compatibility_horizon")
@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Moves the horizon of `forward_compatible` within a scope, to test both cases."""
    global _horizon
    before, _horizon = _horizon, datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon = before


@export("xla.experimental.jit_scope", "contrib.compiler.jit.experimental_jit_scope")
@contextlib.contextmanager
def experimental_jit_scope(
    compile_ops: bool | Callable[..., bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Context manager: operations created inside are compiled together where possible."""
    wanted = (lambda node_def: bool(compile_ops(node_def))) if callable(compile_ops) else bool(compile_ops)
    with get_default_graph()._attr_scope({"_XlaCompile": wanted}):
        yield

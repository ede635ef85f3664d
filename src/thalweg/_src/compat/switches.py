"""Switches between the behaviours of TensorFlow 1 and 2, forward compatibility, and scopes for compilation.

The behaviour is that of TensorFlow 1, so these switches only report it. The one that has an effect, from graphs to
eager execution, is `enable_eager_execution` in runtime/eager.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator

from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph

_horizon = datetime.date(2019, 10, 16)  # the release of TensorFlow 1.15.0


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Does nothing: the behaviour is that of TensorFlow 1."""


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
    attr = (lambda node_def: bool(compile_ops(node_def))) if callable(compile_ops) else bool(compile_ops)
    with get_default_graph()._attr_scope({"_XlaCompile": attr}):
        yield

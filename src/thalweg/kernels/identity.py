"""Kernels of identities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg.errors import ShapeError
from thalweg.graph.step_graph import Node
from thalweg.kernels.registry import kernel
from thalweg.shapes import compatible, show


def _same(value: Any) -> Any:
    return value


def _all_the_same(*values: Any) -> tuple[Any, ...]:
    return values


@kernel("Identity", "StopGradient", "PreventGradient")
def bind_identity(node: Node, device: Any) -> Callable[[Any], Any]:
    return _same


@kernel("IdentityN")
def bind_identity_n(node: Node, device: Any) -> Callable[..., Any]:
    return _same if len(node.inputs) == 1 else _all_the_same


@kernel("EnsureShape")
def bind_ensure_shape(node: Node, device: Any) -> Callable[[Any], Any]:
    wanted = node.attrs["shape"]

    def ensure(value: Any) -> Any:
        if not compatible(wanted, tuple(value.shape)):
            raise ShapeError(f"the value has shape {show(tuple(value.shape))}", expected=show(wanted), hint=None)
        return value

    return ensure

"""Gradients of identities."""

from __future__ import annotations

from typing import Any, NoReturn

from thalweg._src.graph.autodiff.registry import Gradient, gradient
from thalweg._src.graph.operation import Operation


@gradient("Identity", "RefIdentity", "EnsureShape")
def identity(op: Operation, grad: Gradient) -> Any:
    return grad


@gradient("IdentityN")
def identity_n(op: Operation, *grads: Gradient) -> list[Any]:
    return list(grads)


@gradient("PreventGradient")
def prevent_gradient(op: Operation, grad: Gradient) -> NoReturn:
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.attrs['message']!r}")

"""Gradients of identities."""

from __future__ import annotations

from typing import Any, NoReturn

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation


@gradient("Identity", "RefIdentity", "EnsureShape")
def identity(op: Operation, grad: Any) -> Any:
    return grad


@gradient("IdentityN")
def identity_n(op: Operation, *grads: Any) -> list[Any]:
    return list(grads)


@gradient("PreventGradient")
def prevent_gradient(op: Operation, grad: Any) -> NoReturn:
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.attrs['message']!r}")

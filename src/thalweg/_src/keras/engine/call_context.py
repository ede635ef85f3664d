"""Calls of layers inside other layers: what the outer one passes on to the inner ones."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.base import Layer


class _Calls(threading.local):
    """The calls of layers that this thread is in, innermost last: the layer, and whether it is in training."""

    def __init__(self) -> None:
        self.stack: list[tuple[Any, Any]] = []


_calls = _Calls()


def is_in_call() -> bool:
    """Returns whether a layer is being called."""
    return bool(_calls.stack)


def outer_training() -> Any:
    """Returns the argument `training` of the innermost call that was given one."""
    return _calls.stack[-1][1] if _calls.stack else None


@contextlib.contextmanager
def left() -> Iterator[None]:
    """Context manager: layers are called as if no other layer was being called, since a model is made of them."""
    before, _calls.stack = _calls.stack, []
    try:
        yield
    finally:
        _calls.stack = before


@contextlib.contextmanager
def entered(layer: Layer, training: TensorLike | None) -> Iterator[None]:
    """Context manager: the call of a layer."""
    _calls.stack.append((layer, training if training is not None else outer_training()))
    try:
        yield
    finally:
        _calls.stack.pop()

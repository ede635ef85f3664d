"""Shared parts of blocking kernels: failing after the call has returned, and values that outlive the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import SHOWN, Node
from thalweg._src.graph.source_line import made_at
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

_LOCAL_TASK = "/job:localhost/replica:0/task:0"  # redundant in a single process


def failure(node: Node, device: Device) -> Callable[[Any, errors.OpError], None]:
    """Returns a function that fails the step with an error of this node after the kernel's call has returned."""
    place = device.name.removeprefix(_LOCAL_TASK)

    def fail(step: Step, error: errors.OpError) -> None:
        if node.attrs.get(SHOWN) == "":  # eager execution adds the place
            step.fail(error)
            return
        text = f"{node.type} '{node.name}' on {place}: {error.message}"
        line = made_at(node.stack)
        kind: Any = type(error)
        step.fail(kind(node, node, text if line is None else f"{text}\n  defined at: {line}"))

    return fail


def storable(value: object) -> Any:
    """Returns a value that may outlive the step: not the memory of a feed, nor a small part of a large buffer."""
    if not isinstance(value, torch.Tensor):
        return np.array(value, dtype=object)
    storage = value.untyped_storage()
    if storage.resizable() and storage.nbytes() <= 2 * value.nbytes:
        return value
    return value.clone()


def shared(node: Node, device: Device, kind: str, make: Callable[[str], Any]) -> Any:
    """Returns the resource of a handle by container and name, created on first use."""
    name = node.attrs["shared_name"] or node.name
    return device.resources.lookup_or_create(node.attrs["container"], kind, name, lambda: make(name))


def require_same(resource: Any, received: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raises if the existing resource of this name has other properties."""
    for what, value in received.items():
        if expected[what] != value:
            raise invalid(
                errors.describe(
                    f"{resource.name!r} already exists with another {what}",
                    expected=str(expected[what]),
                    received=str(value),
                )
            )

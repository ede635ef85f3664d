"""Kernels of constants and placeholders; Const itself is bound before the step, NoOp needs no call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch

from thalweg import dtypes, errors
from thalweg.graph.step_graph import Node
from thalweg.kernels.registry import Call, Input, kernel
from thalweg.shapes import compatible, show


@kernel("Placeholder")
def bind_placeholder(node: Node, device: Any) -> Callable[[], NoReturn]:
    def missing() -> NoReturn:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"You must feed a value for placeholder tensor '{node.name}' with dtype {node.dtypes[0].name} "
            f"and shape {show(node.shapes[0])}",
        )

    return missing


@kernel("PlaceholderWithDefault")
def bind_placeholder_with_default(node: Node, device: Any) -> Callable[[Any], Any]:
    shape = node.attrs["shape"]

    def default(value: Any) -> Any:
        if not compatible(shape, tuple(value.shape)):
            raise errors.ShapeError(
                f"the default value has shape {show(tuple(value.shape))}", expected=show(shape), hint=None
            )
        return value

    return default


@kernel("Fill")
def bind_fill(node: Node, device: Any) -> Callable[..., torch.Tensor] | Call:
    dims = node.constant(0)
    if dims is not None:
        return Call(torch.Tensor.expand, (Input(1), tuple(dims.tolist())))
    return lambda dims, value: value.expand(dims.tolist())


@kernel("Fill", devices=("CPU",), T=[dtypes.string], priority=1)
def bind_fill_strings(node: Node, device: Any) -> Callable[..., Any]:
    return lambda dims, value: np.full(dims.tolist(), value.item(), dtype=object)

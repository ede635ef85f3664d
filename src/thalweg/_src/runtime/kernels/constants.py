"""Kernels of constants and placeholders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import compact, compatible, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Constant, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TensorValue, from_numpy
from thalweg._src.runtime.resources.devices import Device


@kernel("Const")
def bind_constant(node: Node, device: Device) -> Constant:
    return Constant(from_numpy(node.attrs["value"], node.dtypes[0], device.torch))


@kernel("NoOp")
def bind_no_op(node: Node, device: Device) -> Constant:
    """Does nothing: the generated program already orders the nodes as its control inputs require."""
    return Constant()


@kernel("_Arg")
def bind_arg(node: Node, device: Device) -> NoReturn:
    raise errors.InternalError(None, None, "a fed value has no kernel: the step provides it")


@kernel("Placeholder")
def bind_placeholder(node: Node, device: Device) -> Callable[[], NoReturn]:
    description = dtypes.native_name(node.dtypes[0])
    if node.shapes[0] is not None:
        description += f" and shape {compact(node.shapes[0])}"

    def missing() -> NoReturn:
        raise invalid(f"You must feed a value for placeholder tensor '{node.name}' with dtype {description}")

    return missing


@kernel("PlaceholderWithDefault")
def bind_placeholder_with_default(node: Node, device: Device) -> Callable[[Any], Any]:
    shape = node.attrs["shape"]
    if node.input_dtype(0) is dtypes.resource:
        return lambda handle: handle  # a handle is a scalar, whatever the shape of its variable

    def default(value: TensorValue) -> Any:
        if not compatible(shape, tuple(value.shape)):
            raise errors.ShapeError(f"the default value has shape {show(tuple(value.shape))}", expected=show(shape))
        return value

    return default


@kernel("Fill")
def bind_fill(node: Node, device: Device) -> Callable[..., torch.Tensor] | Call:
    dims = node.constant(0)
    if dims is not None:
        return Call(torch.Tensor.expand, (Input(1), tuple(dims.tolist())))
    return lambda dims, value: value.expand(dims.tolist())


plain_kernel("Fill", devices=("CPU",), T=[dtypes.string], priority=1)(
    lambda dims, value: np.full(dims.tolist(), value.item(), dtype=object)
)

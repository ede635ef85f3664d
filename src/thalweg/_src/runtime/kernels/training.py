"""Kernels of optimizer updates: the rules of update_rules.py under the locks of the variables they change.

Updates of many variables by one rule are one call: torch's fused kernels for SGD, momentum and Adam.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels import update_rules as rules
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.state import find_variable
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.kernels.update_rules import Number, corrected_rate
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.variables import VariableResource, all_writable, locked

Rule = Callable[..., None]

_TYPES = dtypes.FLOATING | dtypes.COMPLEX
_HALF = (dtypes.float16, dtypes.bfloat16)
_FUSED = (*_HALF, dtypes.float32, dtypes.float64)
_GRADIENTS = ("grad", "delta")


class _Buffers:
    """The variables that one call updates: their locks, and their buffers while the locks are held."""

    __slots__ = ("_shapes", "distinct", "guard", "variables")

    def __init__(self, variables: Sequence[VariableResource]) -> None:
        self.variables = variables
        self.distinct = len(set(variables)) == len(variables)
        self.guard = locked(variables)
        self._shapes: list[Any] | None = None

    def writable(self) -> list[torch.Tensor]:
        if self.distinct:
            return all_writable(self.variables)
        buffers = {variable: variable.writable() for variable in set(self.variables)}
        return [buffers[variable] for variable in self.variables]

    def writable_rows(self, indices: torch.Tensor) -> list[torch.Tensor]:
        """Returns the buffers, of which only some rows will be changed."""
        if all(variable.before is None for variable in self.variables):
            return self.writable()
        buffers = {variable: variable.writable_rows(indices) for variable in set(self.variables)}
        return [buffers[variable] for variable in self.variables]

    def have_equal_layouts(self, count: int) -> bool:
        """Returns whether each of `count` variables has the memory layout of its slots."""
        orders = [variable.memory_format for variable in self.variables]
        return orders[count:] == orders[:-count]

    def shapes(self, count: int) -> list[Any]:
        """Returns the declared shape that each of `count` variables shares with its slots, None if there is none."""
        if self._shapes is None:
            declared = [variable.shape for variable in self.variables]
            first = declared[:count]
            self._shapes = first if declared == first * (len(declared) // count) else [None] * count
        return self._shapes


def _buffers(node: Node, device: Device, indices: Sequence[int]) -> Any:
    """Returns the variables of the inputs: found at binding, or in each step for a handle computed at run time."""
    handles = [node.inputs[index][0] for index in indices]
    if all(handle.type == "VarHandleOp" for handle in handles):
        return _Buffers([find_variable(handle, device) for handle in handles])
    return Call(_Buffers, ([Input(index) for index in indices],))


def _number(node: Node, index: int, device: Device) -> Any:
    """Returns the argument that passes a hyperparameter to a rule without synchronizing the device."""
    value = node.constant(index)
    if value is not None and value.ndim == 0:
        return float(value) if node.input_dtype(index).is_floating else value.item()
    if device.type == "CPU" and not device.compiling:
        return Call(torch.Tensor.item, (Input(index),))
    return Input(index)


def _split(node: Node) -> tuple[list[int], list[int], dict[str, Any]]:
    """Returns the positions of variables and of other inputs, and the attributes that affect the rule."""
    resources = [i for i in range(len(node.inputs)) if node.input_dtype(i) is dtypes.resource]
    others = list(range(len(resources), len(node.inputs)))
    attrs = {key: node.attrs[key] for key in node.definition.explicit if key != "use_locking"}
    return resources, others, attrs


def _bind_whole(rule: Rule, node: Node, device: Device) -> Call:
    resources, others, attrs = _split(node)
    names = [arg.name for arg in node.definition.inputs]
    gradient = next(i for i in others if names[i] in _GRADIENTS)
    position = gradient - len(resources)
    rule = partial(rule, **attrs)

    def update(buffers: _Buffers, *values: TensorValue) -> None:
        with buffers.guard:
            writable = buffers.writable()
            _require_shapes(writable, values[position].shape, "grad")
            rule(*writable, *values)

    values = [Input(i) if i == gradient else _number(node, i, device) for i in others]
    return Call(update, (_buffers(node, device, resources), *values))


def _bind_rows(rule: Rule, node: Node, device: Device) -> Call:
    resources, others, attrs = _split(node)
    names = [arg.name for arg in node.definition.inputs]
    gradient, chosen = names.index("grad"), names.index("indices")
    position = [i for i in others if i != chosen].index(gradient)
    distinct = node.inputs[chosen][0].type in ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2")
    rule = partial(rule, **attrs)

    def update(buffers: _Buffers, indices: torch.Tensor, *values: torch.Tensor) -> None:
        with buffers.guard:
            writable = buffers.writable_rows(indices)
            _require_rows(writable, values[position], indices)
            if distinct or len(indices) == len(torch.unique(indices)):
                update_rows(writable, indices, values)
                return
            for i in range(len(indices)):  # equal indices are separate updates, applied in sequence
                grad = values[position][i : i + 1]
                update_rows(writable, indices[i : i + 1], (*values[:position], grad, *values[position + 1 :]))

    def update_rows(writable: list[torch.Tensor], indices: torch.Tensor, values: Sequence[Any]) -> None:
        rows = [buffer.index_select(0, indices) for buffer in writable]
        rule(*rows, *values)
        for buffer, changed in zip(writable, rows):
            buffer.index_copy_(0, indices.long(), changed)

    values = [Input(i) if i == gradient else _number(node, i, device) for i in others if i != chosen]
    return Call(update, (_buffers(node, device, resources), Input(chosen), *values))


def _require_shapes(buffers: Sequence[torch.Tensor], shape: torch.Size, name: str) -> None:
    for buffer in buffers:
        if buffer.shape != shape:
            raise errors.ShapeError(
                f"{name} has shape {show(tuple(shape))}",
                expected=f"{name} of shape {show(tuple(buffer.shape))}, the variable's",
            )


def _require_rows(buffers: Sequence[torch.Tensor], grad: torch.Tensor, indices: torch.Tensor) -> None:
    for buffer in buffers:
        if buffer.dim() == 0 or indices.dim() != 1 or grad.shape != (len(indices), *buffer.shape[1:]):
            raise errors.ShapeError(
                f"grad has shape {show(tuple(grad.shape))} for indices of shape {show(tuple(indices.shape))}",
                expected=f"one row of the variable, whose shape is {show(tuple(buffer.shape))}, per index",
            )
    count = min(len(buffer) for buffer in buffers)
    if len(indices):  # on a device too: a bad index would abort the process there, and Unique has already synchronized
        low, high = torch.aminmax(indices)
        if low.item() < 0 or high.item() >= count:
            position, index = next((i, x) for i, x in enumerate(indices.tolist()) if not 0 <= x < count)
            raise invalid(f"indices[{position}] = {index} is not in [0, {count})")


# The dense op of each rule, its sparse counterpart, and the rule. The rule's arguments are the op's inputs, with one
# buffer per variable, then the op's attributes by name.
_RULES: list[tuple[str, str | None, Rule]] = [
    ("ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum", rules.keras_momentum),
    ("ResourceApplyAdagrad", "ResourceSparseApplyAdagrad", rules.adagrad),
    ("ResourceApplyAdagradV2", "ResourceSparseApplyAdagradV2", rules.adagrad_v2),
    ("ResourceApplyAdadelta", "ResourceSparseApplyAdadelta", rules.adadelta),
    ("ResourceApplyRMSProp", "ResourceSparseApplyRMSProp", rules.rms_prop),
    ("ResourceApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp", rules.centered_rms_prop),
    ("ResourceApplyAdamWithAmsgrad", None, rules.adam_with_amsgrad),
    ("ResourceApplyAdaMax", None, rules.ada_max),
    ("ResourceApplyFtrl", "ResourceSparseApplyFtrl", rules.ftrl),
    ("ResourceApplyFtrlV2", "ResourceSparseApplyFtrlV2", rules.ftrl_v2),
    (
        "ResourceApplyProximalGradientDescent",
        "ResourceSparseApplyProximalGradientDescent",
        rules.proximal_gradient_descent,
    ),
    ("ResourceApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad", rules.proximal_adagrad),
    ("ResourceApplyAdagradDA", "ResourceSparseApplyAdagradDA", rules.adagrad_da),
    ("ResourceApplyAddSign", None, rules.add_sign),
    ("ResourceApplyPowerSign", None, rules.power_sign),
]
for _op, _twin, _rule in _RULES:
    kernel(_op, T=_TYPES)(partial(_bind_whole, _rule))
    if _twin is not None:
        kernel(_twin, T=_TYPES)(partial(_bind_rows, _rule))
kernel("ResourceSparseApplyMomentum", T=_TYPES)(partial(_bind_rows, rules.momentum))


# -- updates of several variables at once -----------------------------------------------------------------------------


class _Group:
    """The input layout of an update of n variables at once: n variables per slot, hyperparameters, n gradients."""

    __slots__ = ("_buffers", "_count", "_device", "_kinds", "_node", "_positions")

    def __init__(self, node: Node, device: Device) -> None:
        self._node = node
        self._device = device
        self._count = node.attrs.get("N", 1)
        self._positions: dict[str, range] = {}
        start = 0
        for arg in node.definition.inputs:
            stop = start + (self._count if arg.is_list else 1)
            self._positions[arg.name] = range(start, stop)
            start = stop
        resources = [i for i in range(len(node.inputs)) if node.input_dtype(i) is dtypes.resource]
        self._kinds = len(resources) // self._count
        self._buffers = _buffers(node, device, resources)

    def call(self, change: Callable[..., None], fused: bool, *numbers: str) -> Call:
        """Returns the call of `change(is_fused, one list of buffers per slot, gradients, numbers)` under the locks.

        fused: torch's fused kernels may be used; they traverse memory linearly, so all need the same layout
        """
        count, kinds = self._count, self._kinds
        values = [_number(self._node, self._positions[name][0], self._device) for name in numbers]

        def update(buffers: _Buffers, grads: list[torch.Tensor], *values: object) -> None:
            with buffers.guard:
                writable = buffers.writable()
                moves = VariableResource.some_have_formats  # these may have another memory layout than gradients
                is_fused = fused and (not moves or buffers.have_equal_layouts(count))
                for i, (grad, shape) in enumerate(zip(grads, buffers.shapes(count))):
                    if grad.shape != shape:
                        _require_shapes(writable[i::count], grad.shape, "grad")
                    if is_fused and (moves or not grad.is_contiguous()):
                        grads[i] = buffers.variables[i].in_memory_format(grad)
                if buffers.distinct:
                    lists = [writable[kind * count : (kind + 1) * count] for kind in range(kinds)]
                    change(is_fused, lists, grads, *values)
                    return
                for i in range(count):  # a variable that appears twice is updated twice in sequence
                    change(is_fused, [[buffer] for buffer in writable[i::count]], grads[i : i + 1], *values)

        gradients = next(self._positions[name] for name in _GRADIENTS if name in self._positions)
        return Call(update, (self._buffers, [Input(i) for i in gradients], *values))


def _is_fused(node: Node, device: Device) -> bool:
    """Returns whether torch's fused kernels are used; a compiler fuses the individual operations better."""
    return node.attrs["T"] in _FUSED and not device.compiling


def _has_fused_descent(node: Node, device: Device) -> bool:
    """Returns whether torch's fused gradient descent is used, which is wrong in 16 bits on the CPU.

    It leaves most of such a variable as it was, and adds its gradient to uninitialized memory instead of the momentum.
    """
    return _is_fused(node, device) and (device.type != "CPU" or node.attrs["T"] not in _HALF)


@kernel("ResourceApplyGradientDescent", "_ApplyGradientDescentGroup", T=_TYPES)
def bind_gradient_descent(node: Node, device: Device) -> Call:
    def change(fused: bool, buffers: list[list[torch.Tensor]], grads: list[torch.Tensor], alpha: Number) -> None:
        if fused:
            _sgd(buffers[0], grads, [], alpha, 0.0, False)
            return
        for var, grad in zip(buffers[0], grads):
            var.sub_(grad * alpha)

    return _Group(node, device).call(change, _has_fused_descent(node, device), "alpha")


@kernel("ResourceApplyMomentum", "_ApplyMomentumGroup", T=_TYPES)
def bind_momentum(node: Node, device: Device) -> Call:
    use_nesterov = node.attrs["use_nesterov"]

    def change(
        fused: bool, buffers: list[list[torch.Tensor]], grads: list[torch.Tensor], lr: Number, momentum: Number
    ) -> None:
        if fused and isinstance(momentum, float) and momentum != 0:  # without momentum torch has no accumulator
            _sgd(buffers[0], grads, buffers[1], lr, momentum, use_nesterov)
            return
        for var, accum, grad in zip(*buffers, grads):
            rules.momentum(var, accum, lr, grad, momentum, use_nesterov=use_nesterov)

    return _Group(node, device).call(change, _has_fused_descent(node, device), "lr", "momentum")


def _sgd(
    variables: list[torch.Tensor],
    grads: list[torch.Tensor],
    accums: list[torch.Tensor],
    lr: Number,
    momentum: float,
    nesterov: bool,
) -> None:
    torch._fused_sgd_(
        variables,
        grads,
        accums,
        weight_decay=0.0,
        momentum=momentum,
        lr=_as_rate(lr),
        dampening=0.0,
        nesterov=nesterov,
        maximize=False,
        is_first_step=False,
    )


@kernel("ResourceApplyAdam", "_ApplyAdamGroup", T=_TYPES)
def bind_adam(node: Node, device: Device) -> Call:
    use_nesterov = node.attrs["use_nesterov"]
    # torch's bias correction depends on the number of steps; our rate is corrected already, and after infinitely many
    # steps no correction remains.
    steps = [torch.full((), math.inf, device=device.torch)] * node.attrs.get("N", 1)

    def change(
        fused: bool,
        buffers: list[list[torch.Tensor]],
        grads: list[torch.Tensor],
        beta1_power: Number,
        beta2_power: Number,
        lr: Number,
        beta1: Number,
        beta2: Number,
        epsilon: Number,
    ) -> None:
        rate = corrected_rate(lr, beta1_power, beta2_power)
        if fused and not use_nesterov and _is_fraction(beta1) and _is_fraction(beta2) and isinstance(epsilon, float):
            torch._fused_adam_(
                buffers[0],
                grads,
                buffers[1],
                buffers[2],
                [],
                steps[: len(grads)],
                lr=_as_rate(rate),
                beta1=beta1,
                beta2=beta2,
                weight_decay=0.0,
                eps=epsilon,
                amsgrad=False,
                maximize=False,
            )
            return
        for var, m, v, grad in zip(*buffers, grads):
            rules.adam(var, m, v, rate, beta1, beta2, epsilon, grad, use_nesterov)

    names = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")
    return _Group(node, device).call(change, _is_fused(node, device), *names)


def _is_fraction(beta: Number) -> bool:
    return isinstance(beta, float) and 0 <= beta < 1


def _as_rate(lr: Number) -> Number:
    """Returns a learning rate in the form of torch's fused kernels: a number, or a float32 tensor for every type."""
    return lr.float() if isinstance(lr, torch.Tensor) else lr

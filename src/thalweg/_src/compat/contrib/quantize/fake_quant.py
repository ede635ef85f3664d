"""Fake quantization of tensors, with ranges that training measures and evaluation reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg._src.base.dtypes import int64
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops.comparison import greater_equal
from thalweg._src.graph.ops.fake_quantization import fake_quant_with_min_max_vars
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import abs as absolute, maximum, minimum
from thalweg._src.graph.ops.reduction import reduce_max, reduce_min
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.optimizers.moving_averages import assign_moving_average
from thalweg._src.training.variables.initializers import constant_initializer
from thalweg._src.training.variables.variable_scope import get_variable, variable_scope

_DECAY = 0.999  # of the average of the ranges of activations
_START = 6.0
_STEP = "fake_quantization_step"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a graph is quantized.

    quant_delay: the step at which rounding begins
    freeze_bn_delay: the step from which folded batch normalization uses its averages
    """

    is_training: bool
    weight_bits: int = 8
    activation_bits: int = 8
    symmetric: bool = False
    quant_delay: int | None = None
    freeze_bn_delay: int | None = None

    @property
    def counts_steps(self) -> bool:
        return self.is_training and bool(self.quant_delay or self.freeze_bn_delay is not None)

    def __post_init__(self) -> None:
        for name in ("weight_bits", "activation_bits"):
            bits = getattr(self, name)
            if not 2 <= bits <= 16:
                raise ValueError(f"{name}: expected 2 to 16, received {bits}")


def quantization_step() -> Tensor:
    """Returns how often the graph has run since it was rewritten, this time included."""
    graph = get_default_graph()
    if _STEP in graph._by_name:
        return graph.get_tensor_by_name(f"{_STEP}/AssignAdd:0")
    with name_scope(None):
        step = get_variable(_STEP, [], int64, initializer=constant_initializer(0), trainable=False, use_resource=False)
    with name_scope(f"{_STEP}/"):
        return step.assign_add(1, name="AssignAdd")  # type: ignore[no-any-return]


def quantize_weights(weights: Tensor, name: str, settings: Settings) -> Tensor:
    """Rounds weights to a range that is that of their values now."""
    return _quantized(weights, name, settings, settings.weight_bits, narrow_range=True)


def quantize_activation(values: Tensor, name: str, settings: Settings) -> Tensor:
    """Rounds activations to a range that is the moving average over batches."""
    return _quantized(values, name, settings, settings.activation_bits, narrow_range=False)


def _quantized(inputs: Tensor, name: str, settings: Settings, bits: int, narrow_range: bool) -> Tensor:
    """Rounds values; the range of weights, which is narrow, so that 0 is in its middle, is measured in each step."""
    with variable_scope(name):
        low, high = _variable("min", -_START), _variable("max", _START)
        ends: list[Any] = [low.value(), high.value()]
        if settings.is_training:
            measured = _range(stop_gradient(inputs), settings.symmetric)
            if narrow_range:
                ends = [low.assign(measured[0], name="AssignMinLast"), high.assign(measured[1], name="AssignMaxLast")]
            else:
                names = ("AssignMinEma", "AssignMaxEma")
                variables = (low, high)
                ends = [assign_moving_average(v, end, _DECAY, name=n) for v, end, n in zip(variables, measured, names)]
        rounded = fake_quant_with_min_max_vars(inputs, *ends, num_bits=bits, narrow_range=narrow_range)
        if settings.is_training and settings.quant_delay:
            begun = greater_equal(quantization_step(), settings.quant_delay, name="activate_quant")
            rounded = cond(begun, lambda: rounded, lambda: inputs, name="delayed_quant")
        return rounded


def _variable(name: str, value: float) -> Any:
    return get_variable(name, [], initializer=constant_initializer(value), trainable=False, use_resource=False)


def _range(values: Tensor, symmetric: bool) -> tuple[Tensor, Tensor]:
    """Returns the least and the greatest value, with 0 between."""
    low, high = minimum(reduce_min(values), 0.0), maximum(reduce_max(values), 0.0)
    if symmetric:
        high = maximum(absolute(low), high)
        low = -high
    return low, high

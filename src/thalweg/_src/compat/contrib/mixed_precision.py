"""tf.contrib.mixed_precision: loss scale managers, and the optimizer that uses one."""

from __future__ import annotations

import abc
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.comparison import is_finite
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import maximum
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.optimizers.mixed_precision import (
    DynamicLossScale,
    LossScale,
    MixedPrecisionLossScaleOptimizer,
    _all_finite,
)
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables.variables import Variable


@export("contrib.mixed_precision.LossScaleManager")
class LossScaleManager(abc.ABC):
    """Decides the factor of a loss that keeps small gradients from underflowing in half precision."""

    @abc.abstractmethod
    def get_loss_scale(self) -> Tensor:
        """Returns the factor, a scalar."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads: Tensor) -> Operation:
        """Returns the operation that adapts the factor, given whether all gradients are finite."""


@export("contrib.mixed_precision.FixedLossScaleManager")
class FixedLossScaleManager(LossScaleManager):
    """Keeps one factor.

    Args:
        loss_scale: The factor, at least 1.
    """

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError(f"loss scale must be at least 1, received {loss_scale}")
        self._loss_scale = convert_to_tensor(loss_scale, dtypes.float32)

    def get_loss_scale(self) -> Tensor:
        """Returns the factor."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Tensor) -> Operation:
        """Returns an operation that does nothing."""
        return no_op()


@export("contrib.mixed_precision.ExponentialUpdateLossScaleManager")
class ExponentialUpdateLossScaleManager(LossScaleManager):
    """Increases the factor after steps with finite gradients, and decreases it after steps with others.

    Args:
        init_loss_scale: The factor at the start.
        incr_every_n_steps: Number of finite steps in a row after which it increases.
        decr_every_n_nan_or_inf: Number of steps with non-finite gradients after which it decreases.
        incr_ratio: What it is multiplied by when it increases.
        decr_ratio: What it is multiplied by when it decreases.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        self._loss_scale = Variable(init_loss_scale, False, name="loss_scale", dtype=dtypes.float32)
        self._num_good_steps = Variable(0, False, name="good_steps", dtype=dtypes.int32)
        self._num_bad_steps = Variable(0, False, name="bad_steps", dtype=dtypes.int32)

    def get_loss_scale(self) -> Tensor:
        """Returns the factor."""
        return convert_to_tensor(self._loss_scale)

    def update_loss_scale(self, finite_grads: Tensor) -> Operation:
        """Returns the operation that counts the step, and adapts the factor when it is time."""
        # All are read before any is written.
        scale, good, bad = (identity(v) for v in (self._loss_scale, self._num_good_steps, self._num_bad_steps))

        def after_good() -> tuple[Any, ...]:
            is_due = good + 1 >= self._incr_every_n_steps
            larger = scale * self._incr_ratio
            larger = where(is_finite(larger), larger, scale)
            return where(is_due, larger, scale), where(is_due, 0, good + 1), where(is_due, 0, bad)

        def after_bad() -> tuple[Any, ...]:
            is_due = bad + 1 >= self._decr_every_n_nan_or_inf
            smaller = maximum(1.0, scale * self._decr_ratio)
            return where(is_due, smaller, scale), good * 0, where(is_due, 0, bad + 1)

        values = cond(finite_grads, after_good, after_bad)
        variables = (self._loss_scale, self._num_good_steps, self._num_bad_steps)
        return group(*(variable.assign(value) for variable, value in zip(variables, values)))


class _ManagedLossScale(DynamicLossScale):
    """The loss scale that a manager decides."""

    def __init__(self, manager: LossScaleManager) -> None:
        LossScale.__init__(self)
        self._manager = manager

    def __call__(self) -> Tensor:
        return self._manager.get_loss_scale()

    def update(self, grads: object) -> tuple[Operation, Any]:
        finite = _all_finite(nest.flatten(grads))
        return self._manager.update_loss_scale(finite), finite


@export("contrib.mixed_precision.LossScaleOptimizer")
class LossScaleOptimizer(MixedPrecisionLossScaleOptimizer):
    """Wraps an optimizer: scales the loss, unscales the gradients, and applies them only if all are finite.

    Args:
        opt: The optimizer.
        loss_scale_manager: The LossScaleManager that decides the factor.
    """

    def __init__(self, opt: Optimizer, loss_scale_manager: LossScaleManager) -> None:
        super().__init__(opt, _ManagedLossScale(loss_scale_manager))

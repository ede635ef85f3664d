"""Optimizers with decoupled weight decay (AdamW, MomentumW) or layer-wise adaptation (LAMB, LARS)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops import training
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater, logical_and
from thalweg._src.graph.ops.math import multiply, negative, sqrt, square
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.state import resource_scatter_add
from thalweg._src.graph.ops.where import unique, where
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.optimizers import AdamOptimizer, MomentumOptimizer
from thalweg._src.training.variables.variables import Variable


@export("contrib.opt.DecoupledWeightDecayExtension")
class DecoupledWeightDecayExtension:
    """Mixin that adds decoupled weight decay to an optimizer class.

    Each step subtracts the fraction `weight_decay` of a variable, independent of the learning rate. Unlike a penalty in
    the loss, the decay does not enter the optimizer's moment estimates.

    Args:
        weight_decay: Part of a variable that each step removes.
        *args: Positional arguments of the optimizer.
        **kwargs: Keyword arguments of the optimizer.
    """

    _use_locking: bool

    def __init__(self, weight_decay: TensorLike | Callable[[], TensorLike], *args: Any, **kwargs: Any) -> None:
        self._decay_var_list: set[Any] | None = None
        self._weight_decay = weight_decay
        self._weight_decay_tensor: Any = None
        super().__init__(*args, **kwargs)

    @parameters_of(Optimizer.minimize)
    def minimize(
        self,
        global_step: Variable | None,
        name: str | None,
        decay_var_list: Iterable[Any] | None = None,
        **arguments: Any,
    ) -> Any:
        """Returns the training operation; weight decay applies to `decay_var_list`, by default to all variables."""
        pairs = self.compute_gradients(**arguments)  # type: ignore[attr-defined]
        return self.apply_gradients(pairs, global_step, name, decay_var_list)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Variable | None = None,
        name: str | None = None,
        decay_var_list: Iterable[Any] | None = None,
    ) -> Any:
        """Returns the operation that decays and updates the variables; see `minimize` for `decay_var_list`."""
        self._decay_var_list = set(decay_var_list or ()) or None
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)  # type: ignore[misc]

    def _prepare(self) -> None:
        decay = self._weight_decay
        self._weight_decay_tensor = convert_to_tensor(decay() if callable(decay) else decay, name="weight_decay")
        super()._prepare()  # type: ignore[misc]

    def _update(self, grad: Any, variable: Any) -> Any:
        if self._decay_var_list is not None and variable not in self._decay_var_list:
            return super()._update(grad, variable)  # type: ignore[misc]
        # The gradient must be computed before the decay.
        with control_dependencies([grad.values if isinstance(grad, IndexedSlices) else grad]):
            decayed = self._decay_rows(grad, variable) if isinstance(grad, IndexedSlices) else self._decay(variable)
        with control_dependencies([decayed]):
            return super()._update(grad, variable)  # type: ignore[misc]

    def _decay(self, variable: Any) -> Any:
        decrease = multiply(variable.value(), cast(self._weight_decay_tensor, variable.dtype))
        return variable.assign_sub(decrease, self._use_locking, read_value=False)

    def _decay_rows(self, grad: IndexedSlices, variable: Any) -> Any:
        rows = unique(grad.indices)[0]
        held = variable.sparse_read(rows)
        increase = multiply(held, negative(cast(self._weight_decay_tensor, variable.dtype)))
        return resource_scatter_add.operation(variable._handle, rows, increase)


@export("contrib.opt.extend_with_decoupled_weight_decay")
def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """Returns a subclass of an optimizer class whose first argument is a weight decay."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[misc]
        """The optimizer, with decoupled weight decay."""

    return OptimizerWithDecoupledWeightDecay


@export("contrib.opt.MomentumWOptimizer")
class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decoupled weight decay."""

    @parameters_of(MomentumOptimizer.__init__, before="learning_rate", name="MomentumW")
    def __init__(self, weight_decay: TensorLike | Callable[[], TensorLike], **arguments: Any) -> None:
        super().__init__(weight_decay, **arguments)


@export("contrib.opt.AdamWOptimizer")
class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decoupled weight decay.

    Args:
        epsilon: A small number added to the denominator.
    """

    @parameters_of(
        AdamOptimizer.__init__, without=["use_own_namescope_for_non_slot_vars"], before="learning_rate", name="AdamW"
    )
    def __init__(self, weight_decay: TensorLike | Callable[[], TensorLike], **arguments: Any) -> None:
        super().__init__(weight_decay, **arguments)


@export("contrib.opt.LAMBOptimizer")
class LAMBOptimizer(AdamOptimizer):
    """LAMB: Adam with weight decay and a trust ratio per variable.

    The exclusions are regular expressions that are searched in the names of variables. A variable without weight decay
    has no trust ratio either, unless `exclude_from_layer_adaptation` is given.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike] = 0.001,
        weight_decay_rate: TensorLike | Callable[[], TensorLike] = 0.0,
        beta1: TensorLike | Callable[[], TensorLike] = 0.9,
        beta2: TensorLike | Callable[[], TensorLike] = 0.999,
        epsilon: TensorLike | Callable[[], TensorLike] = 1e-6,
        exclude_from_weight_decay: Sequence[str] | None = None,
        exclude_from_layer_adaptation: Sequence[str] | None = None,
        use_locking: bool = False,
        name: str = "LAMB",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._weight_decay_rate = weight_decay_rate
        self._without_decay = list(exclude_from_weight_decay or ())
        adapted = exclude_from_layer_adaptation
        self._without_adaptation = self._without_decay if adapted is None else list(adapted)

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._numbers(grad.dtype)
        mean = self._mix(self.get_slot(handle, "m"), beta1, grad) / (1 - beta1_power)
        square_mean = self._mix(self.get_slot(handle, "v"), beta2, square(grad)) / (1 - beta2_power)
        direction = mean / (sqrt(square_mean) + epsilon)
        value = handle.value()
        if not _matches(self._without_decay, handle):
            decay = convert_to_tensor(self._call_if_callable(self._weight_decay_rate))
            direction = direction + cast(decay, grad.dtype) * value
        if not _matches(self._without_adaptation, handle):
            rate = rate * _ratio(_norm(value), _norm(direction))
        return handle.assign_sub(rate * direction, use_locking=self._use_locking, read_value=False)

    def _mix(self, moment: Any, beta: Any, value: Any) -> Any:
        mixed = moment.value() * beta + value * (1 - beta)
        return moment.assign(mixed, use_locking=self._use_locking)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return LAMBOptimizer._resource_apply_dense(self, self._as_dense(grad, handle, indices), handle)


@export("contrib.opt.LARSOptimizer")
class LARSOptimizer(MomentumOptimizer):
    """LARS: momentum with the learning rate of each variable scaled by `eeta` times the ratio of norms.

    Args:
        weight_decay: Strength of the L2 penalty.
        eeta: Factor of the ratio of norms.
        skip_list: Parts of names of variables that are updated by plain momentum.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike],
        momentum: Any = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        super().__init__(learning_rate, momentum, False, name, use_nesterov)
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """Returns the learning rate of a variable, and its gradient with weight decay."""
        rate = cast(self._learning_rate_tensor, grad.dtype)
        if self._skip_list is not None and any(fragment in var.name for fragment in self._skip_list):
            return rate, grad
        value = var.value()
        size, slope = _norm(value), _norm(grad)
        ratio = _ratio(size * self._eeta, slope + size * self._weight_decay + self._epsilon, slope)
        return rate * ratio, grad + value * self._weight_decay

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        rate, grad = self.compute_lr(grad, handle)
        return training.resource_apply_momentum.operation(
            handle._handle,
            self.get_slot(handle, "momentum")._handle,
            rate,
            grad,
            cast(self._momentum_tensor, grad.dtype),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )


def _matches(patterns: Sequence[str], variable: Any) -> bool:
    return any(re.search(pattern, variable._shared_name) for pattern in patterns)


def _norm(x: Any) -> Tensor:
    return sqrt(reduce_sum(square(x)))


def _ratio(upper: Tensor, lower: Tensor, slope: Tensor | None = None) -> Tensor:
    """Returns upper / lower, 1 if one of them is zero."""
    usable = logical_and(greater(upper, 0), greater(lower if slope is None else slope, 0))
    return where(usable, upper / lower, cast(1, upper.dtype))

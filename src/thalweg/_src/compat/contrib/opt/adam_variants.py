"""Variants of Adam: LazyAdam, Nadam, AdaMax."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops import control, training
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import abs as absolute, maximum, multiply, sqrt, square
from thalweg._src.graph.ops.state import resource_scatter_add, resource_scatter_sub, resource_scatter_update
from thalweg._src.graph.scopes import colocate_with, control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.optimizers.optimizers import AdamOptimizer
from thalweg._src.training.variables.variables import Variable


def _rows(variable: Any, indices: TensorLike) -> Any:
    return variable.sparse_read(indices)


def _set_rows(variable: Any, indices: TensorLike, rows: Any) -> Any:
    return resource_scatter_update.operation(variable._handle, indices, rows)


@export("contrib.opt.LazyAdamOptimizer")
class LazyAdamOptimizer(AdamOptimizer):
    """Adam whose sparse updates change only the moments of rows with gradients.

    The cost of a step is proportional to its rows; the results differ slightly from those of Adam.
    """

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: TensorLike) -> Any:
        beta1_power, beta2_power, lr, beta1, beta2, epsilon = self._numbers(grad.dtype)
        rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        mean = beta1 * _rows(m, indices) + (1 - beta1) * grad
        square_mean = beta2 * _rows(v, indices) + (1 - beta2) * square(grad)
        step = rate * mean / (sqrt(square_mean) + epsilon)
        update = resource_scatter_sub.operation(handle._handle, indices, step)
        return control.group(update, _set_rows(m, indices, mean), _set_rows(v, indices, square_mean))


@export("contrib.opt.NadamOptimizer")
class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov momentum."""

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        return training.resource_apply_adam.operation(
            handle._handle,
            self.get_slot(handle, "m")._handle,
            self.get_slot(handle, "v")._handle,
            *self._numbers(grad.dtype),
            grad,
            use_locking=self._use_locking,
            use_nesterov=True,
        )

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: TensorLike) -> Any:
        """Returns the update of some rows; the moments of all rows decay."""
        beta1_power, beta2_power, lr, beta1, beta2, epsilon = self._numbers(grad.dtype)
        rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
        share = grad * (1 - beta1)
        mean = share + beta1 * self._decayed_rows(self.get_slot(handle, "m"), beta1, indices, share)
        square_share = square(grad) * (1 - beta2)
        square_mean = self._decayed_rows(self.get_slot(handle, "v"), beta2, indices, square_share)
        step = rate * mean / (sqrt(square_mean) + epsilon)
        return resource_scatter_sub.operation(handle._handle, indices, step)

    def _decayed_rows(self, moment: Any, beta: Any, indices: TensorLike, rows: Any) -> Any:
        """Decays a moment, adds to some of its rows, and returns these rows."""
        decayed = moment.assign(multiply(moment.value(), beta), use_locking=self._use_locking, read_value=False)
        with control_dependencies([decayed]):
            added = resource_scatter_add.operation(moment._handle, indices, rows)
        with control_dependencies([added]):
            return _rows(moment, indices)


@export("contrib.opt.AdaMaxOptimizer")
class AdaMaxOptimizer(AdamOptimizer):
    """Adam with an exponentially weighted infinity norm in place of the second moment.

    Args:
        beta2: Decay of the largest recent gradient.
        epsilon: A small number added to the denominator.
    """

    @parameters_of(AdamOptimizer.__init__, without=["use_own_namescope_for_non_slot_vars"], name="AdaMax")
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)

    def _get_beta_accumulators(self) -> Any:
        return self._get_non_slot_variable("beta1_power", get_default_graph())

    def _read_powers(self) -> Any:
        """Returns the power of beta1 alone."""
        if self._powers is None:
            self._powers = (self._get_beta_accumulators().value(),)
        return self._powers

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        return training.resource_apply_ada_max.operation(
            handle._handle,
            self.get_slot(handle, "m")._handle,
            self.get_slot(handle, "v")._handle,
            *self._numbers(grad.dtype),
            grad,
            use_locking=self._use_locking,
        )

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: TensorLike) -> Any:
        beta1_power, lr, beta1, beta2, epsilon = self._numbers(grad.dtype)
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        mean = beta1 * _rows(m, indices) + (1 - beta1) * grad
        largest = maximum(beta2 * _rows(v, indices), absolute(grad))
        step = lr / (1 - beta1_power) * (mean / (largest + epsilon))
        update = resource_scatter_sub.operation(handle._handle, indices, step)
        return control.group(update, _set_rows(m, indices, mean), _set_rows(v, indices, largest))

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        power = self._get_beta_accumulators()
        (read,) = self._read_powers()
        self._powers = None
        with control_dependencies(update_ops), colocate_with(power.op):
            next_power = multiply(read, cast(self._beta1_t, read.dtype))
            update = power.assign(next_power, use_locking=self._use_locking, read_value=False)
        return control.group(*update_ops, update, name=name_scope)

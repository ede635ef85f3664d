"""AdamGS, whose bias correction uses a global step, and RegAdagrad, with optional accumulator updates."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.compat.contrib.opt.adam_variants import LazyAdamOptimizer
from thalweg._src.graph.ops import control, training
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import pow
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.optimizers.optimizers import AdagradOptimizer, AdamOptimizer
from thalweg._src.training.variables.variables import Variable


@export("contrib.opt.AdamGSOptimizer")
class AdamGSOptimizer(AdamOptimizer):
    """Adam with powers of beta from a global step, so that several losses can share one optimizer.

    Args:
        global_step: Variable that counts the steps; powers of the decays follow from it.
        epsilon: A small number added to the denominator.
    """

    @parameters_of(AdamOptimizer.__init__, without=["use_own_namescope_for_non_slot_vars"], before="learning_rate")
    def __init__(self, global_step: TensorLike = 0, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._global_step = global_step

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """Returns beta1 and beta2 to the power of the current step."""
        step = cast(self._global_step, self._beta1_t.dtype) + 1.0
        return pow(self._beta1_t, step), pow(self._beta2_t, step)

    def _read_powers(self) -> tuple[Tensor, Tensor]:
        if self._powers is None:
            self._powers = self._get_beta_accumulators()
        return self._powers  # type: ignore[no-any-return]

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        self._powers = None
        return control.group(*update_ops, name=name_scope)


@export("contrib.opt.LazyAdamGSOptimizer")
class LazyAdamGSOptimizer(AdamGSOptimizer):
    """AdamGSOptimizer whose sparse updates change only the rows with gradients."""

    _resource_apply_sparse = LazyAdamOptimizer._resource_apply_sparse


@export("contrib.opt.RegAdagradOptimizer")
class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad that does not update its accumulators within `avoid_updating_slots()`.

    Applied this way, gradients of regularizers do not reduce the effective learning rate of the loss.
    """

    @parameters_of(AdagradOptimizer.__init__, name="RegAdagrad")
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._should_update_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Context manager: updates built inside do not change the accumulators."""
        before, self._should_update_slots = self._should_update_slots, False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        return training.resource_apply_adagrad.operation(
            handle._handle,
            self.get_slot(handle, "accumulator")._handle,
            cast(self._learning_rate_tensor, grad.dtype),
            grad,
            use_locking=self._use_locking,
            update_slots=self._should_update_slots,
        )

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: TensorLike) -> Any:
        return training.resource_sparse_apply_adagrad.operation(
            handle._handle,
            self.get_slot(handle, "accumulator")._handle,
            cast(self._learning_rate_tensor, grad.dtype),
            grad,
            indices,
            use_locking=self._use_locking,
            update_slots=self._should_update_slots,
        )

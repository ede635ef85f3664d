"""Proximal and dual-averaging optimizers, whose l1 penalty yields exact zeros."""

from __future__ import annotations

from typing import Any

from thalweg._src import dtypes
from thalweg._src.dtypes import DType
from thalweg._src.export import export
from thalweg._src.graph.types import TensorLike
from thalweg._src.ops import training
from thalweg._src.ops.cast import cast
from thalweg._src.ops.identity import identity
from thalweg._src.optimizers.optimizers import _TwinUpdates
from thalweg._src.variables.variables import Variable


class _Penalized(_TwinUpdates):
    """An optimizer with a learning rate and l1 and l2 penalties."""

    def __init__(self, learning_rate: TensorLike, l1: TensorLike, l2: TensorLike, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1
        self._l2_regularization_strength = l2
        self._learning_rate_tensor: Any = None
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._as_tensor(self._learning_rate, "learning_rate")
        self._l1_regularization_strength_tensor = self._as_tensor(
            self._l1_regularization_strength, "l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = self._as_tensor(
            self._l2_regularization_strength, "l2_regularization_strength"
        )

    def _numbers(self, dtype: DType) -> list[Any]:
        tensors = (
            self._learning_rate_tensor,
            self._l1_regularization_strength_tensor,
            self._l2_regularization_strength_tensor,
        )
        return [cast(t, dtype) for t in tensors]


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(_Penalized):
    """Proximal gradient descent: a gradient step followed by the proximal operator of the penalties."""

    def __init__(
        self,
        learning_rate: TensorLike,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)

    def _apply_rule(self, grad: Any, handle: Any, *indices: Any) -> Any:
        ops = (
            training.resource_apply_proximal_gradient_descent,
            training.resource_sparse_apply_proximal_gradient_descent,
        )
        numbers = self._numbers(grad.dtype)
        return ops[len(indices)].operation(handle._handle, *numbers, grad, *indices, use_locking=self._use_locking)


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(_Penalized):
    """Proximal Adagrad: an Adagrad step followed by the proximal operator of the penalties at the same rate."""

    def __init__(
        self,
        learning_rate: TensorLike,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._constant_slot(v, self._initial_accumulator_value, "accumulator", self._name)

    def _apply_rule(self, grad: Any, handle: Any, *indices: Any) -> Any:
        ops = training.resource_apply_proximal_adagrad, training.resource_sparse_apply_proximal_adagrad
        handles, numbers = self._handles(handle, "accumulator"), self._numbers(grad.dtype)
        return ops[len(indices)].operation(*handles, *numbers, grad, *indices, use_locking=self._use_locking)


@export("train.AdagradDAOptimizer")
class AdagradDAOptimizer(_Penalized):
    """Adagrad with dual averaging: variables are computed from the sums of all gradients, in effect starting at zero.

    The penalties grow with the number of steps, taken from the global step; pass the same one to `minimize`.
    """

    def __init__(
        self,
        learning_rate: TensorLike,
        global_step: Variable,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self._initial_gradient_squared_accumulator_value = initial_gradient_squared_accumulator_value
        self._global_step = global_step
        self._global_step_on_worker: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "gradient_accumulator", self._name)
            initial = self._initial_gradient_squared_accumulator_value
            self._constant_slot(v, initial, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._global_step_on_worker = cast(identity(self._global_step) + 1, dtypes.int64)

    def _apply_rule(self, grad: Any, handle: Any, *indices: Any) -> Any:
        ops = training.resource_apply_adagrad_da, training.resource_sparse_apply_adagrad_da
        return ops[len(indices)].operation(
            *self._handles(handle, "gradient_accumulator", "gradient_squared_accumulator"),
            grad,
            *indices,
            *self._numbers(grad.dtype),
            self._global_step_on_worker,
            use_locking=self._use_locking,
        )

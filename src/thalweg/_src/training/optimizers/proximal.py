"""Proximal and dual-averaging optimizers, whose l1 penalty yields exact zeros."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph.ops import training
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables.variables import Variable

_RATE_AND_PENALTIES = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength")


def _prepare_penalties(optimizer: Optimizer) -> None:
    """Creates the tensors of the learning rate and of the penalties."""
    for name in _RATE_AND_PENALTIES:
        setattr(optimizer, f"_{name}_tensor", optimizer._as_tensor(getattr(optimizer, f"_{name}"), name))


def _penalties(optimizer: Optimizer, dtype: DType) -> list[Any]:
    """Returns the learning rate and the penalties in the dtype of a variable."""
    return [cast(getattr(optimizer, f"_{name}_tensor"), dtype) for name in _RATE_AND_PENALTIES]


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(Optimizer):
    """Proximal gradient descent: a gradient step followed by the proximal operator of the penalties."""

    def __init__(
        self,
        learning_rate: TensorLike,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _prepare(self) -> None:
        _prepare_penalties(self)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, *indices: Any) -> Any:
        ops = (
            training.resource_apply_proximal_gradient_descent,
            training.resource_sparse_apply_proximal_gradient_descent,
        )
        numbers = _penalties(self, grad.dtype)
        return ops[len(indices)].operation(handle._handle, *numbers, grad, *indices, use_locking=self._use_locking)

    _resource_apply_sparse = _resource_apply_dense  # type: ignore[assignment]


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(Optimizer):
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
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._constant_slot(v, self._initial_accumulator_value, "accumulator", self._name)

    def _prepare(self) -> None:
        _prepare_penalties(self)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, *indices: Any) -> Any:
        ops = training.resource_apply_proximal_adagrad, training.resource_sparse_apply_proximal_adagrad
        handles, numbers = self._handles(handle, "accumulator"), _penalties(self, grad.dtype)
        return ops[len(indices)].operation(*handles, *numbers, grad, *indices, use_locking=self._use_locking)

    _resource_apply_sparse = _resource_apply_dense  # type: ignore[assignment]


@export("train.AdagradDAOptimizer")
class AdagradDAOptimizer(Optimizer):
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
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._initial_gradient_squared_accumulator_value = initial_gradient_squared_accumulator_value
        self._global_step = global_step
        self._global_step_on_worker: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "gradient_accumulator", self._name)
            initial = self._initial_gradient_squared_accumulator_value
            self._constant_slot(v, initial, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        _prepare_penalties(self)
        self._global_step_on_worker = cast(identity(self._global_step) + 1, dtypes.int64)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, *indices: Any) -> Any:
        ops = training.resource_apply_adagrad_da, training.resource_sparse_apply_adagrad_da
        return ops[len(indices)].operation(
            *self._handles(handle, "gradient_accumulator", "gradient_squared_accumulator"),
            grad,
            *indices,
            *_penalties(self, grad.dtype),
            self._global_step_on_worker,
            use_locking=self._use_locking,
        )

    _resource_apply_sparse = _resource_apply_dense  # type: ignore[assignment]

"""The optimizers of Keras that follow moving moments of the gradient: Adam, Adamax and Nadam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import control, training
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import abs, maximum, pow, sqrt, square
from thalweg._src.graph.ops.state import resource_scatter_add, resource_scatter_update
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import settings
from thalweg._src.keras.optimizers.optimizer import Coefficients, Optimizer
from thalweg._src.keras.optimizers.schedules import LearningRateSchedule
from thalweg._src.training.variables.replication import VariableAggregation
from thalweg._src.training.variables.variables import Variable


class _Moments(Optimizer):
    """The optimizers with moving moments of the gradient: their hyperparameters, and the slots m and v."""

    def __init__(
        self, name: str, learning_rate: object, beta_1: object, beta_2: object, epsilon: float | None, **kwargs: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or settings.epsilon()

    def _create_slots(self, var_list: list[Any]) -> None:
        for name in ("m", "v"):
            for var in var_list:
                self.add_slot(var, name)

    def _prepare_local(self, var_device: str, var_dtype: DType, apply_state: Coefficients) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        steps = cast(self.iterations, var_dtype) + 1
        beta_1, beta_2 = self._get_hyper("beta_1", var_dtype), self._get_hyper("beta_2", var_dtype)
        apply_state[var_device, var_dtype].update(
            beta_1_t=beta_1,
            beta_2_t=beta_2,
            beta_1_power=pow(beta_1, steps),
            beta_2_power=pow(beta_2, steps),
            epsilon=convert_to_tensor(self.epsilon, var_dtype),
        )

    def get_config(self) -> dict[str, Any]:
        return self._config_with("beta_1", "beta_2", epsilon=self.epsilon)


@export("keras.optimizers.Adam")
class Adam(_Moments):
    """Follows the moving mean of gradients, divided by the root of their moving mean square."""

    def __init__(
        self,
        learning_rate: TensorLike | LearningRateSchedule | Callable[[], TensorLike] = 0.001,
        beta_1: TensorLike | Callable[[], TensorLike] = 0.9,
        beta_2: TensorLike | Callable[[], TensorLike] = 0.999,
        epsilon: float | None = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)
        self.amsgrad = amsgrad

    def _create_slots(self, var_list: list[Any]) -> None:
        super()._create_slots(var_list)
        for var in var_list if self.amsgrad else []:
            self.add_slot(var, "vhat")

    def _numbers(self, var: Variable, apply_state: Coefficients | None) -> list[Any]:
        coefficients = self._coefficients(var, apply_state)
        names = ("beta_1_power", "beta_2_power", "lr_t", "beta_1_t", "beta_2_t", "epsilon")
        return [coefficients[name] for name in names]

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, apply_state: Coefficients | None = None) -> Any:
        slots = ("m", "v", "vhat") if self.amsgrad else ("m", "v")
        update = training.resource_apply_adam_with_amsgrad if self.amsgrad else training.resource_apply_adam
        numbers = self._numbers(handle, apply_state)
        return update.operation(*self._handles(handle, *slots), *numbers, grad, use_locking=self._use_locking)

    def _resource_apply_dense_together(
        self, grads: Sequence[Any], variables: Sequence[Any], apply_state: Coefficients
    ) -> Any:
        if self.amsgrad:
            return super()._resource_apply_dense_together(grads, variables, apply_state)
        return training.apply_adam_group.operation(
            *self._handles_together(variables, "m", "v"),
            *self._numbers(variables[0], apply_state),
            grads,
            use_locking=self._use_locking,
        )

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Variable, indices: Tensor, apply_state: Coefficients | None = None
    ) -> Any:
        """Returns the update of the whole variable: the moments of all rows decay, so all rows move."""
        return Adam._resource_apply_dense(self, self._as_dense(grad, handle, indices), handle, apply_state)

    def _upgraded(self, weights: list[Any]) -> list[Any]:
        """Returns weights without those for AMSGrad, which an older Keras wrote in any case."""
        count = len(self.weights)
        return weights[:count] if len(weights) == (count - 1) // 2 * 3 + 1 else weights

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "amsgrad": self.amsgrad}


@export("keras.optimizers.Adamax")
class Adamax(_Moments):
    """Adam with the largest recent gradient in place of the root of the mean square."""

    def __init__(
        self,
        learning_rate: TensorLike | LearningRateSchedule | Callable[[], TensorLike] = 0.001,
        beta_1: TensorLike | Callable[[], TensorLike] = 0.9,
        beta_2: TensorLike | Callable[[], TensorLike] = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, apply_state: Coefficients | None = None) -> Any:
        coefficients = self._coefficients(handle, apply_state)
        numbers = [coefficients[key] for key in ("beta_1_power", "lr_t", "beta_1_t", "beta_2_t", "epsilon")]
        return training.resource_apply_ada_max.operation(
            *self._handles(handle, "m", "v"), *numbers, grad, use_locking=self._use_locking
        )

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Variable, indices: Tensor, apply_state: Coefficients | None = None
    ) -> Any:
        """Returns the update of some rows and of their moments."""
        c = self._coefficients(handle, apply_state)
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        mean = c["beta_1_t"] * m.sparse_read(indices) + (1 - c["beta_1_t"]) * grad
        largest: Any = maximum(c["beta_2_t"] * v.sparse_read(indices), abs(grad))
        step = -c["lr_t"] / (1 - c["beta_1_power"]) * (mean / (largest + c["epsilon"]))
        return control.group(
            resource_scatter_update.operation(m._handle, indices, mean),
            resource_scatter_update.operation(v._handle, indices, largest),
            resource_scatter_add.operation(handle._handle, indices, step),
        )


@export("keras.optimizers.Nadam")
class Nadam(_Moments):
    """Adam with Nesterov momentum, whose factor grows from step to step."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike] = 0.001,
        beta_1: TensorLike | Callable[[], TensorLike] = 0.9,
        beta_2: TensorLike | Callable[[], TensorLike] = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", kwargs.get("decay", 0.004))
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError("Nadam takes no schedule as its learning rate: expected a number")
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)
        self._m_cache: Any = None  # the product of the momentum factors of all steps

    def _create_slots(self, var_list: list[Any]) -> None:
        if self._m_cache is None:
            self._m_cache = self.add_weight(
                "momentum_cache",
                [],
                var_list[0].dtype.base_dtype,
                "ones",
                trainable=False,
                aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            )
            self._weights.append(self._m_cache)
        super()._create_slots(var_list)

    def _momentum_at(self, step: Tensor, dtype: DType) -> Any:
        """Returns the momentum factor of a step."""
        base: Any = pow(cast(0.96, dtype), self._initial_decay * step)
        return self._get_hyper("beta_1", dtype) * (1.0 - 0.5 * base)

    def _next_cache(self, dtype: DType) -> Any:
        return cast(self._m_cache, dtype) * self._momentum_at(cast(self.iterations, dtype) + 1, dtype)

    def _prepare_local(self, var_device: str, var_dtype: DType, apply_state: Coefficients) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        steps = cast(self.iterations, var_dtype) + 1
        now, later = self._momentum_at(steps, var_dtype), self._momentum_at(steps + 1, var_dtype)
        product = self._next_cache(var_dtype)
        coefficients = apply_state[var_device, var_dtype]
        coefficients.update(
            lr_t=self._get_hyper("learning_rate", var_dtype),  # the decay is that of the momentum
            of_gradient=(1.0 - now) / (1.0 - product),
            of_mean=later / (1.0 - product * later),
            of_squares=1.0 - coefficients["beta_2_power"],
        )

    def _step(self, grad: Tensor, mean: Variable, squares: Variable, c: dict[str, Any]) -> Any:
        """Returns how far values move whose moments are known."""
        direction = c["of_gradient"] * grad + c["of_mean"] * mean
        return c["lr_t"] * direction / (sqrt(squares / c["of_squares"]) + c["epsilon"])

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, apply_state: Coefficients | None = None) -> Any:
        c = self._coefficients(handle, apply_state)
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        mean = c["beta_1_t"] * m + (1 - c["beta_1_t"]) * grad
        squares = c["beta_2_t"] * v + (1 - c["beta_2_t"]) * square(grad)
        return control.group(
            m.assign(mean, read_value=False),
            v.assign(squares, read_value=False),
            handle.assign_sub(self._step(grad, mean, squares, c), read_value=False),
        )

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Variable, indices: Tensor, apply_state: Coefficients | None = None
    ) -> Any:
        """Returns the update of some rows; the moments of all rows decay."""
        c = self._coefficients(handle, apply_state)
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        mean = self._decay_and_add(m, c["beta_1_t"], (1 - c["beta_1_t"]) * grad, indices)
        squares = self._decay_and_add(v, c["beta_2_t"], (1 - c["beta_2_t"]) * square(grad), indices)
        return resource_scatter_add.operation(handle._handle, indices, -self._step(grad, mean, squares, c))

    def _finish(self, updates: list[Any]) -> list[Any]:
        with control_dependencies(updates):
            return [self._m_cache.assign(self._next_cache(self._m_cache.dtype.base_dtype), read_value=False)]

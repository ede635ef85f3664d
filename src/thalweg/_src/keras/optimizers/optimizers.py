"""The optimizers of Keras that scale the gradient: SGD, RMSprop, Adagrad, Adadelta and Ftrl."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import control, training
from thalweg._src.graph.ops.math import multiply, negative, sqrt, square
from thalweg._src.graph.ops.state import resource_scatter_add
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import settings
from thalweg._src.keras.optimizers.optimizer import Coefficients, Optimizer
from thalweg._src.keras.optimizers.schedules import LearningRateSchedule
from thalweg._src.training.variables.initializers import Constant
from thalweg._src.training.variables.variables import Variable


@export("keras.optimizers.SGD")
class SGD(Optimizer):
    """Gradient descent, optionally with momentum: a decaying sum of the steps so far."""

    def __init__(
        self,
        learning_rate: TensorLike | LearningRateSchedule | Callable[[], TensorLike] = 0.01,
        momentum: TensorLike | Callable[[], TensorLike] = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._momentum = _is_used(momentum)
        if isinstance(momentum, int | float) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self._set_hyper("momentum", momentum)
        self.nesterov = nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list if self._momentum else []:
            self.add_slot(var, "momentum")

    def _prepare_local(self, var_device: str, var_dtype: DType, apply_state: Coefficients) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        if self._momentum:
            apply_state[var_device, var_dtype]["momentum"] = self._get_hyper("momentum", var_dtype)

    def _resource_apply_dense(
        self, grad: Tensor, handle: Variable, apply_state: Coefficients | None = None, indices: Tensor | None = None
    ) -> Any:
        coefficients = self._coefficients(handle, apply_state)
        if not self._momentum:
            return training.resource_apply_gradient_descent.operation(
                handle._handle, coefficients["lr_t"], grad, use_locking=self._use_locking
            )
        is_dense = indices is None
        update = training.resource_apply_keras_momentum if is_dense else training.resource_sparse_apply_keras_momentum
        return update.operation(
            *self._handles(handle, "momentum"),
            coefficients["lr_t"],
            grad,
            *([] if is_dense else [indices]),
            coefficients["momentum"],
            use_locking=self._use_locking,
            use_nesterov=self.nesterov,
        )

    def _resource_apply_dense_together(
        self, grads: Sequence[Any], variables: Sequence[Any], apply_state: Coefficients
    ) -> Any:
        if self._momentum:
            return super()._resource_apply_dense_together(grads, variables, apply_state)
        rate = self._coefficients(variables[0], apply_state)["lr_t"]
        return training.apply_gradient_descent_group.operation(
            *self._handles_together(variables), rate, grads, use_locking=self._use_locking
        )

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Variable, indices: Tensor, apply_state: Coefficients | None = None
    ) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse_duplicate_indices(grad, handle, indices, apply_state)
        step = multiply(negative(grad), self._coefficients(handle, apply_state)["lr_t"])
        return resource_scatter_add.operation(handle._handle, indices, step)

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Variable, indices: Tensor, apply_state: Coefficients | None = None
    ) -> Any:
        return SGD._resource_apply_dense(self, grad, handle, apply_state, indices)

    def get_config(self) -> dict[str, Any]:
        return self._config_with("momentum", nesterov=self.nesterov)


@export("keras.optimizers.RMSprop")
class RMSprop(Optimizer):
    """Divides steps by the moving root mean square of gradients or, if centered, by their deviation."""

    _may_lack_iterations = True

    def __init__(
        self,
        learning_rate: TensorLike | LearningRateSchedule | Callable[[], TensorLike] = 0.001,
        rho: TensorLike | Callable[[], TensorLike] = 0.9,
        momentum: TensorLike | Callable[[], TensorLike] = 0.0,
        epsilon: float | None = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self._momentum = _is_used(momentum)
        if isinstance(momentum, int | float) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self._set_hyper("momentum", momentum)
        self.epsilon = epsilon or settings.epsilon()
        self.centered = centered

    def _create_slots(self, var_list: list[Any]) -> None:
        names = ["rms", *(["momentum"] if self._momentum else []), *(["mg"] if self.centered else [])]
        for name in names:
            for var in var_list:
                self.add_slot(var, name)

    def _prepare_local(self, var_device: str, var_dtype: DType, apply_state: Coefficients) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        rho = self._get_hyper("rho", var_dtype)
        apply_state[var_device, var_dtype].update(
            rho=rho,
            one_minus_rho=1.0 - rho,
            epsilon=convert_to_tensor(self.epsilon, var_dtype),
            momentum=self._get_hyper("momentum", var_dtype),
        )

    def _apply_with_momentum(self, grad: Tensor, var: Variable, coefficients: dict[str, Any], *indices: Any) -> Any:
        if self.centered:
            ops = training.resource_apply_centered_rms_prop, training.resource_sparse_apply_centered_rms_prop
            handles = self._handles(var, "mg", "rms", "momentum")
        else:
            ops = training.resource_apply_rms_prop, training.resource_sparse_apply_rms_prop
            handles = self._handles(var, "rms", "momentum")
        numbers = [coefficients[key] for key in ("lr_t", "rho", "momentum", "epsilon")]
        return ops[len(indices)].operation(*handles, *numbers, grad, *indices, use_locking=self._use_locking)

    def _step(self, grad: Tensor, rms: Variable, mg: Variable | None, coefficients: dict[str, Any]) -> Any:
        """Returns how far values move whose moments are known; their mean gradient is None without centering."""
        moment = rms if mg is None else rms - square(mg)
        return coefficients["lr_t"] * grad / (sqrt(moment) + coefficients["epsilon"])

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Coefficients | None = None) -> Any:
        coefficients = self._coefficients(handle, apply_state)
        if self._momentum:
            return self._apply_with_momentum(grad, handle, coefficients)
        rho, rest = coefficients["rho"], coefficients["one_minus_rho"]
        slot = self.get_slot(handle, "rms")
        rms, mg = rho * slot + rest * square(grad), None
        updates = [slot.assign(rms, read_value=False)]
        if self.centered:
            slot = self.get_slot(handle, "mg")
            mg = rho * slot + rest * grad
            updates.append(slot.assign(mg, read_value=False))
        updates.append(handle.assign_sub(self._step(grad, rms, mg, coefficients), read_value=False))
        return control.group(*updates)

    def _resource_apply_sparse(
        self, grad: Any, handle: Any, indices: Any, apply_state: Coefficients | None = None
    ) -> Any:
        """Returns the update of some rows; without momentum, the moments of all rows decay."""
        coefficients = self._coefficients(handle, apply_state)
        if self._momentum:
            return self._apply_with_momentum(grad, handle, coefficients, indices)
        rho, rest = coefficients["rho"], coefficients["one_minus_rho"]
        rms = self._decay_and_add(self.get_slot(handle, "rms"), rho, rest * square(grad), indices)
        mg = self._decay_and_add(self.get_slot(handle, "mg"), rho, rest * grad, indices) if self.centered else None
        return resource_scatter_add.operation(handle._handle, indices, -self._step(grad, rms, mg, coefficients))

    def get_config(self) -> dict[str, Any]:
        return self._config_with("rho", "momentum", epsilon=self.epsilon, centered=self.centered)


class _OneOperation(Optimizer):
    """The optimizers that have one operation for dense gradients, and one for sparse ones."""

    def _apply(self, grad: Tensor, var: Variable, coefficients: dict[str, Any], *indices: Any) -> Any:
        """Returns the update of a variable or, with indices, of some of its rows."""
        raise NotImplementedError

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, apply_state: Coefficients | None = None) -> Any:
        return self._apply(grad, handle, self._coefficients(handle, apply_state))

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Variable, indices: Tensor, apply_state: Coefficients | None = None
    ) -> Any:
        return self._apply(grad, handle, self._coefficients(handle, apply_state), indices)


@export("keras.optimizers.Adagrad")
class Adagrad(_OneOperation):
    """Divides the step of each coordinate by the root of its sum of squared gradients."""

    _may_lack_iterations = True

    def __init__(
        self,
        learning_rate: TensorLike | LearningRateSchedule | Callable[[], TensorLike] = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float | None = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon or settings.epsilon()

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", Constant(self._initial_accumulator_value))

    def _prepare_local(self, var_device: str, var_dtype: DType, apply_state: Coefficients) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype]["epsilon"] = convert_to_tensor(self.epsilon, var_dtype)

    def _apply(self, grad: Tensor, var: Variable, coefficients: dict[str, Any], *indices: Any) -> Any:
        update = training.resource_sparse_apply_adagrad_v2 if indices else training.resource_apply_adagrad_v2
        return update.operation(
            *self._handles(var, "accumulator"),
            coefficients["lr_t"],
            coefficients["epsilon"],
            grad,
            *indices,
            use_locking=self._use_locking,
        )

    def get_config(self) -> dict[str, Any]:
        return self._config_with(initial_accumulator_value=self._initial_accumulator_value, epsilon=self.epsilon)


@export("keras.optimizers.Adadelta")
class Adadelta(_OneOperation):
    """Scales steps by the recent size of updates, so that the units of gradients do not matter."""

    _may_lack_iterations = True

    def __init__(
        self,
        learning_rate: TensorLike | LearningRateSchedule | Callable[[], TensorLike] = 0.001,
        rho: TensorLike | Callable[[], TensorLike] = 0.95,
        epsilon: float | None = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self.epsilon = epsilon or settings.epsilon()

    def _create_slots(self, var_list: list[Any]) -> None:
        for name in ("accum_grad", "accum_var"):
            for var in var_list:
                self.add_slot(var, name)

    def _prepare_local(self, var_device: str, var_dtype: DType, apply_state: Coefficients) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype].update(
            rho=self._get_hyper("rho", var_dtype), epsilon=convert_to_tensor(self.epsilon, var_dtype)
        )

    def _apply(self, grad: Tensor, var: Variable, coefficients: dict[str, Any], *indices: Any) -> Any:
        update = training.resource_sparse_apply_adadelta if indices else training.resource_apply_adadelta
        numbers = [coefficients[key] for key in ("lr_t", "rho", "epsilon")]
        return update.operation(
            *self._handles(var, "accum_grad", "accum_var"), *numbers, grad, *indices, use_locking=self._use_locking
        )

    def get_config(self) -> dict[str, Any]:
        return self._config_with("rho", epsilon=self.epsilon)


@export("keras.optimizers.Ftrl")
class Ftrl(_OneOperation):
    """The FTRL-Proximal algorithm with L1 and L2 penalties."""

    def __init__(
        self,
        learning_rate: TensorLike | LearningRateSchedule | Callable[[], TensorLike] = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power: expected at most 0, received {learning_rate_power}")
        for key, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{key}: expected at least 0, received {value}")
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("learning_rate_power", learning_rate_power)
        self._set_hyper("l1_regularization_strength", l1_regularization_strength)
        self._set_hyper("l2_regularization_strength", l2_regularization_strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", Constant(self._initial_accumulator_value))
            self.add_slot(var, "linear")

    def _prepare_local(self, var_device: str, var_dtype: DType, apply_state: Coefficients) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        names = ("l1_regularization_strength", "l2_regularization_strength", "learning_rate_power")
        apply_state[var_device, var_dtype].update({name: self._get_hyper(name, var_dtype) for name in names})
        apply_state[var_device, var_dtype]["l2_shrinkage"] = convert_to_tensor(
            self._l2_shrinkage_regularization_strength, var_dtype
        )

    def _apply(self, grad: Tensor, var: Variable, coefficients: dict[str, Any], *indices: Any) -> Any:
        names = ["lr_t", "l1_regularization_strength", "l2_regularization_strength", "learning_rate_power"]
        ops = training.resource_apply_ftrl, training.resource_sparse_apply_ftrl
        if self._l2_shrinkage_regularization_strength > 0.0:
            names.insert(3, "l2_shrinkage")
            ops = training.resource_apply_ftrl_v2, training.resource_sparse_apply_ftrl_v2
        handles, numbers = self._handles(var, "accumulator", "linear"), [coefficients[name] for name in names]
        return ops[len(indices)].operation(*handles, grad, *indices, *numbers, use_locking=self._use_locking)

    def get_config(self) -> dict[str, Any]:
        return self._config_with(
            "learning_rate_power",
            "l1_regularization_strength",
            "l2_regularization_strength",
            initial_accumulator_value=self._initial_accumulator_value,
            l2_shrinkage_regularization_strength=self._l2_shrinkage_regularization_strength,
        )


def _is_used(momentum: Any) -> bool:
    """Returns whether an optimizer has momentum: that which is known in a step alone may not be zero."""
    return isinstance(momentum, Tensor) or callable(momentum) or momentum > 0

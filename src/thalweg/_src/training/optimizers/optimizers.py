"""The optimizers of tf.train, each with one update op per variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops import control, training
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.gather import scatter_nd
from thalweg._src.graph.ops.math import maximum, multiply, negative
from thalweg._src.graph.ops.reshape import expand_dims, shape
from thalweg._src.graph.ops.state import resource_scatter_add
from thalweg._src.graph.scopes import colocate_with, control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables.variables import Variable


@export("train.GradientDescentOptimizer")
class GradientDescentOptimizer(Optimizer):
    """Gradient descent."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike],
        use_locking: bool = False,
        name: str = "GradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._as_tensor(self._learning_rate, "learning_rate")

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        rate = cast(self._learning_rate_tensor, grad.dtype)
        return training.resource_apply_gradient_descent.operation(
            handle._handle, rate, grad, use_locking=self._use_locking
        )

    def _resource_apply_dense_together(self, grads: Sequence[Any], variables: Sequence[Any]) -> Any:
        rate = cast(self._learning_rate_tensor, grads[0].dtype)
        return training.apply_gradient_descent_group.operation(
            *self._handles_together(variables), rate, grads, use_locking=self._use_locking
        )

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        step = multiply(negative(grad), cast(self._learning_rate_tensor, grad.dtype))
        return resource_scatter_add.operation(handle._handle, indices, step)


@export("train.MomentumOptimizer")
class MomentumOptimizer(Optimizer):
    """Momentum: follows an exponentially decaying sum of gradients."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike],
        momentum: TensorLike | Callable[[], TensorLike],
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov
        self._learning_rate_tensor: Any = None
        self._momentum_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._as_tensor(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._as_tensor(self._momentum, "momentum")

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, *indices: Any) -> Any:
        update = training.resource_sparse_apply_momentum if indices else training.resource_apply_momentum
        return update.operation(
            *self._handles(handle, "momentum"),
            cast(self._learning_rate_tensor, grad.dtype),
            grad,
            *indices,
            cast(self._momentum_tensor, grad.dtype),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )

    def _resource_apply_dense_together(self, grads: Sequence[Any], variables: Sequence[Any]) -> Any:
        return training.apply_momentum_group.operation(
            *self._handles_together(variables, "momentum"),
            cast(self._learning_rate_tensor, grads[0].dtype),
            grads,
            cast(self._momentum_tensor, grads[0].dtype),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )

    _resource_apply_sparse = _resource_apply_dense  # type: ignore[assignment]


@export("train.AdagradOptimizer")
class AdagradOptimizer(Optimizer):
    """Adagrad: divides the step of each coordinate by the root of its sum of squared gradients."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike],
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._constant_slot(v, self._initial_accumulator_value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._as_tensor(self._learning_rate, "learning_rate")

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, *indices: Any) -> Any:
        update = training.resource_sparse_apply_adagrad if indices else training.resource_apply_adagrad
        rate = cast(self._learning_rate_tensor, grad.dtype)
        return update.operation(
            *self._handles(handle, "accumulator"), rate, grad, *indices, use_locking=self._use_locking
        )

    _resource_apply_sparse = _resource_apply_dense  # type: ignore[assignment]


@export("train.AdadeltaOptimizer")
class AdadeltaOptimizer(Optimizer):
    """Adadelta: scales steps by the recent size of updates, so that the units of gradients do not matter."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike] = 0.001,
        rho: TensorLike | Callable[[], TensorLike] = 0.95,
        epsilon: TensorLike | Callable[[], TensorLike] = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._rho_t: Any = None
        self._epsilon_t: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._as_tensor(self._lr, "lr")
        self._rho_t = self._as_tensor(self._rho, "rho")
        self._epsilon_t = self._as_tensor(self._epsilon, "epsilon")

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, *indices: Any) -> Any:
        update = training.resource_sparse_apply_adadelta if indices else training.resource_apply_adadelta
        numbers = [cast(t, grad.dtype) for t in (self._lr_t, self._rho_t, self._epsilon_t)]
        return update.operation(
            *self._handles(handle, "accum", "accum_update"), *numbers, grad, *indices, use_locking=self._use_locking
        )

    _resource_apply_sparse = _resource_apply_dense  # type: ignore[assignment]


@export("train.RMSPropOptimizer")
class RMSPropOptimizer(Optimizer):
    """RMSProp: divides momentum steps by the moving root mean square of gradients or, if centered, their deviation."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike],
        decay: TensorLike | Callable[[], TensorLike] = 0.9,
        momentum: TensorLike | Callable[[], TensorLike] = 0.0,
        epsilon: TensorLike | Callable[[], TensorLike] = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._learning_rate_tensor: Any = None
        self._decay_tensor: Any = None
        self._momentum_tensor: Any = None
        self._epsilon_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._constant_slot(v, 1.0, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._as_tensor(self._learning_rate, "learning_rate")
        self._decay_tensor = self._as_tensor(self._decay, "decay")
        self._momentum_tensor = self._as_tensor(self._momentum, "momentum")
        self._epsilon_tensor = self._as_tensor(self._epsilon, "epsilon")

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, *indices: Any) -> Any:
        if self._centered:
            ops = training.resource_apply_centered_rms_prop, training.resource_sparse_apply_centered_rms_prop
            handles = self._handles(handle, "mg", "rms", "momentum")
        else:
            ops = training.resource_apply_rms_prop, training.resource_sparse_apply_rms_prop
            handles = self._handles(handle, "rms", "momentum")
        tensors = (self._learning_rate_tensor, self._decay_tensor, self._momentum_tensor, self._epsilon_tensor)
        numbers = [cast(t, grad.dtype) for t in tensors]
        return ops[len(indices)].operation(*handles, *numbers, grad, *indices, use_locking=self._use_locking)

    _resource_apply_sparse = _resource_apply_dense  # type: ignore[assignment]


@export("train.AdamOptimizer")
class AdamOptimizer(Optimizer):
    """Adam: follows the moving mean of gradients, divided by the root of their moving mean square.

    Args:
        epsilon: A small number added to the denominator.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike] = 0.001,
        beta1: TensorLike | Callable[[], TensorLike] = 0.9,
        beta2: TensorLike | Callable[[], TensorLike] = 0.999,
        epsilon: TensorLike | Callable[[], TensorLike] = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._beta1_t: Any = None
        self._beta2_t: Any = None
        self._epsilon_t: Any = None
        self._powers: Any = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """Returns the variables that hold beta1 and beta2 to the power of the step."""
        graph = get_default_graph()
        return self._get_non_slot_variable("beta1_power", graph), self._get_non_slot_variable("beta2_power", graph)

    def _read_powers(self) -> tuple[Tensor, Tensor]:
        """Returns both powers, read once for all updates of a step, so that these can run in one call."""
        if self._powers is None:
            self._powers = tuple(power.value() for power in self._get_beta_accumulators())
        return self._powers  # type: ignore[no-any-return]

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", colocate_with=first)
        self._create_non_slot_variable(self._beta2, "beta2_power", colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._as_tensor(self._lr, "learning_rate")
        self._beta1_t = self._as_tensor(self._beta1, "beta1")
        self._beta2_t = self._as_tensor(self._beta2, "beta2")
        self._epsilon_t = self._as_tensor(self._epsilon, "epsilon")
        self._powers = None
        if self._get_non_slot_variable("beta2_power", get_default_graph()) is not None:  # subclasses may have others
            self._read_powers()

    def _numbers(self, dtype: DType) -> list[Any]:
        """Returns both powers, learning rate, both betas and epsilon in the dtype of a variable."""
        tensors = (*self._read_powers(), self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        return [t if t.dtype is dtype else cast(t, dtype) for t in tensors]

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        return training.resource_apply_adam.operation(
            *self._handles(handle, "m", "v"), *self._numbers(grad.dtype), grad, use_locking=self._use_locking
        )

    def _resource_apply_dense_together(self, grads: Sequence[Any], variables: Sequence[Any]) -> Any:
        return training.apply_adam_group.operation(
            *self._handles_together(variables, "m", "v"),
            *self._numbers(grads[0].dtype),
            grads,
            use_locking=self._use_locking,
        )

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        return self._apply_sparse_shared(grad, handle, indices, self._resource_scatter_add)

    def _apply_sparse_shared(
        self, grad: Tensor, var: Variable, indices: Tensor, scatter_add: Callable[..., Any]
    ) -> Any:
        """Returns the update of the whole variable: the moments of all rows decay, so all rows move."""
        # TensorFlow's sparse Adam is not lazy: rows without a gradient move by their old momentum. A scattered dense
        # gradient, zero in these rows, therefore gives the same numbers, in one fused update.
        return AdamOptimizer._resource_apply_dense(self, self._as_dense(grad, var, indices), var)

    def _resource_scatter_add(self, x: Variable, i: Tensor, v: Tensor) -> Tensor:
        """Adds to some rows of a variable, and returns its new value."""
        return x.scatter_add(IndexedSlices(v, i), use_locking=self._use_locking)

    def _as_dense(self, grad: Tensor, handle: Variable, indices: Tensor) -> Tensor:
        """Returns the dense gradient: one pass over memory in the fused update is cheaper than several."""
        size: Any = shape(handle.value()) if not handle.get_shape().is_fully_defined() else handle.get_shape().as_list()
        return scatter_nd(expand_dims(indices, 1), grad, cast(size, indices.dtype))

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        beta1_power, beta2_power = self._get_beta_accumulators()
        read1, read2 = self._read_powers()
        self._powers = None
        with control_dependencies(update_ops), colocate_with(beta1_power):
            updates = [
                beta1_power.assign(multiply(read1, self._beta1_t), use_locking=self._use_locking, read_value=False),
                beta2_power.assign(multiply(read2, self._beta2_t), use_locking=self._use_locking, read_value=False),
            ]
        return control.group(*update_ops, *updates, name=name_scope)


@export("train.FtrlOptimizer")
class FtrlOptimizer(Optimizer):
    """The FTRL-Proximal algorithm with L1 and L2 penalties."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike],
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
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
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._beta = beta or 0.0
        self._accum_name = accum_name
        self._linear_name = linear_name
        self._learning_rate_tensor: Any = None
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None
        self._l2_shrinkage_regularization_strength_tensor: Any = None
        self._learning_rate_power_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._constant_slot(v, self._initial_accumulator_value, "accum", self._accum_name or self._name)
            self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        rate = self._learning_rate_tensor = self._as_tensor(self._learning_rate, "learning_rate")
        l2: Any = self._l2_regularization_strength
        if self._beta:
            least: Any = maximum(rate, 1e-36)
            l2 = l2 + self._beta / (2.0 * least)
        self._l1_regularization_strength_tensor = self._as_tensor(self._l1_regularization_strength, "l1")
        self._l2_regularization_strength_tensor = self._as_tensor(l2, "l2")
        self._l2_shrinkage_regularization_strength_tensor = self._as_tensor(
            self._l2_shrinkage_regularization_strength, "l2_shrinkage"
        )
        self._learning_rate_power_tensor = self._as_tensor(self._learning_rate_power, "learning_rate_power")

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, *indices: Any) -> Any:
        tensors = [
            self._learning_rate_tensor,
            self._l1_regularization_strength_tensor,
            self._l2_regularization_strength_tensor,
            self._learning_rate_power_tensor,
        ]
        ops = training.resource_apply_ftrl, training.resource_sparse_apply_ftrl
        if self._l2_shrinkage_regularization_strength > 0.0:
            tensors.insert(3, self._l2_shrinkage_regularization_strength_tensor)
            ops = training.resource_apply_ftrl_v2, training.resource_sparse_apply_ftrl_v2
        handles, numbers = self._handles(handle, "accum", "linear"), [cast(t, grad.dtype) for t in tensors]
        return ops[len(indices)].operation(*handles, grad, *indices, *numbers, use_locking=self._use_locking)

    _resource_apply_sparse = _resource_apply_dense  # type: ignore[assignment]

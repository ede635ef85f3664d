"""AddSign and PowerSign: larger steps where gradient and momentum have the same sign."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import training
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import exp, multiply, sign
from thalweg._src.graph.ops.state import resource_scatter_add, resource_scatter_sub
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables.variables import Variable

SignDecay = Callable[[Any], Any]


class _SignOptimizer(Optimizer):
    """The base class of sign optimizers: the factor of the gradient depends on sign(gradient) * sign(momentum)."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike],
        beta: TensorLike | Callable[[], TensorLike],
        sign_decay_fn: SignDecay | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta = beta
        self._sign_decay_fn = sign_decay_fn
        self._lr_t: Any = None
        self._beta_t: Any = None
        self._sign_decay_t: Any = None

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns the training operation; `sign_decay_fn` is called with the global step."""
        decay = 1.0 if self._sign_decay_fn is None else self._sign_decay_fn(global_step)
        self._sign_decay_t = convert_to_tensor(decay, name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "m", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._as_tensor(self._lr, "learning_rate")
        self._beta_t = self._as_tensor(self._beta, "beta")

    def _weighted(self, agreement: object) -> Any:
        """Returns the factor of the gradient for a decayed sign product."""
        raise NotImplementedError(f"{type(self).__name__} defines no factor of the gradient")

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: TensorLike) -> Any:
        """Returns the update of some rows; the momentum of all rows decays."""
        m, beta = self.get_slot(handle, "m"), cast(self._beta_t, grad.dtype)
        decayed = m.assign(multiply(m.value(), beta), use_locking=self._use_locking, read_value=False)
        with control_dependencies([decayed]):
            added = resource_scatter_add.operation(m._handle, indices, grad * (1 - beta))
        with control_dependencies([added]):
            mean = m.sparse_read(indices)
        factor = self._weighted(sign(grad) * sign(mean) * cast(self._sign_decay_t, grad.dtype))
        return resource_scatter_sub.operation(handle._handle, indices, grad * factor * cast(self._lr_t, grad.dtype))


@export("contrib.opt.AddSignOptimizer")
class AddSignOptimizer(_SignOptimizer):
    """AddSign: multiplies the gradient by alpha + sign(gradient) * sign(momentum).

    Args:
        alpha: What is added to the agreement of gradient and mean.
        beta: Decay of the mean of gradients.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike] = 0.1,
        alpha: TensorLike | Callable[[], TensorLike] = 1.0,
        beta: TensorLike | Callable[[], TensorLike] = 0.9,
        sign_decay_fn: SignDecay | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha
        self._alpha_t: Any = None

    def _prepare(self) -> None:
        super()._prepare()
        self._alpha_t = self._as_tensor(self._alpha, "alpha")

    def _weighted(self, agreement: Any) -> Any:
        return agreement + cast(self._alpha_t, agreement.dtype)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        numbers = (self._lr_t, self._alpha_t, self._sign_decay_t, self._beta_t)
        return training.resource_apply_add_sign.operation(
            handle._handle,
            self.get_slot(handle, "m")._handle,
            *(cast(number, grad.dtype) for number in numbers),
            grad,
            use_locking=self._use_locking,
        )


@export("contrib.opt.PowerSignOptimizer")
class PowerSignOptimizer(_SignOptimizer):
    """PowerSign: multiplies the gradient by base ** (sign(gradient) * sign(momentum)).

    Args:
        base: Base of the power.
        beta: Decay of the mean of gradients.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], TensorLike] = 0.1,
        base: float = math.e,
        beta: TensorLike | Callable[[], TensorLike] = 0.9,
        sign_decay_fn: SignDecay | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._logbase = math.log(base)
        self._logbase_t: Any = None

    def _prepare(self) -> None:
        super()._prepare()
        self._logbase_t = self._as_tensor(self._logbase, "logbase")

    def _weighted(self, agreement: Any) -> Any:
        return exp(agreement * cast(self._logbase_t, agreement.dtype))

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        numbers = (self._lr_t, self._logbase_t, self._sign_decay_t, self._beta_t)
        return training.resource_apply_power_sign.operation(
            handle._handle,
            self.get_slot(handle, "m")._handle,
            *(cast(number, grad.dtype) for number in numbers),
            grad,
            use_locking=self._use_locking,
        )

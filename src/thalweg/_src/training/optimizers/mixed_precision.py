"""Mixed precision: half-precision arithmetic with float32 variables, and loss scaling against gradient underflow."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base import dtypes, logging
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import is_finite
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.math import maximum, multiply
from thalweg._src.graph.ops.reduction import reduce_all
from thalweg._src.graph.scopes import GraphKeys, get_collection_ref, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.optimizers.optimizer import Optimizer, present_gradients
from thalweg._src.training.variables.distribution import current_mode
from thalweg._src.training.variables.variables import Variable

_HALVES = (dtypes.float16, dtypes.bfloat16)
_enabled = False


@export("mixed_precision.mixed_precision_getter")
def mixed_precision_getter(
    getter: Callable[..., Any],
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: TensorLike | Callable[..., Any] | None = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool | None = True,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Stores trainable variables requested in half precision as float32, and returns a half-precision copy.

    For `variable_scope(..., custom_getter=mixed_precision_getter, dtype=tf.float16)`: the layers inside compute in half
    precision, while optimizers and regularizers find the float32 variable.

    Args:
        name: Name of the variable.
    """
    requested_dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    is_widened = requested_dtype in _HALVES and trainable is not False
    variable = getter(
        name,
        shape,
        *args,
        dtype=dtypes.float32 if is_widened else dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        **kwargs,
    )
    return cast(variable, requested_dtype) if requested_dtype is not None and is_widened else variable


# -- loss scales ------------------------------------------------------------------------------------------------------


@export("mixed_precision.LossScale", "mixed_precision.experimental.LossScale", "train.experimental.LossScale")
class LossScale(abc.ABC):
    """The factor of a loss that keeps small gradients from underflowing in half precision."""

    def __init__(self) -> None:
        self._weights: dict[Any, Any] = {}

    @abc.abstractmethod
    def __call__(self) -> Tensor:
        """Returns the factor, a float32 scalar."""

    @abc.abstractmethod
    def update(self, grads: Sequence[Any]) -> tuple[Operation, Any]:
        """Returns the operation that adapts the factor, and whether the gradients may be applied."""

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that create an equal loss scale."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        """Returns the loss scale of a configuration."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: TensorLike, dtype: DTypeLike | None = None) -> Any:
        key = (name, get_default_graph())
        if key in self._weights:
            raise RuntimeError(f"Duplicate variables detected. {key}")
        self._weights[key] = Variable(initial_value, name=name, dtype=dtype, trainable=False)
        return self._weights[key]


@export(
    "mixed_precision.FixedLossScale", "mixed_precision.experimental.FixedLossScale", "train.experimental.FixedLossScale"
)
class FixedLossScale(LossScale):
    """A loss scale that never changes."""

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, int | float):
            raise ValueError(f"loss_scale_value: expected a Python number, received {loss_scale_value!r}")
        if loss_scale_value < 1:
            raise ValueError(f"loss_scale_value: expected 1 or more, received {loss_scale_value}")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Sequence[Any]) -> tuple[Operation, Any]:
        return no_op(), True

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._loss_scale_value}

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"


@export(
    "mixed_precision.DynamicLossScale",
    "mixed_precision.experimental.DynamicLossScale",
    "train.experimental.DynamicLossScale",
)
class DynamicLossScale(LossScale):
    """A loss scale that grows after many finite steps and shrinks after each step with a gradient that is not finite.

    Such a step must not be applied.
    """

    initial_loss_scale = ReadOnly[float]("The initial scale.")
    increment_period = ReadOnly[int]("The number of finite steps after which the scale increases.")
    multiplier = ReadOnly[float]("The factor by which the scale changes.")

    def __init__(
        self, initial_loss_scale: float = 2**15, increment_period: int = 2000, multiplier: float = 2.0
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight("current_loss_scale", self._initial_loss_scale, dtypes.float32)
        self._num_good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: Sequence[Any]) -> tuple[Operation, Any]:
        """Returns the operation that adapts the scale, and whether all gradients are finite."""
        finite = _all_finite(nest.flatten(grads))
        updated = cond(finite, self._after_good_step, self._after_bad_step)
        return control.group(updated), finite

    def _after_good_step(self) -> Operation:
        scale, count = self._current_loss_scale, self._num_good_steps

        def grow() -> Operation:
            larger = multiply(scale.value(), self._multiplier)
            grown = cond(is_finite(larger), lambda: scale.assign(larger, read_value=False), no_op)
            return control.group(grown, count.assign(0, read_value=False))

        enough = count.value() + 1 >= self._increment_period
        return control.group(cond(enough, grow, lambda: count.assign_add(1, read_value=False)))

    def _after_bad_step(self) -> Operation:
        scale = self._current_loss_scale
        smaller = maximum(scale.value() / self._multiplier, 1.0)
        return control.group(self._num_good_steps.assign(0, read_value=False), scale.assign(smaller, read_value=False))

    def get_config(self) -> dict[str, Any]:
        return {
            "initial_loss_scale": self.initial_loss_scale,
            "increment_period": self.increment_period,
            "multiplier": self.multiplier,
        }

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self.initial_loss_scale}, "
            f"increment_period={self.increment_period}, multiplier={self.multiplier})"
        )


def _all_finite(grads: Iterable[Any]) -> Tensor:
    values = [grad.values if isinstance(grad, IndexedSlices) else grad for grad in grads if grad is not None]
    return reduce_all(stack([reduce_all(is_finite(value)) for value in values]))


def get_loss_scale(identifier: str | float | LossScale | None) -> LossScale | None:
    """Returns the loss scale that a number, "dynamic" or a loss scale denotes."""
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    if isinstance(identifier, int | float):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    raise ValueError(f"loss scale {identifier!r}: expected a LossScale, a number or 'dynamic'")


# -- optimizers -------------------------------------------------------------------------------------------------------


@export("mixed_precision.MixedPrecisionLossScaleOptimizer", "train.experimental.MixedPrecisionLossScaleOptimizer")
class MixedPrecisionLossScaleOptimizer(Optimizer):
    """Wraps an optimizer: scales the loss and unscales the gradients.

    With a dynamic loss scale, a step whose gradients are not finite updates only the scale: variables, slots and the
    global step stay unchanged.
    """

    def __init__(self, opt: Optimizer, loss_scale: str | float | LossScale | None) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f"opt: expected a tf.train.Optimizer, received {type(opt)}")
        scale = get_loss_scale(loss_scale)
        if scale is None:
            raise ValueError("loss_scale cannot be None")
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        self._loss_scale = scale

    def compute_gradients(
        self, loss: TensorLike | Callable[[], TensorLike], *args: Any, **kwargs: Any
    ) -> list[tuple[Any, Any]]:
        """Returns the gradients of the loss, computed from the scaled loss."""
        scale = self._loss_scale()

        def scaled() -> Tensor:
            value = convert_to_tensor(loss() if callable(loss) else loss)
            return multiply(value, cast(scale, value.dtype))

        pairs = self._optimizer.compute_gradients(scaled, *args, **kwargs)
        inverse = 1.0 / scale
        return [(_times(grad, inverse), variable) for grad, variable in pairs]

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns the operation that applies finite gradients and adapts a dynamic scale."""
        pairs = list(grads_and_vars)
        if not isinstance(self._loss_scale, DynamicLossScale) or all(grad is None for grad, _ in pairs):
            return self._optimizer.apply_gradients(pairs, global_step, name)
        mode = current_mode()
        if mode is not None and mode.replica is not None and not mode.strategy._is_default:
            return mode.replica.merge_call(self._distributed_apply, args=(present_gradients(pairs), global_step, name))
        gradients = [grad for grad, _ in pairs]
        return self._apply_if_finite(gradients, lambda: self._optimizer.apply_gradients(pairs, global_step), name)

    def _distributed_apply(
        self,
        distribution: Any,
        grads_and_vars: list[tuple[Any, Any]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Any:
        # A sum is not finite if one of the replicas' gradients is not: all replicas, and workers, decide the same.
        sums = distribution.extended.batch_reduce_to("SUM", grads_and_vars)
        variables = [variable for _, variable in grads_and_vars]
        first = [getattr(total, "primary", total) for total in sums]

        def apply() -> Any:
            return self._optimizer._apply_sums(distribution, sums, variables, global_step, None)

        return self._apply_if_finite(first, apply, name)

    def _apply_if_finite(self, gradients: list[Any], applied_by: Callable[[], Any], name: str | None) -> Operation:
        """Returns the operation that applies gradients if they are finite, and adapts the loss scale."""
        around = get_default_graph().get_name_scope()
        train_ops = get_collection_ref(GraphKeys.TRAIN_OP)

        def apply() -> Operation:
            with name_scope(f"{around}/" if around else ""):  # names as without the wrapper
                applied: Operation = applied_by()
            if applied in train_ops:  # must not be run on its own
                train_ops.remove(applied)
            return applied

        with name_scope(name, f"{self._name}_scaled") as scope:
            rescaled, finite = self._loss_scale.update(gradients)
            update = control.group(cond(finite, apply, no_op), rescaled, name=scope)
        train_ops.append(update)
        return update

    def get_slot(self, var: Variable, name: str) -> Any:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Returns the slot names of the wrapped optimizer."""
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        """Returns the variables of the wrapped optimizer and of the loss scale."""
        return self._optimizer.variables() + list(self._loss_scale._weights.values())


def _times(grad: Tensor | IndexedSlices | None, factor: Tensor) -> Any:
    if grad is None:
        return None
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(grad.values * cast(factor, grad.dtype), grad.indices, grad.dense_shape)
    return grad * cast(factor, grad.dtype)


@export(
    "mixed_precision.enable_mixed_precision_graph_rewrite", "train.experimental.enable_mixed_precision_graph_rewrite"
)
def enable_mixed_precision_graph_rewrite(
    opt: Optimizer, loss_scale: str | float | LossScale | None = "dynamic"
) -> Optimizer:
    """Returns an optimizer that scales its loss, for gradients in half precision.

    Operations compute in the types of the graph; `mixed_precision_getter` gives layers half-precision variables.
    """
    global _enabled
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(
            "opt already scales its loss: pass the optimizer inside the MixedPrecisionLossScaleOptimizer, "
            "enable_mixed_precision_graph_rewrite adds the scaling"
        )
    if not isinstance(opt, Optimizer):
        raise ValueError(f"opt: expected a tf.train.Optimizer, received {opt}")
    wrapped = MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    _enabled = True
    return wrapped


@export(
    "mixed_precision.disable_mixed_precision_graph_rewrite", "train.experimental.disable_mixed_precision_graph_rewrite"
)
def disable_mixed_precision_graph_rewrite() -> None:
    """Disables the mixed-precision rewrite; optimizers already wrapped keep scaling their losses."""
    global _enabled
    if not _enabled:
        logging.warning("disable_mixed_precision_graph_rewrite: mixed precision was not enabled")
    _enabled = False

"""optimize_loss: a training operation with clipping, multipliers, noise and summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export, export_constants
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.random import truncated_normal
from thalweg._src.graph.ops.reduction import reduce_mean
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.scopes import GraphKeys, get_collection
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn import summaries as summary
from thalweg._src.training.optimizers import optimizers
from thalweg._src.training.optimizers.clipping import clip_by_global_norm, global_norm
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables.global_step import assert_global_step, get_global_step
from thalweg._src.training.variables.initializers import Constant
from thalweg._src.training.variables.variable_scope import get_variable, variable_scope
from thalweg._src.training.variables.variables import Variable, trainable_variables

OPTIMIZER_CLS_NAMES: dict[str, Any] = {
    "Adagrad": optimizers.AdagradOptimizer,
    "Adam": optimizers.AdamOptimizer,
    "Ftrl": optimizers.FtrlOptimizer,
    "Momentum": lambda learning_rate: optimizers.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]


@export("contrib.layers.optimize_loss", "contrib.slim.optimize_loss")
def optimize_loss(
    loss: TensorLike,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[..., Any] | None = None,
    update_ops: Any = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Any = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Returns the loss after a step of an optimizer, with optional noise, scaling and clipping of gradients."""
    if loss is None:
        raise ValueError("loss cannot be None.")
    summaries = ["loss", "learning_rate", "global_gradient_norm"] if summaries is None else summaries
    for kind in summaries:
        if kind not in OPTIMIZER_SUMMARIES:
            raise ValueError(f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {kind}.")
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        update_ops = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
        if update_ops:
            loss = with_dependencies(list(update_ops), loss)
        rate = _rate(learning_rate, global_step, learning_rate_decay_fn)
        if rate is not None and "learning_rate" in summaries:
            summary.scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        pairs = chosen.compute_gradients(
            loss,
            trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        pairs = _changed(pairs, gradient_noise_scale, gradient_multipliers, clip_gradients, summaries)
        _summarize(loss, pairs, summaries, clipped=clip_gradients is not None)
        step = global_step if increment_global_step else None
        applied = chosen.apply_gradients(pairs, global_step=step, name="train")
        return with_dependencies([applied], loss)  # type: ignore[no-any-return]


def _rate(learning_rate: Any, global_step: Any, decay: Any) -> Any:
    if learning_rate is None:
        return None
    if isinstance(learning_rate, Tensor | Variable):
        rate: Any = learning_rate
        if rate.get_shape().ndims != 0:
            raise ValueError(f"Invalid learning_rate shape: {rate.get_shape()}")
    elif isinstance(learning_rate, float):
        if learning_rate < 0.0:
            raise ValueError(f"Invalid learning_rate {learning_rate}.")
        rate = get_variable("learning_rate", [], trainable=False, initializer=Constant(learning_rate))
    else:
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}"
        )
    if decay is None:
        return rate
    if global_step is None:
        raise ValueError("global_step is required for learning_rate_decay_fn.")
    return decay(rate, global_step)


def _optimizer(optimizer: Any, rate: Any) -> Any:
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            names = ", ".join(OPTIMIZER_CLS_NAMES)
            raise ValueError(f"Optimizer name should be one of [{names}], you provided {optimizer}.")
        optimizer = OPTIMIZER_CLS_NAMES[optimizer]
        if rate is None:
            raise ValueError("Learning rate is None, but should be specified for an optimizer given by name.")
        return optimizer(learning_rate=rate)
    if isinstance(optimizer, type) and issubclass(optimizer, Optimizer):
        if rate is None:
            raise ValueError("Learning rate is None, but should be specified for an optimizer class.")
        return optimizer(learning_rate=rate)  # type: ignore[call-arg]
    if isinstance(optimizer, Optimizer):
        return optimizer
    if callable(optimizer):
        instance = optimizer(rate) if rate is not None else optimizer()
        if isinstance(instance, Optimizer) or hasattr(instance, "apply_gradients"):
            return instance
    raise ValueError(
        f"Optimizer must be a name, a class, an instance or a function that returns one, got {optimizer!r}"
    )


def _changed(pairs: Any, noise: Any, multipliers: Any, clip: Any, summaries: Any) -> Any:
    """Returns the gradients with noise, multipliers and clipping."""
    pairs = list(pairs)
    if noise is not None:
        pairs = [(None if g is None else _dense(g) + _noise(g) * noise, v) for g, v in pairs]
    if multipliers is not None:
        if not isinstance(multipliers, dict):
            raise ValueError(f"gradient_multipliers is a dictionary of factors by variable, got {multipliers!r}")
        pairs = [(_multiplied(g, multipliers.get(v, multipliers.get(v.name))), v) for g, v in pairs]
    if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
        summary.scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs if g is not None]))
    if isinstance(clip, float):
        clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip)
        pairs = list(zip(clipped, [v for _, v in pairs]))
    elif callable(clip):
        pairs = list(clip(pairs))
    elif clip is not None:
        raise ValueError(f"Unknown type {type(clip)} for clip_gradients")
    return pairs


def _multiplied(gradient: Any, factor: Any) -> Any:
    if gradient is None or factor is None:
        return gradient
    if isinstance(gradient, IndexedSlices):
        factor = cast(factor, gradient.values.dtype)
        return IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return gradient * cast(factor, gradient.dtype)


def _dense(gradient: Any) -> Any:
    return convert_to_tensor(gradient)


def _noise(gradient: Any) -> Tensor:
    dense = _dense(gradient)
    static_shape = dense.get_shape()
    return truncated_normal(
        static_shape.as_list() if static_shape.is_fully_defined() else shape(dense), dtype=dense.dtype
    )


def _summarize(loss: Any, pairs: Any, summaries: Any, clipped: bool) -> None:
    if "loss" in summaries:
        summary.scalar("loss", reduce_mean(loss))
    for gradient, variable in pairs:
        if gradient is None:
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        name = variable.name.replace(":", "_")
        if "gradients" in summaries:
            summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            summary.scalar(f"gradient_norm/{name}", global_norm([values]))
    if clipped and ("global_gradient_norm" in summaries or "gradient_norm" in summaries):
        summary.scalar("global_norm/clipped_gradient_norm", global_norm([g for g, _ in pairs if g is not None]))


export_constants(
    OPTIMIZER_CLS_NAMES="contrib.layers.OPTIMIZER_CLS_NAMES",
    OPTIMIZER_SUMMARIES="contrib.layers.OPTIMIZER_SUMMARIES",
)

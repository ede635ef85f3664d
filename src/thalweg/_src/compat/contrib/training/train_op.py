"""create_train_op: an operation that updates a model and returns its loss."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.numerics import check_numerics as checked
from thalweg._src.graph.scopes import GraphKeys, control_dependencies, get_collection, get_collection_ref, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn import summaries
from thalweg._src.training.optimizers.clipping import clip_by_norm, global_norm
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables.global_step import get_or_create_global_step
from thalweg._src.training.variables.variables import trainable_variables

_log = logging.getLogger("thalweg")
_USE_GLOBAL_STEP = 0

Gradients = Sequence[tuple[Any, Any]]


@export("contrib.training.create_train_op")
def create_train_op(
    total_loss: TensorLike,
    optimizer: Optimizer,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    transform_grads_fn: Callable[[Gradients], Gradients] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """Returns the loss after a step of the optimizer; update operations, such as moving averages, run before."""
    if global_step is _USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    registered = get_collection(GraphKeys.UPDATE_OPS)
    chosen = registered if update_ops is None else list(update_ops)
    if not {id(op) for op in registered} <= {id(op) for op in chosen}:
        _log.warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if chosen:
        with control_dependencies(chosen):
            barrier = no_op(name="update_barrier")
        total_loss = with_dependencies([barrier], total_loss)
    variables = trainable_variables() if variables_to_train is None else list(variables_to_train)
    require_members("optimizer", optimizer, "an optimizer", "compute_gradients", "apply_gradients")
    pairs: Any = optimizer.compute_gradients(
        total_loss,
        variables,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    applied = optimizer.apply_gradients(pairs, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = checked(total_loss, "LossTensor is inf or nan")
        with control_dependencies([applied]):
            train_op = identity(total_loss)
    get_collection_ref(GraphKeys.TRAIN_OP).append(train_op)
    return train_op


@export("contrib.slim.learning.create_train_op")
def slim_train_op(
    total_loss: TensorLike,
    optimizer: Optimizer,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Any = None,
    check_numerics: bool = True,
) -> Tensor:
    """Returns a training operation with gradient clipping and multipliers."""

    def transform(pairs: Gradients) -> Gradients:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        return clip_gradient_norms(pairs, clip_gradient_norm) if clip_gradient_norm > 0 else pairs

    return create_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transform,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )


@export("contrib.training.add_gradients_summaries", "contrib.slim.learning.add_gradients_summaries")
def add_gradients_summaries(grads_and_vars: Gradients) -> list[Any]:
    """Adds summaries of the histogram and the norm of each gradient."""
    added = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            _log.info("Var %s has no gradient", variable._shared_name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        added.append(summaries.histogram(f"{variable._shared_name}/gradient", values))
        added.append(summaries.scalar(f"{variable._shared_name}/gradient_norm", global_norm([values])))
    return added


@export("contrib.training.clip_gradient_norms", "contrib.slim.learning.clip_gradient_norms")
def clip_gradient_norms(gradients_to_variables: Gradients, max_norm: TensorLike) -> Gradients:
    """Clips the norm of each gradient separately."""
    return [(None if g is None else clip_by_norm(g, max_norm), v) for g, v in gradients_to_variables]


@export("contrib.training.clip_gradient_norms_fn")
def clip_gradient_norms_fn(max_norm: TensorLike) -> Callable[[Gradients], Gradients]:
    """Returns a function that clips the norm of each gradient in a list of (gradient, variable) pairs."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


@export("contrib.training.multiply_gradients", "contrib.slim.learning.multiply_gradients")
def multiply_gradients(grads_and_vars: Gradients, gradient_multipliers: Any) -> Gradients:
    """Multiplies gradients by factors that a dictionary gives by variable or by name."""
    if not isinstance(gradient_multipliers, dict) or not gradient_multipliers:
        raise ValueError("`gradient_multipliers` must be a dict that is not empty.")
    result = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable._shared_name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError("Requested multiple of `None` gradient.")
            factor = gradient_multipliers[key]
            if isinstance(gradient, IndexedSlices):
                values = gradient.values * cast(factor, gradient.values.dtype)
                gradient = IndexedSlices(values, gradient.indices, gradient.dense_shape)
            else:
                gradient = gradient * cast(factor, gradient.dtype)
        result.append((gradient, variable))
    return result

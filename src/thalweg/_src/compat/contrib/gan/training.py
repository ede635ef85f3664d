"""Losses of models, training operations, and the loops and hooks that run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.compat.contrib.gan import model_losses as losses
from thalweg._src.compat.contrib.gan.models import CycleGANLoss, CycleGANModel, GANLoss, GANTrainOps, GANTrainSteps
from thalweg._src.compat.contrib.training.train_op import create_train_op
from thalweg._src.compat.contrib.training.training import train
from thalweg._src.graph.scopes import GraphKeys, get_collection, name_scope
from thalweg._src.training.nn.losses import get_regularization_loss
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.variables.global_step import get_or_create_global_step
from thalweg._src.training.variables.variable_scope import variable_scope

_ONE_EACH = GANTrainSteps(1, 1)
Hooks = Callable[[GANTrainOps], list[SessionRunHook]]


@export("contrib.gan.gan_loss")
def gan_loss(
    model: Any,
    generator_loss_fn: Callable[..., Any] = losses.wasserstein_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = losses.wasserstein_discriminator_loss,
    gradient_penalty_weight: float | None = None,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    mutual_information_penalty_weight: float | None = None,
    aux_cond_generator_weight: float | None = None,
    aux_cond_discriminator_weight: float | None = None,
    tensor_pool_fn: Callable[..., Any] | None = None,
    add_summaries: bool = True,
) -> GANLoss:
    """Returns the losses of a model, with penalties and regularization losses added."""
    generator = generator_loss_fn(model, add_summaries=add_summaries)
    pooled = model if tensor_pool_fn is None else _pooled(model, tensor_pool_fn)
    discriminator = discriminator_loss_fn(pooled, add_summaries=add_summaries)
    if gradient_penalty_weight:
        discriminator += gradient_penalty_weight * losses.wasserstein_gradient_penalty(
            pooled,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries,
        )
    if mutual_information_penalty_weight:
        _require_member(model, "predicted_distributions", "mutual_information_penalty_weight")
        penalty = losses.mutual_information_penalty(model, add_summaries=add_summaries)
        generator += mutual_information_penalty_weight * penalty
        discriminator += mutual_information_penalty_weight * penalty
    if aux_cond_generator_weight:
        _require_member(model, "one_hot_labels", "aux_cond_generator_weight")
        auxiliary = losses.acgan_generator_loss(model, add_summaries=add_summaries)
        generator += aux_cond_generator_weight * auxiliary
    if aux_cond_discriminator_weight:
        _require_member(model, "one_hot_labels", "aux_cond_discriminator_weight")
        auxiliary = losses.acgan_discriminator_loss(model, add_summaries=add_summaries)
        discriminator += aux_cond_discriminator_weight * auxiliary
    generator += get_regularization_loss(model.generator_scope.name)
    discriminator += get_regularization_loss(model.discriminator_scope.name)
    return GANLoss(generator, discriminator)


def _require_member(model: Any, member: str, parameter: str) -> None:
    if not hasattr(model, member):
        raise ValueError(f"{parameter}: expected a model with {member}, received a {type(model).__name__}")


def _pooled(model: Any, tensor_pool_fn: Callable[..., Any]) -> Any:
    """Returns the model with generated data from a pool, to which the discriminator is applied again."""
    generated, inputs = tensor_pool_fn((model.generated_data, model.generator_inputs))
    with variable_scope(model.discriminator_scope, reuse=True):
        outputs = model.discriminator_fn(generated, inputs)
    return model._replace(generated_data=generated, generator_inputs=inputs, discriminator_gen_outputs=outputs)


@export("contrib.gan.cyclegan_loss")
def cyclegan_loss(
    model: CycleGANModel,
    generator_loss_fn: Callable[..., Any] = losses.least_squares_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = losses.least_squares_discriminator_loss,
    cycle_consistency_loss_fn: Callable[..., Any] = losses.cycle_consistency_loss,
    cycle_consistency_loss_weight: float = 10.0,
    **kwargs: Any,
) -> CycleGANLoss:
    """Returns the losses of both directions, each with the weighted cycle consistency loss.

    Args:
        cycle_consistency_loss_fn: Function from a CycleGANModel to a loss.
        cycle_consistency_loss_weight: Weight of that loss.
        **kwargs: Further arguments of `gan_loss`.
    """
    consistency = cycle_consistency_loss_fn(model, add_summaries=kwargs.get("add_summaries", True))
    one_way_losses = []
    for one_way in (model.model_x2y, model.model_y2x):
        loss = gan_loss(one_way, generator_loss_fn, discriminator_loss_fn, **kwargs)
        generator = loss.generator_loss + cycle_consistency_loss_weight * consistency
        one_way_losses.append(GANLoss(generator, loss.discriminator_loss))
    return CycleGANLoss(*one_way_losses)


@export("contrib.gan.gan_train_ops")
def gan_train_ops(
    model: Any,
    loss: Any,
    generator_optimizer: Optimizer,
    discriminator_optimizer: Optimizer,
    check_for_unused_update_ops: bool = True,
    is_chief: bool = True,
    **kwargs: Any,
) -> GANTrainOps:
    """Returns the training operations of a model; none of them changes the global step but its own increment.

    Args:
        loss: The losses.
        generator_optimizer: The optimizer of the generator.
        discriminator_optimizer: The optimizer of the discriminator.
        check_for_unused_update_ops: Whether update operations outside of both networks are refused.
        is_chief: Accepted for compatibility; it has no effect.
        **kwargs: Further arguments of `tf.contrib.training.create_train_op`.
    """
    if isinstance(model, CycleGANModel):
        optimizers = (generator_optimizer, discriminator_optimizer, False, is_chief)
        there = gan_train_ops(model.model_x2y, loss.loss_x2y, *optimizers, **kwargs)
        back = gan_train_ops(model.model_y2x, loss.loss_y2x, *optimizers, **kwargs)
        return GANTrainOps(
            (there.generator_train_op, back.generator_train_op),
            (there.discriminator_train_op, back.discriminator_train_op),
            there.global_step_inc_op,
        )
    increment = get_or_create_global_step().assign_add(1)
    require_members("model", model, "a GANModel", "generator_scope", "discriminator_scope")
    scopes = model.generator_scope.name, model.discriminator_scope.name
    update_ops = kwargs.pop("update_ops", None)
    updates = set(get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
    scope_updates = [set(get_collection(GraphKeys.UPDATE_OPS, f"{scope}/")) & updates for scope in scopes]
    unused = updates - scope_updates[0] - scope_updates[1]
    if check_for_unused_update_ops and unused:
        raise ValueError(f"There are unused update ops: {sorted(op.name for op in unused)}")
    with name_scope("generator_train"):
        generator = create_train_op(
            loss.generator_loss,
            generator_optimizer,
            global_step=None,
            variables_to_train=model.generator_variables,
            update_ops=scope_updates[0],
            **kwargs,
        )
    with name_scope("discriminator_train"):
        discriminator = create_train_op(
            loss.discriminator_loss,
            discriminator_optimizer,
            global_step=None,
            variables_to_train=model.discriminator_variables,
            update_ops=scope_updates[1],
            **kwargs,
        )
    return GANTrainOps(generator, discriminator, increment)


@export("contrib.gan.RunTrainOpsHook")
class RunTrainOpsHook(SessionRunHook):
    """Runs training operations a number of times before each step."""

    def __init__(self, train_ops: Any, train_steps: int) -> None:
        self._train_ops = train_ops if isinstance(train_ops, list | tuple) else [train_ops]
        self._train_steps = train_steps

    def before_run(self, run_context: Any) -> None:
        """Runs the operations."""
        for _ in range(self._train_steps):
            run_context.session.run(self._train_ops)


@export("contrib.gan.get_sequential_train_hooks")
def get_sequential_train_hooks(train_steps: GANTrainSteps = _ONE_EACH) -> Hooks:
    """Returns a function from training operations to hooks that run the generator's, then the discriminator's."""

    def hooks(train_ops: GANTrainOps) -> list[SessionRunHook]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
            *train_ops.train_hooks,
        ]

    return hooks


@export("contrib.gan.get_joint_train_hooks")
def get_joint_train_hooks(train_steps: GANTrainSteps = _ONE_EACH) -> Hooks:
    """Returns a function from training operations to a hook that runs both in one step.

    The one that is trained more often runs alone for the rest of its steps.
    """
    both = min(train_steps)
    generator_only, discriminator_only = (steps - both for steps in train_steps)

    def hooks(train_ops: GANTrainOps) -> list[SessionRunHook]:
        joint = [train_ops.generator_train_op, train_ops.discriminator_train_op]
        return [
            RunTrainOpsHook(train_ops.generator_train_op, generator_only),
            RunTrainOpsHook(train_ops.discriminator_train_op, discriminator_only),
            RunTrainOpsHook(joint, both),
            *train_ops.train_hooks,
        ]

    return hooks


@export("contrib.gan.gan_train")
def gan_train(
    train_ops: GANTrainOps,
    logdir: PathLike | None,
    get_hooks_fn: Hooks = get_sequential_train_hooks(),  # noqa: B008 - a function, as in TensorFlow
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
) -> Any:
    """Trains until a hook stops; returns the global step."""
    require_members("train_ops", train_ops, "GANTrainOps", "global_step_inc_op")
    return train(
        train_ops.global_step_inc_op,
        logdir,
        master,
        is_chief,
        scaffold,
        [*get_hooks_fn(train_ops), *(hooks or ())],
        chief_only_hooks,
        save_checkpoint_secs,
        save_summaries_steps,
        config,
    )


@export("contrib.gan.get_sequential_train_steps")
def get_sequential_train_steps(train_steps: GANTrainSteps = _ONE_EACH) -> Callable[..., tuple[Any, Any]]:
    """Returns a step function for `tf.contrib.slim.learning.train`."""

    def step(sess: Any, train_ops: GANTrainOps, global_step: Any, train_step_kwargs: dict[str, Any]) -> tuple[Any, Any]:
        generator = discriminator = 0.0
        for _ in range(train_steps.generator_train_steps):
            generator = sess.run(train_ops.generator_train_op)
        for _ in range(train_steps.discriminator_train_steps):
            discriminator = sess.run(train_ops.discriminator_train_op)
        sess.run(train_ops.global_step_inc_op)
        should_stop = "should_stop" in train_step_kwargs and bool(sess.run(train_step_kwargs["should_stop"]))
        return generator + discriminator, should_stop

    return step

"""Losses of generators and discriminators, given their outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import add_n, maximum, sqrt, square, squared_difference
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reduction import reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import ones_like, shape, zeros_like
from thalweg._src.graph.scopes import GraphKeys, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn import losses as plain, summaries
from thalweg._src.training.nn.losses import Reduction
from thalweg._src.training.optimizers.clipping import global_norm
from thalweg._src.training.variables.variable_scope import variable_scope

_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS


def _summarized(add_summaries: bool, **values: Any) -> None:
    if add_summaries:
        for name, value in values.items():
            summaries.scalar(name, value)


# -- Wasserstein ------------------------------------------------------------------------------------------------------


@export("contrib.gan.losses.wargs.wasserstein_generator_loss")
def wasserstein_generator_loss(
    discriminator_gen_outputs: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the Wasserstein loss of the generator: the negative output of the discriminator."""
    with name_scope(scope, "generator_wasserstein_loss", [discriminator_gen_outputs, weights]) as opened:
        outputs = convert_to_tensor(discriminator_gen_outputs)
        loss = plain.compute_weighted_loss(-outputs, weights, opened, loss_collection, reduction)
        _summarized(add_summaries, generator_wass_loss=loss)
        return loss


@export("contrib.gan.losses.wargs.wasserstein_discriminator_loss")
def wasserstein_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the Wasserstein loss of the discriminator: its output for generated data, less that for real data."""
    values = [discriminator_real_outputs, discriminator_gen_outputs]
    with name_scope(scope, "discriminator_wasserstein_loss", values) as opened:
        real = _weighted(discriminator_real_outputs, real_weights, opened, reduction)
        generated = _weighted(discriminator_gen_outputs, generated_weights, opened, reduction)
        loss = generated - real
        plain.add_loss(loss, loss_collection)
        _summarized(
            add_summaries,
            discriminator_gen_wass_loss=generated,
            discriminator_real_wass_loss=real,
            discriminator_wass_loss=loss,
        )
        return loss


def _weighted(losses: object, weights: TensorLike, scope: str, reduction: str) -> Tensor:
    return plain.compute_weighted_loss(convert_to_tensor(losses), weights, scope, None, reduction)


@export("contrib.gan.losses.wargs.wasserstein_gradient_penalty")
def wasserstein_gradient_penalty(
    real_data: TensorLike,
    generated_data: TensorLike,
    generator_inputs: object,
    discriminator_fn: Callable[..., Any],
    discriminator_scope: Any,
    epsilon: float = 1e-10,
    target: float = 1.0,
    one_sided: bool = False,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the penalty on the norm of the discriminator's gradient between real and generated data."""
    with name_scope(scope, "wasserstein_gradient_penalty", [real_data, generated_data]) as opened:
        real, generated = convert_to_tensor(real_data), convert_to_tensor(generated_data)
        if real.shape.ndims is None:
            raise ValueError("`real_data` can't have unknown rank.")
        if generated.shape.ndims is None:
            raise ValueError("`generated_data` can't have unknown rank.")
        ones = [1] * (real.shape.ndims - 1)
        between = real + random_uniform([shape(real)[0], *ones], dtype=real.dtype) * (generated - real)
        with name_scope(""), variable_scope(discriminator_scope, reuse=True):  # outside of the loss's scope
            outputs = discriminator_fn(between, generator_inputs)
        outputs = outputs[0] if isinstance(outputs, tuple) else outputs
        slope = gradients(outputs, between)[0]
        # The epsilon keeps the gradient of the root finite.
        norms = sqrt(reduce_sum(square(slope), list(range(1, real.shape.ndims))) + epsilon)
        excess = norms / target - 1.0
        excess = maximum(excess, 0.0) if one_sided else excess
        loss = plain.compute_weighted_loss(square(excess), weights, opened, loss_collection, reduction)
        _summarized(add_summaries, gradient_penalty_loss=loss)
        return loss


# -- minimax ----------------------------------------------------------------------------------------------------------


@export("contrib.gan.losses.wargs.minimax_discriminator_loss")
def minimax_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    label_smoothing: float = 0.25,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the cross entropy of the discriminator, whose outputs are logits of being real."""
    values = [discriminator_real_outputs, discriminator_gen_outputs]
    with name_scope(scope, "discriminator_minimax_loss", values) as opened:
        real, generated = convert_to_tensor(values[0]), convert_to_tensor(values[1])
        on_real = plain.sigmoid_cross_entropy(
            ones_like(real), real, real_weights, label_smoothing, opened, None, reduction
        )
        on_generated = plain.sigmoid_cross_entropy(
            zeros_like(generated), generated, generated_weights, scope=opened, loss_collection=None, reduction=reduction
        )
        loss = on_real + on_generated
        plain.add_loss(loss, loss_collection)
        _summarized(
            add_summaries,
            discriminator_gen_minimax_loss=on_generated,
            discriminator_real_minimax_loss=on_real,
            discriminator_minimax_loss=loss,
        )
        return loss


@export("contrib.gan.losses.wargs.minimax_generator_loss")
def minimax_generator_loss(
    discriminator_gen_outputs: TensorLike,
    label_smoothing: float = 0.0,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the negative of the discriminator's cross entropy on generated data."""
    with name_scope(scope, "generator_minimax_loss", [discriminator_gen_outputs]):
        outputs = convert_to_tensor(discriminator_gen_outputs)
        entropy = plain.sigmoid_cross_entropy(
            zeros_like(outputs), outputs, weights, label_smoothing, loss_collection=None, reduction=reduction
        )
        loss = -entropy
        plain.add_loss(loss, loss_collection)
        _summarized(add_summaries, generator_minimax_loss=loss)
        return loss


@export("contrib.gan.losses.wargs.modified_discriminator_loss")
def modified_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    label_smoothing: float = 0.25,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the cross entropy of the discriminator, as `minimax_discriminator_loss` does."""
    return minimax_discriminator_loss(
        discriminator_real_outputs,
        discriminator_gen_outputs,
        label_smoothing,
        real_weights,
        generated_weights,
        scope or "discriminator_modified_loss",
        loss_collection,
        reduction,
        add_summaries,
    )


@export("contrib.gan.losses.wargs.modified_generator_loss")
def modified_generator_loss(
    discriminator_gen_outputs: TensorLike,
    label_smoothing: float = 0.0,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the cross entropy of generated data being real, whose gradients vanish for no discriminator."""
    with name_scope(scope, "generator_modified_loss", [discriminator_gen_outputs]) as opened:
        outputs = convert_to_tensor(discriminator_gen_outputs)
        loss = plain.sigmoid_cross_entropy(
            ones_like(outputs), outputs, weights, label_smoothing, opened, loss_collection, reduction
        )
        _summarized(add_summaries, generator_modified_loss=loss)
        return loss


# -- least squares ----------------------------------------------------------------------------------------------------


@export("contrib.gan.losses.wargs.least_squares_generator_loss")
def least_squares_generator_loss(
    discriminator_gen_outputs: TensorLike,
    real_label: float = 1,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns half the squared distance of the discriminator's outputs to the label of real data."""
    with name_scope(scope, "lsq_generator_loss", [discriminator_gen_outputs]) as opened:
        outputs = convert_to_tensor(discriminator_gen_outputs)
        losses = 0.5 * squared_difference(outputs, convert_to_tensor(real_label, outputs.dtype))
        loss = plain.compute_weighted_loss(losses, weights, opened, loss_collection, reduction)
        _summarized(add_summaries, generator_lsq_loss=loss)
        return loss


@export("contrib.gan.losses.wargs.least_squares_discriminator_loss")
def least_squares_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    real_label: float = 1,
    fake_label: float = 0,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns half the squared distances of the discriminator's outputs to the labels of real and generated data."""
    values = [discriminator_real_outputs, discriminator_gen_outputs]
    with name_scope(scope, "lsq_discriminator_loss", values) as opened:
        real, generated = convert_to_tensor(values[0]), convert_to_tensor(values[1])
        on_real = 0.5 * squared_difference(real, convert_to_tensor(real_label, real.dtype))
        on_generated = 0.5 * squared_difference(generated, convert_to_tensor(fake_label, generated.dtype))
        loss = _weighted(on_real, real_weights, opened, reduction)
        loss += _weighted(on_generated, generated_weights, opened, reduction)
        plain.add_loss(loss, loss_collection)
        _summarized(add_summaries, discriminator_lsq_loss=loss)
        return loss


# -- conditional ------------------------------------------------------------------------------------------------------


@export("contrib.gan.losses.wargs.acgan_discriminator_loss")
def acgan_discriminator_loss(
    discriminator_real_classification_logits: TensorLike,
    discriminator_gen_classification_logits: TensorLike,
    one_hot_labels: TensorLike,
    label_smoothing: float = 0.0,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the cross entropy of the classification of real and generated data by the discriminator."""
    real, generated = discriminator_real_classification_logits, discriminator_gen_classification_logits
    with name_scope(scope, "acgan_discriminator_loss", [real, generated, one_hot_labels]) as opened:
        loss = add_n(
            [
                plain.softmax_cross_entropy(one_hot_labels, logits, weights, label_smoothing, opened, None, reduction)
                for logits, weights in ((generated, generated_weights), (real, real_weights))
            ]
        )
        plain.add_loss(loss, loss_collection)
        _summarized(add_summaries, discriminator_ac_loss=loss)
        return loss


@export("contrib.gan.losses.wargs.acgan_generator_loss")
def acgan_generator_loss(
    discriminator_gen_classification_logits: TensorLike,
    one_hot_labels: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the cross entropy of the classification of generated data by the discriminator."""
    with name_scope(scope, "acgan_generator_loss", [discriminator_gen_classification_logits, one_hot_labels]) as opened:
        loss = plain.softmax_cross_entropy(
            one_hot_labels, discriminator_gen_classification_logits, weights, 0, opened, loss_collection, reduction
        )
        _summarized(add_summaries, generator_ac_loss=loss)
        return loss


@export("contrib.gan.losses.wargs.mutual_information_penalty")
def mutual_information_penalty(
    structured_generator_inputs: Sequence[Any],
    predicted_distributions: Sequence[Any],
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the mean negative log probability of the structured inputs under the predicted distributions."""
    if not predicted_distributions or len(predicted_distributions) != len(structured_generator_inputs):
        raise ValueError("predicted_distributions: expected one for each of the structured inputs")
    with name_scope(scope, "mutual_information_loss"):
        losses = [
            -reduce_mean(distribution.log_prob(value))
            for distribution, value in zip(predicted_distributions, structured_generator_inputs)
        ]
        loss = plain.compute_weighted_loss(
            add_n(losses) / float(len(losses)), weights, None, loss_collection, reduction
        )
        _summarized(add_summaries, mutual_information_penalty=loss)
        return loss


# -- combinations -----------------------------------------------------------------------------------------------------


@export("contrib.gan.losses.wargs.cycle_consistency_loss")
def cycle_consistency_loss(
    data_x: TensorLike,
    reconstructed_data_x: TensorLike,
    data_y: TensorLike,
    reconstructed_data_y: TensorLike,
    scope: str | None = None,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the mean absolute differences of data and what both generators in a row make of them."""
    with name_scope(scope, "cycle_consistency_loss", [data_x, data_y]):
        loss_x = plain.absolute_difference(data_x, reconstructed_data_x, loss_collection=None)
        loss_y = plain.absolute_difference(data_y, reconstructed_data_y, loss_collection=None)
        loss = (loss_x + loss_y) / 2.0
        _summarized(
            add_summaries, cycle_consistency_loss_x=loss_x, cycle_consistency_loss_y=loss_y, cycle_consistency_loss=loss
        )
        return loss


@export("contrib.gan.losses.wargs.combine_adversarial_loss")
def combine_adversarial_loss(
    main_loss: TensorLike,
    adversarial_loss: TensorLike,
    weight_factor: TensorLike | None = None,
    gradient_ratio: TensorLike | None = None,
    gradient_ratio_epsilon: float = 1e-6,
    variables: Any = None,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
    scope: str | None = None,
) -> Tensor:
    """Returns a loss plus the weighted adversarial loss; a gradient ratio sets the weight by the norms of gradients."""
    if (weight_factor is None) == (gradient_ratio is None):
        raise ValueError("`weight_factor` and `gradient_ratio`: expected one of them")
    with name_scope(scope, "combine_adversarial_loss", [main_loss, adversarial_loss]):
        main, adversarial = convert_to_tensor(main_loss), convert_to_tensor(adversarial_loss)
        if gradient_ratio is not None:
            main_norm = global_norm([g for g in gradients(main, variables) if g is not None])
            adversarial_norm = global_norm([g for g in gradients(adversarial, variables) if g is not None])
            _summarized(gradient_summaries, main_loss_gradients=main_norm, adversarial_loss_gradients=adversarial_norm)
            weight_factor = stop_gradient(main_norm / (adversarial_norm * gradient_ratio + gradient_ratio_epsilon))
        combined: Tensor = main + adversarial * weight_factor
        _summarized(scalar_summaries, combined_loss=combined)
        return combined

"""Losses of models: those of their outputs, which are taken from the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.gan import losses
from thalweg._src.graph.tensor import Tensor

Loss = Callable[..., Tensor]


def _of_model(loss: Loss) -> Loss:
    """Returns the loss as a function of a model and of the arguments that models do not have."""
    parameters = inspect.signature(loss).parameters

    def of_model(gan_model: object, **kwargs: Any) -> Tensor:
        tensors = {name: getattr(gan_model, name) for name in parameters if hasattr(gan_model, name)}
        return loss(**{**tensors, **kwargs})

    name = of_model.__name__ = of_model.__qualname__ = loss.__name__
    of_model.__doc__ = (loss.__doc__ or "").partition("\n")[0] or None
    return export(f"contrib.gan.losses.{name}")(of_model)


wasserstein_generator_loss = _of_model(losses.wasserstein_generator_loss)
wasserstein_discriminator_loss = _of_model(losses.wasserstein_discriminator_loss)
wasserstein_gradient_penalty = _of_model(losses.wasserstein_gradient_penalty)
minimax_discriminator_loss = _of_model(losses.minimax_discriminator_loss)
minimax_generator_loss = _of_model(losses.minimax_generator_loss)
modified_discriminator_loss = _of_model(losses.modified_discriminator_loss)
modified_generator_loss = _of_model(losses.modified_generator_loss)
least_squares_generator_loss = _of_model(losses.least_squares_generator_loss)
least_squares_discriminator_loss = _of_model(losses.least_squares_discriminator_loss)
acgan_discriminator_loss = _of_model(losses.acgan_discriminator_loss)
acgan_generator_loss = _of_model(losses.acgan_generator_loss)
mutual_information_penalty = _of_model(losses.mutual_information_penalty)


@export("contrib.gan.losses.cycle_consistency_loss")
def cycle_consistency_loss(cyclegan_model: Any, scope: str | None = None, add_summaries: bool = False) -> Tensor:
    """Returns the mean absolute differences of data and what both generators of a CycleGANModel make of them."""
    require_members("cyclegan_model", cyclegan_model, "a CycleGANModel", "model_x2y", "reconstructed_x")
    return losses.cycle_consistency_loss(
        cyclegan_model.model_x2y.generator_inputs,
        cyclegan_model.reconstructed_x,
        cyclegan_model.model_y2x.generator_inputs,
        cyclegan_model.reconstructed_y,
        scope,
        add_summaries,
    )

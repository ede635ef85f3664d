"""tf.contrib.gan.losses: Losses of models."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.gan.model_losses import (
    acgan_discriminator_loss as acgan_discriminator_loss,
    acgan_generator_loss as acgan_generator_loss,
    cycle_consistency_loss as cycle_consistency_loss,
    least_squares_discriminator_loss as least_squares_discriminator_loss,
    least_squares_generator_loss as least_squares_generator_loss,
    minimax_discriminator_loss as minimax_discriminator_loss,
    minimax_generator_loss as minimax_generator_loss,
    modified_discriminator_loss as modified_discriminator_loss,
    modified_generator_loss as modified_generator_loss,
    mutual_information_penalty as mutual_information_penalty,
    wasserstein_discriminator_loss as wasserstein_discriminator_loss,
    wasserstein_generator_loss as wasserstein_generator_loss,
    wasserstein_gradient_penalty as wasserstein_gradient_penalty,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.gan.losses import wargs as wargs

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["wargs"],
    {},
)

__all__ = [
    "acgan_discriminator_loss", "acgan_generator_loss", "cycle_consistency_loss", "least_squares_discriminator_loss",
    "least_squares_generator_loss", "minimax_discriminator_loss", "minimax_generator_loss",
    "modified_discriminator_loss", "modified_generator_loss", "mutual_information_penalty", "wargs",
    "wasserstein_discriminator_loss", "wasserstein_generator_loss", "wasserstein_gradient_penalty",
]

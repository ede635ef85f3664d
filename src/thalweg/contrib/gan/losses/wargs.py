"""tf.contrib.gan.losses.wargs: Losses of the outputs of generators and discriminators."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.gan.losses import (
    acgan_discriminator_loss as acgan_discriminator_loss,
    acgan_generator_loss as acgan_generator_loss,
    combine_adversarial_loss as combine_adversarial_loss,
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

__all__ = [
    "acgan_discriminator_loss", "acgan_generator_loss", "combine_adversarial_loss", "cycle_consistency_loss",
    "least_squares_discriminator_loss", "least_squares_generator_loss", "minimax_discriminator_loss",
    "minimax_generator_loss", "modified_discriminator_loss", "modified_generator_loss", "mutual_information_penalty",
    "wasserstein_discriminator_loss", "wasserstein_generator_loss", "wasserstein_gradient_penalty",
]

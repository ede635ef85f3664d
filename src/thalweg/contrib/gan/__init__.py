"""tf.contrib.gan: Generative adversarial networks: models, losses and training."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.gan.models import (
    ACGANModel as ACGANModel,
    CycleGANLoss as CycleGANLoss,
    CycleGANModel as CycleGANModel,
    GANLoss as GANLoss,
    GANModel as GANModel,
    GANTrainOps as GANTrainOps,
    GANTrainSteps as GANTrainSteps,
    InfoGANModel as InfoGANModel,
    acgan_model as acgan_model,
    cyclegan_model as cyclegan_model,
    gan_model as gan_model,
    infogan_model as infogan_model,
)
from thalweg._src.compat.contrib.gan.training import (
    RunTrainOpsHook as RunTrainOpsHook,
    cyclegan_loss as cyclegan_loss,
    gan_loss as gan_loss,
    gan_train as gan_train,
    gan_train_ops as gan_train_ops,
    get_joint_train_hooks as get_joint_train_hooks,
    get_sequential_train_hooks as get_sequential_train_hooks,
    get_sequential_train_steps as get_sequential_train_steps,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.gan import losses as losses

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["losses"],
    {},
)

__all__ = [
    "ACGANModel", "CycleGANLoss", "CycleGANModel", "GANLoss", "GANModel", "GANTrainOps", "GANTrainSteps",
    "InfoGANModel", "RunTrainOpsHook", "acgan_model", "cyclegan_loss", "cyclegan_model", "gan_loss", "gan_model",
    "gan_train", "gan_train_ops", "get_joint_train_hooks", "get_sequential_train_hooks", "get_sequential_train_steps",
    "infogan_model", "losses",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)

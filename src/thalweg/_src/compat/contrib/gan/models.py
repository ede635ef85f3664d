"""The models: generator and discriminator connected, as named tuples of their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.variables import get_trainable_variables
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.training.variables.variable_scope import variable_scope

Network = Callable[..., Any]


class _Parts(NamedTuple):
    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


@export("contrib.gan.GANModel")
class GANModel(_Parts):
    """A generator and a discriminator: inputs, outputs, variables, scopes and functions."""


class _InfoParts(NamedTuple):
    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    structured_generator_inputs: Any
    predicted_distributions: Any
    discriminator_and_aux_fn: Any


@export("contrib.gan.InfoGANModel")
class InfoGANModel(_InfoParts):
    """A GANModel, and the distributions by which the discriminator predicts structured inputs of the generator."""


class _ClassifiedParts(NamedTuple):
    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    one_hot_labels: Any
    discriminator_real_classification_logits: Any
    discriminator_gen_classification_logits: Any


@export("contrib.gan.ACGANModel")
class ACGANModel(_ClassifiedParts):
    """A GANModel, with labels and the logits by which the discriminator classifies real and generated data."""


class _CycleParts(NamedTuple):
    model_x2y: Any
    model_y2x: Any
    reconstructed_x: Any
    reconstructed_y: Any


@export("contrib.gan.CycleGANModel")
class CycleGANModel(_CycleParts):
    """Two GANModels, from x to y and back, and what both generators in a row make of the data."""


class _Losses(NamedTuple):
    generator_loss: Any
    discriminator_loss: Any


@export("contrib.gan.GANLoss")
class GANLoss(_Losses):
    """The losses of generator and discriminator."""


class _CycleLosses(NamedTuple):
    loss_x2y: Any
    loss_y2x: Any


@export("contrib.gan.CycleGANLoss")
class CycleGANLoss(_CycleLosses):
    """The losses of both directions of a CycleGANModel."""


class _TrainOps(NamedTuple):
    generator_train_op: Any
    discriminator_train_op: Any
    global_step_inc_op: Any
    train_hooks: Any = ()


@export("contrib.gan.GANTrainOps")
class GANTrainOps(_TrainOps):
    """The training operations of generator and discriminator, and the increment of the global step."""


class _TrainSteps(NamedTuple):
    generator_train_steps: int
    discriminator_train_steps: int


@export("contrib.gan.GANTrainSteps")
class GANTrainSteps(_TrainSteps):
    """How often generator and discriminator are trained in each step."""


def _tensors(inputs: Any) -> Any:
    """Returns inputs as tensors: one, or a list or dictionary of them."""
    if isinstance(inputs, dict):
        return {key: convert_to_tensor(value) for key, value in inputs.items()}
    if isinstance(inputs, list | tuple):
        return [convert_to_tensor(value) for value in inputs]
    return convert_to_tensor(inputs)


def _require_same_shape(generated: Any, real: Any) -> None:
    require_members("real_data", real, "a tensor", "shape")
    require_members("generator_fn", generated, "a function that returns a tensor", "shape")
    if not generated.shape.is_compatible_with(real.shape):
        raise ValueError(
            f"Generator output shape ({generated.shape}) must be the same shape as real data ({real.shape})"
        )


@export("contrib.gan.gan_model")
def gan_model(
    generator_fn: Network,
    discriminator_fn: Network,
    real_data: Any,
    generator_inputs: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> GANModel:
    """Returns a generator connected to a discriminator, which is applied to generated and to real data."""
    with variable_scope(generator_scope) as generator:
        inputs = _tensors(generator_inputs)
        generated = generator_fn(inputs)
    with variable_scope(discriminator_scope) as discriminator:
        gen_outputs = discriminator_fn(generated, inputs)
    with variable_scope(discriminator, reuse=True):
        real = _tensors(real_data)
        real_outputs = discriminator_fn(real, inputs)
    if check_shapes:
        _require_same_shape(generated, real)
    return GANModel(
        inputs,
        generated,
        get_trainable_variables(generator),
        generator,
        generator_fn,
        real,
        real_outputs,
        gen_outputs,
        get_trainable_variables(discriminator),
        discriminator,
        discriminator_fn,
    )


@export("contrib.gan.infogan_model")
def infogan_model(
    generator_fn: Network,
    discriminator_fn: Network,
    real_data: Any,
    unstructured_generator_inputs: Any,
    structured_generator_inputs: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
) -> InfoGANModel:
    """Returns an InfoGAN: its discriminator also returns distributions of the structured inputs."""
    with variable_scope(generator_scope) as generator:
        unstructured, structured = _tensors(unstructured_generator_inputs), _tensors(structured_generator_inputs)
        inputs = [*unstructured, *structured]
        generated = generator_fn(inputs)
    with variable_scope(discriminator_scope) as discriminator:
        gen_outputs, distributions = discriminator_fn(generated, inputs)
    if len(distributions) != len(structured):
        raise ValueError(f"{len(distributions)} distributions were predicted for {len(structured)} structured inputs")
    with variable_scope(discriminator, reuse=True):
        real = convert_to_tensor(real_data)
        real_outputs, _ = discriminator_fn(real, inputs)
    _require_same_shape(generated, real)
    return InfoGANModel(
        inputs,
        generated,
        get_trainable_variables(generator),
        generator,
        generator_fn,
        real,
        real_outputs,
        gen_outputs,
        get_trainable_variables(discriminator),
        discriminator,
        lambda data, condition: discriminator_fn(data, condition)[0],
        structured,
        distributions,
        discriminator_fn,
    )


@export("contrib.gan.acgan_model")
def acgan_model(
    generator_fn: Network,
    discriminator_fn: Network,
    real_data: Any,
    generator_inputs: Any,
    one_hot_labels: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> ACGANModel:
    """Returns an ACGAN: its discriminator also returns logits of the classes."""
    with variable_scope(generator_scope) as generator:
        inputs = _tensors(generator_inputs)
        generated = generator_fn(inputs)
    with variable_scope(discriminator_scope) as discriminator:
        gen_outputs, gen_logits = discriminator_fn(generated, inputs)
    with variable_scope(discriminator, reuse=True):
        real = convert_to_tensor(real_data)
        real_outputs, real_logits = discriminator_fn(real, inputs)
    if check_shapes:
        _require_same_shape(generated, real)
    return ACGANModel(
        inputs,
        generated,
        get_trainable_variables(generator),
        generator,
        generator_fn,
        real,
        real_outputs,
        gen_outputs,
        get_trainable_variables(discriminator),
        discriminator,
        discriminator_fn,
        one_hot_labels,
        real_logits,
        gen_logits,
    )


@export("contrib.gan.cyclegan_model")
def cyclegan_model(
    generator_fn: Network,
    discriminator_fn: Network,
    data_x: Any,
    data_y: Any,
    generator_scope: str = "Generator",
    discriminator_scope: str = "Discriminator",
    model_x2y_scope: str = "ModelX2Y",
    model_y2x_scope: str = "ModelY2X",
    check_shapes: bool = True,
) -> CycleGANModel:
    """Returns a CycleGAN: a GAN from x to y, one from y to x, and both generators in a row."""

    def one_way(source: Any, target: Any) -> GANModel:
        return gan_model(
            generator_fn, discriminator_fn, target, source, generator_scope, discriminator_scope, check_shapes
        )

    with variable_scope(model_x2y_scope):
        there = one_way(data_x, data_y)
    with variable_scope(model_y2x_scope):
        back = one_way(data_y, data_x)
    with variable_scope(back.generator_scope, reuse=True):
        reconstructed_x = back.generator_fn(there.generated_data)
    with variable_scope(there.generator_scope, reuse=True):
        reconstructed_y = there.generator_fn(back.generated_data)
    return CycleGANModel(there, back, reconstructed_x, reconstructed_y)

"""Schedules of Keras: objects that compute the learning rate of a step, by the functions of tf.train."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.serialization import deserialize_keras_object, serialize_keras_object
from thalweg._src.training.optimizers import decay

_parameters_of = functools.partial(parameters_of, without=("learning_rate", "global_step"))


@export("keras.optimizers.schedules.LearningRateSchedule")
class LearningRateSchedule(ABC):
    """The base class of schedules, which an optimizer calls with the number of its steps so far."""

    @abstractmethod
    def __call__(self, step: TensorLike) -> Any:
        """Returns the learning rate of a step."""

    @abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which `from_config` makes such a schedule."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns a schedule made from the result of `get_config`."""
        return cls(**config)


class _Decay(LearningRateSchedule):
    """A schedule whose attributes are the arguments of a function of tf.train."""

    _function: ClassVar[Callable[..., Any]]

    def __init__(self, initial_learning_rate: TensorLike, **arguments: Any) -> None:
        vars(self).update(initial_learning_rate=initial_learning_rate, **arguments)

    def get_config(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}

    def __call__(self, step: TensorLike) -> Any:
        arguments = self.get_config()
        # In eager execution, what the function itself returns is called with the global step.
        compute = inspect.unwrap(type(self)._function)
        return compute(learning_rate=arguments.pop("initial_learning_rate"), global_step=step, **arguments)


@export("keras.optimizers.schedules.ExponentialDecay")
class ExponentialDecay(_Decay):
    """The rate is multiplied by `decay_rate` in every `decay_steps` steps.

    Args:
        name: Name of the operations.
    """

    _function = staticmethod(decay.exponential_decay)

    @_parameters_of(decay.exponential_decay, before="decay_steps")
    def __init__(self, initial_learning_rate: TensorLike, **arguments: Any) -> None:
        super().__init__(initial_learning_rate, **arguments)


@export("keras.optimizers.schedules.InverseTimeDecay")
class InverseTimeDecay(_Decay):
    """The rate is divided by 1 + decay_rate * step / decay_steps.

    Args:
        name: Name of the operations.
    """

    _function = staticmethod(decay.inverse_time_decay)

    @_parameters_of(decay.inverse_time_decay, before="decay_steps")
    def __init__(self, initial_learning_rate: TensorLike, **arguments: Any) -> None:
        super().__init__(initial_learning_rate, **arguments)


@export("keras.optimizers.schedules.PolynomialDecay")
class PolynomialDecay(_Decay):
    """The rate falls to `end_learning_rate` as a polynomial of the step.

    Args:
        name: Name of the operations.
    """

    _function = staticmethod(decay.polynomial_decay)

    @_parameters_of(decay.polynomial_decay, before="decay_steps")
    def __init__(self, initial_learning_rate: TensorLike, **arguments: Any) -> None:
        super().__init__(initial_learning_rate, **arguments)


@export("keras.optimizers.schedules.PiecewiseConstantDecay")
class PiecewiseConstantDecay(LearningRateSchedule):
    """The rate is values[0] up to step boundaries[0], values[1] up to boundaries[1], and so on.

    Args:
        name: Name of the operations.
    """

    def __init__(self, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                f"{len(boundaries)} boundaries need {len(boundaries) + 1} values, one per interval; "
                f"received {len(values)}"
            )
        self.boundaries = boundaries
        self.values = values
        self.name = name

    def __call__(self, step: TensorLike) -> Any:
        step = convert_to_tensor(step)
        limits = [cast(boundary, step.dtype) for boundary in self.boundaries]
        return inspect.unwrap(decay.piecewise_constant)(step, limits, self.values, self.name)

    def get_config(self) -> dict[str, Any]:
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


@export("keras.experimental.CosineDecay")
class CosineDecay(_Decay):
    """The rate falls along half a cosine to `alpha` times its first value.

    Args:
        alpha: Fraction of the first rate at the end.
        name: Name of the operations.
    """

    _function = staticmethod(decay.cosine_decay)

    @_parameters_of(decay.cosine_decay, before="decay_steps")
    def __init__(self, initial_learning_rate: TensorLike, **arguments: Any) -> None:
        super().__init__(initial_learning_rate, **arguments)


@export("keras.experimental.CosineDecayRestarts")
class CosineDecayRestarts(_Decay):
    """Cosine decays, each `t_mul` times as long and `m_mul` times as high as the one before.

    Args:
        alpha: Fraction of the first rate at the end.
        name: Name of the operations.
    """

    _function = staticmethod(decay.cosine_decay_restarts)

    @_parameters_of(decay.cosine_decay_restarts, before="first_decay_steps")
    def __init__(self, initial_learning_rate: TensorLike, **arguments: Any) -> None:
        super().__init__(initial_learning_rate, **arguments)


@export("keras.experimental.LinearCosineDecay")
class LinearCosineDecay(_Decay):
    """The rate falls linearly, modulated by a cosine of `num_periods` periods.

    Args:
        alpha: Fraction of the first rate at the end.
        beta: Fraction of the first rate that is added.
        name: Name of the operations.
    """

    _function = staticmethod(decay.linear_cosine_decay)

    @_parameters_of(decay.linear_cosine_decay, before="decay_steps")
    def __init__(self, initial_learning_rate: TensorLike, **arguments: Any) -> None:
        super().__init__(initial_learning_rate, **arguments)


@export("keras.experimental.NoisyLinearCosineDecay")
class NoisyLinearCosineDecay(_Decay):
    """`LinearCosineDecay` with noise whose variance falls with the steps.

    Args:
        alpha: Fraction of the first rate at the end.
        beta: Fraction of the first rate that is added.
        name: Name of the operations.
    """

    _function = staticmethod(decay.noisy_linear_cosine_decay)

    @_parameters_of(decay.noisy_linear_cosine_decay, before="decay_steps")
    def __init__(self, initial_learning_rate: TensorLike, **arguments: Any) -> None:
        super().__init__(initial_learning_rate, **arguments)


_SCHEDULES: dict[str, Any] = {
    schedule.__name__: schedule
    for schedule in (
        *(ExponentialDecay, InverseTimeDecay, PolynomialDecay, PiecewiseConstantDecay),
        *(CosineDecay, CosineDecayRestarts, LinearCosineDecay, NoisyLinearCosineDecay),
    )
}


@export("keras.optimizers.schedules.serialize")
def serialize(learning_rate_schedule: LearningRateSchedule) -> Any:
    """Returns the class and configuration of a schedule."""
    return serialize_keras_object(learning_rate_schedule)


@export("keras.optimizers.schedules.deserialize")
def deserialize(config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the schedule that a configuration stands for."""
    return deserialize_keras_object(config, _SCHEDULES, custom_objects, "decay")

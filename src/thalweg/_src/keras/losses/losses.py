"""Loss classes, whose objects weigh and reduce the values of a function; losses by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.values import eval as value_of
from thalweg._src.keras.losses import functions
from thalweg._src.keras.losses.weighting import Reduction, compute_weighted_loss, graph_of, matched
from thalweg._src.keras.serialization import Identifier, deserialize_keras_object, serialize_keras_object
from thalweg._src.training.variables.distribution import current_mode
from thalweg._src.training.variables.variables import Variable


@export("keras.losses.Loss")
class Loss:
    """The base class of losses; a subclass computes the losses of the examples in `call`."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        Reduction.validate(reduction)
        self.reduction = reduction
        self.name = name
        # The training loops of models average over the replicas of a strategy themselves.
        self._allow_sum_over_batch_size = False

    def __call__(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Tensor:
        """Returns the losses of the examples, weighted and reduced."""
        scope = "lambda" if self.name == "<lambda>" else self.name
        with graph_of(y_true, y_pred, sample_weight), name_scope(scope or type(self).__name__):
            return compute_weighted_loss(self.call(y_true, y_pred), sample_weight, self._reduction())

    def _reduction(self) -> str:
        """Returns the reduction; raises ValueError for a mean over the batch of one replica."""
        is_mean = self.reduction in (Reduction.AUTO, Reduction.SUM_OVER_BATCH_SIZE)
        if is_mean and not self._allow_sum_over_batch_size and current_mode() is not None:
            raise ValueError(
                f"reduction={self.reduction!r}: expected 'sum' or 'none' in the scope of a strategy, where the mean "
                "over the batch of a replica is not that over the whole batch; hint: divide by the global batch size"
            )
        return self.reduction

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Any:
        """Returns the losses of the examples."""
        raise NotImplementedError(f"{type(self).__name__} defines no call")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns a loss made from the result of `get_config`."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """The loss that a function computes."""

    def __init__(
        self, fn: Callable[..., Any], reduction: str = Reduction.AUTO, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.fn = fn
        self._arguments = kwargs

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Any:
        """Returns the losses of the examples, after targets and predictions are given one rank."""
        return self.fn(*matched(y_true, y_pred), **self._arguments)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        arguments = {
            key: value_of(value) if isinstance(value, Tensor | Variable) else value
            for key, value in self._arguments.items()
        }
        return {**super().get_config(), **arguments}


@export("keras.losses.MeanSquaredError")
class MeanSquaredError(LossFunctionWrapper):
    """The mean of (y_pred - y_true) squared."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_squared_error") -> None:
        super().__init__(functions.mean_squared_error, reduction, name)


@export("keras.losses.MeanAbsoluteError")
class MeanAbsoluteError(LossFunctionWrapper):
    """The mean of |y_pred - y_true|."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_absolute_error") -> None:
        super().__init__(functions.mean_absolute_error, reduction, name)


@export("keras.losses.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(LossFunctionWrapper):
    """The mean of 100 |y_true - y_pred| / |y_true|."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_absolute_percentage_error") -> None:
        super().__init__(functions.mean_absolute_percentage_error, reduction, name)


@export("keras.losses.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """The mean of (log(y_pred + 1) - log(y_true + 1)) squared."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_squared_logarithmic_error") -> None:
        super().__init__(functions.mean_squared_logarithmic_error, reduction, name)


@export("keras.losses.LogCosh")
class LogCosh(LossFunctionWrapper):
    """The mean of log(cosh(y_pred - y_true)), which is linear for large errors."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "logcosh") -> None:
        super().__init__(functions.logcosh, reduction, name)


@export("keras.losses.Huber")
class Huber(LossFunctionWrapper):
    """The Huber loss: half the squared error up to `delta`, linear beyond."""

    def __init__(self, delta: float = 1.0, reduction: str = Reduction.AUTO, name: str | None = "huber_loss") -> None:
        super().__init__(functions.huber_loss, reduction, name, delta=delta)


@export("keras.losses.Hinge")
class Hinge(LossFunctionWrapper):
    """The mean of max(1 - y_true y_pred, 0); targets 0 and 1 stand for -1 and 1."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "hinge") -> None:
        super().__init__(functions.hinge, reduction, name)


@export("keras.losses.SquaredHinge")
class SquaredHinge(LossFunctionWrapper):
    """The mean of max(1 - y_true y_pred, 0) squared; targets 0 and 1 stand for -1 and 1."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "squared_hinge") -> None:
        super().__init__(functions.squared_hinge, reduction, name)


@export("keras.losses.CategoricalHinge")
class CategoricalHinge(LossFunctionWrapper):
    """How far the score of the true class is from exceeding those of all others by 1."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "categorical_hinge") -> None:
        super().__init__(functions.categorical_hinge, reduction, name)


@export("keras.losses.BinaryCrossentropy")
class BinaryCrossentropy(LossFunctionWrapper):
    """The mean crossentropy of targets and probabilities; smoothing moves targets towards 1/2."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0,
        reduction: str = Reduction.AUTO,
        name: str | None = "binary_crossentropy",
    ) -> None:
        smoothing = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(functions.binary_crossentropy, reduction, name, **smoothing)
        self.from_logits = from_logits


@export("keras.losses.CategoricalCrossentropy")
class CategoricalCrossentropy(LossFunctionWrapper):
    """The crossentropy of distributions over classes; smoothing moves targets towards 1 / classes."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0,
        reduction: str = Reduction.AUTO,
        name: str | None = "categorical_crossentropy",
    ) -> None:
        smoothing = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(functions.categorical_crossentropy, reduction, name, **smoothing)


@export("keras.losses.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """The crossentropy of classes, given by number, and distributions over classes."""

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = Reduction.AUTO,
        name: str | None = "sparse_categorical_crossentropy",
    ) -> None:
        super().__init__(functions.sparse_categorical_crossentropy, reduction, name, from_logits=from_logits)


@export("keras.losses.KLDivergence")
class KLDivergence(LossFunctionWrapper):
    """The sum of y_true log(y_true / y_pred)."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "kullback_leibler_divergence") -> None:
        super().__init__(functions.kullback_leibler_divergence, reduction, name)


@export("keras.losses.Poisson")
class Poisson(LossFunctionWrapper):
    """The mean of y_pred - y_true log(y_pred)."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "poisson") -> None:
        super().__init__(functions.poisson, reduction, name)


@export("keras.losses.CosineSimilarity")
class CosineSimilarity(LossFunctionWrapper):
    """The negative cosine of the angle between vectors, -1 if they have one direction."""

    def __init__(self, axis: int = -1, reduction: str = Reduction.AUTO, name: str | None = "cosine_similarity") -> None:
        super().__init__(functions.cosine_similarity, reduction, name, axis=axis)


# -- losses by name ---------------------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mean_squared_error": functions.mean_squared_error,
    "mean_absolute_error": functions.mean_absolute_error,
    "mean_absolute_percentage_error": functions.mean_absolute_percentage_error,
    "mean_squared_logarithmic_error": functions.mean_squared_logarithmic_error,
    "logcosh": functions.logcosh,
    "huber_loss": functions.huber_loss,
    "squared_hinge": functions.squared_hinge,
    "hinge": functions.hinge,
    "categorical_hinge": functions.categorical_hinge,
    "categorical_crossentropy": functions.categorical_crossentropy,
    "sparse_categorical_crossentropy": functions.sparse_categorical_crossentropy,
    "binary_crossentropy": functions.binary_crossentropy,
    "kullback_leibler_divergence": functions.kullback_leibler_divergence,
    "poisson": functions.poisson,
    "cosine_similarity": functions.cosine_similarity,
    "cosine_proximity": functions.cosine_similarity,
    "cosine": functions.cosine_similarity,
}
SHORT_NAMES = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "bce": "binary_crossentropy",
    "kld": "kullback_leibler_divergence",
}
FUNCTIONS.update({key: FUNCTIONS[name] for short, name in SHORT_NAMES.items() for key in (short, short.upper())})
_CLASSES = (
    *(MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredLogarithmicError, LogCosh, Huber),
    *(Hinge, SquaredHinge, CategoricalHinge, BinaryCrossentropy, CategoricalCrossentropy),
    *(SparseCategoricalCrossentropy, KLDivergence, Poisson, CosineSimilarity),
)
_OBJECTS: dict[str, Any] = {**FUNCTIONS, **{cls.__name__: cls for cls in _CLASSES}}


@export("keras.losses.serialize")
def serialize(loss: Identifier) -> Any:
    """Returns the name of a loss function, or the class and configuration of a loss."""
    return serialize_keras_object(loss)


@export("keras.losses.deserialize")
def deserialize(name: Identifier, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the loss function or the loss of a name or a configuration.

    Args:
        name: A name or a configuration.
    """
    return deserialize_keras_object(name, _OBJECTS, custom_objects, "loss function")


@export("keras.losses.get")
def get(identifier: Identifier) -> Any:
    """Returns the loss that a name or a configuration stands for; a function or a loss stands for itself."""
    if identifier is None:
        return None
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret loss function identifier: {identifier!r}")

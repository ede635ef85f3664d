"""Input receivers: the placeholders through which a served model receives its features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.estimator.export_outputs import SINGLE_RECEIVER_NAME
from thalweg._src.graph.is_tensor import is_tensor
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.input.features import parse_example
from thalweg._src.training.nn.rnn.sizes import NestedTensors

SINGLE_FEATURE_NAME, SINGLE_LABEL_NAME = "feature", "label"
Alternatives = dict[str, dict[str, Any]]


class _Served(NamedTuple):
    features: Any
    receiver_tensors: dict[str, Any]
    receiver_tensors_alternatives: Alternatives | None


class _Supervised(NamedTuple):
    features: Any
    labels: Any
    receiver_tensors: dict[str, Any]


@export("estimator.export.ServingInputReceiver")
class ServingInputReceiver(_Served):
    """The features of a served model by name, and the tensors that clients feed.

    Args:
        features: What the model function receives: tensors by name.
    """

    __slots__ = ()

    def __new__(
        cls,
        features: NestedTensors,
        receiver_tensors: object,
        receiver_tensors_alternatives: Mapping[str, Any] | None = None,
    ) -> ServingInputReceiver:
        checked = _named("features", features, SINGLE_FEATURE_NAME)
        received = _named("receiver_tensors", receiver_tensors, SINGLE_RECEIVER_NAME)
        return super().__new__(cls, checked, received, _checked_alternatives(receiver_tensors_alternatives))


@export("estimator.export.TensorServingInputReceiver")
class TensorServingInputReceiver(_Served):
    """The only feature of a served model, which its function takes as a tensor, and the tensors that clients feed.

    Args:
        features: What the model function receives: one tensor.
    """

    __slots__ = ()

    def __new__(
        cls,
        features: NestedTensors,
        receiver_tensors: object,
        receiver_tensors_alternatives: Mapping[str, Any] | None = None,
    ) -> TensorServingInputReceiver:
        if features is None:
            raise ValueError("features must be defined.")
        _require_tensor("feature", SINGLE_FEATURE_NAME, features)
        received = _named("receiver_tensors", receiver_tensors, SINGLE_RECEIVER_NAME)
        return super().__new__(cls, features, received, _checked_alternatives(receiver_tensors_alternatives))


class SupervisedInputReceiver(_Supervised):
    """The features and labels of a model that is exported for training or evaluation."""

    __slots__ = ()

    def __new__(
        cls, features: NestedTensors, labels: NestedTensors, receiver_tensors: object
    ) -> SupervisedInputReceiver:
        for what, value, name in (("feature", features, SINGLE_FEATURE_NAME), ("label", labels, SINGLE_LABEL_NAME)):
            if value is None:
                raise ValueError(f"{what}s must be defined.")
            _named(f"{what}s", value, name)
        return super().__new__(
            cls, features, labels, _named("receiver_tensors", receiver_tensors, SINGLE_RECEIVER_NAME)
        )


def _require_tensor(what: str, name: str, value: object) -> None:
    if not is_tensor(value):
        raise ValueError(f"{what} {name} must be a Tensor, SparseTensor, or RaggedTensor, received {value!r}")


def _named(what: str, tensors: object, default: str) -> dict[str, Any]:
    """Returns tensors by name; a single one takes the default."""
    if tensors is None:
        raise ValueError(f"{what} must be defined.")
    named = dict(tensors) if isinstance(tensors, Mapping) else {default: tensors}
    for name, value in named.items():
        if not isinstance(name, str):
            raise ValueError(f"keys of {what} must be strings: {name!r}.")
        _require_tensor(what, name, value)
    return named


def _checked_alternatives(alternatives: object) -> Alternatives | None:
    if alternatives is None:
        return None
    if not isinstance(alternatives, Mapping):
        raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives!r}.")
    return {
        name: _named("receiver_tensors_alternatives", value, SINGLE_RECEIVER_NAME)
        for name, value in alternatives.items()
    }


# -- functions that make receivers ------------------------------------------------------------------------------------


@export("estimator.export.build_parsing_serving_input_receiver_fn")
def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Returns a function that makes a receiver of serialized Examples, from which the features are parsed."""

    def receive() -> ServingInputReceiver:
        serialized = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})

    return receive


@export("estimator.export.build_raw_serving_input_receiver_fn")
def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Returns a function that makes a receiver of the features themselves, like given tensors but for the batch.

    Args:
        features: What the model function receives: tensors by name.
    """

    def receive() -> ServingInputReceiver:
        placeholders = _placeholders(features, default_batch_size)
        return ServingInputReceiver(placeholders, placeholders)

    return receive


@export(
    "estimator.experimental.build_raw_supervised_input_receiver_fn",
    "contrib.estimator.build_raw_supervised_input_receiver_fn",
)
def build_raw_supervised_input_receiver_fn(
    features: NestedTensors, labels: NestedTensors, default_batch_size: int | None = None
) -> Callable[[], SupervisedInputReceiver]:
    """Returns a function that makes a receiver of features and labels, like given tensors but for the batch.

    Args:
        features: Features by name, or one of them, whose types and shapes are taken.
        labels: Labels by name, or one of them, whose types and shapes are taken.
    """
    named = {
        SINGLE_FEATURE_NAME: _named("features", features, SINGLE_FEATURE_NAME),
        SINGLE_LABEL_NAME: _named("labels", labels, SINGLE_LABEL_NAME),
    }
    shared = sorted(set(named[SINGLE_FEATURE_NAME]) & set(named[SINGLE_LABEL_NAME]))
    if shared:
        raise ValueError(f"Feature keys and label keys must differ, both have {shared}")

    def receive() -> SupervisedInputReceiver:
        placeholders = {what: _placeholders(tensors, default_batch_size) for what, tensors in named.items()}
        feature_values, label_values = placeholders[SINGLE_FEATURE_NAME], placeholders[SINGLE_LABEL_NAME]
        return SupervisedInputReceiver(
            feature_values if isinstance(features, Mapping) else feature_values[SINGLE_FEATURE_NAME],
            label_values if isinstance(labels, Mapping) else label_values[SINGLE_LABEL_NAME],
            {**feature_values, **label_values},
        )

    return receive


def _placeholders(tensors: Mapping[str, Any], batch_size: int | None) -> dict[str, Any]:
    """Returns placeholders like given tensors, whose first dimension is the batch."""
    placeholders = {}
    for name, tensor in tensors.items():
        shape = tensor.get_shape()
        dims = None if shape.ndims is None else [batch_size, *shape.as_list()[1:]]
        is_named = isinstance(tensor, Tensor) and not tensor.is_eager
        placeholders[name] = placeholder(tensor.dtype, dims, name=tensor.op.name if is_named else name)
    return placeholders

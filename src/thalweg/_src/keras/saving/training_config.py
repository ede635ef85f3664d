"""What models were compiled with, as files have it: the optimizer, losses and metrics, in the format of Keras 2."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from thalweg._src.base import logging
from thalweg._src.keras.engine.trainable_model import TrainableModel
from thalweg._src.keras.losses import losses
from thalweg._src.keras.metrics import lookup as metrics
from thalweg._src.keras.metrics.base import Metric
from thalweg._src.keras.optimizers import lookup as optimizers
from thalweg._src.keras.optimizers.wrapping import TFOptimizer
from thalweg._src.keras.places import at, entry, within
from thalweg._src.keras.serialization import class_and_config, serialize_keras_object

_LATER = "Custom>"  # how later releases mark optimizers, which are written otherwise
# What optimizers of later releases can do and those of TensorFlow 1.15 cannot.
_UNKNOWN = ("weight_decay", "use_ema", "global_clipnorm")


def training_config(model: TrainableModel) -> dict[str, Any] | None:
    """Returns what a model was compiled with; None if it was not, or with an optimizer of tf.train."""
    if model.optimizer is None:
        return None
    if isinstance(model.optimizer, TFOptimizer):
        logging.warning("an optimizer of tf.train has no configuration: how the model was compiled is not saved")
        return None
    loss, metrics_argument, loss_weights, weighted_metrics = model.compile_arguments
    optimizer = model.optimizer
    return {
        "loss": _serialized(loss),
        "metrics": _serialized(metrics_argument),
        "weighted_metrics": _serialized(weighted_metrics),
        "sample_weight_mode": model.sample_weight_mode,
        "loss_weights": loss_weights,
        "optimizer_config": class_and_config(type(optimizer).__name__, optimizer.get_config()),
    }


def _serialized(value: object) -> Any:
    """Returns losses or metrics by name, objects by class and configuration, in their structure."""
    if isinstance(value, list | tuple):
        return [_serialized(item) for item in value]
    if isinstance(value, dict):
        return {key: _serialized(item) for key, item in value.items()}
    if isinstance(value, Metric | losses.Loss):
        return class_and_config(type(value).__name__, value.get_config())
    return value if value is None or isinstance(value, str) else serialize_keras_object(value)


def compile_model(model: TrainableModel, training: dict[str, Any], custom_objects: Any) -> None:
    """Compiles a model as it was."""

    def of(key: str, deserialize: Callable[..., Any]) -> Any:
        with at(key):
            return _objects(training.get(key), custom_objects, deserialize)

    with within(training, "training_config"):
        described = entry(training, "optimizer_config", dict)
        with at("optimizer_config"):
            optimizer = optimizers.deserialize(_optimizer_config(described), custom_objects)
        model.compile(
            optimizer=optimizer,
            loss=of("loss", losses.deserialize),
            metrics=of("metrics", metrics.deserialize),
            loss_weights=training.get("loss_weights"),
            sample_weight_mode=training.get("sample_weight_mode"),
            weighted_metrics=of("weighted_metrics", metrics.deserialize),
        )


def _objects(value: object, custom_objects: dict[str, Any] | None, deserialize: Callable[..., Any]) -> Any:
    """Returns losses and metrics, with objects in the place of their names and configurations."""
    if isinstance(value, str):
        return (custom_objects or {}).get(value, value)
    if isinstance(value, list | tuple):
        return [_objects(item, custom_objects, deserialize) for item in value]
    if isinstance(value, dict) and value.get("class_name") == "MeanMetricWrapper":
        return _objects(
            entry(entry(value, "config"), "fn"), custom_objects, deserialize
        )  # later releases write it for a name
    if isinstance(value, dict) and "class_name" not in value:
        return {key: _objects(item, custom_objects, deserialize) for key, item in value.items()}
    return deserialize(value, custom_objects) if isinstance(value, dict) else value


def _optimizer_config(description: dict[str, Any]) -> dict[str, Any]:
    """Returns the description of an optimizer, of a later release with the arguments that there are here."""
    name, config = entry(description, "class_name", str), entry(description, "config", dict)
    if not name.startswith(_LATER):
        return description
    unknown = [key for key in _UNKNOWN if config.get(key)]
    if unknown:
        raise ValueError(
            f"the model was compiled with the optimizer {name} and {', '.join(unknown)}, which TensorFlow 1.15 lacks: "
            "load it with compile=False, and compile it with another one"
        )
    name = name.removeprefix(_LATER)
    optimizer = optimizers.get(name)
    accepted = {*inspect.signature(type(optimizer).__init__).parameters, "clipnorm", "clipvalue"}
    return class_and_config(
        name, {key: value for key, value in config.items() if key in accepted and value is not None}
    )

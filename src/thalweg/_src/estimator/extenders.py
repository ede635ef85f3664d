"""Extensions of an Estimator: further metrics, and features among its predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.estimator.calls import accepted, parameter_names
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.export_outputs import PredictOutput
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.spec import EstimatorSpec, checked_metrics
from thalweg._src.graph.ops.sparse import sparse_tensor_to_dense
from thalweg._src.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.nn.rnn.sizes import NestedTensors

_METRIC_PARAMETERS = {"features", "labels", "predictions", "config", "self"}


@export("estimator.add_metrics", "contrib.estimator.add_metrics")
def add_metrics(estimator: Estimator, metric_fn: Callable[..., Mapping[str, Any]]) -> Estimator:
    """Returns an Estimator with further metrics, which a function of features, labels, predictions or config makes.

    Args:
        metric_fn: Function of features, labels, predictions or config that returns metrics by name.
    """
    unknown = sorted(set(parameter_names(metric_fn)) - _METRIC_PARAMETERS)
    if unknown:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")

    def model_fn(features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        options = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        added = checked_metrics(metric_fn(**accepted(metric_fn, **options)))
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **added})

    return _extended(estimator, model_fn)


def _extended(estimator: Estimator, model_fn: Callable[..., EstimatorSpec]) -> Estimator:
    """Returns an Estimator with another model function, and all else as it is."""
    require_kind("estimator", estimator, Estimator, "an Estimator")
    return Estimator(model_fn, config=estimator.config, warm_start_from=estimator._warm_start_settings)


@export("contrib.estimator.forward_features")
def forward_features(
    estimator: Estimator,
    keys: str | Sequence[str] | None = None,
    sparse_default_values: Mapping[str, Any] | None = None,
) -> Estimator:
    """Returns an Estimator whose predictions have features too, such as keys that identify the examples.

    Args:
        keys: Names of the features; None takes all.
        sparse_default_values: For each sparse feature the value of what it lacks.
    """
    names = [keys] if isinstance(keys, str) else keys
    for key in names or ():
        if not isinstance(key, str):
            raise TypeError(f"All items in keys must be string. Given: {key!r}")

    def model_fn(features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.PREDICT:
            return spec
        if not isinstance(spec.predictions, Mapping):
            raise ValueError(f"Predictions should be a dict to be able to forward features, not {spec.predictions!r}")
        chosen = list(features) if names is None else names
        missing = sorted(set(chosen) - set(features))
        if missing:
            raise ValueError(f"features has no {missing}, only {sorted(features)}")
        taken = sorted(set(chosen) & set(spec.predictions))
        if taken:
            raise ValueError(f"Cannot forward feature keys that the predictions have: {taken}")
        forwarded = {key: _dense(key, features[key], sparse_default_values) for key in chosen}
        predictions = {**spec.predictions, **forwarded}
        outputs = {
            key: PredictOutput({**output.outputs, **forwarded}) if isinstance(output, PredictOutput) else output
            for key, output in spec.export_outputs.items()
        }
        return spec._replace(predictions=predictions, export_outputs=outputs)

    return _extended(estimator, model_fn)


def _dense(key: str, feature: Any, defaults: Mapping[str, Any] | None) -> Any:
    tensor = convert_to_tensor_or_sparse_tensor(feature)
    if not isinstance(tensor, SparseTensor):
        return tensor
    if key not in (defaults or {}):
        raise ValueError(f"Feature {key} is sparse: give a value for what it lacks in sparse_default_values")
    return sparse_tensor_to_dense(tensor, default_value=(defaults or {})[key])

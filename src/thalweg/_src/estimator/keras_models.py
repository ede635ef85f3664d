"""model_to_estimator: an Estimator that trains, evaluates, runs and exports a compiled Keras model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.reshape import expand_dims
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.values import batch_get_value
from thalweg._src.keras.engine.model import Model
from thalweg._src.keras.metrics.base import Metric
from thalweg._src.keras.optimizers.wrapping import TFOptimizer
from thalweg._src.keras.saving.models import clone_model, load_model
from thalweg._src.keras.serialization import CustomObjectScope
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.optimizers.optimizer import scaled_loss
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.variables.global_step import get_global_step
from thalweg._src.training.variables.sessions import SessionLike


@export("keras.estimator.model_to_estimator")
def model_to_estimator(
    keras_model: Model | None = None,
    keras_model_path: PathLike | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    model_dir: PathLike | None = None,
    config: RunConfig | None = None,
    checkpoint_format: str = "saver",
) -> Estimator:
    """Returns an Estimator for a compiled Keras model, which starts with the weights of the model.

    Each graph of the Estimator has a copy of the model; the model itself does not change. As in TensorFlow, the
    optimizer starts anew, and the global step counts its steps.

    Args:
        keras_model: A compiled model of layers.
        keras_model_path: The file or folder of such a model, in its place.
        custom_objects: Classes and functions of the program, by their names in the description.
        config: A `RunConfig`; None takes the defaults.
        checkpoint_format: `saver`: checkpoints have the names of variables.
    """
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError("model_to_estimator: expected either keras_model or keras_model_path")
    if checkpoint_format != "saver":
        raise ValueError(f"checkpoint_format: expected 'saver', received {checkpoint_format!r}")
    model: Any = keras_model if keras_model_path is None else load_model(keras_model_path, dict(custom_objects or {}))
    require_members("keras_model", model, "a Keras model", "optimizer", "layers")
    if model.optimizer is None:
        raise ValueError("The given keras model has not been compiled yet: call model.compile before this")
    if not model._is_graph_network:
        raise ValueError(
            f"{type(model).__name__} has a `call` of its own, of which the graphs of an Estimator cannot have copies: "
            "make the model of layers, or write a model function"
        )
    return Estimator(_model_fn(model, dict(custom_objects or {})), model_dir, config)


def _model_fn(model: Model, custom_objects: dict[str, Any]) -> Callable[..., EstimatorSpec]:
    """Returns the function that builds a copy of a model in each mode."""
    values, copy_for = batch_get_value(model.weights), copy_maker(model, custom_objects)

    def model_fn(features: NestedTensors, labels: NestedTensors, mode: str) -> EstimatorSpec:
        copy = copy_for(features, mode)

        def start(scaffold: Scaffold, session: SessionLike) -> None:
            for variable, value in zip(copy.weights, values, strict=True):
                variable.load(value, session)

        return spec_of(copy, labels, mode, Scaffold(init_fn=start))

    return model_fn


def copy_maker(model: Model, custom_objects: dict[str, Any]) -> Callable[[Any, str], Any]:
    """Returns a function that makes a compiled copy of a model in the default graph, for features and a mode."""
    make_optimizer = _optimizer_maker(model.optimizer)
    loss, metrics, loss_weights, weighted_metrics = (
        model.compile_arguments if model.optimizer is not None else [None] * 4
    )

    def copy_for(features: NestedTensors, mode: str) -> Any:
        state.set_learning_phase(mode == ModeKeys.TRAIN)
        with CustomObjectScope(custom_objects):
            copy = clone_model(model, _inputs(model, features))
        if model.optimizer is not None:
            copy.compile(
                make_optimizer(),
                loss,
                _copied(metrics),
                loss_weights=loss_weights,
                sample_weight_mode=model.sample_weight_mode,
                weighted_metrics=_copied(weighted_metrics),
            )
        return copy

    return copy_for


def spec_of(model: Model, labels: NestedTensors, mode: str, scaffold: Scaffold | None = None) -> EstimatorSpec:
    """Returns the operations of a model in a mode."""
    predictions = dict(zip(model.output_names, model.outputs, strict=True))
    if mode == ModeKeys.PREDICT:
        return EstimatorSpec(mode, predictions, scaffold=scaffold)
    targets, weights = _targets(model, labels), [None] * len(model.outputs)
    loss, _ = model.compiled_objectives.compute(model.outputs, targets, weights)
    if mode == ModeKeys.EVAL:
        model.compiled_objectives.measure(model.outputs, targets, weights)
        metrics = {metric.name: metric for _, metric, _ in model.compiled_objectives.metrics}
        return EstimatorSpec(mode, predictions, loss, eval_metric_ops=metrics, scaffold=scaffold)
    updates = [*model.get_updates_for(None), *model.get_updates_for(model.inputs)]
    minimized = loss if isinstance(model.optimizer, TFOptimizer) else scaled_loss(loss)  # a TFOptimizer does it
    updates += model.optimizer.get_updates(loss=minimized, params=model.trainable_weights)
    return EstimatorSpec(mode, predictions, loss, group(*updates), scaffold=scaffold)


def _optimizer_maker(optimizer: Any) -> Callable[[], Any]:
    """Returns a function that makes an optimizer like the given one, whose steps the global step counts."""
    if isinstance(optimizer, TFOptimizer):
        return lambda: TFOptimizer(optimizer.optimizer, get_global_step())
    config = None if optimizer is None else optimizer.get_config()

    def make() -> Any:
        copy = type(optimizer).from_config(config)
        copy.iterations = get_global_step()
        return copy

    return make


def _copied(metrics: object) -> Any:
    """Returns metrics, with copies of those that have variables."""
    if isinstance(metrics, Metric):
        return type(metrics).from_config(metrics.get_config())
    if isinstance(metrics, list | tuple):
        return [_copied(metric) for metric in metrics]
    return {key: _copied(metric) for key, metric in metrics.items()} if isinstance(metrics, dict) else metrics


def _by_name(values: object, names: list[str], what: str) -> list[Any]:
    """Returns the tensors for inputs or outputs, given alone, in their order or by name."""
    if isinstance(values, Mapping):
        missing = [name for name in names if name not in values]
        if missing:
            raise KeyError(f"the input_fn gives {what} {sorted(values)}, but the model expects {names}")
        return [values[name] for name in names]
    tensors = list(values) if isinstance(values, list | tuple) else [values]
    if len(tensors) != len(names):
        raise ValueError(f"the input_fn gives {len(tensors)} {what}, but the model expects {names}")
    return tensors


def _inputs(model: Model, features: NestedTensors) -> list[Any]:
    tensors = _by_name(features, model.input_names, "features")
    return [
        tensor if tensor.dtype == symbol.dtype else cast(tensor, symbol.dtype)
        for tensor, symbol in zip(tensors, model.inputs, strict=True)
    ]


def _targets(model: Model, labels: NestedTensors) -> list[Any]:
    """Returns the labels of each output, as `fit` would have them: with a last dimension of one."""
    tensors = _by_name(labels, model.output_names, "labels")
    return [
        expand_dims(label, -1) if label.shape.ndims == 1 and output.shape.ndims != 1 else label
        for label, output in zip(tensors, model.outputs, strict=True)
    ]

"""tf.contrib.learn.Estimator: an Estimator with `fit`, for model functions that return ModelFnOps or three values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.compat.contrib.learn.model_fn_ops import MetricSpec, ModelFnOps
from thalweg._src.estimator.calls import parameter_names
from thalweg._src.estimator.estimator import Estimator as CoreEstimator
from thalweg._src.estimator.extenders import add_metrics
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.training.data.dataset import Dataset

_BATCH = 128


@export("contrib.learn.Estimator")
class Estimator:
    """A model that a function builds, trained by `fit`.

    Args:
        model_fn: Function of features and labels, and of mode, params, config and model_dir if it takes them, that
            returns `ModelFnOps`, an `EstimatorSpec`, or predictions, loss and training operation.
        model_dir: Folder of checkpoints and summaries; by default that of the config, or a temporary one.
        config: A `RunConfig`; None takes the defaults.
        params: Parameters of the model, which its function receives.
        feature_engineering_fn: Function from features and labels to those that the model receives, or None.
    """

    model_dir = ReadOnly[str]("The folder of checkpoints and summaries.", "_core.model_dir")
    config = ReadOnly[RunConfig]("A copy of the RunConfig.", "_core.config")
    params = ReadOnly[Any]("A copy of the parameters of the model.", "_core.params")

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: PathLike | None = None,
        config: RunConfig | None = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        names = parameter_names(model_fn)

        def core_model_fn(features: Any, labels: Any, mode: str, params: Any, config: RunConfig) -> EstimatorSpec:
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            available = {"mode": mode, "params": params, "config": config, "model_dir": config.model_dir}
            returned = model_fn(features, labels, **{name: value for name, value in available.items() if name in names})
            return _spec(returned, mode)

        self._core = CoreEstimator(core_model_fn, model_dir, config, {} if params is None else params)

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
        max_steps: int | None = None,
    ) -> Estimator:
        """Trains the model on arrays or on an input function, and returns itself; `monitors` are hooks."""
        train_input_fn = _input(x, y, input_fn, batch_size, epochs=None)
        self._core.train(train_input_fn, monitors, steps, max_steps)
        return self

    def partial_fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = 1,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
    ) -> Estimator:
        """Trains the model for some more steps, by default for one."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        feed_fn: None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[str, MetricSpec] | None = None,
        name: str | None = None,
        checkpoint_path: PathLike | None = None,
        hooks: Sequence[Any] | None = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Returns the metrics of the model, and further ones that are given, by name."""
        if feed_fn is not None:
            raise ValueError("feed_fn: expected None; give arrays as x and y, or an input_fn")
        core = with_metrics(self._core, metrics)
        return core.evaluate(_input(x, y, input_fn, batch_size, 1), steps, hooks, checkpoint_path, name)

    def predict(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Returns an iterator over the predictions of examples, or of batches; without `as_iterable`, all as arrays."""
        predict_input_fn = _input(x, None, input_fn, batch_size, 1)
        predictions: Iterator[Any] = self._core.predict(
            predict_input_fn, outputs, yield_single_examples=not iterate_batches
        )
        if as_iterable:
            return predictions
        rows = list(predictions)
        joined = np.concatenate if iterate_batches else np.stack
        if rows and isinstance(rows[0], Mapping):
            return {key: joined([row[key] for row in rows]) for key in rows[0]}
        return joined(rows)

    def get_variable_names(self) -> list[str]:
        """Returns the names of the variables of the newest checkpoint."""
        return self._core.get_variable_names()

    def get_variable_value(self, name: str) -> Any:
        """Returns the value of a variable in the newest checkpoint."""
        return self._core.get_variable_value(name)

    def export_savedmodel(
        self,
        export_dir_base: PathLike,
        serving_input_fn: Callable[[], Any],
        default_output_alternative_key: str | None = None,
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
        checkpoint_path: PathLike | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Exports the model as a SavedModel in a new folder, and returns the path of that."""
        return self._core.export_savedmodel(
            export_dir_base, serving_input_fn, assets_extra, as_text, checkpoint_path, strip_default_attrs
        )


def _spec(returned: Any, mode: str) -> EstimatorSpec:
    """Returns what a model function returned as an EstimatorSpec."""
    if isinstance(returned, EstimatorSpec):
        return returned
    if isinstance(returned, ModelFnOps):
        return returned.estimator_spec()
    if isinstance(returned, tuple) and len(returned) == 3:
        return EstimatorSpec(mode, *returned)
    raise ValueError(
        "model_fn should return ModelFnOps, or a tuple of predictions, loss and training operation, "
        f"received {returned!r}"
    )


def _input(x: Any, y: Any, input_fn: Any, batch_size: int | None, epochs: int | None) -> Callable[..., Any]:
    """Returns an input function: the given one, or one over arrays."""
    if (x is None) == (input_fn is None):
        raise ValueError("give either arrays as x and y, or an input_fn")
    if input_fn is not None:
        if y is not None or batch_size is not None:
            raise ValueError("y and batch_size are for arrays: an input_fn returns labels and batches itself")
        return input_fn  # type: ignore[no-any-return]

    def read() -> Dataset:
        rows: Dataset = Dataset.from_tensor_slices(x if y is None else (x, y))
        if epochs is None:
            rows = rows.shuffle(max(1, len(next(iter(x.values())) if isinstance(x, Mapping) else x))).repeat()
        return rows.batch(batch_size or _BATCH)

    return read


def with_metrics(estimator: CoreEstimator, metrics: Mapping[str, MetricSpec] | None) -> CoreEstimator:
    """Returns an Estimator that also measures what MetricSpecs say."""
    if not metrics:
        return estimator

    def measure(features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
        return {name: spec.create_metric_ops(features, labels, predictions) for name, spec in metrics.items()}

    return add_metrics(estimator, measure)

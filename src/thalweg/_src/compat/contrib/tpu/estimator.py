"""TPUEstimator: an Estimator that gives the size of its batches to the functions of input and model."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.compat.contrib.tpu.config import RunConfig
from thalweg._src.compat.contrib.tpu.spec import TPUEstimatorSpec
from thalweg._src.estimator.calls import call_input_fn, call_model_fn, parameter_names
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import device
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.step_hooks import StepCounterHook

_BATCH_SIZE, _CONTEXT, _USE_TPU = "batch_size", "context", "use_tpu"


class _ExamplesPerSecondHook(StepCounterHook):
    """Reports the number of examples per second, in addition to that of steps."""

    def __init__(self, batch_size: int, every_n_steps: int, output_dir: str | None) -> None:
        super().__init__(every_n_steps, output_dir=output_dir)
        self._batch_size = batch_size

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        super()._log_and_record(elapsed_steps, elapsed_time, global_step)
        self._record_rate("examples/sec", elapsed_steps * self._batch_size, elapsed_time, global_step)


@export("contrib.tpu.TPUEstimator", "estimator.tpu.TPUEstimator")
class TPUEstimator(Estimator):
    """An Estimator for programs that were written for TPUs: with `use_tpu=False` it trains on the devices there are.

    Functions of input and model find the size of a batch as `params["batch_size"]`.

    Args:
        model_fn: Function of features, labels, mode, config and params that returns a `TPUEstimatorSpec`.
        model_dir: Folder of checkpoints and summaries; by default that of the config, or a temporary one.
        config: A `tf.contrib.tpu.RunConfig`, which is required.
        params: Parameters of the model, without "batch_size" and "context".
        use_tpu: Whether to train on TPUs, which there are none of: pass False.
        train_batch_size: Number of examples in a batch of training.
        eval_batch_size: Number of examples in a batch of evaluation.
        predict_batch_size: Number of examples in a batch of prediction.
        batch_axis: Accepted for compatibility; it has no effect.
        eval_on_tpu: Accepted for compatibility; it has no effect.
        export_to_tpu: Accepted for compatibility; exports have no graph for TPUs.
        export_to_cpu: Whether exports have a graph for CPUs, which must be True.
        warm_start_from: Checkpoint, SavedModel or `WarmStartSettings` from which variables start, or None.
        embedding_config_spec: Embeddings in the memory of TPUs, which must be None.
        export_saved_model_api_version: Accepted for compatibility; it has no effect.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: PathLike | None = None,
        config: RunConfig | None = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if not isinstance(config, RunConfig):
            raise ValueError(f"`config` must be provided with type `tf.contrib.tpu.RunConfig`, received {config!r}")
        reserved = [name for name in (_BATCH_SIZE, _CONTEXT) if name in (params or {})]
        if reserved:
            raise ValueError(f"{reserved} are reserved keys but existed in params {params}.")
        if use_tpu:
            raise ValueError(
                "use_tpu=True, but there are no TPUs among the devices: pass use_tpu=False, which trains the same "
                "model on the CPU or a GPU"
            )
        if embedding_config_spec is not None:
            raise ValueError("embedding_config_spec is for use_tpu=True alone; use feature columns or tf.nn instead")
        if not export_to_cpu:
            raise ValueError("export_to_cpu=False leaves nothing to export, since there is no graph for TPUs")
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        for name, size in self._batch_sizes.items():
            if size is not None and size <= 0:
                raise ValueError(f"{name}_batch_size: expected a positive integer, received {size!r}")
        self._graph_with_input: Callable[[], Graph | None] = lambda: None
        super().__init__(model_fn, model_dir, config, params, warm_start_from)  # type: ignore[arg-type]
        self._log_every_n_steps = self._config.log_step_count_steps
        self._config = self._config.replace(log_step_count_steps=None)  # the hook that counts examples takes its place
        _require_params(self._model_fn, "model_fn")

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str, **more: Any) -> Any:
        _require_params(input_fn, "input_fn")
        self._graph_with_input = weakref.ref(get_default_graph())
        with device("/cpu:0"):
            return call_input_fn(input_fn, mode, self._params_for(mode), self.config, **more)

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        is_export = self._graph_with_input() is not get_default_graph()
        params = self._params_for(None if is_export else mode)
        _set(params, _USE_TPU, False)
        returned = call_model_fn(
            self._model_fn, features, labels, mode, params, config, (EstimatorSpec, TPUEstimatorSpec)
        )
        spec: EstimatorSpec = returned.as_estimator_spec() if isinstance(returned, TPUEstimatorSpec) else returned
        size = self._batch_sizes[mode]
        if mode != ModeKeys.TRAIN or size is None or self._log_every_n_steps is None:
            return spec
        folder = self.model_dir if config is None or config.save_summary_steps else None
        hook = _ExamplesPerSecondHook(size, self._log_every_n_steps, folder)
        return spec._replace(training_hooks=(*spec.training_hooks, hook))

    def _params_for(self, mode: str | None) -> Any:
        """Returns a copy of the parameters with the size of batches in a mode; None is an export, which has none."""
        params = self.params
        if mode is not None and self._batch_sizes[mode] is not None:
            _set(params, _BATCH_SIZE, self._batch_sizes[mode])
        return params


def _require_params(function: Any, what: str) -> None:
    if "params" not in parameter_names(function):
        raise ValueError(
            f"{what} ({function}) does not include params argument, required by TPUEstimator to pass batch size as "
            "params['batch_size']"
        )


def _set(params: Any, name: str, value: Any) -> None:
    """Sets a parameter in a dictionary or in HParams."""
    if not hasattr(params, "add_hparam"):
        params[name] = value
    elif name in params:
        params.set_hparam(name, value)
    else:
        params.add_hparam(name, value)

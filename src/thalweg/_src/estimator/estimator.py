"""Estimator: trains, evaluates, runs and exports a model that a function builds in each mode."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.estimator import evaluation, prediction, saved_models, training
from thalweg._src.estimator.calls import call_input_fn, call_model_fn, check_hooks, check_model_fn
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.estimator.warm_starts import WarmStartSettings, settings_of
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import GraphKeys, device
from thalweg._src.training.checkpoint.reader import list_variables, load_checkpoint, load_variable
from thalweg._src.training.checkpoint.state import latest_checkpoint
from thalweg._src.training.checkpoint_hook import CheckpointSaverListener
from thalweg._src.training.device_setter import replica_device_setter
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.variables.global_step import assert_global_step, create_global_step
from thalweg._src.training.variables.variables import Variable


@export("estimator.Estimator")
class Estimator:
    """A model that a function builds, with its folder, its parameters and how it runs.

    Each method builds a graph of its own; the state between them is in the checkpoints of `model_dir`.

    Args:
        model_fn: Function of features, labels, mode, params and config that returns an `EstimatorSpec`.
        config: A `RunConfig`; None takes the defaults.
        params: Parameters of the model, which its function receives.
    """

    def __init__(
        self,
        model_fn: Callable[..., EstimatorSpec],
        model_dir: PathLike | None = None,
        config: RunConfig | None = None,
        params: Mapping[str, Any] | None = None,
        warm_start_from: WarmStartSettings | PathLike | None = None,
    ) -> None:
        self._require_own_members()
        self._config = _with_model_dir(config, model_dir)
        self._model_dir = str(self._config.model_dir)
        logging.info("Using config: %s", self._config)
        check_model_fn(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy({} if params is None else params)
        self._device_fn = self._config.device_fn or _device_setter(self._config)
        self._session_config = self._config.session_config or ConfigProto(allow_soft_placement=True)
        self._warm_start_settings = settings_of(warm_start_from)

    def _require_own_members(self) -> None:
        """Raises if a subclass replaces a method: a model is changed by its function alone."""
        mine = {name for name in vars(Estimator) if not name.startswith("_")} - {"model_fn"}
        for cls in type(self).__mro__[: type(self).__mro__.index(Estimator)]:
            replaced = sorted(mine & set(vars(cls)))
            if replaced:
                raise ValueError(f"Subclasses of Estimator cannot override members of Estimator. {cls}: {replaced}")

    # -- what it has --------------------------------------------------------------------------------------------------

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and summaries."""
        return self._model_dir

    @property
    def config(self) -> RunConfig:
        """A copy of the RunConfig."""
        return copy.deepcopy(self._config)

    @property
    def params(self) -> Any:
        """A copy of the parameters of the model."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function, as a function of features, labels, mode and config."""

        def public(features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public

    def latest_checkpoint(self) -> str | None:
        """Returns the path of the newest checkpoint; None before training."""
        return latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """Returns the names of the variables of the newest checkpoint."""
        self._require_checkpoint()
        return [name for name, _ in list_variables(self.model_dir)]

    def get_variable_value(self, name: str) -> Any:
        """Returns the value of a variable in the newest checkpoint."""
        self._require_checkpoint()
        return load_variable(self.model_dir, name)

    def eval_dir(self, name: str | None = None) -> str:
        """Returns the folder of the summaries of an evaluation."""
        return os.path.join(self._model_dir, "eval" if not name else f"eval_{name}")

    def _require_checkpoint(self) -> None:
        if self.latest_checkpoint() is None:
            raise ValueError(f"Could not find trained model in model_dir: {self._model_dir}")

    # -- what it does -------------------------------------------------------------------------------------------------

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Trains the model until a step, for a number of steps, or until the end of the input, and returns itself."""
        if self._config.task_type in ("evaluator", "ps"):
            raise ValueError(f"Train has been called wrong configuration: task type {self._config.task_type}")
        training.train(self, input_fn, check_hooks(hooks), steps, max_steps, saving_listeners)
        return self

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: PathLike | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Returns the metrics of the model over a number of batches, or until the end of the input, by name."""
        path = None if checkpoint_path is None else os.fspath(checkpoint_path)
        return evaluation.evaluate(self, input_fn, steps, check_hooks(hooks), path, name)

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: str | Sequence[str] | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: PathLike | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yields the predictions for each example, or for each batch."""
        path = None if checkpoint_path is None else os.fspath(checkpoint_path)
        keys = [predict_keys] if isinstance(predict_keys, str) else predict_keys
        return prediction.predict(self, input_fn, keys, check_hooks(hooks), path, yield_single_examples)

    def export_saved_model(
        self,
        export_dir_base: PathLike,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
        checkpoint_path: PathLike | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Exports the model in one mode as a SavedModel in a new folder, and returns the path of that."""
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        functions = {experimental_mode: serving_input_receiver_fn}
        return saved_models.export_all(self, export_dir_base, functions, assets_extra, as_text, checkpoint_path)

    def export_savedmodel(
        self,
        export_dir_base: PathLike,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
        checkpoint_path: PathLike | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Deprecated name of `export_saved_model`."""
        functions = {ModeKeys.PREDICT: serving_input_receiver_fn}
        return saved_models.export_all(
            self, export_dir_base, functions, assets_extra, as_text, checkpoint_path, strip_default_attrs
        )

    def experimental_export_all_saved_models(
        self,
        export_dir_base: PathLike,
        input_receiver_fn_map: Mapping[str, Callable[[], Any]],
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
        checkpoint_path: PathLike | None = None,
    ) -> bytes:
        """Exports the model in several modes as one SavedModel, and returns the path of its folder."""
        return saved_models.export_all(
            self, export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path
        )

    # -- calls of the user's functions --------------------------------------------------------------------------------

    def _call_model_fn(
        self, features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig
    ) -> EstimatorSpec:
        spec: EstimatorSpec = call_model_fn(self._model_fn, features, labels, mode, self.params, config)
        return spec

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str, **more: Any) -> Any:
        """Calls an input function with its operations on the CPU of this task."""
        with device("/cpu:0"):
            return call_input_fn(input_fn, mode, self.params, self.config, **more)

    def _create_and_assert_global_step(self, graph: Graph | None) -> Variable:
        step: Variable = create_global_step(graph)
        assert_global_step(step)
        return step

    def _saved_step(self, checkpoint_path: str | None) -> int:
        """Returns the global step of a checkpoint; 0 without one."""
        if checkpoint_path is None:
            return 0
        reader = load_checkpoint(checkpoint_path)
        return int(reader.get_tensor(GraphKeys.GLOBAL_STEP)) if reader.has_tensor(GraphKeys.GLOBAL_STEP) else 0


def _with_model_dir(config: RunConfig | None, model_dir: PathLike | None) -> RunConfig:
    """Returns a RunConfig with a folder: the given one, that of the config, or a temporary one."""
    if config is None:
        config = RunConfig()
        logging.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, received {config!r}")
    requested = None if model_dir is None else os.fspath(model_dir)
    if requested is not None and config.model_dir is not None and requested != os.fspath(config.model_dir):
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. "
            f"In constructor: {requested!r}, in `RunConfig`: {config.model_dir!r}"
        )
    folder = requested or config.model_dir
    if folder is None:
        folder = tempfile.mkdtemp()
        logging.warning("Using temporary folder as model directory: %s", folder)
    return config.replace(model_dir=os.fspath(folder))


def _device_setter(config: RunConfig) -> Callable[[Operation], str] | None:
    """Returns the device function of a task in a cluster with parameter servers."""
    return replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=f"/job:{config.task_type}/task:{config.task_id}",
        cluster=config.cluster_spec or None,
    )

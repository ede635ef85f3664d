"""EstimatorLike: what training, evaluation, prediction and export use of an Estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.formats.text import PathLike
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.estimator.warm_starts import WarmStartSettings
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.variables.variables import Variable


class EstimatorLike(Protocol):
    """A model function with its folder, its parameters and how it runs; subclasses override the private methods."""

    _config: RunConfig
    _device_fn: Callable[[Operation], str] | None
    _session_config: ConfigProto
    _warm_start_settings: WarmStartSettings | None

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and summaries."""

    @property
    def config(self) -> RunConfig:
        """A copy of the RunConfig."""

    def latest_checkpoint(self) -> str | None:
        """Returns the path of the newest checkpoint; None before training."""

    def eval_dir(self, name: str | None = None) -> str:
        """Returns the folder of the summaries of an evaluation."""

    def export_saved_model(
        self,
        export_dir_base: PathLike,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
        checkpoint_path: PathLike | None = None,
    ) -> bytes:
        """Exports the model for serving in a new folder, and returns the path of that."""

    def _call_model_fn(
        self, features: NestedTensors, labels: NestedTensors, mode: str, config: RunConfig
    ) -> EstimatorSpec:
        """Returns the operations of the model in a mode."""

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str, **more: Any) -> Any:
        """Returns what an input function returns, with its operations on the CPU of this task."""

    def _create_and_assert_global_step(self, graph: Graph | None) -> Variable:
        """Returns a new global step."""

    def _saved_step(self, checkpoint_path: str | None) -> int:
        """Returns the global step of a checkpoint; 0 without one."""

"""TrainableModel: what the loops, steps and callbacks of a training use of a compiled model."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from thalweg._src.graph.operation import Operation
from thalweg._src.keras.engine.batch import Batch
from thalweg._src.keras.engine.graph_map import GraphModel
from thalweg._src.keras.engine.objectives import Objectives
from thalweg._src.training.nn.rnn.sizes import NestedTensors


class Steps(Protocol):
    """How the steps of a model run."""

    def train(self, batch: Batch) -> list[Any]:
        """Trains on a batch; returns the loss and the metrics."""

    def test(self, batch: Batch) -> list[Any]:
        """Returns the loss and the metrics of a batch."""

    def predict(self, batch: Batch) -> list[Any]:
        """Returns the outputs for a batch."""


class TrainableModel(GraphModel, Protocol):
    """A compiled model.

    compile_arguments: the arguments of `compile`: loss, metrics, loss_weights, weighted_metrics
    compiled_objectives: the losses and the metrics of its outputs
    history: the callback that records the training
    """

    optimizer: Any
    sample_weight_mode: str | None
    compile_arguments: tuple[Any, Any, Any, Any]
    compiled_objectives: Objectives
    history: Any
    stop_training: bool

    @property
    def compiled_steps(self) -> Steps:
        """What trains, tests and predicts a batch."""

    @property
    def metrics_names(self) -> list[str]:
        """The names of what training and evaluation return."""

    @property
    def state_updates(self) -> list[Operation]:
        """The updates of layers that keep state between batches."""

    def compile(self, optimizer: Any = ..., **arguments: Any) -> None:
        """Sets what the training minimizes, how, and what it measures."""

    def get_updates_for(self, inputs: NestedTensors) -> list[Operation]:
        """Returns the updates that depend on the inputs; for None, those that depend on no input."""

    def outputs_for(self, inputs: list[Any], training: bool) -> list[Any]:
        """Returns the outputs for values of all inputs."""

    def trained_as_compiled(self) -> AbstractContextManager[None]:
        """Context manager: the layers that are trained are those that were when the model was compiled."""

    def reset_metrics(self) -> None:
        """Starts the metrics anew."""

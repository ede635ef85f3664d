"""Steps of a model in the replicas of a strategy: each takes a part of a batch, for the numbers of the whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine.batch import Batch, sizes_of, target_type, tensors_of
from thalweg._src.keras.engine.objectives import Replica
from thalweg._src.keras.engine.trainable_model import TrainableModel
from thalweg._src.runtime.eager.gradient_tape import GradientTape
from thalweg._src.runtime.function.function import function
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.distribute.values import PerReplica, local_values


class ReplicaBatch(NamedTuple):
    """The slice of a batch that a replica takes, and its share of the whole."""

    inputs: list[Any]
    targets: list[Any]
    weights: list[Any]
    share: Any


class ReplicaSteps:
    """What both kinds of steps have: how a batch is divided, and what a replica computes."""

    def __init__(self, model: TrainableModel, strategy: Strategy) -> None:
        self._model = model
        self._strategy = strategy
        self._count: int = strategy.num_replicas_in_sync

    def train(self, batch: Batch) -> list[Any]:
        return self._run("train", batch)

    def test(self, batch: Batch) -> list[Any]:
        return self._run("test", batch)

    def predict(self, batch: Batch) -> list[Any]:
        return self._run("predict", batch)

    def _run(self, what: str, batch: Batch) -> list[Any]:
        raise NotImplementedError

    def _split(self, batch: Batch) -> list[ReplicaBatch]:
        """Returns the slices of the replicas, whose sizes differ by one example at most."""
        bounds = [batch.size * number // self._count for number in range(self._count + 1)]
        batches = []
        for start, end in itertools.pairwise(bounds):
            inputs, targets, weights = (
                [None if value is None else value[start:end] for value in values]
                for values in (batch.inputs, batch.targets, batch.weights)
            )
            batches.append(ReplicaBatch(inputs, targets, weights, np.float32((end - start) / max(batch.size, 1))))
        return batches

    def _losses(self, batch: ReplicaBatch, outputs: list[Any]) -> list[Tensor]:
        """Returns the total loss and, of several outputs, their losses."""
        replica = Replica(batch.inputs, batch.share, self._count)
        total, losses = self._model.compiled_objectives.compute(outputs, batch.targets, batch.weights, replica)
        return [total, *(losses if len(outputs) > 1 else [])]

    def _measured(self, batch: ReplicaBatch, outputs: list[Any]) -> list[Tensor]:
        return self._model.compiled_objectives.measure(outputs, batch.targets, batch.weights)

    def _reduced(self, losses: Sequence[Any], metrics: Sequence[Any]) -> list[Any]:
        """Returns the sums of the shares of losses, and the metrics, which have added up already."""
        summed = [self._strategy.reduce("SUM", loss) for loss in losses]
        return [*summed, *(local_values(metric)[0] for metric in metrics)]


class SessionReplicaSteps(ReplicaSteps):
    """Steps that run in the session of Keras, with the parts of all replicas as feeds."""

    def __init__(self, model: TrainableModel, strategy: Strategy) -> None:
        super().__init__(model, strategy)
        self._functions: dict[Any, tuple[Any, Callable[..., Any]]] = {}  # with the session of each

    def _run(self, what: str, batch: Batch) -> list[Any]:
        batches = self._split(batch)
        key = what, *batch.has_values
        session, function = self._functions.get(key, (None, None))
        if function is None or session is not state._find_session():
            session, function = self._functions[key] = state._find_session(), self._make(what, batches)
        values = function(*(value for value in nest.flatten(batches) if value is not None))
        if what != "predict":
            return list(values)
        count = len(values) // self._count
        return [np.concatenate(values[index::count]) for index in range(count)]

    def _make(self, what: str, batches: list[ReplicaBatch]) -> Callable[..., Any]:
        fed = nest.map_structure(lambda value: None if value is None else _placeholder(value), batches)
        feeds = [tensor for tensor in nest.flatten(fed) if tensor is not None]
        with self._strategy.scope(), name_scope(what), self._model.trained_as_compiled():
            step = {"train": self._train_in_replica, "test": self._test_in_replica, "predict": self._predict_in_replica}
            fetches, updates = self._strategy.extended.call_for_each_replica(
                lambda *leaves: step[what](nest.pack_sequence_as(fed[0], leaves)), args=_per_replica(fed)
            )
            if what == "predict":
                results = [value for pair in zip(*map(local_values, fetches)) for value in pair]
            else:
                results = self._reduced(*fetches)
        operations = [operation for update in updates for operation in local_values(update)]
        run = state.get_session().make_callable([*results, group(*operations)], feeds)
        return lambda *values: run(*values)[: len(results)]

    def _train_in_replica(self, batch: ReplicaBatch) -> Any:
        model = self._model
        outputs = model.outputs_for(batch.inputs, True)
        losses = self._losses(batch, outputs)
        updates = [*model.get_updates_for(None), *model.get_updates_for(batch.inputs)]
        if model.trainable_weights:
            updates += model.optimizer.get_updates(loss=losses[0], params=model.trainable_weights)
        return (losses, self._measured(batch, outputs)), [group(*updates)]

    def _test_in_replica(self, batch: ReplicaBatch) -> Any:
        outputs = self._model.outputs_for(batch.inputs, False)
        return (self._losses(batch, outputs), self._measured(batch, outputs)), []

    def _predict_in_replica(self, batch: ReplicaBatch) -> Any:
        return self._model.outputs_for(batch.inputs, False), []


def _per_replica(batches: Sequence[ReplicaBatch]) -> tuple[PerReplica | None, ...]:
    """Returns the values of all replicas as arguments of what runs in each."""
    columns = zip(*map(nest.flatten, batches))
    return tuple(None if values[0] is None else PerReplica(values) for values in columns)


def _placeholder(value: np.ndarray[Any, Any]) -> Tensor:
    kind = dtypes.float32 if np.ndim(value) == 0 else target_type(value)
    return placeholder(kind, [None] * len(sizes_of(value)))


class EagerReplicaSteps(ReplicaSteps):
    """Steps that run eagerly, or as traced functions."""

    def __init__(self, model: TrainableModel, strategy: Strategy, traced: bool) -> None:
        super().__init__(model, strategy)
        steps: dict[str, Any] = {"train": self._train_all, "test": self._test_all, "predict": self._predict_all}
        self._steps = {name: function(step) if traced else step for name, step in steps.items()}

    def _run(self, what: str, batch: Batch) -> list[Any]:
        batches = []
        for batch_slice in self._split(batch):
            inputs, targets, weights = map(tensors_of, batch_slice[:3])
            batches.append(ReplicaBatch(inputs, targets, weights, convert_to_tensor(batch_slice.share)))
        with self._strategy.scope():  # around functions too, so that it creates the variables of optimizers
            values = self._steps[what](batches)
        if what != "predict":
            return [value.numpy() for value in values]
        return [np.concatenate([value.numpy() for value in outputs]) for outputs in zip(*values)]

    def _in_replicas(self, step: Callable[[ReplicaBatch], Any], batches: list[ReplicaBatch]) -> Any:
        return self._strategy.experimental_run_v2(
            lambda *leaves: step(nest.pack_sequence_as(batches[0], leaves)), args=_per_replica(batches)
        )

    def _train_all(self, batches: list[ReplicaBatch]) -> list[Any]:
        return self._reduced(*self._in_replicas(self._train_in_replica, batches))

    def _test_all(self, batches: list[ReplicaBatch]) -> list[Any]:
        return self._reduced(*self._in_replicas(self._test_in_replica, batches))

    def _predict_all(self, batches: list[ReplicaBatch]) -> Any:
        outputs = self._in_replicas(lambda batch: self._model.outputs_for(batch.inputs, False), batches)
        return [list(values) for values in zip(*map(local_values, outputs))]

    def _train_in_replica(self, batch: ReplicaBatch) -> Any:
        model = self._model
        with model.trained_as_compiled():
            with GradientTape() as tape:
                outputs = model.outputs_for(batch.inputs, True)
                losses = self._losses(batch, outputs)
            variables = model.trainable_weights
        if variables:
            grads = model.optimizer._clip_gradients(tape.gradient(losses[0], variables))
            model.optimizer.apply_gradients(zip(grads, variables))
        return losses, self._measured(batch, outputs)

    def _test_in_replica(self, batch: ReplicaBatch) -> Any:
        outputs = self._model.outputs_for(batch.inputs, False)
        return self._losses(batch, outputs), self._measured(batch, outputs)

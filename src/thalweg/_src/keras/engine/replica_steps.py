"""Steps of a model in the replicas of a strategy: each takes a part of a batch, for the numbers of the whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.graph import nest
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.scopes import name_scope
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine.objectives import Replica
from thalweg._src.keras.engine.steps import Batch, sizes_of, target_type, tensors_of
from thalweg._src.runtime.eager.gradient_tape import GradientTape
from thalweg._src.runtime.function.function import function
from thalweg._src.training.distribute.values import PerReplica, local_values

Part = tuple[list[Any], list[Any], list[Any], Any]  # inputs, targets, weights, the share of the whole batch


class ReplicaSteps:
    """What both kinds of steps have: how a batch is divided, and what a replica computes."""

    def __init__(self, model: Any, strategy: Any) -> None:
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

    def _parts(self, batch: Batch) -> list[Part]:
        """Returns the parts of the replicas, whose sizes differ by one example at most."""
        bounds = [batch.size * number // self._count for number in range(self._count + 1)]
        parts: list[Part] = []
        for start, end in itertools.pairwise(bounds):
            inputs, targets, weights = (
                [None if value is None else value[start:end] for value in values]
                for values in (batch.inputs, batch.targets, batch.weights)
            )
            parts.append((inputs, targets, weights, np.float32((end - start) / max(batch.size, 1))))
        return parts

    def _outputs(self, inputs: Sequence[Any], training: bool) -> list[Any]:
        model = self._model
        given = list(inputs) if len(inputs) > 1 or model._takes_list else inputs[0]
        return nest.flatten(model(given, training=training) if model._takes("training") else model(given))

    def _losses(self, part: Part, outputs: list[Any]) -> tuple[Any, list[Any]]:
        inputs, targets, weights, share = part
        total, parts = self._model._objectives.compute(outputs, targets, weights, Replica(inputs, share, self._count))
        return total, parts if len(outputs) > 1 else []

    def _reduced(self, losses: Any, metrics: Any) -> list[Any]:
        """Returns the sums of the shares of losses, and the metrics, which have added up already."""
        summed = [self._strategy.reduce("SUM", loss) for loss in losses]
        return [*summed, *(local_values(metric)[0] for metric in metrics)]


class SessionReplicaSteps(ReplicaSteps):
    """Steps that run in the session of Keras, with the parts of all replicas as feeds."""

    def __init__(self, model: Any, strategy: Any) -> None:
        super().__init__(model, strategy)
        self._made: dict[Any, tuple[Any, Callable[..., Any]]] = {}

    def _run(self, what: str, batch: Batch) -> list[Any]:
        parts = self._parts(batch)
        key = what, *(value is not None for value in (*batch.targets, None, *batch.weights))
        session = state._find_session()
        made = self._made.get(key)
        if made is None or made[0] is not session:
            made = self._made[key] = session, self._make(what, parts)
        found = made[1](*(value for value in nest.flatten(parts) if value is not None))
        if what != "predict":
            return list(found)
        each = len(found) // self._count
        return [np.concatenate(found[index::each]) for index in range(each)]

    def _make(self, what: str, parts: list[Part]) -> Callable[..., Any]:
        fed = nest.map_structure(lambda value: None if value is None else _placeholder(value), parts)
        feeds = [tensor for tensor in nest.flatten(fed) if tensor is not None]
        given = [PerReplica(values) if values[0] is not None else None for values in zip(*map(nest.flatten, fed))]
        with self._strategy.scope(), name_scope(what), self._model._as_compiled():
            step = {"train": self._train_in_replica, "test": self._test_in_replica, "predict": self._predict_in_replica}
            found = self._strategy.extended.call_for_each_replica(
                lambda *leaves: step[what](nest.pack_sequence_as(fed[0], leaves)), args=tuple(given)
            )
            fetches, updates = found
            if what == "predict":
                results = [value for pair in zip(*map(local_values, fetches)) for value in pair]
            else:
                results = self._reduced(*fetches)
        operations = [each for update in updates for each in local_values(update)]
        run = state.get_session().make_callable([*results, group(*operations)], feeds)
        return lambda *values: run(*values)[: len(results)]

    def _train_in_replica(self, part: Part) -> Any:
        model, inputs = self._model, part[0]
        outputs = self._outputs(inputs, True)
        total, parts = self._losses(part, outputs)
        updates = [*model.get_updates_for(None), *model.get_updates_for(inputs)]
        if model.trainable_weights:
            updates += model.optimizer.get_updates(loss=total, params=model.trainable_weights)
        return ([total, *parts], model._objectives.measure(outputs, part[1], part[2])), [group(*updates)]

    def _test_in_replica(self, part: Part) -> Any:
        outputs = self._outputs(part[0], False)
        total, parts = self._losses(part, outputs)
        return ([total, *parts], self._model._objectives.measure(outputs, part[1], part[2])), []

    def _predict_in_replica(self, part: Part) -> Any:
        return self._outputs(part[0], False), []


def _placeholder(value: Any) -> Any:
    kind = dtypes.float32 if np.ndim(value) == 0 else target_type(value)
    return placeholder(kind, [None] * len(sizes_of(value)))


class EagerReplicaSteps(ReplicaSteps):
    """Steps that run eagerly, or as traced functions."""

    def __init__(self, model: Any, strategy: Any, traced: bool) -> None:
        super().__init__(model, strategy)
        steps: dict[str, Any] = {"train": self._train_all, "test": self._test_all, "predict": self._predict_all}
        self._steps = {name: function(step) if traced else step for name, step in steps.items()}

    def _run(self, what: str, batch: Batch) -> list[Any]:
        parts = [(*map(tensors_of, part[:3]), tensors_of([part[3]])[0]) for part in self._parts(batch)]
        with self._strategy.scope():  # around functions too, so that it creates the variables of optimizers
            found = self._steps[what](parts)
        if what != "predict":
            return [value.numpy() for value in found]
        return [np.concatenate([value.numpy() for value in values]) for values in zip(*found)]

    def _in_replicas(self, step: Callable[[Part], Any], parts: list[Part]) -> Any:
        given = [PerReplica(values) if values[0] is not None else None for values in zip(*map(nest.flatten, parts))]
        return self._strategy.experimental_run_v2(
            lambda *leaves: step(nest.pack_sequence_as(parts[0], leaves)), args=tuple(given)
        )

    def _train_all(self, parts: list[Part]) -> list[Any]:
        return self._reduced(*self._in_replicas(self._train_in_replica, parts))

    def _test_all(self, parts: list[Part]) -> list[Any]:
        return self._reduced(*self._in_replicas(self._test_in_replica, parts))

    def _predict_all(self, parts: list[Part]) -> Any:
        found = self._in_replicas(lambda part: self._outputs(part[0], False), parts)
        return [list(values) for values in zip(*map(local_values, found))]

    def _train_in_replica(self, part: Part) -> Any:
        model = self._model
        with model._as_compiled():
            with GradientTape() as tape:
                outputs = self._outputs(part[0], True)
                total, parts = self._losses(part, outputs)
            variables = model.trainable_weights
        if variables:
            grads = model.optimizer._clip_gradients(tape.gradient(total, variables))
            model.optimizer.apply_gradients(zip(grads, variables))
        return [total, *parts], model._objectives.measure(outputs, part[1], part[2])

    def _test_in_replica(self, part: Part) -> Any:
        outputs = self._outputs(part[0], False)
        total, parts = self._losses(part, outputs)
        return [total, *parts], self._model._objectives.measure(outputs, part[1], part[2])

"""Steps of a model: training, testing and predicting a batch, in a session or in eager execution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend import state
from thalweg._src.runtime.eager.gradient_tape import GradientTape
from thalweg._src.runtime.function.function import function


@dataclass(slots=True)
class Batch:
    """Values of a batch: of the inputs, of the targets of outputs, and of the weights of examples; None for none."""

    inputs: list[Any]
    targets: list[Any] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of examples."""
        sizes = sizes_of(self.inputs[0]) if self.inputs else ()
        return int(sizes[0]) if sizes else 1


def sizes_of(value: Any) -> tuple[int, ...]:
    """Returns the shape of an array or an eager tensor, without a copy of its values."""
    shape = np.shape(value) if not hasattr(value, "shape") else value.shape
    return tuple(shape.as_list() if hasattr(shape, "as_list") else shape)


class Steps(Protocol):
    """How the steps of a model run."""

    def train(self, batch: Batch) -> list[Any]:
        """Trains on a batch; returns the loss and the metrics."""

    def test(self, batch: Batch) -> list[Any]:
        """Returns the loss and the metrics of a batch."""

    def predict(self, batch: Batch) -> list[Any]:
        """Returns the outputs for a batch."""


class SessionSteps:
    """Steps of a model whose graph runs in the session of Keras."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._made: dict[Any, tuple[Any, Callable[..., Any]]] = {}
        self._targets: dict[int, Tensor] = {}
        self._weights: dict[int, Tensor] = {}

    def train(self, batch: Batch) -> list[Any]:
        return self._run("train", batch, True)

    def test(self, batch: Batch) -> list[Any]:
        return self._run("test", batch, False)

    def predict(self, batch: Batch) -> list[Any]:
        return self._run("predict", batch, False)

    def _run(self, what: str, batch: Batch, training: bool) -> list[Any]:
        """Runs a step; it is made for the targets and weights that a batch has, and for one session."""
        key = what, *(value is not None for value in (*batch.targets, None, *batch.weights))
        session = state._find_session()
        made = self._made.get(key)
        if made is None or made[0] is not session:
            made = self._made[key] = session, self._make(what, batch)
        values = [value for value in (*batch.inputs, *batch.targets, *batch.weights) if value is not None]
        phase = state.symbolic_phase()
        return made[1](*values, *([] if phase is None else [training]))  # type: ignore[no-any-return]

    def _make(self, what: str, batch: Batch) -> Callable[..., Any]:
        model = self._model
        outputs, targets, weights = model.outputs, self._fed(batch.targets, True), self._fed(batch.weights, False)
        with name_scope(what), model._as_compiled():
            fetches, updates = list(outputs), list(model.state_updates)
            if what != "predict":
                total, parts = model._objectives.compute(outputs, targets, weights)
                metrics = model._objectives.measure(outputs, targets, weights)
                fetches = [total, *(parts if len(outputs) > 1 else []), *metrics]
            if what == "train":
                updates = [*model.get_updates_for(None), *model.get_updates_for(model.inputs)]
                if model.trainable_weights:
                    updates += model.optimizer.get_updates(loss=total, params=model.trainable_weights)
        feeds = [*model.inputs, *(each for each in (*targets, *weights) if each is not None)]
        phase = state.symbolic_phase()
        run = state.get_session().make_callable(
            [*fetches, group(*updates)], [*feeds, *([] if phase is None else [phase])]
        )
        return lambda *values: run(*values)[: len(fetches)]

    def _fed(self, values: Sequence[Any], are_targets: bool) -> list[Any]:
        """Returns a placeholder for each value, None for those that a batch has not."""
        known, made = (self._targets, self._weights)[not are_targets], []
        for index, value in enumerate(values):
            if value is not None and index not in known:
                name = self._model.output_names[index]
                suffix, kind = ("target", target_type(value)) if are_targets else ("sample_weights", dtypes.float32)
                known[index] = placeholder(kind, [None] * len(sizes_of(value)), name=f"{name}_{suffix}")
            made.append(None if value is None else known[index])
        return made


def target_type(value: Any) -> Any:
    """Returns the type of the placeholder for an array."""
    found = dtypes.as_dtype(np.asarray(value).dtype)
    return dtypes.float32 if found is dtypes.float64 else found


class EagerSteps:
    """Steps of a model that runs eagerly, or as traced functions.

    traced: whether they are functions
    """

    def __init__(self, model: Any, traced: bool) -> None:
        self._model = model
        steps: list[Any] = [self._train_on, self._test_on, self._outputs]
        self._train, self._test, self._predict = [function(step) for step in steps] if traced else steps

    def train(self, batch: Batch) -> list[Any]:
        return self._run(self._train, batch)

    def test(self, batch: Batch) -> list[Any]:
        return self._run(self._test, batch)

    def predict(self, batch: Batch) -> list[Any]:
        return [tensor.numpy() for tensor in self._predict(tensors_of(batch.inputs), False)]

    def _run(self, step: Callable[..., Any], batch: Batch) -> list[Any]:
        found = step(tensors_of(batch.inputs), tensors_of(batch.targets), tensors_of(batch.weights))
        return [value.numpy() for value in found]

    def _outputs(self, inputs: list[Any], training: bool) -> list[Any]:
        model = self._model
        given = inputs if len(inputs) > 1 or model._takes_list else inputs[0]
        return nest.flatten(model(given, training=training) if model._takes("training") else model(given))

    def _train_on(self, inputs: list[Any], targets: list[Any], weights: list[Any]) -> list[Any]:
        model = self._model
        with model._as_compiled():
            with GradientTape() as tape:
                outputs = self._outputs(inputs, True)
                total, parts = model._objectives.compute(outputs, targets, weights)
            variables = model.trainable_weights
        if variables:
            grads = model.optimizer._clip_gradients(tape.gradient(total, variables))
            model.optimizer.apply_gradients(zip(grads, variables))
        return self._values(total, parts, outputs, targets, weights)

    def _test_on(self, inputs: list[Any], targets: list[Any], weights: list[Any]) -> list[Any]:
        outputs = self._outputs(inputs, False)
        total, parts = self._model._objectives.compute(outputs, targets, weights)
        return self._values(total, parts, outputs, targets, weights)

    def _values(
        self, total: Any, parts: list[Any], outputs: list[Any], targets: list[Any], weights: list[Any]
    ) -> list[Any]:
        metrics = self._model._objectives.measure(outputs, targets, weights)
        return [total, *(parts if len(outputs) > 1 else []), *metrics]


def tensors_of(values: Sequence[Any]) -> list[Any]:
    """Returns arrays as tensors, None for None."""
    return [None if value is None else _tensor(value) for value in values]


def _tensor(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        value = value.astype(np.float32)
    return convert_to_tensor(value)

"""Steps of a model: training, testing and predicting a batch, in a session or in eager execution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine.batch import Batch, sizes_of, target_type, tensors_of
from thalweg._src.keras.engine.trainable_model import TrainableModel
from thalweg._src.runtime.eager.gradient_tape import GradientTape
from thalweg._src.runtime.function.function import function


class SessionSteps:
    """Steps of a model whose graph runs in the session of Keras."""

    def __init__(self, model: TrainableModel) -> None:
        self._model = model
        self._functions: dict[Any, tuple[Any, Callable[..., Any]]] = {}  # with the session of each
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
        key = what, *batch.has_values
        session, function = self._functions.get(key, (None, None))
        if function is None or session is not state._find_session():
            session, function = self._functions[key] = state._find_session(), self._make(what, batch)
        values = [value for value in (*batch.inputs, *batch.targets, *batch.weights) if value is not None]
        phase = state.symbolic_phase()
        return function(*values, *([] if phase is None else [training]))  # type: ignore[no-any-return]

    def _make(self, what: str, batch: Batch) -> Callable[..., Any]:
        model = self._model
        outputs = model.outputs
        targets, weights = self.placeholders_for(batch.targets, True), self.placeholders_for(batch.weights, False)
        with name_scope(what), model.trained_as_compiled():
            fetches, updates = list(outputs), list(model.state_updates)
            if what != "predict":
                total, losses = model.compiled_objectives.compute(outputs, targets, weights)
                metrics = model.compiled_objectives.measure(outputs, targets, weights)
                fetches = [total, *(losses if len(outputs) > 1 else []), *metrics]
            if what == "train":
                updates = [*model.get_updates_for(None), *model.get_updates_for(model.inputs)]
                if model.trainable_weights:
                    updates += model.optimizer.get_updates(loss=total, params=model.trainable_weights)
        feeds = [*model.inputs, *(tensor for tensor in (*targets, *weights) if tensor is not None)]
        phase = state.symbolic_phase()
        run = state.get_session().make_callable(
            [*fetches, group(*updates)], [*feeds, *([] if phase is None else [phase])]
        )
        return lambda *values: run(*values)[: len(fetches)]

    def placeholders_for(self, values: Sequence[TensorLike | None], are_targets: bool) -> list[Tensor | None]:
        """Returns a placeholder for each value, None for those that a batch has not."""
        placeholders = self._targets if are_targets else self._weights
        for index, value in enumerate(values):
            if value is not None and index not in placeholders:
                name = self._model.output_names[index]
                suffix, kind = ("target", target_type(value)) if are_targets else ("sample_weights", dtypes.float32)
                placeholders[index] = placeholder(kind, [None] * len(sizes_of(value)), name=f"{name}_{suffix}")
        return [None if value is None else placeholders[index] for index, value in enumerate(values)]


class EagerSteps:
    """Steps of a model that runs eagerly, or as traced functions.

    traced: whether they are functions
    """

    def __init__(self, model: TrainableModel, traced: bool) -> None:
        self._model = model
        steps: list[Any] = [self._train_on, self._test_on, self._predict_on]
        self._train, self._test, self._predict = [function(step) for step in steps] if traced else steps

    def train(self, batch: Batch) -> list[Any]:
        return self._run(self._train, batch)

    def test(self, batch: Batch) -> list[Any]:
        return self._run(self._test, batch)

    def predict(self, batch: Batch) -> list[Any]:
        return [tensor.numpy() for tensor in self._predict(tensors_of(batch.inputs))]

    def _run(self, step: Callable[..., Any], batch: Batch) -> list[Any]:
        values = step(tensors_of(batch.inputs), tensors_of(batch.targets), tensors_of(batch.weights))
        return [value.numpy() for value in values]

    def _train_on(self, inputs: list[Any], targets: list[Any], weights: list[Any]) -> list[Any]:
        model = self._model
        with model.trained_as_compiled():
            with GradientTape() as tape:
                outputs = model.outputs_for(inputs, True)
                total, losses = model.compiled_objectives.compute(outputs, targets, weights)
            variables = model.trainable_weights
        if variables:
            grads = model.optimizer._clip_gradients(tape.gradient(total, variables))
            model.optimizer.apply_gradients(zip(grads, variables))
        return self._values(total, losses, outputs, targets, weights)

    def _test_on(self, inputs: list[Any], targets: list[Any], weights: list[Any]) -> list[Any]:
        outputs = self._model.outputs_for(inputs, False)
        total, losses = self._model.compiled_objectives.compute(outputs, targets, weights)
        return self._values(total, losses, outputs, targets, weights)

    def _predict_on(self, inputs: list[Any]) -> list[Any]:
        return self._model.outputs_for(inputs, False)

    def _values(
        self, total: Tensor, losses: list[Tensor], outputs: list[Any], targets: list[Any], weights: list[Any]
    ) -> list[Any]:
        metrics = self._model.compiled_objectives.measure(outputs, targets, weights)
        return [total, *(losses if len(outputs) > 1 else []), *metrics]

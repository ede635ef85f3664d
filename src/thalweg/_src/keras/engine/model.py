"""Model: a network that `compile` gives a loss and an optimizer, and `fit` trains."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine import batches, loops
from thalweg._src.keras.engine.batch import Batch
from thalweg._src.keras.engine.batches import ArrayBatches, Batches, IteratedBatches
from thalweg._src.keras.engine.input_layer import Input
from thalweg._src.keras.engine.network import Network
from thalweg._src.keras.engine.objectives import Objectives
from thalweg._src.keras.engine.replica_steps import EagerReplicaSteps, SessionReplicaSteps
from thalweg._src.keras.engine.steps import EagerSteps, SessionSteps
from thalweg._src.keras.engine.tracking import Tracking
from thalweg._src.keras.engine.trainable_model import Steps
from thalweg._src.keras.losses import functions
from thalweg._src.keras.optimizers import lookup as optimizers
from thalweg._src.keras.utils.workers import QueueOptions
from thalweg._src.training.distribute.current import get_strategy, has_strategy
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.variables.distribution import current_mode

_BATCH = 32


@export("keras.Model", "keras.models.Model")
class Model(Network):
    """Layers from inputs to outputs, or a subclass with a `call` of its own, that can be trained.

    Args:
        inputs: Symbolic inputs; None for a subclass.
        outputs: Symbolic outputs; None for a subclass.
        name: Name of the model.
        **kwargs: `trainable`, `dtype`, `dynamic`.
    """

    def __init__(
        self, inputs: NestedTensors = None, outputs: NestedTensors = None, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(inputs, outputs, name, **kwargs)
        self.history: Any = None
        self.loss: Any = None
        self.compiled_objectives: Any = None
        self._compiled_steps: Steps | None = None
        self._run_eagerly: bool | None = None
        self._compiled_trainable: list[tuple[Tracking, bool]] = []
        self._strategy = get_strategy() if has_strategy() else None
        if self._strategy is not None:
            state.track_strategy(self._strategy)

    # -- compiling ----------------------------------------------------------------------------------------------------

    def compile(
        self,
        optimizer: object = "rmsprop",
        loss: object = None,
        metrics: object = None,
        loss_weights: object = None,
        sample_weight_mode: str | None = None,
        weighted_metrics: object = None,
        target_tensors: object = None,
        distribute: object = None,
        **kwargs: Any,
    ) -> None:
        """Sets what the training minimizes, how, and what it measures."""
        self._run_eagerly = kwargs.pop("run_eagerly", None)
        for key in kwargs:
            if key not in ("session", "options", "run_metadata", "feed_dict", "fetches", "cloning"):
                raise TypeError(f"Invalid keyword argument in `compile`: {key}")
        if target_tensors is not None or distribute is not None:
            raise ValueError(
                "compile: target_tensors and distribute cannot be given; pass targets to `fit`, and make and compile "
                "the model in `with strategy.scope():`"
            )
        self._require_scope(optimizer)
        self.optimizer = optimizers.get(optimizer)
        self.loss = loss or {}
        self.loss_weights = loss_weights
        self.sample_weight_mode = sample_weight_mode
        self.compile_arguments = (loss, metrics, loss_weights, weighted_metrics)
        self._compiled_trainable = self._trainable_state()
        self._compiled_steps = self.compiled_objectives = None
        if self.outputs is not None:
            self._prepare()

    def _require_scope(self, optimizer: object) -> None:
        """Raises unless the strategy in whose scope the model is compiled can train it."""
        if has_strategy() and self._strategy is not get_strategy():
            raise ValueError(
                "the model was made outside of the scope of the strategy that it is compiled in: make it, its "
                "optimizer and its metrics in `with strategy.scope():`"
            )
        clips = [name for name in ("clipnorm", "clipvalue") if getattr(optimizer, name, None) is not None]
        if clips and self._strategy is not None and self._strategy.num_replicas_in_sync > 1:
            raise ValueError(
                f"{clips[0]} limits the gradients of each replica, not their sum: it is not supported with a strategy"
            )

    def _prepare(self) -> None:
        """Makes the losses and metrics, once the outputs are known."""
        if self.compiled_objectives is None:
            is_inside = self._strategy is None or current_mode() is not None  # of a scope, or a replica
            with self._strategy.scope() if self._strategy is not None and not is_inside else contextlib.nullcontext():
                self.compiled_objectives = Objectives(self, *self.compile_arguments)
                self.compiled_objectives.prepare(self.outputs)

    @contextlib.contextmanager
    def trained_as_compiled(self) -> Iterator[None]:
        """Context manager: the layers that are trained are those that were when the model was compiled."""
        now = [(layer, layer._trainable) for layer, _ in self._compiled_trainable]
        try:
            for layer, is_trained in self._compiled_trainable:
                layer._trainable = is_trained
            yield
        finally:
            for layer, is_trained in now:
                layer._trainable = is_trained

    @property
    def run_eagerly(self) -> bool:
        """Whether steps run operation by operation, so that Python's debugger can stop in them."""
        if self.dynamic and self._run_eagerly is False:
            raise ValueError("A dynamic model runs eagerly: run_eagerly=False is not possible.")
        if self._run_eagerly and not executing_eagerly_outside_functions():
            raise ValueError("You can only set `run_eagerly` if eager execution is enabled.")
        return bool(self._run_eagerly or self.dynamic)

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self._run_eagerly = value
        self._compiled_steps = None

    @property
    def compiled_steps(self) -> Steps:
        """What trains, tests and predicts a batch."""
        if self._compiled_steps is None:
            is_eager, strategy = executing_eagerly_outside_functions(), self._strategy
            if strategy is not None and is_eager:
                self._compiled_steps = EagerReplicaSteps(self, strategy, not self.run_eagerly)
            elif strategy is not None:
                self._compiled_steps = SessionReplicaSteps(self, strategy)
            elif is_eager:
                self._compiled_steps = EagerSteps(self, not self.run_eagerly)
            else:
                self._compiled_steps = SessionSteps(self)
        return self._compiled_steps

    @property
    def metrics_names(self) -> list[str]:
        """The names of what training and evaluation return."""
        self._require_compiled()
        self._prepare()
        return list(self.compiled_objectives.names)

    def _require_compiled(self) -> None:
        if self.optimizer is None:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer, loss)`."
            )

    def reset_metrics(self) -> None:
        """Starts the metrics anew."""
        self.compiled_objectives.reset()

    # -- data ---------------------------------------------------------------------------------------------------------

    def _set_inputs(self, inputs: NestedTensors) -> None:
        """Makes the symbolic inputs and outputs of a subclass, from the first data that it gets."""
        flat = nest.flatten(inputs)
        arrays = [np.asarray(value) if not hasattr(value, "shape") else value for value in flat]
        symbols = [Input(tuple(array.shape[1:]), dtype=_input_type(array.dtype)) for array in arrays]
        with state.get_graph().as_default():
            is_list = isinstance(inputs, list | tuple) and len(flat) > 1
            outputs = self(nest.pack_sequence_as(inputs, symbols) if is_list else symbols[0])
        self.inputs, self.outputs = symbols, nest.flatten(outputs)
        self.input_names = [f"input_{index + 1}" for index in range(len(symbols))]
        self.output_names = [f"output_{index + 1}" for index in range(len(self.outputs))]

    def outputs_for(self, inputs: Sequence[Any], training: bool) -> list[Any]:
        """Returns the outputs for values of all inputs, both in the order of the model."""
        x = list(inputs) if len(inputs) > 1 else inputs[0]
        return nest.flatten(self(x, training=training) if self.takes_argument("training") else self(x))

    def _batch(
        self,
        x: NestedTensors,
        y: NestedTensors = None,
        sample_weight: NestedTensors = None,
        class_weight: dict[int, float] | None = None,
    ) -> Batch:
        """Returns the values of inputs, targets and weights in the order of the model."""
        if self.inputs is None:
            self._set_inputs(list(x) if isinstance(x, tuple) else x)
        shapes = [tensor.shape.as_list() if tensor.shape.ndims is not None else None for tensor in self.inputs]
        inputs = batches.standardized(x, self.input_names, shapes, "input")
        if self.optimizer is not None:
            self._prepare()
        if y is None:
            return Batch(inputs)
        targets = batches.standardized(
            y, self.output_names, [self._target_shape(i) for i in range(len(self.outputs))], "target"
        )
        weights = batches.standardized(sample_weight, self.output_names, [None] * len(self.outputs), "sample_weight")
        weights = [
            None if w is None else np.asarray(w, np.float32).reshape(np.asarray(w).shape[: self._weight_rank])
            for w in weights
        ]
        if class_weight:
            weights = [_product(w, batches.class_weights_of(t, class_weight)) for w, t in zip(weights, targets)]
        batch = Batch(inputs, targets, weights)
        batches.require_equal_sizes(batch)
        return batch

    @property
    def _weight_rank(self) -> int:
        return 2 if self.sample_weight_mode == "temporal" else 1

    def _target_shape(self, index: int) -> Any:
        """Returns the shape that the target of an output must have, None if its loss takes any."""
        loss = self.compiled_objectives.losses[index]
        shape = self.outputs[index].shape
        if loss is None or shape.ndims is None:
            return None
        computed_by = getattr(loss, "fn", None)
        if computed_by is functions.sparse_categorical_crossentropy:
            return [*shape.as_list()[:-1], 1]
        if computed_by is None or not getattr(computed_by, "__module__", "").startswith("thalweg."):
            return None
        return shape.as_list()

    def _batches(
        self,
        x: NestedTensors,
        y: NestedTensors,
        sample_weight: NestedTensors,
        batch_size: int | None,
        shuffle: bool | str,
        steps: int | None,
        class_weight: dict[int, float] | None = None,
        queue: QueueOptions | None = None,
    ) -> Batches:
        if batches.is_iterated(x):
            if y is not None:
                raise ValueError(
                    "`y` argument is not supported when data come batch by batch: they contain the targets"
                )
            return IteratedBatches(
                x, lambda element: self._element(element, class_weight), steps, queue=queue, shuffle=bool(shuffle)
            )
        batch = self._batch(x, y, sample_weight, class_weight)
        size = batch_size or (_BATCH if not steps else -(-batch.size // steps))
        return ArrayBatches(batch, size, shuffle)

    def _element(self, element: NestedTensors, class_weight: dict[int, float] | None) -> Batch:
        """Returns the batch of an element of a generator, a sequence or a dataset."""
        columns = element if isinstance(element, tuple) else (element,)
        if not 1 <= len(columns) <= 3:
            raise ValueError(
                "Output of generator should be a tuple `(x, y, sample_weight)` or `(x, y)`. Found: " + str(element)
            )
        x, y, weights = (*columns, None, None)[:3]
        return self._batch(x, y, weights, class_weight)

    # -- loops --------------------------------------------------------------------------------------------------------

    def fit(
        self,
        x: NestedTensors = None,
        y: NestedTensors = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Sequence[Any] | None = None,
        validation_split: float = 0.0,
        validation_data: NestedTensors = None,
        shuffle: bool | str = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: NestedTensors = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: int | Container[int] = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Trains the model, and returns the history of its loss and metrics."""
        epochs = kwargs.pop("nb_epoch", epochs)
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self._require_compiled()
        queue = QueueOptions(max_queue_size, workers, use_multiprocessing)
        validation: Batches | None = None
        if validation_split and not batches.is_iterated(x) and validation_data is None:
            whole = self._batch(x, y, sample_weight, class_weight)
            first, last = batches.split(whole, validation_split)
            source: Batches = ArrayBatches(first, batch_size or _BATCH, shuffle)
            validation = ArrayBatches(last, batch_size or _BATCH, False)
        else:
            source = self._batches(x, y, sample_weight, batch_size, shuffle, steps_per_epoch, class_weight, queue)
        if validation_data is not None:
            validation = self._validation_batches(validation_data, batch_size, validation_steps, queue)
        with contextlib.closing(source), contextlib.closing(validation or source):
            self._ensure_prepared(source)
            return loops.train(
                self, source, epochs, initial_epoch, verbose, list(callbacks or ()), validation, validation_freq
            )

    def _validation_batches(
        self, data: NestedTensors, batch_size: int | None, steps: int | None, queue: QueueOptions
    ) -> Batches:
        if batches.is_iterated(data):
            return IteratedBatches(data, lambda element: self._element(element, None), steps, True, queue)
        if not isinstance(data, list | tuple) or len(data) not in (2, 3):
            raise ValueError(
                "When passing a `validation_data` argument, it must contain 2 items (x_val, y_val) or 3 items (x_val, "
                f"y_val, val_sample_weights), received {len(data) if hasattr(data, '__len__') else data}"
            )
        return self._batches(data[0], data[1], data[2] if len(data) == 3 else None, batch_size, False, steps)

    def _ensure_prepared(self, source: Any) -> None:
        """Makes losses and metrics of a subclass that has seen no data: the first batch says what they are."""
        if self.outputs is None:
            self._element(source.peek(), None)

    def evaluate(
        self,
        x: NestedTensors = None,
        y: NestedTensors = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: NestedTensors = None,
        steps: int | None = None,
        callbacks: Sequence[Any] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Returns the loss, or the loss and the metrics, averaged over the data."""
        self._require_compiled()
        queue = QueueOptions(max_queue_size, workers, use_multiprocessing)
        with contextlib.closing(self._batches(x, y, sample_weight, batch_size, False, steps, queue=queue)) as source:
            self._ensure_prepared(source)
            return _single(loops.test(self, source, verbose, list(callbacks or ())))

    def predict(
        self,
        x: NestedTensors,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Sequence[Any] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Returns the outputs for all inputs."""
        queue = QueueOptions(max_queue_size, workers, use_multiprocessing)
        with contextlib.closing(self._batches(x, None, None, batch_size, False, steps, queue=queue)) as source:
            self._ensure_prepared(source)
            return _single(loops.predict(self, source, verbose, list(callbacks or ())))

    def train_on_batch(
        self,
        x: NestedTensors,
        y: NestedTensors = None,
        sample_weight: NestedTensors = None,
        class_weight: dict[int, float] | None = None,
        reset_metrics: bool = True,
    ) -> Any:
        """Trains on one batch, and returns its loss, or its loss and metrics."""
        self._require_compiled()
        batch = self._batch(x, y, sample_weight, class_weight)
        return self._one_batch(self.compiled_steps.train, batch, reset_metrics)

    def test_on_batch(
        self, x: NestedTensors, y: NestedTensors = None, sample_weight: NestedTensors = None, reset_metrics: bool = True
    ) -> Any:
        """Returns the loss of one batch, or its loss and metrics."""
        self._require_compiled()
        batch = self._batch(x, y, sample_weight)
        return self._one_batch(self.compiled_steps.test, batch, reset_metrics)

    def _one_batch(self, step: Callable[[Batch], list[Any]], batch: Batch, reset_metrics: bool) -> Any:
        """Runs a step; with `reset_metrics`, the metrics are those of this batch alone."""
        if reset_metrics:
            self.reset_metrics()
        values = step(batch)
        if reset_metrics:
            self.reset_metrics()
        return _single(values)

    def predict_on_batch(self, x: NestedTensors) -> Any:
        """Returns the outputs for one batch."""
        return _single(self.compiled_steps.predict(self._batch(x)))

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Sequence[Any] | None = None,
        validation_data: NestedTensors = None,
        validation_steps: int | None = None,
        validation_freq: int | Container[int] = 1,
        class_weight: dict[int, float] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> Any:
        """Trains on the batches of a generator or sequence."""
        return self.fit(
            generator,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
        )

    def evaluate_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Sequence[Any] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Returns the loss, or the loss and the metrics, averaged over the batches of a generator or sequence."""
        return self.evaluate(
            generator,
            verbose=verbose,
            steps=steps,
            callbacks=callbacks,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
        )

    def predict_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Sequence[Any] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Returns the outputs for the batches of a generator or sequence."""
        return self.predict(
            generator,
            verbose=verbose,
            steps=steps,
            callbacks=callbacks,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
        )


def _single(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _product(weight: np.ndarray[Any, Any] | None, factor: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return factor if weight is None else weight * factor


def _input_type(dtype: object) -> str:
    name = getattr(dtype, "name", str(dtype))
    return "float32" if name == "float64" else name

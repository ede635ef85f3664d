"""Batches: arrays, generators, sequences and datasets as batches of a model's inputs, targets and weights."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from thalweg._src.base import errors
from thalweg._src.graph import nest
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine.batch import Batch, sizes_of
from thalweg._src.keras.utils.data_utils import Sequence as BatchSequence
from thalweg._src.keras.utils.workers import QueueOptions, SequenceEnqueuer, batches_of
from thalweg._src.training.data.dataset import Dataset


class Batches(Protocol):
    """A source of batches.

    steps: the number of batches of an epoch, None if it is not known
    samples: the number of examples of an epoch, None if it is not known
    batch_size: the number of examples of a batch, None if batches come as they are
    """

    steps: int | None
    samples: int | None
    batch_size: int | None

    def epoch(self) -> Iterator[Batch]:
        """Yields the batches of an epoch."""

    def close(self) -> None:
        """Gives back what makes the batches."""


class ArrayBatches:
    """Batches of arrays in memory."""

    def __init__(self, whole: Batch, batch_size: int, shuffle: bool | str) -> None:
        self._whole = whole
        self.batch_size: int | None = batch_size
        self._size = batch_size
        self._shuffle = shuffle
        self.samples: int | None = whole.size
        self.steps: int | None = math.ceil(whole.size / batch_size)

    def epoch(self) -> Iterator[Batch]:
        count = self._whole.size
        order = np.arange(count)
        if self._shuffle == "batch":
            full = count - count % self._size
            blocks = order[:full].reshape(-1, self._size)
            np.random.shuffle(blocks)
            order = np.append(blocks.reshape(-1), order[full:])
        elif self._shuffle:
            np.random.shuffle(order)
        for start in range(0, count, self._size):
            rows = slice(start, start + self._size) if not self._shuffle else order[start : start + self._size]
            yield Batch(
                *(_take(values, rows) for values in (self._whole.inputs, self._whole.targets, self._whole.weights))
            )

    def close(self) -> None:
        """Does nothing: arrays need no workers."""


def _take(values: Sequence[Any], rows: slice | np.ndarray[Any, Any]) -> list[Any]:
    return [None if value is None else value[rows] for value in values]


class IteratedBatches:
    """Batches of a generator, a sequence, or a dataset; an epoch goes on where the last one ended.

    restarts: whether an epoch of a sequence or a dataset begins with its first element
    queue: the workers that make batches of a generator or a sequence before they are needed
    shuffle: whether a sequence is read in a random order
    """

    def __init__(
        self,
        source: Any,
        standardize: Any,
        steps: int | None,
        restarts: bool = False,
        queue: QueueOptions | None = None,
        shuffle: bool = False,
    ) -> None:
        self._source = source
        self._standardize = standardize
        self.steps = steps
        self.samples: int | None = None
        self.batch_size: int | None = None
        if isinstance(source, BatchSequence) and steps is None:
            self.steps = len(source)
        self._iterator: Iterator[Any] | None = None
        is_dataset = isinstance(source, Dataset)
        self._restarts = (is_dataset and steps is None) or (restarts and isinstance(source, Dataset | BatchSequence))
        self._queue = queue or QueueOptions(workers=0)
        self._shuffle = shuffle
        self._enqueuer: SequenceEnqueuer | None = None
        self._has_peeked = False

    def epoch(self) -> Iterator[Batch]:
        for number, element in enumerate(self._elements()):
            yield self._standardize(element)
            if self.steps is not None and number + 1 >= self.steps:
                break

    def peek(self) -> Any:
        """Returns the first element, with which the next epoch begins all the same."""
        elements = self._elements()
        first = next(elements)
        self._iterator = itertools.chain([first], elements)
        self._has_peeked = True
        return first

    def close(self) -> None:
        """Ends the workers."""
        if self._enqueuer is not None:
            self._enqueuer.stop()

    def _elements(self) -> Iterator[Any]:
        if self._iterator is None or (self._restarts and not self._has_peeked):
            self._iterator = self._read()
        self._has_peeked = False
        return self._iterator

    @functools.cached_property
    def _read(self) -> Callable[[], Iterator[Any]]:
        return _reader(self._source) if isinstance(self._source, Dataset) else self._queued

    def _queued(self) -> Iterator[Any]:
        self.close()
        self._enqueuer = self._queue.start(self._source, self._shuffle)
        if self._enqueuer is not None:
            return self._enqueuer.get()
        return batches_of(self._source) if isinstance(self._source, BatchSequence) else iter(self._source)


def _reader(dataset: Dataset) -> Callable[[], Iterator[Any]]:
    """Returns a function that yields the elements of a dataset, from the first one on.

    They are tensors in eager execution, otherwise arrays of the session of Keras.
    """
    if executing_eagerly_outside_functions():
        return lambda: iter(dataset)
    iterator = dataset.make_initializable_iterator()
    session = state.get_session()
    following = session.make_callable(nest.flatten(element := iterator.get_next()))

    def read() -> Iterator[Any]:
        session.run(iterator.initializer)
        while True:
            try:
                values = following()
            except errors.OutOfRangeError:
                return
            yield nest.pack_sequence_as(element, values)

    return read


def is_iterated(x: object) -> bool:
    """Returns whether data come batch by batch, and not as arrays."""
    return isinstance(x, BatchSequence | Dataset) or (hasattr(x, "__next__") and not isinstance(x, np.ndarray))


def standardized(data: object, names: Sequence[str], shapes: Sequence[Any], what: str) -> list[Any]:
    """Returns arrays in the order of names, each with the rank of its shape; raises ValueError if one does not fit."""
    if not names:
        if data is not None and (not hasattr(data, "__len__") or len(data)):
            raise ValueError(f"Error when checking model {what}: expected no data, but got: {data}")
        return []
    if data is None:
        return [None] * len(names)
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {list(names)}')
        arrays = [data[name] for name in names]
    elif isinstance(data, list | tuple) and (len(names) > 1 or (len(data) == 1 and np.ndim(data[0]) > 0)):
        arrays = list(data)
    else:
        arrays = [data]
    if len(arrays) != len(names):
        raise ValueError(
            f"Error when checking model {what}: the list of Numpy arrays that you are passing to your model is not the "
            f"size the model expected. Expected to see {len(names)} array(s), but instead got {len(arrays)} arrays."
        )
    return [_fitted(value, name, shape, what) for value, name, shape in zip(arrays, names, shapes)]


def _fitted(value: Any, name: str, shape: Sequence[int | None] | None, what: str) -> Any:
    if value is None:
        return None
    if not hasattr(value, "shape"):
        value = np.asarray(value)
    if len(sizes_of(value)) == 1 and (shape is None or len(shape) != 1):
        value = value[:, None]
    if shape is None:
        return value
    sizes = sizes_of(value)
    if len(sizes) != len(shape):
        raise ValueError(
            f"Error when checking {what}: expected {name} to have {len(shape)} dimensions, but got array with shape "
            f"{sizes}"
        )
    for size, expected in zip(sizes[1:], shape[1:]):
        if expected is not None and size is not None and int(size) != expected:
            raise ValueError(
                f"Error when checking {what}: expected {name} to have shape {tuple(shape[1:])} but got array with "
                f"shape {sizes[1:]}"
            )
    return value


def require_equal_sizes(batch: Batch) -> None:
    """Raises ValueError if inputs, targets and weights have different numbers of examples."""
    sizes = [
        sorted({sizes_of(v)[0] for v in column if v is not None})
        for column in (batch.inputs, batch.targets, batch.weights)
    ]
    for values, what in zip(sizes, ("Input", "Target", "Sample weight")):
        if len(values) > 1:
            raise ValueError(
                f"All {what.lower()} arrays should have the same number of samples. Got array sizes: {values}"
            )
    for values, what in zip(sizes[1:], ("target", "sample_weight")):
        if values and sizes[0] and values != sizes[0]:
            raise ValueError(
                f"Input arrays should have the same number of samples as {what} arrays. Found {sizes[0][0]} input "
                f"samples and {values[0]} {what} samples."
            )


def class_weights_of(targets: object, class_weight: dict[int, float]) -> Any:
    """Returns the weight of each example by its class: an integer, or the largest column."""
    classes = np.asarray(targets)
    classes = classes.argmax(axis=1) if classes.ndim == 2 and classes.shape[1] > 1 else classes.reshape(-1)
    unknown = sorted(set(classes.astype(int).tolist()) - set(class_weight))
    if unknown:
        raise ValueError(f"`class_weight` must contain all classes in the data. The classes {unknown} are missing.")
    return np.asarray([class_weight[int(label)] for label in classes], np.float32)


def split(batch: Batch, fraction: float) -> tuple[Batch, Batch]:
    """Returns the first part of arrays for training, and the last part, a fraction of them, for validation."""
    at = int(batch.size * (1.0 - fraction))
    columns = (batch.inputs, batch.targets, batch.weights)
    if at in (0, batch.size):
        raise ValueError(f"validation_split={fraction} leaves one of both parts of {batch.size} examples empty")
    return Batch(*(_take(p, slice(0, at)) for p in columns)), Batch(*(_take(p, slice(at, None)) for p in columns))

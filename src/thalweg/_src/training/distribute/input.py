"""Distributed input: iterators that give each replica its share of a batch, or an element of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg._src.base.devices import DeviceSpec
from thalweg._src.graph.nest import flatten, map_structure
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.distribute.cross_device_ops import placed_on
from thalweg._src.training.distribute.input_context import InputContext
from thalweg._src.training.distribute.values import regroup


@dataclass(frozen=True, slots=True)
class Shares:
    """The replicas of this process among all replicas, and where their input pipeline is.

    total: the number of all replicas
    first: the number of the first replica of this process
    local: the number of replicas of this process
    host: the device of the pipeline
    """

    total: int
    first: int
    local: int
    host: str


def host_of(place: str) -> str:
    """Returns the CPU of the task of a device."""
    spec = DeviceSpec.from_string(place)
    return DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task, device_type="CPU", device_index=0).to_string()


class DistributedIterator:
    """Base class of iterators whose `get_next` returns one value per replica."""

    def __init__(self, shares: Shares, initializer: Operation | None) -> None:
        self._shares = shares
        self._initializer = initializer

    @property
    def initializer(self) -> Operation:
        """The operation that starts at the first element."""
        if self._initializer is None:
            raise ValueError("a one-shot iterator has no initializer: it starts by itself")
        return self._initializer

    def initialize(self) -> Operation:
        """Returns the operation that starts at the first element."""
        return self.initializer

    def get_next(self, name: str | None = None) -> Any:
        """Returns the next input of each replica, as distributed values."""
        # One replica takes its input as it is: regrouping would make one-element distributed values of it.
        inputs = self._inputs(name)
        return inputs[0] if len(inputs) == 1 else regroup(inputs)

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        """Returns what `get_next` does: tensors of a graph, of which a session takes the values."""
        return self.get_next()

    next = __next__

    def _inputs(self, name: str | None) -> list[Any]:
        raise NotImplementedError


class _OfDataset(DistributedIterator):
    """An iterator over a dataset."""

    def __init__(self, shares: Shares, dataset: Dataset, one_shot: bool) -> None:
        with placed_on(shares.host):
            self._iterator = dataset.make_one_shot_iterator() if one_shot else dataset.make_initializable_iterator()
        super().__init__(shares, None if one_shot else self._iterator.initializer)

    output_types = property(lambda self: self._iterator.output_types, doc="The types of an element of the dataset.")
    output_shapes = property(lambda self: self._iterator.output_shapes, doc="The shapes of an element of the dataset.")
    output_classes = property(lambda self: self._iterator.output_classes, doc="The classes of an element.")


class SplitIterator(_OfDataset):
    """An iterator that splits each element of a dataset, a batch, evenly among all replicas."""

    def __init__(self, shares: Shares, dataset: Dataset, one_shot: bool = False) -> None:
        super().__init__(shares, _with_rows_for_all(dataset, shares.total), one_shot)

    def _inputs(self, name: str | None) -> list[Any]:
        shares = self._shares
        with placed_on(shares.host):
            batch = self._iterator.get_next(name)
            if shares.total == 1:
                return [batch]
            return [_share_of(batch, shares.first + index, shares.total) for index in range(shares.local)]


def _share_of(batch: object, index: int, total: int) -> Any:
    return map_structure(lambda whole: _rows(whole, index, total), batch)


def _rows(whole: Tensor, index: int, total: int) -> Tensor:
    """Returns the rows of one replica: as many for each, except for the last one of a batch that is too small."""
    batch_size = whole.get_shape()[0].value
    count: Any = (shape(whole)[0] + (total - 1)) // total if batch_size is None else -(-batch_size // total)
    return whole[index * count : (index + 1) * count]


def _with_rows_for_all(dataset: Dataset, total: int) -> Any:
    """Returns a dataset without the batches that are too small to give each replica a row."""
    if total == 1:
        return dataset
    for spec in flatten(dataset.output_classes):
        if spec is not Tensor:
            raise TypeError(
                f"a batch of {spec.__name__} cannot be split among replicas: use make_input_fn_iterator, whose "
                "elements are batches of one replica"
            )
    sizes = [dims[0].value if dims.ndims else 0 if dims.ndims == 0 else None for dims in _shapes_of(dataset)]
    for size in sizes:
        if size is not None and (size == 0 or size % total):
            raise ValueError(
                f"the elements of the dataset must be batches that can be split evenly among {total} replicas, "
                f"received a batch size of {size or 'a scalar'}"
            )
    if None not in sizes:
        return dataset

    def has_rows(*element: Any) -> Any:
        rows = shape(flatten(element)[0])[0]
        return (total - 1) * ((rows + (total - 1)) // total) < rows

    return dataset.filter(has_rows)


def _shapes_of(dataset: Dataset) -> list[Any]:
    return flatten(dataset.output_shapes)


class TurnIterator(_OfDataset):
    """An iterator whose replicas take elements in turn."""

    def __init__(self, shares: Shares, dataset: Dataset, one_shot: bool = False) -> None:
        super().__init__(shares, dataset, one_shot)

    def _inputs(self, name: str | None) -> list[Any]:
        elements: list[Any] = []
        with placed_on(self._shares.host):
            for _ in range(self._shares.local):
                # In their order: concurrent operations would take elements in any order.
                with control_dependencies([flatten(elements[-1])[0].op]) if elements else contextlib.nullcontext():
                    elements.append(self._iterator.get_next(name))
        return elements


class CallIterator(DistributedIterator):
    """An iterator whose replicas call a function that returns tensors."""

    def __init__(self, shares: Shares, function: Callable[[], Any]) -> None:
        super().__init__(shares, no_op())
        self._function = function

    def _inputs(self, name: str | None) -> list[Any]:
        with placed_on(self._shares.host):
            return [self._function() for _ in range(self._shares.local)]


class DistributedDataset:
    """A dataset whose iterators give each replica its input."""

    def __init__(self, shares: Shares, dataset: Dataset, kind: type[Any]) -> None:
        self._shares, self._dataset, self._kind = shares, dataset, kind

    def make_initializable_iterator(self) -> Any:
        """Returns an iterator whose initializer starts at the first element."""
        return self._kind(self._shares, self._dataset)

    def make_one_shot_iterator(self) -> Any:
        """Returns an iterator that needs no initializer and iterates over the dataset once."""
        return self._kind(self._shares, self._dataset, one_shot=True)


def dataset_of(function: Callable[[InputContext], Any], context: InputContext, shares: Shares) -> Any:
    """Returns what an input function returns for this process."""
    with placed_on(shares.host):
        return function(context)


def iterator_of_function(function: Callable[[InputContext], Any], context: InputContext, shares: Shares) -> Any:
    """Returns an iterator over what an input function returns: a dataset, or a function that returns tensors."""
    source = dataset_of(function, context, shares)
    if isinstance(source, Dataset):
        return TurnIterator(shares, source)
    if callable(source):
        return CallIterator(shares, source)
    raise ValueError(f"input_fn: expected it to return a dataset or a function, received {source!r}")

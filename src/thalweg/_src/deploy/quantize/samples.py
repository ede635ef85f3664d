"""Samples for calibration: batches of a dataset, as feeds of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from thalweg._src.base.errors import OutOfRangeError
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.graph import Graph
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.structure import map_leaves

Feeds = dict[str, Any]


def batches(dataset: Any, most: int | None = None) -> Iterator[Any]:
    """Yields the elements of a dataset as arrays; it may also be a function that returns one, or any iterable."""
    return islice(_elements(dataset), most)


def _elements(dataset: Any) -> Any:
    if callable(dataset) and not isinstance(dataset, Dataset):
        if executing_eagerly():
            return _elements(dataset())
        with Graph().as_default():
            return _elements(dataset())
    if isinstance(dataset, Dataset):
        return _in_eager_mode(dataset) if executing_eagerly() else _in_session(dataset)
    if isinstance(dataset, str | bytes | np.ndarray) or not isinstance(dataset, Iterable):
        raise TypeError(
            f"dataset: expected a tf.data.Dataset, a function that returns one, or an iterable of batches, "
            f"received {type(dataset).__name__}"
        )
    return dataset


def _in_eager_mode(dataset: Dataset) -> Iterator[Any]:
    for element in dataset:
        yield map_leaves(lambda tensor: tensor.numpy(), element)


def _in_session(dataset: Dataset) -> Iterator[Any]:
    graph = dataset._variant.graph
    with graph.as_default():
        iterator = dataset.make_initializable_iterator()
        following = iterator.get_next()
    with Session(graph=graph) as session:
        session.run(iterator.initializer)
        while True:
            try:
                yield session.run(following)
            except OutOfRangeError:
                return


def feeds_of(element: Any, inputs: Mapping[str, str]) -> tuple[Feeds, Any]:
    """Returns what an element feeds, by the names of tensors, and the labels in it: its second part, else None.

    An element is a dictionary by the names of inputs, an array if there is one input, or a pair of these and labels.
    """
    labels = None
    if isinstance(element, tuple | list) and len(element) in (1, 2):
        element, labels = element[0], element[1] if len(element) == 2 else None
    if isinstance(element, Mapping):
        missing = sorted(set(inputs) - set(element))
        if missing:
            raise ValueError(
                f"dataset: an element lacks the inputs {', '.join(missing)}; it has {', '.join(map(str, element))}"
            )
        return {name: element[key] for key, name in inputs.items()}, labels
    if len(inputs) != 1:
        raise ValueError(
            f"dataset: the model has the inputs {', '.join(inputs)}; expected elements that are dictionaries of them"
        )
    (name,) = inputs.values()
    return {name: np.asarray(element)}, labels

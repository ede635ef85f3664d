"""Input functions of arrays: numpy_input_fn and pandas_input_fn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.ops.py_func import py_func
from thalweg._src.graph.scopes import GraphKeys, add_to_collection
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.iterator import make_initializable_iterator


@export("estimator.inputs.numpy_input_fn")
def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """Returns an input function over the rows of arrays; `shuffle` must be given.

    Args:
        x: Array of the features, or arrays by name.
        y: Array of the labels, or arrays by name; None without labels.
        num_threads: Accepted for compatibility; it has no effect.
    """
    _require_bool(shuffle)

    def input_fn() -> Any:
        if isinstance(x, Mapping):
            if not x:
                raise ValueError("x cannot be an empty dict")
            features = {key: _array(f"x[{key!r}]", x[key]) for key in sorted(x)}
        elif isinstance(x, np.ndarray):
            features = {"": x}
        else:
            raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
        labels = _label_arrays(y)
        rows = _next_rows(features, labels, batch_size, num_epochs, bool(shuffle), queue_capacity)
        feature_tensors = dict(zip(features, rows))
        label_tensors = dict(zip(labels, rows[len(features) :]))
        taken = feature_tensors if isinstance(x, Mapping) else feature_tensors[""]
        if y is None:
            return taken
        return taken, label_tensors if isinstance(y, Mapping) else label_tensors[""]

    return input_fn


@export("estimator.inputs.pandas_input_fn")
def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """Returns an input function over the rows of a DataFrame, one feature for each column; `shuffle` must be given.

    Args:
        x: DataFrame of the features.
        y: Series or DataFrame of the labels, with the index of `x`; None without labels.
        num_threads: Accepted for compatibility; it has no effect.
        target_column: Name of the labels, which no column of `x` may have.
    """
    pandas = sys.modules.get("pandas")  # a program that has a DataFrame has imported it
    if pandas is None or not isinstance(x, pandas.DataFrame):
        raise TypeError(f"x must be a pandas DataFrame; got {type(x).__name__}")
    _require_bool(shuffle)
    if y is not None:
        if target_column in x:
            raise ValueError(
                f"Cannot use name {target_column} for target column: DataFrame already has a column with it"
            )
        if not np.array_equal(x.index, y.index):
            raise ValueError("Index for x and y are mismatched.")
    labels = y
    if y is not None:
        is_table = isinstance(y, pandas.DataFrame)
        labels = {column: np.asarray(y[column].values) for column in y} if is_table else np.asarray(y.values)
    features = {column: np.asarray(x[column].values) for column in x}  # strings are no NumPy array in pandas 3
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def _require_bool(shuffle: object) -> None:
    if not isinstance(shuffle, bool):
        raise ValueError(
            f"shuffle must be given, True for training and False for evaluation and prediction; received {shuffle!r}"
        )


def _array(what: str, value: object) -> np.ndarray[Any, Any]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{what} must be an array; got {type(value).__name__}")
    return value


def _label_arrays(y: Any) -> dict[Any, Any]:
    if y is None:
        return {}
    if isinstance(y, Mapping):
        if not y:
            raise ValueError("y cannot be empty dict, use None instead.")
        return {key: _array(f"y[{key!r}]", y[key]) for key in sorted(y)}
    return {"": _array("y", y)}


def _next_rows(
    features: dict[Any, Any], labels: dict[Any, Any], batch_size: int, epochs: int | None, shuffle: bool, capacity: int
) -> list[Any]:
    """Returns tensors with the next rows of all arrays; batches continue over the end of an epoch."""
    arrays = [*features.values(), *labels.values()]
    sizes = {len(array) for array in arrays}
    if len(sizes) > 1:
        lengths = {f"{key}": len(array) for key, array in [*features.items(), *labels.items()]}
        raise ValueError(f"Length of tensors in x and y is mismatched: {lengths}")
    types = [dtypes.string if array.dtype.kind in "OSU" else dtypes.as_dtype(array.dtype) for array in arrays]

    def rows(indices: np.ndarray[Any, Any]) -> list[Any]:
        return [array[indices] for array in arrays]

    def shaped(indices: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        tensors = py_func(rows, [indices], types, stateful=False)
        for tensor, array in zip(tensors, arrays):
            tensor.set_shape([None, *array.shape[1:]])
        return tuple(tensors)

    (size,) = sizes
    dataset = Dataset.range(size)
    if shuffle:
        dataset = dataset.shuffle(max(size, capacity))
    iterator = make_initializable_iterator(dataset.repeat(epochs).batch(batch_size).map(shaped))
    add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)  # which every session runs
    return list(iterator.get_next())

"""Feeds: values for tensors of the graph, checked and converted before the step starts."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import TensorShape, compatible
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.kernels.types import Value, from_numpy
from thalweg._src.runtime.session.fetches import COMPOSITES, Composite
from thalweg._src.runtime.session.session_tensors import TensorHandle

Convert = Callable[[Any], Value]


def is_composite(key: object) -> bool:
    """Returns whether a key of a feed_dict stands for several tensors: a tuple, a sparse tensor."""
    return isinstance(key, tuple) or _composite(key) is not None


def _composite(key: object) -> Composite | None:
    return next((composite for kind, composite in COMPOSITES.items() if isinstance(key, kind)), None)


def expand_feeds(feeds: Mapping[Any, Any]) -> dict[Any, Any]:
    """Returns feeds with composite keys expanded to their components."""
    result: dict[Any, Any] = {}
    for component, value in _pairs(feeds.items()):
        if component in result:
            raise ValueError(f"{component} is fed twice under different keys")
        result[component] = value
    return result


def _pairs(feeds: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    for key, value in feeds:
        composite = _composite(key)
        try:
            if isinstance(key, tuple):
                yield from _pairs(list(zip(key, value, strict=True)))
            elif composite is not None and composite.feed is not None:
                yield from composite.feed(key, value)
            else:
                yield key, value
        except (TypeError, ValueError) as error:
            raise type(error)(f"Cannot feed {_shorten(value)} for {_shorten(key)}: {error}") from None


def expand_keys(keys: Iterable[Any]) -> Iterator[Any]:
    """Yields keys with composite ones expanded to their components."""
    for key in keys:
        composite = _composite(key)
        if isinstance(key, tuple):
            yield from expand_keys(key)
        elif composite is None:
            yield key
        elif composite.feed_keys is None:
            raise ValueError(f"{type(key)} was registered without a feed function for partial runs")
        else:
            yield from composite.feed_keys(key)


def feed_tensor(graph: Graph, key: object) -> Tensor:
    """Returns the tensor that a key of a feed_dict denotes."""
    try:
        tensor = graph.as_graph_element(key, allow_operation=False)
    except (ValueError, KeyError, TypeError) as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed: the graph forbids it (prevent_feeding)")
    return tensor  # type: ignore[no-any-return]


def converter(tensor: Tensor) -> Convert:
    """Returns the function that converts a user's value for the tensor to a value of the step."""
    dtype, shape, name = tensor.dtype, tensor.dims, tensor.name
    if dtype is dtypes.resource:
        return _converter_of_handles
    np_dtype = np.dtype(dtype.as_numpy_dtype)
    plain = float if dtype.is_floating else None  # the Python type that needs no check

    def convert(value: Any) -> Value:
        kind = type(value)
        if kind is plain:
            value = np.array(value, np_dtype)
        elif kind is not np.ndarray:
            value = _from_python(value, np_dtype, dtype.is_integer, name)
        elif value.dtype != np_dtype or dtype is dtypes.string:  # whose objects may be text
            value = _as_array(value, np_dtype, name)
        if value.shape != shape and not compatible(shape, value.shape):
            raise ValueError(
                f"Cannot feed value of shape {value.shape} for Tensor {name!r}, which has shape '{TensorShape(shape)}'"
            )
        return from_numpy(value, dtype)

    return convert


def _converter_of_handles(value: object) -> Value:
    return value


def _from_python(value: object, np_dtype: np.dtype[Any], exact: bool, name: str) -> np.ndarray[Any, Any]:
    if isinstance(value, (Tensor, Operation)) or hasattr(value, "_as_graph_element"):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
            "strings, lists, numpy ndarrays, or TensorHandles. "
            f"{value} is part of a graph and has no value here to feed {name!r}."
        )
    if isinstance(value, TensorHandle) and np_dtype.kind != "O":
        value = value.eval()
    if exact and isinstance(value, numbers.Number):
        _require_exact(value, np_dtype, name)
    return _as_array(value, np_dtype, name)


def _as_array(value: object, np_dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # a torch tensor
        value = value.detach().cpu().numpy()
    try:
        array = np.asarray(value, dtype=np_dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error if not isinstance(error, OverflowError) else TypeError())(
            f"Cannot feed {_shorten(value)} for Tensor {name!r} of dtype {dtypes.as_dtype(np_dtype).name}: {error}"
        ) from None
    if array.dtype == object:
        return _as_bytes(array)
    return array


def _as_bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    flat = [item.encode() if isinstance(item, str) else item for item in array.ravel().tolist()]
    return object_array(flat, array.shape)


def _require_exact(value: object, np_dtype: np.dtype[Any], name: str) -> None:
    try:
        exact = not isinstance(value, complex) and np_dtype.type(value) == value
    except (OverflowError, ValueError):
        exact = False
    if not exact:
        raise TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {np_dtype.name}. "
            "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64): "
            f"the value fed to {name!r} would change."
        )


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

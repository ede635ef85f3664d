"""Elements of input pipelines: batching, padding and slicing of dense and sparse values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.ops.constants import as_array
from thalweg._src.runtime.kernels.types import TensorValue, from_numpy

Sparse = tuple[torch.Tensor, Any, torch.Tensor]


def number(value: int) -> torch.Tensor:
    """Returns an int64 scalar."""
    return torch.tensor(value)


def numbers(start: int, step: int, count: int) -> list[torch.Tensor]:
    """Returns evenly spaced int64 scalars."""
    return list((torch.arange(count) * step + start).unbind(0))


def text(value: bytes) -> Any:
    """Returns a string scalar."""
    result = np.empty((), dtype=object)
    result[()] = value
    return result


def from_python(value: object, dtype: DType) -> Any:
    """Converts the result of a user's function to a value of a type, with its own memory."""
    array = value if isinstance(value, np.ndarray) else as_array(value, dtype)[0]
    if dtypes.as_dtype(array.dtype) is not dtype:
        array = as_array(array, dtype)[0] if dtype is dtypes.string else array.astype(dtype.as_numpy_dtype)
    return from_numpy(np.array(array), dtype)


def _mismatch(what: str, index: int, values: Sequence[Any]) -> errors.InvalidArgumentError:
    first = tuple(values[0].shape)
    at = next(i for i, value in enumerate(values) if tuple(value.shape) != first)
    return invalid(
        f"Cannot {what} tensors with different shapes in component {index}. "
        f"First element had shape {list(first)} and element {at} had shape {list(values[at].shape)}."
    )


def stack(values: Sequence[Any], index: int = 0) -> Any:
    """Stacks values of one shape; index: the component of an element that they are."""
    if isinstance(values[0], torch.Tensor):
        try:
            return torch.stack(values)  # type: ignore[arg-type]
        except RuntimeError:
            if any(value.shape != values[0].shape for value in values):
                raise _mismatch("batch", index, values) from None
            raise
    if type(values[0]) is bytes:
        return object_array(values)
    shape = values[0].shape
    if any(value.shape != shape for value in values):
        raise _mismatch("batch", index, values)
    result = np.empty((len(values), *shape), dtype=object)
    if shape:
        for i, value in enumerate(values):
            result[i] = value
    else:
        result[:] = [value[()] for value in values]
    return result


def stack_padded(values: Sequence[Any], sizes: Sequence[int | None] | None, padding: Any, index: int) -> Any:
    """Stacks values of one rank, each padded to the given sizes, or to the largest where None is given."""
    rank = values[0].ndim if sizes is None else len(sizes)
    if any(value.ndim != rank for value in values):
        wrong = next(value.ndim for value in values if value.ndim != rank)
        raise invalid(
            f"All elements in a batch must have the same rank as the padded shape for component {index}: "
            f"expected rank {rank} got element with rank {wrong}"
        )
    largest = [max(value.shape[i] for value in values) for i in range(rank)]
    for i, size in enumerate(sizes or ()):
        if size is None or size < 0:
            continue
        if largest[i] > size:
            raise errors.DataLossError(
                None,
                None,
                f"Attempted to pad to a smaller size than the input element: "
                f"dimension {i} of component {index} has size {largest[i]}, padded_shapes requires {size}",
            )
        largest[i] = size
    shape = (len(values), *largest)
    if isinstance(values[0], np.ndarray):
        result: Any = np.full(shape, padding[()], dtype=object)
    elif all(list(value.shape) == largest for value in values):
        return torch.stack(list(values))
    else:
        result = padding.expand(shape).clone()
    for i, value in enumerate(values):
        result[(i, *map(slice, value.shape))] = value
    return result


def slices(value: TensorValue, start: int, stop: int) -> Sequence[Any]:
    """Returns the elements along the first dimension."""
    if isinstance(value, torch.Tensor):
        return value[start:stop].unbind(0)
    rows = value[start:stop]
    if rows.ndim > 1:
        return list(rows)
    return [text(item) for item in rows.tolist()]


def places(value: TensorValue, chosen: list[int]) -> Any:
    """Returns the elements at some indices of the first dimension, concatenated."""
    indices = np.array(chosen)
    return value.index_select(0, torch.from_numpy(indices)) if isinstance(value, torch.Tensor) else value[indices]


def decoded_rows(rows: np.ndarray[Any, Any], chosen: list[int], dtype: DType) -> torch.Tensor:
    """Decodes rows of bytes to rows of numbers; raises if a row is not a multiple of the type's size."""
    return torch.from_numpy(rows.take(chosen, 0).view(dtype.as_numpy_dtype))


# -- sparse -----------------------------------------------------------------------------------------------------------


def _take(values: TensorValue, chosen: torch.Tensor) -> Any:
    return values[chosen] if isinstance(values, torch.Tensor) else values[chosen.numpy()]


def stack_sparse(elements: Sequence[Sparse], index: int = 0) -> Sparse:
    """Stacks sparse values of one rank along a new first dimension."""
    if any(element[2].shape != elements[0][2].shape for element in elements):
        raise invalid(f"sparse elements of different rank cannot be batched in component {index}")
    indices = []
    for row, (indices_of_row, _, _) in enumerate(elements):
        indices.append(torch.cat([torch.full((indices_of_row.shape[0], 1), row, dtype=torch.int64), indices_of_row], 1))
    values = [element[1] for element in elements]
    joined = torch.cat(values) if isinstance(values[0], torch.Tensor) else np.concatenate(values)
    largest = torch.stack([element[2] for element in elements]).amax(0)
    return torch.cat(indices), joined, torch.cat([torch.tensor([len(elements)]), largest])


def slice_sparse(sparse: Sparse, row: int) -> Sparse:
    """Returns the sparse value at one index of the first dimension."""
    indices, values, shape = sparse
    chosen = torch.nonzero(indices[:, 0] == row).reshape(-1)
    return indices[chosen, 1:], _take(values, chosen), shape[1:]


def sparse_row(value: TensorValue, shape: Sequence[int]) -> Sparse:
    """Returns a dense value as a sparse one of a larger shape, with all of its elements."""
    if value.ndim != len(shape) or any(size > most for size, most in zip(value.shape, shape)):
        raise errors.DataLossError(
            None, None, f"an element of shape {list(value.shape)} does not fit into row_shape {list(shape)}"
        )
    indices = torch.ones(list(value.shape), dtype=torch.bool).nonzero()
    return indices, value.ravel(), torch.tensor(list(shape), dtype=torch.int64)

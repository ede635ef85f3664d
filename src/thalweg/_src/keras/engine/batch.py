"""Batch: the values of one step of a model, as arrays and as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


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

    @property
    def has_values(self) -> tuple[bool, ...]:
        """Which targets and which weights there are: batches that are equal in this can share a step."""
        return tuple(value is not None for value in (*self.targets, None, *self.weights))


def sizes_of(value: Any) -> tuple[int, ...]:
    """Returns the shape of an array or an eager tensor, without a copy of its values."""
    shape = value.shape if hasattr(value, "shape") else np.shape(value)
    return tuple(shape.as_list() if hasattr(shape, "as_list") else shape)


def target_type(value: TensorLike) -> DType:
    """Returns the type of the placeholder for an array."""
    dtype = dtypes.as_dtype(np.asarray(value).dtype)
    return dtypes.float32 if dtype is dtypes.float64 else dtype


def tensors_of(values: Sequence[TensorLike | None]) -> list[Tensor | None]:
    """Returns arrays as tensors, None for None."""
    return [None if value is None else _tensor(value) for value in values]


def _tensor(value: TensorLike) -> Tensor:
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        value = value.astype(np.float32)
    return convert_to_tensor(value)

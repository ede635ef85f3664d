"""IndexedSlices: a sparse tensor of whole rows, such as the gradient of an embedding lookup."""

from __future__ import annotations

from typing import Any, NamedTuple

from thalweg._src.dtypes import DType
from thalweg._src.export import export
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.infer import as_static_shape
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.shapes import TensorShape


@export("IndexedSlices")
class IndexedSlices:
    """Rows `values[i]` at `indices[i]`; rows with equal indices are summed."""

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        """The slices."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The indices of the slices along the first dimension."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole tensor, or None."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor."""
        if self._dense_shape is None:
            return TensorShape(None)
        return TensorShape(as_static_shape(self._dense_shape))

    def get_shape(self) -> TensorShape:
        """Returns the static shape of the whole tensor."""
        return self.shape

    @property
    def name(self) -> str:
        """The name of the values."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device of the values."""
        return self._values.device

    @property
    def op(self) -> Operation:
        """The operation of the values."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph of the values."""
        return self._values.graph

    def __neg__(self) -> IndexedSlices:
        values: Any = self._values
        return IndexedSlices(-values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        dense = f", dense_shape={self._dense_shape}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices}, values={self._values}{dense})"


@export("IndexedSlicesValue")
class IndexedSlicesValue(NamedTuple):
    """The value of IndexedSlices that a session fetched."""

    values: Any
    indices: Any
    dense_shape: Any

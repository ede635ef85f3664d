"""IndexedSlices: a sparse tensor of whole rows, such as the gradient of an embedding lookup."""

from __future__ import annotations

from typing import Any, NamedTuple

from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.infer import as_static_shape
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor


@export("IndexedSlices")
class IndexedSlices:
    """Rows `values[i]` at `indices[i]`; rows with equal indices are summed.

    Args:
        values: The slices.
        indices: Position of each slice in the dense tensor.
        dense_shape: Shape of the dense tensor, if it is known.
    """

    values = ReadOnly[Tensor]("The slices.")
    indices = ReadOnly[Tensor]("The indices of the slices along the first dimension.")
    dense_shape = ReadOnly[Tensor | None]("The shape of the whole tensor, or None.")
    name = ReadOnly[str]("The name of the values.", "_values.name")
    device = ReadOnly[str]("The device of the values.", "_values.device")
    op = ReadOnly[Operation]("The operation of the values.", "_values.op")
    dtype = ReadOnly[DType]("The element type.", "_values.dtype")
    graph = ReadOnly[Graph]("The graph of the values.", "_values.graph")

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor."""
        # A gradient of rows knows its own shape only if the lookup that it comes from has passed that of its table.
        if self._dense_shape is None:
            return TensorShape(None)
        return TensorShape(as_static_shape(self._dense_shape))

    def get_shape(self) -> TensorShape:
        """Returns the static shape of the whole tensor."""
        return self.shape

    def consumers(self) -> list[Operation]:
        """Returns the operations that use the values."""
        return self._values.consumers()

    def __neg__(self) -> IndexedSlices:
        values: Any = self._values
        return IndexedSlices(-values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        dense = f", dense_shape={self._dense_shape!s}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{dense})"


@export("IndexedSlicesValue")
class IndexedSlicesValue(NamedTuple):
    """The value of IndexedSlices that a session fetched.

    Args:
        values: The slices.
        indices: Position of each slice in the dense tensor.
        dense_shape: Shape of the dense tensor, if it is known.
    """

    values: Any
    indices: Any
    dense_shape: Any

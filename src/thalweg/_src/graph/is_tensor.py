"""`is_tensor`: whether a value is a tensor of any kind."""

from __future__ import annotations

from thalweg._src.base.export import export
from thalweg._src.graph.dispatch import is_dispatched
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: object) -> bool:
    """Returns whether a value is a tensor, a variable, IndexedSlices, or a sparse or ragged tensor.

    Args:
        x: The value to test.
    """
    is_graph_element = isinstance(x, Tensor | IndexedSlices | SparseTensor) or hasattr(x, "_as_graph_element")
    return is_graph_element or is_dispatched(x)

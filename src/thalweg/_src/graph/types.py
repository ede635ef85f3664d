"""The type of values that public functions convert to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.tensor import Tensor


class GraphElement(Protocol):
    """An object that represents a tensor, such as a variable."""

    def _as_graph_element(self) -> Any: ...


TensorLike: TypeAlias = (
    "Tensor | GraphElement | IndexedSlices | np.ndarray[Any, Any] | np.generic"
    " | bool | int | float | complex | str | bytes | Sequence[TensorLike]"
)

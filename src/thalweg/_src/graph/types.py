"""Types that public functions accept: values convertible to tensors, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from thalweg._src.dtypes import DType
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.tensor import Tensor
from thalweg._src.shapes import Dimension, TensorShape


class GraphElement(Protocol):
    """An object that represents a tensor, such as a variable."""

    def _as_graph_element(self) -> Any: ...


TensorLike: TypeAlias = (
    "Tensor | GraphElement | IndexedSlices | np.ndarray[Any, Any] | np.generic"
    " | bool | int | float | complex | str | bytes | Sequence[TensorLike]"
)
ShapeLike: TypeAlias = TensorShape | Sequence[int | Dimension | None] | int | None
DTypeLike: TypeAlias = DType | np.dtype[Any] | type | str | int

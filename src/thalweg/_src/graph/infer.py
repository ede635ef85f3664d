"""Shape inference: the static information that shape functions use.

The same functions check shapes twice: during graph construction, with the static shapes, and after a kernel has failed,
with the actual shapes, so that both errors have the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.op_def import OpDef

_DEPTH = 60
_SIZE = 1 << 12
_LARGE = 1 << 20  # elements of an input that is data, from which no shape follows


class Inference:
    """The static information about one operation's inputs: shapes, dtypes, and values that follow from the graph."""

    __slots__ = ("attrs", "definition", "num_outputs", "shapes", "sources")

    def __init__(self, definition: OpDef, attrs: dict[str, Any], sources: Sequence[Any], num_outputs: int = 1) -> None:
        self.definition = definition
        self.attrs = attrs
        self.sources = sources
        self.shapes: list[Shape] = [source.dims for source in sources]
        self.num_outputs = num_outputs

    @property
    def dtypes(self) -> list[DType]:
        return [source.dtype.base_dtype for source in self.sources]

    def partial(self, index: int) -> np.ndarray[Any, Any] | None:
        """Returns the value of an input as an array of objects, None where an element is unknown."""
        return static_value(self.sources[index])

    def value(self, index: int) -> np.ndarray[Any, Any] | None:
        """Returns the value of an input if it is fully known statically."""
        return complete(static_value(self.sources[index]))

    def shape_value(self, index: int) -> Shape:
        """Returns the (partially known) shape that an input's value describes."""
        return as_static_shape(self.sources[index])


class WithoutValues(Inference):
    """Inference from shapes and dtypes alone, since the values in a branch that is never taken may be inconsistent."""

    __slots__ = ()

    def partial(self, index: int) -> np.ndarray[Any, Any] | None:
        return None

    def value(self, index: int) -> np.ndarray[Any, Any] | None:
        return None

    def shape_value(self, index: int) -> Shape:
        return _unknown_sizes(self.shapes[index])


def static_value(tensor: Any, depth: int = _DEPTH) -> np.ndarray[Any, Any] | None:
    """Returns the statically known value of a tensor (constant folding); unknown elements are None."""
    # The answer stays with the tensor: without that, a shape computation that fans out and joins again would be
    # evaluated once per path. False means not computed yet, None means unknown. The depth bounds the recursion; what is
    # deeper counts as unknown, which is always safe, since static values only sharpen shapes.
    cached = tensor.static_value
    if cached is not False:
        return cached  # type: ignore[no-any-return]
    operation = tensor.op
    evaluate = operation.definition.evaluate
    result = None
    if evaluate is not None and depth > 0 and (not operation.inputs or _is_small(tensor.dims)):
        # An op may tell its value without those of its inputs: Shape from the static shape, for one.
        values = [static_value(source, depth - 1) for source in operation.inputs]
        if all(value is None or value.size <= _LARGE for value in values):
            context = Inference(operation.definition, operation.attrs, operation.inputs)
            try:
                result = evaluate(context)
            except (TypeError, ValueError, IndexError, ArithmeticError, MemoryError):
                result = None  # an element is unknown, or the kernel will report the error
    tensor.static_value = result
    return result


def _is_small(shape: Shape) -> bool:
    """Returns whether a value is small enough to be a shape or an index rather than data."""
    return shape is None or None in shape or prod(shape) <= _SIZE  # type: ignore[arg-type]


def complete(value: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any] | None:
    """Returns the array with its natural dtype if no element is unknown."""
    if value is None or value.dtype != object:
        return value
    flat = value.ravel().tolist()
    if any(element is None or isinstance(element, bytes) for element in flat):
        return None if any(element is None for element in flat) else value
    return value.astype(np.int64) if all(isinstance(e, int | np.integer) for e in flat) else np.array(value.tolist())


def as_static_shape(tensor: Any) -> Shape:
    """Returns the shape that an integer vector describes: unknown elements and -1 are unknown dimensions."""
    value = static_value(tensor)
    if value is not None and value.ndim == 1:
        return tuple(None if e is None or e < 0 else int(e) for e in value.tolist())
    return _unknown_sizes(tensor.dims)


def _unknown_sizes(shape: Shape) -> Shape:
    """Returns the shape described by a vector of which at most the length is known."""
    return (None,) * shape[0] if shape is not None and len(shape) == 1 and shape[0] is not None else None

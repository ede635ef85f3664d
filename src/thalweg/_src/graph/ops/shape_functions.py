"""Shared shape functions, and the checks and error texts of shape inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.errors import ShapeError
from thalweg._src.base.shapes import Shape, broadcast, merge
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import Infer


def unchanged(c: Inference) -> Sequence[Shape]:
    """Returns the shape of the first input."""
    return c.shapes[:1]


def scalar(c: Inference) -> Sequence[Shape]:
    return [()]


def no_outputs(c: Inference) -> Sequence[Shape]:
    return []


def broadcast_inputs(c: Inference) -> Sequence[Shape]:
    """Returns the shape that the first two inputs broadcast to."""
    a, b = c.shapes
    if a == b:
        return [a]
    return [broadcast(a, b)]


def merged_inputs(c: Inference) -> Sequence[Shape]:
    """Returns the one shape of all inputs, which must agree."""
    result: Shape = None
    for shape in c.shapes:
        result = merge(result, shape)
    return [result]


def from_shape_attr(c: Inference) -> Sequence[Shape]:
    return [c.attrs["shape"]]


def with_rank(c: Inference, index: int, rank: int) -> Shape:
    """Returns an input's shape, which must have this rank; unknown dimensions if its rank is unknown."""
    shape = c.shapes[index]
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        raise ShapeError(
            f"Shape must be rank {rank} but is rank {len(shape)}",
            expected=f"{c.definition.inputs[index].name} of rank {rank}",
        )
    return shape


def at_least_rank(c: Inference, index: int, rank: int) -> Shape:
    shape = c.shapes[index]
    if shape is not None and len(shape) < rank:
        name = c.definition.inputs[index].name
        what = f"Shape must be at least rank {rank} but is rank {len(shape)}"
        raise ShapeError(what, expected=f"{name} of rank at least {rank}")
    return shape


def scalar_value(c: Inference, index: int) -> Any:
    """Returns the value of an input, which must be a scalar; None if it is unknown."""
    shape = c.shapes[index]
    if shape:
        name = c.definition.inputs[index].name
        raise ShapeError(f"Shape must be rank 0 but is rank {len(shape)}", expected=f"a scalar {name}")
    value = c.value(index)
    return None if value is None else value.item()


def vector_size(c: Inference, index: int) -> int | None:
    """Returns the number of elements of an input, which must be a vector; None if it is unknown."""
    shape = c.shapes[index]
    if shape is None:
        return None
    if len(shape) != 1:
        name = c.definition.inputs[index].name
        raise ShapeError(f"Shape must be rank 1 but is rank {len(shape)}", expected=f"a vector {name}")
    return shape[0]


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Returns a non-negative axis of a tensor of the given rank."""
    if not -rank <= axis < rank:
        raise ShapeError(
            f"{what} {axis} is out of range", expected=f"{what} in [{-rank}, {rank}) for rank {rank}", hint=None
        )
    return axis + rank if axis < 0 else axis


def same_dimension(
    a: int | None, b: int | None, what: str, expected: str, hint: str | None = None, in_step: str | None = None
) -> int | None:
    """Returns the dimension that two shapes must agree on."""
    if a is not None and b is not None and a != b:
        differ = f"{what} differ: {a} and {b}"
        message = f"Dimensions must be equal, but are {a} and {b}"
        raise ShapeError(message, f"{expected} ({differ})", hint, in_step or differ)
    return a if a is not None else b


def require(
    condition: bool, what: str, expected: str | None = None, hint: str | None = None, in_step: str | None = None
) -> None:
    """Raises a ShapeError unless the condition holds."""
    if not condition:
        raise ShapeError(what, expected, hint, in_step)


def require_sizes(c: Inference, index: int) -> None:
    """Requires an input that holds a shape: a vector of non-negative sizes."""
    vector_size(c, index)
    value = c.partial(index)
    if value is not None and value.ndim == 1:
        bad = [e for e in value.tolist() if e is not None and e < 0]
        name = c.definition.inputs[index].name
        require(not bad, f"{name} has a negative dimension: {bad[:1]}", expected="non-negative dimensions")


def shape_of_value(index: int) -> Infer:
    """Returns an output shape that is the value of an input: `Fill(dims, value)`, `RandomUniform(shape)`."""

    def infer(c: Inference) -> Sequence[Shape]:
        require_sizes(c, index)
        return [c.shape_value(index)]

    return infer

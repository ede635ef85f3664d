"""Values of variables in converted code: which ones are tensors, and how structures of them are taken apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.graph import nest
from thalweg._src.graph.autograph.lists import TensorList
from thalweg._src.graph.autograph.syntax import RETURN_VALUE
from thalweg._src.graph.control_flow.structures import value_of
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.identity import ensure_shape
from thalweg._src.graph.source_line import user_stack, with_line
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import GraphElement

SCALARS = (bool, int, float, complex, str, bytes)


class Undefined:
    """The value of a variable that has none."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


def ld(read: Callable[[], Any]) -> Any:
    """Returns the value of a variable or an attribute, UNDEFINED if it has none."""
    try:
        return read()
    except (NameError, AttributeError):
        return UNDEFINED


def symbolic(value: object) -> bool:
    """Returns whether a value is a tensor, or a variable, whose value is known only when a step runs."""
    # An eager tensor has a value, and Python's statements can use it.
    if isinstance(value, Tensor):
        return type(value).__bool__ is Tensor.__bool__
    return is_variable(value) and symbolic(value._as_graph_element())


def is_variable(value: object) -> TypeGuard[GraphElement]:
    """Returns whether a value represents a tensor in the graph."""
    return hasattr(value, "_as_graph_element") and not isinstance(value, type | Operation)


def predicate(value: object, statement: str) -> Tensor:
    """Returns the condition of a statement, a scalar bool."""
    tensor = value_of(value)
    if tensor.dtype is not dtypes.bool:
        raise TypeError(
            error_text(
                f"The condition of `{statement}` must be a bool tensor, but {tensor.name!r} is {tensor.dtype.name}.\n"
                "  hint: compare it, for example with `!= 0`."
            )
        )
    if tensor.dims not in (None, ()):
        raise ValueError(
            error_text(
                f"The condition of `{statement}` must be a scalar, but {tensor.name!r} has shape {tensor.shape}.\n"
                "  hint: use tf.reduce_all or tf.reduce_any."
            )
        )
    return tensor if tensor.dims == () else ensure_shape(tensor, ())


def error_text(text: str) -> str:
    """Returns the text of an error with the user's line."""
    return with_line(text, user_stack())


def shown_name(name: str) -> str:
    """Returns a variable as errors show it."""
    return "the return value" if name == RETURN_VALUE else repr(name)


def is_return_value(name: str) -> bool:
    """Returns whether a variable holds the return value, which is not read unless it was set."""
    return name == RETURN_VALUE


def shown_type(value: object) -> str:
    """Returns the type of a value as errors show it."""
    if isinstance(value, Tensor):
        return f"a tensor of {value.dtype.name}"
    return repr(value) if value is None or isinstance(value, SCALARS) else f"of type {type(value).__name__}"


def leaves(value: object) -> list[Any]:
    """Returns the leaves of a value that may be a structure."""
    return nest.flatten(value, expand_composites=True)


def tensors_of(leaf: object) -> list[Any] | None:
    """Returns the tensors, or values that become tensors, of a leaf; None if it is another Python object."""
    if isinstance(leaf, TensorArray):
        return [leaf.flow]
    if isinstance(leaf, TensorList):
        return leaf.tensors()
    # Numbers and strings may become tensors, should the branches or iterations differ in them; functions and other
    # objects cannot.
    return [leaf] if isinstance(leaf, (Tensor, np.ndarray, np.generic, *SCALARS)) or is_variable(leaf) else None


def array_of(leaf: object) -> Any:
    """Returns the array that the elements of a leaf are stored in; None for tensors."""
    if isinstance(leaf, TensorArray):
        return leaf.handle
    return leaf.array if isinstance(leaf, TensorList) else None


def renewed(leaf: object, tensors: Sequence[Tensor]) -> Any:
    """Returns a leaf with new tensors."""
    if isinstance(leaf, TensorArray):
        return leaf.with_flow(tensors[0])
    return leaf.renewed(tensors) if isinstance(leaf, TensorList) else tensors[0]


def packed(value: object, new: Sequence[Any]) -> Any:
    """Returns a structure of the form of a value with new leaves."""
    return nest.pack_sequence_as(value, list(new), expand_composites=True)


def copied(value: object) -> Any:
    """Returns a value that can be changed in place independently: lists, dictionaries and what they contain."""
    if isinstance(value, TensorList):
        return value.renewed(value.tensors())
    if isinstance(value, list | dict):
        return nest.rebuilt(value, [copied(child) for child in nest.children(value)])
    return value

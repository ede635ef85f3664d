"""Nested structures of branches and loop bodies: flattens them to lists of tensors and packs them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.tensor import Tensor

Convert = Callable[[Any], Tensor]


def value_of(leaf: object) -> Tensor:
    """Returns a leaf as a tensor; a reference to a variable is read here."""
    # A variable of TensorFlow 1 is a reference: its value has to be the one at this point, not a later one.
    tensor = convert_to_tensor(leaf)
    return identity(tensor) if tensor.dtype._is_ref_dtype else tensor


def flatten(structure: object, convert: Convert) -> list[Tensor]:
    """Returns the tensors of a structure in order; a TensorArray is represented by its flow."""
    leaves = nest.flatten(structure, expand_composites=True)
    return [leaf.flow if isinstance(leaf, TensorArray) else convert(leaf) for leaf in leaves]


def pack_like(structure: object, tensors: Sequence[Any]) -> Any:
    """Returns a structure of the same form with new tensors; TensorArrays continue from the new flows."""
    leaves = nest.flatten(structure, expand_composites=True)
    values = [renewed(leaf, tensor) for leaf, tensor in zip(leaves, tensors)]
    return nest.pack_sequence_as(structure, values, expand_composites=True)


def renewed(leaf: object, tensor: Any) -> Any:
    """Returns the replacement of a leaf: a TensorArray with the new flow if the leaf is one, else the tensor."""
    return leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor


def require_same(expected: object, actual: object, message: str, check_types: bool = True) -> None:
    """Raises ValueError or TypeError unless two structures have the same form; `message` has a {} for each of them."""
    try:
        nest.assert_same_structure(expected, actual, check_types, expand_composites=True)
    except (TypeError, ValueError) as error:
        raise type(error)(message.format(show(expected), show(actual))) from None


def show(structure: object) -> str:
    """Returns the repr of a structure, with names for tensors."""
    return repr(nest.map_structure(_Shown, structure))


class _Shown:
    """A leaf of a structure as displayed in messages."""

    def __init__(self, leaf: Any) -> None:
        named = isinstance(leaf, Tensor | Operation)
        self._text = leaf.name if named else repr(leaf) if leaf is None else type(leaf).__name__

    def __repr__(self) -> str:
        return self._text

"""Structures: what branches and bodies return, as flat lists of tensors and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg.control_flow.tensor_array import TensorArray
from thalweg.graph import nest
from thalweg.graph.tensor import Tensor

Convert = Callable[[Any], Tensor]


def flatten(structure: Any, convert: Convert) -> list[Tensor]:
    """Returns the tensors of a structure in order; a TensorArray stands for its flow."""
    leaves = nest.flatten(structure, expand_composites=True)
    return [leaf.flow if isinstance(leaf, TensorArray) else convert(leaf) for leaf in leaves]


def pack_like(structure: Any, tensors: Sequence[Any]) -> Any:
    """Returns a structure of the same form with other tensors; TensorArrays go on from the new flows."""
    leaves = nest.flatten(structure, expand_composites=True)
    values = [renewed(leaf, tensor) for leaf, tensor in zip(leaves, tensors)]
    return nest.pack_sequence_as(structure, values, expand_composites=True)


def renewed(leaf: Any, tensor: Any) -> Any:
    """Returns what stands for a tensor in the place of a leaf: a TensorArray if the leaf is one."""
    return leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor

"""`tensorflow.python.data.util.nest`: structures of dataset elements, in which lists are leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.training.data.structure import (
    flatten as flatten,
    flatten_up_to as flatten_up_to,
    is_nested as is_sequence,
    pack as pack_sequence_as,
    same_form,
)

is_nested = is_sequence


def assert_same_structure(nest1: object, nest2: object, check_types: bool = True) -> None:
    """Raises ValueError unless both have the same form."""
    if not same_form(nest1, nest2):
        raise ValueError(f"the structures differ in form: {nest1} and {nest2}")


def map_structure(func: Callable[..., Any], *structure: Any, check_types: bool = True) -> Any:
    """Applies func to the leaves of all structures, which must have the same form, and packs the results."""
    for other in structure[1:]:
        assert_same_structure(structure[0], other)
    return pack_sequence_as(structure[0], [func(*row) for row in zip(*map(flatten, structure))])


def map_structure_up_to(shallow_tree: object, func: Callable[..., Any], *inputs: Any) -> Any:
    """Applies func to the parts of the inputs at the leaves of the shallow structure."""
    rows = zip(*(flatten_up_to(shallow_tree, value) for value in inputs))
    return pack_sequence_as(shallow_tree, [func(*row) for row in rows])

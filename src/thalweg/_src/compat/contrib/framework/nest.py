"""tf.contrib.framework.nest: nested structures, also flattened only up to a shallower structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.graph.nest import (
    assert_same_structure,
    children,
    flatten,
    has_children,
    is_nested,
    map_structure,
    pack_sequence_as,
    same_type,
    sorted_keys,
)

is_sequence = is_nested

__all__ = [
    "assert_same_structure",
    "assert_shallow_structure",
    "flatten",
    "flatten_dict_items",
    "flatten_up_to",
    "flatten_with_joined_string_paths",
    "is_nested",
    "is_sequence",
    "map_structure",
    "map_structure_up_to",
    "pack_sequence_as",
]


@export("contrib.framework.nest.assert_shallow_structure")
def assert_shallow_structure(shallow_tree: object, input_tree: object, check_types: bool = True) -> None:
    """Raises an error if the input does not have the shallow structure at its top."""
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(f"{input_tree!r} of {type(input_tree)} has no parts, but {shallow_tree!r} has")
    if check_types and not same_type(shallow_tree, input_tree):
        raise TypeError(f"the types differ: {type(input_tree)} is not a {type(shallow_tree)}")
    if isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping):
        missing = [key for key in shallow_tree if key not in input_tree]
        if missing:
            raise ValueError(f"the input has no keys {missing}, only {list(input_tree)}")
    shallow_children, input_children = children(shallow_tree), children(input_tree)
    if len(shallow_children) != len(input_children):
        raise ValueError(f"the input has {len(input_children)} parts, the shallow structure {len(shallow_children)}")
    for shallow, child in zip(shallow_children, input_children):
        assert_shallow_structure(shallow, child, check_types)


@export("contrib.framework.nest.flatten_up_to")
def flatten_up_to(shallow_tree: object, input_tree: object, check_types: bool = True) -> list[Any]:
    """Flattens the input up to the leaves of the shallow structure."""
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    return list(_children_up_to(shallow_tree, input_tree))


def _children_up_to(shallow: object, value: object) -> Iterator[Any]:
    if not is_nested(shallow):
        yield value
        return
    for inner, child in zip(children(shallow), children(value)):
        yield from _children_up_to(inner, child)


@export("contrib.framework.nest.map_structure_up_to")
def map_structure_up_to(shallow_tree: object, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Applies a function to the parts of the inputs at the leaves of the shallow structure."""
    if not inputs:
        raise ValueError("map_structure_up_to needs at least one structure")
    flat = [flatten_up_to(shallow_tree, value, kwargs.get("check_types", True)) for value in inputs]
    return pack_sequence_as(shallow_tree, [func(*values) for values in zip(*flat)])


@export("contrib.framework.nest.flatten_dict_items")
def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Returns a dictionary with nested keys and values flattened in parallel."""
    if not isinstance(dictionary, Mapping):
        raise TypeError(f"expected a dictionary, got {type(dictionary)}")
    result: dict[Any, Any] = {}
    for keys, values in dictionary.items():
        flat_keys, flat_values = flatten(keys), flatten(values)
        if len(flat_keys) != len(flat_values):
            raise ValueError(f"the key {keys!r} has {len(flat_keys)} parts, its value {len(flat_values)}")
        for key, value in zip(flat_keys, flat_values):
            if key in result:
                raise ValueError(f"the key {key!r} is there twice")
            result[key] = value
    return result


@export("contrib.framework.nest.flatten_with_joined_string_paths")
def flatten_with_joined_string_paths(
    structure: object, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Returns (path, leaf) pairs, with the keys and indices of the path joined to one string."""
    require_text("separator", separator)
    leaves = flatten(structure, expand_composites)
    return [
        (separator.join(map(str, path)), leaf) for path, leaf in zip(paths_of(structure, expand_composites), leaves)
    ]


def paths_of(structure: Any, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yields the path of each leaf: its keys, field names and indices."""
    if not has_children(structure, expand_composites):
        yield ()
        return
    inner = children(structure)
    if isinstance(structure, Mapping):
        names: Any = sorted_keys(structure)
    elif hasattr(type(structure), "__attrs_attrs__"):
        names = [field.name for field in type(structure).__attrs_attrs__]
    else:
        names = getattr(structure, "_fields", range(len(inner)))
    for name, child in zip(names, inner):
        yield from ((name, *path) for path in paths_of(child, expand_composites))

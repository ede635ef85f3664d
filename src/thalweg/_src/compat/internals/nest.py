"""`tensorflow.python.util.nest`: what it has beyond `tf.nest` and `tf.contrib.framework.nest`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from thalweg._src.compat.contrib.framework.nest import assert_shallow_structure, flatten_up_to, paths_of
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.nest import (
    assert_same_structure,
    children,
    flatten,
    is_nested,
    pack_sequence_as,
    rebuilt,
    sorted_keys,
)
from thalweg._src.graph.sparse_tensor import SparseTensor

Path = tuple[Any, ...]


def is_mapping(obj: object) -> bool:
    """Returns whether a value is a dictionary."""
    return isinstance(obj, Mapping)


def is_attrs(obj: object) -> bool:
    """Returns whether a value is an instance of an attrs class."""
    return hasattr(type(obj), "__attrs_attrs__")


def is_namedtuple(instance: object, strict: bool = False) -> bool:
    """Returns whether a value is a named tuple; if `strict`, of a class that derives from tuple alone."""
    named = isinstance(instance, tuple) and hasattr(instance, "_fields")
    return named and (not strict or type(instance).__bases__ == (tuple,))


def is_sequence_or_composite(seq: object) -> bool:
    """Returns whether a value is a nested structure, a sparse tensor, or IndexedSlices."""
    return is_nested(seq) or isinstance(seq, SparseTensor | IndexedSlices)


def yield_flattened_paths(nest: object, expand_composites: bool = False) -> Iterator[Path]:
    """Yields the path of each leaf: its keys, field names and indices."""
    return paths_of(nest, expand_composites)


def flatten_with_tuple_paths(structure: object, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    """Returns (path, leaf) pairs, with paths as tuples of keys and indices."""
    return list(zip(paths_of(structure, expand_composites), flatten(structure, expand_composites)))


def flatten_with_tuple_paths_up_to(
    shallow_tree: object, input_tree: object, check_types: bool = True, expand_composites: bool = False
) -> list[tuple[Path, Any]]:
    """Returns (path, part) pairs of the input at the leaves of the shallow structure."""
    return list(zip(paths_of(shallow_tree), flatten_up_to(shallow_tree, input_tree, check_types)))


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Applies func(path, *leaves) to the leaves of all structures and packs the results."""
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand)
    rows = zip(paths_of(structure[0], expand), *(flatten(tree, expand) for tree in structure))
    return pack_sequence_as(structure[0], [func(path, *row, **kwargs) for path, *row in rows], expand)


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Applies func(path, *leaves) to the leaves of all structures, with paths as strings joined by slashes."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves, **more: func("/".join(map(str, path)), *leaves, **more), *structure, **kwargs
    )


def map_structure_with_tuple_paths_up_to(
    shallow_tree: object, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Applies func(path, *parts) to the parts of the inputs at the leaves of the shallow structure."""
    flat = [flatten_up_to(shallow_tree, value, kwargs.get("check_types", True)) for value in inputs]
    rows = zip(paths_of(shallow_tree), *flat)
    return pack_sequence_as(shallow_tree, [func(path, *row) for path, *row in rows])


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: object, expand_composites: bool = False
) -> Any:
    """Returns a shallow structure: `traverse_fn` says of each part whether, or which of its parts, to descend into.

    A part that is not descended into is a False in the result, another leaf a True.
    """
    choice = traverse_fn(structure)
    if not is_nested(structure):
        if not isinstance(choice, bool):
            raise TypeError(f"traverse_fn returned {choice!r} for a leaf, expected a bool")
        return choice
    if isinstance(choice, bool):
        if not choice:
            return False
        return rebuilt(structure, [get_traverse_shallow_structure(traverse_fn, child) for child in children(structure)])
    assert_shallow_structure(choice, structure)
    return rebuilt(
        structure,
        [
            get_traverse_shallow_structure(traverse_fn, child) if descend else False
            for descend, child in zip(flatten(choice), children(structure))
        ],
    )


def list_to_tuple(structure: object) -> Any:
    """Returns the structure with its lists replaced by tuples."""
    if not is_nested(structure):
        return structure
    inner = [list_to_tuple(child) for child in children(structure)]
    return tuple(inner) if isinstance(structure, list) else rebuilt(structure, inner)


_sorted = sorted_keys
_sequence_like = rebuilt
_yield_value = children
_is_mapping, _is_attrs, _is_namedtuple = is_mapping, is_attrs, is_namedtuple

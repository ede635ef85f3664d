"""Nested structures (pytrees): lists, tuples, dictionaries, named tuples and attrs classes of any depth."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.sparse_tensor import SparseTensor

Rebuild = Callable[[list[Any]], Any]


@export("nest.is_nested", "contrib.framework.nest.is_nested", "contrib.framework.nest.is_sequence")
def is_nested(seq: Any) -> bool:
    """Returns whether a value is a nested structure; strings, arrays and tensors are not."""
    return _is_structure(seq.__class__)  # of a proxy, the class of its object


@functools.lru_cache(maxsize=1024)
def _is_structure(cls: type) -> bool:
    """Returns whether values of a class are structures; remembered, since abstract base classes are slow to ask."""
    is_sequence = issubclass(cls, Sequence) and not issubclass(cls, str | bytes | bytearray | range | memoryview)
    return is_sequence or issubclass(cls, Mapping | MappingView) or hasattr(cls, "__attrs_attrs__")


def _is_composite(value: object) -> bool:
    return isinstance(value, SparseTensor | IndexedSlices)


def has_children(value: object, expand: bool) -> bool:
    """Returns whether a value is a structure, or with `expand` a sparse tensor or IndexedSlices."""
    return is_nested(value) or (expand and _is_composite(value))


def children(value: Any) -> list[Any]:
    """Returns the children of a structure, those of a dictionary by sorted keys."""
    # Sorted, so that dictionaries with the same keys match whatever their order of insertion.
    if isinstance(value, Mapping):
        return [value[key] for key in sorted_keys(value)]
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, IndexedSlices):
        return [value.values, value.indices, *([] if value.dense_shape is None else [value.dense_shape])]
    if hasattr(type(value), "__attrs_attrs__"):
        return [getattr(value, field.name) for field in type(value).__attrs_attrs__]
    return list(value)


def sorted_keys(value: Mapping[Any, Any]) -> list[Any]:
    """Returns the keys of a dictionary in the order of its children."""
    try:
        return sorted(value)
    except TypeError:
        raise TypeError(f"the keys of a dict in a structure must be sortable, {list(value)} are not") from None


def rebuilt(structure: Any, children: list[Any]) -> Any:
    """Returns a structure of the same type with new children."""
    # The children come sorted, the result has the order of the original.
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted_keys(structure), children))
        ordered = [(key, by_key[key]) for key in structure]
        factory = getattr(structure, "default_factory", False)
        return type(structure)(ordered) if factory is False else type(structure)(factory, ordered)  # type: ignore[call-arg]
    if isinstance(structure, MappingView):
        return list(children)
    if isinstance(structure, SparseTensor | IndexedSlices) or hasattr(type(structure), "__attrs_attrs__"):
        return type(structure)(*children)
    if hasattr(structure, "_fields"):
        return type(structure)(*children)
    return type(structure)(children)


@export("nest.flatten", "contrib.framework.nest.flatten")
def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves in order; for a leaf, a list of it alone."""
    return list(_leaves(structure, expand_composites))


def _leaves(structure: object, expand: bool) -> Iterator[Any]:
    if not has_children(structure, expand):
        yield structure
        return
    for child in children(structure):
        yield from _leaves(child, expand)


@export("nest.pack_sequence_as", "contrib.framework.nest.pack_sequence_as")
def pack_sequence_as(structure: object, flat_sequence: object, expand_composites: bool = False) -> Any:
    """Packs the leaves of the sequence into a structure of the same form."""
    if not is_nested(flat_sequence):
        raise TypeError(f"flat_sequence must be a sequence, got {flat_sequence!r}")
    flat = children(flat_sequence)
    # Counted first, for an error that has both numbers; `pack` alone would stop in the middle, or leave values over.
    count = sum(1 for _ in _leaves(structure, expand_composites))
    if count != len(flat):
        raise ValueError(
            f"flat_sequence has {len(flat)} elements, expected {count} for the structure {structure}: {flat}"
        )
    remaining = iter(flat)

    def pack(value: object) -> Any:
        if not has_children(value, expand_composites):
            return next(remaining)
        return rebuilt(value, [pack(inner) for inner in children(value)])

    return pack(structure)


@export("nest.map_structure", "contrib.framework.nest.map_structure")
def map_structure(func: Callable[..., Any], *structure: object, **kwargs: Any) -> Any:
    """Applies func to the leaves of all structures, which must have the same form, and packs the results.

    Args:
        func: Function of one leaf from each structure.
        *structure: Nests of one form.
        **kwargs: `check_types` and such.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("map_structure has no structure to map")
    # Taken from kwargs since `*structure` leaves no room for parameters with names before it.
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(f"Only check_types and expand_composites are valid keywords, not {', '.join(kwargs)}")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand)
    rows = zip(*(_leaves(nested, expand) for nested in structure))
    return pack_sequence_as(structure[0], [func(*row) for row in rows], expand)


@export("nest.assert_same_structure", "contrib.framework.nest.assert_same_structure")
def assert_same_structure(
    nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises ValueError unless both have the same form, TypeError if only the types of their sequences differ."""
    try:
        _compare(nest1, nest2, check_types, expand_composites)
    except (ValueError, TypeError) as error:
        raise type(error)(f"the structures differ in form: {error}\n  first: {nest1}\n  second: {nest2}") from None


def _compare(first: object, second: object, check_types: bool, expand: bool) -> None:
    nested = has_children(first, expand)
    if nested != has_children(second, expand):
        raise ValueError(f"{first if nested else second!r} is a structure, {second if nested else first!r} is not")
    if not nested:
        return
    if check_types and not same_type(first, second):
        raise TypeError(f"{first!r} is a {type(first).__name__}, {second!r} is a {type(second).__name__}")
    if isinstance(first, Mapping) and isinstance(second, Mapping) and set(first) != set(second):
        raise ValueError(f"the keys {list(first)} and {list(second)} differ")
    mine, theirs = children(first), children(second)
    if len(mine) != len(theirs):
        raise ValueError(f"{first!r} has {len(mine)} elements, {second!r} has {len(theirs)}")
    for one, other in zip(mine, theirs):
        _compare(one, other, check_types, expand)


def same_type(first: object, second: object) -> bool:
    """Returns whether two structures are of one type; all dictionaries are."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return True
    # Two classes of named tuples are one type if name and fields agree: modules that are loaded twice have two.
    fields = getattr(first, "_fields", None)
    if fields is not None and fields == getattr(second, "_fields", None):
        return type(first).__name__ == type(second).__name__
    return type(first) is type(second)

"""Entries of descriptions: each is of a type that the argument of its name has, and no size is negative.

The types are those that the constructors of the classes declare. An argument that may be an object of any kind is left
to the constructor, and so is a value that no file can have.
"""

from __future__ import annotations

import functools
import inspect
import re
import reprlib
from collections.abc import Callable
from typing import Any

from thalweg._src.graph import nest
from thalweg._src.keras.places import at, expected

_PLAIN = (type(None), bool, int, float, str, list, tuple, dict)
_NAMES = {
    "None": "None",
    "bool": "a bool",
    "int": "an integer",
    "float": "a number",
    "str": "a text",
    "dict": "a dictionary",
    "Sequence": "a list",
}
_OBJECT = ("str", "dict", "None")  # a name or a description
_SHAPE = ("Sequence[int | None]", "None")
# Arguments that constructors declare as objects of any kind, or not at all.
_BY_NAME = {
    "batch_input_shape": _SHAPE,
    "input_shape": _SHAPE,
    "activation": _OBJECT,
    "recurrent_activation": _OBJECT,
    "pool_size": ("int", "Sequence[int]"),
    "strides": ("int", "Sequence[int]", "None"),
    "kernel_size": ("int", "Sequence[int]"),
    "dilation_rate": ("int", "Sequence[int]"),
    "layer": ("dict",),
    "cell": ("dict", "Sequence[dict]"),
}
_SUFFIXES = ("_initializer", "_regularizer", "_constraint")
_SIZES = {  # with the least value
    **dict.fromkeys(("units", "filters", "input_dim", "output_dim", "n", "batch_input_shape", "input_shape"), 0),
    **dict.fromkeys(("kernel_size", "strides", "pool_size", "dilation_rate", "size", "depth_multiplier"), 1),
    **dict.fromkeys(("padding", "cropping", "output_padding"), 0),
    **dict.fromkeys(("target_shape", "noise_shape"), -1),  # where the batch says it
    **dict.fromkeys(("virtual_batch_size", "num_classes", "num_thresholds", "k", "top_k"), 1),
}
_MOST = 1 << 63  # that no integer reaches
_MOST_SIZE = 1 << 31


def require_entries(cls: Callable[..., Any], config: Any) -> None:
    """Raises an error with its place if an entry of the description of an object cannot be the argument of its name."""
    if not isinstance(expected((dict, list, tuple), config), dict):
        return
    declared = _declared(cls)
    for key, value in config.items():
        error = _type_error(declared.get(key), value) or _range_error(key, value)
        if error is not None:
            with at(key):
                raise error


def _type_error(kinds: tuple[str, ...] | None, value: object) -> TypeError | None:
    if kinds is None or any(_fits(kind, value) for kind in kinds):
        return None
    kinds_in_words = " or ".join(dict.fromkeys(_NAMES[kind.partition("[")[0]] for kind in kinds))
    return TypeError(f"expected {kinds_in_words}, received {reprlib.repr(value)[:200]}")


def _range_error(key: str, value: object) -> ValueError | None:
    least, most = (_SIZES[key], _MOST_SIZE) if key in _SIZES else (-_MOST, _MOST)
    if all(least <= leaf < most for leaf in nest.flatten(value) if isinstance(leaf, int)):
        return None
    return ValueError(
        f"expected integers of at least {least} and less than {most}, received {reprlib.repr(value)[:200]}"
    )


def _fits(kind: str, value: object) -> bool:
    if not isinstance(value, _PLAIN):
        return True
    name, _, item = kind.partition("[")
    if name == "Sequence":
        item_kinds = _kinds(item[:-1])
        return isinstance(value, list | tuple) and (
            item_kinds is None or all(any(_fits(item_kind, entry) for item_kind in item_kinds) for entry in value)
        )
    if name == "int":
        return (
            value.is_integer() if isinstance(value, float) else isinstance(value, int) and not isinstance(value, bool)
        )
    if name == "float":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if name == "bool":
        return isinstance(value, bool) or (isinstance(value, int) and value in (0, 1))
    return value is None if name == "None" else isinstance(value, str if name == "str" else dict)


@functools.cache
def _declared(cls: Callable[..., Any]) -> dict[str, tuple[str, ...] | None]:
    """Returns the types of the arguments of a class, or of a function that makes an object; None for any."""
    makers = [vars(base).get("__init__") for base in reversed(cls.__mro__)] if isinstance(cls, type) else [cls]
    declared: dict[str, tuple[str, ...] | None] = dict(_BY_NAME)
    for maker in filter(inspect.isfunction, makers):
        for name, parameter in inspect.signature(maker).parameters.items():
            kinds = _kinds(str(parameter.annotation))
            if kinds is not None:
                declared[name] = kinds
            elif name.endswith(_SUFFIXES):
                declared[name] = _OBJECT
            elif name not in _BY_NAME and parameter.annotation is not inspect.Parameter.empty:
                declared[name] = None
    return declared


def _kinds(annotation: str) -> tuple[str, ...] | None:
    """Returns the types of a union, None if one of them is not plain."""
    kinds = re.split(r" \| (?![^\[]*\])", annotation)
    return tuple(kinds) if all(kind.partition("[")[0] in _NAMES for kind in kinds) else None

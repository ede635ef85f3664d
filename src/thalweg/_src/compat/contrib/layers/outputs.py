"""Utilities of contrib layers: collections of variables and outputs, aliases, normalizers and activations."""

from __future__ import annotations

import collections as containers
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base.errors import require_kind, require_members, require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.scopes import add_to_collections, get_collection, get_collection_ref
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.smart_cond import (  # noqa: F401
    smart_cond as smart_cond,
    smart_constant_value as constant_value,
)


@export("contrib.layers.utils.get_variable_collections", "contrib.slim.utils.get_variable_collections")
def get_variable_collections(
    variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None, name: str
) -> Any:
    """Returns the collections of the variables with a name, from one list for all or a dictionary by name."""
    if isinstance(variables_collections, dict):
        return variables_collections.get(name)
    return variables_collections


@export("contrib.layers.utils.add_to_variable_collections", "contrib.slim.utils.add_to_variable_collections")
def add_to_variable_collections(
    variable: Any, variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None, name: str
) -> None:
    """Adds a variable, or the partitions of a partitioned one, to the collections of its name."""
    keys = get_variable_collections(variables_collections, name)
    if variable is None or not keys:
        return
    partitions = list(variable) if hasattr(variable, "_get_variable_list") else [variable]
    for key in [keys] if isinstance(keys, str) else keys:
        members = get_collection_ref(key)
        members += [partition for partition in partitions if not any(partition is member for member in members)]


@export("contrib.layers.utils.append_tensor_alias", "contrib.slim.utils.append_tensor_alias")
def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Adds an alias to a tensor."""
    require_members("tensor", tensor, "a tensor or a variable", "dtype", "get_shape")
    require_text("alias", alias)
    alias = alias.rstrip("/")
    if hasattr(tensor, "aliases"):
        tensor.aliases.append(alias)
    else:
        tensor.aliases = [alias]
    return tensor


@export("contrib.layers.utils.gather_tensors_aliases", "contrib.slim.utils.gather_tensors_aliases")
def gather_tensors_aliases(tensors: Any) -> list[str]:
    """Returns the aliases of all tensors.

    Args:
        tensors: The tensors.
    """
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


@export("contrib.layers.utils.get_tensor_aliases", "contrib.slim.utils.get_tensor_aliases")
def get_tensor_aliases(tensor: Tensor) -> list[str]:
    """Returns the aliases of a tensor, or its name without the output index."""
    aliases = getattr(tensor, "aliases", None)
    if not aliases:
        require_kind("tensor", tensor, Tensor, "a tensor")
    return list(aliases) if aliases else [tensor.name.removesuffix(":0")]


@export("contrib.layers.utils.collect_named_outputs", "contrib.slim.utils.collect_named_outputs")
def collect_named_outputs(collections: Sequence[str] | None, alias: str, outputs: Any) -> Any:
    """Adds outputs to collections under an alias."""
    if collections:
        append_tensor_alias(outputs, alias)
        add_to_collections(collections, outputs)
    return outputs


@export("contrib.layers.utils.convert_collection_to_dict", "contrib.slim.utils.convert_collection_to_dict")
def convert_collection_to_dict(collection: Any, clear_collection: bool = False) -> dict[str, Any]:
    """Returns the members of a collection by their aliases."""
    outputs = containers.OrderedDict(
        (alias, tensor) for tensor in get_collection(collection) for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        get_collection_ref(collection).clear()
    return outputs


@export("contrib.layers.utils.finished", "contrib.slim.utils.finished")
def finished(
    outputs: Tensor, scope: Any, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any, collections: Any
) -> Tensor:
    """Applies the normalizer and the activation to the outputs of a layer, and adds them to collections.

    Args:
        scope: Name under which the outputs are collected.
    """
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(collections, scope.name, outputs)  # type: ignore[no-any-return]


@export("contrib.layers.utils.last_dimension", "contrib.slim.utils.last_dimension")
def last_dimension(shape: ShapeLike, min_rank: int = 1) -> int | None:
    """Returns the last size of a shape, which must have at least `min_rank` dimensions."""
    return _dimension(shape, -1, min_rank)


@export("contrib.layers.utils.first_dimension", "contrib.slim.utils.first_dimension")
def first_dimension(shape: ShapeLike, min_rank: int = 1) -> int | None:
    """Returns the first size of a shape, which must have at least `min_rank` dimensions."""
    return _dimension(shape, 0, min_rank)


@export("contrib.layers.utils.channel_dimension", "contrib.slim.utils.channel_dimension")
def channel_dimension(shape: ShapeLike, data_format: str, min_rank: int = 1) -> int | None:
    """Returns the number of channels: the second size of a format that begins with NC, else the last."""
    require_text("data_format", data_format)
    return _dimension(shape, 1 if data_format.startswith("NC") else -1, min_rank)


def preset(function: Callable[..., Any], name: str, doc: str, **arguments: Any) -> Callable[..., Any]:
    """Returns a function with other default arguments.

    Like a `functools.partial` it has the attribute `func`, from which `repeat` and `stack` derive default scope names.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**arguments, **kwargs})

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    call.__signature__ = inspect.signature(functools.partial(function, **arguments))  # type: ignore[attr-defined]
    call.func = call.__parameters_of__ = function  # type: ignore[attr-defined]
    return call


def _dimension(shape: Any, axis: int, min_rank: int) -> int | None:
    sizes = as_shape(shape)
    if sizes is None:
        raise ValueError("dimension of unknown rank")
    if len(sizes) < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {len(sizes)}")
    size = sizes[axis]
    if size is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None")
    return size


@export("contrib.layers.utils.two_element_tuple", "contrib.slim.utils.two_element_tuple")
def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """Returns a pair of integers; one integer is repeated."""
    if isinstance(int_or_tuple, TensorShape):
        int_or_tuple = int_or_tuple.as_list()
    if isinstance(int_or_tuple, list | tuple):
        if len(int_or_tuple) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    return int(int_or_tuple), int(int_or_tuple)


@export("contrib.layers.utils.n_positive_integers", "contrib.slim.utils.n_positive_integers")
def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """Returns n positive integers; one integer is repeated."""
    values = tuple(int(v) for v in value) if isinstance(value, list | tuple) else (int(value),) * n
    if len(values) != n or any(v <= 0 for v in values):
        raise ValueError(f"{n} positive integers are needed, got {value!r}")
    return values

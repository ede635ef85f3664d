"""Summaries of tensors, activations and collections."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.errors import require_kind, require_text
from thalweg._src.base.export import export
from thalweg._src.graph.scopes import GraphKeys, get_collection
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn import summaries as summary
from thalweg._src.training.nn.dropout import zero_fraction


def _tag(tensor: Any, suffix: str = "") -> str:
    return re.sub("tower_[0-9]*/", "", tensor.op.name) + suffix


@export("contrib.layers.summarize_tensor", "contrib.slim.summarize_tensor")
def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """Adds a scalar summary of a scalar, a histogram of any other tensor."""
    require_kind("tensor", tensor, Tensor, "a tensor")
    shape = tensor.get_shape()
    make = summary.scalar if shape.ndims == 0 else summary.histogram
    return make(tag or f"{_tag(tensor)}_summary", tensor)


@export("contrib.layers.summarize_activation", "contrib.slim.summarize_activation")
def summarize_activation(op: Tensor) -> Any:
    """Adds a histogram of an activation, and the fraction of zeros of a rectified one."""
    require_kind("op", op, Tensor, "a tensor")
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        summary.scalar(_tag(op, "/sparsity"), zero_fraction(op))
    return summary.histogram(_tag(op, "/activation"), op)


@export("contrib.layers.summarize_tensors", "contrib.slim.summarize_tensors")
def summarize_tensors(tensors: Sequence[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Adds a summary of each tensor."""
    return [summarizer(tensor) for tensor in tensors]


@export("contrib.layers.summarize_collection", "contrib.slim.summarize_collection")
def summarize_collection(
    collection: Any, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Adds summaries of the members of a collection whose names match a pattern."""
    members = get_collection(collection)
    if name_filter is not None:
        require_text("name_filter", name_filter)
        for member in members:
            require_kind("collection", member, Tensor, "the name of a collection of tensors")
        members = [member for member in members if re.match(name_filter, member.op.name)]
    return summarize_tensors(members, summarizer)


@export("contrib.layers.summarize_variables", "contrib.slim.summarize_variables")
def summarize_variables(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Adds summaries of the global variables."""
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


@export("contrib.layers.summarize_weights", "contrib.slim.summarize_weights")
def summarize_weights(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Adds summaries of the tensors in the collection `WEIGHTS`."""
    return summarize_collection(GraphKeys.WEIGHTS, name_filter, summarizer)


@export("contrib.layers.summarize_biases", "contrib.slim.summarize_biases")
def summarize_biases(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Adds summaries of the tensors in the collection `BIASES`."""
    return summarize_collection(GraphKeys.BIASES, name_filter, summarizer)


@export("contrib.layers.summarize_activations", "contrib.slim.summarize_activations")
def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> Any:
    """Adds summaries of the tensors in the collection `ACTIVATIONS`."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)

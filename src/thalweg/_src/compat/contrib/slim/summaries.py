"""tf.contrib.slim.summaries: summaries named after the operations of their tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.graph.ops.printing import Print
from thalweg._src.graph.scopes import GraphKeys, add_to_collection
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn import summaries as summary
from thalweg._src.training.nn.dropout import zero_fraction


def _name(tensor: Any, name: str | None, prefix: str | None) -> str:
    require_kind("tensor", tensor, Tensor, "a tensor")
    base = name or tensor.op.name
    return f"{prefix}/{base}" if prefix else base


def _collected(op: Tensor, tensor: Any, name: str, print_summary: bool) -> Tensor:
    op = Print(op, [tensor], name) if print_summary else op
    add_to_collection(GraphKeys.SUMMARIES, op)
    return op


def _scalar(tensor: Any, name: str, print_summary: bool) -> Tensor:
    return _collected(summary.scalar(name, tensor, collections=[]), tensor, name, print_summary)


@export("contrib.slim.summaries.add_histogram_summary")
def add_histogram_summary(tensor: Any, name: str | None = None, prefix: str | None = None) -> Tensor:
    """Adds a histogram of a tensor."""
    return summary.histogram(_name(tensor, name, prefix), tensor)


@export("contrib.slim.summaries.add_image_summary")
def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Adds a summary of images."""
    title = _name(tensor, name, prefix)
    return _collected(summary.image(title, tensor, collections=[]), tensor, title, print_summary)


@export("contrib.slim.summaries.add_scalar_summary")
def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Adds a summary of a scalar."""
    return _scalar(tensor, _name(tensor, name, prefix), print_summary)


@export("contrib.slim.summaries.add_zero_fraction_summary")
def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Adds a summary of the fraction of zeros in a tensor."""
    return _scalar(zero_fraction(tensor), _name(tensor, name, prefix), print_summary)


def _add_all(tensors: Iterable[Any], add: Callable[..., Tensor], prefix: str | None, *more: Any) -> list[Tensor]:
    return [add(tensor, None, prefix, *more) for tensor in tensors]


@export("contrib.slim.summaries.add_histogram_summaries")
def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Adds a histogram of each tensor."""
    return _add_all(tensors, add_histogram_summary, prefix)


@export("contrib.slim.summaries.add_image_summaries")
def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Adds a summary of the images of each tensor."""
    return _add_all(tensors, add_image_summary, prefix)


@export("contrib.slim.summaries.add_scalar_summaries")
def add_scalar_summaries(
    tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Tensor]:
    """Adds a summary of each scalar."""
    return _add_all(tensors, add_scalar_summary, prefix, print_summary)


@export("contrib.slim.summaries.add_zero_fraction_summaries")
def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Adds a summary of the fraction of zeros in each tensor."""
    return _add_all(tensors, add_zero_fraction_summary, prefix)

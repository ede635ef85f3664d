"""tf.contrib.deprecated: summary functions under the names of releases before 1.0, with tags as they are given."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.ops.summary import (
    audio_summary_v2,
    histogram_summary as histogram_op,
    image_summary as image_op,
    scalar_summary as scalar_op,
)
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.summaries import collected, merge, merge_all


@export("contrib.deprecated.scalar_summary")
def scalar_summary(tags: TensorLike, values: TensorLike, collections: Any = None, name: str | None = None) -> Tensor:
    """Returns a summary of scalars, one per tag.

    Args:
        tags: The tags, with the shape of `values`.
    """
    return collected(scalar_op(tags, values, name=name), collections)


@export("contrib.deprecated.histogram_summary")
def histogram_summary(tag: TensorLike, values: TensorLike, collections: Any = None, name: str | None = None) -> Tensor:
    """Returns a histogram summary.

    Args:
        tag: The tag.
    """
    return collected(histogram_op(tag, values, name=name), collections)


@export("contrib.deprecated.image_summary")
def image_summary(
    tag: TensorLike, tensor: TensorLike, max_images: int = 3, collections: Any = None, name: str | None = None
) -> Tensor:
    """Returns a summary of the first images of a batch.

    Args:
        tag: The tag.
    """
    return collected(image_op(tag, tensor, max_images=max_images, name=name), collections)


@export("contrib.deprecated.audio_summary")
def audio_summary(
    tag: TensorLike,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns a summary of the first clips of a batch.

    Args:
        tag: The tag.
        max_outputs: Number of clips at most.
    """
    return collected(audio_summary_v2(tag, tensor, sample_rate, max_outputs=max_outputs, name=name), collections)


@export("contrib.deprecated.merge_summary")
def merge_summary(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """Returns one summary merged of several, whose tags must differ."""
    return merge(inputs, collections, name)


@export("contrib.deprecated.merge_all_summaries")
def merge_all_summaries(key: str = GraphKeys.SUMMARIES) -> Tensor | None:
    """Returns one summary merged of all in a collection; None if there are none."""
    return merge_all(key)

"""Summaries: tagged by name scope, and collected so that they can be merged."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.base.logging import info
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.summary import (
    audio_summary_v2,
    histogram_summary,
    image_summary,
    merge_summary,
    scalar_summary,
    tensor_summary_v2,
)
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, get_collection, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.distribution import current_mode

_NOT_IN_TAGS = re.compile(r"[^-/\w\.]")
_SUMMARIES = (GraphKeys.SUMMARIES,)


def clean_tag(name: str | None) -> str | None:
    """Returns a name with the characters replaced that are invalid in scopes."""
    if name is None:
        return None
    cleaned = _NOT_IN_TAGS.sub("_", name).lstrip("/")
    if cleaned != name:
        info("Summary name %r holds characters that tags may not have; it becomes %r.", name, cleaned)
    return cleaned


@contextlib.contextmanager
def tagged(
    name: str, family: str | None, values: Sequence[Any], default_name: str | None = None
) -> Iterator[tuple[str, str]]:
    """Opens the scope of a summary; yields its tag, with the family as a prefix, and the scope."""
    base, family = clean_tag(name), clean_tag(family)
    with name_scope(base if family is None else f"{family}/{base}", default_name, values) as scope:
        tag = scope.rstrip("/")
        yield tag if family is None else f"{family}/{tag}", scope


def collected(summary: Tensor, collections: Sequence[str] | None, default: Sequence[str] = _SUMMARIES) -> Tensor:
    """Adds a summary to collections, or to the default ones, and returns it; that of a further replica is empty."""
    mode = current_mode()
    if mode is not None and mode.copy:
        return constant("")
    if not executing_eagerly():
        for key in default if collections is None else collections:
            add_to_collection(key, summary)
    return summary


@export("summary.scalar")
def scalar(
    name: str, tensor: TensorLike, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Returns a summary of a scalar.

    Args:
        name: Name of the summary, its tag.
        tensor: The tensor to record.
    """
    with tagged(name, family, [tensor]) as (tag, scope):
        return collected(scalar_summary(tag, tensor, name=scope), collections)


@export("summary.histogram")
def histogram(
    name: str, values: TensorLike, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Returns a histogram summary.

    Args:
        name: Name of the summary, its tag.
    """
    with tagged(name, family, [values], "HistogramSummary") as (tag, scope):
        return collected(histogram_summary(tag, values, name=scope), collections)


@export("summary.image")
def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Returns a summary of the first images of a batch: [batch, height, width, channels] of bytes or floats.

    Args:
        name: Name of the summary, its tag.
        tensor: The tensor to record.
    """
    with tagged(name, family, [tensor]) as (tag, scope):
        return collected(image_summary(tag, tensor, max_images=max_outputs, name=scope), collections)


@export("summary.audio")
def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Returns a summary of the first clips of a batch: [batch, samples] or [batch, samples, channels] in [-1, 1].

    Args:
        name: Name of the summary, its tag.
        tensor: The tensor to record.
    """
    with tagged(name, family, [tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtypes.float32, name="sample_rate")
        return collected(audio_summary_v2(tag, tensor, rate, max_outputs=max_outputs, name=scope), collections)


@export("summary.text")
def text(name: str, tensor: TensorLike, collections: Sequence[str] | None = None) -> Tensor:
    """Returns a summary of strings.

    Args:
        name: Name of the summary, its tag.
        tensor: The tensor to record.
    """
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not dtypes.string:
        raise ValueError(f"Expected tensor {tensor.label} to have dtype string, got {tensor.dtype}")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


@export("summary.tensor_summary")
def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: Any = None,
    collections: Sequence[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Returns a summary of any tensor, with the metadata of a TensorBoard plugin.

    Args:
        name: Name of the summary, its tag.
        tensor: The tensor to record.
    """
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    if summary_metadata is not None:
        require_kind("summary_metadata", summary_metadata, SummaryMetadata, "a SummaryMetadata message or None")
    metadata = SummaryMetadata() if summary_metadata is None else summary_metadata
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with tagged(name, family, [tensor]) as (tag, scope):
        return collected(tensor_summary_v2(tag, tensor, metadata.SerializeToString(), name=scope), collections)


def _require_graph() -> None:
    if executing_eagerly():
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary instead."
        )


@export("summary.merge")
def merge(inputs: Sequence[Any], collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """Returns one summary merged of several, whose tags must differ.

    Args:
        inputs: Serialized summaries, string tensors.
        name: A name for the operation.
    """
    _require_graph()
    name = clean_tag(name)
    with name_scope(name, "Merge", inputs):
        return collected(merge_summary(inputs, name=name), collections, ())


@export("summary.merge_all")
def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """Returns one summary merged of all in a collection; None if there are none.

    Args:
        key: Name of the collection.
        scope: Regular expression that names must match at their start; None takes all.
        name: A name for the operation.
    """
    _require_graph()
    summaries = get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


@export("summary.get_summary_description")
def get_summary_description(node_def: Any) -> Any:
    """Returns the SummaryDescription that a TensorSummary node carries."""
    from google.protobuf.json_format import Parse
    from tensorboard.compat.proto.summary_pb2 import SummaryDescription

    require_members("node_def", node_def, "a NodeDef message", "op", "attr")
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return Parse(node_def.attr["description"].s, SummaryDescription())

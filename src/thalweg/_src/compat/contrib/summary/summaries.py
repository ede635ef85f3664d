"""Summaries that are written to the default writer by the step that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.summary.writers import DEFAULTS, SUMMARIES, handle_of, should_record_summaries
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import summary_writer as ops
from thalweg._src.graph.ops.constants import constant, no_op
from thalweg._src.graph.scopes import add_to_collection, control_dependencies, device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.smart_cond import smart_cond
from thalweg._src.training.nn.summaries import tagged
from thalweg._src.training.variables.global_step import get_or_create_global_step

_RED = (255, 0, 0, 255)


def _step(step: object) -> Tensor:
    return convert_to_tensor(get_or_create_global_step() if step is None else step, dtypes.int64)


def _record(name: str, tensor: TensorLike, family: str | None, write: Callable[[Tensor, str, str], Operation]) -> Any:
    """Adds a summary in the current name scope, written where summaries are recorded."""
    handle = handle_of(DEFAULTS.writer)
    if handle is None:
        return no_op()
    outer = get_default_graph().get_name_scope()

    def record() -> Tensor:
        with (
            name_scope(f"{outer}/" if outer else ""),
            tagged(name, family, [tensor]) as (tag, scope),
            control_dependencies([write(handle, tag, scope)]),
        ):
            return constant(True)

    with device("cpu:0"):
        op = smart_cond(should_record_summaries(), record, lambda: constant(False), name="summary_cond")
    if not executing_eagerly():
        add_to_collection(SUMMARIES, op)
    return op


@export("contrib.summary.generic")
def generic(
    name: str, tensor: TensorLike, metadata: object = None, family: str | None = None, step: TensorLike | None = None
) -> Any:
    """Writes a summary of any tensor, with the metadata of a TensorBoard plugin."""

    def write(writer: Tensor, tag: str, scope: str) -> Operation:
        serialized = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata
        return ops.write_summary_op.operation(
            writer, _step(step), tensor, tag, b"" if serialized is None else serialized, name=scope
        )

    return _record(name, tensor, family, write)


@export("contrib.summary.scalar")
def scalar(name: str, tensor: TensorLike, family: str | None = None, step: TensorLike | None = None) -> Any:
    """Writes a summary of a scalar."""

    def write(writer: Tensor, tag: str, scope: str) -> Operation:
        return ops.write_scalar_summary_op.operation(writer, _step(step), tag, tensor, name=scope)

    return _record(name, tensor, family, write)


@export("contrib.summary.histogram")
def histogram(name: str, tensor: TensorLike, family: str | None = None, step: TensorLike | None = None) -> Any:
    """Writes a histogram of the values of a tensor."""

    def write(writer: Tensor, tag: str, scope: str) -> Operation:
        return ops.write_histogram_summary_op.operation(writer, _step(step), tag, tensor, name=scope)

    return _record(name, tensor, family, write)


@export("contrib.summary.image")
def image(
    name: str,
    tensor: TensorLike,
    bad_color: TensorLike | None = None,
    max_images: int = 3,
    family: str | None = None,
    step: TensorLike | None = None,
) -> Any:
    """Writes the first images of a batch: [batch, height, width, channels] of bytes or floats."""

    def write(writer: Tensor, tag: str, scope: str) -> Operation:
        color = constant(_RED, dtypes.uint8) if bad_color is None else bad_color
        return ops.write_image_summary_op.operation(
            writer, _step(step), tag, tensor, color, max_images=max_images, name=scope
        )

    return _record(name, tensor, family, write)


@export("contrib.summary.audio")
def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int,
    family: str | None = None,
    step: TensorLike | None = None,
) -> Any:
    """Writes the first clips of a batch: [batch, samples] or [batch, samples, channels] in [-1, 1]."""

    def write(writer: Tensor, tag: str, scope: str) -> Operation:
        rate = convert_to_tensor(sample_rate, dtypes.float32)
        return ops.write_audio_summary_op.operation(
            writer, _step(step), tag, tensor, rate, max_outputs=max_outputs, name=scope
        )

    return _record(name, tensor, family, write)


@export("contrib.summary.graph")
def graph(param: Tensor, step: TensorLike | None = None, name: str | None = None) -> Operation:
    """Returns an operation that writes a graph.

    Args:
        param: A string scalar that holds a serialized GraphDef, such as a placeholder.
        step: The number of the step; by default that of the global step.
        name: A name for the operations that are added to the graph.
    """
    if not isinstance(param, Tensor):
        raise TypeError(f"param: expected a tensor that holds a serialized GraphDef, received {type(param)}")
    handle = handle_of(DEFAULTS.writer)
    if handle is None:
        return no_op()
    with device("cpu:0"):
        return ops.write_graph_summary_op.operation(handle, _step(step), param, name=name)


@export("contrib.summary.import_event")
def import_event(tensor: TensorLike, name: str | None = None) -> Operation:
    """Returns an operation that writes an event.

    Args:
        tensor: A string scalar that holds a serialized Event.
        name: A name for the operations that are added to the graph.
    """
    handle = handle_of(DEFAULTS.writer)
    if handle is None:
        return no_op()
    with device("cpu:0"):
        return ops.import_event_op.operation(handle, tensor, name=name)

"""Summary ops, which return serialized Summary messages for event files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.shapes import Shape, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.attr import AttrDef
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, scalar, scalar_value, with_rank

_REAL = frozenset(
    (
        *(dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    )
)
_BAD_COLOR = np.array([255, 0, 0, 255], np.uint8)


def _require_scalar(c: Inference, index: int) -> None:
    name = c.definition.inputs[index].name
    require(c.shapes[index] in (None, ()), f"{name} has shape {show(c.shapes[index])}", expected=f"a scalar {name}")


def _scalars(c: Inference) -> Sequence[Shape]:
    try:
        merge(c.shapes[0], c.shapes[1])
    except ValueError:
        raise ShapeError(
            f"tags and values differ in shape: {show(c.shapes[0])} and {show(c.shapes[1])}",
            expected="a tag for each value",
        ) from None
    return [()]


def _tagged(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 0)
    return [()]


def _images(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 0)
    images = with_rank(c, 1, 4)
    colors = c.attrs["bad_color"]
    require(colors.dtype == np.uint8 and colors.ndim == 1, "bad_color is not a uint8 vector")
    assert images is not None
    channels = images[-1]
    require(channels in (None, 1, 3, 4), f"tensor has {channels} channels", expected="1, 3 or 4 channels")
    require(0 not in images[1:], f"tensor has shape {show(images)}", expected="images with pixels")
    require(
        c.attrs["T"] is dtypes.uint8 or len(colors) >= (channels or 0),
        f"bad_color has {len(colors)} values, the images {channels} channels",
        expected="a value for each channel",
    )
    return [()]


def _sounds(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 0)
    sounds = c.shapes[1]
    require(
        sounds is None or len(sounds) in (2, 3),
        f"tensor has shape {show(sounds)}",
        expected="rank 2, or 3 with channels",
    )
    rate = scalar_value(c, 2)
    require(rate is None or rate > 0, f"sample_rate is {rate}", expected="a positive number")
    return [()]


def _tensor(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 0)
    _require_scalar(c, 2)
    return [()]


scalar_summary = nondifferentiable_op(
    "ScalarSummary",
    "tags: string, values: T -> summary: string",
    "Creates a summary of scalars, one per tag.",
    T=_REAL,
    infer=_scalars,
)
histogram_summary = nondifferentiable_op(
    "HistogramSummary",
    "tag: string, values: T -> summary: string",
    "Creates a histogram summary; values must be finite.",
    T=attr.types(_REAL, dtypes.float32),
    infer=_tagged,
)
image_summary = nondifferentiable_op(
    "ImageSummary",
    "tag: string, tensor: T -> summary: string",
    "Creates a summary of images; values other than uint8 are scaled per image.",
    max_images=attr.integer(1, 3),
    T=attr.types((dtypes.uint8, dtypes.float32, dtypes.float16, dtypes.float64), dtypes.float32),
    bad_color=AttrDef("tensor", _BAD_COLOR),
    infer=_images,
)
audio_summary_v2 = nondifferentiable_op(
    "AudioSummaryV2",
    "tag: string, tensor: float32, sample_rate: float32 -> summary: string",
    "Creates a summary of audio clips.",
    max_outputs=attr.integer(1, 3),
    host="sample_rate",
    infer=_sounds,
)
merge_summary = nondifferentiable_op(
    "MergeSummary",
    "inputs: N*string -> summary: string",
    "Merges summaries, whose tags must be distinct.",
    infer=scalar,
)
tensor_summary_op = nondifferentiable_op(
    "TensorSummary",
    "tensor: T -> summary: string",
    "Creates a summary of any tensor, tagged with the name of the operation.",
    T=attr.types(),
    description="",
    labels=AttrDef("list(string)", ()),
    display_name="",
    infer=scalar,
)
tensor_summary_v2 = nondifferentiable_op(
    "TensorSummaryV2",
    "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string",
    "Creates a summary of any tensor, with metadata for a TensorBoard plugin.",
    T=attr.types(),
    infer=_tensor,
)

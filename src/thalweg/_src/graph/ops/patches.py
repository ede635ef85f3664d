"""Patch extraction: the cells of each window of an image or a volume."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.reduction import one_of
from thalweg._src.graph.ops.shape_functions import with_rank
from thalweg._src.graph.ops.windows import Window, kernel_of, window_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def patch_window(attrs: Mapping[str, Any]) -> tuple[Window, tuple[int, ...]]:
    """Returns the window of patches, and its sizes, from the attributes."""
    layout = "NHWC" if len(attrs["ksizes"]) < 5 else "NDHWC"
    window_attrs = {**attrs, "data_format": layout, "dilations": attrs.get("rates", (1,) * len(layout))}
    return window_of(window_attrs), kernel_of({"data_format": layout, "ksize": attrs["ksizes"]})


def _patches(c: Inference) -> Sequence[Shape]:
    window, sizes = patch_window(c.attrs)
    source = with_rank(c, 0, window.rank + 2)
    assert source is not None
    depth = None if source[-1] is None else source[-1] * math.prod(sizes)
    return [(source[0], *window.output(source[1:-1], sizes), depth)]


_PADDING = attr.string("SAME", "VALID")
extract_image_patches_op = op(
    "ExtractImagePatches",
    "images: T -> patches: T",
    ksizes=attr.integers(4),
    strides=attr.integers(4),
    rates=attr.integers(4),
    T=dtypes.NUMERIC | {dtypes.bool},
    padding=_PADDING,
    infer=_patches,
    doc="Extracts the pixels of each window, in row-major order, to the depth dimension; zero-padded at the border.",
)
extract_volume_patches = export("extract_volume_patches")(
    op(
        "ExtractVolumePatches",
        "input: T -> patches: T",
        ksizes=attr.integers(5),
        strides=attr.integers(5),
        T=dtypes.REAL,
        padding=_PADDING,
        infer=_patches,
        doc="Extracts the cells of each 3-D window to the depth dimension; zero-padded at the border.",
    )
)


@export("extract_image_patches", "image.extract_image_patches")
def extract_image_patches(
    images: TensorLike,
    ksizes: int | Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    rates: int | Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: int | Sequence[int] | None = None,
) -> Tensor:
    """Extracts the pixels of each window of each image to the depth dimension.

    Args:
        padding: "SAME" pads with zeros, "VALID" takes complete windows alone.
        sizes: Deprecated name of `ksizes`.
    """
    ksizes = one_of("sizes", sizes, "ksizes", ksizes)
    return extract_image_patches_op(images, ksizes=ksizes, strides=strides, rates=rates, padding=padding, name=name)


@export("image.extract_patches")
def extract_patches(
    images: TensorLike,
    sizes: int | Sequence[int],
    strides: int | Sequence[int],
    rates: int | Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Extracts the pixels of each window of each image to the depth dimension.

    Args:
        sizes: Size of the window along each dimension.
    """
    return extract_image_patches_op(images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name)

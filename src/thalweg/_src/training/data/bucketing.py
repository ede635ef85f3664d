"""Bucketing: batches of elements of similar length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_less
from thalweg._src.graph.ops.comparison import less_equal, logical_and
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reduction import reduce_min
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.experimental import Transformation, group_by_window
from thalweg._src.training.data.structure import Structure, flatten_up_to, map_leaves, pack


@export("data.experimental.bucket_by_sequence_length", "contrib.data.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Structure = None,
    padding_values: Structure = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Returns a transformation that batches, with padding, elements whose lengths lie between the same boundaries."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(
            f"len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1, there are {len(bucket_batch_sizes)} sizes "
            f"for {len(bucket_boundaries)} boundaries"
        )
    lower = constant(np.array([np.iinfo(np.int64).min, *bucket_boundaries], np.int64))
    upper = constant(np.array([*bucket_boundaries, np.iinfo(np.int64).max], np.int64))
    sizes = constant(np.array(bucket_batch_sizes, np.int64))

    def bucket_of(*element: Any) -> Tensor:
        length = cast(element_length_func(*element), dtypes.int64)
        within = logical_and(less_equal(lower, length), length < upper)
        return reduce_min(where(within))

    def size_of(bucket: Tensor) -> Tensor:
        return gather(sizes, bucket)

    def batch(bucket: Tensor, window: Dataset) -> Dataset:
        size = size_of(bucket)
        if no_padding:
            return window.batch(size, drop_remainder=drop_remainder)
        none_filler = None
        if pad_to_bucket_boundary:
            last = constant(len(bucket_boundaries), dtypes.int64)
            check = assert_less(bucket, last, message="an element is longer than the last boundary")
            with control_dependencies([check]):
                none_filler = identity(gather(upper, bucket)) - 1
        target_shapes = padded_shapes if padded_shapes is not None else window.output_shapes
        return window.padded_batch(
            size, _filled(window._structure, target_shapes, none_filler), padding_values, drop_remainder
        )

    return group_by_window(bucket_of, batch, window_size_func=size_of)


def _filled(structure: Structure, padded_shapes: Structure, filler: Tensor | None) -> Any:
    """Returns shapes to pad to, with the filler for unknown sizes."""
    if filler is None:
        return padded_shapes
    result = []
    for shape in flatten_up_to(structure, padded_shapes):
        sizes = shape.as_list() if hasattr(shape, "as_list") else list(shape)
        result.append(_vector([filler if size is None or size == -1 else size for size in sizes]))
    return pack(map_leaves(lambda leaf: None, structure), result)


def _vector(sizes: list[Any]) -> Tensor:
    return convert_to_tensor([size if isinstance(size, Tensor) else np.int64(size) for size in sizes], dtypes.int64)

"""tf.contrib.data: deprecated dataset transformations, by means of the current ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.ops.identity import ensure_shape
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.structure import flatten, flatten_up_to, pack

Transformation = Callable[[Dataset], Dataset]


@export("contrib.data.batch_and_drop_remainder")
def batch_and_drop_remainder(batch_size: TensorLike) -> Transformation:
    """Returns a transformation to batches of equal size."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


@export("contrib.data.padded_batch_and_drop_remainder")
def padded_batch_and_drop_remainder(
    batch_size: TensorLike, padded_shapes: object, padding_values: object = None
) -> Transformation:
    """Returns a transformation to padded batches of equal size."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


@export("contrib.data.sliding_window_batch")
def sliding_window_batch(
    window_size: TensorLike,
    stride: TensorLike | None = None,
    window_shift: TensorLike | None = None,
    window_stride: TensorLike = 1,
) -> Transformation:
    """Returns a transformation to batches of sliding windows.

    Args:
        stride: Deprecated name of `window_shift`.
        window_shift: Number of elements between the starts of windows.
        window_stride: Number of elements between neighbours in a window.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = window_shift if window_shift is not None else 1 if stride is None else stride

    def apply(dataset: Dataset) -> Dataset:
        windows = dataset.window(window_size, shift, window_stride, drop_remainder=True)
        return windows.flat_map(lambda *datasets: _together(datasets).batch(window_size, drop_remainder=True))

    return apply


def _together(datasets: Any) -> Dataset:
    whole = datasets[0] if len(datasets) == 1 else datasets
    return whole if isinstance(whole, Dataset) else Dataset.zip(whole)


@export("contrib.data.assert_element_shape")
def assert_element_shape(expected_shapes: object) -> Transformation:
    """Returns a transformation that checks the shapes of elements and sets their static shapes."""

    def apply(dataset: Dataset) -> Dataset:
        def checked(*element: Any) -> Any:
            whole = element[0] if len(element) == 1 else element
            sizes = flatten_up_to(whole, expected_shapes)
            return pack(whole, [ensure_shape(leaf, shape) for leaf, shape in zip(flatten(whole), sizes)])

        return dataset.map(checked)

    return apply

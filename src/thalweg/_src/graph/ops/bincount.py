"""Histograms, bincount and confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, compatible, merge, num_elements, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference, complete, static_value
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_less, assert_non_negative
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.concat import pack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.gather import scatter_nd
from thalweg._src.graph.ops.math import add, clip_by_value, floor, maximum, minimum, multiply, subtract, truediv
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_max, reduce_prod
from thalweg._src.graph.ops.reshape import ones_like, reshape, shape, squeeze
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.ops.shape_functions import require, scalar_value, vector_size
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_COUNTED = frozenset((dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64))


def _histogram(c: Inference) -> Sequence[Shape]:
    limits = vector_size(c, 1)
    require(limits in (None, 2), f"value_range has {limits} elements", expected="2 elements")
    bins = scalar_value(c, 2)
    require(bins is None or bins > 0, f"nbins is {bins}", expected="nbins > 0")
    return [(bins,)]


histogram_fixed_width_op = nondifferentiable_op(
    "HistogramFixedWidth",
    "values: T, value_range: T, nbins: int32 -> out: dtype",
    "Counts the values in each of nbins equal-width bins; values outside the range count in the outer bins.",
    T=_COUNTED,
    dtype=attr.types(dtypes.INDEX, dtypes.int32),
    host="value_range, nbins",
    infer=_histogram,
)


def _require_weights(values: Shape, weights: Shape, alike: bool) -> None:
    """Requires no weights, or one per value: of the same shape, or of any."""
    count, weight_count = num_elements(values), num_elements(weights)
    fits = weight_count in (None, 0) or (compatible(values, weights) if alike else count in (None, weight_count))
    require(fits, f"weights have shape {show(weights)}", expected=f"none, or one for each of {show(values)}")


def _bincount(c: Inference) -> Sequence[Shape]:
    size = scalar_value(c, 1)
    require(size is None or size >= 0, f"size is {size}", expected="size >= 0")
    _require_weights(c.shapes[0], c.shapes[2], alike=c.definition.name == "DenseBincount")
    return [(size,)]


def _dense_bincount(c: Inference) -> Sequence[Shape]:
    values, (counts,) = c.shapes[0], _bincount(c)
    require(values is None or len(values) <= 2, f"input is {show(values)}", expected="rank at most 2")
    if values is None:
        return [None]
    return [(values[0], *counts)] if len(values) == 2 else [counts]  # type: ignore[misc]


bincount_op = nondifferentiable_op(
    "Bincount",
    "arr: int32, size: int32, weights: T -> bins: T",
    "Counts the occurrences of each integer below size, or sums their weights.",
    T=_COUNTED,
    host="size",
    infer=_bincount,
)
dense_bincount_op = nondifferentiable_op(
    "DenseBincount",
    "input: Tidx, size: Tidx, weights: T -> output: T",
    "Counts the occurrences of each integer, per row for a matrix, or only whether each occurs.",
    Tidx=dtypes.INDEX,
    T=_COUNTED,
    binary_output=False,
    host="size",
    infer=_dense_bincount,
)


@export("histogram_fixed_width")
def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Counts values in equal-width bins; values outside the range count in the first or the last bin.

    Args:
        values: The numbers to count.
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return histogram_fixed_width_op(values, value_range, nbins, dtype=dtype, name=scope)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Returns the index of the equal-width bin of each value.

    Args:
        values: The numbers to count.
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        limits: Any = convert_to_tensor(value_range, values.dtype, name="value_range")
        bins = convert_to_tensor(nbins, dtypes.int32, name="nbins")
        bins = with_dependencies([Assert(greater(bins, 0), ["nbins is not positive:", bins])], bins)
        flat = reshape(values, [-1])
        scaled = truediv(subtract(flat, limits[0]), subtract(limits[1], limits[0]), name="scaled_values")
        count = cast(bins, scaled.dtype)
        places = clip_by_value(floor(multiply(count, scaled), name="indices"), 0, subtract(count, 1))
        return reshape(cast(places, dtypes.int32), shape(values))


@export("bincount", "math.bincount")
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Counts the occurrences of each integer, or sums their weights, up to the largest integer.

    Args:
        arr: The integers to count, none negative.
        weights: Weight of each integer, which is summed in place of 1.
    """
    with name_scope(name, "bincount", [arr, weights]):
        arr = convert_to_tensor(arr, dtypes.int32, name="arr")
        size = _bins(arr, minlength, maxlength)
        if weights is not None:
            return unsorted_segment_sum(convert_to_tensor(weights, name="weights"), arr, size)
        return bincount_op(arr, size, constant([], dtype))


def _bins(arr: Tensor, minlength: TensorLike | None, maxlength: TensorLike | None) -> Tensor:
    """Returns the largest value plus one, 0 if there are none, within limits; constant if known statically."""
    least = None if minlength is None else convert_to_tensor(minlength, dtypes.int32, name="minlength")
    most = None if maxlength is None else convert_to_tensor(maxlength, dtypes.int32, name="maxlength")
    static, low, high = (None if t is None else complete(static_value(t)) for t in (arr, least, most))
    if most is not None and low is not None and high is not None and high <= low:
        return most
    if static is not None:
        size = constant(int(static.max(initial=-1)) + 1, dtypes.int32)
    else:
        size = multiply(cast(greater(reduce_prod(shape(arr)), 0), dtypes.int32), add(reduce_max(arr), 1))
    size = size if least is None else maximum(least, size)
    return size if most is None else minimum(most, size)


@export("confusion_matrix", "math.confusion_matrix", "contrib.metrics.confusion_matrix")
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """Counts, or sums weights, for each label (row) and prediction (column).

    Args:
        labels: The true classes.
        predictions: The predicted classes.
        num_classes: Number of classes; by default one more than the largest label or prediction.
        weights: Weight of each prediction.
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]) as scope:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        labels = _checked(labels, "labels", num_classes)
        predictions = _checked(predictions, "predictions", num_classes)
        if num_classes is None:
            num_classes = add(maximum(reduce_max(predictions), reduce_max(labels)), 1)
        count = cast(num_classes, dtypes.int64)
        if weights is None:
            values = ones_like(predictions, dtype)
        else:
            values = cast(convert_to_tensor(weights, name="weights"), dtype)
            merge(predictions.dims, values.dims)
        return scatter_nd(pack([labels, predictions], axis=1), values, pack([count, count]), name=scope)


def _checked(classes: Tensor, name: str, num_classes: Any) -> Tensor:
    """Returns the classes, guarded by assertions that they are in range."""
    checks = [assert_non_negative(classes, message=f"`{name}` contains negative values.  ")]
    if num_classes is not None:
        checks.append(assert_less(classes, cast(num_classes, dtypes.int64), message=f"`{name}` out of bound"))
    return with_dependencies(checks, classes)  # type: ignore[no-any-return]


def remove_squeezable_dimensions(
    labels: TensorLike, predictions: TensorLike, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Removes a last dimension of size 1 from the argument that has one dimension too many."""
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        if predictions.dims is None or labels.dims is None:
            return labels, predictions
        difference = len(predictions.dims) - len(labels.dims)
        if difference == expected_rank_diff + 1 and predictions.dims[-1] in (1, None):
            predictions = squeeze(predictions, [-1])
        elif difference == expected_rank_diff - 1 and labels.dims[-1] in (1, None):
            labels = squeeze(labels, [-1])
        return labels, predictions

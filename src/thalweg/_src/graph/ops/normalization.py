"""Normalization: batch normalization, L2 normalization, local response normalization; and moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge, num_elements
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops import cast as cast_ops, math, reshape as reshape_ops
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.reduction import one_of, reduce_mean, reduce_prod, reduce_sum
from thalweg._src.graph.ops.reshape import squeeze, zeros_like
from thalweg._src.graph.ops.shape_functions import same_dimension, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_SMALL = frozenset((dtypes.float16, dtypes.bfloat16, dtypes.float32))
_FLOAT32 = frozenset((dtypes.float32,))
_EPSILON = 0.0001
_LEAST_EPSILON = 1.001e-5  # cuDNN's minimum


def _channels(c: Inference, images: Sequence[int], vectors: Sequence[int]) -> tuple[Shape, int | None]:
    """Returns the shape of the images and their channels, which must be the length of the vectors."""
    layout = c.attrs["data_format"]
    shape: Shape = None
    for index in images:
        shape = merge(shape, with_rank(c, index, len(layout)))
    assert shape is not None
    axis = 1 if layout.startswith("NC") else len(layout) - 1
    size = shape[axis]
    for index in vectors:
        vector = with_rank(c, index, 1)
        name = c.definition.inputs[index].name
        assert vector is not None
        size = same_dimension(size, vector[0], f"channels and {name}", f"{name}.shape[0] == channels")
    return (*shape[:axis], size, *shape[axis + 1 :]), size


def _batch_norm(c: Inference) -> Sequence[Shape]:
    # In training the old statistics matter only if they are blended with the batch's, and may be empty otherwise.
    blends = not c.attrs["is_training"] or c.attrs["exponential_avg_factor"] != 1.0
    shape, size = _channels(c, [0], [1, 2, 3, 4] if blends else [1, 2])
    for index in (3, 4):
        with_rank(c, index, 1)
    return [shape, *[(size,)] * 4, *[(0,)] * (c.num_outputs - 5)]


def _batch_norm_grad(c: Inference) -> Sequence[Shape]:
    shape, size = _channels(c, [0, 1], [2, 3, 4])
    return [shape, (size,), (size,), (0,), (0,)]


def _settings(layouts: tuple[str, ...] = ("NHWC", "NCHW")) -> dict[str, Any]:
    return {"epsilon": _EPSILON, "data_format": attr.string(*layouts, default="NHWC"), "is_training": True}


_ANY_RANK = ("NHWC", "NCHW", "NDHWC", "NCDHW")
_IN = "x: T, scale: {0}, offset: {0}, mean: {0}, variance: {0}"
_OUT = "y: T, batch_mean: {0}, batch_variance: {0}, reserve_space_1: {0}, reserve_space_2: {0}"
_GRAD_IN = "y_backprop: T, x: T, scale: {1}, reserve_space_1: {0}, reserve_space_2: {0}"
_GRAD_OUT = "x_backprop: T, scale_backprop: {0}, offset_backprop: {0}, reserve_space_{1}: {0}, reserve_space_{2}: {0}"
fused_batch_norm_v1_op = op(
    "FusedBatchNorm",
    f"{_IN} -> {_OUT}".format("T"),
    T=_FLOAT32,
    exponential_avg_factor=1.0,
    infer=_batch_norm,
    **_settings(),
    traceable=True,
    doc="Normalizes each channel of a batch of images; the first version, for float32.",
)
fused_batch_norm_v2_op = op(
    "FusedBatchNormV2",
    f"{_IN} -> {_OUT}".format("U"),
    T=_SMALL,
    U=_FLOAT32,
    exponential_avg_factor=1.0,
    infer=_batch_norm,
    **_settings(),
    traceable=True,
    doc="Normalizes each channel of a batch of images; statistics have a type of their own.",
)
fused_batch_norm_op = op(
    "FusedBatchNormV3",
    f"{_IN} -> {_OUT}, reserve_space_3: {{0}}".format("U"),
    T=_SMALL,
    U=_FLOAT32 | {dtypes.bfloat16},
    exponential_avg_factor=1.0,
    infer=_batch_norm,
    doc="Normalizes each channel to mean 0 and variance 1, scales and shifts it; also returns the statistics used.",
    **_settings(_ANY_RANK),
    traceable=True,
)
fused_batch_norm_grad_v1_op = op(
    "FusedBatchNormGrad",
    f"{_GRAD_IN.format('T', 'T')} -> {_GRAD_OUT.format('T', 3, 4)}",
    T=_FLOAT32,
    infer=_batch_norm_grad,
    **_settings(),
    traceable=True,
    doc="Computes the gradients of FusedBatchNorm with respect to its input, scale and offset.",
)
fused_batch_norm_grad_v2_op = op(
    "FusedBatchNormGradV2",
    f"{_GRAD_IN.format('U', 'float32')} -> {_GRAD_OUT.format('U', 3, 4)}",
    T=_SMALL,
    U=_FLOAT32,
    infer=_batch_norm_grad,
    **_settings(),
    traceable=True,
    doc="Computes the gradients of FusedBatchNormV2 with respect to its input, scale and offset.",
)
fused_batch_norm_grad_op = op(
    "FusedBatchNormGradV3",
    f"{_GRAD_IN.format('U', 'float32')}, reserve_space_3: U -> {_GRAD_OUT.format('U', 4, 5)}",
    T=_SMALL,
    U=_FLOAT32,
    infer=_batch_norm_grad,
    **_settings(_ANY_RANK),
    traceable=True,
    doc="Computes the gradients of FusedBatchNormV3 with respect to its input, scale and offset.",
)


@export("nn.fused_batch_norm")
def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizes each channel of images in one op; returns the result and the running mean and variance.

    Args:
        x: Images [batch, height, width, channels].
        scale: Factor of each channel (gamma).
        offset: What is added to each channel (beta).
        mean: Running mean of each channel; needed unless the batch alone counts.
        variance: Running variance of each channel; needed unless the batch alone counts.
        is_training: Whether the statistics of the batch are used.
        exponential_avg_factor: Weight of the batch in the running statistics; 1 takes the batch alone.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "mean or variance is missing: without training, or with exponential_avg_factor != 1, expected two vectors; "
            f"received mean {mean!r} and variance {variance!r}"
        )
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, dtypes.float32, name="scale")
    offset = convert_to_tensor(offset, dtypes.float32, name="offset")
    result = fused_batch_norm_op.many(
        x,
        scale,
        offset,
        constant([], dtypes.float32) if mean is None else mean,
        constant([], dtypes.float32) if variance is None else variance,
        epsilon=max(epsilon, _LEAST_EPSILON),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return result[0], result[1], result[2]


@export("nn.batch_normalization")
def batch_normalization(
    x: TensorLike,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float | Tensor,
    name: str | None = None,
) -> Tensor:
    """Returns (x - mean) / sqrt(variance + epsilon) * scale + offset; offset and scale may be None.

    Args:
        mean: The mean.
        variance: The variance.
        offset: What is added at the end (beta), or None.
        scale: Factor of the result (gamma), or None.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        factor = math.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor *= scale
        shift = -mean * factor if offset is None else offset - mean * factor
        images = convert_to_tensor(x)
        result: Tensor = images * cast_ops.cast(factor, images.dtype) + cast_ops.cast(shift, images.dtype)
        return result


@export("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    t: TensorLike | None = None,
    m: TensorLike | None = None,
    v: TensorLike | None = None,
    beta: float | Tensor | None = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Tensor:
    """Normalizes by given statistics; gamma scales only if scale_after_normalization.

    Args:
        m: The mean.
        v: The variance.
        beta: The offset.
        gamma: The factor.
        scale_after_normalization: Whether the result is multiplied by `gamma`.
        input: Another name of `t`.
        mean: Another name of `m`.
        variance: Another name of `v`.
    """
    t, m, v = one_of("input", input, "t", t), one_of("mean", mean, "m", m), one_of("variance", variance, "v", v)
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


# Statistics.


def _in_float32(x: Tensor) -> Tensor:
    """Returns half-precision values in single precision, in which squares do not overflow."""
    return cast_ops.cast(x, dtypes.float32) if x.dtype is dtypes.float16 else x


@export("nn.moments")
def moments(
    x: TensorLike,
    axes: TensorLike,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes mean and variance along axes; shift has no effect.

    Args:
        axes: The axes to average over.
        shift: Ignored: the result is accurate without it.
    """
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x)
        y = _in_float32(x)
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        spread = math.squared_difference(y, stop_gradient(mean))
        if not keep and isinstance(axes, Tensor):
            mean, variance = reduce_mean(y, axes), reduce_mean(spread, axes, name="variance")
        else:
            variance = reduce_mean(spread, axes, keepdims=True, name="variance")
            if not keep:  # checkpoints contain moving averages under the names of these operations
                mean, variance = squeeze(mean, _listed(axes)), squeeze(variance, _listed(axes))
        return cast_ops.cast(mean, x.dtype), cast_ops.cast(variance, x.dtype)


def _listed(axes: Any) -> list[int]:
    return list(axes) if hasattr(axes, "__len__") else [axes]


@export("nn.weighted_moments")
def weighted_moments(
    x: TensorLike,
    axes: TensorLike,
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the weighted mean and variance along axes.

    Args:
        axes: The axes to sum over.
        frequency_weights: Weights of the elements.
    """
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        y = _in_float32(x)
        weights = cast_ops.cast(convert_to_tensor(frequency_weights, name="frequency_weights"), y.dtype)
        weights += zeros_like(y)
        divisor = math.reciprocal(reduce_sum(weights, axes, keepdims=True))
        mean = reduce_sum(weights * y, axes, keepdims=True) * divisor
        variance = reduce_sum(weights * math.squared_difference(y, mean), axes, keepdims=True) * divisor
        if not keep:
            mean, variance = squeeze(mean, _listed(axes)), squeeze(variance, _listed(axes))
        return cast_ops.cast(mean, x.dtype), cast_ops.cast(variance, x.dtype)


@export("nn.sufficient_statistics")
def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Returns the count, the sum and the sum of squares of (x - shift) along axes, and the shift.

    Args:
        axes: The axes to sum over.
        shift: Value that is subtracted before summing, for accuracy.
    """
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        axes = sorted(set(_listed(axes)))
        if x.dims is not None and not all(-len(x.dims) <= axis < len(x.dims) for axis in axes):
            raise ValueError(f"axes: expected some of the {len(x.dims)} dimensions of x, received {axes}")
        dims = None if x.dims is None else [x.dims[axis] for axis in axes]
        if dims is not None and None not in dims:
            counts = constant(num_elements(tuple(dims)), x.dtype, name="count")
        else:
            counts = reduce_prod(cast_ops.cast(gather(reshape_ops.shape(x), axes), x.dtype), name="count")
        if shift is None:
            first, second = x, math.square(x)
        else:
            shift = convert_to_tensor(shift, x.dtype, name="shift")
            first, second = x - shift, math.squared_difference(x, shift)
        return (
            counts,
            reduce_sum(first, axes, keepdims=keep, name="mean_ss"),
            reduce_sum(second, axes, keepdims=keep, name="var_ss"),
            shift,
        )


@export("nn.normalize_moments")
def normalize_moments(
    counts: TensorLike, mean_ss: TensorLike, variance_ss: TensorLike, shift: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns mean and variance from sufficient statistics.

    Args:
        counts: Number of values.
        mean_ss: Sum of the values, shifted.
        variance_ss: Sum of their squares, shifted.
        shift: The shift that was used, or None.
    """
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = math.reciprocal(counts, name="divisor")
        shifted = math.multiply(mean_ss, divisor, name="mean" if shift is None else "shifted_mean")
        mean = shifted if shift is None else math.add(shifted, shift, name="mean")
        variance = math.subtract(math.multiply(variance_ss, divisor), math.square(shifted), name="variance")
        return mean, variance


# Norms and local response normalization.


@export("linalg.l2_normalize", "math.l2_normalize", "nn.l2_normalize")
def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Computes x / sqrt(max(sum(x ** 2), epsilon)) along axes.

    Args:
        axis: The axes to sum over.
        epsilon: Lower bound of the sum of squares.
    """
    axis = one_of("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce_sum(math.square(x), axis, keepdims=True)
        return math.multiply(x, math.rsqrt(math.maximum(total, epsilon)), name=scope)


def _neighbours(c: Inference) -> Sequence[Shape]:
    shape: Shape = None
    for index in range(len(c.shapes)):
        shape = merge(shape, with_rank(c, index, 4))
    return [shape]


_LRN: dict[str, Any] = {
    "depth_radius": 5,
    "bias": 1.0,
    "alpha": 1.0,
    "beta": 0.5,
    "T": attr.types(_SMALL, dtypes.float32),
}
local_response_normalization = export(
    "nn.local_response_normalization",
    "nn.lrn",
    depth_radius="Number of neighbouring channels on each side.",
    bias="What is added to the sum of squares.",
    alpha="Factor of the sum of squares.",
    beta="The exponent.",
)(
    op(
        "LRN",
        "input: T -> output: T",
        infer=_neighbours,
        doc="Computes x / (bias + alpha * sum of squares of the neighboring channels) ** beta.",
        **_LRN,
    )
)
lrn = local_response_normalization
lrn_grad = nondifferentiable_op(
    "LRNGrad",
    "input_grads: T, input_image: T, output_image: T -> output: T",
    infer=_neighbours,
    **_LRN,
    doc="Computes the gradient of local response normalization with respect to its input.",
)

"""Batch normalization: by statistics of the batch in training, by moving averages otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, math
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.identity import identity, stop_gradient
from thalweg._src.graph.ops.normalization import batch_normalization as normalized, fused_batch_norm, moments
from thalweg._src.graph.ops.reduction import reduce_mean
from thalweg._src.graph.ops.reshape import ones_like, reshape, shape, zeros_like
from thalweg._src.graph.scopes import colocate_with, control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.base import Layer
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.named import ONES, ZEROS, initializer_of
from thalweg._src.training.nn.smart_cond import smart_cond, smart_constant_value
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.variable_scope import ReuseMode
from thalweg._src.training.variables.variables import Variable

# Replicas move averages of their own; outside of them, and in checkpoints, the mean counts.
_PER_REPLICA: Any = {"synchronization": VariableSynchronization.ON_READ, "aggregation": VariableAggregation.MEAN}
_SMALL = (dtypes.float16, dtypes.bfloat16)
_CLIPPING_KEYS = {"rmax", "rmin", "dmax"}


@export("layers.BatchNormalization")
class BatchNormalization(Layer):
    """Batch normalization: (inputs - mean) / sqrt(variance + epsilon) * gamma + beta, per element of `axis`.

    Args:
        trainable: Whether the layer's variables are added to `TRAINABLE_VARIABLES`.
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        momentum: TensorLike = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: str | Callable[..., Any] = ZEROS,
        gamma_initializer: str | Callable[..., Any] = ONES,
        moving_mean_initializer: str | Callable[..., Any] = ZEROS,
        moving_variance_initializer: str | Callable[..., Any] = ONES,
        beta_regularizer: Callable[..., Any] | None = None,
        gamma_regularizer: Callable[..., Any] | None = None,
        beta_constraint: Callable[..., Any] | None = None,
        gamma_constraint: Callable[..., Any] | None = None,
        renorm: bool = False,
        renorm_clipping: dict[str, Any] | None = None,
        renorm_momentum: TensorLike = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Callable[..., Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        if not isinstance(axis, int | list | tuple):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        clipping = renorm_clipping or {}
        if not _CLIPPING_KEYS.issuperset(clipping):
            raise ValueError(f"renorm_clipping {clipping} contains keys not in {sorted(_CLIPPING_KEYS)}")
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = initializer_of(beta_initializer)
        self.gamma_initializer = initializer_of(gamma_initializer)
        self.moving_mean_initializer = initializer_of(moving_mean_initializer)
        self.moving_variance_initializer = initializer_of(moving_variance_initializer)
        self.beta_regularizer = beta_regularizer
        self.gamma_regularizer = gamma_regularizer
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint
        self.renorm = renorm
        self.renorm_clipping = clipping
        self.renorm_momentum = renorm_momentum
        self.fused = fused is not False
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
        self.gamma: Any = None
        self.beta: Any = None

    # -- variables ----------------------------------------------------------------------------------------------------

    def build(self, input_shape: ShapeLike) -> None:
        """Creates gamma, beta and the moving averages."""
        sizes = as_shape(input_shape)
        if not sizes:
            raise ValueError(f"Input has undefined rank: {input_shape}")
        axes = self._require_axes(len(sizes))
        axis_sizes = {axis: sizes[axis] for axis in axes}
        if None in axis_sizes.values():
            raise ValueError(f"Input has undefined `axis` dimension. Input shape: {input_shape}")
        self.input_spec = InputSpec(ndim=len(sizes), axes=axis_sizes)
        kind = dtypes.as_dtype(self.dtype or dtypes.float32)
        self.fused = self.fused and kind is not dtypes.float64 and self._can_be_fused(len(sizes), axes)
        self._param_dtype = dtypes.float32 if kind in _SMALL else kind
        if len(axes) == 1 and self.virtual_batch_size is None:
            self._param_shape = [axis_sizes[axes[0]]]
        else:
            self._param_shape = [axis_sizes.get(axis, 1) for axis in range(len(sizes))]
        if self.virtual_batch_size is not None:  # the batch is split into two axes
            self._param_shape.insert(1, 1)
            axes = [axis + 1 for axis in axes]
        self.axis = axes
        if self.scale:
            self.gamma = self._parameter(
                "gamma", self.gamma_initializer, self.gamma_regularizer, self.gamma_constraint, trainable=True
            )
        if self.center:
            self.beta = self._parameter(
                "beta", self.beta_initializer, self.beta_regularizer, self.beta_constraint, trainable=True
            )
        self._add_averages()
        self.built = True

    def _require_axes(self, rank: int) -> list[int]:
        """Returns the nonnegative axes, after checks of them and of the options that depend on them."""
        requested_axes = [self.axis] if isinstance(self.axis, int) else self.axis
        axes = [axis + rank if axis < 0 else axis for axis in requested_axes]
        for axis in axes:
            if not 0 <= axis < rank:
                raise ValueError(f"Invalid axis: {axis}")
        if len(set(axes)) != len(axes):
            raise ValueError(f"Duplicate axis: {axes}")
        if self.virtual_batch_size is not None:
            if self.virtual_batch_size <= 0:
                raise ValueError("virtual_batch_size must be a positive integer that divides the true batch size")
            if 0 in axes:
                raise ValueError("with virtual_batch_size the first axis is the batch: axis cannot include 0")
            if self.adjustment is not None:
                raise ValueError("When using virtual_batch_size, adjustment cannot be specified")
        return axes

    def _can_be_fused(self, rank: int, axes: list[int]) -> bool:
        plain = not self.renorm and self.virtual_batch_size is None and self.adjustment is None
        return plain and rank == 4 and axes in ([1], [3])

    def _parameter(
        self,
        name: str,
        initializer: str | Callable[..., Any] | None,
        regularizer: Callable[..., Any] | None = None,
        constraint: Callable[..., Any] | None = None,
        trainable: bool = False,
    ) -> Any:
        return self.add_weight(
            name,
            shape=self._param_shape,
            dtype=self._param_dtype,
            initializer=initializer,
            regularizer=regularizer,
            constraint=constraint,
            trainable=trainable,
            **_PER_REPLICA if not trainable else {},
        )

    def _add_averages(self) -> None:
        """Creates the moving averages, unpartitioned even if the scope has a partitioner."""
        with self._unpartitioned():
            self.moving_mean = self._parameter("moving_mean", self.moving_mean_initializer)
            self.moving_variance = self._parameter("moving_variance", self.moving_variance_initializer)
            if not self.renorm:
                return
            # They start at zero with weight zero, so that the first batch has full weight.
            for key, beside in (("renorm_mean", self.moving_mean), ("renorm_stddev", self.moving_variance)):
                with colocate_with(beside):
                    setattr(self, key, self._parameter(key, ZEROS))
                    weight = self.add_weight(
                        f"{key}_weight",
                        shape=(),
                        dtype=self._param_dtype,
                        initializer=ZEROS,
                        trainable=False,
                        **_PER_REPLICA,
                    )
                    setattr(self, f"{key}_weight", weight)

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, inputs: TensorLike, training: TensorLike = False, **kwargs: Any) -> Tensor:
        """Normalizes by the statistics of the batch if `training`, which may be a tensor, and adds the updates."""
        inputs = convert_to_tensor(inputs)
        training = False if training is None else training
        static_training = smart_constant_value(training)
        if self.fused:
            return self._call_fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._call_plain(inputs, training, static_training)
        rest = [shape(inputs)[i] if n is None else n for i, n in enumerate(inputs.dims or ()) if i > 0]
        groups = reshape(inputs, [self.virtual_batch_size, -1, *rest])
        outputs = reshape(self._call_plain(groups, training, static_training), [-1, *rest])
        outputs.set_shape(inputs.dims)
        return outputs

    def _call_fused(self, inputs: Tensor, training: TensorLike) -> Tensor:
        """Normalizes with FusedBatchNorm."""
        gamma = self.gamma if self.scale else constant(1.0, self._param_dtype, self._param_shape)
        beta = self.beta if self.center else constant(0.0, self._param_dtype, self._param_shape)

        def normalized_by(batch: bool) -> tuple[Tensor, Tensor, Tensor]:
            return fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=None if batch else self.moving_mean,
                variance=None if batch else self.moving_variance,
                epsilon=self.epsilon,
                data_format="NCHW" if self.axis == [1] else "NHWC",
                is_training=batch,
            )

        outputs, mean, variance = smart_cond(training, lambda: normalized_by(True), lambda: normalized_by(False))
        if smart_constant_value(training) is not False:
            # Outside of training the averages do not change.
            momentum = smart_cond(training, lambda: convert_to_tensor(self.momentum), lambda: constant(1.0))
            self._move(mean, variance, momentum)
        return outputs  # type: ignore[no-any-return]

    def _call_plain(self, inputs: Tensor, training: Any, static_training: bool | None) -> Tensor:
        """Normalizes with elementary operations; the statistics are selected first, so that this happens once."""
        kind: DType = inputs.dtype
        if kind in _SMALL:
            inputs = cast_ops.cast(inputs, dtypes.float32)
        sizes = inputs.dims
        assert sizes is not None and isinstance(self.axis, list)
        axes: list[int] = self.axis
        others = [axis for axis in range(len(sizes)) if axis not in axes]
        if self.virtual_batch_size is not None:
            del others[1]  # each virtual batch has its own statistics
        aligned = others == list(range(len(sizes) - 1))

        def spread(vector: Tensor | None) -> Any:
            """Reshapes a vector so that it broadcasts along the axis."""
            if vector is None or aligned or len(vector.get_shape()) == len(sizes):
                return vector
            return reshape(vector, [size if i == axes[0] else 1 for i, size in enumerate(sizes)])

        scale, offset = spread(self.gamma), spread(self.beta)
        mean, variance = self.moving_mean, self.moving_variance
        if static_training is not False:
            if self.adjustment is not None:
                scale, offset = _composed(*self._adjusted(inputs, training), scale, offset)
            batch_mean, batch_variance = moments(inputs, others, keepdims=len(self._param_shape) > 1)
            mean = smart_cond(training, lambda: batch_mean, lambda: self.moving_mean)
            variance = smart_cond(training, lambda: batch_variance, lambda: self.moving_variance)
            r, d = self._update(mean, variance, training)
            if r is not None:
                scale, offset = _composed(spread(r), spread(d), scale, offset)
        outputs: Tensor = normalized(inputs, spread(mean), spread(variance), offset, scale, self.epsilon)
        outputs.set_shape(sizes)
        return cast_ops.cast(outputs, kind)  # type: ignore[no-any-return]

    def _adjusted(self, inputs: Tensor, training: TensorLike) -> tuple[Any, Any]:
        """Returns scale and bias of the `adjustment` function, which applies only in training."""
        assert self.adjustment is not None
        scale, bias = self.adjustment(shape(inputs))
        return (
            smart_cond(training, lambda: scale, lambda: ones_like(scale)),
            smart_cond(training, lambda: bias, lambda: zeros_like(bias)),
        )

    # -- moving averages ----------------------------------------------------------------------------------------------

    def _move(self, mean: Tensor, variance: Tensor, momentum: Any) -> None:
        for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            self.add_update(_moved_towards(variable, value, momentum, read_value=False))

    def _update(self, mean: Tensor, variance: Tensor, training: TensorLike) -> tuple[Any, Any]:
        """Adds the updates, and returns the corrections of batch renormalization if it is enabled.

        Outside of training the statistics are the averages themselves, so that the updates change nothing.
        """
        r = d = None
        if self.virtual_batch_size is not None:
            mean, variance = (reduce_mean(value, axis=1, keepdims=True) for value in (mean, variance))
        if self.renorm:
            r, d, mean, variance = self._renormalized(mean, variance, training)
        self._move(mean, variance, self.momentum)
        return r, d

    def _renormalized(self, mean: Tensor, variance: Tensor, training: TensorLike) -> tuple[Any, Any, Any, Any]:
        """Returns the renormalization factors r and d, and the averages after this step."""
        this: Any = self
        stddev = math.sqrt(variance + self.epsilon)
        average_mean = this.renorm_mean + (1.0 - this.renorm_mean_weight) * mean
        average_stddev = this.renorm_stddev + (1.0 - this.renorm_stddev_weight) * stddev
        r, d = stddev / average_stddev, (mean - average_mean) / average_stddev
        with control_dependencies([r, d]):  # the corrections use the averages before this step
            mean, stddev = identity(mean), identity(stddev)
        limits = self.renorm_clipping
        if limits.get("rmin") is not None:
            r = math.maximum(r, limits["rmin"])
        if limits.get("rmax") is not None:
            r = math.minimum(r, limits["rmax"])
        if limits.get("dmax") is not None:
            d = math.minimum(math.maximum(d, -limits["dmax"]), limits["dmax"])
        r = stop_gradient(smart_cond(training, lambda: r, lambda: ones_like(r)), name="renorm_r")
        d = stop_gradient(smart_cond(training, lambda: d, lambda: zeros_like(d)), name="renorm_d")
        new_mean = self._moved_average(this.renorm_mean, this.renorm_mean_weight, mean, training)
        new_stddev = self._moved_average(this.renorm_stddev, this.renorm_stddev_weight, stddev, training)
        # Outside of training the moving averages do not change.
        new_mean = smart_cond(training, lambda: new_mean, lambda: self.moving_mean)
        new_variance = math.square(new_stddev) - self.epsilon
        return r, d, new_mean, smart_cond(training, lambda: new_variance, lambda: self.moving_variance)

    def _moved_average(self, variable: Variable, weight: Tensor, value: Tensor, training: TensorLike) -> Any:
        """Updates an average and its weight if training, and returns the bias-corrected average."""
        momentum = smart_cond(training, lambda: self.renorm_momentum, lambda: 1.0)
        with control_dependencies([value]):
            one = constant(1.0, self._param_dtype)
        return _moved_towards(variable, value, momentum) / _moved_towards(weight, one, momentum)

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        return input_shape


def _moved_towards(variable: Any, value: Tensor, momentum: float | Tensor, read_value: bool = True) -> Any:
    with name_scope(None, "AssignMovingAvg", [variable, value, momentum]) as scope, colocate_with(variable):
        rate = cast_ops.cast(convert_to_tensor(1.0 - momentum, name="decay"), variable.dtype.base_dtype)
        return variable.assign_sub((variable - value) * rate, name=scope, read_value=read_value)


def _composed(scale: Tensor | None, offset: Tensor | None, then_scale: Tensor, then_offset: Tensor) -> tuple[Any, Any]:
    """Returns the composition of two affine maps."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    return scale, offset if then_offset is None else offset + then_offset


@export("layers.batch_normalization")
def batch_normalization(
    inputs: TensorLike,
    axis: int | Sequence[int] = -1,
    momentum: TensorLike = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: str | Callable[..., Any] = ZEROS,
    gamma_initializer: str | Callable[..., Any] = ONES,
    moving_mean_initializer: str | Callable[..., Any] = ZEROS,
    moving_variance_initializer: str | Callable[..., Any] = ONES,
    beta_regularizer: Callable[..., Any] | None = None,
    gamma_regularizer: Callable[..., Any] | None = None,
    beta_constraint: Callable[..., Any] | None = None,
    gamma_constraint: Callable[..., Any] | None = None,
    training: TensorLike = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | ReuseMode | None = None,
    renorm: bool = False,
    renorm_clipping: dict[str, Any] | None = None,
    renorm_momentum: TensorLike = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Callable[..., Any] | None = None,
) -> Tensor:
    """Normalizes by the batch if `training`, otherwise by moving averages, updated by the collection UPDATE_OPS."""
    options = {key: value for key, value in locals().items() if key not in ("inputs", "training", "reuse")}
    layer = BatchNormalization(**options, _reuse=reuse, _scope=name)
    return layer(inputs, training=training)  # type: ignore[no-any-return]

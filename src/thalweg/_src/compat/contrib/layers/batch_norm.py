"""Batch normalization whose moving averages are updated by a collection, or in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.framework.variables import layer_scope, model_variable
from thalweg._src.compat.contrib.layers.outputs import add_to_variable_collections, finished, get_variable_collections
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.normalization import batch_normalization, fused_batch_norm, moments, weighted_moments
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.scopes import GraphKeys, add_to_collections, control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.normalization import BatchNormalization
from thalweg._src.training.nn.smart_cond import smart_cond, smart_constant_value
from thalweg._src.training.optimizers.moving_averages import assign_moving_average
from thalweg._src.training.variables.initializers import Ones, Zeros
from thalweg._src.training.variables.variable_scope import ReuseMode, VariableScope

_SMALL = (dtypes.float16, dtypes.bfloat16)
_DEFAULTS = {"beta": Zeros(), "gamma": Ones(), "moving_mean": Zeros(), "moving_variance": Ones()}


@export("contrib.layers.batch_norm", "contrib.slim.batch_norm")
@add_arg_scope
def batch_norm(
    inputs: TensorLike,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: Sequence[str] | None = GraphKeys.UPDATE_OPS,
    is_training: TensorLike = True,
    reuse: bool | ReuseMode | None = None,
    variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    batch_weights: TensorLike | None = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: str | VariableScope | None = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Tensor:
    """Normalizes each channel by the batch if is_training, otherwise by moving averages.

    `updates_collections=None` updates the averages whenever the outputs are computed.

    Args:
        decay: Decay of the moving averages; near 1 for large data sets.
        param_regularizers: Regularizers by variable: "beta", "gamma".
        updates_collections: Collections for the updates of the averages; None updates them with the output.
        batch_weights: Weight of each example in the statistics.
        zero_debias_moving_mean: Whether the moving mean is corrected for its start at zero.
        renorm_decay: Decay of the moving averages of the renormalization.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    _require_compatible(batch_weights, fused, renorm)
    with layer_scope(scope, "BatchNorm", inputs, reuse) as opened:
        inputs = convert_to_tensor(inputs)
        initializers = {**_DEFAULTS, **(param_initializers or {})}
        regularizers = dict(param_regularizers or {})
        plain_updates = updates_collections == GraphKeys.UPDATE_OPS and not zero_debias_moving_mean
        rank = None if inputs.dims is None else len(inputs.dims)
        if not rank:
            raise ValueError(f"Inputs {inputs.label} has undefined rank")
        if plain_updates and batch_weights is None and (rank != 2 or renorm or adjustment is not None):
            layer = BatchNormalization(
                axis=1 if data_format == "NCHW" else -1,
                momentum=decay,
                epsilon=epsilon,
                center=center,
                scale=scale,
                **{f"{key}_initializer": value for key, value in initializers.items() if key in _DEFAULTS},
                beta_regularizer=regularizers.get("beta"),
                gamma_regularizer=regularizers.get("gamma"),
                renorm=renorm,
                renorm_clipping=renorm_clipping,
                renorm_momentum=renorm_decay,
                adjustment=adjustment,
                fused=fused,
                trainable=trainable,
                name=opened.name,
                _scope=opened,
                _reuse=reuse,
            )
            outputs = layer(inputs, training=is_training)
            for key in _DEFAULTS:
                add_to_variable_collections(getattr(layer, key), variables_collections, key)
        else:
            if renorm or adjustment is not None:
                raise ValueError("renorm and adjustment need the default updates_collections and no batch_weights")
            statistics = _Statistics(inputs, rank, data_format, batch_weights, fused is not False)
            statistics.make_variables(center, scale, initializers, regularizers, trainable, variables_collections)
            updates = (decay, zero_debias_moving_mean, updates_collections)
            outputs = statistics.normalize(is_training, epsilon, *updates)
        return finished(outputs, opened, None, None, activation_fn, outputs_collections)


def _require_compatible(batch_weights: object, fused: object, renorm: bool) -> None:
    if batch_weights is not None and fused:
        raise ValueError("Weighted mean and variance is not currently supported for fused batch norm.")
    if renorm and batch_weights is not None:
        raise ValueError("batch_weights is not supported with renorm")


class _Statistics:
    """Mean and variance of a batch and their moving averages, for updates that the layer does not make itself."""

    def __init__(self, inputs: Tensor, rank: int, data_format: str, batch_weights: Any, fused: bool) -> None:
        self._inputs = inputs
        self._rank = rank
        self._first = data_format == "NCHW" and rank > 2
        assert inputs.dims is not None
        channels = inputs.dims[1 if self._first else -1]
        if channels is None:
            raise ValueError(f"Inputs {inputs.label} has undefined channels dimension {inputs.shape}.")
        self._channels = channels
        self._weights = batch_weights
        self._fused = fused and batch_weights is None and rank in (2, 4) and inputs.dtype is not dtypes.float64
        self._dtype = dtypes.float32 if inputs.dtype in _SMALL else inputs.dtype.base_dtype

    def make_variables(
        self, center: bool, scale: bool, initializers: Any, regularizers: Any, trainable: bool, collections: Any
    ) -> None:
        """Creates offset, scale and the moving averages."""

        def make(name: str, trained: bool) -> Any:
            return model_variable(
                name,
                shape=[self._channels],
                dtype=self._dtype,
                initializer=initializers[name],
                regularizer=regularizers.get(name),
                trainable=trained,
                collections=get_variable_collections(collections, name),
            )

        self.beta = make("beta", trainable) if center else None
        self.gamma = make("gamma", trainable) if scale else None
        self.moving_mean = make("moving_mean", False)
        self.moving_variance = make("moving_variance", False)

    def normalize(self, is_training: Any, epsilon: float, decay: Any, zero_debias: bool, collections: Any) -> Tensor:
        """Returns the outputs; the averages are updated in place or by collections."""
        static_is_training = smart_constant_value(is_training)
        outputs, mean, variance = smart_cond(
            is_training, lambda: self._by_batch(epsilon), lambda: self._by_averages(epsilon)
        )
        outputs.set_shape(self._inputs.dims)
        if static_is_training is False:
            return outputs  # type: ignore[no-any-return]

        def moved() -> tuple[Any, Any]:
            return (
                assign_moving_average(self.moving_mean, mean, decay, zero_debias=zero_debias),
                assign_moving_average(self.moving_variance, variance, decay, zero_debias=False),
            )

        if collections is None:

            def after_updates() -> Tensor:
                with control_dependencies(list(moved())):
                    return identity(outputs)

            return smart_cond(is_training, after_updates, lambda: identity(outputs))  # type: ignore[no-any-return]
        averages = (self.moving_mean, self.moving_variance)
        for update in smart_cond(is_training, moved, lambda: tuple(identity(v) for v in averages)):
            add_to_collections(collections, update)
        return outputs  # type: ignore[no-any-return]

    def _by_batch(self, epsilon: float) -> tuple[Any, Any, Any]:
        """Returns the outputs and the statistics of the batch, with which the averages are updated."""
        if self._fused:
            return self._by_one_op(epsilon, training=True)
        axes = [axis for axis in range(self._rank) if axis != (1 if self._first else self._rank - 1)]
        inputs: Any = cast(self._inputs, self._dtype)
        if self._weights is None:
            mean, variance = moments(inputs, axes)
        else:
            weights = convert_to_tensor(self._weights, self._dtype)
            weights = reshape(weights, [-1, *[1] * (self._rank - 1)])
            mean, variance = weighted_moments(inputs, axes, weights)
        return self._normalized(inputs, mean, variance, epsilon), mean, variance

    def _by_averages(self, epsilon: float) -> tuple[Any, Any, Any]:
        mean, variance = identity(self.moving_mean), identity(self.moving_variance)
        if self._fused:
            outputs, _, _ = self._by_one_op(epsilon, training=False)
            return outputs, mean, variance
        return self._normalized(cast(self._inputs, self._dtype), mean, variance, epsilon), mean, variance

    def _normalized(self, inputs: Any, mean: Any, variance: Any, epsilon: float) -> Any:
        def aligned(vector: Any) -> Any:
            if vector is None or not self._first:
                return vector
            return reshape(vector, [1, self._channels, *[1] * (self._rank - 2)])

        outputs = batch_normalization(
            inputs, aligned(mean), aligned(variance), aligned(self.beta), aligned(self.gamma), epsilon
        )
        return cast(outputs, self._inputs.dtype)

    def _by_one_op(self, epsilon: float, training: bool) -> tuple[Any, Any, Any]:
        inputs: Any = self._inputs
        if self._rank == 2:
            inputs = reshape(inputs, [-1, 1, 1, self._channels])
        gamma = constant(1.0, self._dtype, [self._channels]) if self.gamma is None else self.gamma
        beta = constant(0.0, self._dtype, [self._channels]) if self.beta is None else self.beta
        outputs, mean, variance = fused_batch_norm(
            inputs,
            gamma,
            beta,
            mean=None if training else self.moving_mean,
            variance=None if training else self.moving_variance,
            epsilon=epsilon,
            data_format="NCHW" if self._first else "NHWC",
            is_training=training,
        )
        return reshape(outputs, shape(self._inputs)) if self._rank == 2 else outputs, mean, variance

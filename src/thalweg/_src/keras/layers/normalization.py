"""Normalization layers of Keras: by the batch, and by each example."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.ops.normalization import batch_normalization, moments
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import initializers
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.arguments import objects_of
from thalweg._src.keras.layers.core import weight_config
from thalweg._src.keras.layers.elementwise import Elementwise
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.nn.layers import normalization
from thalweg._src.training.nn.layers.normalization import _moved_towards

_INITIALIZERS: Any = {
    "beta_initializer": "zeros",
    "gamma_initializer": "ones",
    "moving_mean_initializer": "zeros",
    "moving_variance_initializer": "ones",
}


@export("keras.layers.BatchNormalization")
class BatchNormalization(normalization.BatchNormalization, Layer):
    """Batch normalization: (inputs - mean) / sqrt(variance + epsilon) * gamma + beta, per element of `axis`.

    Mean and variance are those of the batch in training, and moving averages otherwise. In a graph, `updates` are the
    operations that move the averages; in eager execution and functions the call does it.

    Args:
        axis: The axis of the features, or a list of axes; each has its own mean.
        momentum: Momentum of the moving averages.
    """

    @parameters_of(normalization.BatchNormalization.__init__, **_INITIALIZERS)
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**objects_of(arguments))
        self.supports_masking = True

    def _move(self, mean: Any, variance: Any, momentum: Any) -> None:
        if not self.trainable and executing_eagerly_outside_functions():
            return  # a graph has the operations, and `updates` leaves them out
        for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            self.add_update(partial(_moved_towards, variable, value, momentum, read_value=False))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor; an adjustment, which is a function, is left out."""
        names = ("axis", "momentum", "epsilon", "center", "scale")
        averages = ("moving_mean_initializer", "moving_variance_initializer")
        config = {
            **super().get_config(),
            **{name: getattr(self, name) for name in names},
            **weight_config(self, "beta", "gamma"),
            **{name: initializers.serialize(getattr(self, name)) for name in averages},
        }
        if self.renorm:
            config.update(renorm=True, renorm_clipping=dict(self.renorm_clipping), renorm_momentum=self.renorm_momentum)
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        return config


@export("keras.layers.LayerNormalization")
class LayerNormalization(Elementwise):
    """Normalizes each example by the mean and the variance of its elements along `axis`.

    Args:
        axis: The axis to normalize, or a list of axes.
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Identifier = "zeros",
        gamma_initializer: Identifier = "ones",
        beta_regularizer: Identifier = None,
        gamma_regularizer: Identifier = None,
        beta_constraint: Identifier = None,
        gamma_constraint: Identifier = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        if not isinstance(axis, int | list | tuple):
            raise ValueError(f"Expected an int or a list/tuple of ints for the argument 'axis', but received: {axis}")
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        objects = objects_of(
            {
                "beta_initializer": beta_initializer,
                "gamma_initializer": gamma_initializer,
                "beta_regularizer": beta_regularizer,
                "gamma_regularizer": gamma_regularizer,
                "beta_constraint": beta_constraint,
                "gamma_constraint": gamma_constraint,
            }
        )
        for key, value in objects.items():
            setattr(self, key, value)
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Creates gamma and beta, of the sizes of the axes."""
        sizes = as_shape(input_shape)
        if sizes is None:
            raise ValueError(f"Input shape {input_shape} has undefined rank.")
        requested_axes = [self.axis] if isinstance(self.axis, int) else self.axis
        axes = [axis + len(sizes) if axis < 0 else axis for axis in requested_axes]
        if any(not 0 <= axis < len(sizes) for axis in axes):
            raise ValueError(f"Invalid axis: {requested_axes}; the inputs have {len(sizes)} dimensions")
        if len(set(axes)) != len(axes):
            raise ValueError(f"Duplicate axis: {tuple(axes)}")
        self.axis = axes
        shape = [sizes[axis] for axis in axes]
        if None in shape:
            raise ValueError(f"Axis {axes} of the inputs should be defined, received the shape {input_shape}")
        if self.scale:
            self.gamma = self._parameter("gamma", shape)
        if self.center:
            self.beta = self._parameter("beta", shape)
        self.built = True

    def _parameter(self, name: str, shape: ShapeLike) -> Any:
        kinds = ("initializer", "regularizer", "constraint")
        return self.add_weight(
            name, shape=shape, trainable=True, **{kind: getattr(self, f"{name}_{kind}") for kind in kinds}
        )

    def call(self, inputs: TensorLike) -> Tensor:
        """Normalizes the inputs."""
        x = convert_to_tensor(inputs)
        sizes = as_shape(x.shape) or ()
        assert isinstance(self.axis, list)
        mean, variance = moments(x, self.axis, keepdims=True)
        shape = [size if axis in self.axis else 1 for axis, size in enumerate(sizes)]

        def spread(values: Any) -> Any:
            """Reshapes a parameter so that it broadcasts along the axes."""
            return values if values is None or self.axis == [len(sizes) - 1] else reshape(values, shape)

        outputs: Tensor = batch_normalization(x, mean, variance, spread(self.beta), spread(self.gamma), self.epsilon)
        if not outputs.is_eager:
            outputs.set_shape(sizes)
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            **{name: getattr(self, name) for name in ("axis", "epsilon", "center", "scale")},
            **weight_config(self, "beta", "gamma"),
        }

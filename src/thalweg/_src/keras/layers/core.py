"""Core layers: Dense, Activation, Dropout, layers that change shapes, and functions as layers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import not_equal
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.reduction import reduce_any
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape as shape_of, transpose
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import activations, constraints, initializers, regularizers
from thalweg._src.keras.backend.settings import image_data_format
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.tracking import NestedShapes, is_shape, map_shapes
from thalweg._src.keras.places import at, entry
from thalweg._src.keras.serialization import Identifier, NameOfFunction, find_function
from thalweg._src.training.nn.layers import dense, dropout
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.rnn.sizes import NestedTensors


@export("keras.layers.Dense")
class Dense(dense.Dense, Layer):
    """A fully connected layer: activation(inputs @ kernel + bias), along the last axis.

    Args:
        units: Number of output units.
    """

    def __init__(
        self,
        units: int,
        activation: Identifier = None,
        use_bias: bool = True,
        kernel_initializer: Identifier = "glorot_uniform",
        bias_initializer: Identifier = "zeros",
        kernel_regularizer: Identifier = None,
        bias_regularizer: Identifier = None,
        activity_regularizer: Any = None,
        kernel_constraint: Identifier = None,
        bias_constraint: Identifier = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units,
            activation=activations.get(activation),
            use_bias=use_bias,
            kernel_initializer=initializers.get(kernel_initializer),
            bias_initializer=initializers.get(bias_initializer),
            kernel_regularizer=regularizers.get(kernel_regularizer),
            bias_regularizer=regularizers.get(bias_regularizer),
            activity_regularizer=activity_regularizer,
            kernel_constraint=constraints.get(kernel_constraint),
            bias_constraint=constraints.get(bias_constraint),
            **kwargs,
        )
        self.supports_masking = True

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            **weight_config(self, "kernel", "bias"),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
        }


def weight_config(layer: object, *names: str) -> dict[str, Any]:
    """Returns the initializers, regularizers and constraints of the weights of a layer."""
    config: dict[str, Any] = {}
    for module, what in ((initializers, "initializer"), (regularizers, "regularizer"), (constraints, "constraint")):
        for name in names:
            config[f"{name}_{what}"] = module.serialize(getattr(layer, f"{name}_{what}"))
    return config


@export("keras.layers.Activation")
class Activation(Layer):
    """Applies an activation function."""

    def __init__(self, activation: Identifier, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activations.get(activation)

    def call(self, inputs: TensorLike) -> Any:
        """Returns the activation of the inputs."""
        return self.activation(inputs)

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the shape of the inputs."""
        return TensorShape(input_shape)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "activation": activations.serialize(self.activation)}


@export("keras.layers.Dropout")
class Dropout(dropout.Dropout, Layer):
    """Sets a fraction of the inputs to zero in training, and scales the others so that their sum is kept.

    Args:
        rate: Fraction of the inputs that is set to zero.
        noise_shape: Shape of the random mask, which is broadcast to the inputs.
        seed: Seed of the random numbers.
    """

    def __init__(self, rate: float, noise_shape: ShapeLike = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, noise_shape=noise_shape, seed=seed, **kwargs)
        self.supports_masking = True

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}


@export("keras.layers.Flatten")
class Flatten(dropout.Flatten, Layer):
    """Flattens all dimensions but the batch.

    Args:
        data_format: Where images have their channels: "channels_last" or "channels_first".
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format or image_data_format(), **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "data_format": self.data_format}


@export("keras.layers.Reshape")
class Reshape(Layer):
    """Gives each example another shape.

    Args:
        target_shape: Shape of an example; one size may be -1.
    """

    def __init__(self, target_shape: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns the inputs in the new shape."""
        x = convert_to_tensor(inputs)
        outputs = reshape(x, [shape_of(x)[0], *self.target_shape])
        if not outputs.is_eager:
            outputs.set_shape(self.compute_output_shape(x.shape))
        return outputs

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the new shape, in which -1 stands for what is left."""
        sizes: list[Any] = TensorShape(input_shape).as_list()
        target = [None if size == -1 else size for size in self.target_shape]
        if None in target and None not in sizes[1:]:
            total, rest = (
                math.prod(sizes[1:]),
                math.prod(size for size in target if size is not None),
            )
            if rest == 0 or total % rest:
                raise ValueError("total size of new array must be unchanged")
            target[target.index(None)] = total // rest
        elif None not in target and None not in sizes[1:] and math.prod(sizes[1:]) != math.prod(self.target_shape):
            raise ValueError("total size of new array must be unchanged")
        return TensorShape([sizes[0], *target])

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "target_shape": self.target_shape}


@export("keras.layers.Permute")
class Permute(Layer):
    """Permutes the dimensions of each example; the first one has number 1.

    Args:
        dims: The new order of the dimensions, which are counted from 1.
    """

    def __init__(self, dims: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(f"Invalid permutation `dims` for Permute Layer: {dims}; expected each number from 1 once")
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns the inputs with their dimensions permuted."""
        return transpose(inputs, [0, *self.dims])

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the permuted shape."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], *(sizes[axis] for axis in self.dims)])

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "dims": self.dims}


@export("keras.layers.RepeatVector")
class RepeatVector(Layer):
    """Repeats each example, a vector, n times.

    Args:
        n: How often each vector is repeated.
    """

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns sequences of n equal vectors."""
        return tile(expand_dims(inputs, 1), [1, self.n, 1])

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the shape of the sequences."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], self.n, sizes[1]])

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "n": self.n}


@export("keras.layers.Masking")
class Masking(Layer):
    """Masks the steps of sequences in which all features have one value.

    Args:
        mask_value: The value of all features in masked steps.
    """

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.mask_value = mask_value

    def compute_mask(self, inputs: TensorLike, mask: TensorLike | None = None) -> Any:
        """Returns whether a step has a feature with another value."""
        return reduce_any(not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: TensorLike) -> Tensor:
        """Sets the masked steps to zero."""
        x = convert_to_tensor(inputs)
        return multiply(x, cast(reduce_any(not_equal(x, self.mask_value), axis=-1, keepdims=True), x.dtype))

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the shape of the inputs."""
        return TensorShape(input_shape)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "mask_value": self.mask_value}


@export("keras.layers.ActivityRegularization")
class ActivityRegularization(Layer):
    """Adds a penalty of its inputs to the loss.

    Args:
        l1: Factor of the L1 penalty.
        l2: Factor of the L2 penalty.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1 = l1
        self.l2 = l2

    def call(self, inputs: TensorLike) -> Any:
        """Returns the inputs."""
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "l1": self.l1, "l2": self.l2}


@export("keras.layers.Lambda")
class Lambda(Layer):
    """Applies a function, which may also take `mask` and `training`.

    Args:
        function: Function of the inputs, and of `mask` and `training` if it has these parameters.
        output_shape: Shape of an example of the output, or a function from the input shape to the output shape.
        mask: Mask of the outputs, or a function of the inputs and their mask that returns it.
        arguments: Further arguments of the function by name.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: NestedTensors = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function = function
        self._output_shape = output_shape
        self.mask = mask
        self.arguments = dict(arguments or {})
        self.supports_masking = mask is not None

    def takes_argument(self, name: str) -> bool:
        """Returns whether the function has an argument of a name."""
        try:
            return name in inspect.signature(self.function).parameters
        except ValueError:  # a builtin, which says nothing about its parameters
            return False

    def call(self, inputs: NestedTensors, mask: NestedTensors = None, training: TensorLike | None = None) -> Any:
        """Returns what the function makes of the inputs, and of `mask` and `training` if it takes them."""
        call_arguments = {"mask": mask, "training": training}
        taken = {name: value for name, value in call_arguments.items() if self.takes_argument(name)}
        return self.function(inputs, **{**taken, **self.arguments})

    def compute_mask(self, inputs: NestedTensors, mask: NestedTensors = None) -> Any:
        """Returns the given mask, or what a given function makes of the mask of the inputs."""
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the given shape, or that of a call."""
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return map_shapes(TensorShape, self._output_shape(input_shape))
        first = input_shape if is_shape(input_shape) else nest.flatten(input_shape)[0]
        batch = TensorShape(first).as_list()[0]
        return map_shapes(lambda shape: TensorShape([batch, *shape.as_list()]), self._output_shape)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor; functions by name, which a lambda has none of."""
        shape, mask = (
            _named(value, what) if callable(value) else ("raw", value, None)
            for value, what in ((self._output_shape, "output_shape"), (self.mask, "mask"))
        )
        kind, name, module = _named(self.function, "function")
        config = {**super().get_config(), "function": name, "function_type": kind, "module": module}
        config |= {"output_shape": shape[1], "output_shape_type": shape[0], "output_shape_module": shape[2]}
        if self.mask is not None:
            config |= {"mask": mask[1], "mask_type": mask[0], "mask_module": mask[2]}
        return {**config, "arguments": self.arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns a layer made from the result of `get_config`."""
        arguments = dict(config)
        for key, place in (("function", "module"), ("output_shape", "output_shape_module"), ("mask", "mask_module")):
            kind, module = arguments.pop(f"{key}_type", "raw"), arguments.pop(place, None)
            if kind == "lambda":
                raise ValueError(f"The {key} of the layer is a lambda, of which there is only bytecode: use a function")
            if kind == "function":
                name = entry(arguments, key, str)
                with at(key):
                    arguments[key] = find_function(name, module, custom_objects, f"{key} of a Lambda layer")
        return cls(**arguments)


def _named(function: Any, what: str) -> tuple[str, str, str]:
    """Returns the kind, the name and the module of a function."""
    name = getattr(function, "__name__", None)
    if name is None or name == "<lambda>":
        raise ValueError(f"A Lambda layer whose {what} is a lambda or an object has no configuration: use a function")
    return "function", NameOfFunction(function), function.__module__

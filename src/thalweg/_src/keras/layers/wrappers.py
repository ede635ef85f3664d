"""Wrappers: layers that apply another one, to each time step."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.reduction import reduce_any
from thalweg._src.graph.ops.reshape import reshape, shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.rnn import rnn
from thalweg._src.keras.engine.base_layer import Layer, mask_of
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.keras.layers import lookup
from thalweg._src.keras.layers.stepping import build_within, takes
from thalweg._src.keras.places import entry
from thalweg._src.training.nn.layers.base import Layer as PlainLayer
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.rnn.sizes import NestedTensors


@export("keras.layers.Wrapper")
class Wrapper(Layer):
    """The base class of layers that apply another layer.

    Args:
        layer: The layer that is applied.
    """

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        if not isinstance(layer, PlainLayer):
            raise ValueError(f"Please initialize `{type(self).__name__}` with a layer; received {layer!r}")
        super().__init__(**kwargs)
        self.layer: Any = layer

    def build(self, input_shape: NestedShapes = None) -> None:
        """Creates the variables of the layer."""
        build_within(self.layer, input_shape, self._dtype)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "layer": lookup.serialize(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns a layer made from the result of `get_config`."""
        config = dict(config)
        layer = lookup.deserialize(entry(config, "layer"), custom_objects=custom_objects)
        del config["layer"]
        return cls(layer, **config)


@export("keras.layers.TimeDistributed")
class TimeDistributed(Wrapper):
    """Applies a layer to each time step.

    Args:
        layer: The layer that is applied.
    """

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True
        # Steps can be examples of one large batch unless a layer of the program's own tells them apart.
        self._is_flat = type(layer).__module__.startswith("thalweg.") and not getattr(layer, "stateful", False)

    def build(self, input_shape: NestedShapes = None) -> None:
        """Creates the variables of the layer."""
        sizes = TensorShape(input_shape).as_list()
        if len(sizes) < 3:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape` with at least 3 dimensions, "
                f"received: {tuple(sizes)}"
            )
        self.input_spec = InputSpec(shape=(None, None, *sizes[2:]))
        super().build(TensorShape([sizes[0], *sizes[2:]]))

    def call(self, inputs: NestedTensors, training: TensorLike | None = None, mask: NestedTensors = None) -> Any:
        """Returns the outputs of the layer for all steps."""
        inputs = convert_to_tensor(inputs)
        arguments = {"training": training} if takes(self.layer, "training") else {}
        if inputs.shape.as_list()[0] and not self._is_flat:
            outputs = self._stepwise(inputs, arguments, mask)
        else:
            outputs = self._flat(inputs, arguments, mask)
        if not outputs.is_eager:
            outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def _stepwise(self, inputs: Tensor, arguments: dict[str, Any], mask: NestedTensors) -> Tensor:
        """Returns the outputs of one call of the layer for each step."""
        _, outputs, _ = rnn(lambda x, states: (self.layer(x, **arguments), []), inputs, [], mask=mask)
        return outputs  # type: ignore[no-any-return]

    def _flat(self, inputs: Tensor, arguments: dict[str, Any], mask: NestedTensors) -> Tensor:
        """Returns the outputs of one call of the layer, with steps as examples."""
        if mask is not None and takes(self.layer, "mask"):
            arguments["mask"] = _merged(convert_to_tensor(mask))
        return _unmerged(self.layer(_merged(inputs), **arguments), inputs)

    def compute_output_shape(self, input_shape: NestedShapes) -> TensorShape:
        """Returns the shape of the outputs."""
        sizes = TensorShape(input_shape).as_list()
        rest = TensorShape(self.layer.compute_output_shape(TensorShape([sizes[0], *sizes[2:]]))).as_list()
        return TensorShape([*sizes[:2], *rest[1:]])

    def compute_mask(self, inputs: NestedTensors, mask: NestedTensors = None) -> Any:
        """Returns the mask of the outputs: that of the layer, or of the inputs if the layer has none."""
        inputs = convert_to_tensor(inputs)
        if inputs.shape.as_list()[0]:
            return mask
        whole = None if mask is None else convert_to_tensor(mask)
        merged = _merged(inputs)
        output_mask = self.layer.compute_mask(merged, None if whole is None else _merged(whole))
        if isinstance(output_mask, list):  # a model knows the masks of its symbolic outputs, not of these
            has_mask = any(layer_class is not None for layer_class in output_mask)
            output_mask = mask_of(nest.flatten(self.layer(merged))[0]) if has_mask else None
        if output_mask is not None:
            return _unmerged(output_mask, inputs)
        rest = list(range(2, len(whole.dims or ()))) if whole is not None else []
        return reduce_any(whole, rest) if rest else whole


def _merged(x: Tensor) -> Tensor:
    """Returns sequences with their steps as examples."""
    return reshape(x, [-1, *_sizes_after(x, 2)])


def _unmerged(x: Tensor, like: Tensor) -> Tensor:
    """Returns examples as the steps of the sequences that they were taken from."""
    steps = like.shape.as_list()[1] or shape_of(like)[1]
    return reshape(x, [-1, steps, *_sizes_after(x, 1)])


def _sizes_after(x: Tensor, first: int) -> list[Any]:
    """Returns the sizes from an axis on, as tensors where they are unknown."""
    static = x.shape.as_list()[first:]
    if None not in static:
        return static
    dynamic = shape_of(x)
    return [dynamic[first + i] if size is None else size for i, size in enumerate(static)]


lookup.LAYERS.update({layer_class.__name__: layer_class for layer_class in (Wrapper, TimeDistributed)})

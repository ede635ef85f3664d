"""Sequential: a model whose layers follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.engine import call_context
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.input_layer import Input, InputLayer
from thalweg._src.keras.engine.model import Model
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.keras.layers import bidirectional, conv_recurrent, cudnn_recurrent
from thalweg._src.keras.layers.lookup import LAYERS, deserialize, register_layers
from thalweg._src.keras.places import at, entry, expected, within
from thalweg._src.training.nn.layers.base import Layer as PlainLayer
from thalweg._src.training.nn.rnn.sizes import NestedTensors


@export("keras.Sequential", "keras.models.Sequential")
class Sequential(Model):
    """A model in which each layer takes the output of the one before.

    If no layer says the shape of its inputs, the layers create their variables at the first call.

    Args:
        layers: The layers.
        name: Name of the model.
    """

    _object_identifier = "_tf_keras_sequential"

    def __init__(self, layers: Sequence[Any] | None = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self.supports_masking = True
        for layer in layers or ():
            self.add(layer)

    @property
    def layers(self) -> list[Any]:
        """The layers, without that of the input."""
        layers = self._nested
        return layers[1:] if layers and isinstance(layers[0], InputLayer) else layers

    def add(self, layer: Layer) -> None:
        """Adds a layer at the end."""
        if not isinstance(layer, PlainLayer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if not self._layers:
            self._begin(layer)
        else:
            if self.outputs is not None:
                outputs = nest.flatten(layer(self.outputs[0]))
                if len(outputs) != 1:
                    raise ValueError("All layers in a Sequential model should have a single output tensor.")
                self.outputs = outputs
            self._layers.append(layer)
        if self.outputs is not None:
            self._connect()

    def _begin(self, layer: Layer) -> None:
        """Adds the first layer, after the input that it describes."""
        if isinstance(layer, InputLayer):
            self.outputs = nest.flatten(layer._inbound_nodes[-1].outputs)
            self._layers.append(layer)
            return
        shape, kind = _input_of(layer)
        if shape is None:
            self._layers.append(layer)
            return
        x = Input(batch_shape=shape, dtype=kind, name=f"{layer.name}_input")
        outputs = nest.flatten(layer(x))
        if len(outputs) != 1:
            raise ValueError("All layers in a Sequential model should have a single output tensor.")
        self._layers += [x._keras_history.layer, layer]  # type: ignore[attr-defined]
        self.outputs = outputs

    def _connect(self) -> None:
        """Makes the graph of the layers that there are."""
        layers = list(self._layers)
        inputs = layers[0]._inbound_nodes[0].outputs
        self._make_graph(inputs, self.outputs[0])
        self._layers[:] = layers

    def pop(self) -> None:
        """Removes the last layer."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        removed = self._layers.pop()
        if not self.layers or self.outputs is None:
            self.inputs = self.outputs = None
            self.built = self._is_graph_network = False
            if not self.layers:
                self._layers.clear()
            return
        del removed
        self.outputs = nest.flatten(self.layers[-1]._inbound_nodes[-1].outputs)
        self._connect()

    def build(self, input_shape: NestedShapes = None) -> None:
        """Creates the variables of the layers, given the shape of the inputs."""
        if self._is_graph_network or input_shape is None:
            super().build(input_shape)
            return
        if not self.built:
            layers = list(self._layers)
            x = Input(batch_shape=tuple(_sizes(input_shape)), dtype=self._dtype or None)
            self._layers[:] = [x._keras_history.layer]  # type: ignore[attr-defined]
            self.outputs = [x]
            with call_context.left():
                for layer in layers:
                    self.outputs = nest.flatten(layer(self.outputs[0]))
                    self._layers.append(layer)
            self._connect()

    def _build_for(self, inputs: NestedTensors, flat: list[Any]) -> None:
        if not self._is_graph_network and self._layers:
            self._dtype = flat[0].dtype.base_dtype.name
            self.build([None, *flat[0].shape.as_list()[1:]])
        self.built = True

    def call(self, inputs: NestedTensors, training: TensorLike | None = None, mask: NestedTensors = None) -> Any:
        """Calls the layers one after the other."""
        if self._is_graph_network:
            return super().call(inputs, training=training, mask=mask)
        outputs = inputs
        for layer in self.layers:
            outputs = layer(outputs, **{"training": training} if layer.takes_argument("training") else {})
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Returns the description of the model: its layers, one after the other."""
        layers = [{"class_name": type(layer).__name__, "config": layer.get_config()} for layer in self.layers]
        config: dict[str, Any] = {"name": self.name, "layers": layers}
        if self._is_graph_network:
            config["build_input_shape"] = self.inputs[0].shape.as_list()
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns the model that a description describes."""
        with within(config):
            model = cls(name=config.get("name") if isinstance(config, dict) else None)
            steps = ("layers",) if isinstance(config, dict) else ()  # older releases write the list alone
            for number, data in enumerate(
                entry(config, "layers", (list, tuple)) if steps else expected((list, tuple), config)
            ):
                with at(*steps, number):
                    model.add(deserialize(data, custom_objects=custom_objects))
            if not model.inputs and isinstance(config, dict) and config.get("build_input_shape"):
                with at("build_input_shape"):
                    model.build(config["build_input_shape"])
            return model

    def predict_classes(self, x: NestedTensors, batch_size: int = 32, verbose: int = 0) -> Any:
        """Returns the class of each example: the largest output, or whether the only one is above a half."""
        outputs = self.predict(x, batch_size=batch_size, verbose=verbose)
        return outputs.argmax(axis=-1) if outputs.shape[-1] > 1 else (outputs > 0.5).astype("int32")

    def predict_proba(self, x: NestedTensors, batch_size: int = 32, verbose: int = 0) -> Any:
        """Returns the outputs of the model, which are probabilities if its last layer makes them so."""
        return self.predict(x, batch_size=batch_size, verbose=verbose)


def _input_of(layer: Layer) -> tuple[Any, Any]:
    """Returns the shape and the type of the inputs that the first layer of a model describes."""
    batch_shape = getattr(layer, "_batch_input_shape", None)
    if batch_shape is not None:
        return batch_shape, getattr(layer, "_input_dtype", None) or layer.dtype
    inputs = getattr(layer, "inputs", None)
    if inputs:
        return tuple(inputs[0].shape.as_list()), inputs[0].dtype
    nested = getattr(layer, "layers", None)
    return _input_of(nested[0]) if nested else (None, None)


def _sizes(shape: Any) -> list[Any]:
    return list(shape.as_list() if hasattr(shape, "as_list") else shape)


for _module in (bidirectional, conv_recurrent, cudnn_recurrent):  # with the modules that they import
    register_layers(vars(_module))
# Later releases of Keras write "Functional" for a model that is a graph of layers.
LAYERS.update(Functional=Model, Model=Model, Sequential=Sequential)

"""Network: a layer of tracked layers, as programs of eager execution built models before Keras did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.training.checkpoint.trackable import Child, children_of, is_trackable
from thalweg._src.training.nn.layers.base import Layer


@export("contrib.eager.Network")
class Network(Layer):
    """A layer that consists of layers, which `track_layer` adds, and whose variables are its own."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        self._layers: dict[str, Any] = {}

    def track_layer(self, layer: object) -> Any:
        """Adds a layer, and returns it."""
        if not isinstance(layer, Layer):
            raise TypeError(f"Network.track_layer() passed type {type(layer)}, not a tf.layers.Layer")
        if any(layer is tracked for tracked in self.layers):
            return layer
        if layer.name in self._layers:
            raise ValueError(
                f"Attempt to add two Layers with the name {layer.name!r} to the same Network; layers have unique names"
            )
        self._layers = {**self._layers, layer.name: layer}
        return layer

    @property
    def layers(self) -> list[Any]:
        """The tracked layers."""
        return list(self._layers.values())

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Returns a tracked layer by its name or its index."""
        if (name is None) == (index is None):
            raise ValueError("Provide either a layer name or layer index.")
        if index is not None:
            if index >= len(self._layers):
                raise ValueError(f"layer index {index}: the network has {len(self._layers)} layers")
            return self.layers[index]
        if name not in self._layers:
            raise ValueError(f"No such layer: {name}")
        return self._layers[name]

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables, those of the layers first."""
        if not self.trainable:
            return []
        return _unique([*(w for layer in self.layers for w in layer.trainable_weights), *self._trainable_weights])

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that are not trained."""
        trained = {id(weight) for weight in self.trainable_weights}
        every = [*(w for layer in self.layers for w in layer.weights), *self._trainable_weights]
        return _unique([w for w in [*every, *self._non_trainable_weights] if id(w) not in trained])

    @property
    def losses(self) -> list[Any]:
        """The losses of the network and of its layers."""
        return [*super().losses, *(loss for layer in self.layers for loss in layer.losses)]


@export("contrib.eager.Sequential")
class Sequential(Network):
    """A network that calls layers, or functions, one after the other."""

    def __init__(self, layers_funcs: Any = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self._steps: list[Callable[..., Any]] = []
        for step in layers_funcs or ():
            self.add(step)

    def add(self, layer_func: Callable[..., Any]) -> None:
        """Adds a layer or a function."""
        self._steps.append(self.track_layer(layer_func) if isinstance(layer_func, Layer) else layer_func)

    def call(self, inputs: object, training: bool | None = None) -> Any:
        """Calls one step after the other."""
        for step in self._steps:
            inputs = step(inputs)
        return inputs


@children_of.register(Network)
def _children(network: Network) -> Iterator[Child]:
    yield from network._named_weights.items()
    yield from ((name, layer) for name, layer in network._layers.items() if is_trackable(layer))


def _unique(weights: list[Any]) -> list[Any]:
    return list({id(weight): weight for weight in weights}.values())

"""What recurrent layers ask of cells, which may be layers of Keras, cells of `tf.nn.rnn_cell`, or other objects."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.training.nn.layers.base import Layer as PlainLayer
from thalweg._src.training.nn.rnn.cells import RNNCell
from thalweg._src.training.nn.rnn.sizes import NestedTensors, zeros_like_sizes


def takes(layer: Layer, argument: str) -> bool:
    """Returns whether the method `call` of a layer or cell has an argument of its own of a name."""
    return argument in _parameters(getattr(layer.call, "__func__", layer.call))


@functools.lru_cache(maxsize=1024)
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def output_size_of(cell: Any) -> Any:
    """Returns the size of the output of a cell, which is that of its first state unless the cell says it."""
    output_size = getattr(cell, "output_size", None)
    if output_size is not None:
        return output_size
    return cell.state_size[0] if isinstance(cell.state_size, list | tuple) else cell.state_size


def build_within(layer: Layer, shape: NestedShapes, dtype: str | None) -> None:
    """Creates the variables of a layer inside of another one, by whose name they are called."""
    if not isinstance(layer, PlainLayer) or layer.built:
        return
    within: Any = layer
    within._dtype = within._dtype or dtype
    within.build(shape)
    within.built = True
    if getattr(layer, "_initial_weights", None) is not None:
        within.set_weights(within._initial_weights)
        within._initial_weights = None


def build_cell(cell: Any, shape: NestedShapes, constants: Sequence[Any], dtype: str | None) -> None:
    """Creates the variables of a cell; one that takes constants is told their shapes too."""
    build_within(cell, [shape, *constants] if constants and takes(cell, "constants") else shape, dtype)


def call_cell(
    cell: Any, inputs: NestedTensors, states: NestedTensors, training: TensorLike | None, constants: NestedTensors
) -> tuple[Any, Any]:
    """Returns the output and the states after a step of a cell."""
    arguments: dict[str, Any] = {}
    if constants is not None and takes(cell, "constants"):
        arguments["constants"] = constants
    if takes(cell, "training"):
        arguments["training"] = training
    if isinstance(cell, RNNCell):  # its single state is a tensor
        states = states[0] if isinstance(states, list | tuple) and len(states) == 1 else states
    elif not nest.is_nested(states):
        states = [states]
    call = getattr(cell, "_call_function", cell.call)  # that of a user's class has control flow on tensors converted
    output, after = call(inputs, states, **arguments)
    return output, after


def zero_states(
    sizes: NestedTensors, inputs: NestedTensors, batch_size: TensorLike | None, dtype: DTypeLike | None
) -> Any:
    """Returns zeros for each state; inputs, if given, have the number of examples and the type."""
    if inputs is not None:
        x = convert_to_tensor(inputs)
        batch_size, dtype = x.shape.as_list()[0] or shape_of(x)[0], x.dtype
    if batch_size is None or dtype is None:
        raise ValueError(f"get_initial_state: batch_size and dtype are required, received {batch_size} and {dtype}")
    return zeros_like_sizes(sizes, batch_size, dtype)

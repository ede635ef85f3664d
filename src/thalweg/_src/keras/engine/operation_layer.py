"""TensorFlowOpLayer: one operation of the graph as a layer of a model."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.reshape import constant_value
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.node import Node, has_history
from thalweg._src.keras.engine.operation_layers import LayerMaker
from thalweg._src.training.nn.rnn.sizes import NestedTensors


class TensorFlowOpLayer(Layer):
    """An operation on outputs of layers.

    constants: the other inputs by their index
    """

    def __init__(
        self, type: str, attrs: dict[str, Any], constants: dict[int, Any], name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, **kwargs)
        self._type = type
        self._attrs = dict(attrs)
        self._constants = dict(constants)
        self.built = True

    def call(self, inputs: NestedTensors, *args: Any, **kwargs: Any) -> Any:
        """Adds the operation with other inputs."""
        layer_inputs = iter(inputs if isinstance(inputs, list | tuple) else [inputs])
        count = len(self._constants) + (len(inputs) if isinstance(inputs, list | tuple) else 1)
        op_inputs = [
            convert_to_tensor(self._constants[i]) if i in self._constants else next(layer_inputs) for i in range(count)
        ]
        operation = get_default_graph().create_op(self._type, op_inputs, attrs=dict(self._attrs))
        return operation.outputs[0] if len(operation.outputs) == 1 else list(operation.outputs)


def _constant(tensor: Tensor) -> Any:
    """Returns the value of an input that no layer has returned; the tensor itself if it has none while it is built."""
    value = constant_value(tensor)
    if value is not None:
        return value
    captured = tensor.op.graph.origins if isinstance(tensor.op.graph, FunctionGraph) else {}
    return captured.get(tensor, tensor)


def _make(operation: Operation) -> None:
    """Makes a layer of an operation that exists."""
    constants = {i: _constant(tensor) for i, tensor in enumerate(operation.inputs) if not has_history(tensor)}
    inputs: list[Tensor] = [tensor for tensor in operation.inputs if has_history(tensor)]
    assert operation.type in OPS
    layer = TensorFlowOpLayer(operation.type, operation.attrs, constants, name=f"tf_op_layer_{operation.name}")
    outputs = list(operation.outputs)
    Node(layer, inputs if len(inputs) > 1 else inputs[0], outputs if len(outputs) > 1 else outputs[0], {})


LayerMaker.make = _make

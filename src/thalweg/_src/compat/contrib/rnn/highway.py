"""HighwayWrapper and CompiledWrapper for RNN cells."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.ops.math import sigmoid
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.training.nn.rnn.cells import RNNCell
from thalweg._src.training.nn.rnn.wrappers import CellWrapper
from thalweg._src.training.variables.initializers import Constant
from thalweg._src.training.variables.variable_scope import get_variable


@export("contrib.rnn.HighwayWrapper")
class HighwayWrapper(CellWrapper):
    """Adds a highway connection around a cell, after Srivastava et al."""

    def __init__(self, cell: RNNCell, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0) -> None:
        super().__init__(cell)
        self._coupled = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init
        self._highway_variables: dict[str, Any] = {}

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of the wrapped cell and of the highway connection."""
        return [*self._highway_variables.values(), *self.cell.trainable_weights]

    def _gate(self, x: Any, name: str, bias: float) -> Any:
        width = x.shape[1].value
        weights = get_variable(f"{name}_w", [width, width])
        biases = get_variable(f"{name}_b", [width], initializer=Constant(bias))
        self._highway_variables |= {f"{name}_w": weights, f"{name}_b": biases}
        return sigmoid(bias_add(matmul(x, weights), biases))

    def _highway(self, inputs: Any, outputs: Any) -> Any:
        inputs.get_shape().assert_is_compatible_with(outputs.get_shape())
        carry = self._gate(inputs, "carry", self._carry_bias_init)
        transform = 1 - carry if self._coupled else self._gate(inputs, "transform", -self._carry_bias_init)
        return inputs * carry + outputs * transform

    def _step(self, inputs: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        outputs, new_state = self.cell(inputs, state, *args, **kwargs)
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(self._highway, inputs, outputs), new_state


@export("contrib.rnn.CompiledWrapper")
class CompiledWrapper(CellWrapper):
    """Returns the outputs of the cell unchanged: steps are compiled automatically where that is faster."""

    def __init__(self, cell: RNNCell, compile_stateful: bool = False) -> None:
        super().__init__(cell)

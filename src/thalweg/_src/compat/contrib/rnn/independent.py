"""Independently recurrent cells, with element-wise recurrence, and SRUCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.math import sigmoid
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.named import initializer_of
from thalweg._src.training.nn.rnn.cells import LSTMStateTuple, UnitsCell
from thalweg._src.training.variables.initializers import Constant, RandomUniform, Zeros
from thalweg._src.training.variables.variable_scope import ReuseMode


class _IndependentCell(UnitsCell):
    """The base class of independently recurrent cells."""

    @parameters_of(UnitsCell.__init__, without=["kwargs"], before="name")
    def __init__(
        self,
        kernel_initializer: str | Callable[..., Any] | None = None,
        bias_initializer: str | Callable[..., Any] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._kernel_initializer = initializer_of(kernel_initializer)
        self._bias_initializer = initializer_of(bias_initializer)

    def _weights(self, input_shape: Any, prefix: str, gates: int, bias: object) -> tuple[Any, Any, Any]:
        """Creates the input weights, the recurrent weights and the bias of some gates."""
        width = gates * self._num_units
        depth = self._input_depth(input_shape)
        return (
            self.add_variable(f"{prefix}kernel_w", [depth, width], initializer=self._kernel_initializer),
            self.add_variable(f"{prefix}kernel_u", [1, width], initializer=RandomUniform(-1.0, 1.0)),
            self.add_variable(f"{prefix}bias", [width], initializer=self._bias_initializer or bias),
        )


def _mixed(inputs: Any, state: Any, weights: tuple[Any, Any, Any], gates: int = 1) -> Any:
    w, u, bias = weights
    return bias_add(matmul(inputs, w) + (tile(state, [1, gates]) if gates > 1 else state) * u, bias)


@export("contrib.rnn.IndRNNCell")
class IndRNNCell(_IndependentCell):
    """The independently recurrent cell activation(inputs * W + state * u + b) with a vector u, after Li et al."""

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates weights and bias."""
        self._all = self._weights(input_shape, "", 1, Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        output = self._activation(_mixed(inputs, state, self._all))
        return output, output


@export("contrib.rnn.IndyGRUCell")
class IndyGRUCell(_IndependentCell):
    """An independently recurrent GRU cell."""

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the weights of the gates and of the candidate; the bias of the gates is initialized to 1."""
        self._gates = self._weights(input_shape, "gates/", 2, Constant(1.0))
        self._candidate = self._weights(input_shape, "candidate/", 1, Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        reset, update = split(sigmoid(_mixed(inputs, state, self._gates, 2)), 2, axis=1)
        candidate = self._activation(_mixed(inputs, reset * state, self._candidate))
        state = update * state + (1 - update) * candidate
        return state, state


@export("contrib.rnn.IndyLSTMCell")
class IndyLSTMCell(_IndependentCell):
    """An independently recurrent LSTM cell."""

    @parameters_of(_IndependentCell.__init__, before="activation")
    def __init__(self, forget_bias: TensorLike = 1.0, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the weights of all gates."""
        self._all = self._weights(input_shape, "", 4, Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Runs one step."""
        c, h = state
        i, j, f, o = split(_mixed(inputs, h, self._all, 4), 4, axis=1)
        c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h)


@export("contrib.rnn.SRUCell")
class SRUCell(_IndependentCell):
    """The simple recurrent unit, whose gates depend on the inputs alone, after Lei et al."""

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name=name, **kwargs)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernel of candidate, gates and highway connection, and the bias of the gates."""
        units = self._num_units
        self._kernel = self.add_variable("kernel", [self._input_depth(input_shape), 4 * units])
        self._bias = self.add_variable("bias", [2 * units], initializer=Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        candidate, forget, reset, highway = split(matmul(inputs, self._kernel), 4, axis=1)
        forget, reset = split(sigmoid(bias_add(concat([forget, reset], 1), self._bias)), 2, axis=1)
        c = forget * state + (1.0 - forget) * candidate
        return reset * self._activation(c) + (1.0 - reset) * highway, c

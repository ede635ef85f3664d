"""LSTM variants: coupled gates, NASCell, grouped and phased LSTM."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.rnn.projections import linear
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import less
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import clip_by_value, exp, floormod, sigmoid, tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add, relu
from thalweg._src.graph.ops.normalization import batch_normalization, moments
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.named import activation_of
from thalweg._src.training.nn.rnn.cells import LSTMStateTuple, RNNCell
from thalweg._src.training.variables.initializers import Constant, RandomUniform, Zeros
from thalweg._src.training.variables.partitioners import fixed_size_partitioner
from thalweg._src.training.variables.variable_scope import ReuseMode, get_variable, get_variable_scope, variable_scope


def input_width(inputs: Any) -> int:
    """Returns the static width of inputs, which must be a matrix."""
    width = inputs.get_shape().with_rank(2)[1].value
    if width is None:
        raise ValueError(f"inputs: the last dimension must be known, received shape {inputs.get_shape()}")
    return int(width)


def sharded(name: str, shape: list[int], dtype: Any, shards: int | None) -> Any:
    """Returns a weight matrix, in shards if there are several."""
    partitioner = None if shards is None or shards == 1 else fixed_size_partitioner(shards)
    return get_variable(name, shape, dtype, partitioner=partitioner)


def normalized(x: Tensor, scope: str, gain: float, shift: float) -> Tensor:
    """Returns x layer-normalized over its last axis, with scale and shift variables of a scope."""
    with variable_scope(scope):
        width = [x.shape[-1].value]
        gamma = get_variable("gamma", width, x.dtype, Constant(gain))
        beta = get_variable("beta", width, x.dtype, Constant(shift))
        mean, variance = moments(x, [1], keep_dims=True)
        result: Tensor = batch_normalization(x, mean, variance, beta, gamma, 1e-12)
        result.set_shape(x.get_shape())
        return result


class _MemoryCell(RNNCell):
    """The base class of LSTM cells with `num_units` and an optional projection."""

    _num_units: int
    _num_proj: int | None = None

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_units if self._num_proj is None else self._num_proj


@export("contrib.rnn.CoupledInputForgetGateLSTMCell")
class CoupledInputForgetGateLSTMCell(_MemoryCell):
    """An LSTM cell with coupled input and forget gates, after Greff et al.

    Args:
        initializer: Accepted for compatibility; the scope's initializer is used.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Callable[..., Any] | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: TensorLike = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] = tanh,
        reuse: bool | ReuseMode | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation)
        self._layer_norm = layer_norm
        self._norm = (norm_gain, norm_shift)

    @property
    def state_size(self) -> Any:
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    def call(self, inputs: Tensor, state: Any) -> Any:
        """Runs one step."""
        units, kind = self._num_units, inputs.dtype
        c, m = state if self._state_is_tuple else split(state, [units, self.output_size], axis=1)
        kernel = sharded("W", [input_width(inputs) + self.output_size, 3 * units], kind, self._num_unit_shards)
        bias = get_variable("B", [3 * units], kind, Zeros())
        together = matmul(concat([inputs, m], 1), kernel)
        if not self._layer_norm:
            together = bias_add(together, bias)
        j, f, o = split(together, 3, axis=1)
        if self._layer_norm:
            j, f, o = (normalized(x, name, *self._norm) for x, name in ((j, "transform"), (f, "forget"), (o, "output")))
        if self._use_peepholes:
            f = f + get_variable("W_F_diag", [units], kind) * c
        forget = sigmoid(f + self._forget_bias)
        c = forget * c + (1 - forget) * self._activation(j)
        if self._layer_norm:
            c = normalized(c, "state", *self._norm)
        if self._use_peepholes:
            o = o + get_variable("W_O_diag", [units], kind) * c
        m = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            m = matmul(m, sharded("W_P", [units, self._num_proj], kind, self._num_proj_shards))
            if self._proj_clip is not None:
                m = clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else concat([c, m], 1)


@export("contrib.rnn.NASCell")
class NASCell(_MemoryCell):
    """The RNN cell of neural architecture search, after Zoph and Le."""

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | ReuseMode | None = None,
        use_biases: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias if use_biases is None else use_biases

    def call(self, inputs: Tensor, state: Any) -> Any:
        """Runs one step."""
        c, m = state
        units, kind = self._num_units, inputs.dtype
        past = matmul(m, get_variable("recurrent_kernel", [self.output_size, 8 * units], kind))
        present = matmul(inputs, get_variable("kernel", [input_width(inputs), 8 * units], kind))
        if self._use_bias:
            past = bias_add(past, get_variable("bias", [8 * units], kind, Zeros()))
        x, h = split(present, 8, axis=1), split(past, 8, axis=1)
        first = tanh(sigmoid(x[0] + h[0]) * relu(x[1] + h[1]))
        second = tanh(sigmoid(x[2] + h[2]) + relu(x[3] * h[3]))
        third = tanh(tanh(x[4] + h[4]) * sigmoid(x[5] + h[5]))
        fourth = sigmoid(tanh(x[6] + h[6]) + sigmoid(x[7] + h[7]))
        c = tanh(first + c) * second
        m = tanh(c * tanh(third + fourth))
        if self._num_proj is not None:
            m = matmul(m, get_variable("projection_weights", [units, self._num_proj], kind))
        return m, LSTMStateTuple(c, m)


@export("contrib.rnn.GLSTMCell")
class GLSTMCell(_MemoryCell):
    """A grouped LSTM cell, after Kuchaiev and Ginsburg."""

    def __init__(
        self,
        num_units: int,
        initializer: Callable[..., Any] | None = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: TensorLike = 1.0,
        activation: Callable[..., Any] = tanh,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        for what, number in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if number % number_of_groups:
                raise ValueError(f"{what} must be divisible by number_of_groups: {number}, {number_of_groups}")
        self._num_units = num_units
        self._num_proj = num_proj
        self._initializer = initializer
        self._groups = number_of_groups
        self._forget_bias = forget_bias
        self._activation = activation_of(activation)

    def call(self, inputs: Tensor, state: Any) -> Any:
        """Runs one step; each group takes its part of the inputs and of the last output."""
        c, m = (convert_to_tensor(tensor) for tensor in state)
        share = self.output_size // self._groups
        gates_by_group: list[list[Any]] = []
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            for group in range(self._groups):
                mine = slice(group * share, (group + 1) * share)
                with variable_scope(f"group{group}"):
                    gates = linear([inputs[:, mine], m[:, mine]], 4 * self._num_units // self._groups, bias=False)
                gates_by_group.append(list(split(gates, 4, axis=1)))
            i, j, f, o = (
                bias_add(
                    concat(list(pieces), 1) if self._groups > 1 else pieces[0],
                    get_variable(f"bias_{name}", [self._num_units], inputs.dtype, Zeros()),
                )
                for name, pieces in zip("ijfo", zip(*gates_by_group))
            )
        c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        m = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                m = linear(m, self._num_proj, bias=False)
        return m, LSTMStateTuple(c, m)


@export("contrib.rnn.PhasedLSTMCell")
class PhasedLSTMCell(_MemoryCell):
    """The phased LSTM cell with periodic time gates; inputs are (time, features), after Neil et al."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: TensorLike = 0.001,
        ratio_on: TensorLike = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._leak = leak
        self._ratio_on = ratio_on
        self._trainable_ratio_on = trainable_ratio_on
        self._periods = (math.log(period_init_min), math.log(period_init_max))

    def call(self, inputs: Tensor, state: Any) -> Any:
        """Runs one step."""
        (c, h), (time, x) = state, (convert_to_tensor(tensor) for tensor in inputs)
        with variable_scope("mask_gates"):
            gates = linear([x, h, c] if self._use_peepholes else [x, h], 2 * self._num_units)
            i, f = split(sigmoid(gates), 2, axis=1)
        with variable_scope("new_input"):
            new_c = c * f + i * tanh(linear([x, h], self._num_units))
        with variable_scope("output_gate"):
            output = sigmoid(linear([x, h, new_c] if self._use_peepholes else [x, h], self._num_units))
        new_h = tanh(new_c) * output
        open_part = self._openness(time)
        c = open_part * new_c + (1 - open_part) * c
        h = open_part * new_h + (1 - open_part) * h
        return h, LSTMStateTuple(c, h)

    def _openness(self, time: Tensor) -> Tensor:
        """Returns the openness of the time gate of each unit."""

        def drawn(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Tensor:
            return exp(random_uniform(shape, *self._periods, dtype))

        units = [self._num_units]
        period = get_variable("period", units, initializer=drawn)
        phase = get_variable("phase", units, initializer=RandomUniform(0.0, period.initial_value))
        ratio = get_variable(
            "ratio_on", units, initializer=Constant(self._ratio_on), trainable=self._trainable_ratio_on
        )
        shifted, length = time - cast(phase, time.dtype), cast(period, time.dtype)
        # The gradient of the modulo is 1: it only subtracts whole periods.
        around = stop_gradient(floormod(shifted, length) - shifted) + shifted
        cycle = cast(around / length, dtypes.float32)
        up = 2 * cycle / ratio
        closing = where(less(cycle, ratio), 2 - up, self._leak * cycle)
        return where(less(cycle, 0.5 * ratio), up, closing)

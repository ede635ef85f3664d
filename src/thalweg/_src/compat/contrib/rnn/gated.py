"""Gated RNN cells: LSTMBlockCell, GRUBlockCell, LayerNormBasicLSTMCell, UGRNNCell, IntersectionRNNCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.compat.contrib.rnn.projections import linear
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.math import sigmoid, tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import relu
from thalweg._src.graph.ops.normalization import batch_normalization, moments
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.dropout import dropout
from thalweg._src.training.nn.layers.named import activation_of
from thalweg._src.training.nn.rnn.cells import GRUCell, LSTMCell, LSTMStateTuple, RNNCell, affine
from thalweg._src.training.variables.initializers import Constant
from thalweg._src.training.variables.variable_scope import ReuseMode, get_variable, get_variable_scope, variable_scope


@export("contrib.rnn.LSTMBlockCell")
class LSTMBlockCell(LSTMCell):
    """An LSTMCell with the constructor of TensorFlow's fused LSTM cell."""

    def __init__(
        self,
        num_units: int,
        forget_bias: TensorLike = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DTypeLike | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str = "lstm_cell",
    ) -> None:
        clip = None if cell_clip is None or cell_clip < 0 else cell_clip
        super().__init__(
            num_units,
            use_peepholes=use_peephole,
            cell_clip=clip,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )


@export("contrib.rnn.GRUBlockCellV2")
class GRUBlockCellV2(GRUCell):
    """A GRUCell with the constructor of TensorFlow's fused GRU cell."""

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str = "gru_cell",
    ) -> None:
        if (num_units is None) == (cell_size is None):
            raise ValueError("exactly one of num_units and its older name cell_size must be given")
        super().__init__(int(num_units if cell_size is None else cell_size), reuse=reuse, name=name)  # type: ignore[arg-type]


@export("contrib.rnn.GRUBlockCell")
class GRUBlockCell(GRUBlockCellV2):
    """GRUBlockCellV2 with the older variable names."""

    _names = ("w_ru", "b_ru", "w_c", "b_c")


@export("contrib.rnn.LayerNormBasicLSTMCell")
class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM cell with layer normalization and dropout of the candidate."""

    output_size = ReadOnly[Any]("The size of the output.", "_num_units")

    def __init__(
        self,
        num_units: int,
        forget_bias: TensorLike = 1.0,
        input_size: Any = None,
        activation: Callable[..., Any] = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: TensorLike = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation_of(activation)
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    def _norm(self, x: Tensor, scope: str) -> Tensor:
        if not self._layer_norm:
            return x
        with variable_scope(scope):
            gamma = get_variable("gamma", [self._num_units], x.dtype, Constant(self._norm_gain))
            beta = get_variable("beta", [self._num_units], x.dtype, Constant(self._norm_shift))
            mean, variance = moments(x, [1], keep_dims=True)
            normalized: Tensor = batch_normalization(x, mean, variance, beta, gamma, 1e-12)
            normalized.set_shape(x.dims)
            return normalized

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Runs one step."""
        c, h = state
        args = concat([inputs, h], 1)
        kernel = get_variable("kernel", [args.shape[-1].value, 4 * self._num_units], args.dtype)
        if self._layer_norm:
            together = matmul(args, kernel)
        else:
            together = affine([args], kernel, get_variable("bias", [4 * self._num_units], args.dtype))
        i, j, f, o = split(together, 4, axis=1)
        i, j = self._norm(i, "input"), self._norm(j, "transform")
        f, o = self._norm(f, "forget"), self._norm(o, "output")
        candidate = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            candidate = dropout(candidate, self._keep_prob, seed=self._seed)
        c = self._norm(c * sigmoid(f + self._forget_bias) + sigmoid(i) * candidate, "state")
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h)


@export("contrib.rnn.UGRNNCell")
class UGRNNCell(RNNCell):
    """The update-gate RNN cell, after Collins et al.

    Args:
        forget_bias: What is added to the bias of the gates.
    """

    state_size = ReadOnly[Any]("The size of the state.", "_num_units")
    output_size = ReadOnly[Any]("The size of the output.", "_num_units")

    def __init__(
        self,
        num_units: int,
        initializer: Callable[..., Any] | None = None,
        forget_bias: TensorLike = 1.0,
        activation: Callable[..., Any] = tanh,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation_of(activation)

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gate, candidate = split(linear([inputs, state], 2 * self._num_units), 2, axis=1)
        gate = sigmoid(gate + self._forget_bias)
        state = gate * state + (1.0 - gate) * self._activation(candidate)
        return state, state


@export("contrib.rnn.IntersectionRNNCell")
class IntersectionRNNCell(RNNCell):
    """The intersection RNN cell, with gates along time and depth, after Collins et al.

    Args:
        num_in_proj: Size of the projected input, if it differs from `num_units`.
        forget_bias: What is added to the bias of the gates.
        y_activation: Activation of the depth output.
    """

    state_size = ReadOnly[Any]("The size of the state.", "_num_units")
    output_size = ReadOnly[Any]("The size of the output.", "_num_units")

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Callable[..., Any] | None = None,
        forget_bias: TensorLike = 1.0,
        y_activation: Callable[..., Any] = relu,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._num_in_proj = num_in_proj
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._y_activation = activation_of(y_activation)

    def call(self, inputs: Tensor, state: object) -> Any:
        """Runs one step."""
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if inputs.shape[1].value != self._num_units:
                if not self._num_in_proj:
                    raise ValueError("Must have input size == output size for Intersection RNN, or give num_in_proj.")
                with variable_scope("in_projection"):
                    inputs = linear(inputs, self._num_units)
            gh, h, gy, y = split(linear([inputs, state], 4 * self._num_units), 4, axis=1)
        gh, gy = sigmoid(gh + self._forget_bias), sigmoid(gy + self._forget_bias)
        output = gy * inputs + (1.0 - gy) * self._y_activation(y)
        return output, gh * state + (1.0 - gh) * tanh(h)

"""tf.contrib.cudnn_rnn: recurrent layers with one variable, and cells that share their checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.compat.contrib.rnn.gated import LSTMBlockCell
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.cudnn_rnn import (
    GATES,
    cudnn_rnn_canonical_to_params_op,
    cudnn_rnn_op,
    cudnn_rnn_params_to_canonical_op,
    cudnn_rnn_v3_op,
)
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import sigmoid
from thalweg._src.graph.ops.reshape import shape as shape_of, transpose, zeros
from thalweg._src.graph.scopes import GraphKeys, add_to_collection
from thalweg._src.graph.seeds import get_seed
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.checkpoint.saver_builder import SaveableObject, SaveSpec
from thalweg._src.training.nn.layers.base import Layer, snake_case
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.rnn.cells import BasicRNNCell, GRUCell, affine
from thalweg._src.training.variables.initializers import Constant, GlorotUniform, Zeros
from thalweg._src.training.variables.variable_scope import (
    ReuseMode,
    VariableScope,
    get_variable,
    get_variable_scope,
    variable_scope,
)

_DIRECTIONS = ("unidirectional", "bidirectional")
_INPUT_MODES = ("linear_input", "skip_input", "auto_select")
_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)


# -- cells ------------------------------------------------------------------------------------------------------------


@export("contrib.cudnn_rnn.CudnnCompatibleLSTMCell")
class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """An LSTM cell that computes what one layer of CudnnLSTM computes, and reads its checkpoints."""

    def __init__(self, num_units: int, reuse: bool | ReuseMode | None = None) -> None:
        super().__init__(num_units, forget_bias=0, reuse=reuse, name="cudnn_compatible_lstm_cell")


@export("contrib.cudnn_rnn.CudnnCompatibleGRUCell")
class CudnnCompatibleGRUCell(GRUCell):
    """A GRU cell that computes what one layer of CudnnGRU computes, and reads its checkpoints.

    The reset gate is applied after the projection of the state, which has a bias of its own.
    """

    def __init__(
        self,
        num_units: int,
        reuse: bool | ReuseMode | None = None,
        kernel_initializer: str | Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernels and biases of the gates, and of both projections of the candidate."""
        units, width, weights = self._num_units, self._input_depth(input_shape), self._kernel_initializer
        self._gate_kernel = self.add_variable("gates/kernel", [width + units, 2 * units], initializer=weights)
        self._gate_bias = self.add_variable("gates/bias", [2 * units], initializer=Constant(1.0))
        self._projections = [
            (
                self.add_variable(f"candidate/{source}_projection/kernel", [rows, units], initializer=weights),
                self.add_variable(f"candidate/{source}_projection/bias", [units], initializer=Zeros()),
            )
            for source, rows in (("input", width), ("hidden", units))
        ]
        self.built = True

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        reset, update = split(sigmoid(affine([inputs, state], self._gate_kernel, self._gate_bias)), 2, axis=1)
        of_input, of_state = (affine([x], *of) for x, of in zip((inputs, state), self._projections))
        state = update * state + (1 - update) * self._activation(of_input + reset * of_state)
        return state, state


# -- checkpoints ------------------------------------------------------------------------------------------------------


class CudnnOpaqueParamsSaveable(SaveableObject):
    """Saves the parameters of a layer as the variables of cells: kernels [inputs and units, gates] and biases.

    Both biases of a gate are saved as their sum, and restored as two halves, which has the same effect.
    """

    _rnn_mode = ""
    _rnn_cell_name = ""

    def __init__(
        self,
        opaque_params: Any,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        scope: str | VariableScope | None = None,
        name: str = "cudnn_rnn_saveable",
    ) -> None:
        self._variable = opaque_params
        self._sizes = (num_layers, num_units, input_size)
        self._options = {"rnn_mode": self._rnn_mode, "input_mode": input_mode, "direction": direction}
        self._params_per_cell = 2 * GATES[self._rnn_mode]
        self._num_units = num_units
        self._prefixes = [prefix for layer in range(num_layers) for prefix in self._cell_prefixes(layer)]
        weights, biases = self._canonical()
        kernels, offsets = [], []
        for i, prefix in enumerate(self._prefixes):
            mine = slice(i * self._params_per_cell, (i + 1) * self._params_per_cell)
            kernels += [(f"{prefix}/{name}", value) for name, value in self._kernels(weights[mine])]
            offsets += [(f"{prefix}/{name}", value) for name, value in self._biases(biases[mine])]
        within = scope.name if isinstance(scope, VariableScope) else scope or ""
        specs = [SaveSpec(value, "", f"{within}/{name}" if within else name) for name, value in kernels + offsets]
        super().__init__(identity(opaque_params), specs, name)

    def _cell_prefixes(self, layer: int) -> list[str]:
        """Returns the scopes of a layer's cells in the networks that TensorFlow's functions build."""
        if self._options["direction"] == "unidirectional":
            return [f"rnn/multi_rnn_cell/cell_{layer}/{self._rnn_cell_name}"]
        both = f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn"
        return [f"{both}/{way}/{self._rnn_cell_name}" for way in ("fw", "bw")]

    def _canonical(self) -> tuple[list[Tensor], list[Tensor]]:
        count = self._params_per_cell * len(self._prefixes)
        both = cudnn_rnn_params_to_canonical_op.many(*self._sizes, self._variable, num_params=count, **self._options)
        weights, biases = map(list, both)
        return weights, biases

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Operation:
        """Returns the assignment of all parameters."""
        half = len(restored_tensors) // 2
        per_cell = half // len(self._prefixes)
        weights: list[Tensor] = []
        biases: list[Tensor] = []
        for start in range(0, half, per_cell):
            weights += self._weights_of(restored_tensors[start : start + per_cell])
            biases += self._biases_of(restored_tensors[half + start : half + start + per_cell])
        params = cudnn_rnn_canonical_to_params_op(*self._sizes, weights, biases, **self._options)
        return self._variable.assign(params, read_value=False)  # type: ignore[no-any-return]

    def _kernels(self, weights: Sequence[Tensor]) -> list[tuple[str, Tensor]]:
        return [("kernel", _joined(weights, self._gate_order))]

    def _biases(self, biases: Sequence[Tensor]) -> list[tuple[str, Tensor]]:
        half = len(biases) // 2
        sums = [biases[i] + biases[half + i] for i in self._gate_order]
        return [("bias", concat(sums, 0))]

    def _weights_of(self, kernels: Sequence[Tensor]) -> list[Tensor]:
        return _apart(kernels[0], self._gate_order, self._num_units)

    def _biases_of(self, biases: Sequence[Tensor]) -> list[Tensor]:
        halves = split(biases[0] * 0.5, len(self._gate_order), axis=0)
        ordered = [halves[self._gate_order.index(i)] for i in range(len(halves))]
        return ordered * 2

    @property
    def _gate_order(self) -> list[int]:
        """The gates in the order in which cells join them: for an LSTM input, candidate, forget, output."""
        return [0, 2, 1, 3] if self._rnn_mode == "lstm" else [0]


def _joined(weights: Sequence[Tensor], order: Sequence[int]) -> Tensor:
    """Returns the kernel of a cell, given the weights of all gates for the input, then for the state."""
    half = len(weights) // 2
    return transpose(concat([concat([weights[i], weights[half + i]], 1) for i in order], 0))


def _apart(kernel: Tensor, order: Sequence[int], units: int) -> list[Tensor]:
    """Returns the weights of all gates for the input, then for the state."""
    width = shape_of(kernel)[0] - units
    columns = split(kernel, len(order), axis=1)
    gates = [transpose(columns[order.index(i)]) for i in range(len(order))]
    return [gate[:, :width] for gate in gates] + [gate[:, width:] for gate in gates]


class CudnnLSTMSaveable(CudnnOpaqueParamsSaveable):
    """Saves the parameters of CudnnLSTM as the variables of CudnnCompatibleLSTMCell."""

    _rnn_mode = "lstm"
    _rnn_cell_name = snake_case(CudnnCompatibleLSTMCell.__name__)


class CudnnRNNTanhSaveable(CudnnOpaqueParamsSaveable):
    """Saves the parameters of CudnnRNNTanh as the variables of BasicRNNCell."""

    _rnn_mode = "rnn_tanh"
    _rnn_cell_name = snake_case(BasicRNNCell.__name__)


class CudnnRNNReluSaveable(CudnnRNNTanhSaveable):
    """Saves the parameters of CudnnRNNRelu as the variables of BasicRNNCell."""

    _rnn_mode = "rnn_relu"


class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    """Saves the parameters of CudnnGRU as the variables of CudnnCompatibleGRUCell."""

    _rnn_mode = "gru"
    _rnn_cell_name = snake_case(CudnnCompatibleGRUCell.__name__)
    _layer_names = ("gates", "candidate/input_projection", "candidate/hidden_projection")

    def _kernels(self, weights: Sequence[Tensor]) -> list[tuple[str, Tensor]]:
        gates = _joined([*weights[0:2], *weights[3:5]], (0, 1))
        values = (gates, transpose(weights[2]), transpose(weights[5]))
        return [(f"{layer}/kernel", value) for layer, value in zip(self._layer_names, values)]

    def _biases(self, biases: Sequence[Tensor]) -> list[tuple[str, Tensor]]:
        gates = concat([biases[0] + biases[3], biases[1] + biases[4]], 0)
        return [(f"{layer}/bias", value) for layer, value in zip(self._layer_names, (gates, biases[2], biases[5]))]

    def _weights_of(self, kernels: Sequence[Tensor]) -> list[Tensor]:
        gates = _apart(kernels[0], (0, 1), self._num_units)
        return [*gates[:2], transpose(kernels[1]), *gates[2:], transpose(kernels[2])]

    def _biases_of(self, biases: Sequence[Tensor]) -> list[Tensor]:
        halves = list(split(biases[0] * 0.5, 2, axis=0))
        return [*halves, biases[1], *halves, biases[2]]


# -- layers -----------------------------------------------------------------------------------------------------------


class CudnnRNN(Layer):
    """The base class of the layers: a network of one or more recurrent layers with one variable, `opaque_kernel`.

    Args:
        direction: "unidirectional" or "bidirectional".
        dropout: Probability that an output of a layer is dropped on its way to the next one.
        seed: Seed of dropout and of the initial weights.
    """

    _rnn_mode = ""
    _saveable_class: type[CudnnOpaqueParamsSaveable]

    num_layers = ReadOnly[int]("The number of layers.")
    num_units = ReadOnly[int]("The number of units of each layer and direction.")
    input_mode = ReadOnly[str]('"linear_input", "skip_input", or "auto_select".')
    direction = ReadOnly[str]('"unidirectional" or "bidirectional".')
    rnn_mode = ReadOnly[str]('"lstm", "gru", "rnn_tanh" or "rnn_relu".')
    saveable = ReadOnly[Any]("What saves and restores the parameters in the form of cells.")

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        kernel_initializer: Callable[..., Any] | None = None,
        bias_initializer: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        for what, value, allowed in (("direction", direction, _DIRECTIONS), ("input_mode", input_mode, _INPUT_MODES)):
            if value not in allowed:
                raise ValueError(f"{what}: expected one of {', '.join(allowed)}, received {value!r}")
        self._plain_dtype = dtypes.as_dtype(dtype)
        if self._plain_dtype not in _FLOATS:
            raise ValueError(f"dtype: expected float16, float32 or float64, received {self._plain_dtype.name}")
        self._num_layers = num_layers
        self._num_units = num_units
        self._input_mode = input_mode
        self._direction = direction
        self._dropout = dropout
        self._seed = seed
        self._kernel_initializer = kernel_initializer or GlorotUniform(seed)
        self._bias_initializer = bias_initializer or Zeros()
        self._input_size: int | None = None
        self._saveable: CudnnOpaqueParamsSaveable | None = None

    @property
    def num_dirs(self) -> int:
        """The number of directions."""
        return 1 + _DIRECTIONS.index(self._direction)

    @property
    def input_size(self) -> int:
        """The size of the inputs, known once the layer is built."""
        if self._input_size is None:
            raise ValueError(f"Layer {self.name!r} has no input_size before it is built.")
        return self._input_size

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of the weights of all gates, layer by layer."""
        gates, units = GATES[self._rnn_mode], self._num_units
        widths = [self.input_size] + [units * self.num_dirs] * (self._num_layers - 1)
        return [s for width in widths for s in ([(units, width)] * gates + [(units, units)] * gates) * self.num_dirs]

    @property
    def canonical_bias_shapes(self) -> list[list[int]]:
        """The shapes of the biases of all gates, layer by layer."""
        return [[self._num_units]] * (2 * GATES[self._rnn_mode] * self.num_dirs * self._num_layers)

    def state_shape(self, batch_size: TensorLike) -> tuple[list[Any], ...]:
        """Returns the shapes of the states for a batch size."""
        one = [self._num_layers * self.num_dirs, batch_size, self._num_units]
        return (one, list(one)) if self._rnn_mode == "lstm" else (one,)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the variable of all parameters, and what saves it."""
        if self.built:
            return
        sizes = as_shape(input_shape)
        if sizes is None or len(sizes) != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {input_shape}")
        if sizes[-1] is None:
            raise ValueError(f"inputs: the last dimension must be known, received shape {input_shape}")
        self._input_size = sizes[-1]
        self.input_spec = InputSpec(ndim=3, axes={-1: self._input_size})
        self._set_scope()
        assert self._scope is not None
        dtype = self._plain_dtype
        with variable_scope(self._scope, reuse=self._reuse, auxiliary_name_scope=False):
            weights = [self._kernel_initializer(shape, dtype=dtype) for shape in self.canonical_weight_shapes]
            biases = [self._bias_initializer(shape, dtype=dtype) for shape in self.canonical_bias_shapes]
            options = {"rnn_mode": self._rnn_mode, "input_mode": self._input_mode, "direction": self._direction}
            initial = cudnn_rnn_canonical_to_params_op(
                self._num_layers, self._num_units, self._input_size, weights, biases, **options
            )
            self.kernel = get_variable("opaque_kernel", dtype=dtype, initializer=initial)
        self._trainable_weights.append(self.kernel)
        self._named_weights["kernel"] = self.kernel
        if get_variable_scope().reuse is not True:
            self._saveable = self._saveable_class(
                self.kernel,
                self._num_layers,
                self._num_units,
                self._input_size,
                self._input_mode,
                self._direction,
                scope=get_variable_scope(),
                name=f"{self.kernel.op.name}_saveable",
            )
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)
        self.built = True

    def call(
        self,
        inputs: object,
        initial_state: object = None,
        sequence_lengths: TensorLike | None = None,
        time_major: bool = True,
        training: bool = True,
    ) -> Any:
        """Runs the network over sequences; returns the outputs of the last layer and a tuple of final states.

        As in TensorFlow, `time_major` counts only if `sequence_lengths` are given.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"initial_state: expected a tuple, received {initial_state!r}")
        x = convert_to_tensor(inputs, self._plain_dtype)
        batch_first = sequence_lengths is not None and not time_major
        if initial_state is None:
            batch = shape_of(x)[0 if batch_first else 1]
            initial_state = tuple(zeros(shape, self._plain_dtype) for shape in self.state_shape(batch))
            if batch_first:
                initial_state = tuple(transpose(state, [1, 0, 2]) for state in initial_state)
        states = [convert_to_tensor(state, self._plain_dtype) for state in initial_state]
        if self._rnn_mode != "lstm":
            states.append(constant([], self._plain_dtype))
        seed, seed2 = get_seed(self._seed)
        options: dict[str, Any] = {
            "rnn_mode": self._rnn_mode,
            "input_mode": self._input_mode,
            "direction": self._direction,
            "dropout": self._dropout,
            "seed": seed or 0,
            "seed2": seed2 or 0,
            "is_training": training,
        }
        if sequence_lengths is None:
            results = cudnn_rnn_op.many(x, *states, self.kernel, **options)
        else:
            options["time_major"] = time_major
            results = cudnn_rnn_v3_op.many(x, *states, self.kernel, sequence_lengths, **options)
        finals = results[1:3] if self._rnn_mode == "lstm" else results[1:2]
        return results[0], tuple(finals)


@export("contrib.cudnn_rnn.CudnnLSTM")
class CudnnLSTM(CudnnRNN):
    """One or more LSTM layers over sequences [time, batch, size]; the states are outputs and memory."""

    _rnn_mode = "lstm"
    _saveable_class = CudnnLSTMSaveable


@export("contrib.cudnn_rnn.CudnnGRU")
class CudnnGRU(CudnnRNN):
    """One or more GRU layers over sequences [time, batch, size]."""

    _rnn_mode = "gru"
    _saveable_class = CudnnGRUSaveable


@export("contrib.cudnn_rnn.CudnnRNNTanh")
class CudnnRNNTanh(CudnnRNN):
    """One or more recurrent layers with activation tanh over sequences [time, batch, size]."""

    _rnn_mode = "rnn_tanh"
    _saveable_class = CudnnRNNTanhSaveable


@export("contrib.cudnn_rnn.CudnnRNNRelu")
class CudnnRNNRelu(CudnnRNN):
    """One or more recurrent layers with activation relu over sequences [time, batch, size]."""

    _rnn_mode = "rnn_relu"
    _saveable_class = CudnnRNNReluSaveable

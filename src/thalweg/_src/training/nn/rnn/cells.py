"""RNN cells: one step of a sequence, from inputs and state to output and new state."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.math import clip_by_value, sigmoid, tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.checkpoint.trackable import Child, children_of, is_trackable
from thalweg._src.training.nn.layers.base import Layer
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.named import activation_of, initializer_of
from thalweg._src.training.nn.rnn.sizes import NestedTensors, static_size, zeros_like_sizes
from thalweg._src.training.variables.initializers import Constant, Zeros
from thalweg._src.training.variables.partitioners import fixed_size_partitioner
from thalweg._src.training.variables.variable_scope import ReuseMode, VariableScope, get_variable_scope, variable_scope
from thalweg._src.training.variables.variables import Variable, trainable_variables


@export("nn.rnn_cell.RNNCell", "contrib.rnn.RNNCell")
class RNNCell(Layer):
    """The base class of cells; a subclass defines `state_size`, `output_size` and `call(inputs, state)`."""

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)

    def __call__(
        self,
        inputs: NestedTensors,
        state: NestedTensors,
        scope: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Runs one step in the variable scope of the first call; returns the output and the new state."""
        if scope is not None:
            with variable_scope(scope, custom_getter=self._track_variable) as opened:
                return super().__call__(inputs, state, *args, scope=opened, **kwargs)
        scope = getattr(self, "_first_scope", None)
        if scope is None:
            scope = self._first_scope = variable_scope(get_variable_scope(), custom_getter=self._track_variable)
        with scope:
            return super().__call__(inputs, state, *args, **kwargs)

    def _track_variable(self, getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Adds variables that `call` creates by `get_variable` to the variables of the cell."""
        variable = getter(*args, **kwargs)
        for weight in variable if hasattr(variable, "_get_variable_list") else [variable]:
            trained = any(weight is other for other in trainable_variables())
            weights = self._trainable_weights if trained else self._non_trainable_weights
            if not any(weight is other for other in weights):
                weights.append(weight)
        return variable

    @property
    def state_size(self) -> Any:
        """The size of the state: an integer, a shape, or a structure of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output: an integer, a shape, or a structure of them."""
        raise NotImplementedError("Abstract method")

    def build(self, input_shape: ShapeLike) -> None:
        """Creates no variables: `call` does."""

    def get_initial_state(
        self, inputs: NestedTensors = None, batch_size: TensorLike | None = None, dtype: DTypeLike | None = None
    ) -> Any:
        """Returns the state before the first step: zeros for the batch size of the inputs."""
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            input_size = inputs.dims[0] if inputs.dims else None
            requested_size = None if batch_size is None else static_size(batch_size)
            if input_size is not None and requested_size is not None and input_size != requested_size:
                raise ValueError(f"the batch size of the inputs is {input_size}, not batch_size={requested_size}")
            batch_size = input_size if input_size is not None else shape_of(inputs)[0]
            if dtype is not None and inputs.dtype != dtypes.as_dtype(dtype):
                raise ValueError(f"the dtype of the inputs is {inputs.dtype.name}, not {dtypes.as_dtype(dtype).name}")
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "The initial state needs inputs, or batch_size and dtype; "
                f"received batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns a state of zeros."""
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return zeros_like_sizes(self.state_size, batch_size, dtype)


def require_cell(argument: str, cell: object) -> None:
    """Raises TypeError unless a value can be used as a cell."""
    facts = {
        "'output_size' property is missing": _has(cell, "output_size"),
        "'state_size' property is missing": _has(cell, "state_size"),
        "either 'zero_state' or 'get_initial_state' method is required": hasattr(cell, "zero_state")
        or hasattr(cell, "get_initial_state"),
        "is not callable": callable(cell),
    }
    wrong = [what for what, holds in facts.items() if not holds]
    if wrong:
        raise TypeError(f"The argument {argument!r} ({cell}) is not an RNNCell: {', '.join(wrong)}.")


def _has(cell: object, name: str) -> bool:
    """Returns whether an attribute exists, without evaluating a property."""
    return hasattr(type(cell), name) or name in getattr(cell, "__dict__", {})


@export("contrib.rnn.LayerRNNCell")
class LayerRNNCell(RNNCell):
    """A cell that creates its variables in `build`, in its own variable scope."""

    def __call__(
        self,
        inputs: NestedTensors,
        state: NestedTensors,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Runs one step; the first call creates the variables."""
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def _input_depth(self, input_shape: ShapeLike) -> int:
        sizes = as_shape(input_shape)
        depth = sizes[-1] if sizes else None
        if depth is None:
            raise ValueError(f"inputs: the last dimension must be known, received shape {input_shape}")
        kind = dtypes.as_dtype(self.dtype or dtypes.float32)
        if not (kind.is_floating or kind.is_complex):
            raise ValueError(f"inputs: expected a floating or complex dtype, received {kind.name}")
        return depth


def affine(operands: Sequence[Any], kernel: Variable | Tensor, bias: Variable | Tensor) -> Tensor:
    """Returns the concatenated operands times the kernel plus the bias."""
    return bias_add(matmul(concat(list(operands), 1) if len(operands) > 1 else operands[0], kernel), bias)


class UnitsCell(LayerRNNCell):
    """The base class of cells with a number of units, by default the size of state and output, and an activation."""

    state_size = ReadOnly[Any]("The size of the state.", "_num_units")
    output_size = ReadOnly[Any]("The size of the output.", "_num_units")

    def __init__(
        self,
        num_units: int,
        activation: str | Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation_of(activation) or tanh


@export("nn.rnn_cell.BasicRNNCell", "contrib.rnn.BasicRNNCell")
class BasicRNNCell(UnitsCell):
    """The basic RNN cell: output and state are activation(inputs * W + state * U + b)."""

    def build(self, input_shape: ShapeLike) -> None:
        """Creates kernel and bias."""
        self._kernel = self.add_variable("kernel", [self._input_depth(input_shape) + self._num_units, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: NestedTensors) -> Any:
        """Runs one step."""
        output = self._activation(affine([inputs, state], self._kernel, self._bias))
        return output, output


@export("nn.rnn_cell.GRUCell", "contrib.rnn.GRUCell")
class GRUCell(UnitsCell):
    """A gated recurrent unit, after Cho et al."""

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")

    @parameters_of(UnitsCell.__init__, before="name")
    def __init__(
        self,
        kernel_initializer: str | Callable[..., Any] | None = None,
        bias_initializer: str | Callable[..., Any] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._kernel_initializer = initializer_of(kernel_initializer)
        self._bias_initializer = initializer_of(bias_initializer)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernels and biases of gates and candidate; the bias of the gates is initialized to 1."""
        units, rows = self._num_units, self._input_depth(input_shape) + self._num_units
        weights, bias_initializer = self._kernel_initializer, self._bias_initializer
        names = self._names
        self._gate_kernel = self.add_variable(names[0], [rows, 2 * units], initializer=weights)
        self._gate_bias = self.add_variable(names[1], [2 * units], initializer=bias_initializer or Constant(1.0))
        self._candidate_kernel = self.add_variable(names[2], [rows, units], initializer=weights)
        self._candidate_bias = self.add_variable(names[3], [units], initializer=bias_initializer or Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: NestedTensors) -> Any:
        """Runs one step."""
        gates = sigmoid(affine([inputs, state], self._gate_kernel, self._gate_bias))
        reset, update = split(gates, 2, axis=1)
        candidate = affine([inputs, reset * state], self._candidate_kernel, self._candidate_bias)
        state = update * state + (1 - update) * self._activation(candidate)
        return state, state


@export("nn.rnn_cell.LSTMStateTuple", "contrib.rnn.LSTMStateTuple")
class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM: cell state `c` and output `h`.

    Args:
        c: The memory.
        h: The output.
    """

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The element type of both parts."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


@export("nn.rnn_cell.BasicLSTMCell", "contrib.rnn.BasicLSTMCell")
class BasicLSTMCell(UnitsCell):
    """An LSTM cell without peepholes, clipping or projection."""

    @parameters_of(UnitsCell.__init__, before="activation")
    def __init__(self, forget_bias: TensorLike = 1.0, state_is_tuple: bool = True, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    def build(self, input_shape: ShapeLike) -> None:
        """Creates kernel and bias of all gates, in the order input, candidate, forget, output."""
        units = self._num_units
        self._kernel = self.add_variable("kernel", [self._input_depth(input_shape) + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], initializer=Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: NestedTensors) -> Any:
        """Runs one step."""
        c, h = state if self._state_is_tuple else split(state, 2, axis=1)
        i, j, f, o = split(affine([inputs, h], self._kernel, self._bias), 4, axis=1)
        c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)


@export("nn.rnn_cell.LSTMCell", "contrib.rnn.LSTMCell")
class LSTMCell(UnitsCell):
    """An LSTM cell with optional peepholes, clipping and projection, after Sak et al."""

    @parameters_of(UnitsCell.__init__, before="activation")
    def __init__(
        self,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: str | Callable[..., Any] | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: TensorLike = 1.0,
        state_is_tuple: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer_of(initializer)
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._num_units if self._num_proj is None else self._num_proj

    def build(self, input_shape: ShapeLike) -> None:
        """Creates kernel and bias, and the variables of peepholes and projection."""
        units, depth = self._num_units, self._input_depth(input_shape)
        self._kernel = self._weights("kernel", [depth + self.output_size, 4 * units], self._num_unit_shards)
        self._bias = self.add_variable("bias", [4 * units], initializer=Zeros())
        if self._use_peepholes:
            self._w_f_diag = self._weights("w_f_diag", [units])
            self._w_i_diag = self._weights("w_i_diag", [units])
            self._w_o_diag = self._weights("w_o_diag", [units])
        if self._num_proj is not None:
            self._proj_kernel = self._weights("projection/kernel", [units, self._num_proj], self._num_proj_shards)
        self.built = True

    def _weights(self, name: str, shape: list[int], shards: int | None = None) -> Any:
        partitioner = None if shards is None else fixed_size_partitioner(shards)
        return self.add_variable(name, shape, initializer=self._initializer, partitioner=partitioner)

    def call(self, inputs: TensorLike, state: NestedTensors) -> Any:
        """Runs one step."""
        c, h = state if self._state_is_tuple else split(state, [self._num_units, self.output_size], axis=1)
        i, j, f, o = split(affine([inputs, h], self._kernel, self._bias), 4, axis=1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f_diag * c, i + self._w_i_diag * c
        c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + self._w_o_diag * c
        h = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            h = matmul(h, self._proj_kernel)
            if self._proj_clip is not None:
                h = clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)


@export("nn.rnn_cell.MultiRNNCell", "contrib.rnn.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """A stack of cells: each takes the output of the previous one."""

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not isinstance(cells, list | tuple):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells!r}.")
        if not cells:
            raise ValueError("MultiRNNCell: expected at least one cell, received none")
        for number, cell in enumerate(cells):
            require_cell(f"cell_{number}", cell)
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "A cell has a nested state, which state_is_tuple=False cannot join: "
                f"received sizes {[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of all cells."""
        return (
            _unique(w for cell in self._cells for w in getattr(cell, "trainable_weights", ())) if self.trainable else []
        )

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of all cells that are not trained."""
        fixed = _unique(w for cell in self._cells for w in getattr(cell, "non_trainable_weights", ()))
        if self.trainable:
            return fixed
        return _unique([w for cell in self._cells for w in getattr(cell, "trainable_weights", ())] + fixed)

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the zero states of all cells."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: TensorLike, state: NestedTensors) -> Any:
        """Runs one step of every cell."""
        if not self._state_is_tuple:
            state = split(state, [cell.state_size for cell in self._cells], axis=1)
        elif not nest.is_nested(state):
            raise ValueError(f"state: expected a tuple of {len(self._cells)} states, received {state}")
        states = []
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                inputs, after = cell(inputs, state[number])
                states.append(after)
        return inputs, tuple(states) if self._state_is_tuple else concat(states, 1)


@children_of.register(MultiRNNCell)
def _cells_by_name(cell: MultiRNNCell) -> Iterator[Child]:
    """Yields the cells by their numbers, as TensorFlow's checkpoints name them."""
    return ((f"cell-{number}", child) for number, child in enumerate(cell._cells) if is_trackable(child))


def _unique(variables: Any) -> list[Any]:
    return list({id(variable): variable for variable in variables}.values())

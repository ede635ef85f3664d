"""Fused RNN cells, which process a whole sequence [time, batch, ...]."""

from __future__ import annotations

import abc
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import stack, unstack
from thalweg._src.graph.ops.pad_tile import reverse, reverse_sequence
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.base import Layer
from thalweg._src.training.nn.rnn.cells import LSTMCell, LSTMStateTuple, RNNCell
from thalweg._src.training.nn.rnn.dynamic import dynamic_rnn
from thalweg._src.training.nn.rnn.static import static_rnn
from thalweg._src.training.nn.rnn.steps import batch_size_of
from thalweg._src.training.variables.initializers import Zeros
from thalweg._src.training.variables.variable_scope import ReuseMode, VariableScope


@export("contrib.rnn.best_effort_input_batch_size")
def best_effort_input_batch_size(flat_input: Any) -> Any:
    """Returns the batch size of sequences [time, batch, ...], an integer if it is known statically."""
    return batch_size_of(list(flat_input))


@export("contrib.rnn.FusedRNNCell")
class FusedRNNCell(abc.ABC):
    """The base class of fused cells, from inputs [time, batch, ...] or a list of steps to outputs and final state."""

    @abc.abstractmethod
    def __call__(
        self,
        inputs: TensorLike,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: str | VariableScope | None = None,
    ) -> Any:
        """Runs all steps."""


@export("contrib.rnn.FusedRNNCellAdaptor")
class FusedRNNCellAdaptor(FusedRNNCell):
    """Adapts an RNN cell to the interface of fused cells, with a dynamic loop or unrolled.

    Args:
        cell: The cell to run.
        use_dynamic_rnn: Whether a loop is used; otherwise steps are unrolled.
    """

    def __init__(self, cell: RNNCell, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    @parameters_of(FusedRNNCell.__call__)
    def __call__(self, inputs: Any, **arguments: Any) -> Any:
        """Runs all steps."""
        listed = isinstance(inputs, list)
        if self._use_dynamic_rnn:
            together = stack(inputs) if listed else inputs
            outputs, state = dynamic_rnn(self._cell, together, time_major=True, **arguments)
            return (list(unstack(outputs, len(inputs))) if listed else outputs), state
        steps = inputs if listed else list(unstack(convert_to_tensor(inputs)))
        outputs, state = static_rnn(self._cell, steps, **arguments)
        return (outputs if listed else stack(outputs)), state


@export("contrib.rnn.TimeReversedFusedRNN")
class TimeReversedFusedRNN(FusedRNNCell):
    """Runs another fused cell over the reversed sequences.

    Args:
        cell: The cell to run.
    """

    def __init__(self, cell: FusedRNNCell) -> None:
        self._cell = cell

    @parameters_of(FusedRNNCell.__call__)
    def __call__(self, inputs: Any, sequence_length: TensorLike | None, **arguments: Any) -> Any:
        """Runs all steps in reverse order."""
        backwards = _reversed(inputs, sequence_length)
        outputs, state = self._cell(backwards, sequence_length=sequence_length, **arguments)
        return _reversed(outputs, sequence_length), state


def _reversed(sequence: Any, lengths: Any) -> Any:
    if isinstance(sequence, list):
        return list(unstack(_reversed(stack(sequence), lengths), len(sequence)))
    return reverse(sequence, [0]) if lengths is None else reverse_sequence(sequence, lengths, 0, 1)


@export("contrib.rnn.LSTMBlockWrapper")
class LSTMBlockWrapper(Layer):
    """The base class of fused LSTM layers; a subclass defines `_call_cell`.

    Args:
        trainable: Whether the variables are added to the collection `TRAINABLE_VARIABLES`.
        name: Name of the layer, and of its variable scope.
        dtype: Type of the variables; by default that of the inputs.
        **kwargs: Further arguments of the base class.
    """

    @property
    def num_units(self) -> int:
        """The number of units."""
        raise NotImplementedError("Abstract method")

    def _call_cell(
        self, inputs: Tensor, initial_cell_state: Any, initial_output: Any, dtype: Any, sequence_length: Any
    ) -> Any:
        """Returns the cell states and outputs of all steps, [time, batch, units] each."""
        raise NotImplementedError(f"{type(self).__name__} runs no cell")


@export("contrib.rnn.LSTMBlockFusedCell")
class LSTMBlockFusedCell(LSTMBlockWrapper):
    """A fused LSTM layer with the constructor of TensorFlow's."""

    num_units = ReadOnly[int]("The number of units.")

    def __init__(
        self,
        num_units: int,
        forget_bias: TensorLike = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | ReuseMode | None = None,
        dtype: DTypeLike | None = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._use_peephole = use_peephole
        clip = None if cell_clip is None or cell_clip < 0 else cell_clip
        self._cell = LSTMCell(num_units, use_peepholes=use_peephole, cell_clip=clip, forget_bias=forget_bias)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the variables of an LSTM cell under the names of this layer."""
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        sizes = as_shape(shape)
        width = sizes[-1] if sizes else None
        if width is None:
            raise ValueError(f"inputs: the last dimension must be known, received shape {shape}")
        units, cell = self._num_units, self._cell
        cell._kernel = self.add_variable("kernel", [width + units, 4 * units])
        cell._bias = self.add_variable("bias", [4 * units], initializer=Zeros())
        if self._use_peephole:
            cell._w_i_diag = self.add_variable("w_i_diag", [units])
            cell._w_f_diag = self.add_variable("w_f_diag", [units])
            cell._w_o_diag = self.add_variable("w_o_diag", [units])
        cell.built = True
        self.built = True

    def call(
        self,
        inputs: Tensor,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
    ) -> tuple[Any, Any]:
        """Runs all steps; past the end of a sequence the outputs are 0 and the state is unchanged."""
        listed = isinstance(inputs, list)
        steps = stack(inputs) if listed else convert_to_tensor(inputs)
        if initial_state is None and dtype is None:
            dtype = self.dtype or steps.dtype
        state = None if initial_state is None else LSTMStateTuple(*initial_state)
        outputs, final = dynamic_rnn(
            self._cell,
            steps,
            sequence_length=sequence_length,
            initial_state=state,
            dtype=dtype,
            time_major=True,
        )
        return (list(unstack(outputs, len(inputs))) if listed else outputs), final

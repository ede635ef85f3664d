"""Grid LSTM cells over time and frequency: each block of the input is one step along frequency."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.signatures import parameters_of
from thalweg._src.compat.contrib.rnn.lstm_variants import input_width, sharded
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.math import clip_by_value, sigmoid, tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reshape import shape as shape_of, zeros
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.rnn.cells import RNNCell
from thalweg._src.training.variables.initializers import Zeros
from thalweg._src.training.variables.variable_scope import ReuseMode, get_variable, variable_scope


def _windows(inputs: Any, start: int, count: int, size: int, skip: int) -> list[Any]:
    return [inputs[:, start + i * skip : start + i * skip + size] for i in range(count)]


def _count(width: int, size: int, skip: int) -> int:
    """Returns the number of windows."""
    return int((width - size) / skip) + 1


def _zeros(inputs: Any, units: int) -> Any:
    return zeros([inputs.shape[0].value or shape_of(inputs)[0], units], inputs.dtype)


@export("contrib.rnn.TimeFreqLSTMCell")
class TimeFreqLSTMCell(RNNCell):
    """An LSTM cell over windows of the frequency axis in each time step, after Sainath and Li.

    Args:
        initializer: Accepted for compatibility; the scope's initializer is used.
    """

    output_size = ReadOnly[Any]("The size of the output.", "_num_units")

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Callable[..., Any] | None = None,
        num_unit_shards: int = 1,
        forget_bias: TensorLike = 1.0,
        feature_size: Any = None,
        frequency_skip: int = 1,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size
        self._frequency_skip = frequency_skip

    @property
    def state_size(self) -> Any:
        return 2 * self._num_units

    def call(self, inputs: Tensor, state: Any) -> Any:
        """Runs one time step over all frequency windows."""
        units, kind = self._num_units, inputs.dtype
        size, skip = self._feature_size, self._frequency_skip
        kernel = sharded("W", [size + 2 * units, 4 * units], kind, self._num_unit_shards)
        bias = get_variable("B", [4 * units], kind, Zeros())
        peepholes = {g: get_variable(f"W_{g}_diag", [units], kind) for g in "FIO"} if self._use_peepholes else {}
        m_before = _zeros(inputs, units)
        outputs, states = [], []
        for number, window in enumerate(_windows(inputs, 0, _count(input_width(inputs), size, skip), size, skip)):
            c, m = (state[:, (2 * number + k) * units : (2 * number + k + 1) * units] for k in (0, 1))
            i, j, f, o = split(bias_add(matmul(concat([window, m, m_before], 1), kernel), bias), 4, axis=1)
            if peepholes:
                f, i = f + peepholes["F"] * c, i + peepholes["I"] * c
            c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
            if self._cell_clip is not None:
                c = clip_by_value(c, -self._cell_clip, self._cell_clip)
            m = m_before = sigmoid(o + peepholes["O"] * c if peepholes else o) * tanh(c)
            outputs.append(m)
            states += [c, m]
        return concat(outputs, 1), concat(states, 1)


@export("contrib.rnn.GridLSTMCell")
class GridLSTMCell(RNNCell):
    """A grid LSTM cell along time and frequency, after Kalchbrenner et al.

    Args:
        initializer: Accepted for compatibility; the scope's initializer is used.
    """

    _prefixes: tuple[str, ...] = ("state",)
    state_tuple_type = ReadOnly[Any]("The named tuple of the states.")

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Callable[..., Any] | None = None,
        num_unit_shards: int = 1,
        forget_bias: TensorLike = 1.0,
        feature_size: Any = None,
        frequency_skip: Any = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._shared = share_time_frequency_weights
        self._cell_clip = cell_clip
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size
        self._frequency_skip = frequency_skip
        self._blocks = [int(count) for count in num_frequency_blocks]
        self._starts = list(start_freqindex_list or ())
        self._ends = list(end_freqindex_list or ())
        self._coupled = couple_input_forget_gates
        self._state_is_tuple = state_is_tuple
        names = [
            f"{prefix}_f{f:02d}_b{b:02d}_{letter}"
            for prefix in self._prefixes
            for b, count in enumerate(self._blocks)
            for f in range(count)
            for letter in "cm"
        ]
        self._state_tuple_type: Any = collections.namedtuple("GridLSTMStateTuple", names) if state_is_tuple else None

    @property
    def output_size(self) -> Any:
        return 2 * self._num_units * sum(self._blocks) * len(self._prefixes)

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return self._state_tuple_type(*[self._num_units] * len(self._state_tuple_type._fields))
        return 2 * self._num_units * sum(self._blocks)

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        outputs: list[Any] = []
        states: list[Any] = []
        for block, windows in enumerate(self._features(inputs)):
            some_outputs, some_states = self._along(windows, block, state, "state")
            outputs += some_outputs
            states += some_states
        return concat(outputs, 1), self._state_tuple_type(*states) if self._state_is_tuple else concat(states, 1)

    def _features(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """Returns the windows of each block; with an offset, of shifted inputs padded with zeros."""
        width, size, skip = input_width(inputs), self._feature_size, self._frequency_skip
        if offset:
            inputs = pad(inputs, [[0, 0], [0, offset] if offset > 0 else [-offset, 0]])
        start = max(offset, 0)
        if not self._starts:
            if len(self._blocks) != 1:
                raise ValueError(
                    f"num_frequency_blocks has {len(self._blocks)} entries; without start indices, one fits"
                )
            spans = [(0, width)]
        else:
            if not len(self._starts) == len(self._ends) == len(self._blocks):
                raise ValueError(
                    "start_freqindex_list, end_freqindex_list and num_frequency_blocks differ in length: "
                    f"{len(self._starts)}, {len(self._ends)}, {len(self._blocks)}"
                )
            spans = list(zip(self._starts, self._ends))
        result = []
        for (begin, end), expected in zip(spans, self._blocks):
            count = _count(end - begin, size, skip)
            if count != expected:
                raise ValueError(f"Invalid num_frequency_blocks, requires {count} but gets {expected}")
            result.append(_windows(inputs, start + begin, count, size, skip))
        return result

    def _along(self, windows: list[Any], block: int, state: Any, prefix: str) -> tuple[list[Any], list[Any]]:
        """Runs along the windows of a block; returns their outputs and states."""
        units, kind = self._num_units, windows[0].dtype
        gates = 3 if self._coupled else 4
        rows = windows[0].shape[1].value + 2 * units
        kernels = {}
        for axis in "f" if self._shared else "ft":
            kernel = sharded(f"W_{axis}_{block}", [rows, gates * units], kind, self._num_unit_shards)
            kernels[axis] = kernel, get_variable(f"B_{axis}_{block}", [gates * units], kind, Zeros())
        peepholes = self._peepholes(block, kind)
        m_freq = c_freq = _zeros(windows[0], units)
        outputs, states = [], []
        for number, window in enumerate(windows):
            if self._state_is_tuple:
                name = f"{prefix}_f{number:02d}_b{block:02d}"
                c_time, m_time = getattr(state, f"{name}_c"), getattr(state, f"{name}_m")
            else:
                c_time, m_time = (state[:, (2 * number + k) * units : (2 * number + k + 1) * units] for k in (0, 1))
            together = concat([window, m_time, m_freq], 1)
            mixed = {axis: bias_add(matmul(together, w), b) for axis, (w, b) in kernels.items()}
            gates_along = {axis: split(mixed[axis], gates, axis=1) for axis in mixed}
            by_freq, by_time = gates_along["f"], gates_along["f" if self._shared else "t"]
            before = (c_freq, c_time)
            c_freq = self._memory(by_freq, c_freq, before, peepholes.get("freq"))
            c_time = self._memory(by_time, c_time, before, peepholes.get("time"))
            m_freq = self._output(by_freq, c_freq, (c_freq, c_time), peepholes.get("freq"))
            m_time = self._output(by_time, c_time, (c_freq, c_time), peepholes.get("time"))
            states += [c_time, m_time]
            outputs += [m_time, m_freq]
        return outputs, states

    def _peepholes(self, block: int, kind: Any) -> dict[str, Any]:
        """Returns the peephole weights of both cell states in each gate, for each axis."""
        if not self._use_peepholes:
            return {}
        letters = "IO" if self._coupled else "FIO"
        weights = {
            axis: {
                g: [get_variable(f"W_{g}_diag_{axis}{to}_{block}", [self._num_units], kind) for to in "ft"]
                for g in letters
            }
            for axis in (("freq",) if self._shared else ("freq", "time"))
        }
        return {"freq": weights["freq"], "time": weights.get("time", weights["freq"])}

    def _memory(self, gates: Any, c: object, memories: Any, peepholes: Any) -> Any:
        i, j = gates[0], gates[1]
        write = sigmoid(_seen(i, "I", memories, peepholes))
        if self._coupled:
            keep = 1.0 - write
        else:
            keep = sigmoid(_seen(gates[2] + self._forget_bias, "F", memories, peepholes))
        c = keep * c + write * tanh(j)
        return c if self._cell_clip is None else clip_by_value(c, -self._cell_clip, self._cell_clip)

    def _output(self, gates: Any, c: Any, memories: Any, peepholes: Any) -> Any:
        return sigmoid(_seen(gates[-1], "O", memories, peepholes)) * tanh(c)


def _seen(gate: Any, letter: str, memories: Any, peepholes: Any) -> Any:
    if peepholes is None:
        return gate
    (by_freq, by_time), (c_freq, c_time) = peepholes[letter], memories
    return gate + by_freq * c_freq + by_time * c_time


@export("contrib.rnn.BidirectionalGridLSTMCell")
class BidirectionalGridLSTMCell(GridLSTMCell):
    """A bidirectional grid LSTM cell along frequency.

    Args:
        initializer: Accepted for compatibility; the scope's initializer is used.
        backward_slice_offset: Offset of the first block of the backward direction.
    """

    _prefixes = ("fwd_state", "bwd_state")

    @parameters_of(GridLSTMCell.__init__, without=["state_is_tuple"], before="reuse")
    def __init__(self, backward_slice_offset: int = 0, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._backward_slice_offset = int(backward_slice_offset)

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        outputs: list[Any] = []
        states: list[Any] = []
        for direction, offset in (("fwd", 0), ("bwd", self._backward_slice_offset)):
            with variable_scope(direction):
                for block, windows in enumerate(self._features(inputs, offset)):
                    ordered = windows if direction == "fwd" else windows[::-1]
                    some_outputs, some_states = self._along(ordered, block, state, f"{direction}_state")
                    outputs += some_outputs
                    states += some_states
        return concat(outputs, 1), self._state_tuple_type(*states)

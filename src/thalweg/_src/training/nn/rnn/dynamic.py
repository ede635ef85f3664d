"""dynamic_rnn, bidirectional_dynamic_rnn and raw_rnn: loops over sequences of dynamic length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.comparison import logical_not, logical_or
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.math import maximum, minimum
from thalweg._src.graph.ops.pad_tile import reverse, reverse_sequence
from thalweg._src.graph.ops.reduction import reduce_all, reduce_max
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.rnn.cells import RNNCell, require_cell
from thalweg._src.training.nn.rnn.sizes import NestedTensors, static_shape, static_size, swap_batch_and_time, zeros_of
from thalweg._src.training.nn.rnn.steps import (
    batch_size_of,
    checked_lengths,
    initial_state_of,
    masked_step,
    rnn_scope,
    select_finished,
    state_dtype,
)
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


@export("nn.dynamic_rnn")
def dynamic_rnn(
    cell: RNNCell,
    inputs: NestedTensors,
    sequence_length: TensorLike | None = None,
    initial_state: NestedTensors = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """Runs a cell over the steps of inputs; returns the outputs of all steps and the last state.

    Inputs are [batch, time, ...], or [time, batch, ...] if time_major. After the end of a sequence, as
    sequence_length says, outputs are zero and the state is unchanged.

    Args:
        cell: The RNN cell.
        inputs: Inputs [batch, time, ...], or a nest of them; [time, batch, ...] if `time_major`.
        dtype: Type of the initial state if none is given.
    """
    require_cell("cell", cell)
    with rnn_scope(scope):
        if not time_major:
            inputs = nest.map_structure(swap_batch_and_time, inputs)
        tensors = [convert_to_tensor(tensor) for tensor in nest.flatten(inputs)]
        batch_size = batch_size_of(tensors)
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        lengths = None if sequence_length is None else checked_lengths(sequence_length, batch_size)
        sequences = _Sequences(inputs, tensors, batch_size)
        options = {"parallel_iterations": parallel_iterations or 32, "swap_memory": swap_memory}
        outputs, state = sequences.run(cell, state, lengths, dtype, options)
        return outputs if time_major else nest.map_structure(swap_batch_and_time, outputs), state


class _Sequences:
    """Inputs of one length and batch size, [time, batch, ...]."""

    def __init__(self, structure: NestedTensors, tensors: list[Tensor], batch_size: TensorLike) -> None:
        self._structure = structure
        self._tensors = tensors
        self._batch_size = batch_size
        self._static_steps: int | None = None
        for tensor in tensors:
            shape = tensor.dims
            if shape is None or len(shape) < 3:
                raise ValueError(f"inputs must have a rank of 3 at least, but {tensor.label} has shape {tensor.shape}")
            if None in shape[2:]:
                raise ValueError(
                    "Input size (depth of inputs) must be accessible via shape inference, but saw value None: "
                    f"{tensor.label} has shape {tensor.shape}"
                )
            steps, batch = shape[:2]
            if None not in (steps, self._static_steps) and steps != self._static_steps:
                raise ValueError(f"inputs differ in the number of time steps: {self._static_steps} and {steps}")
            if isinstance(batch_size, int) and batch not in (None, batch_size):
                raise ValueError(f"inputs differ in batch size: {batch_size} and {batch}")
            self._static_steps = self._static_steps if steps is None else steps
        self._steps: Any = shape_of(tensors[0])[0]

    def run(
        self,
        cell: RNNCell,
        state: NestedTensors,
        lengths: Tensor | None,
        dtype: DTypeLike | None,
        options: dict[str, Any],
    ) -> tuple[Any, Any]:
        """Runs a cell over all steps."""
        kind, batch = state_dtype(dtype, state), self._batch_size
        sizes = nest.flatten(cell.output_size)
        zero_output: Any = None
        bound = self._steps
        if lengths is not None:
            zeros = [zeros_of(batch, size, kind) for size in sizes]
            zero_output = nest.pack_sequence_as(cell.output_size, zeros)
            # One step is built in any case, so that the shape of the outputs is known.
            bound = minimum(self._steps, maximum(1, reduce_max(lengths)))
        time = constant(0, dtypes.int32, name="time")
        with name_scope("dynamic_rnn") as scope:
            sources = self._sources(scope)
            targets = tuple(
                TensorArray(
                    kind,
                    size=self._steps,
                    element_shape=static_shape(batch, size),
                    tensor_array_name=f"{scope}output_{number}",
                )
                for number, size in enumerate(sizes)
            )

        def step(time: Tensor, arrays: NestedTensors, state: NestedTensors) -> tuple[Any, Any, Any]:
            current = self._read(sources, time)
            if lengths is None:
                output, state = cell(current, state)
            else:
                output, state = masked_step(lengths, time, zero_output, state, lambda: cell(current, state))
            return time + 1, tuple(a.write(time, o) for a, o in zip(arrays, nest.flatten(output))), state

        _, arrays, state = while_loop(lambda time, *_: time < bound, step, (time, targets, state), **options)
        outputs = [array.stack() for array in arrays]
        for output, size in zip(outputs, sizes):
            output.set_shape((self._static_steps, *(static_shape(batch, size) or ())))
        return nest.pack_sequence_as(cell.output_size, outputs), state

    def _sources(self, scope: str) -> list[TensorArray]:
        return [
            TensorArray(
                tensor.dtype,
                size=self._steps,
                element_shape=tensor.dims[1:] if tensor.dims else None,
                tensor_array_name=f"{scope}input_{number}",
            ).unstack(tensor)
            for number, tensor in enumerate(self._tensors)
        ]

    def _read(self, sources: list[TensorArray], time: Tensor) -> Any:
        current = [source.read(time) for source in sources]
        for tensor, whole in zip(current, self._tensors):
            tensor.set_shape(whole.dims[1:] if whole.dims else None)
        return nest.pack_sequence_as(self._structure, current)


@export("nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: NestedTensors,
    sequence_length: TensorLike | None = None,
    initial_state_fw: NestedTensors = None,
    initial_state_bw: NestedTensors = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Runs one cell forward and another backward; returns the outputs and last states of both.

    Args:
        inputs: Inputs [batch, time, ...], or a nest of them; [time, batch, ...] if `time_major`.
        dtype: Type of the initial state if none is given.
    """
    require_cell("cell_fw", cell_fw)
    require_cell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def backward(tensor: Tensor) -> Tensor:
        if sequence_length is None:
            return reverse(tensor, [time_axis])
        return reverse_sequence(tensor, sequence_length, seq_axis=time_axis, batch_axis=batch_axis)

    options = (dtype, parallel_iterations, swap_memory, time_major)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, *options, scope=fw_scope
            )
        with variable_scope("bw") as bw_scope:
            reversed_inputs = nest.map_structure(backward, inputs)
            reversed_output, state_bw = dynamic_rnn(
                cell_bw, reversed_inputs, sequence_length, initial_state_bw, *options, scope=bw_scope
            )
    output_bw = nest.map_structure(backward, reversed_output)
    return (output_fw, output_bw), (state_fw, state_bw)


@export("nn.raw_rnn")
def raw_rnn(
    cell: RNNCell,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Any]:
    """Runs a cell on the inputs that loop_fn(time, cell_output, cell_state, loop_state) returns, until all is finished.

    loop_fn returns (elements_finished, next_input, next_cell_state, emit_output, next_loop_state). Returns the emitted
    outputs in a TensorArray, the last state and the last loop state.

    Args:
        cell: The RNN cell.
    """
    require_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with rnn_scope(scope):
        time = constant(0, dtypes.int32)
        finished, next_input, state, emit_structure, first_loop_state = loop_fn(time, None, None, None)
        finished = convert_to_tensor(finished)
        next_input = nest.map_structure(_as_tensor, next_input)
        loop_state = constant(0, dtypes.int32) if first_loop_state is None else first_loop_state
        nest.assert_same_structure(state, cell.state_size)
        state = nest.map_structure(_as_tensor, state)
        tensors = [tensor for tensor in nest.flatten(next_input) if isinstance(tensor, Tensor)]
        emitted, zero_emit = _output_arrays(cell, emit_structure, state, batch_size_of(tensors, axis=0))

        def step(
            time: Any,
            finished: Tensor,
            current: NestedTensors,
            emitted: NestedTensors,
            state: NestedTensors,
            loop_state: object,
        ) -> tuple[Any, ...]:
            output, cell_state = cell(current, state)
            nest.assert_same_structure(state, cell_state)
            nest.assert_same_structure(cell.output_size, output)
            over, following, next_state, emit, next_loop = loop_fn(time + 1, output, cell_state, loop_state)
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(current, following)
            nest.assert_same_structure(emitted, emit)
            emit = select_finished(finished, zero_emit, emit)
            emitted = nest.map_structure(lambda array, value: array.write(time, value), emitted, emit)
            next_state = select_finished(finished, state, next_state)
            next_loop = loop_state if next_loop is None else next_loop
            return time + 1, logical_or(finished, over), following, emitted, next_state, next_loop

        returned = while_loop(
            lambda time, finished, *_: logical_not(reduce_all(finished)),
            step,
            [time, finished, next_input, emitted, state, loop_state],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        emitted, state, loop_state = returned[-3:]
        return emitted, state, None if first_loop_state is None else loop_state


def _as_tensor(value: TensorLike) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _output_arrays(
    cell: RNNCell, structure: NestedTensors, state: NestedTensors, batch_size: TensorLike
) -> tuple[Any, Any]:
    """Returns TensorArrays for the emitted outputs, and the zeros that finished examples emit."""
    if structure is None:
        structure = cell.output_size
        sizes = nest.flatten(structure)
        kinds = [nest.flatten(state)[0].dtype] * len(sizes)
    else:
        emits = [convert_to_tensor(emit) for emit in nest.flatten(structure)]
        sizes = [emit.shape if emit.shape.is_fully_defined() else shape_of(emit) for emit in emits]
        kinds = [emit.dtype for emit in emits]
    static_batch_size = static_size(batch_size)
    arrays = [
        TensorArray(
            kind,
            size=0,
            dynamic_size=True,
            element_shape=static_shape(static_batch_size, size),
            name=f"rnn_output_{number}",
        )
        for number, (kind, size) in enumerate(zip(kinds, sizes))
    ]
    zeros = [zeros_of(batch_size, size, kind) for kind, size in zip(kinds, sizes)]
    return nest.pack_sequence_as(structure, arrays), nest.pack_sequence_as(structure, zeros)

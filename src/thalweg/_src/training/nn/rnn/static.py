"""static_rnn and its variants: loops over lists of tensors, unrolled in the graph."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import concat, stack, unstack
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.pad_tile import reverse_sequence
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.rnn.cells import RNNCell, require_cell
from thalweg._src.training.nn.rnn.sizes import NestedTensors, zeros_of
from thalweg._src.training.nn.rnn.steps import batch_size_of, initial_state_of, masked_step, rnn_scope, state_dtype
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


@export("nn.static_rnn", "contrib.rnn.static_rnn")
def static_rnn(
    cell: RNNCell,
    inputs: NestedTensors,
    initial_state: NestedTensors = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs; returns the list of outputs and the last state.

    After the end of a sequence, as sequence_length says, outputs are zero and the state is unchanged.

    Args:
        cell: The RNN cell.
        inputs: List of inputs [batch, size], one for each step.
        dtype: Type of the initial state if none is given.
        scope: Name or object of the variable scope.
    """
    require_cell("cell", cell)
    _require_steps(inputs)
    outputs = []
    with rnn_scope(scope) as opened:
        inputs = [nest.map_structure(convert_to_tensor, step) for step in inputs]
        batch_size = _batch_size(inputs)
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        lengths = None
        if sequence_length is not None:
            lengths = convert_to_tensor(sequence_length, name="sequence_length")
            if lengths.dims is not None and len(lengths.dims) != 1:
                raise ValueError(
                    f"sequence_length: expected a vector, one for each example, received shape {lengths.shape}"
                )
            kind = state_dtype(dtype, state)
            zeros = [zeros_of(batch_size, size, kind) for size in nest.flatten(cell.output_size)]
            zero_output = nest.pack_sequence_as(cell.output_size, zeros)
        for time, current in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()
            if lengths is None:
                output, state = cell(current, state)
            else:
                call = _call(cell, current, state)
                output, state = masked_step(lengths, _like(time, lengths), zero_output, state, call)
            outputs.append(output)
    return outputs, state


def _call(cell: RNNCell, current: NestedTensors, state: NestedTensors) -> Any:
    return lambda: cell(current, state)


def _like(time: int, lengths: Any) -> Any:
    return convert_to_tensor(time, lengths.dtype)


def _require_steps(inputs: NestedTensors) -> None:
    if not nest.is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")


def _batch_size(inputs: list[Any]) -> Any:
    """Returns the batch size, after a check that all inputs agree and have static sizes."""
    tensors = nest.flatten(inputs)
    if tensors[0].dims is not None and len(tensors[0].dims) == 1:
        return batch_size_of(tensors[:1], axis=0)  # indices of an embedding
    batch_size = batch_size_of(tensors, axis=0)
    for tensor in tensors:
        shape = tensor.dims
        if shape is None or len(shape) < 2:
            raise ValueError(f"inputs: expected two dimensions or more, but {tensor.label} has shape {tensor.shape}")
        if isinstance(batch_size, int) and shape[0] not in (None, batch_size):
            raise ValueError(f"inputs have different batch sizes: {batch_size} and {shape[0]}")
        if None in shape[1:]:
            raise ValueError(
                f"inputs: sizes after the batch must be known, but {tensor.label} has shape {tensor.shape}"
            )
    return batch_size


@export("nn.static_state_saving_rnn", "contrib.rnn.static_state_saving_rnn")
def static_state_saving_rnn(
    cell: RNNCell,
    inputs: NestedTensors,
    state_saver: NestedTensors,
    state_name: NestedTensors,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs from the state of `state_saver`, and saves the state afterwards.

    Args:
        cell: The RNN cell.
        inputs: List of inputs [batch, size], one for each step.
        state_saver: Object with methods `state(name)` and `save_state(name, value)`.
        state_name: Name of the state, or a nest of names.
        scope: Name or object of the variable scope.
    """
    require_cell("cell", cell)
    require_members("state_saver", state_saver, "an object with state and save_state", "state", "save_state")
    nested = nest.is_nested(cell.state_size)
    if nested != nest.is_nested(state_name):
        raise ValueError(f"state_name: expected the structure of {cell.state_size!r}, received {state_name!r}")
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(cell.state_size)):
        raise ValueError(f"state_name has {len(names)} names for {len(nest.flatten(cell.state_size))} states")
    first = nest.pack_sequence_as(cell.state_size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(cell, inputs, initial_state=first, sequence_length=sequence_length, scope=scope)
    saves = [state_saver.save_state(name, leaf) for name, leaf in zip(names, nest.flatten(state))]
    with control_dependencies(saves):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
    return outputs, state


def _reversed(inputs: list[Any], lengths: TensorLike | None) -> list[Any]:
    """Reverses the steps, each example up to its length."""
    if lengths is None:
        return list(reversed(inputs))
    flat = [nest.flatten(step) for step in inputs]
    columns = []
    for column in zip(*flat):
        turned = reverse_sequence(stack(list(column)), lengths, seq_axis=0, batch_axis=1)
        columns.append(unstack(turned, num=len(inputs)))
    return [nest.pack_sequence_as(step, list(leaves)) for step, leaves in zip(inputs, zip(*columns))]


@export("nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn")
def static_bidirectional_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: NestedTensors,
    initial_state_fw: NestedTensors = None,
    initial_state_bw: NestedTensors = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any, Any]:
    """Runs one cell forward and another backward; returns the concatenated outputs and both last states.

    Args:
        inputs: List of inputs [batch, size], one for each step.
        dtype: Type of the initial state if none is given.
        scope: Name or object of the variable scope.
    """
    require_cell("cell_fw", cell_fw)
    require_cell("cell_bw", cell_bw)
    _require_steps(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope)
        with variable_scope("bw") as bw_scope:
            turned = _reversed(list(inputs), sequence_length)
            output_bw, state_bw = static_rnn(cell_bw, turned, initial_state_bw, dtype, sequence_length, scope=bw_scope)
    back = _reversed(output_bw, sequence_length)
    outputs = [
        nest.pack_sequence_as(
            forward, [concat([f, b], 1) for f, b in zip(nest.flatten(forward), nest.flatten(backward))]
        )
        for forward, backward in zip(output_fw, back)
    ]
    return outputs, state_fw, state_bw

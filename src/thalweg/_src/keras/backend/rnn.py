"""The loop of recurrent layers over time, with masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater, less
from thalweg._src.graph.ops.concat import stack, unstack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.math import subtract
from thalweg._src.graph.ops.pad_tile import reverse
from thalweg._src.graph.ops.reduction import reduce_max
from thalweg._src.graph.ops.reshape import shape, transpose, zeros_like
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.control import expanded
from thalweg._src.training.nn.rnn.sizes import NestedTensors

Mask = Callable[[Any], Tensor]  # of a time step: whether each example has it


@export("keras.backend.rnn")
def rnn(
    step_function: Callable[..., tuple[Any, Any]],
    inputs: NestedTensors,
    initial_states: NestedTensors,
    go_backwards: bool = False,
    mask: TensorLike | None = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, Any]:
    """Returns the last output, the outputs of all steps, and the states after the last step.

    A step that is masked leaves the states of an example as they are, and repeats its last output or, if that is asked
    for, gives zeros.

    Args:
        step_function: Function of the inputs of a step and the list of states and constants; it returns the output and
            the list of new states.
        inputs: Sequences, [batch, time, ...], in any structure.
        initial_states: The states before the first step, a list of tensors.
        go_backwards: Whether the last time step comes first.
        mask: Whether an example has a time step, [batch, time]; None if all have all of them.
        constants: Tensors that each step receives after its states, or None.
        unroll: Whether each time step becomes operations of its own, in place of a loop.
        input_length: Number of time steps of each example, a tensor, which masks the others; a number masks nothing.
        zero_output_for_mask: Whether the output of a masked step is zeros, not the last output.
    """
    inputs = nest.map_structure(lambda tensor: _time_first(tensor, time_major), inputs)
    if not nest.flatten(inputs):
        raise ValueError(f"inputs: expected tensors, received {inputs!r}")
    first = nest.flatten(inputs)[0]
    steps, batch = first.shape.as_list()[:2]
    if unroll and not steps:
        raise ValueError("unroll: expected a known number of time steps, received inputs of unknown length")
    masks = None if mask is None else _time_first(cast(convert_to_tensor(mask), dtypes.bool), time_major)
    if go_backwards:
        inputs = nest.map_structure(lambda tensor: reverse(tensor, [0]), inputs)
        masks = None if masks is None else reverse(masks, [0])
    step = _Step(step_function, initial_states, list(constants or ()), zero_output_for_mask)
    if unroll:
        step_masks = None if masks is None else unstack(masks)
        mask_of_step = _mask_of_lengths(input_length, go_backwards) if step_masks is None else step_masks.__getitem__
        outputs, states = _unrolled(step, inputs, mask_of_step)
    else:
        array = None if masks is None else _array_of(masks)
        mask_of_step = _mask_of_lengths(input_length, go_backwards) if array is None else array.read
        outputs, states = _looped(step, inputs, mask_of_step)
    outputs = nest.map_structure(lambda tensor: _with_sizes(tensor, steps, batch), outputs)
    last = nest.map_structure(lambda tensor: tensor[-1], outputs)
    return last, nest.map_structure(lambda tensor: _time_first(tensor, time_major), outputs), states


def _time_first(x: TensorLike, time_major: bool) -> Tensor:
    """Returns a tensor with its first two axes exchanged, unless the time is first."""
    x = convert_to_tensor(x)
    rank = x._rank()
    if rank is None or rank < 2:
        raise ValueError(f"expected a tensor with axes for the batch and the time, received shape {x.shape}")
    return x if time_major else transpose(x, [1, 0, *range(2, rank)])


def _with_sizes(output: Tensor, steps: int | None, batch: int | None) -> Tensor:
    if not output.is_eager:
        output.set_shape([steps, batch, *output.shape.as_list()[2:]])
    return output


def _mask_of_lengths(lengths: Any, go_backwards: bool) -> Mask | None:
    """Returns the mask of sequences of given lengths; a number is the length of all of them and masks nothing."""
    if not isinstance(lengths, Tensor):
        return None
    if go_backwards:
        missing = subtract(subtract(reduce_max(lengths, 0), 1), lengths)
        return lambda time: less(missing, time)
    return lambda time: greater(lengths, time)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of the loop: a function of inputs, states and constants."""

    function: Callable[..., tuple[Any, Any]]
    initial_states: Any
    constants: list[Any]
    zero_output: bool  # whether masked steps have zeros as outputs

    def __call__(self, inputs: NestedTensors, states: NestedTensors) -> tuple[Any, Any]:
        """Returns the output of a step and the states after it, of the static shapes of those before."""
        output, new = self.function(inputs, (*states, *self.constants))
        flat = [convert_to_tensor(state) for state in nest.flatten(new)]
        for state, before in zip(flat, nest.flatten(states)):
            if not state.is_eager:
                state.set_shape(before.shape)
        return nest.map_structure(convert_to_tensor, output), nest.pack_sequence_as(states, flat)

    def masked(
        self, inputs: NestedTensors, states: NestedTensors, mask: Tensor, before: NestedTensors
    ) -> tuple[Any, Any]:
        """Returns output and states of a step that only some examples have; before is the last output, if any."""
        output, new = self(inputs, states)
        other = nest.map_structure(zeros_like, output) if self.zero_output or before is None else before
        return _chosen(mask, output, other), _chosen(mask, new, states)


def _chosen(mask: Tensor, values: NestedTensors, otherwise: NestedTensors) -> Any:
    return nest.map_structure(lambda x, y: where_v2(expanded(mask, x), x, y), values, otherwise)


def _unrolled(step: _Step, inputs: NestedTensors, mask: Mask | None) -> tuple[Any, Any]:
    """Adds each step of its own; returns the outputs, stacked, and the last states."""
    states = nest.map_structure(convert_to_tensor, step.initial_states)
    outputs: list[Any] = []
    for time, leaves in enumerate(zip(*[unstack(tensors) for tensors in nest.flatten(inputs)])):
        current = nest.pack_sequence_as(inputs, list(leaves))
        if mask is None:
            output, states = step(current, states)
        else:
            output, states = step.masked(current, states, mask(time), outputs[-1] if outputs else None)
        outputs.append(output)
    return nest.map_structure(lambda *tensors: stack(tensors), *outputs), states


def _looped(step: _Step, inputs: NestedTensors, mask: Mask | None) -> tuple[Any, Any]:
    """Adds a loop over the steps; returns the outputs, stacked, and the last states."""
    with name_scope("rnn"):
        states = nest.map_structure(convert_to_tensor, step.initial_states)
        sources = [_array_of(tensor) for tensor in nest.flatten(inputs)]
        length = shape(nest.flatten(inputs)[0])[0]
        # The structure and the types of outputs are known once the function has been called.
        like, _ = step(nest.map_structure(lambda tensor: tensor[0], inputs), states)
        arrays = [TensorArray(tensor.dtype, size=length, element_shape=tensor.shape) for tensor in nest.flatten(like)]
        before = [] if mask is None else [zeros_like(tensor) for tensor in nest.flatten(like)]

        def body(time: Tensor, arrays: NestedTensors, before: NestedTensors, states: NestedTensors) -> tuple[Any, ...]:
            current = nest.pack_sequence_as(inputs, [source.read(time) for source in sources])
            if mask is None:
                output, states = step(current, states)
                before = []
            else:
                previous = nest.pack_sequence_as(like, before)
                output, states = step.masked(current, states, mask(time), previous)
                before = nest.flatten(output)
            written = [array.write(time, tensor) for array, tensor in zip(arrays, nest.flatten(output))]
            return time + 1, written, before, states

        loop_vars = (constant(0, name="time"), arrays, before, states)
        _, arrays, _, states = while_loop(lambda time, *_: less(time, length), body, loop_vars, parallel_iterations=32)
        return nest.pack_sequence_as(like, [array.stack() for array in arrays]), states


def _array_of(values: Tensor) -> TensorArray:
    """Returns the slices of a tensor along its first axis as an array that a loop reads."""
    return TensorArray(values.dtype, size=shape(values)[0], element_shape=values.shape[1:]).unstack(values)

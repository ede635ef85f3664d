"""Utilities of RNN loops: sizes of inputs, variable scopes, and steps past the end of a sequence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_kind
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.context import Loop
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater_equal
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_all
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.rnn.cells import RNNCell
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


@contextlib.contextmanager
def rnn_scope(scope: str | VariableScope | None, default: str = "rnn") -> Iterator[VariableScope]:
    """Opens the variable scope of a loop; weights created in it are read once, before the loop.

    Inside a `while_loop` of the program they are read in each iteration, which may train them.
    """
    with variable_scope(scope or default) as opened:
        context: Any = get_default_graph()._get_control_flow_context()
        in_loop = context is not None and any(isinstance(outer, Loop) for outer in context.chain())
        if not in_loop and opened.caching_device is None:
            opened.set_caching_device(_same_device)
        yield opened


def _same_device(operation: Operation) -> Any:
    return operation.device


def batch_size_of(tensors: Sequence[Tensor], axis: int = 1) -> Any:
    """Returns the batch size: an integer if it is known statically, otherwise a tensor."""
    if not tensors:
        raise ValueError("inputs: expected at least one tensor, received none")
    for tensor in tensors:
        require_kind("inputs", tensor, Tensor, "tensors")
        shape = tensor.dims
        if shape is not None and len(shape) > axis and shape[axis] is not None:
            return shape[axis]
    return shape_of(tensors[0])[axis]


def initial_state_of(
    cell: RNNCell, initial_state: NestedTensors, batch_size: TensorLike, dtype: DTypeLike | None
) -> Any:
    """Returns the given state as tensors, or the zero state of the cell."""
    if initial_state is not None:
        return nest.map_structure(lambda s: s if isinstance(s, TensorArray) else convert_to_tensor(s), initial_state)
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def state_dtype(dtype: DTypeLike | None, state: NestedTensors) -> Any:
    """Returns the dtype of the outputs: the given one, or that of the state."""
    if dtype is not None:
        return dtypes.as_dtype(dtype)
    kinds = {leaf.dtype.base_dtype for leaf in nest.flatten(state)}
    if not kinds:
        raise ValueError("Unable to infer dtype from empty state.")
    if len(kinds) > 1:
        raise ValueError(f"State has tensors of different inferred_dtypes: {sorted(kind.name for kind in kinds)}")
    return kinds.pop()


def checked_lengths(sequence_length: TensorLike, batch_size: TensorLike) -> Tensor:
    """Returns the lengths as an int32 vector; the step fails if there is not one for each example."""
    lengths: Tensor = cast(convert_to_tensor(sequence_length), dtypes.int32)
    if lengths.dims is not None and len(lengths.dims) != 1:
        raise ValueError(f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}")
    lengths = identity(lengths, name="sequence_length")
    if isinstance(batch_size, int) and lengths.dims == (batch_size,):
        return lengths
    actual_shape = shape_of(lengths)
    message = f"Expected shape for Tensor {lengths.name} is "
    check = Assert(
        reduce_all(equal(actual_shape, [batch_size])), [message, [batch_size], " but saw shape: ", actual_shape]
    )
    with control_dependencies([check]):
        return identity(lengths, name="CheckSeqLen")


def select_finished(finished: Tensor, before: NestedTensors, after: NestedTensors) -> Any:
    """Returns `before` for the examples that are finished and `after` for the others, in a structure of tensors."""

    def choose(old: NestedTensors, new: NestedTensors) -> Any:
        if isinstance(old, TensorArray) or old.dims == ():
            return new
        return where(finished, old, new)

    flat = [choose(old, new) for old, new in zip(nest.flatten(before), nest.flatten(after))]
    return nest.pack_sequence_as(before, flat)


def masked_step(
    lengths: Tensor, time: TensorLike, zero_output: NestedTensors, state: NestedTensors, call: Callable[[], Any]
) -> tuple[Any, Any]:
    """Runs one step; examples whose sequence has ended output zeros and keep their state."""
    output, following = call()
    nest.assert_same_structure(zero_output, output)
    nest.assert_same_structure(state, following)
    finished = greater_equal(time, lengths)
    return select_finished(finished, zero_output, output), select_finished(finished, state, following)

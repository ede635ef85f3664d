"""Decoder, BasicDecoder and dynamic_decode."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.comparison import greater_equal, logical_not, logical_or
from thalweg._src.graph.ops.constants import constant, fill
from thalweg._src.graph.ops.reduction import reduce_all
from thalweg._src.graph.ops.reshape import shape, zeros_like
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.rnn.cells import RNNCell, require_cell
from thalweg._src.training.nn.rnn.sizes import static_shape, static_size, swap_batch_and_time, zeros_of
from thalweg._src.training.nn.rnn.steps import rnn_scope
from thalweg._src.training.variables.variable_scope import VariableScope


@export("contrib.seq2seq.Decoder")
class Decoder:
    """The interface of decoders for `dynamic_decode`."""

    @property
    def batch_size(self) -> Any:
        """The batch size."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of the outputs of a step."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The types of the outputs of a step."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> Any:
        """Returns (finished, first inputs, initial state)."""
        raise NotImplementedError

    def step(self, time: Tensor, inputs: object, state: object, name: str | None = None) -> Any:
        """Returns (outputs, next state, next inputs, finished)."""
        raise NotImplementedError

    def finalize(self, outputs: object, final_state: object, sequence_lengths: TensorLike) -> Any:
        """Returns the final (outputs, state)."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether `step` keeps track of finished sequences itself, as beam search does."""
        return False


@export("contrib.seq2seq.BasicDecoderOutput")
class BasicDecoderOutput(NamedTuple):
    """The outputs of the cell and the symbols sampled from them."""

    rnn_output: Any
    sample_id: Any


@export("contrib.seq2seq.BasicDecoder")
class BasicDecoder(Decoder):
    """A decoder that runs a cell on the inputs of a helper.

    Args:
        helper: What provides inputs and samples outputs.
    """

    batch_size = ReadOnly[Any]("The batch size of the helper.", "_helper.batch_size")

    def __init__(
        self, cell: RNNCell, helper: Any, initial_state: Any, output_layer: Callable[..., Any] | None = None
    ) -> None:
        require_cell("cell", cell)
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def output_size(self) -> Any:
        """The sizes of the outputs of a step."""
        return BasicDecoderOutput(output_size_of(self._cell, self._output_layer), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        """The types of the outputs of a step."""
        kind = nest.flatten(self._initial_state)[0].dtype
        sizes = output_size_of(self._cell, self._output_layer)
        return BasicDecoderOutput(nest.map_structure(lambda _: kind, sizes), self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> Any:
        """Returns (finished, first inputs, initial state)."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Tensor, inputs: object, state: Any, name: str | None = None) -> Any:
        """Runs the cell, samples, and gets the next inputs from the helper."""
        with name_scope(name, "BasicDecoderStep", [time]):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, following, state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=ids
            )
            return BasicDecoderOutput(outputs, ids), state, following, finished


def output_size_of(cell: Any, output_layer: Any) -> Any:
    """Returns the output size of a cell, after a layer if there is one."""
    if output_layer is None:
        return cell.output_size
    sizes = nest.map_structure(
        lambda size: TensorShape([None]).concatenate(TensorShape(_listed(size))), cell.output_size
    )
    return nest.map_structure(lambda dims: dims[1:], output_layer.compute_output_shape(sizes))


def _listed(size: object) -> Any:
    return [size] if isinstance(size, int) else size


@export("contrib.seq2seq.dynamic_decode")
def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: TensorLike | None = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
    **kwargs: Any,
) -> tuple[Any, Any, Any]:
    """Runs a decoder until all sequences are finished; returns outputs, the last state and the lengths.

    Args:
        decoder: The decoder.
        output_time_major: Whether outputs are [time, batch, ...], not [batch, time, ...].
        impute_finished: Whether finished sequences output zeros and keep their state.
        scope: Name or object of the variable scope.
        **kwargs: Arguments of `decoder.initialize`.
    """
    require_members("decoder", decoder, "a Decoder", "initialize", "step")
    with rnn_scope(scope, "decoder"):
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, dtypes.int32, name="maximum_iterations")
            if maximum_iterations.dims not in (None, ()):
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        if maximum_iterations is not None:
            finished = logical_or(finished, greater_equal(0, maximum_iterations))
        state = nest.map_structure(_as_tensor, state)
        inputs = nest.map_structure(_as_tensor, inputs)
        batch = decoder.batch_size
        sizes, kinds = nest.flatten(decoder.output_size), nest.flatten(decoder.output_dtype)
        arrays = [
            TensorArray(kind, size=0, dynamic_size=True, element_shape=static_shape(static_size(batch), size))
            for size, kind in zip(sizes, kinds)
        ]
        zeros = [zeros_of(batch, size, kind) for size, kind in zip(sizes, kinds)] if impute_finished else None

        def step(
            time: Tensor, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: TensorLike
        ) -> tuple[Any, ...]:
            outputs, after, following, over = decoder.step(time, inputs, state)
            over = over if decoder.tracks_own_finished else logical_or(over, finished)
            lengths = where(logical_not(finished), fill(shape(lengths), time + 1), lengths)
            nest.assert_same_structure(state, after)
            emitted = nest.flatten(outputs)
            if zeros is not None:
                emitted = [where(finished, zero, value) for zero, value in zip(zeros, emitted)]
                after = _where_finished(finished, state, after)
            written = [array.write(time, value) for array, value in zip(arrays, emitted)]
            return time + 1, written, after, following, over, lengths

        result = while_loop(
            lambda time, arrays, state, inputs, finished, lengths: logical_not(reduce_all(finished)),
            step,
            (constant(0, dtypes.int32), arrays, state, inputs, finished, zeros_like(finished, dtypes.int32)),
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
            maximum_iterations=maximum_iterations,
        )
        _, arrays, state, _, _, lengths = result
        outputs = nest.pack_sequence_as(decoder.output_size, [array.stack() for array in arrays])
        with contextlib.suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(swap_batch_and_time, outputs)
        return outputs, state, lengths


def _as_tensor(value: object) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _where_finished(finished: Any, before: object, after: object) -> Any:
    def choose(old: Any, new: Any) -> Any:
        if isinstance(old, TensorArray) or old.dims == ():
            return new
        new.set_shape(old.dims)
        return where(finished, old, new)

    return nest.map_structure(choose, before, after)

"""Beam search decoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import TensorShape
from thalweg._src.compat.contrib.seq2seq.decoder import Decoder
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, less, logical_not, logical_or
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import constant, fill
from thalweg._src.graph.ops.gather import batch_gather
from thalweg._src.graph.ops.math import divide, floordiv, floormod, pow
from thalweg._src.graph.ops.nn import log_softmax, top_k
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.reduction import cumsum, reduce_all, reduce_max
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, reshape, shape, size, zeros
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.where import one_hot, where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.nn.rnn.cells import RNNCell, require_cell


@export("contrib.seq2seq.BeamSearchDecoderState")
class BeamSearchDecoderState(NamedTuple):
    """The state of all beams.

    Args:
        cell_state: State of the cell.
        log_probs: Log probability of each beam.
        finished: Whether each beam has ended.
        lengths: Length of each beam.
        accumulated_attention_probs: Sum of the attention of each beam over the steps.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any = ()


@export("contrib.seq2seq.BeamSearchDecoderOutput")
class BeamSearchDecoderOutput(NamedTuple):
    """The result of one step for each beam: score, symbol and parent beam."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


@export("contrib.seq2seq.FinalBeamSearchDecoderOutput")
class FinalBeamSearchDecoderOutput(NamedTuple):
    """The sequences [batch, time, beam], best first, and the outputs of all steps."""

    predicted_ids: Any
    beam_search_decoder_output: Any


@export("contrib.seq2seq.tile_batch")
def tile_batch(t: TensorLike, multiplier: int, name: str | None = None) -> Any:
    """Repeats each example of nested tensors, with copies adjacent."""
    with name_scope(name, "tile_batch", [*nest.flatten(t), multiplier]):
        return nest.map_structure(lambda tensor: _tiled(tensor, multiplier), t)


def _tiled(t: Any, multiplier: int) -> Any:
    t = convert_to_tensor(t, name="t")
    if t.dims is None or not t.dims:
        raise ValueError("t must have statically known rank of one at least")
    rank = len(t.dims)
    repeated = tile(expand_dims(t, 1), [1, multiplier, *[1] * (rank - 1)])
    result = reshape(repeated, concat([[-1], shape(t)[1:]], 0))
    batch = t.dims[0]
    result.set_shape((None if batch is None else batch * multiplier, *t.dims[1:]))
    return result


@export("contrib.seq2seq.gather_tree")
def gather_tree(
    step_ids: TensorLike,
    parent_ids: TensorLike,
    max_sequence_lengths: TensorLike,
    end_token: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Returns the full sequences of a beam search, [time, batch, beam], padded with end_token.

    Args:
        step_ids: Symbols [time, batch, beam].
        parent_ids: The beam that each symbol continues, [time, batch, beam].
        max_sequence_lengths: Length of each example, over its beams.
    """
    with name_scope(name, "GatherTree", [step_ids, parent_ids]):
        step_ids, parent_ids = convert_to_tensor(step_ids), convert_to_tensor(parent_ids)
        lengths = convert_to_tensor(max_sequence_lengths)
        steps, batch, beams = (shape(step_ids)[axis] for axis in range(3))
        end = fill([batch, beams], cast(end_token, step_ids.dtype))
        itself = tile(expand_dims(range_of(0, beams), 0), [batch, 1])
        sequences = TensorArray(step_ids.dtype, size=steps, element_shape=step_ids.dims[1:] if step_ids.dims else None)

        def back(time: Tensor, parents: Tensor, sequences: TensorArray) -> tuple[Any, Any, Any]:
            inside = less(tile(expand_dims(time, 0), [batch]), lengths)
            ids = where(inside, batch_gather(step_ids[time], parents), end)
            before = where(inside, batch_gather(parent_ids[time], parents), itself)
            return time - 1, before, sequences.write(time, ids)

        _, _, sequences = while_loop(
            lambda time, *_: time >= 0,
            back,
            (steps - 1, itself, sequences),
            shape_invariants=(TensorShape([]), TensorShape([None, None]), TensorShape(None)),
            back_prop=False,
        )
        ids = sequences.stack()
        over = cumsum(cast(equal(ids, cast(end_token, ids.dtype)), dtypes.int32), axis=0, exclusive=True) > 0
        result = where(over, ones_like(ids) * cast(end_token, ids.dtype), ids)
        result.set_shape(step_ids.dims)
        return result


@export("contrib.seq2seq.BeamSearchDecoder")
class BeamSearchDecoder(Decoder):
    """The beam search decoder; states and inputs contain one example per beam."""

    def __init__(
        self,
        cell: RNNCell,
        embedding: TensorLike | Callable[..., Any],
        start_tokens: TensorLike,
        end_token: TensorLike,
        initial_state: Any,
        beam_width: int,
        output_layer: Callable[..., Any] | None = None,
        length_penalty_weight: TensorLike = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        require_cell("cell", cell)
        if coverage_penalty_weight:
            raise ValueError("BeamSearchDecoder knows no coverage penalty; leave coverage_penalty_weight at 0")
        self._cell = cell
        self._output_layer = output_layer
        self._embedding_fn = embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)
        self._start_tokens = convert_to_tensor(start_tokens, dtypes.int32, name="start_tokens")
        self._end_token = convert_to_tensor(end_token, dtypes.int32, name="end_token")
        if self._start_tokens.dims is not None and len(self._start_tokens.dims) != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.dims not in (None, ()):
            raise ValueError("end_token must be a scalar")
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._reorder = reorder_tensor_arrays
        static_batch = self._start_tokens.dims[0] if self._start_tokens.dims else None
        self._batch_size: Any = static_batch if static_batch is not None else size(self._start_tokens)
        self._known_batch = static_batch
        self._initial_cell_state = nest.map_structure(self._split, initial_state)
        tokens = tile(expand_dims(self._start_tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(tokens)

    batch_size = ReadOnly[Any]("The batch size, without beams.")

    @property
    def tracks_own_finished(self) -> bool:
        return True

    @property
    def output_size(self) -> Any:
        """The sizes of the outputs of a step."""
        width = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(width, width, width)

    @property
    def output_dtype(self) -> Any:
        """The types of the outputs of a step."""
        return BeamSearchDecoderOutput(self._dtype, dtypes.int32, dtypes.int32)

    @property
    def _dtype(self) -> Any:
        return next(s.dtype for s in nest.flatten(self._initial_cell_state) if s.dtype.is_floating)

    # -- one example for each beam, together or apart -----------------------------------------------------------------

    def _split(self, t: Any) -> Any:
        """Reshapes [batch * beam, ...] to [batch, beam, ...]; scalars and TensorArrays are unchanged."""
        if isinstance(t, TensorArray):
            return t
        t = convert_to_tensor(t)
        if t.dims == ():
            return t
        result = reshape(t, concat([[self._batch_size, self._beam_width], shape(t)[1:]], 0))
        result.set_shape((self._known_batch, self._beam_width, *(t.dims or ())[1:]) if t.dims else None)
        return result

    def _merge(self, t: Any) -> Any:
        if isinstance(t, TensorArray) or t.dims == ():
            return t
        result = reshape(t, concat([[-1], shape(t)[2:]], 0))
        if t.dims is not None:
            together = None if self._known_batch is None else self._known_batch * self._beam_width
            result.set_shape((together, *t.dims[2:]))
        return result

    def _chosen(self, t: Any, beams: Any) -> Any:
        """Gathers the values of the parent beams."""
        if isinstance(t, TensorArray) or t.dims == ():
            return t
        result = batch_gather(t, beams)
        result.set_shape(t.dims)
        return result

    # -- steps --------------------------------------------------------------------------------------------------------

    def initialize(self, name: str | None = None) -> Any:
        """Returns the initial beams, of which all but the first have log probability -inf."""
        batch, width = self._batch_size, self._beam_width
        first = zeros([batch], dtypes.int32)
        finished = one_hot(first, width, on_value=False, off_value=True, dtype=dtypes.bool)
        log_probs = one_hot(
            first,
            width,
            on_value=convert_to_tensor(0.0, self._dtype),
            off_value=convert_to_tensor(float("-inf"), self._dtype),
            dtype=self._dtype,
        )
        lengths = zeros([batch, width], dtypes.int64)
        state = BeamSearchDecoderState(self._initial_cell_state, log_probs, finished, lengths)
        return finished, self._start_inputs, state

    def step(self, time: Tensor, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Runs the cell for all beams and keeps the best continuations."""
        with name_scope(name, "BeamSearchDecoderStep", [time]):
            cell_state = nest.map_structure(self._merge, state.cell_state)
            outputs, cell_state = self._cell(nest.map_structure(self._merge, inputs), cell_state)
            cell_state = nest.map_structure(self._split, cell_state)
            logits = self._split(outputs)
            if self._output_layer is not None:
                logits = self._output_layer(logits)
            output, state = self._extended(logits, cell_state, state)
            following = cond(
                reduce_all(state.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(output.predicted_ids),
            )
            following.set_shape(self._start_inputs.dims)
            return output, state, following, state.finished

    def _extended(self, logits: Any, cell_state: Any, state: Any) -> tuple[Any, Any]:
        """Returns the best continuations over all beams."""
        width, batch = self._beam_width, self._batch_size
        symbols = logits.shape[-1].value or shape(logits)[-1]
        steps = self._masked(log_softmax(logits), state.finished, symbols)
        total = expand_dims(state.log_probs, 2) + steps
        going_on = cast(logical_not(state.finished), dtypes.int64)
        adds = one_hot(
            fill([batch, width], self._end_token),
            symbols,
            on_value=convert_to_tensor(0, dtypes.int64),
            off_value=convert_to_tensor(1, dtypes.int64),
            dtype=dtypes.int64,
        )
        lengths = expand_dims(state.lengths, 2) + adds * expand_dims(going_on, 2)
        scores, places = top_k(reshape(self._penalized(total, lengths), [batch, -1]), k=width)
        for tensor in (scores, places):
            tensor.set_shape((self._known_batch, width))
        ids, beams = floormod(places, symbols), floordiv(places, symbols)
        log_probs = batch_gather(reshape(total, [batch, -1]), places)
        before = self._chosen(state.finished, beams)
        lengths = self._chosen(state.lengths, beams) + cast(logical_not(before), dtypes.int64)
        log_probs.set_shape(state.log_probs.dims)
        after = BeamSearchDecoderState(
            cell_state=nest.map_structure(lambda t: self._chosen(t, beams), cell_state),
            log_probs=log_probs,
            finished=logical_or(before, equal(ids, self._end_token)),
            lengths=lengths,
        )
        return BeamSearchDecoderOutput(scores, cast(ids, dtypes.int32), cast(beams, dtypes.int32)), after

    def _masked(self, log_probs: Any, finished: Any, symbols: Any) -> Any:
        """Masks the scores of finished beams so that only the end token can follow."""
        kind = log_probs.dtype
        only_end = one_hot(
            self._end_token,
            symbols,
            on_value=convert_to_tensor(0.0, kind),
            off_value=convert_to_tensor(kind.min, kind),
            dtype=kind,
        )
        ended = tile(reshape(only_end, [1, 1, -1]), [self._batch_size, self._beam_width, 1])
        over = tile(expand_dims(finished, 2), [1, 1, symbols])
        return where(over, ended, log_probs)

    def _penalized(self, log_probs: Any, lengths: Any) -> Any:
        weight = self._length_penalty_weight
        if isinstance(weight, int | float) and weight == 0:
            return log_probs
        penalty = pow(divide(5.0 + cast(lengths, dtypes.float32), constant(6.0)), weight)
        return log_probs / cast(penalty, log_probs.dtype)

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: TensorLike) -> Any:
        """Follows the parent beams from the last step to the full sequences."""
        longest = cast(reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

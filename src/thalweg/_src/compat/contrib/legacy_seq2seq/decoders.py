"""Decoders over lists of inputs: plain, with embeddings and with attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.rnn.projections import linear
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.convolution import conv2d
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import tanh
from thalweg._src.graph.ops.nn import softmax, xw_plus_b
from thalweg._src.graph.ops.reduction import argmax, reduce_sum
from thalweg._src.graph.ops.reshape import reshape, shape, zeros
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.nn.rnn.cells import RNNCell, require_cell
from thalweg._src.training.variables.variable_scope import (
    VariableScope,
    get_variable,
    get_variable_scope,
    variable_scope,
)

Feedback = Callable[[Any, int], Any]
Decoded = tuple[list[Any], Any]


@export("contrib.legacy_seq2seq.rnn_decoder")
def rnn_decoder(
    decoder_inputs: Sequence[TensorLike],
    initial_state: Any,
    cell: RNNCell,
    loop_function: Feedback | None = None,
    scope: str | VariableScope | None = None,
) -> Decoded:
    """Runs a cell over the inputs; after the first step, `loop_function(output, step)` replaces the input."""
    with variable_scope(scope or "rnn_decoder"):
        state = initial_state
        outputs: list[Any] = []
        for step, current in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                current = _fed_back(loop_function, outputs[-1], step)
            if step > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(current, state)
            outputs.append(output)
    return outputs, state


def _fed_back(loop_function: Feedback, previous: Any, step: int) -> Any:
    with variable_scope("loop_function", reuse=True):
        return loop_function(previous, step)


def embedded_argmax(embedding: Any, output_projection: Any = None, update_embedding: bool = True) -> Feedback:
    """Returns the function that embeds the most likely symbol of the previous step."""

    def loop_function(previous: Any, _: int) -> Any:
        if output_projection is not None:
            previous = xw_plus_b(previous, output_projection[0], output_projection[1])
        embedded = embedding_lookup(embedding, argmax(previous, 1))
        return embedded if update_embedding else stop_gradient(embedded)

    return loop_function


@export("contrib.legacy_seq2seq.embedding_rnn_decoder")
def embedding_rnn_decoder(
    decoder_inputs: Sequence[TensorLike],
    initial_state: Any,
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: str | VariableScope | None = None,
) -> Decoded:
    """Runs a cell over embedded symbols; with `feed_previous`, over its own most likely outputs."""
    with variable_scope(scope or "embedding_rnn_decoder") as opened:
        _require_projection(output_projection, num_symbols, opened.dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        feedback = (
            embedded_argmax(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        )
        embedded = [embedding_lookup(embedding, symbols) for symbols in decoder_inputs]
        return rnn_decoder(embedded, initial_state, cell, loop_function=feedback)


def _require_projection(output_projection: Any, num_symbols: int, dtype: Any) -> None:
    if output_projection is not None:
        weights, biases = (convert_to_tensor(value, dtype=dtype) for value in output_projection)
        weights.get_shape().assert_is_compatible_with([None, num_symbols])
        biases.get_shape().assert_is_compatible_with([num_symbols])


class _Attention:
    """Attention heads over the attention states, each with its own weights."""

    def __init__(self, states: Any, size: int, heads: int, dtype: Any) -> None:
        self.dtype = dtype
        self.heads = heads
        self.length = states.get_shape()[1].value or shape(states)[1]
        self.depth = states.get_shape()[2].value
        self.hidden = reshape(states, [-1, self.length, 1, self.depth])
        self.features, self.vectors, self.size = [], [], size
        for head in range(heads):
            kernel = get_variable(f"AttnW_{head}", [1, 1, self.depth, size], dtype=dtype)
            self.features.append(conv2d(self.hidden, kernel, [1, 1, 1, 1], "SAME"))
            self.vectors.append(get_variable(f"AttnV_{head}", [size], dtype=dtype))

    def start(self, batch_size: Any) -> list[Any]:
        """Returns the attention before the first step: zeros."""
        seen = [zeros(stack([batch_size, self.depth]), dtype=self.dtype) for _ in range(self.heads)]
        for tensor in seen:
            tensor.set_shape([None, self.depth])
        return seen

    def __call__(self, query: Any) -> list[Any]:
        """Returns the attention of each head for a query, which may be a nested state."""
        if nest.is_nested(query):
            query = concat(nest.flatten(query), 1)
        return [self._look(head, query) for head in range(self.heads)]

    def _look(self, head: int, query: Any) -> Any:
        with variable_scope(f"Attention_{head}"):
            asked = cast(reshape(linear(query, self.size, True), [-1, 1, 1, self.size]), self.dtype)
            score = reduce_sum(self.vectors[head] * tanh(self.features[head] + asked), [2, 3])
            weights = cast(softmax(cast(score, dtypes.float32)), self.dtype)
            seen = reduce_sum(reshape(weights, [-1, self.length, 1, 1]) * self.hidden, [1, 2])
            return reshape(seen, [-1, self.depth])


@export("contrib.legacy_seq2seq.attention_decoder")
def attention_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    attention_states: Any,
    cell: RNNCell,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Feedback | None = None,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """Runs a cell over the inputs, each concatenated with the attention of the last step over `attention_states`."""
    if not decoder_inputs:
        raise ValueError("decoder_inputs: expected one step or more")
    if num_heads < 1:
        raise ValueError(f"num_heads: expected one or more, received {num_heads}")
    attention_states = convert_to_tensor(attention_states, name="attention_states")
    if attention_states.dims is not None and len(attention_states.dims) != 3:
        raise ValueError(f"attention_states: expected rank 3, received {attention_states.get_shape()}")
    if attention_states.get_shape()[2].value is None:
        raise ValueError(f"attention_states: shape[2] must be known, received {attention_states.get_shape()}")
    require_cell("cell", cell)
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        dtype = opened.dtype
        attention = _Attention(attention_states, attention_states.get_shape()[2].value, num_heads, dtype)
        state = initial_state
        outputs: list[Any] = []
        seen = attention.start(shape(decoder_inputs[0])[0])
        if initial_state_attention:
            seen = attention(initial_state)
        for step, current in enumerate(decoder_inputs):
            if step > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and outputs:
                current = _fed_back(loop_function, outputs[-1], step)
            width = current.get_shape().with_rank(2)[1].value
            if width is None:
                raise ValueError(f"decoder_inputs: the size of {current.label} must be known")
            joined = linear([cast(tensor, dtype) for tensor in [current, *seen]], width, True)
            output, state = cell(joined, state)
            with variable_scope(get_variable_scope(), reuse=True if initial_state_attention else None):
                seen = attention(state)
            with variable_scope("AttnOutputProjection"):
                output = linear([cast(tensor, dtype) for tensor in [output, *seen]], output_size, True)
            outputs.append(output)
    return outputs, state


@export("contrib.legacy_seq2seq.embedding_attention_decoder")
def embedding_attention_decoder(
    decoder_inputs: Sequence[TensorLike],
    initial_state: Any,
    attention_states: TensorLike,
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """Runs a cell with attention over embedded symbols; with `feed_previous`, over its own most likely outputs."""
    require_cell("cell", cell)
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype) as opened:
        _require_projection(output_projection, num_symbols, opened.dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        feedback = (
            embedded_argmax(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        )
        embedded = [embedding_lookup(embedding, symbols) for symbols in decoder_inputs]
        return attention_decoder(
            embedded,
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=feedback,
            initial_state_attention=initial_state_attention,
        )

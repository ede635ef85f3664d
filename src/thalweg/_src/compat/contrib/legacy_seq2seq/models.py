"""Encoder-decoder models over lists of tensors: plain, tied, embedded, with attention, one to many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.legacy_seq2seq.decoders import (
    Decoded,
    Feedback,
    embedded_argmax,
    embedding_attention_decoder,
    embedding_rnn_decoder,
    rnn_decoder,
)
from thalweg._src.compat.contrib.rnn.projections import EmbeddingWrapper, OutputProjectionWrapper
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.nn.rnn.cells import RNNCell
from thalweg._src.training.nn.rnn.static import static_rnn
from thalweg._src.training.variables.variable_scope import (
    VariableScope,
    get_variable,
    get_variable_scope,
    variable_scope,
)


@export("contrib.legacy_seq2seq.basic_rnn_seq2seq")
def basic_rnn_seq2seq(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Sequence[TensorLike],
    cell: RNNCell,
    dtype: DTypeLike = dtypes.float32,
    scope: str | VariableScope | None = None,
) -> Decoded:
    """Encodes with a copy of the cell and decodes with the cell from the final state."""
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


@export("contrib.legacy_seq2seq.tied_rnn_seq2seq")
def tied_rnn_seq2seq(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Sequence[TensorLike],
    cell: RNNCell,
    loop_function: Feedback | None = None,
    dtype: DTypeLike = dtypes.float32,
    scope: str | VariableScope | None = None,
) -> Decoded:
    """Encodes and decodes with one cell and the same variables."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


@export("contrib.legacy_seq2seq.embedding_rnn_seq2seq")
def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Sequence[TensorLike],
    cell: RNNCell,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: object = None,
    feed_previous: TensorLike = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
) -> Decoded:
    """Embeds symbols, encodes them, and decodes from the last state of the encoder."""
    with variable_scope(scope or "embedding_rnn_seq2seq") as opened:
        dtype = _dtype_of(opened, dtype)
        encoder = EmbeddingWrapper(deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(feed: bool, update: bool) -> Decoded:
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=feed,
                update_embedding_for_previous=update,
            )

        return _decoded(decode, feed_previous, state)


@export("contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq")
def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Sequence[TensorLike],
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: object = None,
    feed_previous: TensorLike = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
) -> Decoded:
    """Encodes and decodes with one cell and one embedding."""
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        dtype = opened.dtype
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        sources = [embedding_lookup(embedding, symbols) for symbols in encoder_inputs]
        inputs = [embedding_lookup(embedding, symbols) for symbols in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_symbols if num_decoder_symbols is None else num_decoder_symbols)

        def decode(feed: bool, update: bool) -> Decoded:
            feedback = embedded_argmax(embedding, output_projection, update) if feed else None
            return tied_rnn_seq2seq(sources, inputs, cell, loop_function=feedback, dtype=dtype)

        return _decoded(decode, feed_previous, cell.state_size)


@export("contrib.legacy_seq2seq.embedding_attention_seq2seq")
def embedding_attention_seq2seq(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Sequence[TensorLike],
    cell: RNNCell,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: object = None,
    feed_previous: TensorLike = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """Embeds symbols, encodes them, and decodes with attention over the outputs of the encoder."""
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size)
        outputs, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        attention_states = concat([reshape(output, [-1, 1, cell.output_size]) for output in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(feed: bool, update: bool) -> Decoded:
            return embedding_attention_decoder(
                decoder_inputs,
                state,
                attention_states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=feed,
                update_embedding_for_previous=update,
                initial_state_attention=initial_state_attention,
            )

        return _decoded(decode, feed_previous, state)


def _dtype_of(scope: Any, dtype: DTypeLike | None) -> Any:
    if dtype is not None:
        scope.set_dtype(dtype)
    return scope.dtype


def _decoded(decode: Callable[[bool, bool], Decoded], feed_previous: Any, like: object) -> Decoded:
    """Builds the decoder with or without `feed_previous`; if it is a tensor, both, with the same variables."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous, True)

    def branch(feed: bool) -> list[Any]:
        with variable_scope(get_variable_scope(), reuse=None if feed else True):
            outputs, state = decode(feed, False)
            return [*outputs, *nest.flatten(state)]

    values = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    count = len(nest.flatten(like))
    return values[:-count], nest.pack_sequence_as(like, values[-count:])


@export("contrib.legacy_seq2seq.one2many_rnn_seq2seq")
def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs_dict: dict[str, Any],
    enc_cell: RNNCell,
    dec_cells_dict: dict[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[str, int],
    embedding_size: int,
    feed_previous: TensorLike = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Encodes symbols once and decodes them with several decoders; returns outputs and states by name."""
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(enc_cell, embedding_classes=num_encoder_symbols, embedding_size=embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)
                decode = _decoder(inputs, state, cell, symbols, embedding_size)
                outputs[name], states[name] = _decoded(decode, feed_previous, state)
    return outputs, states


def _decoder(inputs: Any, state: Any, cell: Any, symbols: int, size: int) -> Callable[[bool, bool], Decoded]:
    return lambda feed, update: embedding_rnn_decoder(
        inputs, state, cell, symbols, size, feed_previous=feed, update_embedding_for_previous=update
    )

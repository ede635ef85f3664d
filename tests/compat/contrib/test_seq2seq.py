"""tf.contrib.seq2seq: training and greedy decoding, attention, beam search against an exhaustive one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.training.nn.rnn.dynamic import dynamic_rnn
from thalweg.contrib import seq2seq

rnn_cell = tf.nn.rnn_cell
RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_training_decoder_equals_dynamic_rnn() -> None:
    x, lengths = tf.placeholder(tf.float32, [None, None, 3]), [4, 2, 0]
    cell, layer = rnn_cell.GRUCell(5), tf.layers.Dense(6, use_bias=False)
    helper = seq2seq.TrainingHelper(x, lengths)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float32), layer)
    outputs, state, found = seq2seq.dynamic_decode(decoder, impute_finished=True)
    assert outputs.rnn_output.shape.as_list()[2] == 6
    expected, expected_state = dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    value = RNG.normal(size=(3, 4, 3))
    outputs, state, found, expected, expected_state = run(
        [outputs, state, found, layer(expected), expected_state], {x: value}
    )
    np.testing.assert_allclose(outputs.rnn_output, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state, expected_state, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found, [4, 2, 0])
    picked = outputs.rnn_output[0].argmax(-1)
    np.testing.assert_array_equal(outputs.sample_id[0], picked)


class Counter(rnn_cell.RNNCell):  # type: ignore[name-defined, misc]
    """Gives logits for the symbol after the one it reads."""

    state_size = property(lambda self: 1)
    output_size = property(lambda self: 6)

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.concat([inputs[:, -1:], inputs[:, :-1]], 1) * 100.0, state + 1.0


def test_greedy_and_sampling_decoders_stop_at_the_end_token() -> None:
    for make in (seq2seq.GreedyEmbeddingHelper, seq2seq.SampleEmbeddingHelper):
        helper = make(tf.eye(6), [0, 3], 5)
        decoder = seq2seq.BasicDecoder(Counter(), helper, tf.zeros([2, 1]))
        outputs, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True, output_time_major=True)
        outputs, state, lengths = run([outputs, state, lengths])
        np.testing.assert_array_equal(outputs.sample_id.T, [[1, 2, 3, 4, 5], [4, 5, 0, 0, 0]])
        np.testing.assert_array_equal(lengths, [5, 2])
        np.testing.assert_array_equal(state, [[5], [2]])
    helper = seq2seq.GreedyEmbeddingHelper(lambda ids: tf.one_hot(ids, 6), [0, 3], 5)
    decoder = seq2seq.BasicDecoder(Counter(), helper, tf.zeros([2, 1]))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=3)
    outputs, lengths = run([outputs, lengths])
    np.testing.assert_array_equal(outputs.sample_id[0], [1, 2, 3])
    np.testing.assert_array_equal(lengths, [3, 2])


def test_custom_inference_and_scheduled_helpers() -> None:
    custom = seq2seq.CustomHelper(
        lambda: (tf.constant([False, False]), tf.eye(6)[:2]),
        lambda time, outputs, state: tf.cast(tf.argmax(outputs, -1), tf.int32),
        lambda time, outputs, state, sample_ids: (tf.fill([2], time >= 2), tf.one_hot(sample_ids, 6), state),
    )
    inference = seq2seq.InferenceHelper(
        lambda outputs: tf.nn.softmax(outputs), [6], tf.float32, tf.eye(6)[:2], lambda ids: ids[:, 4] > 0.5
    )
    scheduled = seq2seq.ScheduledEmbeddingTrainingHelper(tf.zeros([2, 3, 6]), [3, 2], tf.eye(6), 1.0)
    for helper, steps in ((custom, 3), (inference, 4), (scheduled, 3)):
        helper.initialize()
        decoder = seq2seq.BasicDecoder(Counter(), helper, tf.zeros([2, 1]))
        outputs, _, _ = seq2seq.dynamic_decode(decoder)
        assert run(outputs).rnn_output.shape == (2, steps, 6)


def numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("kind", ["luong", "scaled", "bahdanau", "normalized"])
def test_attention_mechanisms(kind: str) -> None:
    memory, query = RNG.normal(size=(2, 5, 3)).astype(np.float32), RNG.normal(size=(2, 4)).astype(np.float32)
    if kind in ("luong", "scaled"):
        mechanism = seq2seq.LuongAttention(4, memory, [5, 3], scale=kind == "scaled")
    else:
        mechanism = seq2seq.BahdanauAttention(4, memory, [5, 3], normalize=kind == "normalized")
    shares, _ = mechanism(tf.constant(query), mechanism.initial_state(2, tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        shares, *weights = session.run([shares, *tf.global_variables()])
    w = {v.op.name.rpartition("attention/")[2]: value for v, value in zip(tf.global_variables(), weights)}
    masked = memory * (np.arange(5) < np.array([[5], [3]]))[..., None]
    keys = masked @ w["memory_layer/kernel"]
    if kind in ("luong", "scaled"):
        score = np.einsum("bd,btd->bt", query, keys)
    else:
        v, b = w["attention_v"], 0.0
        if kind == "normalized":
            v, b = w["attention_g"] * v / np.linalg.norm(v), w["attention_b"]
        score = (v * np.tanh(keys + (query @ w["query_layer/kernel"])[:, None] + b)).sum(-1)
    score[1, 3:] = -np.inf
    np.testing.assert_allclose(shares, numpy_softmax(score), rtol=1e-4, atol=1e-6)


def test_attention_wrapper_in_a_decoder() -> None:
    memory = tf.constant(RNG.normal(size=(2, 7, 3)).astype(np.float32))
    mechanism = seq2seq.BahdanauAttention(4, memory, [7, 5])
    cell = seq2seq.AttentionWrapper(
        rnn_cell.BasicLSTMCell(5), mechanism, attention_layer_size=6, alignment_history=True
    )
    assert cell.output_size == 6
    first = cell.zero_state(2, tf.float32)
    first = first.clone(cell_state=rnn_cell.LSTMStateTuple(tf.ones([2, 5]), tf.ones([2, 5])))
    x = tf.constant(RNG.normal(size=(2, 4, 3)).astype(np.float32))
    decoder = seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(x, [4, 4]), first)
    outputs, state, _ = seq2seq.dynamic_decode(decoder)
    grads = tf.gradients(tf.reduce_sum(tf.square(outputs.rnn_output)), [*tf.trainable_variables(), memory])
    assert [v.op.name for v in tf.global_variables()] == [
        "memory_layer/kernel",
        "decoder/attention_wrapper/basic_lstm_cell/kernel",
        "decoder/attention_wrapper/basic_lstm_cell/bias",
        "decoder/attention_wrapper/bahdanau_attention/query_layer/kernel",
        "decoder/attention_wrapper/bahdanau_attention/attention_v",
        "decoder/attention_wrapper/attention_layer/kernel",
    ]
    outputs, history, last, grads = run([outputs.rnn_output, state.alignment_history.stack(), state.alignments, grads])
    assert outputs.shape == (2, 4, 6)
    assert history.shape == (4, 2, 7)
    np.testing.assert_allclose(history.sum(-1), np.ones((4, 2)), rtol=1e-5)
    assert not history[:, 1, 5:].any()
    np.testing.assert_array_equal(history[-1], last)
    assert all(np.abs(grad).sum() > 0 for grad in grads)


def test_several_mechanisms_and_dynamic_rnn() -> None:
    memories = [tf.ones([2, n, 3]) for n in (4, 5)]
    mechanisms = [seq2seq.LuongAttention(4, memory) for memory in memories]
    cell = seq2seq.AttentionWrapper(rnn_cell.GRUCell(4), mechanisms, output_attention=False)
    outputs, state = dynamic_rnn(cell, tf.ones([2, 3, 2]), dtype=tf.float32)
    outputs, state = run([outputs, state])
    assert outputs.shape == (2, 3, 4)
    np.testing.assert_allclose(state.attention, np.ones((2, 6)), rtol=1e-5)
    assert state.time == 3


class Table(rnn_cell.RNNCell):  # type: ignore[name-defined, misc]
    """Gives logits by the last symbol alone."""

    def __init__(self, table: Any) -> None:
        super().__init__()
        self._table = tf.constant(table)

    state_size = property(lambda self: 1)
    output_size = property(lambda self: self._table.shape[1].value)

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.matmul(inputs, self._table), state + 1.0


@pytest.mark.parametrize("penalty", [0.0, 0.8])
def test_beam_search_finds_the_best_sequences(penalty: float) -> None:
    symbols, end, steps, width = 4, 3, 3, 64
    table = np.random.default_rng(11).normal(size=(symbols, symbols)).astype(np.float32) * 2
    log_probs = np.log(numpy_softmax(table))
    decoder = seq2seq.BeamSearchDecoder(
        Table(table), tf.eye(symbols), [0, 1], end, tf.zeros([2 * width, 1]), width, length_penalty_weight=penalty
    )
    outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    outputs = run(outputs)
    assert outputs.predicted_ids.shape == (2, steps, width)
    for row, start in enumerate((0, 1)):
        scored = {}
        for sequence in itertools.product(range(symbols), repeat=steps):
            stop = sequence.index(end) + 1 if end in sequence else steps
            if any(symbol != end for symbol in sequence[stop:]):
                continue
            path = (start, *sequence[:stop])
            total = sum(log_probs[a, b] for a, b in itertools.pairwise(path))
            # An end token counts from the step after it.
            length = stop - 1 if stop == steps and sequence[-1] == end else stop
            scored[sequence] = total / ((5 + length) / 6) ** penalty
        best = sorted(scored, key=lambda sequence: -scored[sequence])[:10]
        # Sequences of the same transitions in another order have equal scores, and any order.
        ids = [tuple(sequence) for sequence in outputs.predicted_ids[row, :, :10].T.tolist()]
        np.testing.assert_allclose([scored[sequence] for sequence in ids], [scored[s] for s in best], rtol=1e-4)
        assert len(set(ids)) == 10
        found = outputs.beam_search_decoder_output.scores[row, -1, :10]
        np.testing.assert_allclose(found, [scored[sequence] for sequence in best], rtol=1e-4)


def test_beam_search_with_attention_and_tiled_memory() -> None:
    width = 3
    memory = seq2seq.tile_batch(tf.constant(RNG.normal(size=(2, 5, 3)).astype(np.float32)), width)
    lengths = seq2seq.tile_batch(tf.constant([5, 4]), width)
    np.testing.assert_array_equal(run(lengths), [5, 5, 5, 4, 4, 4])
    cell = seq2seq.AttentionWrapper(rnn_cell.BasicLSTMCell(4), seq2seq.LuongAttention(4, memory, lengths), 4)
    decoder = seq2seq.BeamSearchDecoder(
        cell,
        tf.get_variable("embedding", [7, 3]),
        tf.fill([2], 1),
        2,
        cell.zero_state(2 * width, tf.float32),
        width,
        tf.layers.Dense(7),
    )
    outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    ids = run(outputs).predicted_ids
    assert ids.shape[0] == 2
    assert ids.shape[2] == width


def test_gather_tree() -> None:
    end = 10
    ids = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]], np.int32)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]], np.int32)
    found = run(seq2seq.gather_tree(ids, parents, [3], end))
    np.testing.assert_array_equal(found, [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]], [[10, 10, 10]]])


def test_sequence_loss() -> None:
    logits = RNG.normal(size=(2, 3, 4)).astype(np.float32)
    targets, weights = np.array([[1, 2, 0], [3, 0, 0]]), np.array([[1, 1, 1], [1, 1, 0]], np.float32)
    losses = -np.log(np.take_along_axis(numpy_softmax(logits), targets[..., None], 2))[..., 0] * weights
    cases = [
        ((True, True), {}, losses.sum() / 5),
        ((True, False), {}, losses.sum(1) / weights.sum(1)),
        ((False, True), {}, losses.sum(0) / weights.sum(0)),
        ((False, False), {}, losses),
        ((False, False), {"sum_over_timesteps": True, "sum_over_batch": True}, losses.sum()),
    ]
    for averages, options, expected in cases:
        found = run(seq2seq.sequence_loss(logits, targets, weights, *averages, **options))
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="3-dimensional"):
        seq2seq.sequence_loss(logits[0], targets, weights)

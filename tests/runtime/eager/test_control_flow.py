"""Loops over tensors, recurrent networks and decoders give eagerly what they give in a session."""

import numpy as np
import pytest

import thalweg as tf
from tests.runtime.eager.both_modes import assert_same, initializer

rnn, seq2seq = tf.nn.rnn_cell, tf.contrib.seq2seq
VECTOR = np.array([0.5, -1.0, 2.0, 0.25], np.float32)
MATRIX = np.cos(np.arange(12, dtype=np.float32)).reshape(4, 3)
SEQUENCES = np.sin(np.arange(30, dtype=np.float32)).reshape(2, 5, 3)
LENGTHS = np.array([5, 2], np.int32)


def test_map_fn():
    assert_same(lambda x: tf.map_fn(tf.exp, x), MATRIX, gradients=1)


def test_map_fn_of_structures():
    def both(x, y):
        return tf.map_fn(lambda pair: (pair[0] * pair[1], pair[0] - 1.0), (x, y), dtype=(tf.float32, tf.float32))

    assert_same(both, VECTOR, VECTOR + 1, gradients=2)


def test_map_fn_to_another_type():
    assert_same(lambda x: [tf.map_fn(lambda e: tf.cast(e > 0, tf.int32), x, dtype=tf.int32), x], VECTOR)


@pytest.mark.parametrize("fold", [tf.foldl, tf.foldr])
@pytest.mark.parametrize("initial", [None, 0.5])
def test_folds(fold, initial):
    assert_same(lambda x: fold(lambda a, e: a * e + tf.sin(a), x, initial), VECTOR, gradients=1)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("initial", [None, 0.5])
def test_scan(reverse, initial):
    assert_same(lambda x: tf.scan(lambda a, e: a * e + 1.0, x, initial, reverse=reverse), VECTOR, gradients=1)


def test_while_loop_that_collects():
    def powers(x):
        array = tf.TensorArray(tf.float32, size=4, clear_after_read=False)
        _, _, array = tf.while_loop(lambda i, *_: i < 4, lambda i, y, a: (i + 1, y * x, a.write(i, y)), (0, x, array))
        return array.stack(), array.concat()

    assert_same(powers, VECTOR, gradients=1)


def test_maximum_iterations():
    assert_same(lambda x: tf.while_loop(lambda y: True, lambda y: y * x, [x], maximum_iterations=3), VECTOR)


@pytest.mark.parametrize("taken", [True, False])
def test_cond_and_case(taken):
    def choose(x):
        p = tf.reduce_sum(x) > (0.0 if taken else 100.0)
        chosen = tf.cond(p, lambda: x * 2, lambda: x * x)
        return chosen, tf.case([(p, lambda: x + 1)], default=lambda: tf.exp(x))

    assert_same(choose, VECTOR, gradients=1)


CELLS = [
    lambda: rnn.BasicRNNCell(4),
    lambda: rnn.BasicLSTMCell(4),
    lambda: rnn.LSTMCell(4, use_peepholes=True, num_proj=3),
    lambda: rnn.GRUCell(4),
    lambda: rnn.MultiRNNCell([rnn.GRUCell(4), rnn.ResidualWrapper(rnn.GRUCell(4))]),
]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_dynamic_rnn(cell, lengths):
    assert_same(lambda x: tf.nn.dynamic_rnn(cell(), x, lengths, dtype=tf.float32), SEQUENCES)


def test_dynamic_rnn_ends_early():
    lengths = np.array([2, 1], np.int32)
    assert_same(lambda x: tf.nn.dynamic_rnn(rnn.GRUCell(4), x, lengths, dtype=tf.float32), SEQUENCES)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_static_rnn(lengths):
    def run(x):
        return tf.nn.static_rnn(rnn.BasicLSTMCell(4), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths)

    assert_same(run, SEQUENCES)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_bidirectional_rnns(lengths):
    def run(x):
        dynamic = tf.nn.bidirectional_dynamic_rnn(rnn.GRUCell(4), rnn.GRUCell(2), x, lengths, dtype=tf.float32)
        static = tf.nn.static_bidirectional_rnn(
            rnn.GRUCell(3), rnn.GRUCell(3), tf.unstack(x, 5, 1), None, None, tf.float32, lengths, "static"
        )
        return dynamic, list(static)

    assert_same(run, SEQUENCES)


def test_raw_rnn():
    def run(x):
        inputs = tf.TensorArray(tf.float32, size=5, clear_after_read=False).unstack(tf.transpose(x, [1, 0, 2]))
        cell = rnn.GRUCell(4)

        def loop(time, output, state, loop_state):
            finished = time >= tf.constant(LENGTHS)
            done = tf.reduce_all(finished)
            following = tf.cond(done, lambda: tf.zeros([2, 3]), lambda: inputs.read(time))
            return finished, following, cell.zero_state(2, tf.float32) if output is None else state, output, None

        outputs, state, _ = tf.nn.raw_rnn(cell, loop)
        return outputs.stack(), state

    assert_same(run, SEQUENCES)


def _decoded(helper, cell=None, **options):
    cell = cell or rnn.GRUCell(4)
    layer = tf.layers.Dense(6, kernel_initializer=initializer)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32), output_layer=layer)
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, **options)
    return [outputs.rnn_output, outputs.sample_id, state, lengths]


def test_training_decoder():
    assert_same(lambda x: _decoded(seq2seq.TrainingHelper(x, LENGTHS)), SEQUENCES)


def test_greedy_decoder():
    def run(table):
        helper = seq2seq.GreedyEmbeddingHelper(table, tf.constant([1, 2]), end_token=5)
        return _decoded(helper, maximum_iterations=4)

    assert_same(run, np.cos(np.arange(18, dtype=np.float32)).reshape(6, 3))


def test_attention():
    def run(x):
        mechanism = seq2seq.LuongAttention(4, x, LENGTHS)
        return _decoded(seq2seq.TrainingHelper(x, LENGTHS), seq2seq.AttentionWrapper(rnn.GRUCell(4), mechanism, 3))[:2]

    assert_same(run, SEQUENCES)


def test_beam_search():
    def run(table):
        cell = rnn.GRUCell(4)
        state = seq2seq.tile_batch(tf.sin(tf.reshape(tf.range(8.0), [2, 4])), 3)
        decoder = seq2seq.BeamSearchDecoder(
            cell, table, tf.constant([1, 2]), 5, state, 3, tf.layers.Dense(6, kernel_initializer=initializer)
        )
        outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
        return [outputs.predicted_ids, lengths, tf.reduce_sum(table)]

    assert_same(run, np.cos(np.arange(18, dtype=np.float32)).reshape(6, 3))

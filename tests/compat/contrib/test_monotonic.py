"""Monotonic attention against the process that it describes, and scheduled outputs."""

import numpy as np
import pytest

import thalweg as tf

seq2seq = tf.contrib.seq2seq
RNG = np.random.default_rng(9)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def stopped(p, last):
    """Returns where a walk that begins as the last attention says stops first."""
    result = np.zeros_like(p)
    for row in range(len(p)):
        for start in range(p.shape[1]):
            going = last[row, start]
            for place in range(start, p.shape[1]):
                result[row, place] += going * p[row, place]
                going *= 1 - p[row, place]
    return result


@pytest.mark.parametrize("mode", ["recursive", "parallel"])
def test_the_expected_attention(mode):
    p = RNG.uniform(0.1, 0.9, (3, 5)).astype(np.float32)
    last = RNG.dirichlet(np.ones(5), 3).astype(np.float32)
    got = run(seq2seq.monotonic_attention(p, last, mode))
    np.testing.assert_allclose(got, stopped(p, last), rtol=1e-4, atol=1e-6)


def test_hard_attention_and_products():
    p = np.array([[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 1, 0]], np.float32)
    last = np.eye(4, dtype=np.float32)[[1, 0, 1]]
    got = run(seq2seq.monotonic_attention(p, last, "hard"))
    assert got.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    np.testing.assert_allclose(run(seq2seq.safe_cumprod([[0.5, 0.5, 0.0]], axis=1)), [[0.5, 0.25, 0.0]], atol=1e-30)
    with pytest.raises(ValueError, match="mode"):
        seq2seq.monotonic_attention(p, last, "soft")


@pytest.mark.parametrize("kind", ["BahdanauMonotonicAttention", "LuongMonotonicAttention"])
@pytest.mark.parametrize("mode", ["parallel", "recursive", "hard"])
def test_attention_decoders_train(kind, mode):
    memory = tf.constant(RNG.normal(size=(3, 6, 8)).astype(np.float32))
    mechanism = getattr(seq2seq, kind)(4, memory, [6, 2, 4], score_bias_init=-1.0, sigmoid_noise=0.1, mode=mode)
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), mechanism, alignment_history=True)
    first = run(mechanism.initial_state(3, tf.float32))
    assert first.tolist() == np.eye(6)[[0, 0, 0]].tolist()
    outputs, state = tf.nn.dynamic_rnn(cell, tf.zeros([3, 5, 2]), dtype=tf.float32)
    names = [v.op.name.split("/")[-1] for v in tf.trainable_variables()]
    assert "attention_score_bias" in names
    history = state.alignment_history.stack()
    grads = [g for g in tf.gradients(outputs, tf.trainable_variables()) if g is not None]
    aligned, values = run([history, grads])
    assert aligned.shape == (5, 3, 6) and not aligned[:, 1, 2:].any()
    assert (aligned.sum(-1) <= 1 + 1e-5).all()
    assert all(np.isfinite(value).all() for value in values)


@pytest.mark.parametrize("chance", [0.0, 1.0])
@pytest.mark.parametrize("auxiliary", [False, True])
def test_scheduled_outputs(chance, auxiliary):
    inputs = tf.constant(RNG.normal(size=(2, 4, 3)).astype(np.float32))
    extra = tf.constant(RNG.normal(size=(2, 4, 2)).astype(np.float32)) if auxiliary else None
    helper = seq2seq.ScheduledOutputTrainingHelper(
        inputs, [4, 3], chance, next_inputs_fn=lambda x: 2.0 * x, auxiliary_inputs=extra
    )
    seen = []

    class Cell(tf.nn.rnn_cell.RNNCell):
        state_size = 1
        output_size = 3

        def call(self, x, state):
            seen.append(x.shape.as_list())
            return x[:, :3] + 1.0, state

    decoder = seq2seq.BasicDecoder(Cell(), helper, tf.zeros([2, 1]))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder)
    got, given, steps = run([outputs, inputs, lengths])
    assert steps.tolist() == [4, 3] and seen[0] == [2, 5 if auxiliary else 3]
    assert got.sample_id.dtype == bool and got.sample_id[0, :3].all() == bool(chance)
    np.testing.assert_allclose(got.rnn_output[0, 0], given[0, 0] + 1, rtol=1e-6)
    second = 2 * (given[0, 0] + 1) + 1 if chance else given[0, 1] + 1
    np.testing.assert_allclose(got.rnn_output[0, 1], second, rtol=1e-5)

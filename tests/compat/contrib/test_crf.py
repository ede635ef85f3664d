"""Conditional random fields against sums and maxima over all sequences of tags."""

import itertools

import numpy as np
import pytest

import thalweg as tf

crf = tf.contrib.crf
BATCH, TIME, TAGS = 5, 4, 3
LENGTHS = np.array([4, 2, 1, 3, 0], np.int32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def numbers(time: int = TIME):
    rng = np.random.default_rng(3)
    return (
        rng.normal(size=(BATCH, time, TAGS)).astype(np.float32),
        rng.normal(size=(TAGS, TAGS)).astype(np.float32),
        rng.integers(0, TAGS, (BATCH, time)).astype(np.int32),
    )


def score_of(potentials, transitions, tags):
    return sum(potentials[t, tag] for t, tag in enumerate(tags)) + sum(
        transitions[a, b] for a, b in itertools.pairwise(tags)
    )


def all_scores(potentials, transitions, length):
    return {
        tags: score_of(potentials, transitions, tags) for tags in itertools.product(range(TAGS), repeat=int(length))
    }


def log_norms(potentials, transitions, lengths=LENGTHS):
    every = [all_scores(x, transitions, n) for x, n in zip(potentials, lengths)]
    return [np.log(sum(np.exp(score) for score in scores.values())) if n else 0 for scores, n in zip(every, lengths)]


def run(*fetches, **feeds):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sequence_score(kind):
    x, w, tags = numbers()
    n = LENGTHS.astype(kind)
    tags = tags.astype(kind)
    score, unary, binary = run(
        crf.crf_sequence_score(x, tags, n, w), crf.crf_unary_score(tags, n, x), crf.crf_binary_score(tags, n, w)
    )
    expected = [score_of(x[i], w, tags[i, : n[i]]) for i in range(BATCH)]
    np.testing.assert_allclose(score, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(unary + binary, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("time", [TIME, 1])
@pytest.mark.parametrize("known", [True, False])
def test_log_norm_sums_over_all_sequences(time, known):
    x, w, tags = numbers(time)
    lengths = np.minimum(LENGTHS, time)
    inputs = tf.placeholder(tf.float32, x.shape if known else [None, None, TAGS])
    norm = crf.crf_log_norm(inputs, lengths, w)
    likelihood, used = crf.crf_log_likelihood(inputs, tags, lengths, w)
    assert used is w
    with tf.Session() as session:
        got, log_likelihood = session.run([norm, likelihood], {inputs: x})
    expected = log_norms(x, w, lengths)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    chosen = [score_of(x[i], w, tags[i, : lengths[i]]) for i in range(BATCH)]
    np.testing.assert_allclose(log_likelihood, np.subtract(chosen, expected), rtol=1e-5, atol=1e-5)


def test_several_tags_allowed_at_a_step():
    x, w, _ = numbers()
    bits = np.random.default_rng(5).uniform(size=x.shape) < 0.6
    bits[:, :, 1] = True
    (got,) = run(crf.crf_multitag_sequence_score(x, bits, LENGTHS, w))
    for i in range(BATCH - 1):
        scores = all_scores(x[i], w, LENGTHS[i])
        kept = [s for tags, s in scores.items() if all(bits[i, t, tag] for t, tag in enumerate(tags))]
        np.testing.assert_allclose(got[i], np.log(np.exp(kept).sum()), rtol=1e-5)


@pytest.mark.parametrize("time", [TIME, 1])
def test_the_best_sequence(time):
    x, w, _ = numbers(time)
    lengths = np.minimum(LENGTHS, time)
    inputs = tf.placeholder(tf.float32, [None, None, TAGS])
    decoded = crf.crf_decode(inputs, w, lengths)
    assert decoded[0].dtype == tf.int32
    with tf.Session() as session:
        tags, scores = session.run(decoded, {inputs: x})
    assert tags.shape == (BATCH, time)
    for i, n in enumerate(lengths):
        if not n:
            continue
        every = all_scores(x[i], w, n)
        best = max(every, key=every.get)
        assert tuple(tags[i, :n]) == best
        assert not tags[i, n:].any()
        np.testing.assert_allclose(scores[i], every[best], rtol=1e-5)
        again, score = crf.viterbi_decode(x[i, :n], w)
        assert tuple(again) == best
        np.testing.assert_allclose(score, every[best], rtol=1e-5)


def test_gradients_match_the_definition():
    x, w, tags = numbers()
    inputs, transitions = tf.placeholder(tf.float64, x.shape), tf.placeholder(tf.float64, w.shape)
    likelihood, _ = crf.crf_log_likelihood(inputs, tags, LENGTHS, transitions)
    with tf.Session():
        for tensor, value in ((inputs, x), (transitions, w)):
            feed = {inputs: x.astype(float), transitions: w.astype(float)}
            error = tf.test.compute_gradient_error(
                tensor, value.shape, likelihood, [BATCH], x_init_value=value.astype(float), extra_feed_dict=feed
            )
            assert error < 1e-6


def test_transition_parameters_are_trained():
    x, _, tags = numbers()
    likelihood, transitions = crf.crf_log_likelihood(x, tags, LENGTHS)
    assert transitions.op.name == "transitions" and transitions.shape.as_list() == [TAGS, TAGS]
    loss = -tf.reduce_mean(likelihood)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(10):
            session.run(step)
        assert session.run(loss) < before


def test_cells_take_one_step():
    x, w, _ = numbers()
    output, state = crf.CrfForwardRnnCell(w)(x[:, 1], x[:, 0])
    back, best = crf.CrfDecodeForwardRnnCell(w)(x[:, 1], x[:, 0])
    tag, _ = crf.CrfDecodeBackwardRnnCell(TAGS)(back, [[1]] * BATCH)
    got, again, pointers, most, tags = run(output, state, back, best, tag)
    candidates = x[:, 0, :, None] + w
    np.testing.assert_allclose(got, x[:, 1] + np.log(np.exp(candidates).sum(1)), rtol=1e-5)
    np.testing.assert_array_equal(got, again)
    np.testing.assert_array_equal(pointers, candidates.argmax(1))
    np.testing.assert_allclose(most, x[:, 1] + candidates.max(1), rtol=1e-6)
    np.testing.assert_array_equal(tags[:, 0], pointers[:, 1])


def test_wrong_ranks_are_rejected():
    x, w, tags = numbers()
    with pytest.raises(ValueError, match="rank"):
        crf.crf_log_norm(x[0], LENGTHS, w)
    with pytest.raises(ValueError, match="number of tags"):
        crf.crf_log_likelihood(tf.placeholder(tf.float32, [BATCH, TIME, None]), tags, LENGTHS)

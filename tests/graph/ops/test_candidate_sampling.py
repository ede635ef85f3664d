from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.candidate_sampling import (
    all_candidate_sampler,
    compute_accidental_hits,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from thalweg._src.training.nn.sampled_losses import nce_loss, sampled_softmax_loss

TRUE = [[1, 2], [0, 5]]


def run(value: Any) -> Any:
    with tf.Session() as session:
        return session.run(value)


def frequencies(sample: Any, classes: int) -> np.ndarray:
    return np.bincount(run(sample), minlength=classes) / sample.shape[0].value


def test_uniform() -> None:
    sample, true, expected = uniform_candidate_sampler(TRUE, 2, 20_000, False, 7, seed=1)
    np.testing.assert_allclose(frequencies(sample, 7), np.full(7, 1 / 7), atol=0.015)
    np.testing.assert_allclose(run(true), np.full((2, 2), 20_000 / 7), rtol=1e-6)
    assert run(expected).shape == (20_000,)


def test_log_uniform() -> None:
    sample, true, _ = log_uniform_candidate_sampler(TRUE, 2, 20_000, False, 7, seed=1)
    k = np.arange(7)
    chances = np.log((k + 2) / (k + 1)) / np.log(8)
    np.testing.assert_allclose(frequencies(sample, 7), chances, atol=0.015)
    np.testing.assert_allclose(run(true), 20_000 * chances[np.array(TRUE)], rtol=1e-5)


def test_unique_samples_return_expected_counts() -> None:
    sample, true, expected = log_uniform_candidate_sampler(TRUE, 2, 5, True, 1000, seed=3)
    with tf.Session() as session:
        for _ in range(20):
            drawn, of_true, of_drawn = session.run([sample, true, expected])
            assert len(set(drawn.tolist())) == 5
            assert np.all((of_true > 0) & (of_true <= 1.0))
            p = np.log((drawn + 2) / (drawn + 1)) / np.log(1001)
            tries = np.log1p(-of_drawn) / np.log1p(-p) if not np.allclose(of_drawn, 5 * p) else np.full(5, 5.0)
            np.testing.assert_allclose(tries, np.full(5, round(tries[0])), rtol=1e-3)


def test_unique_over_the_whole_range_is_a_permutation() -> None:
    drawn = run(uniform_candidate_sampler(TRUE, 2, 50, True, 50)[0])
    assert sorted(drawn.tolist()) == list(range(50))


@pytest.mark.parametrize("classes", [1, 5, 100])
def test_learned(classes: int) -> None:
    sample, true, _ = learned_unigram_candidate_sampler([[classes - 1]], 1, 10, False, classes, seed=2)
    with tf.Session() as session:
        for step in range(5):
            drawn, counts = session.run([sample, true])
            assert np.all((drawn >= 0) & (drawn < classes))
            np.testing.assert_allclose(counts, [[10 * (1 + step) / (classes + step)]], rtol=1e-6)


def test_learned_sampler_follows_observed_counts() -> None:
    seen = tf.placeholder(tf.int64, [None, 1])
    sample = learned_unigram_candidate_sampler(seen, 1, 10_000, False, 10, seed=2)[0]
    with tf.Session() as session:
        session.run(sample, {seen: np.full((90, 1), 7)})
        drawn = session.run(sample, {seen: np.zeros((0, 1), np.int64)})
    np.testing.assert_allclose(np.bincount(drawn, minlength=10) / 10_000, [*[0.01] * 7, 0.91, 0.01, 0.01], atol=0.01)


def test_fixed_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.csv"
    path.write_text("a,1\nb,really,4\nc,9\n")
    options = {"vocab_file": str(path), "distortion": 0.5, "num_reserved_ids": 1}
    sample, true, _ = fixed_unigram_candidate_sampler([[0, 3]], 2, 20_000, False, 4, seed=1, **options)
    np.testing.assert_allclose(frequencies(sample, 4), np.array([0, 1, 2, 3]) / 6, atol=0.015)
    np.testing.assert_allclose(run(true), [[0, 10_000]])
    path.write_text("a,1\nb\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong vocabulary format at line: b"):
        run(fixed_unigram_candidate_sampler([[0]], 1, 2, False, 2, vocab_file=str(path)))


def test_fixed_by_shards() -> None:
    options = {"unigrams": [1.0, 2.0, 3.0, 4.0], "num_reserved_ids": 1, "num_shards": 2, "shard": 0}
    sample, _, _ = fixed_unigram_candidate_sampler([[1]], 1, 20_000, False, 3, seed=1, **options)
    np.testing.assert_allclose(frequencies(sample, 3), np.array([0, 2, 4]) / 6, atol=0.015)


def test_fixed_sampler_requires_enough_classes() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="only 2 classes have a weight above 0"):
        run(fixed_unigram_candidate_sampler([[1]], 1, 3, True, 3, unigrams=[1.0, 0.0, 2.0]))


def test_all() -> None:
    sample, true, expected = run(all_candidate_sampler(TRUE, 2, 6, True))
    np.testing.assert_array_equal(sample, np.arange(6))
    np.testing.assert_array_equal(true, np.ones((2, 2)))
    np.testing.assert_array_equal(expected, np.ones(6))


def test_accidental_hits_name_the_last_of_equal_candidates() -> None:
    rows, places, weights = run(compute_accidental_hits(TRUE, [5, 9, 5, 1], 2))
    np.testing.assert_array_equal(rows, [0, 1])
    np.testing.assert_array_equal(places, [3, 2])
    np.testing.assert_array_equal(weights, np.full(2, np.finfo(np.float32).min))


def test_seeds() -> None:
    first, second = (run(log_uniform_candidate_sampler(TRUE, 2, 9, True, 100, seed=5)[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [((TRUE, 2, 3, True, 2), "range is too small"), ((TRUE, 1, 3, True, 9), "num_true = 1 columns")],
)
def test_invalid_arguments(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        log_uniform_candidate_sampler(*arguments)


def test_class_out_of_range() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"true class 5 is out of range \[0, 4\)"):
        run(uniform_candidate_sampler(TRUE, 2, 3, True, 4))


@pytest.mark.parametrize("loss", [nce_loss, sampled_softmax_loss])
@pytest.mark.parametrize("parts", [1, 3])
def test_losses_leave_gradients_sparse(loss: Any, parts: int) -> None:
    def variable(name: str, shape: list[int]) -> Any:
        return tf.get_variable(name, shape, partitioner=tf.fixed_size_partitioner(parts) if parts > 1 else None)

    weights, biases = variable("w", [50, 4]), variable("b", [50])
    inputs = tf.placeholder(tf.float32, [None, 4])
    labels = tf.placeholder(tf.int32, [None, 1])
    losses = loss(weights, biases, labels, inputs, 8, 50, partition_strategy="div")
    gradients = tf.gradients(losses, tf.trainable_variables())
    assert len(gradients) == 2 * parts and all(isinstance(g, IndexedSlices) for g in gradients)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(losses))
    rng = np.random.default_rng(0)
    feeds = {inputs: rng.normal(size=(16, 4)), labels: rng.integers(0, 50, (16, 1))}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(losses, feeds)
        assert before.shape == (16,)
        for _ in range(60):
            session.run(step, feeds)
        assert session.run(losses, feeds).mean() < before.mean()


def test_sampled_softmax_over_all_classes_is_softmax() -> None:
    rng = np.random.default_rng(0)
    weights, biases, inputs = (rng.normal(size=s).astype(np.float32) for s in ((7, 3), (7,), (4, 3)))
    labels = np.array([[0], [3], [6], [2]])
    sampled = all_candidate_sampler(labels, 1, 7, True)
    loss = sampled_softmax_loss(weights, biases, labels, inputs, 7, 7, sampled_values=sampled)
    logits = inputs @ weights.T + biases
    expected = np.log(np.exp(logits).sum(1)) - logits[np.arange(4), labels[:, 0]]
    np.testing.assert_allclose(run(loss), expected, rtol=1e-5)

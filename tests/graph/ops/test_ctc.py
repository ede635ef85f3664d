import itertools
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.ops.ctc import (
    collapse_repeated,
    ctc_loss,
    ctc_loss_op,
    ctc_loss_v2,
    ctc_loss_v2_op,
    ctc_unique_labels,
)
from thalweg._src.graph.ops.ctc_decoding import (
    ctc_beam_search_decoder,
    ctc_beam_search_decoder_v2,
    ctc_greedy_decoder,
)


def run(value: Any) -> Any:
    with tf.Session() as session:
        return session.run(value)


def logits(*shape: int, seed: int = 0, scale: float = 1.0, dtype: str = "float64") -> np.ndarray:
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(dtype)


def sparse(rows: list[list[int]]) -> tf.SparseTensor:
    indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = tf.constant([label for row in rows for label in row], tf.int32)
    return tf.SparseTensor(np.array(indices, np.int64).reshape(-1, 2), values, [len(rows), max(map(len, rows))])


def log_softmax(x: np.ndarray) -> np.ndarray:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def brute_force(x: np.ndarray, labels: list[int], blank: int, merge: bool = True) -> float:
    """Sums the probabilities of all paths that give the labels."""
    scores, total = log_softmax(x), 0.0
    for path in itertools.product(range(x.shape[1]), repeat=len(x)):
        kept = [c for i, c in enumerate(path) if not merge or i == 0 or c != path[i - 1]]
        if [c for c in kept if c != blank] == labels:
            total += np.exp(sum(scores[t, c] for t, c in enumerate(path)))
    return -np.log(total) if total else np.inf


ROWS = [[0, 1], [1, 1], [2]]


@pytest.mark.parametrize("merge", [True, False])
def test_loss_sums_all_paths(merge: bool) -> None:
    x, lengths = logits(5, 3, 4), [5, 4, 3]
    loss = run(ctc_loss(sparse(ROWS), x, lengths, ctc_merge_repeated=merge))
    expected = [brute_force(x[:n, b], row, 3, merge) for b, (row, n) in enumerate(zip(ROWS, lengths))]
    np.testing.assert_allclose(loss, expected)


@pytest.mark.parametrize("merge", [True, False])
def test_gradient_matches_finite_differences(merge: bool) -> None:
    x = tf.constant(logits(5, 3, 4))
    loss = ctc_loss(sparse(ROWS), x, [5, 4, 3], ctc_merge_repeated=merge)
    weighted = loss * np.array([1.0, 2.0, 3.0])
    with tf.Session():
        assert tf.test.compute_gradient_error(x, [5, 3, 4], weighted, [3]) < 1e-7


def test_second_derivative_is_rejected() -> None:
    x = tf.constant(logits(5, 3, 4))
    (gradient,) = tf.gradients(ctc_loss(sparse(ROWS), x, [5, 4, 3]), x)
    with pytest.raises(LookupError, match="no second derivative of ctc_loss"):
        tf.gradients(gradient, x)


def test_rows_without_a_path() -> None:
    x = tf.constant(logits(5, 3, 4))
    loss = ctc_loss(sparse([[0, 0, 0], [1, 1], [2]]), x, [4, 3, 0], ignore_longer_outputs_than_inputs=True)
    losses, (gradient,) = run([loss, tf.gradients(loss, x)])
    assert np.isinf(losses[0]) and np.isfinite(losses[1]) and losses[2] == 0
    np.testing.assert_allclose(gradient[:4, 0].sum(-1), np.ones(4))
    assert not gradient[:, 2].any() and not gradient[3:, 1].any()


def test_a_row_of_null_labels_is_all_blanks() -> None:
    x = logits(5, 3, 4)
    loss = run(ctc_loss(sparse([[3], [3, 3], [7]]), x, [5, 4, 3]))
    scores = log_softmax(x)[:, :, 3]
    np.testing.assert_allclose(loss, [-scores[:5, 0].sum(), -scores[:4, 1].sum(), -scores[:3, 2].sum()])


@pytest.mark.parametrize(
    ("rows", "lengths", "text"),
    [
        ([[0, 1, 0], [1], [2]], [2, 4, 4], "example 0 has more labels .*3 labels, 2 steps"),
        ([[0], [], [2]], [5, 4, 4], "example 1 has no labels"),
        ([[0], [1], [3, 0]], [5, 4, 4], "batch: 2"),
        ([[0], [1, -2], [2]], [5, 4, 4], r"label -2 is not in \[0, 4\), batch: 1"),
        ([[0], [1], [2]], [6, 4, 4], r"sequence_length\(0\) is 6"),
        ([[0], [1], [2]], [5, 4, -1], "negative"),
    ],
)
def test_invalid_labels(rows: Any, lengths: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(ctc_loss(sparse(rows), logits(5, 3, 4), lengths))


def test_the_blank_of_version_2_is_class_0() -> None:
    x = logits(5, 3, 4, dtype="float32")
    first = sparse(ROWS)
    loss, gradient = ctc_loss_op.many(x, first.indices, first.values, [5, 4, 3])
    turned = np.roll(x, 1, axis=2)
    other, turned_gradient = ctc_loss_v2_op.many(turned, first.indices, first.values + 1, [5, 4, 3])
    a, b, c, d = run([loss, other, gradient, turned_gradient])
    np.testing.assert_allclose(a, b, rtol=1e-5)
    np.testing.assert_allclose(np.roll(c, 1, axis=2), d, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("blank", [0, 2, -1])
def test_rows_of_labels(blank: int) -> None:
    x, rows = logits(5, 3, 4), [[1, 3], [1, 1], [3]]
    rows = [[label if label != blank % 4 else 0 for label in row] for row in rows]
    dense = tf.constant([[*row, *[99] * (2 - len(row))] for row in rows])
    lengths = [5, 4, 3]
    by_rows = ctc_loss_v2(dense, x, [len(row) for row in rows], lengths, blank_index=blank)
    by_places = ctc_loss_v2(sparse(rows), x, None, lengths, blank_index=blank)
    expected = [brute_force(x[:n, b], row, blank % 4) for b, (row, n) in enumerate(zip(rows, lengths))]
    np.testing.assert_allclose(run(by_rows), expected)
    np.testing.assert_allclose(run(by_places), expected)


def test_infeasible_rows_have_a_finite_loss() -> None:
    x = tf.constant(logits(5, 2, 4))
    loss = ctc_loss_v2(tf.constant([[1, 2, 3], [1, 1, 0]]), x, [3, 0], [2, 9], logits_time_major=True)
    losses, (gradient,) = run([loss, tf.gradients(loss, x)])
    assert np.isfinite(losses).all() and losses[0] > 700
    np.testing.assert_allclose(losses[1], -log_softmax(logits(5, 2, 4))[:, 1, 0].sum())
    assert not gradient[:, 0].any() and gradient[:, 1].any()


def test_half_and_batch_first() -> None:
    x = logits(3, 5, 4, dtype="float16")
    loss = ctc_loss(sparse(ROWS), x, [5, 4, 3], time_major=False)
    assert loss.dtype == tf.float16
    wide = x.astype(np.float64).transpose(1, 0, 2)
    np.testing.assert_allclose(run(loss), run(ctc_loss(sparse(ROWS), wide, [5, 4, 3])), rtol=1e-3)


def test_invalid_arguments() -> None:
    x = logits(5, 3, 4)
    with pytest.raises(TypeError, match="to be a SparseTensor"):
        ctc_loss([[1]], x, [5, 4, 3])
    with pytest.raises(ValueError, match="Cannot specify both"):
        ctc_loss(sparse(ROWS), x, [5, 4, 3], logits=x)
    with pytest.raises(ValueError, match="the examples and sequence_length differ: 3 and 2"):
        ctc_loss(sparse(ROWS), x, [5, 4])
    with pytest.raises(ValueError, match="blank_index must be given"):
        ctc_loss_v2(sparse(ROWS), x, None, [5, 4, 3])


@pytest.mark.parametrize("merge", [True, False])
def test_greedy(merge: bool) -> None:
    x = np.full((6, 2, 4), -1.0, np.float32)
    for t, (a, b) in enumerate(zip([0, 0, 3, 0, 1, 1], [2, 3, 3, 2, 2, 1])):
        x[t, 0, a], x[t, 1, b] = 1, 2
    (labels,), scores = run(ctc_greedy_decoder(x, [6, 4], merge_repeated=merge))
    first = [0, 0, 1] if merge else [0, 0, 0, 1, 1]
    np.testing.assert_array_equal(labels.values, [*first, 2, 2])
    np.testing.assert_array_equal(labels.indices[:, 0], [*[0] * len(first), 1, 1])
    np.testing.assert_array_equal(labels.dense_shape, [2, len(first)])
    np.testing.assert_allclose(scores, [[-6], [-8]])


def search(x: np.ndarray, width: int) -> list[tuple[float, tuple[int, ...]]]:
    """Searches prefix by prefix: each is [total, blank, label], now and a moment before."""
    beam: dict[tuple[int, ...], list[float]] = {(): [0.0, 0.0, -np.inf]}
    blank = x.shape[1] - 1
    for scores in log_softmax(x):
        old = dict(sorted(beam.items(), key=lambda item: -item[1][0]))
        beam = {}
        for prefix, (total, _, label) in old.items():
            if prefix:
                parent = old.get(prefix[:-1])
                if parent is not None:
                    label = np.logaddexp(label, parent[1] if prefix[-2:-1] == prefix[-1:] else parent[0])
                label += scores[prefix[-1]]
            empty = total + scores[blank]
            beam[prefix] = [np.logaddexp(empty, label), empty, label]
        forgotten = set()
        for prefix, before in old.items():
            if prefix in forgotten or (len(beam) == width and before[0] <= min(p[0] for p in beam.values())):
                continue
            for c in range(blank):
                child = (*prefix, c)
                if child in beam:
                    continue
                score = scores[c] + (before[1] if prefix[-1:] == (c,) else before[0])
                lowest = min(beam, key=lambda p: beam[p][0])
                if len(beam) < width or score > beam[lowest][0]:
                    if len(beam) == width:
                        del beam[lowest]
                    beam[child] = [score, -np.inf, score]
                else:
                    forgotten.add(child)
    return sorted([(p[0], prefix) for prefix, p in beam.items()], reverse=True)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 20])
def test_beam_search(width: int) -> None:
    batch, time, paths = 12, 14, min(width, 3)
    x = logits(time, batch, 4, seed=width, scale=1.5)
    lengths = [time - b % 5 for b in range(batch)]
    decoded, scores = run(ctc_beam_search_decoder_v2(x, lengths, width, paths))
    for b, length in enumerate(lengths):
        expected = search(x[:length, b], width)[:paths]
        np.testing.assert_allclose(scores[b], [score for score, _ in expected])
        for found, (_, prefix) in zip(decoded, expected):
            np.testing.assert_array_equal(found.values[found.indices[:, 0] == b], prefix)


def test_a_wide_beam_finds_the_probabilities_of_the_loss() -> None:
    x = logits(5, 1, 3)
    (decoded,), scores = run(ctc_beam_search_decoder(x, [5], 1000, 1, merge_repeated=False))
    np.testing.assert_allclose(-scores[0, 0], brute_force(x[:, 0], decoded.values.tolist(), 2))


def test_beam_search_with_merge_repeated() -> None:
    x = np.full((3, 1, 3), -9.0, np.float32)
    x[[0, 1, 2], 0, [1, 2, 1]] = 9
    for merge, expected in ((True, [1]), (False, [1, 1])):
        (decoded,), _ = run(ctc_beam_search_decoder(x, [3], 4, merge_repeated=merge))
        np.testing.assert_array_equal(decoded.values, expected)
        np.testing.assert_array_equal(decoded.dense_shape, [1, len(expected)])


def test_top_paths_exceeding_the_beam() -> None:
    x = logits(5, 2, 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="fewer than top_paths"):
        run(ctc_beam_search_decoder(x, [5, 0], 9, 2)[1])
    with pytest.raises(ValueError, match="more than the beam width"):
        ctc_beam_search_decoder(x, [5, 0], 2, 3)


def test_unique_labels() -> None:
    unique, places = run(ctc_unique_labels([[3, 4, 4, 3], [1, 2, 3, 4]]))
    np.testing.assert_array_equal(unique, [[3, 4, 0, 0], [1, 2, 3, 4]])
    np.testing.assert_array_equal(places, [[0, 1, 1, 0], [0, 1, 2, 3]])


def test_collapse_repeated() -> None:
    labels, lengths = run(collapse_repeated([[3, 4, 4, 3], [1, 1, 1, 4], [7, 8, 9, 9]], [3, 4, 4]))
    np.testing.assert_array_equal(labels, [[3, 4, 0], [1, 4, 0], [7, 8, 9]])
    np.testing.assert_array_equal(lengths, [2, 2, 3])

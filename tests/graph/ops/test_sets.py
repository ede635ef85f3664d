import numpy as np
import pytest

from tests.graph.ops.sparse_values import run, same, sparse
from thalweg import sets
from thalweg._src.base import errors
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.edit_distance import edit_distance

SPARSE = ([[0, 0], [1, 0], [1, 1]], [9, 3, 5], [2, 2])


def test_size() -> None:
    assert run(sets.size(sparse([[0, 0], [0, 1], [1, 0]], [1, 1, 2], [2, 3]))).tolist() == [1, 1]
    cube = sparse([[0, 1, 0], [0, 1, 2], [1, 0, 0]], ["a", "c", "b"], [2, 2, 3])
    assert run(sets.size(cube)).tolist() == [[0, 2], [1, 0]]
    assert sets.size(cube).shape.as_list() == [2, 2]
    with pytest.raises(TypeError, match="sets cannot hold"):
        sets.size(sparse([[0, 0]], [1.0], [1, 1]))


def test_dense_sets() -> None:
    a, b = constant([[1, 2, 2], [3, 4, 5]]), constant([[2, 1, 9], [7, 7, 7]])
    same(run(sets.intersection(a, b)), [[0, 0], [0, 1]], [1, 2], [2, 2])
    same(run(sets.difference(a, b)), [[1, 0], [1, 1], [1, 2]], [3, 4, 5], [2, 3])
    same(run(sets.difference(a, b, aminusb=False)), [[0, 0], [1, 0]], [9, 7], [2, 1])
    same(run(sets.union([["b", "a"]], [["c", "a"]])), [[0, 0], [0, 1], [0, 2]], [b"a", b"b", b"c"], [1, 3])


def test_sparse_sets() -> None:
    a = constant([[1, 2], [3, 4]])
    same(
        run(sets.union(a, sparse(*SPARSE))),
        [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]],
        [1, 2, 9, 3, 4, 5],
        [2, 3],
    )
    same(run(sets.difference(sparse(*SPARSE), a)), [[0, 0], [1, 0]], [9, 5], [2, 1])
    other = sparse([[0, 0], [1, 0]], [9, 4], [2, 5])
    same(run(sets.intersection(sparse(*SPARSE), other)), [[0, 0]], [9], [2, 1])
    empty = sparse([], np.zeros(0, np.int32), [2, 5])
    same(run(sets.intersection(empty, empty)), [], [], [2, 0])


def test_invalid_sets() -> None:
    with pytest.raises(ValueError, match="groups differ"):
        sets.union([[1]], [[1], [2]])
    with pytest.raises(TypeError, match="Types don't match"):
        sets.union([[1]], [["a"]])
    disorder = sparse([[1, 0], [0, 0]], [1, 2], [2, 2])
    with pytest.raises(errors.InvalidArgumentError, match=r"indices\[1\] = \[0,0\] is out of order"):
        run(sets.union(disorder, disorder))
    same(run(sets.union(disorder, disorder, validate_indices=False)), [[0, 0], [1, 0]], [2, 1], [2, 1])


def test_edit_distance() -> None:
    hypothesis = sparse([[0, 0, 0], [1, 0, 0]], ["a", "b"], [2, 1, 1])
    truth = sparse([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], ["a", "b", "c", "a"], [2, 2, 2])
    assert run(edit_distance(hypothesis, truth)).tolist() == [[np.inf, 1.0], [0.5, 1.0]]
    assert run(edit_distance(hypothesis, truth, normalize=False)).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert edit_distance(hypothesis, truth).shape.as_list() == [2, 2]


def test_edit_distance_of_words() -> None:
    def letters(*words: str) -> object:
        places = [[i, j] for i, word in enumerate(words) for j in range(len(word))]
        return sparse(places, [letter for word in words for letter in word], [len(words), 9])

    pairs = edit_distance(
        letters("kitten", "sunday", "", "abc", "flaw"), letters("sitting", "saturday", "", "", "lawn"), normalize=False
    )
    assert run(pairs).tolist() == [3.0, 3.0, 0.0, 3.0, 2.0]


def test_edit_distance_is_checked() -> None:
    with pytest.raises(ValueError, match="ranks of hypothesis and truth differ"):
        edit_distance(sparse([[0, 0]], [1], [1, 1]), sparse([[0, 0, 0]], [1], [1, 1, 1]))
    with pytest.raises(ValueError, match="rank at least 2"):
        edit_distance(sparse([[0]], [1], [1]), sparse([[0]], [1], [1]))

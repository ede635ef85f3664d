"""Walks over directed graphs."""

import pytest

from thalweg._src.graph.walk import postorder, preorder, reachable

#   1 -> 2, 3;  2 -> 4;  3 -> 4;  5 -> 1;  6 -> 2, 4
EDGES = {1: [2, 3], 2: [4], 3: [4], 4: [], 5: [1], 6: [2, 4]}
CYCLE = {1: [2], 2: [3], 3: [1, 4], 4: []}


def test_reachable_nodes_are_those_that_edges_lead_to():
    assert reachable([1], EDGES.__getitem__) == {1, 2, 3, 4}
    assert reachable([2, 5], EDGES.__getitem__) == {1, 2, 3, 4, 5}
    assert reachable([], EDGES.__getitem__) == set()
    assert reachable([3], CYCLE.__getitem__) == {1, 2, 3, 4}


def test_preorder_yields_a_node_before_what_its_edges_lead_to():
    assert list(preorder([1], EDGES.__getitem__)) == [1, 2, 4, 3]
    assert list(preorder([3, 5], EDGES.__getitem__)) == [3, 4, 5, 1, 2]
    assert list(preorder([2], CYCLE.__getitem__)) == [2, 3, 1, 4]


def test_preorder_looks_at_no_more_than_is_asked_for():
    asked = []
    nodes = preorder([1], lambda node: asked.append(node) or EDGES[node])
    assert next(nodes) == 1 and asked == []
    assert next(nodes) == 2 and asked == [1]


def test_postorder_has_a_node_after_what_its_edges_lead_to():
    assert postorder([1], EDGES.__getitem__) == [4, 2, 3, 1]
    assert postorder([3, 5], EDGES.__getitem__) == [4, 3, 2, 1, 5]
    assert postorder([6], EDGES.__getitem__) == [4, 2, 6]  # 4 is met from 6 and from 2


def test_postorder_of_a_cycle_ends():
    assert postorder([1], CYCLE.__getitem__) == [4, 3, 2, 1]


@pytest.mark.parametrize("walk", [reachable, postorder, lambda roots, edges: list(preorder(roots, edges))])
def test_long_chains_take_no_recursion(walk):
    assert len(walk([0], lambda node: [node + 1] if node < 100_000 else [])) == 100_001

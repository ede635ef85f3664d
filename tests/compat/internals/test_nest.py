"""tensorflow.python.util.nest and data.util.nest beyond the public names."""

import collections

import pytest
from thalweg.python.data.util import nest as data_nest
from thalweg.python.util import nest

import thalweg as tf

Point = collections.namedtuple("Point", "x y")
TREE = {"b": [1, Point(2, 3)], "a": 4}


def test_paths():
    expected = [("a",), ("b", 0), ("b", 1, "x"), ("b", 1, "y")]
    assert list(nest.yield_flattened_paths(TREE)) == expected
    assert nest.flatten_with_tuple_paths(TREE) == list(zip(expected, [4, 1, 2, 3]))
    assert nest.flatten_with_tuple_paths_up_to({"b": 0, "a": 0}, TREE) == [(("a",), 4), (("b",), TREE["b"])]
    assert nest.flatten_with_joined_string_paths(TREE)[-1] == ("b/1/y", 3)


def test_paths_into_sparse_tensors():
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    paths = list(nest.yield_flattened_paths([sparse], expand_composites=True))
    assert paths == [(0, 0), (0, 1), (0, 2)] and list(nest.yield_flattened_paths([sparse])) == [(0,)]
    assert nest.is_sequence_or_composite(sparse) and not nest.is_sequence(sparse)


def test_mapping_with_paths():
    shown = nest.map_structure_with_paths(lambda path, x, y: f"{path}={x + y}", TREE, TREE)
    assert shown == {"b": ["b/0=2", Point("b/1/x=4", "b/1/y=6")], "a": "a=8"}
    lengths = nest.map_structure_with_tuple_paths(lambda path, x: len(path), TREE)
    assert lengths == {"b": [2, Point(3, 3)], "a": 1}
    upper = nest.map_structure_with_tuple_paths_up_to({"b": 0}, lambda path, x: (path, x), {"b": [1, 2]})
    assert upper == {"b": (("b",), [1, 2])}
    with pytest.raises(ValueError):
        nest.map_structure_with_paths(lambda path, x, y: x, [1], [1, 2])


def test_shallow_structures_by_a_function():
    shallow = nest.get_traverse_shallow_structure(lambda part: not isinstance(part, Point), TREE)
    assert shallow == {"b": [True, False], "a": True}
    chosen = nest.get_traverse_shallow_structure(lambda part: [True, False] if isinstance(part, list) else True, TREE)
    assert chosen == {"b": [True, False], "a": True}
    with pytest.raises(TypeError, match="leaf"):
        nest.get_traverse_shallow_structure(lambda part: [True], 3)


def test_kinds_of_structures():
    assert nest.is_namedtuple(Point(1, 2)) and nest.is_namedtuple(Point(1, 2), strict=True)
    assert not nest.is_namedtuple((1, 2)) and nest.is_mapping({}) and not nest.is_attrs([])
    assert nest.list_to_tuple([1, {"a": [2]}]) == (1, {"a": (2,)})
    assert nest._sequence_like(Point(1, 2), [3, 4]) == Point(3, 4) and nest._sorted({"b": 1, "a": 2}) == ["a", "b"]


def test_lists_are_leaves_of_elements():
    assert data_nest.flatten({"b": ([1, 2], 3), "a": 0}) == [0, [1, 2], 3]
    assert data_nest.map_structure(lambda x, y: x + y, ([1], 2), ([3], 4)) == ([1, 3], 6)
    assert data_nest.map_structure_up_to((0, 0), len, ((1, 2), (3,))) == (2, 1)
    assert data_nest.pack_sequence_as((0, (0, 0)), [1, 2, 3]) == (1, (2, 3)) and not data_nest.is_sequence([1])
    with pytest.raises(ValueError):
        data_nest.assert_same_structure((1, 2), (1, (2,)))

"""tf.nest: flattening, packing and comparing structures."""

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.sparse_tensor import SparseTensor

Point = namedtuple("Point", "y x")


def test_flatten_sorts_keys_and_keeps_everything_else_in_order():
    assert tf.nest.flatten({"b": 1, "a": (2, [3])}) == [2, 3, 1]
    assert tf.nest.flatten(Point(y=[1], x="text")) == [1, "text"]
    assert tf.nest.flatten(None) == [None]
    assert tf.nest.flatten([]) == []
    array = np.arange(3)
    assert tf.nest.flatten([array])[0] is array
    with pytest.raises(TypeError, match="must be sortable"):
        tf.nest.flatten({1: 2, "a": 3})


def test_is_nested():
    assert all(map(tf.nest.is_nested, ([], (), {}, Point(1, 2), {}.items())))
    assert not any(map(tf.nest.is_nested, ("a", b"a", 1, None, np.zeros(2), {1}, range(3))))


def test_pack_preserves_types():
    structure = {"b": Point(1, [2]), "a": OrderedDict([("z", 3), ("y", 4)])}
    packed = tf.nest.pack_sequence_as(structure, [10, 20, 30, 40])
    assert packed == {"b": Point(30, [40]), "a": OrderedDict([("z", 20), ("y", 10)])}
    assert list(packed["a"]) == ["z", "y"]
    counts = tf.nest.pack_sequence_as(defaultdict(list, a=1), [2])
    assert counts == {"a": 2} and counts["new"] == []
    assert tf.nest.pack_sequence_as(7, [1]) == 1
    for flat in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="flat_sequence has"):
            tf.nest.pack_sequence_as([1, 2], flat)
    with pytest.raises(TypeError):
        tf.nest.pack_sequence_as([1], 3)


def test_map_structure():
    assert tf.nest.map_structure(lambda x, y: x + y, {"a": [1, 2]}, {"a": [10, 20]}) == {"a": [11, 22]}
    assert tf.nest.map_structure(lambda x, y: x + y, [1, 2], (3, 4), check_types=False) == [4, 6]
    with pytest.raises(TypeError, match="callable"):
        tf.nest.map_structure(3, [1])
    with pytest.raises(ValueError, match="no structure"):
        tf.nest.map_structure(len)
    with pytest.raises(ValueError, match="check_typ"):
        tf.nest.map_structure(len, [1], check_typ=True)


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ([1, 2], (1, 2), TypeError),
        ([1, 2], [1, [2]], ValueError),
        ([1, 2], [1], ValueError),
        ({"a": 1}, {"b": 1}, ValueError),
        (3, [1], ValueError),
        (Point(1, 2), (1, 2), TypeError),
    ],
)
def test_different_structures(one, other, kind):
    with pytest.raises(kind, match="differ in form"):
        tf.nest.assert_same_structure(one, other)


def test_equal_structures():
    tf.nest.assert_same_structure([1, 2], (1, 2), check_types=False)
    tf.nest.assert_same_structure({"a": 1}, OrderedDict(a=2))
    tf.nest.assert_same_structure(Point(1, [2]), namedtuple("Point", "y x")(3, [4]))


def test_sparse_tensors_are_leaves_unless_they_are_expanded():
    with tf.Graph().as_default():
        sparse = SparseTensor([[0]], [1.0], [3])
        assert tf.nest.flatten([sparse]) == [sparse]
        parts = tf.nest.flatten([sparse], expand_composites=True)
        assert parts == [sparse.indices, sparse.values, sparse.dense_shape]
        (packed,) = tf.nest.pack_sequence_as([sparse], parts, expand_composites=True)
        assert isinstance(packed, SparseTensor) and packed.values is sparse.values


def test_attrs_classes():
    attr = pytest.importorskip("attr")
    Pair = attr.make_class("Pair", ["b", "a"])
    assert tf.nest.flatten(Pair(b=1, a=[2])) == [1, 2]
    assert tf.nest.map_structure(lambda x: -x, Pair(b=1, a=[2])) == Pair(-1, [-2])


def test_flatten_up_to():
    nest = tf.contrib.framework.nest
    shallow, deep = Point(1, [2, 3]), Point([4], [5, (6,)])
    assert nest.flatten_up_to(shallow, deep) == [[4], 5, (6,)] and nest.flatten_up_to(0, [1, 2]) == [[1, 2]]
    assert nest.map_structure_up_to(shallow, lambda a, b: (a, b), deep, shallow) == Point(([4], 1), [(5, 2), ((6,), 3)])
    assert nest.flatten_up_to({"b": 1, "a": 2}, {"a": [1], "b": [2, 3]}) == [[1], [2, 3]]
    assert nest.flatten_up_to([1, 2], (1, 2), check_types=False) == [1, 2] and nest.is_sequence([])
    nest.assert_shallow_structure(["a", "b"], [{"c": 1}, ["d"]])


@pytest.mark.parametrize(
    ("shallow", "deep", "error"),
    [
        ([1, 2], [1], ValueError),
        ([1, 2], (1, 2), TypeError),
        ([1, 2], 5, TypeError),
        ([1, [2]], [3, 4], TypeError),
        ({"b": 1, "a": 2}, {"a": 1, "c": 2}, ValueError),
    ],
)
def test_incompatible_shallow_structures(shallow, deep, error):
    with pytest.raises(error):
        tf.contrib.framework.nest.flatten_up_to(shallow, deep)


def test_dictionaries_of_structures_and_paths():
    nest = tf.contrib.framework.nest
    assert nest.flatten_dict_items({(4, 5, (6, 8)): ("a", "b", ("c", "d"))}) == {4: "a", 5: "b", 6: "c", 8: "d"}
    for bad in ({(4, 5): ("a", "b", "c")}, {(4, 4): ("a", "b")}):
        with pytest.raises(ValueError):
            nest.flatten_dict_items(bad)
    with pytest.raises(TypeError, match="dictionary"):
        nest.flatten_dict_items([1])
    paths = nest.flatten_with_joined_string_paths({"b": [1, (2, 3)], "a": Point(4, 5)})
    assert paths == [("a/y", 4), ("a/x", 5), ("b/0", 1), ("b/1/0", 2), ("b/1/1", 3)]

import operator
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from thalweg._src.base import shapes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.shapes import Dimension as D, Shape, TensorShape, as_shape


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (3, (3,)),
        (True, (1,)),
        ((), ()),
        ([None, 3], (None, 3)),
        (D(3), (3,)),
        (D(None), (None,)),
        ([D(3), None, np.int64(2)], (3, None, 2)),
        (TensorShape([1, 2]), (1, 2)),
        (np.array([1, 2]), (1, 2)),
        (np.array([1]), (1,)),
        (np.array(3), (3,)),
        (np.int32(4), (4,)),
        (range(3), (0, 1, 2)),
        (iter([1, 2]), (1, 2)),
        (SimpleNamespace(unknown_rank=True, dim=[]), None),
        (SimpleNamespace(unknown_rank=False, dim=[SimpleNamespace(size=-1), SimpleNamespace(size=2)]), (None, 2)),
    ],
)
def test_as_shape(value: Any, expected: Shape) -> None:
    assert as_shape(value) == expected


def test_as_shape_gives_plain_integers() -> None:
    shape = as_shape([np.int64(2), True])
    assert shape is not None
    assert [type(size) for size in shape] == [int, int]


def test_whole_floats_are_sizes() -> None:
    assert as_shape([7 / 7, None, np.float32(3)]) == (1, None, 3)
    assert [type(size) for size in as_shape(np.array([4.0, 2.0])) or ()] == [int, int]
    assert D(8 / 2).value == 4


@pytest.mark.parametrize("value", ["ab", "", 1.5, [1.5], [float("nan")], ["a"], [[1]], object()])
def test_as_shape_rejects_types(value: Any) -> None:
    with pytest.raises(TypeError):
        as_shape(value)


@pytest.mark.parametrize("value", [-1, [-1, 3], (2, -2)])
def test_as_shape_rejects_negative_sizes(value: Any) -> None:
    with pytest.raises(ValueError, match="must be >= 0"):
        as_shape(value)


def test_properties_of_raw_shapes() -> None:
    assert shapes.is_fully_defined((2, 3))
    assert not shapes.is_fully_defined((2, None))
    assert not shapes.is_fully_defined(None)
    assert [shapes.num_elements(s) for s in ((2, 3), (), (0, None), None)] == [6, 1, None, None]
    assert [shapes.rank(s) for s in ((2, 3), (), None)] == [2, 0, None]
    assert [shapes.show(s) for s in ((32, None), (), None)] == ["[32, ?]", "[]", "<unknown>"]


def test_merge_and_compatible() -> None:
    assert shapes.merge((1, None), (None, 2)) == (1, 2)
    assert shapes.merge(None, (1,)) == shapes.merge((1,), None) == (1,)
    assert shapes.merge(None, None) is None
    assert shapes.compatible((1, None), (None, 2))
    assert shapes.compatible(None, (1,))
    assert not shapes.compatible((1,), (1, 1))
    for a, b in [((1, 2), (1, 3)), ((1,), (1, 1))]:
        with pytest.raises(ValueError, match="must be equal"):
            shapes.merge(a, b)


def test_concatenate_and_most_general() -> None:
    assert shapes.concatenate((1,), (None, 2)) == (1, None, 2)
    assert shapes.concatenate((1,), None) is None
    assert shapes.most_general((1, 3), (1, 2)) == (1, None)
    assert shapes.most_general((1,), (1, 2)) is None
    assert shapes.most_general((1,), None) is None


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (3,), (2, 3)),
        ((2, 1), (3,), (2, 3)),
        ((), (4,), (4,)),
        ((5, 1, 3), (2, 1), (5, 2, 3)),
        ((0,), (1,), (0,)),
        ((None,), (1,), (None,)),
        ((None,), (3,), (3,)),
        ((None,), (0,), (0,)),
        ((None,), (None,), (None,)),
        ((None,), (), (None,)),
        (None, (3,), None),
        (None, (), None),
        (None, None, None),
    ],
)
def test_broadcast(a: Shape, b: Shape, expected: Shape) -> None:
    assert shapes.broadcast(a, b) == expected
    assert shapes.broadcast(b, a) == expected


def test_broadcast_names_the_dimensions_that_differ() -> None:
    with pytest.raises(ShapeError) as caught:
        shapes.broadcast((2, 3, 4), (5, 4))
    assert caught.value.what == "Dimensions must be equal, but are 3 and 5"
    assert caught.value.in_step == "Incompatible shapes: [2,3,4] vs. [5,4]"
    assert caught.value.expected is not None
    assert "3 and 5 meet at dimension -2" in caught.value.expected
    for a, b in [((3,), (0,)), ((2,), (3,))]:
        with pytest.raises(ShapeError):
            shapes.broadcast(a, b)


@pytest.mark.parametrize(
    ("function", "a", "b", "expected"),
    [
        (operator.add, D(3), 2, 5),
        (operator.add, 2, D(3), 5),
        (operator.add, D(3), None, None),
        (operator.sub, D(5), D(3), 2),
        (operator.sub, 5, D(3), 2),
        (operator.mul, np.int64(3), D(2), 6),
        (operator.mul, D(None), 2, None),
        (operator.floordiv, D(7), 2, 3),
        (operator.floordiv, 7, D(2), 3),
        (operator.mod, D(7), 4, 3),
        (operator.mod, 7, D(4), 3),
    ],
)
def test_dimension_arithmetic(function: Any, a: Any, b: Any, expected: int | None) -> None:
    result = function(a, b)
    assert isinstance(result, D)
    assert result.value == expected


def test_dimension_comparison() -> None:
    assert D(3) == 3
    assert D(3) == np.int64(3)
    assert np.int64(3) == D(3)
    assert D(3) != 4
    assert D(3) != "a"
    assert (D(3) == "a") is False
    assert D(2) < D(3) <= 3
    assert 4 > D(3) >= 3
    for function in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert function(D(3), None) is None
        assert function(D(None), D(None)) is None
    with pytest.raises(TypeError):
        _ = D(3) < "a"


def test_dimension_as_number() -> None:
    assert int(D(3)) == 3
    assert [10, 20][D(1)] == 20
    assert list(range(D(2))) == [0, 1]
    assert [bool(D(size)) for size in (3, 0, None)] == [True, False, False]
    assert (str(D(3)), str(D(None)), repr(D(3)), repr(D(None))) == ("3", "?", "Dimension(3)", "Dimension(None)")
    assert pickle.loads(pickle.dumps(D(3))) == 3
    for use in (int, hash, range):
        with pytest.raises(TypeError):
            use(D(None))


def test_dimension_rejects_invalid_values() -> None:
    with pytest.raises(ValueError, match="must be >= 0"):
        D(-1)
    with pytest.raises(ValueError, match="must be >= 0"):
        _ = D(3) - 5
    with pytest.raises(TypeError, match="//"):
        _ = D(7) / 2
    with pytest.raises(TypeError, match="//"):
        _ = 7 / D(2)
    with pytest.raises(TypeError):
        _ = D(3) * 2.5
    for value in (1.5, "3", np.float32(2.5)):
        with pytest.raises(TypeError):
            D(value)


def test_dimension_merge() -> None:
    assert D(3).merge_with(None).value == 3
    assert D(None).merge_with(4).value == 4
    assert D(3).is_compatible_with(None)
    with pytest.raises(ValueError, match="3 and 4"):
        D(3).merge_with(4)


def test_tensor_shape_items() -> None:
    shape = TensorShape([1, None, 3])
    assert isinstance(shape[0], D)
    assert shape[-1].value == 3
    assert shape[1:] == [None, 3]
    assert shape[::2] == [1, 3]
    assert [d.value for d in shape] == [1, None, 3]
    assert shape.dims is not None
    assert [d.value for d in shape.dims] == [1, None, 3]
    assert (len(shape), shape.ndims, shape.rank) == (3, 3, 3)
    assert shape.as_list() == [1, None, 3]
    assert 3 in shape
    assert shape[D(0)].value == 1
    with pytest.raises(IndexError):
        _ = shape[3]


def test_tensor_shape_of_unknown_rank() -> None:
    unknown = TensorShape(None)
    assert unknown.dims is unknown.ndims is unknown.rank is None
    assert not unknown
    assert TensorShape([])
    assert unknown[5].value is None
    assert unknown[:2] == [None, None]
    assert unknown[1:3] == [None, None]
    assert unknown[3:1] == []
    for part in (unknown[1:], unknown[-2:], unknown[:-1], unknown[:]):
        assert part.rank is None
    for use in (len, list, TensorShape.as_list, lambda shape: shape[::2]):
        with pytest.raises(ValueError, match=r"rank|unknown"):
            use(unknown)


def test_tensor_shape_equality() -> None:
    assert TensorShape([1]) == [1] == TensorShape((1,))
    assert TensorShape([1]) == 1
    assert TensorShape(None) == TensorShape(None)
    assert TensorShape([None]) == TensorShape([None])
    assert TensorShape([1]) != [2]
    assert TensorShape([1]) != "a"
    assert TensorShape([1]) != None  # noqa: E711
    assert TensorShape([1]) != [-1]
    assert hash(TensorShape([1, None])) == hash(TensorShape((1, None)))
    assert pickle.loads(pickle.dumps(TensorShape([1, None]))) == [1, None]


def test_tensor_shape_reprs() -> None:
    assert [str(TensorShape(s)) for s in ([None, 3], [1], [], None)] == ["(?, 3)", "(1,)", "()", "<unknown>"]
    assert repr(TensorShape([1, None])) == "TensorShape([Dimension(1), Dimension(None)])"
    assert repr(TensorShape(None)) == "TensorShape(None)"


def test_tensor_shape_combinations() -> None:
    assert TensorShape([1, None]).merge_with([None, 2]) == [1, 2]
    assert TensorShape([1]).concatenate([2]) == TensorShape([1]) + [2] == [1] + TensorShape([2]) == [1, 2]
    assert TensorShape([1]).concatenate(None).rank is None
    assert TensorShape([1, 3]).most_specific_compatible_shape([1, 2]) == [1, None]
    assert TensorShape([1, None]).is_compatible_with([1, 2])
    assert TensorShape([2, 3]).num_elements() == 6
    assert TensorShape([2, 3]).is_fully_defined()


def test_tensor_shape_ranks() -> None:
    shape = TensorShape([1])
    assert TensorShape(None).with_rank(2) == [None, None]
    assert shape.with_rank(1) == shape.with_rank_at_least(1) == shape.with_rank_at_most(1) == [1]
    shape.assert_same_rank(None)
    TensorShape(None).assert_has_rank(2)
    for check in (
        lambda: shape.assert_has_rank(2),
        lambda: shape.assert_same_rank([1, 2]),
        lambda: shape.with_rank(2),
        lambda: shape.with_rank_at_least(2),
        lambda: shape.with_rank_at_most(0),
        lambda: shape.assert_is_compatible_with([2]),
        lambda: TensorShape([None]).assert_is_fully_defined(),
    ):
        with pytest.raises(ValueError, match="Shape"):
            check()


def test_public_functions() -> None:
    assert shapes.dimension_value(D(3)) == shapes.dimension_value(3) == 3
    assert shapes.dimension_value(None) is None
    assert shapes.dimension_at_index(TensorShape([1, 2]), 1).value == 2
    assert shapes.dimension_at_index(TensorShape(None), 1).value is None
    assert shapes.unknown_shape().rank is None
    assert shapes.unknown_shape(ndims=2) == shapes.unknown_shape(2) == [None, None]
    assert shapes.as_dimension(3).value == 3

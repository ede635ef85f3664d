import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.sorting import approx_max_k, approx_min_k, argsort, nth_element, searchsorted, sort
from thalweg._src.runtime.session.session import Session

DTYPES = ["float32", "float64", "float16", "int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape).astype(dtype)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
def test_sort(axis: int, direction: str) -> None:
    check_op(
        lambda x: sort(x, axis, direction),
        lambda x: torch.sort(x, axis, descending=direction == "DESCENDING").values,
        numbers(2, 5, 3),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_types(dtype: str) -> None:
    info = np.iinfo(dtype) if dtype[0] in "iu" else np.finfo(dtype)
    x = np.array([3, info.max, 0, info.min, 3], dtype)
    with Session() as session:
        up, down, places = session.run([sort(x), sort(x, direction="DESCENDING"), argsort(x)])
    assert up.dtype == dtype and places.dtype == np.int32
    np.testing.assert_array_equal(up, np.sort(x))
    np.testing.assert_array_equal(down, np.sort(x)[::-1])
    np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
def test_equal_values_keep_their_order(direction: str) -> None:
    x = np.array([[1, 0, 1, 0, 1, 0]], np.int32)
    with Session() as session:
        places = session.run(argsort(x, direction=direction, stable=True))
    assert places.tolist() == [[1, 3, 5, 0, 2, 4] if direction == "ASCENDING" else [0, 2, 4, 1, 3, 5]]


def test_sort_of_empty_tensors() -> None:
    check_op(sort, lambda x: x, np.zeros((3, 0), np.float32), grad=False)


def test_invalid_directions_and_axes() -> None:
    with pytest.raises(ValueError, match="ASCENDING"):
        sort([1, 2], direction="UP")
    with pytest.raises(ValueError, match="axis"):
        sort([1, 2], axis=placeholder("int32", []))
    with pytest.raises(ValueError, match="axis 2"):
        sort([1, 2], axis=2)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint16", "uint64"])
def test_searchsorted(side: str, dtype: str) -> None:
    rows = np.array([[0, 2, 2, 5], [1, 1, 1, 9]], dtype)
    values = np.array([[2, 0, 7], [1, 0, 10]], dtype)
    expected = np.stack([np.searchsorted(r, v, side) for r, v in zip(rows, values)])
    check_op(lambda r, v: searchsorted(r, v, side), lambda r, v: expected.astype(np.int32), rows, values, grad=False)
    check_op(
        lambda r, v: searchsorted(r, v, side, out_type="int64"),
        lambda r, v: expected[0],
        rows[0],
        values[0],
        grad=False,
    )


def test_rows_without_entries() -> None:
    with Session() as session:
        places = session.run(searchsorted(np.zeros((2, 0), np.float32), np.zeros((2, 3), np.float32)))
    assert places.tolist() == [[0] * 3] * 2
    with pytest.raises(ValueError, match="batches differ: 2 and 3"):
        searchsorted(np.zeros((2, 4)), np.zeros((3, 4)))


@pytest.mark.parametrize("reverse", [False, True])
def test_nth_element(reverse: bool) -> None:
    check_op(
        lambda x: nth_element(x, 1, reverse),
        lambda x: torch.sort(x, -1, descending=reverse).values[..., 1],
        numbers(2, 5, 3),
    )
    with pytest.raises(ValueError, match="n is 3 in rows of 3"):
        nth_element(numbers(2, 3), 3)


def test_approximate_choice_is_exact() -> None:
    x = numbers(2, 5, 3)
    for choose, largest in ((approx_max_k, True), (approx_min_k, False)):
        with Session() as session:
            values, places = session.run(choose(x, 2, reduction_dimension=1))
        wanted = torch.topk(torch.from_numpy(x), 2, 1, largest=largest)
        np.testing.assert_array_equal(values, wanted.values)
        np.testing.assert_array_equal(places, wanted.indices)

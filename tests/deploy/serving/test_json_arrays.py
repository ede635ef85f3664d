"""Large arrays of numbers: read as by Python's json, and left to it where they are anything else."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from thalweg._src.deploy.serving.json_text import parse_array


@pytest.mark.parametrize("shape", [(1,), (5,), (1, 1), (2, 3), (1, 4, 1), (2, 1, 3), (3, 2, 4, 2), (1, 1, 1, 1)])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_shapes(shape, dtype):
    array = (np.random.default_rng(1).normal(size=shape) * 100).astype(dtype)
    for indent in (None, 1):
        found = parse_array(json.dumps({"instances": array.tolist()}, indent=indent).encode())["instances"]
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, array)
    assert parse_array(json.dumps({"inputs": array.tolist()}).encode()).keys() == {"inputs"}


@pytest.mark.parametrize(
    "text",
    [
        '{"instances": []}',
        '{"instances": [[]]}',
        '{"instances": [[1], []]}',
        '{"instances": [[1, 2], [3]]}',
        '{"instances": [[1, 2, 3], [4]]}',
        '{"instances": [[1, 2], 3, 4]}',
        '{"instances": [1, [2, 3], 4]}',
        '{"instances": [[[1], [2]], [[3, 4]]]}',
        '{"instances": [1, "2"]}',
        '{"instances": [true]}',
        '{"instances": [null]}',
        '{"instances": [NaN]}',
        '{"instances": [{"x": 1}]}',
        '{"instances": [1], "signature_name": "a"}',
        '{"instances": [1], "instances": [2]}',
        '{"instances": [1]',
        '{"instances": [1]}}',
        '{"instances": [1]} x',
        '{"instances": [1,]}',
        '{"instances": [1 2]}',
        '{"instances": [1-2]}',
        '{"instances": [.5]}',
        '{"instances": [9223372036854775808]}',
        '{"instances": [1e400]}',
        '{"instances": [-1e400, 1.5]}',
        f'{{"instances": [{"9" * 1_000_000}]}}',
        f'{{"instances": [[1.5], [{"9" * 400}]]}}',
        '{"instances": 1}',
        '{"other": [1]}',
        "[1]",
        "",
        '{"inputs": ' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"inputs": ' + "[" * 50_000 + "}",
    ],
)
def test_what_is_anything_else(text):
    assert parse_array(text.encode()) is None


@given(st.recursive(st.integers(-9, 9), lambda children: st.lists(children, max_size=3), max_leaves=20))
def test_all_nested_lists_are_read_alike(value):
    found = parse_array(json.dumps({"inputs": value}).encode())
    try:
        expected = np.asarray(value)
    except ValueError:  # lists of different lengths
        expected = np.empty(0)
    if expected.ndim == 0 or expected.size == 0:
        assert found is None
    else:
        assert found["inputs"].tolist() == value

"""JSON text: the fast library and Python's own agree, and what the fast one lacks is left to the other."""

import math

import numpy as np
import pytest

from thalweg._src.base import errors
from thalweg._src.deploy.serving import json_text


@pytest.fixture(params=["orjson", "json"], autouse=True)
def library(request, monkeypatch):
    if request.param == "json":
        monkeypatch.setattr(json_text, "orjson", None)


def test_arrays_are_lists():
    value = {
        "a": np.array([[1.5, 2]], np.float32),
        "b": np.arange(3),
        "c": np.array([True]),
        "d": [np.int8([4])],
        "e": "ä",
    }
    assert json_text.loads(json_text.dumps(value)) == {
        "a": [[1.5, 2]],
        "b": [0, 1, 2],
        "c": [True],
        "d": [[4]],
        "e": "ä",
    }


def test_a_number_is_read_again_as_it_was():
    array = np.random.default_rng(1).normal(size=100).astype(np.float32) * np.float32(1e-20)
    np.testing.assert_array_equal(np.float32(json_text.loads(json_text.dumps(array))), array)


def test_nan_and_infinity_are_kept():
    found = json_text.loads(json_text.dumps({"a": np.array([np.nan, np.inf, -np.inf, 1])}))["a"]
    assert math.isnan(found[0]) and found[1:] == [math.inf, -math.inf, 1]
    assert json_text.parse(b'{"x": [NaN, -Infinity]}')["x"][1] == -math.inf


def test_halves_of_surrogate_pairs_are_kept():
    assert json_text.parse(b'{"x": "\\ud800"}') == {"x": "\ud800"}
    assert json_text.loads(json_text.dumps({"x": "\ud800"})) == {"x": "\ud800"}


@pytest.mark.parametrize(
    "text", [b"1e400", b"-1e400", b"9" * 400, b"9" * 400 + b".5", b"9" * 1_000_000, b"1e9999999999"]
)
def test_numbers_that_no_double_holds_are_refused(text):
    for content in (b'{"x": %s}', b'{"x": [NaN, %s]}', b'{"x": {"y": [%s]}}'):
        with pytest.raises(errors.InvalidArgumentError, match=r"JSON Parse error: the number '.* is too large"):
            json_text.parse(content % text)


@pytest.mark.parametrize("value", [0, -1, -(2**63), 2**63 - 1, 2**64 - 1])
def test_integers_of_64_bits_are_exact(value):
    found = json_text.loads(b"%d" % value)
    assert found == value and type(found) is int


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**300])
def test_larger_integers_are_doubles(value):
    found = json_text.loads(b"[NaN, %d]" % value)[1]
    assert found == float(value) and type(found) is float


def test_the_last_value_of_a_key_counts():
    for content in (b'{"x": 1, "y": 2, "x": 3}', b'{"x": 1, "y": 2, "x": 3, "z": NaN}'):
        found = json_text.parse(content)
        assert (found["x"], found["y"]) == (3, 2)


@pytest.mark.parametrize("text", [b"", b"[1]", b"{", b"{]", b"\xff", b"[" * 100_000, b'{"a": 1,}'])
def test_what_is_no_object_is_refused(text):
    with pytest.raises(errors.InvalidArgumentError, match="JSON Parse error"):
        json_text.parse(text)

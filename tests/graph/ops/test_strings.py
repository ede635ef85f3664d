"""Strings: joined, split, cut, measured, matched; what TensorFlow gives for the same is written out here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg import strings
from thalweg._src.graph.ops.strings import string_split

LETTERS = np.array([["a", "b"], ["c", "d"], ["e", "f"]])


def run(build: Any, *arrays: Any) -> Any:
    """Runs what is built from placeholders of unknown rank, which must give the same as constants do."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [
            tf.placeholder(np.asarray(a).dtype if np.asarray(a).dtype.kind in "fib" else tf.string) for a in arrays
        ]
        fed = session.run(build(*inputs), dict(zip(inputs, arrays)))
        constant = build(*[tf.constant(a) for a in arrays])
        value = session.run(constant)
        np.testing.assert_array_equal(value, fed)
        for tensor, part in zip(*([constant], [value]) if isinstance(constant, tf.Tensor) else (constant, value)):
            assert tensor.shape.is_compatible_with(np.shape(part))
        return value


def fails(build: Any, match: str, kind: Any = tf.errors.InvalidArgumentError) -> None:
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(kind, match=match):
        session.run(build())


def test_join() -> None:
    assert run(lambda a: strings.join([a, "x", a], "-"), LETTERS).tolist()[1] == [b"c-x-c", b"d-x-d"]
    assert run(lambda: strings.join(["a", "b"])) == b"ab"
    assert run(lambda a: strings.join([a, "b"]), np.array([], object)).shape == (0,)
    fails(lambda: strings.join([["a"], ["b", "c"]]), "[Ss]hape", ValueError)


def test_added_strings_are_joined() -> None:
    assert run(lambda a, b: a + b, ["a", "b"], [["c"], ["d"]]).tolist() == [[b"ac", b"bc"], [b"ad", b"bd"]]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ([0, 1], b"acebdf"),
        ([1, 0], b"abcdef"),
        (None, b"abcdef"),
        ([], LETTERS.astype("S").tolist()),
        (0, [b"ace", b"bdf"]),
        (-1, [b"ab", b"cd", b"ef"]),
    ],
)
def test_reduce_join(axis: Any, expected: Any) -> None:
    value = run(lambda a: strings.reduce_join(a, axis), LETTERS)
    assert np.asarray(value).tolist() == expected


def test_reduce_join_of_empty_tensors_and_with_keepdims() -> None:
    assert run(lambda a: strings.reduce_join(a, 1), np.zeros((2, 0), object)).tolist() == [b"", b""]
    kept = run(lambda a: strings.reduce_join(a, 1, keep_dims=True, separator="+"), LETTERS)
    assert kept.tolist() == [[b"a+b"], [b"c+d"], [b"e+f"]]
    fails(lambda: strings.reduce_join(LETTERS, [0, 0]), "duplicate", ValueError)
    fails(lambda: strings.reduce_join(LETTERS, 2), "out of range", ValueError)


def sparse(value: Any) -> tuple[Any, Any, Any]:
    return value.indices.tolist(), value.values.tolist(), value.dense_shape.tolist()


def test_string_split_cuts_at_each_byte_of_the_delimiter() -> None:
    with tf.Session() as session:
        value = session.run(string_split(["a,;b", "", ";x"], ",;"))
        assert sparse(value) == ([[0, 0], [0, 1], [2, 0]], [b"a", b"b", b"x"], [3, 2])
        value = session.run(string_split(["a,;b", "", ";x"], ",;", skip_empty=False))
        assert value.values.tolist() == [b"a", b"", b"b", b"", b"x"]
        assert session.run(string_split(["ab c"], "")).values.tolist() == [b"a", b"b", b" ", b"c"]
        assert session.run(string_split([" a  b "])).values.tolist() == [b"a", b"b"]
        assert session.run(string_split(np.array([], object))).dense_shape.tolist() == [0, 0]
    with pytest.raises(ValueError, match="both"):
        string_split(["a"], sep=",", delimiter=";")


@pytest.mark.parametrize(
    ("text", "sep", "limit", "expected"),
    [
        (" a  b ", None, -1, ["a", "b"]),
        (" a  b ", None, 1, ["a", "b "]),
        ("a", None, 1, ["a", ""]),
        ("a b", None, 0, ["a b"]),
        ("", None, -1, []),
        ("a,,b", ",", -1, ["a", "", "b"]),
        ("a,,b", ",", 1, ["a", ",b"]),
        ("a<>b<>", "<>", -1, ["a", "b", ""]),
        ("", ",", -1, [""]),
    ],
)
def test_split(text: str, sep: str | None, limit: int, expected: list[str]) -> None:
    with tf.Session() as session:
        values = session.run(strings.split([text], sep, limit)).values.tolist()
        assert values == [e.encode() for e in expected]


def test_split_of_one_string() -> None:
    with tf.Session() as session:
        assert sparse(session.run(strings.split("a b"))) == ([[0, 0], [0, 1]], [b"a", b"b"], [1, 2])


def test_case_strip_and_length() -> None:
    texts = np.array([b" \x0bAb\t", "ÉSS ß".encode(), b"\xffA\x00", b""], object)
    assert run(strings.strip, texts).tolist()[0] == b"Ab"
    assert run(strings.lower, texts).tolist()[1] == "Éss ß".encode()
    assert run(lambda t: strings.lower(t, "utf-8"), texts).tolist()[1:3] == ["éss ß".encode(), "\ufffda\0".encode()]
    assert run(lambda t: strings.upper(t, "utf-8"), texts).tolist()[1] == "ÉSS SS".encode()
    assert run(strings.length, texts).tolist() == [5, 7, 3, 0]
    assert run(lambda t: strings.length(t, unit="UTF8_CHAR"), texts).tolist() == [5, 5, 3, 0]
    fails(lambda: strings.lower("a", "latin-1"), "utf-8")


@pytest.mark.parametrize(
    ("text", "pos", "size", "by_bytes", "by_characters"),
    [
        ("héllo", 1, 2, b"\xc3\xa9", "él"),
        ("héllo", -2, 9, b"lo", "lo"),
        ("héllo", 5, 3, b"o", ""),
        ("héllo", 0, -1, "héllo", ""),
        ("", 0, 4, "", ""),
    ],
)
def test_substr(text: str, pos: int, size: int, by_bytes: Any, by_characters: str) -> None:
    encoded = by_bytes if isinstance(by_bytes, bytes) else by_bytes.encode()
    assert run(lambda: strings.substr(text, pos, size)) == encoded
    assert run(lambda: strings.substr(text, pos, size, unit="UTF8_CHAR")) == by_characters.encode()


def test_substr_broadcasts_and_checks() -> None:
    words = np.array([["abcd", "efgh"], ["ijkl", "mnop"]])
    assert run(strings.substr, words, np.array([0, 1]), np.array([1, 2])).tolist()[1] == [b"i", b"no"]
    assert run(strings.substr, "abcd", np.array([0, 1]), np.array([1, 2])).tolist() == [b"a", b"bc"]
    assert run(lambda w: strings.substr(w, 1, 2), words).tolist()[0] == [b"bc", b"fg"]
    stray = np.array(b"\x80\x80a", object)
    assert run(lambda s: strings.substr(s, 0, 1, unit="UTF8_CHAR"), stray) == b"\x80\x80"
    fails(lambda: strings.substr("abc", 4, 1), "pos 4 out of range")
    fails(lambda: strings.substr("abc", -4, 1), "pos -4 out of range")
    fails(lambda: strings.substr(["a", "b"], [0], 1), "rank", ValueError)


def test_unsorted_segment_join() -> None:
    joined = run(lambda a: strings.unsorted_segment_join(a, [2, 0, 2], 4, ":"), LETTERS)
    assert joined.tolist() == [[b"c", b"d"], [b"", b""], [b"a:e", b"b:f"], [b"", b""]]
    square = run(lambda a: strings.unsorted_segment_join(a, [[0, 1], [1, 1], [0, 0]], 2), LETTERS)
    assert square.tolist() == [b"aef", b"bcd"]
    fails(lambda: strings.unsorted_segment_join(["a"], [3], 2), "segment id 3")
    fails(lambda: strings.unsorted_segment_join(["a"], [-1], 2), "segment id -1")
    fails(lambda: strings.unsorted_segment_join(["a", "b"], [0], 2), "leading", ValueError)


def test_ngrams() -> None:
    row = np.array(["a", "b", "c"])
    assert run(lambda r: strings.ngrams(tf.reshape(r, [-1]), 2), row).tolist() == [b"a b", b"b c"]
    assert run(lambda: strings.ngrams(row, [1, 3], "+")).tolist() == [b"a", b"b", b"c", b"a+b+c"]
    padded = run(lambda: strings.ngrams(row, 3, pad_values=("<", ">")))
    assert padded.tolist() == [b"< < a", b"< a b", b"a b c", b"b c >", b"c > >"]
    assert run(lambda: strings.ngrams(LETTERS, 2)).tolist() == [[b"a b"], [b"c d"], [b"e f"]]
    assert run(lambda: strings.ngrams(row, 5, preserve_short_sequences=True)).tolist() == [b"a b c"]
    assert run(lambda: strings.ngrams(row, 5)).tolist() == []
    assert run(lambda: strings.ngrams(row[:0], 2, pad_values=("<", ">"))).tolist() == [b"< >"]
    with pytest.raises(ValueError, match="1 or more"):
        strings.ngrams(row, 0)
    with pytest.raises(ValueError, match="rank"):
        strings.ngrams(tf.placeholder(tf.string), 2)


def test_format_and_comparison() -> None:
    assert run(lambda: strings.format("{} is {}", ("x", tf.constant([1, 2])))) == b'"x" is [1 2]'
    assert run(tf.equal, ["a", "b"], ["a", "c"]).tolist() == [True, False]


@pytest.mark.timeout(20)
def test_a_million_bytes() -> None:
    long = np.array([b"ab " * 350_000], object)
    with tf.Session() as session:
        text = tf.placeholder(tf.string, [None])
        assert session.run(strings.split(text), {text: long}).dense_shape.tolist() == [1, 350_000]
        assert session.run(strings.regex_replace(text, "a", ""), {text: long})[0].startswith(b"b b ")
        assert session.run(strings.length(text, unit="UTF8_CHAR"), {text: long}).tolist() == [1_050_000]
        assert session.run(strings.to_hash_bucket_fast(text, 10), {text: long}).shape == (1,)

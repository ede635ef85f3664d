"""Patterns of RE2: what it takes, what it refuses, and where it differs from Python's `re`."""

from __future__ import annotations

import pytest

import thalweg as tf
from thalweg import strings
from thalweg._src.base.errors import InvalidArgumentError
from thalweg._src.runtime.kernels.regular_expressions import Replacement, compile_pattern


def replaced(pattern: str, text: str | bytes, rewrite: str = "<\\0>") -> bytes:
    return Replacement(pattern.encode(), rewrite.encode()).all(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("x*", "abxd", "<>a<>b<x>d<>"),  # no empty match right after another
        ("|a", "aa", "<>a<>a<>"),
        ("a$", "a\n", "a\n"),  # the end of the text alone
        ("(?m)a$", "a\n", "<a>\n"),
        (".", "a\né", "<a>\n<é>"),
        ("(?s).", "a\n", "<a><\n>"),
        ("(?i)É", "é", "<é>"),
        ("a(?i)B|C", "ab c", "<ab> <c>"),
        ("(?U)a+", "aaa", "<a><a><a>"),
        ("(?U)a+?", "aaa", "<aaa>"),
        ("\\w+", "héy_1", "<h>é<y_1>"),  # ASCII
        ("\\s", "\x0b \t", "\x0b< ><\t>"),
        ("[[:alpha:]]+", "ab1", "<ab>1"),
        ("[^[:^digit:]]", "a1", "a<1>"),
        ("\\pL+", "aé1中", "<aé>1<中>"),
        ("\\p{Han}", "a中", "a<中>"),
        ("[\\p{Lu}\\d]", "aB1", "a<B><1>"),
        ("\\x61\\x{62}\\143", "abc", "<abc>"),
        ("\\Qa.b\\E", "a.b axb", "<a.b> axb"),
        ("a{,2}", "a{,2}", "<a{,2}>"),
        ("[]a]", "]a", "<]><a>"),
        ("\\Aa", "aa", "<a>a"),
        ("a\\z", "aa", "a<a>"),
        ("^*a", "a", "<a>"),
        ("(?P<n>a)", "a", "<a>"),
        ("\\bb", "ab b", "ab <b>"),
    ],
)
def test_matches(pattern: str, text: str, expected: str) -> None:
    assert replaced(pattern, text) == expected.encode()


def test_invalid_utf8_matches_nothing_and_is_preserved() -> None:
    assert replaced(".", b"\xffa\xc3") == b"\xff<a>\xc3"
    assert replaced("[^b]", b"\xffab") == b"\xff<a>b"
    assert replaced("", b"\xffa") == b"<>\xff<>a<>"


@pytest.mark.parametrize(
    "pattern",
    ["(", "a)", "[a", "a**", "a++", "*a", "(?=a)", "(?<!a)", "(?#a)", "\\1", "\\Z", "\\é", "[b-a]", "a{1001}"]
    + ["a{2,1}", "[[:foo:]]", "\\p{Foo}", "(?P<n>a)(?P<n>b)", "\\", "a{2}{3}", "\\x{110000}"],
)
def test_invalid_patterns_are_rejected(pattern: str) -> None:
    with pytest.raises(InvalidArgumentError, match="Invalid pattern"):
        compile_pattern(pattern.encode())


@pytest.mark.parametrize(
    ("rewrite", "everywhere", "first"),
    [
        ("\\1\\1", "hello", "hello"),  # there is no such group
        ("\\0\\0", "hellllo", "helllo"),
        ("\\\\", "he\\\\o", "he\\lo"),
        ("-\\q", "he--o", "hello"),  # what stands before the mistake; the first alone is left
        ("", "heo", "helo"),
    ],
)
def test_rewrites(rewrite: str, everywhere: str, first: str) -> None:
    assert replaced("l", "hello", rewrite) == everywhere.encode()
    assert Replacement(b"l", rewrite.encode()).first(b"hello") == first.encode()


def test_patterns_in_the_graph_and_in_tensors_agree() -> None:
    with tf.Session() as session:
        pattern, rewrite = tf.placeholder(tf.string), tf.placeholder(tf.string)
        text = tf.constant(["hello", "b"])
        feeds = {pattern: "(l+)", rewrite: "[\\1]"}
        fixed = strings.regex_replace(text, "(l+)", "[\\1]")
        assert (fixed.op.type, fixed.shape.as_list()) == ("StaticRegexReplace", [2])
        assert session.run(fixed).tolist() == [b"he[ll]o", b"b"]
        assert session.run(strings.regex_replace(text, pattern, rewrite), feeds).tolist() == [b"he[ll]o", b"b"]
        assert session.run(strings.regex_full_match(text, "h.*|c")).tolist() == [True, False]
        assert session.run(strings.regex_full_match(text, pattern), {pattern: "b"}).tolist() == [False, True]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
            session.run(strings.regex_replace(text, "(", ""))

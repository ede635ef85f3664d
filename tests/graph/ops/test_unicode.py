"""Unicode: encodings, characters' numbers, scripts."""

from __future__ import annotations

import numpy as np
import pytest

import thalweg as tf
from thalweg import strings
from thalweg._src.graph.ops.unicode import unicode_decode_op, unicode_decode_with_offsets_op, unicode_encode_op


def transcode(text, source="UTF-8", target="UTF-8", **options):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(strings.unicode_transcode(np.array(text, object), source, target, **options))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (b"\xff", 1),
        (b"\xe2\x82", 1),  # a character that was cut off
        (b"\xed\xa0\x80", 3),  # a surrogate
        (b"\xc0\x80", 2),
        (b"\xf4\x90\x80\x80", 4),
        (b"\xf0\x9f\x98", 1),
    ],
)
def test_invalid_bytes(text, count):
    assert transcode(b"a" + text + b"b") == ("a" + "\ufffd" * count + "b").encode()
    assert transcode(text, errors="ignore") == b""
    assert transcode(text, replacement_char=65) == b"A" * count
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid formatting"):
        transcode(text, errors="strict")


def test_encodings():
    assert transcode("aé😀".encode(), target="UTF-16-BE") == "aé😀".encode("utf-16-be")
    assert transcode("aé".encode(), target="UTF-32-BE") == "aé".encode("utf-32-be")
    assert transcode(b"\xff\xfea\0", "UTF-16") == transcode(b"\0a", "UTF-16") == b"a"
    assert transcode(b"a\xe9", "ISO-8859-1") == "aé".encode()
    assert transcode(b"a\0\x1f\x7f", replace_control_characters=True) == "a\ufffd\ufffd\x7f".encode()
    assert transcode([b"a", b""]).tolist() == [b"a", b""]
    with pytest.raises(tf.errors.InvalidArgumentError, match="is unknown"):
        transcode(b"a", "no such")
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
        transcode(b"a", replacement_char=0x110000)


def test_decode_gives_a_ragged_matrix():
    with tf.Session() as session:
        texts = tf.constant([["aé".encode()], [b""], [b"\xffb"]])
        splits, codes, starts = session.run(unicode_decode_with_offsets_op.many(texts, input_encoding="UTF-8"))
        assert (splits.tolist(), codes.tolist()) == ([0, 2, 2, 4], [97, 233, 0xFFFD, 98])
        assert starts.tolist() == [0, 1, 0, 1]
        small = unicode_decode_op.many(texts, input_encoding="UTF-8", errors="ignore", Tsplits=tf.int32)
        assert small.row_splits.shape.as_list() == [4]
        assert session.run(small)[0].tolist() == [0, 2, 2, 3]


def test_encode():
    with tf.Session() as session:
        assert session.run(strings.unicode_encode([97, 233], "UTF-8")) == "aé".encode()
        cube = strings.unicode_encode([[[97, 98]], [[99, 0]], [[0x110000, 0xD800]]], "UTF-8")
        assert cube.shape.as_list() == [3, 1]
        assert session.run(cube).tolist() == [[b"ab"], [b"c\0"], ["\ufffd\ufffd".encode()]]
        assert session.run(strings.unicode_encode([-1, 97], "UTF-16-BE", errors="ignore")) == b"\0a"
        assert session.run(strings.unicode_encode(np.zeros((2, 0), np.int32), "UTF-8")).tolist() == [b"", b""]
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            session.run(strings.unicode_encode([-1], "UTF-8", errors="strict"))
        for splits in ([0, 1], [1, 2], [0, 2, 1, 2]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="input_splits"):
                session.run(unicode_encode_op([97, 98], np.array(splits), output_encoding="UTF-8"))
    with pytest.raises(ValueError, match="rank"):
        strings.unicode_encode(97, "UTF-8")


def test_scripts():
    codes = [0x61, 0x31, 0x3B1, 0x431, 0x5D0, 0x4E2D, 0x0378, -1, 0x110000]
    with tf.Session() as session:
        assert session.run(strings.unicode_script(codes)).tolist() == [25, 0, 14, 8, 19, 17, 103, -1, -1]

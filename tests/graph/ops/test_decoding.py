"""Numbers out of text and raw bytes, text out of numbers, base64, compression, CSV."""

from __future__ import annotations

import gzip
import math
import zlib

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.ops.csv import decode_csv
from thalweg._src.graph.ops.decoding import (
    decode_base64,
    decode_compressed,
    decode_padded_raw_op,
    decode_raw,
    encode_base64,
)
from thalweg.strings import as_string, to_number


def run(build, *args, **kwargs):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build(*args, **kwargs))


def fails(match, build, *args, **kwargs):
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        run(build, *args, **kwargs)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["1.500000", "-0.000000", "inf"]),
        ({"precision": 1}, ["1.5", "-0.0", "inf"]),
        ({"scientific": True, "precision": 2}, ["1.50e+00", "-0.00e+00", "inf"]),
        ({"shortest": True}, ["1.5", "-0", "inf"]),
        ({"width": 6, "fill": "0", "precision": 1}, ["0001.5", "-000.0", "   inf"]),
        ({"width": 6, "fill": "-", "precision": 1}, ["1.5   ", "-0.0  ", "inf   "]),
        ({"fill": "+", "precision": 1}, ["+1.5", "-0.0", "+inf"]),
        ({"fill": " ", "precision": 1}, [" 1.5", "-0.0", " inf"]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_as_strings(options, expected, dtype):
    assert run(as_string, np.array([1.5, -0.0, np.inf], dtype), **options).tolist() == [e.encode() for e in expected]


def test_other_types_as_strings():
    assert run(as_string, np.array([-5, 7], np.int8), width=4, fill="0").tolist() == [b"-005", b"0007"]
    assert run(as_string, np.array([2**64 - 1], np.uint64), fill="+").tolist() == [b"18446744073709551615"]
    assert run(as_string, [[True], [False]], width=9).tolist() == [[b"true"], [b"false"]]
    assert run(as_string, np.array([1 - 2j]), precision=1).tolist() == [b"(1.0,-2.0)"]
    assert run(as_string, ["ab"], width=4).tolist() == [b"  ab"]
    assert run(as_string, np.array([np.nan, -1.0], np.float32), precision=0).tolist() == [b"nan", b"-1"]
    fails("precision", as_string, 1, precision=2)
    fails("scientific", as_string, 1, scientific=True)
    fails("mutually exclusive", as_string, 1.0, scientific=True, shortest=True)
    fails("fill is", as_string, 1.0, fill="x")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (" 1.5\n", 1.5),
        ("1e400", math.inf),
        ("-INF", -math.inf),
        ("Infinity", math.inf),
        ("nan(7)", math.nan),
        ("0x1.8p1", 3.0),
        ("-0x10", -16.0),
        (".5", 0.5),
        ("3.4028236e38", math.inf),
    ],
)
def test_floats_from_strings(text, number):
    np.testing.assert_equal(run(to_number, text), np.float32(number))


@pytest.mark.parametrize("text", ["", " ", "1_0", "1e", "1\0", "--1", "1f", "0x", "infin", "\u0967", "1,0"])
def test_strings_that_are_not_numbers(text):
    fails("could not correctly convert string", to_number, text)
    fails("could not correctly convert string", to_number, text, tf.int64)


def test_integers_from_strings():
    assert run(to_number, [" +12 ", "-0"], tf.int32).tolist() == [12, 0]
    assert run(to_number, "-9223372036854775808", tf.int64) == -(2**63)
    assert run(to_number, input="18446744073709551615", out_type=tf.uint64) == 2**64 - 1
    for text, dtype in (("2147483648", tf.int32), ("-1", tf.uint32), ("1.5", tf.int32), ("9" * 5000, tf.int64)):
        fails("could not correctly convert string", to_number, text, dtype)


def test_base64():
    raw = np.array([b"", b"\xff\xfe\xfd", b"ab", b"\0"], object)
    plain, padded = run(encode_base64, raw), run(encode_base64, raw, pad=True)
    assert plain.tolist() == [b"", b"__79", b"YWI", b"AA"]
    assert padded.tolist() == [b"", b"__79", b"YWI=", b"AA=="]
    assert run(decode_base64, plain).tolist() == run(decode_base64, padded).tolist() == raw.tolist()
    for text in ("+/8", "Y", "YQ=", "YQ===", "Y Q", "====", "YQ==YQ==", "Y=Q=", "YQ\n"):
        fails("base64", decode_base64, text)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"])
def test_raw_bytes(dtype):
    array = np.arange(12).astype(dtype).reshape(3, 4)
    texts = np.array([row.tobytes() for row in array], object)
    np.testing.assert_array_equal(run(decode_raw, texts, dtype), array)
    swapped = np.array([row.byteswap().tobytes() for row in array], object)
    np.testing.assert_array_equal(run(decode_raw, swapped, dtype, little_endian=False), array)


def test_raw_bytes_of_other_types_and_sizes():
    numbers = np.array([1 + 2j, 3 - 4j], np.complex64)
    assert run(decode_raw, numbers.tobytes(), tf.complex64).tolist() == numbers.tolist()
    assert run(decode_raw, numbers.byteswap().tobytes(), tf.complex64, False).tolist() == numbers.tolist()
    assert run(decode_raw, b"\0\2\1", tf.bool).tolist() == [False, True, True]
    assert run(decode_raw, b"\x80\x3f", tf.bfloat16).astype(float).tolist() == [1.0]
    assert run(decode_raw, np.zeros((0, 2), object), tf.int32).shape == (0, 2, 0)
    assert run(decode_raw, ["", ""], tf.int32).shape == (2, 0)
    fails("a multiple of 2, the size of int16", decode_raw, "abc", tf.int16)
    fails("differ in length", decode_raw, ["ab", "a"], tf.int8)
    with pytest.raises(ValueError, match="out_type"):
        decode_raw("ab")


def test_padded_raw_bytes():
    texts = np.array([b"\1\0\2\0\3\0", b"\4\0", b"\5"], object)
    value = run(decode_padded_raw_op, texts, 4, out_type=tf.int16)
    assert value.tolist() == [[1, 2], [4, 0], [5, 0]]
    assert decode_padded_raw_op(texts, 4, out_type=tf.int16).shape.as_list() == [3, 2]
    for length in (0, -2, 3):
        with pytest.raises(ValueError, match="fixed_length"):
            decode_padded_raw_op(texts, length, out_type=tf.int16)


def test_compression():
    text = b"hello" * 1000
    packed = zlib.compress(text)
    assert run(decode_compressed, packed, "ZLIB") == run(decode_compressed, gzip.compress(text), "GZIP") == text
    assert run(decode_compressed, [b"", b"x"], "").tolist() == [b"", b"x"]
    assert run(decode_compressed, gzip.compress(b"a") + gzip.compress(b"b"), "GZIP") == b"ab"
    assert run(decode_compressed, packed[:-3], "ZLIB") == text
    with pytest.raises(tf.errors.DataLossError):
        run(decode_compressed, b"abc", "ZLIB")
    fails("ZLIB", decode_compressed, b"abc", "LZ4")


DEFAULTS = [[7], ["none"], [1.5]]


@pytest.mark.parametrize(
    ("record", "fields", "options"),
    [
        ("1,a,2.5", [1, b"a", 2.5], {}),
        (",,", [7, b"none", 1.5], {}),
        ('1,"a,b",2', [1, b"a,b", 2], {}),
        ('1,"say ""a""",2', [1, b'say "a"', 2], {}),
        ('1,"a\r\nb",', [1, b"a\r\nb", 1.5], {}),
        ('"1","",2', [1, b"none", 2], {}),
        ("\r\n1,\na, 2 ", [1, b"a", 2], {}),
        ("1,NA,NA", [1, b"none", 1.5], {"na_value": "NA"}),
        ("1|a|2", [1, b"a", 2], {"field_delim": "|"}),
        ('1,"a",2', [1, b'"a"', 2], {"use_quote_delim": False}),
        ('1,x,a,"x",2,"y', [1, b"a", 2], {"select_cols": [0, 2, 4]}),
        ("1,é,inf", [1, "é".encode(), math.inf], {}),
    ],
)
def test_records(record, fields, options):
    assert run(decode_csv, record, DEFAULTS, **options) == fields


@pytest.mark.parametrize(
    ("record", "match"),
    [
        ("1,a", "Expect 3 fields but have 2 in record 0"),
        ("1,a,2,3", "have 4"),
        ("", "have 0"),
        ("1,a,2\n", "an unquoted field"),
        ('1,a"b,2', "an unquoted field"),
        ('1,"a"b,2', "a quoted field"),
        ('1,"ab', "a quoted field"),
        ("x,a,2", "Field 0 in record 0 is not a valid int32: x"),
        ("2147483648,a,2", "not a valid int32"),
    ],
)
def test_malformed_records(record, match):
    fails(match, decode_csv, record, DEFAULTS)


def test_columns_keep_the_shape_of_the_records():
    numbers, words = decode_csv([["1,a"], ["2,b"]], [[0], [""]])
    assert numbers.shape.as_list() == words.shape.as_list() == [2, 1]
    assert run(lambda: decode_csv([["1,a"], ["2,b"]], [[0], [""]]))[0].tolist() == [[1], [2]]
    assert run(lambda: decode_csv(np.array([], object), [[0], [""]]))[1].shape == (0,)
    fails("no value for field 1", lambda: decode_csv("1,", [[0], tf.constant([], tf.float32)]))
    with pytest.raises(ValueError, match="increasing"):
        decode_csv("1,2", [[0], [0]], select_cols=[1, 0])
    with pytest.raises(ValueError, match="do not match"):
        decode_csv("1,2", [[0], [0]], select_cols=[1])
    with pytest.raises(ValueError, match="default"):
        decode_csv("1,2", [[0, 1], [0]])

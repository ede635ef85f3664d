"""Valid calls of strings, hashes, decoding and files."""

from __future__ import annotations

import zlib

import numpy as np

from tests.valid_calls.values import Call, ints, longs, texts

_WORDS = texts("ab", "c d", "héllo", "1.5", "", "x,y").reshape(2, 3)
_NGRAMS = {
    "separator": " ",
    "ngram_widths": [2],
    "left_pad": "<",
    "right_pad": ">",
    "pad_width": 1,
    "preserve_short_sequences": True,
}


def _one(text: str | bytes) -> np.ndarray:
    return np.array(text.encode() if isinstance(text, str) else text, dtype=object)


VALID: dict[str, Call] = {
    "AsString": ((np.array([1.5, -2.0, np.inf], np.float32),), {}),
    "DecodeBase64": ((texts("YQ", "YWI="),), {}),
    "DecodeCSV": ((texts("1,a", ',"b,c"'), [ints([7]), texts("")]), {}),
    "DecodeCompressed": ((_one(zlib.compress(b"text")),), {"compression_type": "ZLIB"}),
    "DecodePaddedRaw": ((texts("abcd", "ef"), ints(8)), {"out_type": "int32"}),
    "DecodeRaw": ((texts("abcd", "efgh"),), {"out_type": "int16"}),
    "Fingerprint": ((_WORDS, _one("farmhash64")), {}),
    "MatchingFiles": ((texts("/proc/self/stat*", "none"),), {}),
    "ReadFile": ((_one("/dev/null"),), {}),
    "WriteFile": ((_one("written"), _one("text")), {}),
    "ReduceJoin": ((_WORDS, ints(1, 0)), {}),
    "RegexFullMatch": ((_WORDS, _one("[a-c]+|x.y")), {}),
    "RegexReplace": ((_WORDS, _one("(.)l"), _one("<\\1>")), {}),
    "StaticRegexFullMatch": ((_WORDS,), {"pattern": "[a-c]+"}),
    "StaticRegexReplace": ((_WORDS,), {"pattern": "(.)l", "rewrite": "<\\1>"}),
    "StringJoin": (([_WORDS, _one("-"), _WORDS],), {"separator": "+"}),
    "StringNGrams": ((texts("a", "b", "c"), longs(0, 2, 3)), _NGRAMS),
    "StringSplit": ((texts("a b", "c"), _one(" ")), {}),
    "StringSplitV2": ((texts("a b", "c"), _one("")), {}),
    "StringToHashBucketStrong": ((_WORDS,), {"num_buckets": 7, "key": [1, 2]}),
    "StringToNumber": ((texts("1.5", " 2 "),), {}),
    "Substr": ((texts("abc", "defg"), ints(1, -2), ints(2, 2)), {}),
    "UnicodeDecode": ((_WORDS,), {"input_encoding": "UTF-8"}),
    "UnicodeDecodeWithOffsets": ((_WORDS,), {"input_encoding": "UTF-8"}),
    "UnicodeEncode": ((ints(97, 233, 98), longs(0, 2, 3)), {"output_encoding": "UTF-8"}),
    "UnicodeTranscode": ((_WORDS,), {"input_encoding": "UTF-8", "output_encoding": "UTF-16-BE"}),
    "UnsortedSegmentJoin": ((_WORDS, ints(1, 0), ints(2)), {}),
}

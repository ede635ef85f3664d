"""tf.strings: strings joined, split, matched, hashed, written and read."""

from thalweg._src.ops.decoding import as_string, string_to_number as to_number
from thalweg._src.ops.hashing import (
    string_to_hash_bucket as to_hash_bucket,
    string_to_hash_bucket_fast as to_hash_bucket_fast,
    string_to_hash_bucket_strong as to_hash_bucket_strong,
)
from thalweg._src.ops.printing import string_format as format
from thalweg._src.ops.strings import (
    lower,
    ngrams,
    reduce_join,
    regex_full_match,
    regex_replace,
    split,
    string_join as join,
    string_length as length,
    string_strip as strip,
    substr,
    unsorted_segment_join,
    upper,
)
from thalweg._src.ops.unicode import unicode_encode, unicode_script, unicode_transcode

__all__ = [
    "as_string",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_encode",
    "unicode_script",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]

"""tf.strings: String operations: joining, splitting, matching, hashing, formatting and Unicode."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    as_string as as_string,
    lower as lower,
    string_strip as strip,
    string_to_hash_bucket_fast as to_hash_bucket_fast,
    string_to_hash_bucket_strong as to_hash_bucket_strong,
    unicode_script as unicode_script,
    unicode_transcode as unicode_transcode,
    unsorted_segment_join as unsorted_segment_join,
    upper as upper,
)
from thalweg._src.graph.ops.decoding import string_to_number as to_number
from thalweg._src.graph.ops.hashing import string_to_hash_bucket as to_hash_bucket
from thalweg._src.graph.ops.printing import string_format as format
from thalweg._src.graph.ops.strings import (
    ngrams as ngrams,
    reduce_join as reduce_join,
    regex_full_match as regex_full_match,
    regex_replace as regex_replace,
    string_join as join,
    string_length as length,
    substr as substr,
)
from thalweg._src.graph.ops.unicode import unicode_encode as unicode_encode
from thalweg._src.training.nn.ragged.strings import (
    bytes_split as bytes_split,
    split as split,
    unicode_decode as unicode_decode,
    unicode_decode_with_offsets as unicode_decode_with_offsets,
    unicode_split as unicode_split,
    unicode_split_with_offsets as unicode_split_with_offsets,
)

__all__ = [
    "as_string", "bytes_split", "format", "join", "length", "lower", "ngrams", "reduce_join", "regex_full_match",
    "regex_replace", "split", "strip", "substr", "to_hash_bucket", "to_hash_bucket_fast", "to_hash_bucket_strong",
    "to_number", "unicode_decode", "unicode_decode_with_offsets", "unicode_encode", "unicode_script", "unicode_split",
    "unicode_split_with_offsets", "unicode_transcode", "unsorted_segment_join", "upper",
]

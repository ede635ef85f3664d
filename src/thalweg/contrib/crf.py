"""tf.contrib.crf: Linear-chain conditional random fields."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.crf import (
    CrfDecodeBackwardRnnCell as CrfDecodeBackwardRnnCell,
    CrfDecodeForwardRnnCell as CrfDecodeForwardRnnCell,
    CrfForwardRnnCell as CrfForwardRnnCell,
    crf_binary_score as crf_binary_score,
    crf_decode as crf_decode,
    crf_log_likelihood as crf_log_likelihood,
    crf_log_norm as crf_log_norm,
    crf_multitag_sequence_score as crf_multitag_sequence_score,
    crf_sequence_score as crf_sequence_score,
    crf_unary_score as crf_unary_score,
    viterbi_decode as viterbi_decode,
)

__all__ = [
    "CrfDecodeBackwardRnnCell", "CrfDecodeForwardRnnCell", "CrfForwardRnnCell", "crf_binary_score", "crf_decode",
    "crf_log_likelihood", "crf_log_norm", "crf_multitag_sequence_score", "crf_sequence_score", "crf_unary_score",
    "viterbi_decode",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)

"""tf.contrib.legacy_seq2seq: Sequence-to-sequence models over lists of tensors, unrolled in the graph."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.legacy_seq2seq.decoders import (
    attention_decoder as attention_decoder,
    embedding_attention_decoder as embedding_attention_decoder,
    embedding_rnn_decoder as embedding_rnn_decoder,
    rnn_decoder as rnn_decoder,
)
from thalweg._src.compat.contrib.legacy_seq2seq.losses import (
    model_with_buckets as model_with_buckets,
    sequence_loss as sequence_loss,
    sequence_loss_by_example as sequence_loss_by_example,
)
from thalweg._src.compat.contrib.legacy_seq2seq.models import (
    basic_rnn_seq2seq as basic_rnn_seq2seq,
    embedding_attention_seq2seq as embedding_attention_seq2seq,
    embedding_rnn_seq2seq as embedding_rnn_seq2seq,
    embedding_tied_rnn_seq2seq as embedding_tied_rnn_seq2seq,
    one2many_rnn_seq2seq as one2many_rnn_seq2seq,
    tied_rnn_seq2seq as tied_rnn_seq2seq,
)

__all__ = [
    "attention_decoder", "basic_rnn_seq2seq", "embedding_attention_decoder", "embedding_attention_seq2seq",
    "embedding_rnn_decoder", "embedding_rnn_seq2seq", "embedding_tied_rnn_seq2seq", "model_with_buckets",
    "one2many_rnn_seq2seq", "rnn_decoder", "sequence_loss", "sequence_loss_by_example", "tied_rnn_seq2seq",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)

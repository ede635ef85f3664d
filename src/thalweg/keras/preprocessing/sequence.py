"""tf.keras.preprocessing.sequence: Sequences of different lengths, skip-grams and time series."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.preprocessing.sequence import (
    TimeseriesGenerator as TimeseriesGenerator,
    make_sampling_table as make_sampling_table,
    pad_sequences as pad_sequences,
    skipgrams as skipgrams,
)

__all__ = ["TimeseriesGenerator", "make_sampling_table", "pad_sequences", "skipgrams"]

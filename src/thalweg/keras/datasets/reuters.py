"""tf.keras.datasets.reuters: Newswires and their topics."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.datasets.texts import (
    load_reuters as load_data,
    reuters_word_index as get_word_index,
)

__all__ = ["get_word_index", "load_data"]

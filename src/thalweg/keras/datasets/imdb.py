"""tf.keras.datasets.imdb: Reviews of films."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.datasets.texts import (
    imdb_word_index as get_word_index,
    load_imdb as load_data,
)

__all__ = ["get_word_index", "load_data"]

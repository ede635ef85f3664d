"""tf.keras.preprocessing.text: Texts as sequences of numbers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.preprocessing.text import (
    Tokenizer as Tokenizer,
    hashing_trick as hashing_trick,
    one_hot as one_hot,
    text_to_word_sequence as text_to_word_sequence,
    tokenizer_from_json as tokenizer_from_json,
)

__all__ = ["Tokenizer", "hashing_trick", "one_hot", "text_to_word_sequence", "tokenizer_from_json"]

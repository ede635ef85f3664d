"""tf.lookup: Lookup tables, static and mutable."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.nn.lookup import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    StaticHashTable as StaticHashTable,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
from thalweg._src.training.nn.vocabularies import StaticVocabularyTable as StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "TextFileIndex", "TextFileInitializer",
]

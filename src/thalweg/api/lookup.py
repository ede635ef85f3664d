"""tf.lookup: tables from keys to values."""

from thalweg.library.lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    TextFileIndex,
    TextFileInitializer,
)
from thalweg.library.vocabularies import (
    StaticVocabularyTable,
)

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]

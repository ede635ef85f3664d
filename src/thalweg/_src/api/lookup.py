"""tf.lookup: tables from keys to values."""

from thalweg._src.nn.lookup import KeyValueTensorInitializer, StaticHashTable, TextFileIndex, TextFileInitializer
from thalweg._src.nn.vocabularies import StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]

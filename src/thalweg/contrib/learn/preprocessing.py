"""tf.contrib.learn.preprocessing: Documents as rows of word ids or bytes."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.learn.text import (
    ByteProcessor as ByteProcessor,
    CategoricalVocabulary as CategoricalVocabulary,
    VocabularyProcessor as VocabularyProcessor,
    tokenizer as tokenizer,
)

__all__ = ["ByteProcessor", "CategoricalVocabulary", "VocabularyProcessor", "tokenizer"]

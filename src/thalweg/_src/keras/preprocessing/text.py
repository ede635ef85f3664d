"""Texts as numbers: words, their indices in a vocabulary, and rows of a matrix."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import logging
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.keras.engine.config import read_json

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'
_MODES = ("binary", "count", "freq", "tfidf")


@export("keras.preprocessing.text.text_to_word_sequence")
def text_to_word_sequence(text: str, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    """Returns the words of a text."""
    require_text("text", text)
    if lower:
        text = text.lower()
    separated = text.translate({ord(character): split for character in filters})
    return [word for word in separated.split(split) if word]


@export("keras.preprocessing.text.one_hot")
def one_hot(text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """Returns a number below n for each word of a text, by Python's hash, which differs between processes."""
    return hashing_trick(text, n, hash, filters, lower, split)


@export("keras.preprocessing.text.hashing_trick")
def hashing_trick(
    text: str,
    n: int,
    hash_function: Callable[[str], int] | str | None = None,
    filters: str = _FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[int]:
    """Returns a number from 1 below n for each word of a text, by a hash; different words may share a number."""
    hash_of: Any = _md5 if hash_function == "md5" else hash if hash_function is None else hash_function
    return [hash_of(word) % (n - 1) + 1 for word in text_to_word_sequence(text, filters, lower, split)]


def _md5(word: str) -> int:
    return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16)


@export("keras.preprocessing.text.Tokenizer")
class Tokenizer:
    """A vocabulary of the words of texts, in which frequent words have low indices; 0 is the index of no word.

    Args:
        num_words: Words with this index or a higher one are left out; None to keep all.
        char_level: Whether each character is a word.
        oov_token: Word that stands for unknown ones, with index 1; None to leave them out.
        document_count: Number of texts that were counted before.
        **kwargs: `nb_words`, the former name of `num_words`.
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        document_count: int = 0,
        **kwargs: Any,
    ) -> None:
        if "nb_words" in kwargs:
            logging.warning("Tokenizer: nb_words is the former name of num_words")
            num_words = kwargs.pop("nb_words")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self.num_words = num_words
        self.filters = filters
        self.lower = lower
        self.split = split
        self.char_level = char_level
        self.oov_token = oov_token
        self.document_count = document_count
        self.word_counts: OrderedDict[str, int] = OrderedDict()
        self.word_docs: dict[str, int] = defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}
        self.index_docs: dict[int, int] = defaultdict(int)

    # -- the vocabulary -----------------------------------------------------------------------------------------------

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Counts the words of texts, each a string or a list of words, and numbers them by frequency."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ordered = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        vocabulary = [*([] if self.oov_token is None else [self.oov_token]), *ordered]
        self.word_index = {}
        for index, word in enumerate(vocabulary, start=1):
            self.word_index[word] = index
        self.index_word = {index: word for word, index in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Iterable[Iterable[int]]) -> None:
        """Counts in how many sequences indices occur, as `sequences_to_matrix` needs without texts."""
        for sequence in sequences:
            self.document_count += 1
            for index in set(sequence):
                self.index_docs[index] += 1

    def _words(self, text: str | list[str]) -> Any:
        if self.char_level or isinstance(text, list):
            if not self.lower:
                return text
            return [word.lower() for word in text] if isinstance(text, list) else text.lower()
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    # -- sequences ----------------------------------------------------------------------------------------------------

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """Returns the indices of the known words of each text."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """Yields the indices of the known words of each text."""
        unknown = self._index_of_unknown()
        for text in texts:
            known_indices = (self._unless_rare(self.word_index.get(word)) for word in self._words(text))
            indices = (unknown if index is None else index for index in known_indices)
            yield [index for index in indices if index is not None]

    def sequences_to_texts(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """Returns the words of each sequence of indices, with spaces between them."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yields the words of each sequence of indices, with spaces between them."""
        unknown = self._index_of_unknown()
        for sequence in sequences:
            known_indices = (self._unless_rare(index if index in self.index_word else None) for index in sequence)
            indices = (unknown if index is None else index for index in known_indices)
            yield " ".join(self.index_word[index] for index in indices if index is not None)

    def _index_of_unknown(self) -> int | None:
        """Returns the index that stands for unknown words, None if they are left out."""
        return None if self.oov_token is None else self.word_index.get(self.oov_token)

    def _unless_rare(self, index: int | None) -> int | None:
        """Returns an index, None if the word is not among the most frequent ones."""
        return None if index is None or (self.num_words and index >= self.num_words) else index

    # -- matrices -----------------------------------------------------------------------------------------------------

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray[Any, Any]:
        """Returns a row for each text, with a column for each index of the vocabulary."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Sequence[Sequence[int]], mode: str = "binary") -> np.ndarray[Any, Any]:
        """Returns a row for each sequence: whether an index occurs, how often, its share, or its weight by tf-idf."""
        if not self.num_words and not self.word_index:
            raise ValueError("Tokenizer: the number of columns is unknown: pass num_words, or call fit_on_texts first")
        if mode not in _MODES:
            raise ValueError(f"Unknown vectorization mode: {mode}; expected one of {', '.join(_MODES)}")
        if mode == "tfidf" and not self.document_count:
            raise ValueError('Tokenizer: mode="tfidf" needs frequencies: call fit_on_texts or fit_on_sequences first')
        columns = self.num_words or len(self.word_index) + 1
        matrix = np.zeros((len(sequences), columns))
        for row, sequence in enumerate(sequences):
            for index, count in Counter(index for index in sequence if index < columns).items():
                matrix[row, index] = self._entry(mode, index, count, len(sequence))
        return matrix

    def _entry(self, mode: str, index: int, count: int, length: int) -> float:
        if mode == "count":
            return count
        if mode == "freq":
            return count / length
        if mode == "binary":
            return 1
        documents = self.index_docs.get(index, 0)
        return float((1 + np.log(count)) * np.log(1 + self.document_count / (1 + documents)))

    # -- descriptions -------------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Returns the settings and the vocabulary; what was counted is JSON texts in it."""
        return {
            "num_words": self.num_words,
            "filters": self.filters,
            "lower": self.lower,
            "split": self.split,
            "char_level": self.char_level,
            "oov_token": self.oov_token,
            "document_count": self.document_count,
            "word_counts": json.dumps(self.word_counts),
            "word_docs": json.dumps(self.word_docs),
            "index_docs": json.dumps(self.index_docs),
            "index_word": json.dumps(self.index_word),
            "word_index": json.dumps(self.word_index),
        }

    def to_json(self, **kwargs: Any) -> str:
        """Returns the class, the settings and the vocabulary as JSON."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


@export("keras.preprocessing.text.tokenizer_from_json")
def tokenizer_from_json(json_string: str) -> Tokenizer:
    """Returns the tokenizer that `Tokenizer.to_json` has described."""
    config = read_json(json_string)["config"]
    counted = {
        name: read_json(config.pop(name))
        for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    tokenizer = Tokenizer(**config)
    tokenizer.word_counts = counted["word_counts"]
    tokenizer.word_docs = counted["word_docs"]
    tokenizer.word_index = counted["word_index"]
    # JSON has texts alone as keys.
    tokenizer.index_docs = {int(index): count for index, count in counted["index_docs"].items()}
    tokenizer.index_word = {int(index): word for index, word in counted["index_word"].items()}
    return tokenizer

"""Data sets of texts as numbers of words: reviews of films (IMDB) and newswires (Reuters)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.objects import object_array
from thalweg._src.keras.datasets.files import Split, arrays, located, shuffled

_IMDB_HASH = "599dadb1135973df5b59232a0e9a887c"
_IMDB_WORDS_HASH = "bfafd718b763782e994055a2d397834f"
_REUTERS_HASH = "87aedbeb0cb229e378797a632c1997b6"
_REUTERS_WORDS_HASH = "4d44cc38712099c9e383dc6e5f11a921"


@export("keras.datasets.imdb.load_data")
def load_imdb(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Split:
    """Returns reviews of films, and whether they are positive, for training and for a test."""
    num_words = _older_name(num_words, kwargs)
    x_train, y_train, x_test, y_test = arrays(
        located(path, "imdb.npz", _IMDB_HASH), "x_train", "y_train", "x_test", "y_test"
    )
    generator = np.random.RandomState(seed)
    x_train, y_train = shuffled(generator, x_train, y_train)
    x_test, y_test = shuffled(generator, x_test, y_test)
    texts, labels = _encoded(
        [*x_train, *x_test], [*y_train, *y_test], num_words, skip_top, maxlen, start_char, oov_char, index_from
    )
    return _split(texts, labels, len(x_train))


@export("keras.datasets.reuters.load_data")
def load_reuters(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Split:
    """Returns newswires and their topics for training and for a test."""
    num_words = _older_name(num_words, kwargs)
    texts, labels = arrays(located(path, "reuters.npz", _REUTERS_HASH), "x", "y")
    texts, labels = shuffled(np.random.RandomState(seed), texts, labels)
    xs, ys = _encoded([*texts], [*labels], num_words, skip_top, maxlen, start_char, oov_char, index_from)
    return _split(xs, ys, int(len(xs) * (1 - test_split)))


def _older_name(num_words: int | None, kwargs: dict[str, Any]) -> int | None:
    if "nb_words" in kwargs:
        logging.warning("The `nb_words` argument in `load_data` has been renamed `num_words`.")
        num_words = kwargs.pop("nb_words")
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    return num_words


def _encoded(
    texts: Sequence[Any],
    labels: Sequence[Any],
    num_words: int | None,
    skip_top: int,
    maxlen: int | None,
    start_char: int | None,
    oov_char: int | None,
    index_from: int,
) -> tuple[list[list[int]], list[Any]]:
    """Returns texts with a mark at their start and another one for words that are too rare or too frequent."""
    start = [] if start_char is None else [start_char]
    encoded = [[*start, *(word + index_from for word in text)] for text in texts]
    encoded_labels = list(labels)
    if maxlen:
        short = [number for number, text in enumerate(encoded) if len(text) < maxlen]
        encoded, encoded_labels = [encoded[number] for number in short], [labels[number] for number in short]
    if not encoded:
        raise ValueError(f"maxlen={maxlen} leaves no text: all are longer; choose a larger one")
    if not num_words:
        num_words = max(max(text) for text in encoded)

    def is_known(word: int) -> bool:
        return skip_top <= word < num_words

    if oov_char is None:
        return [[word for word in text if is_known(word)] for text in encoded], encoded_labels
    return [[word if is_known(word) else oov_char for word in text] for text in encoded], encoded_labels


def _split(texts: Sequence[Any], labels: Sequence[Any], at: int) -> Split:
    return (object_array(texts[:at]), np.array(labels[:at])), (object_array(texts[at:]), np.array(labels[at:]))


@export("keras.datasets.imdb.get_word_index")
def imdb_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Returns the number of each word of the reviews."""
    return _json(located(path, "imdb_word_index.json", _IMDB_WORDS_HASH))


@export("keras.datasets.reuters.get_word_index")
def reuters_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Returns the number of each word of the newswires."""
    return _json(located(path, "reuters_word_index.json", _REUTERS_WORDS_HASH))


def _json(path: str) -> dict[str, int]:
    with open(path) as file:
        content: dict[str, int] = json.load(file)
    return content

"""tf.contrib.learn.preprocessing: documents become rows of word ids, or of bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.types import TensorLike

Array = np.ndarray[Any, Any]
# An acronym, a capitalized word before another one, or a word with apostrophes and hyphens.
_TOKEN = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+")


@export("contrib.learn.preprocessing.tokenizer")
def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yields the words of each document.

    Args:
        iterator: The documents.
    """
    for document in iterator:
        yield _TOKEN.findall(document)


@export("contrib.learn.preprocessing.CategoricalVocabulary")
class CategoricalVocabulary:
    """Ids of categories, which get them in the order of their first use; 0 is that of unknown ones.

    Args:
        unknown_token: The category of the id 0.
        support_reverse: Whether ids are mapped back to categories.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._support_reverse = support_reverse
        self._reverse_mapping: list[Any] = [unknown_token]
        self._freq: dict[Any, int] = {}
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Makes categories that have no id unknown from now on, or gives them ids again."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """Returns the id of a category; a new one gets an id unless the vocabulary is frozen."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: object, count: int = 1) -> None:
        """Counts uses of a category."""
        if self.get(category) > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps the categories used more than `min_frequency` times, or at most `max_frequency` times if it is not -1.

        They get new ids: the most frequent one has 1.
        """
        ranked = sorted(sorted(self._freq.items(), key=lambda pair: str(pair[0])), key=lambda pair: -pair[1])
        frequent = {
            category: count
            for category, count in ranked
            if count > min_frequency and (max_frequency <= 0 or count < max_frequency)
        }
        self._freq = frequent
        self._reverse_mapping = [self._unknown_token, *frequent]
        self._mapping = {category: number for number, category in enumerate(self._reverse_mapping)}

    def reverse(self, class_id: int) -> Any:
        """Returns the category of an id."""
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse to support reverse() function.")
        return self._reverse_mapping[class_id]


@export("contrib.learn.preprocessing.VocabularyProcessor")
class VocabularyProcessor:
    """Maps documents to rows of word ids.

    Args:
        max_document_length: Length of the rows; longer documents are cut, shorter ones end in zeros.
        min_frequency: Words that are not used more often have no id.
        vocabulary: A CategoricalVocabulary; by default one is made.
        tokenizer_fn: Function from documents to their words.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = CategoricalVocabulary() if vocabulary is None else vocabulary
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: object = None) -> VocabularyProcessor:
        """Learns the words of documents, and freezes the vocabulary."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: object = None) -> Iterator[Array]:
        """Learns the words of documents, and returns an iterator over their rows of ids."""
        documents = list(raw_documents)
        self.fit(documents)
        return self.transform(documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Array]:
        """Yields the row of ids of each document."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for position, word in enumerate(words):
                if position >= self.max_document_length:
                    break
                row[position] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yields the words of rows of ids, separated by spaces."""
        for row in documents:
            yield " ".join(str(self.vocabulary_.reverse(int(number))) for number in row)

    def save(self, filename: PathLike) -> None:
        """Writes the processor to a file, as JSON; a tokenizer function is passed to `restore` again."""
        vocabulary = self.vocabulary_
        content = {
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "has_tokenizer": self._tokenizer is not tokenizer,
            "categories": vocabulary._reverse_mapping,
            "counts": [vocabulary._freq.get(category, 0) for category in vocabulary._reverse_mapping],
            "is_frozen": vocabulary._freeze,
            "support_reverse": vocabulary._support_reverse,
        }
        with open(filename, "w", encoding="utf-8") as file:
            json.dump(content, file)

    @classmethod
    def restore(cls, filename: PathLike, tokenizer_fn: Callable[..., Any] | None = None) -> VocabularyProcessor:
        """Returns the processor in a file that `save` wrote; pickles are not read, since they may run any code."""
        try:
            with open(filename, encoding="utf-8") as file:
                content = json.load(file)
        except ValueError:
            raise ValueError(f"{filename} was not written by this VocabularyProcessor.save") from None
        if content["has_tokenizer"] and tokenizer_fn is None:
            raise ValueError(f"{filename} was saved with a tokenizer of its own: pass it as tokenizer_fn")
        unknown, *categories = content["categories"]
        vocabulary = CategoricalVocabulary(unknown, content["support_reverse"])
        for category, count in zip(categories, content["counts"][1:]):
            vocabulary.add(category, count)
        vocabulary.freeze(content["is_frozen"])
        return cls(content["max_document_length"], content["min_frequency"], vocabulary, tokenizer_fn)


@export("contrib.learn.preprocessing.ByteProcessor")
class ByteProcessor:
    """Maps documents to rows of bytes.

    Args:
        max_document_length: Length of the rows; longer documents are cut, shorter ones end in zeros.
    """

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: TensorLike) -> ByteProcessor:
        """Returns the processor, which has nothing to learn."""
        return self

    def fit_transform(self, x: Iterable[Any]) -> Iterator[Array]:
        """Yields the row of bytes of each document."""
        return self.transform(x)

    def transform(self, x: Iterable[Any]) -> Iterator[Array]:
        """Yields the row of bytes of each document, a text or bytes."""
        for document in x:
            data = document.encode("utf-8") if isinstance(document, str) else bytes(document)
            row = np.zeros(self.max_document_length, np.uint8)
            leading = np.frombuffer(data[: self.max_document_length], np.uint8)
            row[: len(leading)] = leading
            yield row

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """Yields the text of rows of bytes, without the zeros at the end."""
        for row in x:
            yield bytes(np.asarray(row, np.uint8)).rstrip(b"\0").decode("utf-8", "replace")

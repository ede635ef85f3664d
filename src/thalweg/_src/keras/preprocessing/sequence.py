"""Sequences of numbers: of equal length, as pairs of words, and as windows of a series."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.keras.utils.data_utils import Sequence as BatchSequence

Array = np.ndarray[Any, Any]
_EULER = 0.577  # Euler's constant, to the digits that the estimate of ranks uses


@export("keras.preprocessing.sequence.pad_sequences")
def pad_sequences(
    sequences: Sequence[Any],
    maxlen: int | None = None,
    dtype: npt.DTypeLike | str = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: float | str = 0.0,
) -> Array:
    """Returns sequences as one array: short ones are padded with a value, long ones truncated.

    Args:
        sequences: List of sequences.
        maxlen: Length of the result; None for that of the longest sequence.
        dtype: Type of the result.
        padding: "pre" to pad at the start, "post" at the end.
        truncating: "pre" to leave out the start of long sequences, "post" their end.
        value: What short sequences are padded with.
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError(f"sequences: expected a list of sequences, received {sequences!r}")
    for index, sequence in enumerate(sequences):
        if not hasattr(sequence, "__len__"):
            raise ValueError(f"sequences: expected a list of sequences, received {sequence!r} at {index}")
    for name, where in (("padding", padding), ("truncating", truncating)):
        if where not in ("pre", "post"):
            raise ValueError(f'{name}: expected "pre" or "post", received {where!r}')
    kind = _array_type(dtype)
    if isinstance(value, str) and kind.kind not in "OU":
        raise ValueError(f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}; pass `dtype=object`")
    if maxlen is None and not len(sequences):
        raise ValueError("sequences: expected at least one, as the longest decides on the length; or pass maxlen")
    length = max(map(len, sequences)) if maxlen is None else maxlen
    element = next((np.asarray(sequence).shape[1:] for sequence in sequences if len(sequence)), ())
    result = np.full((len(sequences), length, *element), value, dtype=kind)
    for index, sequence in enumerate(sequences):
        if not len(sequence):
            continue
        truncated = np.asarray(sequence[-length:] if truncating == "pre" else sequence[:length], dtype=kind)
        if truncated.shape[1:] != element:
            raise ValueError(
                f"Shape of sample {truncated.shape[1:]} of sequence at position {index} is different from expected "
                f"shape {element}"
            )
        place = slice(0, len(truncated)) if padding == "post" else slice(length - len(truncated), length)
        result[index, place] = truncated
    return result


def _array_type(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Returns the type of arrays: also of strings and objects, which types of tensors do not distinguish."""
    kind: np.dtype[Any] = np.dtype(dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype)
    return kind


@export("keras.preprocessing.sequence.make_sampling_table")
def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> Array:
    """Returns the probability to keep a word by its rank, which is low for the most frequent words.

    The frequency of a rank is that of Zipf's law, in which ranks are estimated from the harmonic numbers.

    Args:
        size: Number of words.
        sampling_factor: Frequency below which words are always kept; with a smaller one, fewer words are kept.
    """
    rank = np.arange(size)
    rank[:1] = 1
    inverse_frequency = rank * (np.log(rank) + _EULER) + 0.5 - 1.0 / (12.0 * rank)
    ratio = sampling_factor * inverse_frequency
    return np.asarray(np.minimum(1.0, ratio / np.sqrt(ratio)))


@export("keras.preprocessing.sequence.skipgrams")
def skipgrams(
    sequence: Sequence[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Returns pairs of words and whether the second stands near the first, or is a random word of the vocabulary.

    The random numbers are those of Python's `random`, in an order on which results depend.

    Args:
        sequence: Indices of words; 0 is no word.
        vocabulary_size: One more than the largest index.
        window_size: Number of places on each side in which a word is near.
        negative_samples: Number of random pairs for each pair of near words.
        shuffle: Whether the pairs are shuffled.
        categorical: Whether labels are [0, 1] and [1, 0], and not 1 and 0.
        sampling_table: Probability to keep a word, by index; None to keep all.
        seed: Seed of the order.
    """
    near, random_pair = ([0, 1], [1, 0]) if categorical else (1, 0)
    couples: list[list[int]] = []
    for place, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):  # 0 is no word
            continue
        start, end = max(0, place - window_size), min(len(sequence), place + window_size + 1)
        couples += [[word, sequence[other]] for other in range(start, end) if other != place and sequence[other]]
    labels: list[Any] = [near] * len(couples)
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [couple[0] for couple in couples]
        random.shuffle(words)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [random_pair] * count
    if shuffle:
        order = random.randint(0, 10_000_000) if seed is None else seed
        for shuffled in (couples, labels):
            random.seed(order)
            random.shuffle(shuffled)
    return couples, labels


@export("keras.preprocessing.sequence.TimeseriesGenerator")
class TimeseriesGenerator(BatchSequence):
    """Batches of windows of a series, each with the target at the place that follows the window.

    Args:
        data: Array or list whose first dimension is time.
        targets: Array or list of the targets, as long as the data.
        length: Number of places of a window.
        sampling_rate: Distance of the places of a window that are used.
        stride: Distance of a window to the next.
        start_index: Place of the data at which the first window starts.
        end_index: Last place of a target; None for the end.
        shuffle: Whether windows are drawn at random.
        reverse: Whether windows run backwards in time.
        batch_size: Number of windows of a batch.
    """

    def __init__(
        self,
        data: np.ndarray[Any, Any],
        targets: np.ndarray[Any, Any],
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        if len(data) != len(targets):
            raise ValueError(f"expected a target for each place of the data, received {len(data)} and {len(targets)}")
        self.data = data
        self.targets = targets
        self.length = length
        self.sampling_rate = sampling_rate
        self.stride = stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle = shuffle
        self.reverse = reverse
        self.batch_size = batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"start_index + length = {self.start_index} is greater than end_index = {self.end_index}: expected "
                "room for a window and the target after it"
            )

    def __len__(self) -> int:
        places = self.batch_size * self.stride
        return (self.end_index - self.start_index + places) // places

    def __getitem__(self, index: int) -> tuple[Array, Array]:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(first, min(first + self.batch_size * self.stride, self.end_index + 1), self.stride)
        samples = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return (samples[:, ::-1, ...] if self.reverse else samples), targets

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that make such a generator; the series are JSON texts in it."""
        return {
            "data": _as_json(self.data),
            "targets": _as_json(self.targets),
            "length": self.length,
            "sampling_rate": self.sampling_rate,
            "stride": self.stride,
            "start_index": self.start_index,
            "end_index": self.end_index,
            "shuffle": self.shuffle,
            "reverse": self.reverse,
            "batch_size": self.batch_size,
        }

    def to_json(self, **kwargs: Any) -> str:
        """Returns the class and the arguments as JSON."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def _as_json(series: Any) -> str:
    values = series.tolist() if isinstance(series, np.ndarray) else series
    try:
        return json.dumps(values)
    except TypeError:
        raise TypeError(f"expected a series of numbers, which JSON knows, received {series!r}") from None

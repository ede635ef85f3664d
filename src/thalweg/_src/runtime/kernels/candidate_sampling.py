"""Kernels of candidate samplers, on the host: a sample is small, and each draw depends on the previous ones."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.files import read_whole
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
_MOST_WEIGHT = 2**31 - 1


class Chances(Protocol):
    """A sampling distribution over the classes [0, limit)."""

    limit: int

    def draw(self, count: int, random: np.random.Generator) -> Array: ...

    def probability(self, classes: Array) -> Array: ...


class Uniform:
    """The uniform distribution."""

    def __init__(self, node: Node, device: Device) -> None:
        self.limit: int = node.attrs["range_max"]

    def draw(self, count: int, random: np.random.Generator) -> Array:
        return random.integers(0, self.limit, count)

    def probability(self, classes: Array) -> Array:
        return np.full(classes.shape, 1 / self.limit, np.float32)


class LogUniform(Uniform):
    """The log-uniform (Zipfian) distribution."""

    def draw(self, count: int, random: np.random.Generator) -> Array:
        return (np.exp(random.random(count) * math.log1p(self.limit)).astype(np.int64) - 1) % self.limit

    def probability(self, classes: Array) -> Array:
        return (np.log((classes + 2.0) / (classes + 1.0)) / math.log1p(self.limit)).astype(np.float32)


class Learned(Uniform):
    """A distribution learned from class counts, which start at 1; row sums of a table make sampling fast."""

    def __init__(self, node: Node, device: Device) -> None:
        super().__init__(node, device)
        require(self.limit <= _MOST_WEIGHT, f"range_max is {self.limit}", expected=f"at most {_MOST_WEIGHT}")
        self._columns = math.isqrt(self.limit - 1) + 1
        rows = -(-self.limit // self._columns)
        self._seen = np.zeros((rows, self._columns), np.int32)  # counts beyond the initial 1
        self._totals = np.full(rows, self._columns, np.int64)
        self._totals[-1] = self.limit - (rows - 1) * self._columns
        self._total = self.limit

    def draw(self, count: int, random: np.random.Generator) -> Array:
        sums = np.cumsum(self._totals)
        positions = random.integers(0, self._total, count)
        rows = np.searchsorted(sums, positions, side="right")
        positions -= (sums - self._totals)[rows]
        columns = [
            np.searchsorted(np.cumsum(self._seen[row] + 1), position, side="right")
            for row, position in zip(rows, positions)
        ]
        return rows * self._columns + np.array(columns, np.int64)

    def probability(self, classes: Array) -> Array:
        weights = self._seen.reshape(-1)[classes] + np.float32(1)
        return (weights / np.float32(self._total)).astype(np.float32)

    def learn(self, classes: Array) -> None:
        classes = classes[: _MOST_WEIGHT - self._total]
        np.add.at(self._seen.reshape(-1), classes, 1)
        np.add.at(self._totals, classes // self._columns, 1)
        self._total += len(classes)


class Fixed(Uniform):
    """A distribution with given weights."""

    def __init__(self, node: Node, device: Device) -> None:
        super().__init__(node, device)
        weights = _weights(node, device)
        require(
            len(weights) == self.limit, f"range_max is {self.limit}", expected=f"{len(weights)}, the number of weights"
        )
        self._sums = np.cumsum(weights, dtype=np.float64)
        valid = bool(np.all(weights >= 0)) and 0 < self._sums[-1] < math.inf
        require(valid, "the weights are not a distribution", expected="non-negative numbers, not all of them 0")
        drawn = np.count_nonzero(weights)
        if node.attrs["unique"] and drawn < node.attrs["num_sampled"]:
            raise invalid(f"Sampler's range is too small: only {drawn} classes have a weight above 0")
        self._probabilities = (weights / np.float32(self._sums[-1])).astype(np.float32)

    def draw(self, count: int, random: np.random.Generator) -> Array:
        positions = np.minimum(random.random(count) * self._sums[-1], np.nextafter(self._sums[-1], 0))
        return np.asarray(np.searchsorted(self._sums, positions, side="right"))

    def probability(self, classes: Array) -> Array:
        return self._probabilities[classes]


def _weights(node: Node, device: Device) -> Array:
    """Returns the weights of a shard's classes, 0 for reserved ones."""
    path, listed, reserved = node.attrs["vocab_file"], node.attrs["unigrams"], node.attrs["num_reserved_ids"]
    require(not path or not listed, "vocab_file and unigrams are mutually exclusive", expected="one of the two")
    require(bool(path or listed), "neither vocab_file nor unigrams is given", expected="one of the two")
    require(0 <= reserved <= _MOST_WEIGHT, f"num_reserved_ids is {reserved}", expected="at least 0")
    weights = np.array(_read(path, device) if path else listed, np.float32)
    with np.errstate(all="ignore"):
        weights = np.power(weights, np.float32(node.attrs["distortion"]))
    shard, count = node.attrs["shard"], node.attrs["num_shards"]
    require(shard < count, f"shard is {shard}", expected=f"less than num_shards = {count}")
    return np.concatenate([np.zeros(reserved, np.float32), weights])[shard::count]


def _read(path: str, device: Device) -> list[float]:
    """Returns the last fields of a CSV file's lines as numbers."""
    result = []
    for line in read_whole(path.encode("utf-8", "surrogateescape"), device).decode("utf-8", "replace").splitlines():
        try:
            result.append(float(line.rpartition(",")[2]))
        except ValueError:
            raise invalid(f"Wrong vocabulary format at line: {line}") from None
    return result


def _distinct(chances: Chances, count: int, random: np.random.Generator) -> tuple[Array, int]:
    """Draws until there are enough distinct classes; returns them, and the number of draws."""
    drawn = chances.draw(count, random)
    while True:
        first = np.sort(np.unique(drawn, return_index=True)[1])
        if len(first) >= count:
            return drawn[first[:count]], int(first[count - 1]) + 1
        drawn = np.concatenate([drawn, chances.draw(len(drawn), random)])


def _expected(probability: Array, count: int, tries: int) -> Array:
    """Returns the expected counts of classes in a sample, or without replacement, their inclusion probabilities."""
    if tries == count:
        return probability * np.float32(count)
    return np.asarray(-np.expm1(np.float32(tries) * np.log1p(-probability)))


def _require_in_range(classes: Array, limit: int) -> None:
    outside = classes[(classes < 0) | (classes >= limit)]
    if outside.size:
        raise invalid(f"true class {outside[0]} is out of range [0, {limit})")


def _require_columns(classes: torch.Tensor, num_true: int) -> None:
    shape = list(classes.shape)
    fits = len(shape) == 2 and shape[1] == num_true
    require(fits, f"true_classes has shape {shape}", expected=f"a matrix with num_true = {num_true} columns")


_CHANCES: dict[str, Callable[[Node, Device], Chances]] = {
    "UniformCandidateSampler": Uniform,
    "LogUniformCandidateSampler": LogUniform,
    "LearnedUnigramCandidateSampler": Learned,
    "ThreadUnsafeUnigramCandidateSampler": Learned,
    "FixedUnigramCandidateSampler": Fixed,
}


@kernel(*_CHANCES, devices=("CPU",))
def bind_sampler(node: Node, device: Device) -> Callable[..., Any]:
    count, unique, num_true = node.attrs["num_sampled"], node.attrs["unique"], node.attrs["num_true"]
    seeds = node.attrs["seed"], node.attrs["seed2"]

    def make() -> tuple[Chances, np.random.Generator, threading.Lock]:
        entropy = [seed & (2**64 - 1) for seed in seeds] if any(seeds) else None
        return _CHANCES[node.type](node, device), np.random.default_rng(entropy), threading.Lock()

    def sample(true_classes: torch.Tensor) -> Any:
        chances, random, lock = device.state(node.name, make)
        _require_columns(true_classes, num_true)
        classes = true_classes.numpy()
        _require_in_range(classes, chances.limit)
        with lock:
            drawn, tries = _distinct(chances, count, random) if unique else (chances.draw(count, random), count)
            expected = [_expected(chances.probability(group), count, tries) for group in (classes, drawn)]
            if isinstance(chances, Learned):
                chances.learn(classes.reshape(-1))
        return torch.from_numpy(drawn), *map(torch.from_numpy, expected)

    return sample


@kernel("AllCandidateSampler")
def bind_all(node: Node, device: Device) -> Callable[..., Any]:
    count, num_true = node.attrs["num_sampled"], node.attrs["num_true"]

    def sample(true_classes: torch.Tensor) -> Any:
        _require_columns(true_classes, num_true)
        _require_in_range(true_classes.cpu().numpy(), count)
        drawn = torch.arange(count, dtype=torch.int64, device=device.torch)
        expected = torch.ones(true_classes.shape, dtype=torch.float32, device=device.torch)
        return drawn, expected, torch.ones(count, dtype=torch.float32, device=device.torch)

    return sample


@kernel("ComputeAccidentalHits")
def bind_hits(node: Node, device: Device) -> Callable[..., Any]:
    num_true = node.attrs["num_true"]

    def find(true_classes: torch.Tensor, sampled: torch.Tensor) -> Any:
        _require_columns(true_classes, num_true)
        require(sampled.ndim == 1, f"sampled_candidates has rank {sampled.ndim}", expected="a vector")
        ordered, order = torch.sort(sampled, stable=True)
        labels = true_classes.reshape(-1).contiguous()  # a fed column may be strided
        last = torch.searchsorted(ordered, labels, right=True) - 1  # among equal candidates, the last one counts
        (hits,) = torch.nonzero((last >= 0) & (ordered[last] == labels), as_tuple=True) if len(ordered) else (last[:0],)
        weights = torch.full(hits.shape, torch.finfo(torch.float32).min, device=hits.device)
        return (hits // num_true).to(torch.int32), order[last[hits]], weights

    return find

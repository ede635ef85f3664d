"""What a bound on latency allows: measured durations of batches, and the batching parameters that follow from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg._src import dtypes
from thalweg._src.serving.servable import Servable, Signature
from thalweg._src.serving.tensors import Array

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_RUNS = 30
_MS = 1e3


@dataclass(frozen=True, slots=True)
class Measurement:
    """How long batches of a size take, in seconds."""

    size: int
    median: float
    worst: float

    @property
    def rate(self) -> float:
        """How many examples a thread computes per second."""
        return self.size / self.median


def zeros(signature: Signature, size: int) -> dict[str, Array] | None:
    """Returns inputs of zeros, with the size 1 for dimensions that are not known; None if there are strings."""
    inputs = {}
    for name, port in signature.inputs.items():
        if port.shape is None or port.dtype is dtypes.string:
            return None
        shape = [size if n == 0 and length is None else length or 1 for n, length in enumerate(port.shape)]
        inputs[name] = np.zeros(shape, port.dtype.as_numpy_dtype)
    return inputs


def measure(
    signature: Signature,
    sizes: Sequence[int],
    runs: int = _RUNS,
    bound: float = float("inf"),
    clock: Callable[[], float] = time.perf_counter,
) -> list[Measurement]:
    """Returns the durations of batches of several sizes, up to the first that takes longer than the bound."""
    found: list[Measurement] = []
    for size in sizes if signature.is_batched else (1,):
        inputs = zeros(signature, size)
        if inputs is None or (found and found[-1].median > bound):
            break
        outputs = tuple(signature.outputs)
        signature.run(inputs, outputs)  # compiles
        seconds = []
        for _ in range(runs):
            start = clock()
            signature.run(inputs, outputs)
            seconds.append(clock() - start)
        found.append(Measurement(size, float(np.median(seconds)), max(seconds)))
    return found


def choose(measurements: Sequence[Measurement], bound: float) -> Measurement | None:
    """Returns the largest batch that a request can wait for, and then be computed in, within the bound."""
    fitting = [each for each in measurements if 2 * each.worst <= bound]
    return max(fitting, key=lambda each: each.size, default=None)


def report(model: str, servable: Servable, bound: float, threads: int) -> Iterator[str]:
    """Yields lines about each signature of a model: durations by batch size, and what the bound allows."""
    for key, signature in sorted(servable.signatures.items()):
        measurements = measure(signature, _SIZES, bound=bound)
        yield f"{model} {key}"
        if not measurements:
            yield "  is not measured: its inputs are strings, or of unknown shape"
            continue
        yield "  batch  median ms  worst ms  examples/s"
        for each in measurements:
            yield f"  {each.size:5}  {each.median * _MS:9.3f}  {each.worst * _MS:8.3f}  {each.rate:10.0f}"
        chosen = choose(measurements, bound)
        if chosen is None:
            yield f"  {bound * _MS:g} ms cannot be kept: a request may wait for one batch and is computed in the next"
            continue
        yield (
            f"  {bound * _MS:g} ms can be kept with batches of {chosen.size}, "
            f"{chosen.rate * threads:.0f} examples/s on {threads} threads:"
        )
        yield (
            f"  max_batch_size {{ value: {chosen.size} }} batch_timeout_micros {{ value: 0 }} "
            f"num_batch_threads {{ value: {threads} }}"
        )


def prime(servable: Servable, sizes: Sequence[int]) -> None:
    """Runs each signature a few times, so that its first requests are neither slow nor of unknown duration."""
    for signature in servable.signatures.values():
        for each in measure(signature, sizes, runs=3):
            signature.duration.add(each.size, each.median)

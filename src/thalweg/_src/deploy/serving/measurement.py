"""How long batches of a signature take, measured with zeros: before its first requests, and for plans."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg._src.base import dtypes, errors, logging
from thalweg._src.deploy.serving.servable import Servable, Signature
from thalweg._src.deploy.serving.tensors import Array

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_RUNS = 30


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
    measurements: list[Measurement] = []
    for size in sizes if signature.is_batched else (1,):
        inputs = zeros(signature, size)
        if inputs is None or (measurements and measurements[-1].median > bound):
            break
        outputs = tuple(signature.outputs)
        signature.run(inputs, outputs)  # compiles
        seconds = []
        for _ in range(runs):
            start = clock()
            signature.run(inputs, outputs)
            seconds.append(clock() - start)
        measurements.append(Measurement(size, float(np.median(seconds)), max(seconds)))
    return measurements


def warm_up_latencies(servable: Servable, sizes: Sequence[int], bound: float = float("inf")) -> None:
    """Runs each signature a few times, so that its first requests are neither slow nor of unknown duration."""
    for signature in servable.signatures.values():
        try:
            for measurement in measure(signature, sizes, runs=3, bound=bound):
                signature.duration.add(measurement.size, measurement.median)
        except errors.OpError as error:  # zeros may be no valid input
            logging.info("%s: %s was not run before its first request: %s", signature.model, signature.key, error)

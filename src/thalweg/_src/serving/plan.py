"""What a bound on latency allows: measured durations of batches, the batching parameters that follow from them, and the
load that a server with these parameters takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg._src import dtypes, errors
from thalweg._src.compat import logging
from thalweg._src.serving import closed_loop
from thalweg._src.serving.config import BatchingParameters, Model
from thalweg._src.serving.protos import message_class
from thalweg._src.serving.servable import Servable, Signature
from thalweg._src.serving.tensors import Array, write_tensor
from thalweg._src.serving.versions import Policy

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_RUNS = 30
_CLIENTS = (1, 2, 4, 8, 16, 32, 64)
_LOAD_SECONDS = 2.0
_MOST_REFUSED = 1e-3  # of all requests
_GROWTH = 1.05  # of the rate, for which more clients are tried
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


@dataclass(frozen=True, slots=True)
class Load:
    """What a server answers: requests per second, 99 % of them in some seconds, for a number of clients."""

    rate: float
    latency: float
    clients: int


def measure_load(signature: Signature, path: str, batching: BatchingParameters, bound: float) -> Load | None:
    """Returns the most requests for one example that a server answers within the bound, None if it keeps it with none.

    The server has no model but this one, and clients of gRPC in another process of the machine.
    """
    from thalweg._src.serving.server import ModelServer  # imports this module

    base, version = os.path.split(os.path.normpath(path))
    model = Model(signature.model, base, Policy(specific=frozenset([int(version)])))
    request = message_class("PredictRequest")()
    request.model_spec.name, request.model_spec.signature_name = signature.model, signature.key
    for name, array in (zeros(signature, 1) or {}).items():
        write_tensor(array, request.inputs[name])
    best: Load | None = None
    with ModelServer([model], port=0, rest_api_port=None, batching=batching, latency_bound=bound) as server:
        for clients in _CLIENTS:
            command = [sys.executable, "-P", closed_loop.__file__, str(server.port), str(clients), str(_LOAD_SECONDS)]
            done = subprocess.run(command, input=request.SerializeToString(), stdout=subprocess.PIPE, check=True)
            rate, latency, refused = json.loads(done.stdout)
            keeps = latency <= bound and refused <= _MOST_REFUSED
            if best is not None and (not keeps or rate < _GROWTH * best.rate):
                break
            best = Load(rate, latency, clients) if keeps else None
    return best


def report(model: str, servable: Servable, bound: float, threads: int) -> Iterator[str]:
    """Yields lines about each signature of a model: durations by batch size, and what the bound allows."""
    for key, signature in sorted(servable.signatures.items()):
        measurements = measure(signature, SIZES, bound=bound)
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
        yield f"  {bound * _MS:g} ms can be kept with batches of {chosen.size}, on {threads} threads:"
        yield (
            f"  max_batch_size {{ value: {chosen.size} }} batch_timeout_micros {{ value: 0 }} "
            f"num_batch_threads {{ value: {threads} }}"
        )
        batching = BatchingParameters(max_batch_size=chosen.size, num_batch_threads=threads)
        load = measure_load(signature, servable.path, batching, bound)
        if load is None:
            yield f"  planned load: none, since clients do not get their answers within {bound * _MS:g} ms"
            continue
        yield (
            f"  planned load: {load.rate:.0f} requests/s for one example over gRPC, 99 % of them within "
            f"{load.latency * _MS:.3g} ms, by {load.clients} clients"
        )


def prime(servable: Servable, sizes: Sequence[int], bound: float = float("inf")) -> None:
    """Runs each signature a few times, so that its first requests are neither slow nor of unknown duration."""
    for signature in servable.signatures.values():
        try:
            for each in measure(signature, sizes, runs=3, bound=bound):
                signature.duration.add(each.size, each.median)
        except errors.OpError as error:  # zeros may be no valid input
            logging.info("%s: %s was not run before its first request: %s", signature.model, signature.key, error)

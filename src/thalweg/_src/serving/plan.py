"""What a bound on latency allows: durations of batches, and the load that a server takes, both measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thalweg._src.serving import closed_loop
from thalweg._src.serving.config import BatchingParameters, Model
from thalweg._src.serving.manager import Spec
from thalweg._src.serving.measurement import SIZES, Measurement, measure, zeros
from thalweg._src.serving.protos import message_class
from thalweg._src.serving.servable import Servable, Signature
from thalweg._src.serving.server import ModelServer
from thalweg._src.serving.tensors import write_tensor
from thalweg._src.serving.versions import Policy

_CLIENTS = (1, 2, 4, 8, 16, 32, 64)
_LOAD_SECONDS = 2.0
_MOST_REFUSED = 1e-3  # of all requests
_GROWTH = 1.05  # of the rate, for which more clients are tried
_MS = 1e3


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


def measure_load(signature: Signature, path: str, batching: BatchingParameters | None, bound: float) -> Load | None:
    """Returns the most requests for one example that a server answers within the bound, None if it keeps it with none.

    The server has no model but this one, and clients of gRPC in another process of the machine.
    """
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


def plan(server: ModelServer, bound: float) -> Iterator[str]:
    """Yields lines about what a bound on latency allows for each model of a server."""
    for name in server.manager.models():
        with server.manager.use(Spec(name)) as (version, servable):
            yield from _report(f"{name} version {version}", servable, bound, server.options.batching)


def _report(model: str, servable: Servable, bound: float, batching: BatchingParameters | None) -> Iterator[str]:
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
        yield f"  {bound * _MS:g} ms can be kept with batches of {chosen.size}, one at a time"
        load = measure_load(signature, servable.path, batching, bound)
        if load is None:
            yield f"  planned load: none, since clients do not get their answers within {bound * _MS:g} ms"
            continue
        yield (
            f"  planned load: {load.rate:.0f} requests/s for one example over gRPC, 99 % of them within "
            f"{load.latency * _MS:.3g} ms, by {load.clients} clients"
        )

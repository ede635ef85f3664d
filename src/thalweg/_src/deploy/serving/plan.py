"""What a bound on latency allows: durations of batches, and the load that a server takes, both measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

from thalweg._src.deploy.serving import load_client
from thalweg._src.deploy.serving.config import BatchingParameters, Model
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.measurement import SIZES, Measurement, measure, zeros
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.servable import Servable, Signature
from thalweg._src.deploy.serving.server import ModelServer
from thalweg._src.deploy.serving.tensors import write_tensor
from thalweg._src.deploy.serving.versions import Policy

_LOAD_SECONDS = 2.0
_MOST_REFUSED = 1e-3  # of all requests
_TRIES = 2  # since another process may disturb one
_LEAST_RATE, _GROWTH = 100.0, 1.2  # requests per second, and how fast they become more
_MS = 1e3


def choose(measurements: Sequence[Measurement], bound: float) -> Measurement | None:
    """Returns the largest batch that a request can wait for, and then be computed in, within the bound."""
    fitting = [measurement for measurement in measurements if 2 * measurement.worst <= bound]
    return max(fitting, key=lambda measurement: measurement.size, default=None)


def measure_load(signature: Signature, path: str, batching: BatchingParameters | None, bound: float) -> float | None:
    """Returns the most requests per second for one example that a server answers within the bound, if any.

    The server has no model but this one, and clients of gRPC in another process of the machine.
    """
    base, version = os.path.split(os.path.normpath(path))
    model = Model(signature.model, base, Policy(specific=frozenset([int(version)])))
    request = message_class("PredictRequest")()
    request.model_spec.name, request.model_spec.signature_name = signature.model, signature.key
    for name, array in (zeros(signature, 1) or {}).items():
        write_tensor(array, request.inputs[name])
    best, rate = None, _LEAST_RATE
    with ModelServer([model], port=0, rest_api_port=None, batching=batching, latency_bound=bound) as server:
        content = request.SerializeToString()
        while any(_keeps(bound, server.port, rate, content) for _ in range(_TRIES)):
            best, rate = rate, rate * _GROWTH
    return best


def _keeps(bound: float, port: int | None, rate: float, request: bytes) -> bool:
    """Returns whether a server answers requests of a rate within the bound."""
    command = [sys.executable, "-P", load_client.__file__, str(port), str(rate), str(_LOAD_SECONDS)]
    done = subprocess.run(command, input=request, stdout=subprocess.PIPE, check=True)
    latency, refused = json.loads(done.stdout)
    return bool(latency <= bound and refused <= _MOST_REFUSED)


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
        for batch in measurements:
            yield f"  {batch.size:5}  {batch.median * _MS:9.3f}  {batch.worst * _MS:8.3f}  {batch.rate:10.0f}"
        chosen = choose(measurements, bound)
        if chosen is None:
            yield f"  {bound * _MS:g} ms cannot be kept: a request may wait for one batch and is computed in the next"
            continue
        yield f"  {bound * _MS:g} ms can be kept with batches of {chosen.size}"
        load = measure_load(signature, servable.path, batching, bound)
        if load is None:
            yield f"  planned load: none, since clients do not get their answers within {bound * _MS:g} ms"
            continue
        yield f"  planned load: {load:.0f} requests/s for one example over gRPC, by clients of the same machine"

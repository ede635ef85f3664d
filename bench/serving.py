"""Latency and throughput of model servers (see README.md): an MLP and ResNet-18, over gRPC and REST.

    python bench/serving.py [--rounds N] [--save]

Peers are Thalweg, TensorFlow behind the same front end, and torch behind FastAPI, which has no gRPC. They run
alternately. Each round is some seconds of one client, then of sixteen; each client sends its next request when it has
the answer. Latencies are in milliseconds.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import environments
import quiet
from workloads.serving_models import SHAPES, save

PEERS = ("thalweg", "tensorflow", "torch")
CLIENTS = (1, 16)
SECONDS, FIRST_SECONDS, PATIENCE_SECONDS = 3.0, 2.0, 15
RESULTS = environments.ROOT / "bench" / "results" / "serving.json"


class Peer:
    """The server of a peer, as a process of its own."""

    def __init__(self, name: str, model: str, folder: Path) -> None:
        worker = environments.ROOT / "bench" / "serving_worker.py"
        command = [environments.interpreter(name), worker, name, model, folder, sysconfig.get_path("purelib")]
        variables = environments.variables("thalweg") | environments.variables(name)
        variables["PYTHONPATH"] = str(environments.ROOT / "src")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables
        )
        assert self.process.stdout is not None
        self.grpc_port, self.rest_port = json.loads(self.process.stdout.readline() or "[null, null]")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def rest_client(port: int, model: str) -> Callable[[], None]:
    """Returns a function that makes one request over a connection of its own, and reads the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    values: object = 0.5
    for size in reversed(SHAPES[model]):
        values = [values] * size
    body = json.dumps({"instances": [values]})

    def ask() -> None:
        connection.request("POST", f"/v1/models/{model}:predict", body, {"content-type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        assert response.status == http.client.OK, answer

    return ask


def grpc_client(port: int, model: str) -> Callable[[], None]:
    """Returns a function that makes one call over a channel of its own."""
    import grpc
    import numpy as np

    from thalweg._src.serving.protos import message_class
    from thalweg._src.serving.tensors import Array

    array: Array = np.full((1, *SHAPES[model]), 0.5, np.float32)
    request = message_class("PredictRequest")()
    request.model_spec.name = model
    tensor = request.inputs["x"]
    tensor.dtype, tensor.tensor_content = 1, array.tobytes()
    for size in array.shape:
        tensor.tensor_shape.dim.add().size = size
    content = request.SerializeToString()
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])
    call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    return lambda: call(content) and None


def load(make: Callable[[], Callable[[], None]], clients: int, seconds: float) -> list[float]:
    """Returns the seconds of all requests that some clients make in a time."""
    found: list[float] = []
    end = time.perf_counter() + seconds

    def run() -> None:
        ask = make()
        while (start := time.perf_counter()) < end:
            ask()
            found.append(time.perf_counter() - start)

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def summary(seconds: list[float]) -> dict[str, float]:
    """Returns requests per second of one round, and percentiles in milliseconds."""
    ordered = sorted(seconds)
    at = {f"p{percent}": 1e3 * ordered[len(ordered) * percent // 100] for percent in (50, 95, 99)}
    return {"rate": len(ordered) / SECONDS, **at}


def measure(model: str, folder: Path, rounds: int) -> dict[str, list[dict[str, float]]]:
    """Measures all peers alternately; the results by protocol, peer and number of clients."""
    save(model, folder / "1")
    peers = {name: Peer(name, model, folder) for name in PEERS}
    makes: dict[str, Callable[[], Callable[[], None]]] = {}
    for name, peer in peers.items():
        if peer.rest_port:
            makes[f"rest {name}"] = lambda port=peer.rest_port: rest_client(port, model)  # type: ignore[misc]
        if peer.grpc_port:
            makes[f"grpc {name}"] = lambda port=peer.grpc_port: grpc_client(port, model)  # type: ignore[misc]
    results: dict[str, list[dict[str, float]]] = {}
    try:
        for make in makes.values():
            load(make, CLIENTS[-1], FIRST_SECONDS)
        for _ in range(rounds):
            for clients in CLIENTS:
                for key, make in makes.items():
                    quiet.wait([peer.process.pid for peer in peers.values()], PATIENCE_SECONDS)
                    found = summary(load(make, clients, SECONDS))
                    results.setdefault(f"{model} {key} {clients}", []).append(found)
    finally:
        for peer in peers.values():
            peer.close()
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", default=",".join(SHAPES))
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    environments.two_cores()
    results: dict[str, dict[str, float]] = {}
    print(f"{'model protocol peer clients':34}{'req/s':>9}{'p50':>9}{'p95':>9}{'p99':>9}")
    for model in options.models.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            for key, rounds in sorted(measure(model, Path(folder) / model, options.rounds).items()):
                results[key] = {name: median(each[name] for each in rounds) for name in rounds[0]}
                print(f"{key:34}" + "".join(f"{value:9.2f}" for value in results[key].values()))
    if options.save:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())

"""Latency and throughput of model servers (see README.md): an MLP and ResNet-18, over gRPC and REST.

    python bench/serving.py [--models mlp,resnet] [--rounds N] [--save]

Peers are Thalweg, TensorFlow behind the same front end, and torch behind FastAPI, request by request and in batches,
which has no gRPC. They run alternately. Each round is some seconds of one client, then of sixteen; each client sends
its next request when it has the answer. Latencies are in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from statistics import median

import environments
import h2load
import quiet
from workloads.serving_models import save

PEERS = ("thalweg", "tensorflow", "torch", "torch_batched")
CLIENTS = (1, 16)
ROUNDS = {"mlp": 5, "resnet": 3}
SECONDS = {"mlp": 3, "resnet": 10}
FIRST_SECONDS, PATIENCE_SECONDS = 1, 15
LATENCY_TARGET, RATE_TARGET = 0.8, 1.5
RESULTS = environments.ROOT / "bench" / "results" / "serving.json"
Results = dict[str, dict[str, float]]  # by model, protocol, peer and number of clients


class Peer:
    """The server of a peer, as a process of its own."""

    def __init__(self, name: str, model: str, folder: Path) -> None:
        worker = environments.ROOT / "bench" / "serving_worker.py"
        command = [str(environments.interpreter(name)), str(worker), name, model, str(folder)]
        command.append(sysconfig.get_path("purelib"))
        variables = environments.variables("thalweg") | environments.variables(name)
        variables["PYTHONPATH"] = str(environments.ROOT / "src")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables
        )
        assert self.process.stdout is not None
        grpc_port, rest_port = json.loads(self.process.stdout.readline() or "[null, null]")
        self.ports = {protocol: port for protocol, port in (("grpc", grpc_port), ("rest", rest_port)) if port}
        assert self.ports, f"{name} does not start"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def summary(milliseconds: list[float], seconds: float) -> dict[str, float]:
    """Returns requests per second of one round, and percentiles in milliseconds."""
    ordered = sorted(milliseconds)
    at = {f"p{percent}": ordered[len(ordered) * percent // 100] for percent in (50, 95, 99)}
    return {"rate": len(ordered) / seconds, **at}


def measure(model: str, folder: Path, rounds: int) -> Results:
    """Measures all peers alternately, and returns the medians of rounds."""
    save(model, folder / model / "1")
    requests, seconds = h2load.Requests(model, folder), SECONDS[model]
    peers: dict[str, Peer] = {}
    found: dict[str, list[dict[str, float]]] = {}
    try:
        for name in PEERS:
            peers[name] = Peer(name, model, folder / model)
        targets = [(protocol, name, port) for name, peer in peers.items() for protocol, port in peer.ports.items()]
        for protocol, _, port in targets:
            requests.check(protocol, port)
            h2load.load(requests, protocol, port, CLIENTS[-1], FIRST_SECONDS, FIRST_SECONDS)
        for _ in range(rounds):
            for clients in CLIENTS:
                for protocol, name, port in targets:
                    quiet.wait([peer.process.pid for peer in peers.values()], PATIENCE_SECONDS)
                    times = h2load.load(requests, protocol, port, clients, seconds, FIRST_SECONDS)
                    key = f"{model} {protocol} {name} {clients}"
                    found.setdefault(key, []).append(summary(times, seconds))
    finally:
        for peer in peers.values():
            peer.close()
    return {key: {name: median(each[name] for each in found[key]) for name in found[key][0]} for key in sorted(found)}


def ratios(results: Results) -> Results:
    """Returns Thalweg's latency with one client and rate with sixteen, over those of the best peer."""
    found: Results = {}
    for key in results:
        model, protocol, name, _ = key.split()
        if name != "thalweg":
            continue
        one, many = (
            {each: results[other] for each in PEERS if (other := f"{model} {protocol} {each} {clients}") in results}
            for clients in CLIENTS
        )
        ours, ours_of_many = one.pop("thalweg"), many.pop("thalweg")
        found[f"{model} {protocol}"] = {
            "latency": ours["p50"] / min(each["p50"] for each in one.values()),
            "rate": ours_of_many["rate"] / max(each["rate"] for each in many.values()),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, help="instead of 5 of the MLP and 3 of ResNet-18")
    parser.add_argument("--models", default=",".join(ROUNDS))
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    environments.two_cores()
    results: Results = {}
    print(f"{'model protocol peer clients':34}{'req/s':>9}{'p50':>9}{'p95':>9}{'p99':>9}")
    for model in options.models.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            found = measure(model, Path(folder), options.rounds or ROUNDS[model])
        for key, row in found.items():
            print(f"{key:34}" + "".join(f"{value:9.2f}" for value in row.values()), flush=True)
        results |= found
    print(f"\n{'of the best peer':34}{f'p50 of 1 (<= {LATENCY_TARGET})':>20}{f'req/s of 16 (>= {RATE_TARGET})':>24}")
    for key, ratio in ratios(results).items():
        print(f"{key:34}{ratio['latency']:20.2f}{ratio['rate']:24.2f}")
    if options.save:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

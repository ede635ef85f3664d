"""Steps per second of `fit` from arrays in memory: Thalweg, and Keras 2 on TensorFlow (see README.md).

And those of an Estimator, against the same steps in a MonitoredTrainingSession.

    python bench/high_level.py

Each round is one epoch; peers run alternately. The first rounds, in which steps are compiled, do not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

import environments

ROUNDS, FIRST_ROUNDS = 7, 3
EXAMPLES = {"mlp": 20_000, "cnn": 3_840}
PEERS = ("thalweg", "tensorflow")
ESTIMATOR_STEPS, ESTIMATOR = 2_000, ("estimator", "monitored_session")


class Peer:
    """A process that trains on request, and answers with steps per second."""

    def __init__(self, name: str) -> None:
        command = [environments.interpreter(name), environments.ROOT / "bench" / "high_level_worker.py", name]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environments.variables(name),
        )
        assert self._answer() == "ready"

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def fit(self, program: str, examples: int) -> float:
        """Trains for one epoch, and returns the steps per second."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([program, examples]) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._answer()))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def estimator_rates(peer: Peer) -> dict[str, list[float]]:
    """Returns the steps per second of an Estimator and of a session, which train alternately in one process."""
    rates: dict[str, list[float]] = {name: [] for name in ESTIMATOR}
    for _ in range(ROUNDS):
        for name in ESTIMATOR:
            rates[name].append(peer.fit(name, ESTIMATOR_STEPS))
    by_estimator, by_session = (1e6 / median(rates[name]) for name in ESTIMATOR)
    ratio = by_estimator / by_session
    print(f"estimator: {by_estimator:.0f} us/step, MonitoredTrainingSession {by_session:.0f}, ratio {ratio:.3f}")
    return rates


def main() -> int:
    environments.two_cores()
    peers = {name: Peer(name) for name in PEERS}
    results: dict[str, dict[str, list[float]]] = {}
    try:
        for program, examples in EXAMPLES.items():
            rates: dict[str, list[float]] = {name: [] for name in peers}
            for number in range(FIRST_ROUNDS + ROUNDS):
                for name, peer in peers.items():
                    rate = peer.fit(program, examples)
                    rates[name] += [rate] if number >= FIRST_ROUNDS else []
            results[f"{program}_fit"] = rates
            ours, theirs = (median(rates[name]) for name in PEERS)
            print(f"{program}: {ours:.0f} steps/s, Keras 2 on TensorFlow {theirs:.0f}, ratio {ours / theirs:.2f}")
        results["estimator_step"] = estimator_rates(peers["thalweg"])
    finally:
        for peer in peers.values():
            peer.close()
    path = environments.ROOT / "bench" / "results" / "high_level.json"
    path.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

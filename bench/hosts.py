"""Measures training over slow networks: a parameter server and two workers on virtual hosts, Thalweg and TensorFlow.

    PYTHONPATH=. BENCH_PYTHON_TENSORFLOW=.../bin/python python bench/hosts.py     # saved in results/hosts.json
    PYTHONPATH=. python bench/hosts.py --only "100 Mbit/s" --peers thalweg        # some, nothing saved

Needs Linux and root, or a user who may make namespaces; TensorFlow 1.15 or later. A switch in user space
(tests/hosts/switch.py) delays each packet, limits the rate of each cable, and loses packets. Workers train an MLP with
the same batch of 100 in each step, asynchronously or with SyncReplicasOptimizer, in a MonitoredTrainingSession, and
fetch the loss and the global step. All tasks of both systems run, one system at a time trains. The value of a round is
the increase of the global step per second in 10 seconds; bytes are those that the parameter server's host has sent and
received, with headers and what was repeated, per gradient.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import environments
import report
from hosts_worker import SIZES
from rows import TITLES, US
from tests.hosts.network import Host, Network
from tests.hosts.switch import SlowCables

PEERS = (US, "tensorflow")
TASK = Path(__file__).with_name("hosts_worker.py")
NETWORKS = {
    "1000 Mbit/s, 20 ms": {"delay": 0.02, "rate": 1e9},
    "100 Mbit/s, 50 ms, 0.5 % lost": {"delay": 0.05, "rate": 1e8, "loss": 0.005},
}
MODES = ("asynchronous", "synchronous")
WORKERS = 2
WARM_SECONDS = 4.0
ROUND_SECONDS = 10.0
REST_SECONDS = 1.0  # between rounds, for steps that are under way
Cell = dict[str, float]


class Tasks:
    """The processes of one system, one on each host."""

    def __init__(self, peer: str, hosts: list[Host], port: int, model: str, mode: str) -> None:
        self._hosts, self._mode = hosts, mode
        addresses = [host.url(port) for host in hosts]
        jobs = {"ps": addresses[:1], "worker": addresses[1:]}
        variables = environments.variables(peer) | {"THALWEG_CLUSTER_TOKEN": "benchmark" * 4, "OMP_NUM_THREADS": "1"}
        if not peer.startswith(US):
            variables.pop("PYTHONPATH", None)
        self._processes = []
        for number, host in enumerate(hosts):
            job, task = ("worker", number - 1) if number else ("ps", 0)
            process = subprocess.Popen(
                [*host.entering, environments.interpreter(peer), TASK],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=variables,
                cwd=host.folder,
                text=True,
            )
            self._processes.append(process)
            self._say(process, [peer, jobs, job, task, model, mode])

    @staticmethod
    def _say(process: Any, what: Any) -> None:
        process.stdin.write(json.dumps(what) + "\n")
        process.stdin.flush()

    def go_on(self, does: bool) -> list[list[tuple[float, int]]]:
        """Lets the workers train, or not; returns time and global step of the steps that each has made since."""
        for worker in self._processes[1:]:
            self._say(worker, does)
        return [json.loads(worker.stdout.readline()) for worker in self._processes[1:]]

    def round(self, seconds: float) -> Cell:
        """Trains for some time; returns steps per second, and megabytes to and from the server per gradient."""
        self.go_on(True)
        time.sleep(REST_SECONDS)
        self.go_on(True)
        before = self._bytes()
        time.sleep(seconds)
        after = self._bytes()
        seen = max(self.go_on(False), key=len)
        time.sleep(REST_SECONDS)
        (start, first), (end, last) = seen[0], seen[-1]
        rate = (last - first) / (end - start)
        gradients = rate * seconds * (WORKERS if self._mode == "synchronous" else 1)
        received, sent = ((now - then) / 1e6 / gradients for now, then in zip(after, before))
        return {"steps": rate, "received": received, "sent": sent}

    def _bytes(self) -> tuple[int, ...]:
        command = [*self._hosts[0].entering, "cat", "/proc/net/dev"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        (line,) = [line for line in done.stdout.splitlines() if "eth0" in line]
        fields = line.partition(":")[2].split()
        return int(fields[0]), int(fields[8])

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


@contextmanager
def running(peers: list[str], network: str, model: str, mode: str) -> Iterator[dict[str, Tasks]]:
    """Makes the hosts, starts the tasks of all systems there, and lets each train for some seconds."""
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory())
        cables = partial(SlowCables, **NETWORKS[network])
        hosts = ends.enter_context(Network(hosts=1 + WORKERS, folder=folder, cables=cables)).hosts
        systems = {}
        for number, peer in enumerate(peers):
            systems[peer] = Tasks(peer, hosts, 2222 + number, model, mode)
            ends.callback(systems[peer].close)
        for tasks in systems.values():
            tasks.round(WARM_SECONDS)
        yield systems


def measure(peers: list[str], rounds: int, network: str, model: str, mode: str) -> dict[str, list[Cell]]:
    results: dict[str, list[Cell]] = {peer: [] for peer in peers}
    with running(peers, network, model, mode) as systems:
        for _ in range(rounds):
            for peer, tasks in systems.items():
                results[peer].append(tasks.round(ROUND_SECONDS))
    return results


def table(summary: Any) -> str:
    """Returns the medians of the rounds, and how much faster Thalweg is."""
    lines = [f"{'':52}{'steps/s':>20}{'ratio':>8}{'MB to and from the server':>32}"]
    lines.append(f"{'':52}" + "".join(f"{TITLES[peer]:>12}" for peer in PEERS) + f"{'':8}")
    for row in summary["rows"]:
        medians = {
            peer: {key: median(cell[key] for cell in cells) for key in cells[0]}
            for peer, cells in row["rounds"].items()
        }
        steps = "".join(f"{medians[peer]['steps']:12.2f}" if peer in medians else f"{'-':>12}" for peer in PEERS)
        ratio = medians[US]["steps"] / medians[PEERS[1]]["steps"] if len(medians) == len(PEERS) else None
        size = "".join(f"{cell['received']:8.2f}{cell['sent']:6.2f}" for cell in medians.values())
        title = f"{row['network']}, {row['model']}, {row['mode']}"
        lines.append(f"{title:52}{steps}{'' if ratio is None else f'{ratio:8.2f}'}{size}")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="rows whose titles contain this; nothing is saved then")
    parser.add_argument("--peers", default=",".join(PEERS), help="default %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default %(default)s")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results"), help="where to save")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    cores = environments.two_cores()
    about = {"date": time.strftime("%Y-%m-%d"), "machine": {"cpu": report.cpu(), "cores": cores}}
    rows = []
    for network, model, mode in product(NETWORKS, SIZES, MODES):
        if given.only in f"{network}, {model}, {mode}":
            print(f"measuring {network}, {model}, {mode}", file=sys.stderr)
            rounds = measure(given.peers.split(","), given.rounds, network, model, mode)
            rows.append({"network": network, "model": model, "mode": mode, "rounds": rounds})
            print(table({"rows": rows[-1:]}), flush=True)
    summary = {**about, "load": os.getloadavg()[2], "rows": rows}
    print(table(summary))
    if not given.only and set(given.peers.split(",")) == set(PEERS):
        (given.results / "hosts.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

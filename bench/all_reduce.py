"""Measures all-reduce over two processes: Thalweg's collectives beside torch.distributed (see README.md).

    python bench/all_reduce.py                   # all rows
    python bench/all_reduce.py --rows all_reduce_cnn --rounds 3

Thalweg reduces over its links, torch with Gloo on loopback, with one thread per process. The processes of both exist at
the same time and are measured alternately; the value of a round is the time of a step at the first process.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import environments
from clusters import free_ports
from peers import Worker, once
from rows import TITLES, US, Row, Target
from run import Bench

PEERS = (US, "torch")
PROCESSES = 2
SCRIPT = Path(__file__).with_name("all_reduce_worker.py")
ROWS = (
    Row("all_reduce_100mb", "all-reduce of 100 MB", "ms", 1e3, Target(1.1, PEERS[1:]), PEERS, "all_reduce_100mb"),
    Row("all_reduce_cnn", "data-parallel step, CNN", "ms", 1e3, Target(1.1, PEERS[1:]), PEERS, "all_reduce_cnn"),
)


class Replicas:
    """The processes of one peer, which run each step together; answers the requests of a `Worker`."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self._workers = [Worker(peer, SCRIPT, OMP_NUM_THREADS="1") for _ in range(PROCESSES)]
        addresses = [f"127.0.0.1:{port}" for port in free_ports(PROCESSES)]
        self._together("join", [{"addresses": addresses, "rank": rank} for rank in range(PROCESSES)])

    @property
    def processes(self) -> list[int]:
        return [process for worker in self._workers for process in worker.processes]

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        if do == "hello":
            return once(self.peer, "hello")
        if do == "prepare":  # as many steps at each, since they wait for each other
            arguments["slow"] = True
            answer = self._together(do, [arguments] * PROCESSES)[0]
            return {**answer, "seconds": self.ask("run", steps=5)["seconds"]}
        return self._together(do, [arguments] * PROCESSES)[0]

    def _together(self, do: str, arguments: list[dict[str, Any]]) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(PROCESSES) as pool:
            return list(pool.map(lambda each: each[0].ask(do, **each[1]), zip(self._workers, arguments)))

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", default="", help=f"some of {','.join(row.name for row in ROWS)}")
    parser.add_argument("--rounds", type=int, default=7, help="rounds per row (default %(default)s)")
    given = parser.parse_args()
    environments.two_cores()
    bench = Bench(list(PEERS), given.rounds, Replicas)
    try:
        for row in ROWS:
            if not given.rows or row.name in given.rows.split(","):
                print(f"measuring {row.name}", file=sys.stderr)
                bench.steps(row)
    finally:
        bench.close()
    print("\n".join(bench.notes))
    for row in (row for row in ROWS if row.name in bench.results):
        values = {peer: median(rounds) for peer, rounds in bench.results[row.name].items()}
        cells = "".join(f"  {TITLES[peer]} {value:8.2f} ms" for peer, value in values.items())
        ratio = values[US] / values["torch"] if set(PEERS) <= set(values) else float("nan")
        print(f"{row.title:32}{cells}  ratio {ratio:.2f}, target {row.target.words()}")


if __name__ == "__main__":
    main()

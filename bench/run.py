"""Runs every peer on the same work, alternately, and prints, saves and plots the results (see README.md)."""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from subprocess import CalledProcessError

import environments
import quiet
import report
from clusters import Cluster
from peers import EagerWorker, PeerError, Worker, busy_core, import_seconds, once
from rows import GRAPH, GRAPH_PHASES, GRAPH_SIZES, IMPORT, MEMORY, SECTIONS, TITLES, Row

ROUND_SECONDS = 0.5
SLOW_ROUNDS = 3
MEMORY_STEPS = 10
PATIENCE_SECONDS = 15
LOSS_TOLERANCE = 1e-3

Rounds = dict[str, list[float]]
Start = Callable[[str], Worker | Cluster]
STARTS: dict[str, Start] = {"cluster": Cluster, "eager": EagerWorker}


class Bench:
    """The running peers, their measurements, and failures."""

    def __init__(self, names: list[str], rounds: int, start: Start = Worker) -> None:
        self.rounds = rounds
        self.slow_rounds = min(rounds, SLOW_ROUNDS)
        self.workers: dict[str, Worker | Cluster] = {}
        self.versions: dict[str, str] = {}
        self.results: dict[str, Rounds] = {}
        self.notes: list[str] = []
        self.disturbed: dict[str, float] = {}
        # Peers share files through a folder of this run.
        self._files = tempfile.TemporaryDirectory(prefix="bench-")
        os.environ["BENCH_FILES"] = self._files.name
        for name in names:
            self._start(name, start)

    def _start(self, name: str, start: Start) -> None:
        try:
            worker = start(name)
            self.versions[name] = worker.ask("hello")["version"]
            self.workers[name] = worker
        except (PeerError, OSError, CalledProcessError) as error:
            self.note(name, "all rows", error)

    def note(self, peer: str, row: str, error: Exception) -> None:
        self.notes.append(f"{peer}: {row}: {error}")
        print(f"  {self.notes[-1]}", file=sys.stderr)

    def steps(self, row: Row) -> None:
        """Measures one step of a row's workload: rounds of about half a second, alternating between peers."""
        counts: dict[str, int] = {}
        first: dict[str, list[float]] = {}
        for name in self._present(row):
            try:
                answer = self.workers[name].ask("prepare", workload=row.workload, slow=row.slow)
                counts[name] = 1 if row.slow else max(5, min(200_000, math.ceil(ROUND_SECONDS / answer["seconds"])))
                first[name] = answer["first"]
            except PeerError as error:
                self.note(name, row.name, error)
        self._compare(row, first)
        with busy_core() if row.busy else nullcontext() as load:
            own = [load] if load else []
            rounds = self.slow_rounds if row.slow else self.rounds
            self._rounds(row, list(counts), rounds, lambda name: self._step(name, counts[name]), own)
        for name in counts:
            self.workers[name].ask("forget")

    def _step(self, name: str, steps: int) -> float:
        seconds: float = self.workers[name].ask("run", steps=steps)["seconds"]
        return seconds

    def _compare(self, row: Row, first: dict[str, list[float]]) -> None:
        """Adds a note if the first results of a peer differ: it does not do the same work."""
        other = "torch" if "torch" in first else "tensorflow"
        expected = first.get(other)
        for name, losses in first.items():
            if expected is None or None in losses:
                continue
            if any(abs(a - b) > LOSS_TOLERANCE * abs(b) for a, b in zip(losses, expected, strict=True)):
                self.note(name, row.name, ValueError(f"first results {losses} are not {TITLES[other]}'s {expected}"))

    def memory(self, row: Row) -> None:
        self._rounds(row, self._present(row), self.slow_rounds, lambda name: self._bytes(name, row.workload))

    def _bytes(self, name: str, workload: str) -> float:
        taken: int = once(name, "memory", workload=workload, steps=MEMORY_STEPS)["bytes"]
        return taken

    def imports(self, row: Row) -> None:
        """Times imports in fresh processes, after one import that caches the bytecode."""
        for name in self._present(row):
            import_seconds(name)
        self._rounds(row, self._present(row), self.rounds, import_seconds)

    def graphs(self) -> None:
        """Times graphs of three sizes, each in a fresh process, and the growth of time with size."""
        for name in self._present(GRAPH[0]):
            try:
                self._graph(name)
            except PeerError as error:
                self.note(name, "graph", error)

    def _graph(self, name: str) -> None:
        times: dict[str, dict[int, list[float]]] = {phase: defaultdict(list) for phase in GRAPH_PHASES}
        for _ in range(self.slow_rounds):
            for nodes in GRAPH_SIZES:
                for phase, seconds in once(name, "graph", nodes=nodes).items():
                    times[phase][nodes].append(seconds)
        small, large = GRAPH_SIZES[0], GRAPH_SIZES[-1]
        for phase in GRAPH_PHASES:
            self.results.setdefault(f"graph_{phase}", {})[name] = times[phase][large]
            for nodes in GRAPH_SIZES[:-1]:
                self.results.setdefault(f"graph_{phase}_{nodes}", {})[name] = times[phase][nodes]
        total = {n: sum(median(times[phase][n]) for phase in GRAPH_PHASES) for n in (small, large)}
        growth = math.log(total[large] / total[small]) / math.log(large / small)
        self.results.setdefault("graph_growth", {})[name] = [growth]

    def _present(self, row: Row) -> list[str]:
        return [name for name in row.peers if name in self.workers]

    def _rounds(
        self, row: Row, names: list[str], rounds: int, measure: Callable[[str], float], own: Sequence[int] = ()
    ) -> None:
        """Measures all peers in each round; rounds that other processes disturbed are repeated, up to as many again."""
        values: Rounds = {name: [] for name in names}
        processes = [*own, *(process for worker in self.workers.values() for process in worker.processes)]
        spare = rounds
        while names and rounds:
            others = quiet.Others(processes)
            measured = {name: self._try(row, name, measure) for name in names}
            disturbed = others.cores()
            names = [name for name in names if measured[name] is not None]
            if disturbed > quiet.ALLOWED and spare:
                spare -= 1
                quiet.wait(processes, PATIENCE_SECONDS)
                continue
            rounds -= 1
            if disturbed > quiet.ALLOWED:
                self.disturbed[row.name] = max(disturbed, self.disturbed.get(row.name, 0.0))
            for name in names:
                values[name].append(row.convert(measured[name]))
        self.results[row.name] = {name: values[name] for name in names}

    def _try(self, row: Row, name: str, measure: Callable[[str], float]) -> float | None:
        try:
            return measure(name)
        except PeerError as error:
            self.note(name, row.name, error)
            return None

    def close(self) -> None:
        """Ends the peers and adds a note for rows that other processes disturbed."""
        for name, cores in self.disturbed.items():
            self.notes.append(f"{name}: measured while other processes used up to {cores:.1f} cores")
        for worker in self.workers.values():
            worker.close()
        self._files.cleanup()


def measure(bench: Bench, rows: Sequence[Row]) -> None:
    """Measures rows in the order of the table; all graph rows come from one measurement."""
    others = {IMPORT.name: bench.imports, MEMORY.name: bench.memory}
    graphs = [row for row in rows if row in GRAPH]
    for row in rows:
        if row in graphs[1:]:
            continue
        print(f"measuring {row.name}", file=sys.stderr)
        if row in graphs:
            bench.graphs()
        else:
            others.get(row.name, bench.steps)(row)


def section(name: str, wanted: Sequence[Row], given: argparse.Namespace) -> None:
    """Runs the peers that a section's rows need, prints its table, and saves it if it is complete."""
    peers = given.peers.split(",") if given.peers else TITLES
    start = STARTS.get(name, Worker)
    bench = Bench([peer for peer in peers if any(peer in row.peers for row in wanted)], given.rounds, start)
    try:
        measure(bench, wanted)
    finally:
        bench.close()
    summary = report.summary(bench.results, bench.versions, bench.notes, environments.two_cores())
    print(f"{name}\n\n{report.table(summary)}\n", flush=True)
    if not given.rows:
        report.save(summary, given.results, name)


def arguments(rows: Sequence[Row]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [row.name for row in rows]
    parser.add_argument("--rows", default="", help=f"some of {','.join(names)}; nothing is saved then")
    parser.add_argument("--peers", default="", help=f"some of {','.join(TITLES)}")
    parser.add_argument("--rounds", type=int, default=7, help="rounds per row (default %(default)s)")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results"), help="where to save")
    given = parser.parse_args()
    unknown = set(filter(None, given.rows.split(","))) - set(names)
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    return given


def main(*sections: str) -> None:
    """Measures the named sections, or all."""
    named = {name: SECTIONS[name] for name in sections or SECTIONS}
    given = arguments([row for rows in named.values() for row in rows])
    wanted = set(filter(None, given.rows.split(",")))
    environments.two_cores()
    for name, rows in named.items():
        chosen = [row for row in rows if not wanted or row.name in wanted]
        if chosen:
            section(name, chosen, given)


if __name__ == "__main__":
    main()

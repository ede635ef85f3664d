"""Trains the four networks of the OSDI paper's table on one GPU: Thalweg, eager and compiled, next to torch and JAX.

    python bench/gpu.py                                          # everything, under eight minutes on an H200
    python bench/gpu.py --network alexnet --precision bf16       # some cells
    python bench/gpu.py --systems thalweg,torch --profile        # what the device does in a step
    python bench/gpu.py --systems thalweg --show                 # the programs that Thalweg runs
    python bench/gpu.py --device cpu --tiny                      # only checks that everything runs

A step is forward pass, backward pass and momentum update on a batch that stays on the device; `workloads/convnets.py`
defines the networks for all systems. Steps are launched one after another, with one synchronization per round. tf32:
float32, with TF32 allowed in products. bf16: computation in bfloat16, weights and momenta in float32.

Each system trains each network in its own process, so that the first step is that of a fresh process: the library is
loaded, the device initialized, the model built and its variables set. All processes of a cell stay alive and are
measured alternately. The losses of the first three steps are compared with torch's, to verify that all systems do the
same work. Inductor compiles beforehand, several networks in parallel, and the measured processes find the results on
disk; cuDNN and XLA autotune while no other process uses the device. `--output` names a folder for gpu.json and for what
--profile and --show write; the file is rewritten after each cell, and keeps cells of earlier runs that are not measured
again.

Only numpy, torch and jax are needed. BENCH_PYTHON_TORCH, BENCH_PYTHON_JAX and BENCH_PYTHON_THALWEG name interpreters;
the default is this one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import environments
import report
from peers import PeerError, Worker
from rows import Row, Target
from workloads.convnets import NETWORKS, PRECISIONS

SYSTEMS = ("thalweg", "thalweg_compiled", "torch", "torch_compile", "jax")
# The same networks in the other layout, for comparison.
MORE = ("thalweg_nchw", "thalweg_compiled_nchw")
INDUCTOR = ("torch_compile", "thalweg_compiled")
# Systems that run once before anything is measured: compilers fill their caches, and cuDNN's kernels for these shapes
# are read from disk, which would otherwise slow down the first system only.
FIRST_TIME = (*INDUCTOR, "torch")
TOLERANCES = {"tf32": 2e-3, "bf16": 1e-2}
ROUND_SECONDS, FEWEST_STEPS, MOST_STEPS = 0.3, 20, 100
SYNC_STEPS, PROFILED_STEPS = 10, 5
PEERS = ("torch", "torch_compile", "jax")
PLAIN, COMPILED = Target(1.0, ("torch",)), Target(1.0, PEERS)
FIRST, SYNCS = Target(2.0, ("torch",)), Target(1.0)


class Trainer(Worker):
    """The process of one system that trains one network."""

    def __init__(self, system: str) -> None:
        self.peer = system
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115, closed with the worker
        library = system.partition("_")[0]
        python = os.environ.get(f"BENCH_PYTHON_{library.upper()}", sys.executable)
        paths = (str(environments.ROOT / "bench"), str(environments.ROOT / "src"), os.environ.get("PYTHONPATH"))
        variables = dict(os.environ, PYTHONWARNINGS="ignore", PYTHONPATH=os.pathsep.join(filter(None, paths)))
        variables.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # other processes need memory too
        self._process = subprocess.Popen(
            [python, "-m", "workloads.convnets_worker", system],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=variables,
            text=True,
        )


@dataclass(slots=True)
class Cell:
    """A network in one precision, with the results of each system."""

    network: str
    precision: str
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.network}_{self.precision}"

    @property
    def title(self) -> str:
        return f"{NETWORKS[self.network].title} {self.precision}"

    def steps(self) -> dict[str, float]:
        """Returns the median milliseconds of a step."""
        return {system: 1e3 * median(rounds) for system, rounds in self.rounds.items() if rounds}

    def facts(self, key: str) -> dict[str, float]:
        return {system: answer[key] for system, answer in self.answers.items() if answer.get(key) is not None}


class Bench:
    """The cells to measure, the failures, and the remaining time."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.cells: list[Cell] = []
        self.notes: list[str] = []
        self.versions: dict[str, str] = {}
        self.device = given.device
        self._started = time.perf_counter()
        self._pool = ThreadPoolExecutor(16)
        self._earlier = _cells_of(given.output / "gpu.json") if given.output is not None else []

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def say(self, text: str) -> None:
        print(f"[{self.seconds:6.1f} s] {text}", flush=True)

    def note(self, cell: Cell, system: str, error: Exception | str) -> None:
        self.notes.append(f"{cell.title}: {system}: {error}")
        self.say(f"NOTE {self.notes[-1]}")

    def start(self) -> dict[str, tuple[Trainer, Future[Any]]]:
        """Starts one process per system, which load their libraries and initialize the device meanwhile."""
        made = {system: Trainer(system) for system in self.given.systems}
        return {
            name: (worker, self._pool.submit(worker.ask, "hello", device=self.given.device))
            for name, worker in made.items()
        }

    def prime(self, cells: Sequence[Cell]) -> None:
        """Compiles for all cells, several in parallel, so that the measured processes find the code on disk."""
        wanted = [(cell, system) for cell in cells for system in FIRST_TIME if system in self.given.systems]
        wanted.sort(key=lambda pair: pair[0].network != "googlenet")  # the longest first
        if not self.given.prime or not wanted:
            return
        with ThreadPoolExecutor(self.given.prime) as pool:
            for cell, system, error in pool.map(lambda pair: self._primed(*pair), wanted):
                if error is not None:
                    self.note(cell, system, f"compiling ahead: {error}")
        self.say(f"compiled {len(wanted)} programs ahead")

    def _primed(self, cell: Cell, system: str) -> tuple[Cell, str, Exception | None]:
        if self.seconds > self.given.budget / 2:
            return cell, system, None
        worker = Trainer(system)
        try:
            worker.ask("hello", device=self.given.device)
            worker.ask("prime", network=cell.network, precision=cell.precision, tiny=self.given.tiny)
        except PeerError as error:
            return cell, system, error
        finally:
            worker.close()
        return cell, system, None

    def run(self, cells: Sequence[Cell]) -> None:
        """Measures cells while time is left; the next cell's processes start while this one compiles."""
        started = self.start() if cells else {}
        for i, cell in enumerate(cells):
            if self.seconds > self.given.budget:
                self.notes.append(f"{cell.title}: not measured, {self.given.budget:.0f} s are over")
                continue
            workers = {name: worker for name, (worker, hello) in started.items() if self._greeted(cell, name, hello)}
            more = i + 1 < len(cells) and self.seconds < self.given.budget
            all_of_cell, started = started, self.start() if more else {}
            try:
                self._measure(cell, workers, [hello for _, hello in started.values()])
            finally:
                for worker, _ in all_of_cell.values():
                    worker.close()
            self.cells.append(cell)
            self.save()
        for worker, _ in started.values():
            worker.close()
        self._pool.shutdown(cancel_futures=True)

    def _greeted(self, cell: Cell, system: str, hello: Future[Any]) -> bool:
        try:
            answer = hello.result()
        except PeerError as error:
            self.note(cell, system, error)
            return False
        self.versions[system] = answer["version"]
        self.device = answer["device"] if system != "jax" else self.device
        return True

    def _measure(self, cell: Cell, workers: dict[str, Trainer], starting: Sequence[Future[Any]]) -> None:
        order = sorted(workers, key=lambda system: system not in INDUCTOR)  # compilers first
        for system in order:
            if system not in INDUCTOR:
                _settled(starting)
            self._prepare(cell, system, workers[system])
        _settled(starting)
        self._compare(cell)
        for _ in range(self.given.rounds):
            for system in self.given.systems:
                if system in cell.rounds:
                    self._round(cell, system, workers[system])
        for system in list(cell.rounds):
            self._look(cell, system, workers[system])
        times = ", ".join(f"{system} {value:.2f}" for system, value in cell.steps().items())
        self.say(f"{cell.title}: ms a step: {times}")

    def _prepare(self, cell: Cell, system: str, worker: Trainer) -> None:
        start = time.perf_counter()
        settle = self.given.settle if system.startswith("thalweg_compiled") else 0.0
        try:
            answer = worker.ask(
                "prepare", network=cell.network, precision=cell.precision, tiny=self.given.tiny, settle=settle
            )
        except PeerError as error:
            self.note(cell, system, error)
            return
        cell.answers[system] = answer
        cell.rounds[system] = []
        self.say(
            f"{cell.title}: {system}: built in {answer['build']:.2f} s, first step {answer['first']:.3f} s, then "
            f"{1e3 * answer['seconds']:.2f} ms; losses {', '.join(f'{loss:.4f}' for loss in answer['losses'])}; "
            f"ready after {time.perf_counter() - start:.1f} s"
        )

    def _compare(self, cell: Cell) -> None:
        """Adds a note if the first losses of a system differ from torch's: it does not do the same work."""
        losses = cell.facts("losses")
        expected = losses.get("torch", next(iter(losses.values()), None))
        for system, found in losses.items():
            apart = max(abs(a - b) for a, b in zip(found, expected)) / abs(expected[0])
            cell.answers[system]["apart"] = apart
            if not apart <= TOLERANCES[cell.precision]:
                self.note(cell, system, f"first losses {found} are not {expected}")

    def _round(self, cell: Cell, system: str, worker: Trainer) -> None:
        steps = math.ceil(ROUND_SECONDS / cell.answers[system]["seconds"])
        steps = 3 if self.given.tiny else min(max(steps, FEWEST_STEPS), MOST_STEPS)
        try:
            cell.rounds[system].append(worker.ask("run", steps=steps)["seconds"])
        except PeerError as error:
            self.note(cell, system, error)
            del cell.rounds[system]

    def _look(self, cell: Cell, system: str, worker: Trainer) -> None:
        """Counts the synchronizations of a step and, on request, saves its profile and its program."""
        try:
            cell.answers[system].update(worker.ask("syncs", steps=SYNC_STEPS))
            if self.given.profile:
                profile = worker.ask("profile", steps=PROFILED_STEPS)
                if profile:
                    self._keep(f"profile-{cell.name}-{system}.txt", profile.pop("text"))
                    cell.answers[system].update(profile)
                    self.say(
                        f"{cell.title}: {system}: {profile['kernels']:.0f} kernels a step, busy for "
                        f"{1e3 * profile['busy']:.2f} ms, {profile['waits']:.1f} waits"
                    )
            if self.given.show and system.startswith("thalweg"):
                self._keep(f"program-{cell.name}-{system}.txt", worker.ask("program")["text"])
        except PeerError as error:
            self.note(cell, system, error)

    def _keep(self, name: str, text: str) -> None:
        if self.given.output is None:
            print(f"--- {name}\n{text}", flush=True)
        else:
            self.given.output.mkdir(parents=True, exist_ok=True)
            (self.given.output / name).write_text(text, encoding="utf-8")

    def _all_cells(self) -> list[Cell]:
        """Returns the cells of this run and of earlier ones, in the order of the table."""
        known = {cell.name: cell for cell in [*self._earlier, *self.cells]}
        names = [Cell(network, precision).name for network in NETWORKS for precision in PRECISIONS]
        return [known[name] for name in names if name in known]

    def summary(self) -> Any:
        """Returns what is saved: the rows of the table, and all results of each cell."""
        cells = self._all_cells()
        machine = {"cpu": self.device, "cores": os.cpu_count(), "python": platform.python_version()}
        details = [
            {"name": cell.name, "rounds": cell.rounds, "medians": cell.steps(), "systems": cell.answers}
            for cell in cells
        ]
        return {
            "date": time.strftime("%Y-%m-%d"),
            "machine": machine,
            "versions": {name: version for name, version in self.versions.items() if name in ("thalweg", *PEERS)},
            "rows": table_rows(cells),
            "cells": details,
            "notes": self.notes,
        }

    def save(self) -> None:
        if self.given.output is not None:
            self._keep("gpu.json", json.dumps(self.summary(), indent=1) + "\n")


def _cells_of(file: Path) -> list[Cell]:
    """Returns the cells that an earlier run has saved."""
    if not file.exists():
        return []
    saved = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return [Cell(*cell["name"].split("_"), cell["systems"], cell["rounds"]) for cell in saved]


def _settled(starting: Sequence[Future[Any]]) -> None:
    """Waits until the next processes have started, so that they do not disturb measurements."""
    for hello in starting:
        hello.exception()


def table_rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Returns the rows of the table: eager and compiled steps, then first steps and synchronizations."""
    rows = []
    for words, ours, target in (("plain", "thalweg", PLAIN), ("compiled", "thalweg_compiled", COMPILED)):
        for cell in cells:
            rows.append(_row(cell, words, "ms", target, cell.steps(), ours))
    for cell in cells:
        rows.append(_row(cell, "first step", "s", FIRST, cell.facts("first"), "thalweg"))
    for words, ours in (("waits of a step", "thalweg"), ("waits, compiled", "thalweg_compiled")):
        for cell in cells:
            rows.append(_row(cell, words, "", SYNCS, cell.facts("syncs"), ours))
    return [row for row in rows if row["medians"]]


def _row(cell: Cell, words: str, unit: str, target: Target, values: dict[str, float], ours: str) -> dict[str, Any]:
    """Returns a row in the format of the other benchmarks; Thalweg's value is that of one of its two systems."""
    row = Row(f"{cell.name}_{words.replace(' ', '_')}", f"{cell.title}, {words}", unit, 1.0, target)
    medians = {"thalweg": values[ours]} if ours in values else {}
    medians |= {peer: values[peer] for peer in PEERS if peer in values}
    limit = target.limit(medians)
    return {
        "name": row.name,
        "title": row.title,
        "unit": unit,
        "target": target.words(),
        "limit": limit,
        "ratio": medians["thalweg"] / limit if "thalweg" in medians and limit else None,
        "met": target.met(medians),
        "medians": medians,
    }


def _some_of(names: Sequence[str], more: Sequence[str] = ()) -> Any:
    def parse(text: str) -> list[str]:
        wanted = text.split(",")
        unknown = set(wanted) - {*names, *more}
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: not among {', '.join((*names, *more))}")
        return wanted

    return parse


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", type=_some_of(tuple(NETWORKS)), default=list(NETWORKS), help="some networks")
    parser.add_argument("--precision", type=_some_of(PRECISIONS), default=list(PRECISIONS), help="tf32 or bf16")
    parser.add_argument("--systems", type=_some_of(SYSTEMS, MORE), default=list(SYSTEMS), help="some systems")
    parser.add_argument("--rounds", type=int, default=3, help="rounds per cell (default %(default)s)")
    parser.add_argument(
        "--budget", type=float, default=480.0, help="seconds until the last start (default %(default)s)"
    )
    parser.add_argument("--prime", type=int, default=None, help="parallel compilations (default 4, on a CPU 0)")
    parser.add_argument("--settle", type=float, default=2.0, help="seconds of warm-up of compiled steps")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--tiny", action="store_true", help="small networks, to check that everything runs")
    parser.add_argument("--profile", action="store_true", help="kernels of a step, for systems on torch")
    parser.add_argument("--show", action="store_true", help="the programs that Thalweg runs")
    parser.add_argument("--output", type=Path, default=None, help="a folder for results (default: only print)")
    given = parser.parse_args()
    if given.prime is None:
        given.prime = 4 if given.device == "gpu" else 0
    return given


def main() -> None:
    given = arguments()
    bench = Bench(given)
    cells = [Cell(network, precision) for network in given.network for precision in given.precision]
    bench.prime(cells)
    bench.run(cells)
    bench.save()
    print(f"\n{report.table(bench.summary())}", flush=True)


if __name__ == "__main__":
    main()

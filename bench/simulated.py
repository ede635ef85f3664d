"""Compares simulated with measured steps of 1 to 8 workers on this machine.

    python bench/simulated.py                              # saved in results/simulated.json
    python bench/simulated.py --programs mlp --workers 1,2 # some, nothing saved

A real cluster of two parameter servers runs each program with one worker: alone, and beside processes that keep all
cores busy, so that a task finds cold caches whenever it runs. These times, and how fast this machine copies what does
not fit the caches, are all that the simulator gets. It then predicts the step with 2 to 8 workers, which is measured
too. All tasks share the cores of this machine, and every task computes with one thread. The table also has the CPU time
per step of all tasks together, as measured and as simulated.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import environments
import numpy as np
import quiet
import report
from clusters import Cluster
from rows import US
from workloads.data import SCALING_WORKERS

sys.path.insert(0, str(environments.ROOT / "src"))

from thalweg._src.compiler.place.cost import Link
from thalweg._src.tools.simulate.run import simulate
from thalweg._src.tools.simulate.scenario import Compute, Scenario

# The bytes that a step copies at each parameter server.
PROGRAMS = {"scalar": 0, "sparse": 0, "dense_1mb": 500_000, "dense_10mb": 5_000_000, "mlp": 1_080_000}
PS = 2
ROUND_SECONDS = 1.0
STEPS = 200
COPY_ROUNDS = 50
# Ends with the process that started it.
BUSY = """
import os, sys
found = {i: [i] for i in range(50_000)}
while os.getppid() == int(sys.argv[1]):
    for each in found.values():
        each[0] += 1
"""
BUSY_SECONDS = 0.5  # until the processes have started
ALLOWED = 0.2  # of the measured time


@dataclass(frozen=True, slots=True)
class Round:
    """What some workers took in one round: mean seconds of a step, and CPU seconds per step of each task."""

    step: float
    cpu: list[float]


@dataclass(frozen=True, slots=True)
class Costs:
    """What one worker alone takes: seconds of a step, and CPU seconds per step of the worker and of each server."""

    step: float
    worker: float
    servers: tuple[float, ...]

    @classmethod
    def between(cls, warm: Round, cold: Round, share: float) -> Costs:
        """Returns the costs if a share of the runs of a task follow one of another worker's tasks on its core."""
        cpu = [(1 - share) * a + share * max(a, b) for a, b in zip(warm.cpu, cold.cpu, strict=True)]
        return cls(warm.step + sum(cpu) - sum(warm.cpu), cpu[PS], tuple(cpu[:PS]))

    def scenario(self, workers: int, cores: int, slower: float) -> Scenario:
        """Returns the job in which these CPU times share the cores, and the rest of the step is latency.

        slower: the seconds that the copies of a server take more with so many workers than with one
        """
        server = max(self.servers)
        rest = self.step - self.worker - server  # negative if some of the CPU time is not waited for
        background = min(max(-rest, 0.0), self.worker)  # what a task does after it has answered
        return Scenario(
            workers=workers,
            shards=(0.0,) * len(self.servers),
            compute=Compute(self.worker - background),
            link=Link(max(rest, 0.0) / 4, math.inf),  # a pull and a push go there and back
            ps_link=Link(0.0, math.inf, (fmean(self.servers) + slower) / 2),
            host_cores=cores,
            background=background,
        )


@contextmanager
def busy(cores: int) -> Iterator[None]:
    """Keeps all cores busy with processes that fill the caches."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]) for _ in range(cores)]
    try:
        time.sleep(BUSY_SECONDS)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def copy_seconds(size: int, workers: int) -> float:
    """Measures how long a server copies bytes into a buffer per worker, while the other server does the same."""
    if not size:
        return 0.0
    with ProcessPoolExecutor(PS) as pool:
        return fmean(pool.map(_copy, [size] * PS, [workers] * PS))


def _copy(size: int, workers: int) -> float:
    source, buffers = np.ones(size, np.uint8), [np.zeros(size, np.uint8) for _ in range(workers)]
    rounds = []
    for _ in range(COPY_ROUNDS):
        start = time.process_time()
        for buffer in buffers:
            np.copyto(buffer, source)
        rounds.append((time.process_time() - start) / workers)
    return median(rounds)


def measure(cluster: Cluster, workers: int, rounds: int) -> Round:
    """Returns the round with the median step, so that its times belong together."""
    found = []
    for _ in range(rounds):
        before = cluster.cpu()
        steps = cluster.together(workers, ROUND_SECONDS)
        rate = sum(ROUND_SECONDS / step for step in steps)
        spent = [(after - start) / rate for start, after in zip(before, cluster.cpu(), strict=True)]
        found.append(Round(fmean(steps), spent))
    return sorted(found, key=lambda each: each.step)[len(found) // 2]


def compare(program: str, numbers: list[int], rounds: int, cores: int) -> dict[str, Any]:
    """Returns simulated and measured steps of one program, in seconds."""
    cluster = Cluster(US)
    try:
        cluster.prepare(f"scale_{program}")
        quiet.wait(cluster.processes, 30)
        others = quiet.Others(cluster.processes)
        measured = [measure(cluster, number, rounds) for number in numbers]
        with busy(cores):
            cold = measure(cluster, 1, rounds)
        disturbance = others.cores()
    finally:
        cluster.close()
    first = measured[0]
    alone = copy_seconds(PROGRAMS[program], 1)
    found: dict[str, Any] = {
        "measured": [each.step for each in measured],
        "simulated": [],
        "cpu measured": [sum(each.cpu) for each in measured],
        "cpu simulated": [],
        "other_processes": disturbance,
    }
    for number in numbers:
        slower = max(copy_seconds(PROGRAMS[program], number) - alone, 0.0)
        costs = Costs.between(first, cold, 1 - (1 + PS) / (number + PS))
        result = simulate(costs.scenario(number, cores, slower), STEPS)
        found["simulated"].append(float(result.steps.mean()))
        found["cpu simulated"].append(result.utilization["host"] * cores / result.throughput)
    return found


def table(summary: Any) -> str:
    """Returns measured and simulated milliseconds, and their ratio, with one column per number of workers."""
    numbers = summary["workers"]
    lines = [f"{'ms, workers:':26}" + "".join(f"{number:>9}" for number in numbers)]
    for program, found in summary["programs"].items():
        for name in ("cpu measured", "cpu simulated", "measured", "simulated"):
            lines.append(f"{program:12}{name:14}" + "".join(f"{1e3 * value:9.3f}" for value in found[name]))
        ratios = [a / b for a, b in zip(found["simulated"], found["measured"], strict=True)]
        lines.append(f"{program:12}{'ratio':14}" + "".join(f"{ratio:9.2f}" for ratio in ratios))
        if any(abs(ratio - 1) > ALLOWED for ratio in ratios):
            lines.append(f"{program:12}more than {ALLOWED:.0%} off")
        if found["other_processes"] > quiet.ALLOWED:
            lines.append(f"{program:12}other processes used {found['other_processes']:.1f} cores")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", default="", help=f"some of {','.join(PROGRAMS)}; nothing is saved then")
    parser.add_argument("--workers", default=",".join(map(str, range(1, SCALING_WORKERS + 1))), help="how many")
    parser.add_argument("--rounds", type=int, default=3, help="rounds per number of workers (default %(default)s)")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results"), help="where to save")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    os.environ["OMP_NUM_THREADS"] = "1"
    cores = environments.two_cores()
    numbers = sorted({1, *map(int, given.workers.split(","))})  # one worker is measured for the others
    programs = {}
    for program in given.programs.split(",") if given.programs else PROGRAMS:
        print(f"measuring {program}", file=sys.stderr)
        programs[program] = compare(program, numbers, given.rounds, cores)
    summary = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": {"cpu": report.cpu(), "cores": cores},
        "workers": numbers,
        "programs": programs,
    }
    print(table(summary), flush=True)
    if not given.programs:
        given.results.mkdir(parents=True, exist_ok=True)
        (given.results / "simulated.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Compares placers on several graphs: the step that each foresees, and the step that it gets, on virtual CPU devices.

    python bench/placers.py                              # all graphs and placers; saved in results/placers.json
    python bench/placers.py --graphs lstm --devices 4    # some of them; nothing is saved
    python bench/placers.py --tiny --rounds 1            # does everything run?

Each device computes with one thread, so that two devices are two cores. The costs that all placers reckon with are
measured first, by traced steps on one device and by a chain of nodes that goes to and fro between two. `single` is the
best single device, `hand` what a person would choose. The bar is 1.05 of one device for every placer, foreseen and
measured; round robin is there to be beaten and has none.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import environments
import numpy as np
import quiet

sys.path.insert(0, str(environments.ROOT / "src"))

from workloads.placed_programs import PROGRAMS, Built, Hand

import thalweg as tf
from thalweg.kernels.registry import device_types
from thalweg.optimize.optimize import optimize
from thalweg.optimize.prune import prune
from thalweg.place.cost import CostModel, Link
from thalweg.place.place import pose
from thalweg.place.placers import PLACERS
from thalweg.runtime.pipeline import evaluate

BAR = 1.05
WARM_STEPS, TRACED_STEPS = 3, 5
ROUND_SECONDS = 0.5
PATIENCE_SECONDS = 15
CROSSINGS = 60
ONE, HAND, FREE = "single", "hand", ("first", "round_robin")


@dataclass(slots=True)
class Cell:
    """What came out of one placer on one graph, in seconds."""

    placing: float
    foreseen: float
    measured: float = 0.0
    transfers: int = 0


class Runner:
    """A session whose steps were placed in one way."""

    def __init__(self, built: Built, devices: int, placer: str, costs: str = "") -> None:
        config = tf.ConfigProto(device_count={"CPU": devices, "GPU": 0}, intra_op_parallelism_threads=1)
        config.experimental.placer = placer
        config.experimental.cost_model = costs
        self._built = built
        self.session = tf.Session(graph=built.graph, config=config)
        with built.graph.as_default():
            self.session.run(tf.global_variables_initializer())
        start = time.perf_counter()
        self._step = self.session.make_callable(built.fetches, list(built.feeds))
        self.placing = time.perf_counter() - start
        for _ in range(WARM_STEPS):
            self._step(*built.feeds.values())

    @property
    def placement(self) -> Any:
        return self.session._plan(self._built.fetches, tuple(self._built.feeds)).executable.placement

    def round(self) -> float:
        """Runs steps for about half a second and gives the seconds of one."""
        start, steps = time.perf_counter(), 0
        while steps == 0 or time.perf_counter() - start < ROUND_SECONDS:
            self._step(*self._built.feeds.values())
            steps += 1
        return (time.perf_counter() - start) / steps

    def trace(self, costs: CostModel) -> None:
        """Teaches a cost model what the nodes of this step take."""
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        nodes = list(self.placement.devices)
        for _ in range(TRACED_STEPS):
            metadata = tf.RunMetadata()
            self.session.run(self._built.fetches, self._built.feeds, options, metadata)
            costs.learn(metadata.step_stats, nodes)


def link() -> Link:
    """Measures what a transfer costs: a chain of small nodes on two devices in turns, and the same on one."""
    seconds = []
    for devices in (1, 2):
        with tf.Graph().as_default() as graph:
            x = y = tf.placeholder(tf.float32, [2], name="x")
            for i in range(CROSSINGS):
                with tf.device(f"/cpu:{i % devices}"):
                    y = tf.sin(y)
        runner = Runner(Built(graph, y, {x: np.zeros(2, np.float32)}), devices, "")
        seconds.append(median(runner.round() for _ in range(3)))
        runner.session.close()
    each = max(seconds[1] - seconds[0], 0.0) / CROSSINGS
    return Link(each / 2, 1e12, each / 2)


def foreseen_by_hand(runner: Runner, built: Built, costs: CostModel) -> tuple[float, int]:
    """Simulates a step that nobody has to place."""
    session = runner.session
    tensors = [built.fetches] if isinstance(built.fetches, tf.Tensor) else []
    step = prune(list(built.feeds), tensors, [] if tensors else [built.fetches])
    optimize(step, session._config.graph_options, lambda node: evaluate(node, session._devices[0]))
    schedule = pose(step, [device.name for device in session._devices], device_types, costs=costs).simulate({})
    return schedule.finish, schedule.transfers


def measure(name: str, given: argparse.Namespace, between: Link) -> dict[str, Cell]:
    """Places one graph by every placer and by hand, and runs all of them in turns."""
    free, by_hand = (PROGRAMS[name](Hand(devices), given.tiny) for devices in (0, given.devices))
    costs = CostModel(links={"CPU>CPU": between})
    first = Runner(free, 1, "")
    first.trace(costs)
    first.session.close()
    runners: dict[str, Runner] = {}
    cells: dict[str, Cell] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "costs.json")
        costs.save(path)
        for placer in PLACERS:
            if placer != "first":  # on equal devices it is one device
                runner = runners[placer] = Runner(free, given.devices, placer, path)
                schedule = runner.placement.schedule
                cells[placer] = Cell(runner.placing, schedule.finish, transfers=schedule.transfers)
    runners[HAND] = Runner(by_hand, given.devices, "")
    finish, transfers = foreseen_by_hand(runners[HAND], by_hand, costs)
    cells[HAND] = Cell(runners[HAND].placing, finish, transfers=transfers)
    rounds: dict[str, list[float]] = {placer: [] for placer in runners}
    quiet.wait([], 0 if given.tiny else PATIENCE_SECONDS)
    for _ in range(given.rounds):
        for placer, runner in runners.items():
            rounds[placer].append(runner.round())
    for placer, seconds in rounds.items():
        cells[placer].measured = median(seconds)
        runners[placer].session.close()
    return cells


def table(name: str, cells: dict[str, Cell]) -> str:
    """Writes a graph's results: times in milliseconds and as parts of one device's."""
    one = cells[ONE]
    heads = ("placing s", 10), ("foreseen ms", 13), ("of one", 8), ("measured ms", 13), ("of one", 8), ("sent", 7)
    lines = [f"{name:14}" + "".join(f"{head:>{width}}" for head, width in heads) + "  verdict"]
    for placer, cell in cells.items():
        ratios = cell.foreseen / one.foreseen, cell.measured / one.measured
        verdict = "-" if placer in (*FREE, HAND) else "met" if max(ratios) <= BAR else "MISSED"
        lines.append(
            f"  {placer:12}{cell.placing:10.2f}{1e3 * cell.foreseen:13.3f}{ratios[0]:8.2f}"
            f"{1e3 * cell.measured:13.3f}{ratios[1]:8.2f}{cell.transfers:7}  {verdict}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--graphs", default="", help=f"some of {','.join(PROGRAMS)}; nothing is saved then")
    parser.add_argument("--devices", type=int, default=2, help="virtual CPU devices (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds a placer (default %(default)s)")
    parser.add_argument("--tiny", action="store_true", help="small graphs, to see that all runs; nothing is saved")
    given = parser.parse_args()
    wanted = given.graphs.split(",") if given.graphs else list(PROGRAMS)
    if not set(wanted) <= set(PROGRAMS):
        parser.error(f"no such graph: {', '.join(sorted(set(wanted) - set(PROGRAMS)))}")
    between = link()
    print(f"a transfer takes {1e6 * (between.latency + between.overhead):.0f} us")
    results: dict[str, dict[str, Any]] = {}
    for name in wanted:
        cells = measure(name, given, between)
        results[name] = {placer: asdict(cell) for placer, cell in cells.items()}
        print(table(name, cells), flush=True)
    if not given.graphs and not given.tiny:
        path = Path(__file__).with_name("results") / "placers.json"
        path.write_text(json.dumps({"devices": given.devices, "graphs": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

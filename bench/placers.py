"""Compares placers on several graphs: simulated and measured step times.

    python bench/placers.py                              # all graphs and placers; saved in results/placers.json
    python bench/placers.py --graphs lstm --devices 4    # some of them; nothing is saved
    python bench/placers.py --tiny --rounds 1            # only checks that everything runs

The devices are virtual CPU devices with one thread each, so that two devices are two cores; if there is a GPU,
everything is repeated with one CPU device and the GPU. The cost model is measured first: speeds, links and contention
of the devices, then the nodes of each graph by traced steps on one device. `single` is the best single device, `hand` a
manual placement, `tried` a learned placement refined by running the step. The target is 1.05 of one device for every
placer, simulated and measured; round robin is a baseline without a target. `ratio` is the measured step time over the
simulated one: 1.00 if the simulator is exact.

Other processes on the same cores make two devices slower than one. Disturbed measurements are repeated a few times, and
reported if they are still disturbed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import environments
import quiet

sys.path.insert(0, str(environments.ROOT / "src"))

import placed_report
from workloads.placed_programs import PROGRAMS, Built, Hand

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.optimize import optimize
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.compiler.place.place import make_problem
from thalweg._src.compiler.place.placers import PLACERS
from thalweg._src.runtime.kernels.registry import device_types
from thalweg._src.runtime.passes import evaluate
from thalweg._src.runtime.session.learned_placement import initialize, learn_placement
from thalweg._src.runtime.session.measured_costs import learn_costs, measure_costs, time_of

WARM_STEPS = 2
ROUND_SECONDS = 0.3
PATIENCE_SECONDS = 15
ATTEMPTS = 3  # of disturbed measurements
ONE, HAND, TRIED = placed_report.ONE, placed_report.HAND, placed_report.TRIED

Result = TypeVar("Result")


@dataclass(slots=True)
class Cell:
    """The results of one placer on one graph: seconds of placement, and of a step."""

    placing: float
    simulated: float
    transfers: int = 0
    rounds: list[float] = field(default_factory=list)


def calmly(work: Callable[[], Result], patient: bool) -> Result:
    """Calls a function while other processes are idle; repeats it a few times if they are not."""
    for attempt in range(ATTEMPTS if patient else 1):
        quiet.wait([], PATIENCE_SECONDS if patient else 0)
        others = quiet.Others([])
        result = work()
        busy = others.cores()
        if busy <= quiet.ALLOWED:
            break
        if patient and attempt == ATTEMPTS - 1:
            print(f"costs were measured while other processes used {busy:.1f} cores")
    return result


class Runner:
    """A session that uses one placement."""

    def __init__(self, built: Built, config: Any) -> None:
        self._built = built
        self.session = tf.Session(graph=built.graph, config=config)
        initialize(self.session)
        start = time.perf_counter()
        self._step = self.session.make_callable(built.fetches, list(built.feeds))
        self.placing = time.perf_counter() - start
        self.placement = self.session._plan(built.fetches, tuple(built.feeds)).executable.placement
        for _ in range(WARM_STEPS):
            self._step(*built.feeds.values())

    @property
    def schedule(self) -> Any:
        return self.placement.schedule

    def round(self) -> float:
        """Runs steps for a short time and returns the seconds of one."""
        return time_of(lambda: self._step(*self._built.feeds.values()), ROUND_SECONDS)


class Machine:
    """Devices, the session configuration that uses them, and their cost model."""

    def __init__(self, cpus: int, gpus: int, folder: str, patient: bool) -> None:
        self.patient = patient
        self.count = {"CPU": cpus, "GPU": gpus}
        self.by_hand = ["/gpu:0"] if gpus else [f"/cpu:{i}" for i in range(cpus)]
        self.costs = calmly(lambda: measure_costs(self.config()), patient)
        self._path = str(Path(folder) / "costs.json")
        self.policy = str(Path(folder) / "policy.json")

    def config(self, placer: str = "", measured: bool = False) -> Any:
        config = tf.ConfigProto(device_count=self.count, intra_op_parallelism_threads=1, allow_soft_placement=True)
        config.experimental.placer = placer
        config.experimental.cost_model = self._path if measured else ""
        return config

    def learn(self, built: Built) -> CostModel:
        """Measures the nodes of a graph on each device type, and saves them in the cost model file of the placers."""
        costs = CostModel.from_json(self.costs.to_json())
        for count in ({"CPU": 1, "GPU": 0}, {"CPU": 1, "GPU": 1}):
            if count["GPU"] <= self.count["GPU"]:
                config = self.config()
                config.device_count.update(count)
                with tf.Session(graph=built.graph, config=config) as session:
                    initialize(session)
                    learn_costs(session, built.fetches, built.feeds, costs)
        costs.save(self._path)
        return costs


def simulated_by_hand(runner: Runner, built: Built, costs: CostModel) -> tuple[float, int]:
    """Simulates the step of a manually placed graph."""
    session = runner.session
    tensors = [built.fetches] if isinstance(built.fetches, tf.Tensor) else []
    step = step_graph(list(built.feeds), tensors, [] if tensors else [built.fetches])
    optimize(step, session._config.graph_options, lambda node: evaluate(node, session._backend.placed[0]))
    names = [device.name for device in session._backend.placed]
    schedule = make_problem(step, names, device_types, soft=True, costs=costs).simulate({})
    return schedule.finish, schedule.transfers


def measure(name: str, machine: Machine, given: argparse.Namespace) -> dict[str, Cell]:
    """Places one graph by every placer, and measures all placements alternately."""
    free, by_hand = (PROGRAMS[name](Hand(devices), given.tiny) for devices in ((), machine.by_hand))
    costs = calmly(lambda: machine.learn(free), machine.patient)
    cells: dict[str, Cell] = {}
    kept: dict[Any, Runner] = {}
    same: dict[Any, list[str]] = {}

    def keep(placer: str, runner: Runner) -> Runner:
        """Adds a runner, unless another one has the same placement and so the same program."""
        key = tuple(sorted((node.name, device) for node, device in runner.placement.devices.items()))
        same.setdefault(key, []).append(placer)
        if kept.setdefault(key, runner) is not runner:
            runner.session.close()
        return runner

    for placer in PLACERS:
        if placer != "first":  # equal to a single device, if that is best or all devices are equal
            runner = Runner(free, machine.config(placer, measured=True))
            cells[placer] = Cell(runner.placing, runner.schedule.finish, runner.schedule.transfers)
            keep(placer, runner)
    start = time.perf_counter()
    config, tries = machine.config(measured=True), {"trials": given.trials, "heats": 2, "seconds": ROUND_SECONDS}
    learn_placement(free.fetches, free.feeds, config, path=machine.policy, graph=free.graph, **tries)
    tried = time.perf_counter() - start
    runner = Runner(free, machine.config(machine.policy, measured=True))
    cells[TRIED] = Cell(tried, runner.schedule.finish, runner.schedule.transfers)
    keep(TRIED, runner)
    runner = Runner(by_hand, machine.config())
    cells[HAND] = Cell(runner.placing, *simulated_by_hand(runner, by_hand, costs))
    keep(HAND, runner)
    for key, rounds in run(kept, given).items():
        for placer in same[key]:
            cells[placer].rounds = rounds
    for runner in kept.values():
        runner.session.close()
    return cells


def run(runners: dict[Any, Runner], given: argparse.Namespace) -> dict[Any, list[float]]:
    """Runs all alternately; rounds that other processes disturbed are repeated, up to as many again."""
    rounds: dict[Any, list[float]] = {key: [] for key in runners}
    spare = 0 if given.tiny else given.rounds
    quiet.wait([], 0 if given.tiny else PATIENCE_SECONDS)
    done = 0
    while done < given.rounds:
        others = quiet.Others([])
        seconds = {key: runner.round() for key, runner in runners.items()}
        if others.cores() > quiet.ALLOWED and spare > 0:
            spare -= 1
            continue
        done += 1
        for key, value in seconds.items():
            rounds[key].append(value)
    return rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--graphs", default="", help=f"some of {','.join(PROGRAMS)}; nothing is saved then")
    parser.add_argument("--devices", type=int, default=2, help="virtual CPU devices (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per placer (default %(default)s)")
    parser.add_argument("--trials", type=int, default=6, help="placements that are measured (default %(default)s)")
    parser.add_argument("--tiny", action="store_true", help="small graphs, as a smoke test; nothing is saved")
    given = parser.parse_args()
    wanted = given.graphs.split(",") if given.graphs else list(PROGRAMS)
    if not set(wanted) <= set(PROGRAMS):
        parser.error(f"no such graph: {', '.join(sorted(set(wanted) - set(PROGRAMS)))}")
    machines = {f"{given.devices} CPU": (given.devices, 0)}
    if tf.test.is_gpu_available():
        machines["CPU and GPU"] = (1, 1)
    results: dict[str, Any] = {}
    for title, (cpus, gpus) in machines.items():
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(cpus, gpus, folder, patient=not given.tiny)
            print(f"{title}: {placed_report.costs_in_words(machine.costs)}")
            graphs = results[title] = {}
            for name in wanted:
                cells = {placer: asdict(cell) for placer, cell in measure(name, machine, given).items()}
                graphs[name] = placed_report.judged(cells)
                print(placed_report.table(name, graphs[name]), flush=True)
    if not given.graphs and not given.tiny:
        placed_report.save(results, Path(__file__).with_name("results"))


if __name__ == "__main__":
    main()

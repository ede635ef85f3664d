"""Measures replicas that train together: a straggler, backup workers, and convergence.

    python bench/replicas.py                        # both parts, saved in results/replicas.json and convergence.png
    python bench/replicas.py --only stragglers      # step times of four workers of which one is late, and peers
    python bench/replicas.py --only convergence     # loss against time and against updates

Four workers and two parameter servers, each a process. In the first part they train the bench's MLP; the last worker
sleeps for 200 ms before each step, or not. The value of a round is the mean time between updates, after the first ones.
In the second part they train on handwritten digits and on a small language, with a worker that is late by 50 ms.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any

import environments
import report
from clusters import free_ports
from peers import PeerError, Worker
from rows import TITLES, US
from workloads.replica_programs import MODES

PEERS = (US, "tensorflow")
TASK = Path(__file__).with_name("replica_worker.py")
WORKERS, SERVERS = 4, 2
LATE = 0.2
SLIGHTLY_LATE = 0.05
WARM_STEPS = 20
STRAGGLERS = [(mode, delay) for delay in (0.0, LATE) for mode in MODES]
BARS = {("backup", LATE): "<= 1.2 of synchronous without a straggler", ("sync", LATE): ">= 200 ms"}
CONVERGENCE_SECONDS = 25.0
SMOOTHED = 25
Seen = list[tuple[float, int, float]]  # time, global step and loss of each step of a worker


@contextmanager
def tasks(peer: str) -> Iterator[list[Worker]]:
    """Starts the processes of a cluster, and yields the workers."""
    counts = {"ps": SERVERS, "worker": WORKERS}
    ports = iter(free_ports(SERVERS + WORKERS))
    jobs = {job: [f"127.0.0.1:{next(ports)}" for _ in range(number)] for job, number in counts.items()}
    places = [(job, task) for job, number in counts.items() for task in range(number)]
    started = [Worker(peer, TASK, OMP_NUM_THREADS="1") for _ in places]
    try:
        with ThreadPoolExecutor(len(started)) as pool:
            list(pool.map(lambda w, p: w.ask("start", jobs=jobs, job=p[0], task=p[1]), started, places))
        yield started[SERVERS:]
    finally:
        for worker in started:
            worker.close()


def train(peer: str, model: str, mode: str, delay: float, steps: int, seconds: float) -> list[Seen]:
    """Trains in a new cluster, the last worker late, and returns what each worker has seen."""
    with tasks(peer) as workers, ThreadPoolExecutor(WORKERS) as pool:
        delays = [0.0] * (WORKERS - 1) + [delay]

        def one(worker: Worker, late: float) -> Seen:
            answer = worker.ask("train", model=model, mode=mode, steps=steps, seconds=seconds, delay=late)
            return [tuple(seen) for seen in answer["seen"]]

        # The cluster ends with its chief: a worker that waits for another round is stopped with its process.
        pending = [pool.submit(one, *arguments) for arguments in zip(workers, delays)]
        chief = pending[0].result()
        for worker in workers[1:]:
            worker.close()
        rest = [future.result() if future.exception() is None else [] for future in pending[1:]]
    return [chief, *rest]


def seconds_per_update(seen: Seen) -> float:
    """Returns the mean time between updates of the model, as one worker has seen them."""
    warm = [(moment, step) for moment, step, _ in seen if step >= WARM_STEPS]
    return (warm[-1][0] - warm[0][0]) / (warm[-1][1] - warm[0][1])


def stragglers(peers: list[str], rounds: int) -> dict[str, Any]:
    """Measures the time of an update with and without a straggler; peers alternate."""
    times: dict[str, dict[str, list[float]]] = {_key(*case): {} for case in STRAGGLERS}
    notes = []
    for _ in range(rounds):
        for mode, delay in STRAGGLERS:
            steps = WARM_STEPS + (30 if mode == "sync" and delay else 300)
            for peer in peers:
                print(f"measuring {peer}, {mode}, straggler {delay * 1e3:.0f} ms", file=sys.stderr)
                try:
                    seen = train(peer, "mlp", mode, delay, steps, 60.0)
                    times[_key(mode, delay)].setdefault(peer, []).append(seconds_per_update(seen[0]))
                except PeerError as error:
                    notes.append(f"{TITLES[peer]}, {mode}: {error}")
    return {"times": times, "notes": notes}


def _key(mode: str, delay: float) -> str:
    return f"{MODES[mode]}, {f'straggler of {delay * 1e3:.0f} ms' if delay else 'no straggler'}"


def table(summary: Any) -> str:
    """Returns the medians in milliseconds, and the ratio to synchronous steps without a straggler."""
    lines = [f"{'ms per update':48}" + "".join(f"{TITLES[peer]:>14}" for peer in PEERS) + f"{'ratio':>8}  bar"]
    base = median(summary["times"][_key("sync", 0.0)][US])
    for case in STRAGGLERS:
        times = summary["times"][_key(*case)]
        cells = "".join(f"{median(times[peer]) * 1e3:14.2f}" if peer in times else f"{'-':>14}" for peer in PEERS)
        ratio = f"{median(times[US]) / base:8.2f}" if US in times else ""
        lines.append(f"{_key(*case):48}{cells}{ratio}  {BARS.get(case, '')}")
    return "\n".join([*lines, *(f"note: {note}" for note in summary["notes"])])


def convergence() -> dict[str, Any]:
    """Trains two models in each mode; returns the curves of the chief."""
    curves: dict[str, dict[str, Any]] = {}
    for model in ("digits", "language"):
        for mode in MODES:
            print(f"training {model}, {mode}", file=sys.stderr)
            seen = train(US, model, mode, SLIGHTLY_LATE, 10**6, CONVERGENCE_SECONDS)[0]
            start = seen[0][0]
            curves.setdefault(model, {})[mode] = [(moment - start, step, loss) for moment, step, loss in seen]
    return {"curves": curves}


def draw_convergence(summary: Any, path: Path) -> None:
    """Draws loss against time and against updates, smoothed, one row per model."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    colours = dict(zip(MODES, ("#d1495b", "#1f6fb4", "#2a9d5c")))
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(summary["curves"]), 2, squeeze=False)
    for (left, right), (model, modes) in zip(axes, summary["curves"].items()):
        for mode, points in modes.items():
            smooth = [fmean(p[2] for p in points[max(0, i - SMOOTHED) : i + 1]) for i in range(len(points))]
            left.plot([p[0] for p in points], smooth, color=colours[mode], label=MODES[mode])
            right.plot([p[1] for p in points], smooth, color=colours[mode], label=MODES[mode])
        for axis, what in ((left, "seconds"), (right, "updates")):
            axis.set_title(f"{model}: loss against {what}", fontsize=10, loc="left", color=report.INK)
            axis.set_xlabel(what, fontsize=9, color=report.INK)
            axis.set_yscale("log")
            axis.tick_params(labelsize=8, colors=report.PALE)
            for side in ("top", "right"):
                axis.spines[side].set_visible(False)
        right.set_xscale("log")
    axes[0][0].legend(frameon=False, fontsize=9)
    machine, late = summary["machine"], f"one late by {SLIGHTLY_LATE * 1e3:.0f} ms"
    title = f"{WORKERS} workers, {late}, {SERVERS} parameter servers, {machine['cores']} cores ({machine['cpu']})"
    figure.suptitle(f"{title}, {summary['date']}", fontsize=11, color=report.INK)
    figure.savefig(path, dpi=120, facecolor="white")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=["stragglers", "convergence"], help="one of the parts")
    parser.add_argument("--peers", default=",".join(PEERS), help="of the first part (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the first part (default %(default)s)")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results"), help="where to save")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    cores = environments.two_cores()
    about = {"date": time.strftime("%Y-%m-%d"), "machine": {"cpu": report.cpu(), "cores": cores}}
    given.results.mkdir(parents=True, exist_ok=True)
    if given.only != "convergence":
        summary = {**about, **stragglers(given.peers.split(","), given.rounds)}
        print(table(summary), flush=True)
        (given.results / "replicas.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    if given.only != "stragglers":
        summary = {**about, **convergence()}
        draw_convergence(summary, given.results / "convergence.png")


if __name__ == "__main__":
    main()

"""Measures steps of 1 to 8 workers that fetch from two parameter servers at the same time.

    python bench/cluster_scaling.py                                     # saved in results/cluster_scaling.*
    python bench/cluster_scaling.py --curves scalar --peers tensorflow  # some, nothing saved

Figure 6 of the OSDI paper on one machine: a step fetches a scalar from each parameter server, or 1 MB or 10 MB in
all, or 32 random rows of a table; the worker reads one element of what it receives, or adds the rows. Every task is
a process, every worker has its own session, and workers do not wait for each other. The value of a round is the mean
time of a step over the workers that run; the table and the figure show the medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import environments
import report
from clusters import Cluster
from peers import PeerError
from rows import TITLES, US, Row, Target
from run import Bench
from workloads.data import LOOKED_UP, SCALING_WORKERS

PEERS = (US, "tensorflow")
NUMBERS = range(1, SCALING_WORKERS + 1)
ROUND_SECONDS = 1.0
CURVES = {"scalar": "scalar", "dense_1mb": "dense, 1 MB", "dense_10mb": "dense, 10 MB", "sparse": f"{LOOKED_UP} rows"}


class Scaling(Bench):
    """The clusters of all peers, and their step times for each number of workers."""

    def curve(self, curve: str) -> None:
        """Measures one kind of fetch; the tasks of all peers exist at the same time and are measured alternately."""
        names = []
        for name, cluster in self.workers.items():
            try:
                cluster.ask("prepare", workload=f"scale_{curve}")
                names.append(name)
            except PeerError as error:
                self.note(name, curve, error)
        for number in NUMBERS:
            row = Row(f"{curve}_{number}", f"{CURVES[curve]}, {number}", "ms", 1e3, Target(1.0, PEERS[1:]), PEERS)
            self._rounds(row, names, self.rounds, partial(self._mean, number))
        for name in names:
            self.workers[name].ask("forget")

    def _mean(self, number: int, name: str) -> float:
        cluster = self.workers[name]
        assert isinstance(cluster, Cluster)
        return fmean(cluster.together(number, ROUND_SECONDS))


def table(summary: Any) -> str:
    """Returns the medians in milliseconds, one line per curve and peer, one column per number of workers."""
    lines = [f"{'ms, workers:':26}" + "".join(f"{number:>9}" for number in NUMBERS)]
    for title, peers in summary["curves"].items():
        for peer, rounds in peers.items():
            cells = "".join(f"{median(values):9.3f}" for values in rounds)
            lines.append(f"{title:14}{TITLES[peer]:12}{cells}")
    return "\n".join([*lines, *(f"note: {note}" for note in summary["notes"])])


def save(summary: Any, folder: Path) -> None:
    """Writes JSON and, if matplotlib is installed, the figure."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cluster_scaling.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    try:
        draw(summary, folder / "cluster_scaling.png")
    except ImportError as error:
        print(f"no figure: {error}; pip install matplotlib")


def draw(summary: Any, path: Path) -> None:
    """Draws one panel per curve: the median step time of each peer, and the range of its rounds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.5, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(summary["curves"]), squeeze=False)
    for axis, (title, peers) in zip(axes.flat, summary["curves"].items()):
        for peer, rounds in peers.items():
            colour = report.COLOURS[peer]
            axis.plot(NUMBERS, [median(values) for values in rounds], marker="o", markersize=4, color=colour)
            axis.fill_between(NUMBERS, list(map(min, rounds)), list(map(max, rounds)), color=colour, alpha=0.2, lw=0)
            axis.annotate(
                TITLES[peer],
                (NUMBERS[-1], median(rounds[-1])),
                xytext=(0, 6),
                textcoords="offset points",
                ha="right",
                fontsize=9,
                color=colour,
            )
        axis.set_title(f"{title}, ms per step", fontsize=10, loc="left", color=report.INK)
        axis.set_xlabel("workers", fontsize=9, color=report.INK)
        axis.set_xticks(NUMBERS)
        axis.set_ylim(0)
        axis.tick_params(labelsize=8, colors=report.PALE)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    machine = summary["machine"]
    title = f"Steps of workers that fetch from 2 parameter servers, {machine['cores']} cores ({machine['cpu']})"
    figure.suptitle(f"{title}, {summary['date']}", fontsize=12, color=report.INK)
    figure.savefig(path, dpi=130, facecolor="white")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--curves", default="", help=f"some of {','.join(CURVES)}; nothing is saved then")
    parser.add_argument("--peers", default="", help=f"some of {','.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=3, help="rounds per number of workers (default %(default)s)")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results"), help="where to save")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    cores = environments.two_cores()
    bench = Scaling(given.peers.split(",") if given.peers else list(PEERS), given.rounds, Cluster)
    curves = given.curves.split(",") if given.curves else list(CURVES)
    try:
        for curve in curves:
            print(f"measuring {curve}", file=sys.stderr)
            bench.curve(curve)
    finally:
        bench.close()
    summary = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": {"cpu": report.cpu(), "cores": cores},
        "versions": bench.versions,
        "curves": {CURVES[curve]: _rounds(bench, curve) for curve in curves},
        "notes": bench.notes,
    }
    print(table(summary), flush=True)
    if not given.curves:
        save(summary, given.results)


def _rounds(bench: Bench, curve: str) -> dict[str, list[list[float]]]:
    """Returns the rounds of every number of workers, of the peers that have them all."""
    points = [bench.results[f"{curve}_{number}"] for number in NUMBERS]
    return {peer: [point[peer] for point in points] for peer in PEERS if all(peer in point for point in points)}


if __name__ == "__main__":
    main()

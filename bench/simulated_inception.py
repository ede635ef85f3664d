"""Simulates Inception-v3 on 17 parameter servers, as in section 6.3 of the OSDI paper, and draws it beside the paper's.

    python bench/simulated_inception.py               # prints the tables of docs/simulate.md and draws its figure
    python bench/simulated_inception.py figure.png    # draws it elsewhere

What the paper does not say is assumed or fitted; docs/simulate.md says which is which.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import environments

sys.path.insert(0, str(environments.ROOT / "src"))

from thalweg._src.compiler.place.cost import Link
from thalweg._src.tools.simulate.run import simulate
from thalweg._src.tools.simulate.scenario import Compute, Scenario, even_shards

FIGURE = environments.ROOT / "docs" / "images" / "simulated_inception.png"
WORKERS = (25, 50, 100, 200)
PAPER = {"async": (451, 893, 1639, 2330), "sync": (418, 800, 1471, 2126)}  # images per second
PAPER_BACKUPS = {0: 2.27, 4: 1.93}  # median seconds of a step with 50 workers
BACKUPS = range(6)
STEPS = 100
SEED = 0

INCEPTION = Scenario(
    shards=even_shards(27e6 * 4, 17),
    batch=32,
    compute=Compute(1.74, sigma=0.02, straggler=0.05, mean_delay=0.1),
    link=Link(1e-4, 1.25e9),
    ps_link=Link(0.0, 1.25e9),
    apply=455e6,
    accumulate=920e6,
    buckets=4,
)
# The paper's steps with backup workers are slower than its throughput with 50 workers says: another run, fitted apart.
WITH_BACKUPS = replace(INCEPTION, mode="sync", workers=50, compute=replace(INCEPTION.compute, mean_delay=0.4))


def throughput() -> dict[str, list[float]]:
    """Returns the simulated images per second by mode, one for each number of workers."""
    return {
        mode: [simulate(replace(INCEPTION, mode=mode, workers=n), STEPS, SEED).throughput for n in WORKERS]
        for mode in PAPER
    }


def backup_steps() -> list[float]:
    """Returns the simulated median step of 50 workers, one for each number of backup workers."""
    return [simulate(replace(WITH_BACKUPS, backups=b), STEPS, SEED).median for b in BACKUPS]


def tables(images: dict[str, list[float]], steps: list[float]) -> str:
    """Returns the tables of the documentation."""
    lines = ["| workers | async, paper | simulated | ratio | sync, paper | simulated | ratio |", "|" + "---:|" * 7]
    for i, number in enumerate(WORKERS):
        cells = [f"{number}"]
        for mode, paper in PAPER.items():
            cells += [f"{paper[i]:,}", f"{images[mode][i]:,.0f}", f"{images[mode][i] / paper[i]:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| backup workers | paper, s | simulated, s | ratio |", "|---:|---:|---:|---:|"]
    for number, step in zip(BACKUPS, steps):
        paper = PAPER_BACKUPS.get(number)
        lines.append(f"| {number} | {paper or '-'} | {step:.2f} | {f'{step / paper:.2f}' if paper else '-'} |")
    return "\n".join(lines)


def draw(images: dict[str, list[float]], steps: list[float], path: Path) -> None:
    """Draws the simulated curves as lines and the paper's figures as rings."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for (mode, paper), colour in zip(PAPER.items(), ("#0b6e99", "#d9674c")):
        left.plot(WORKERS, images[mode], color=colour, label=f"{mode}, simulated")
        left.plot(WORKERS, paper, "o", color=colour, fillstyle="none", label=f"{mode}, paper")
    left.plot([0, 200], [0, 200 * PAPER["async"][0] / 25], color="#c0c0c0", lw=0.8, zorder=0)
    right.plot(BACKUPS, steps, color="#d9674c", marker=".")
    right.plot(list(PAPER_BACKUPS), list(PAPER_BACKUPS.values()), "o", color="#d9674c", fillstyle="none")
    _describe(left, "images per second", "workers (grey: linear)", (0, 3000))
    _describe(right, "seconds per step, 50 workers, median", "backup workers", (1.7, 2.4))
    left.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=130, facecolor="white")


def _describe(axis: Any, title: str, label: str, limits: tuple[float, float]) -> None:
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xlabel(label, fontsize=9)
    axis.set_ylim(*limits)
    axis.tick_params(labelsize=8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def main() -> None:
    images, steps = throughput(), backup_steps()
    print(tables(images, steps))
    draw(images, steps, Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURE)


if __name__ == "__main__":
    main()

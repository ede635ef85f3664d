"""Results of the placer benchmark as a table, as JSON and as a figure."""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path
from statistics import median
from typing import Any

from report import DASHES, INK, PALE, VERDICTS, cpu

TARGET = 1.05
ONE, HAND, TRIED = "single", "hand", "tried"
FREE = ("first", "round_robin", HAND)  # have no target
SIMULATED, MEASURED = "#7fb3c8", "#0b6e99"


def costs_in_words(costs: Any) -> str:
    """Returns a description of the measured costs of the devices."""
    links = [f"{pair} {1e6 * (link.latency + link.overhead):.0f} us" for pair, link in costs.links.items()]
    slowdowns = [f"{type} +{share:.0%}" for type, share in costs.contention.items()]
    start = f"the start of a segment {1e6 * costs.segment:.0f} us"
    return (
        f"transfers {', '.join(links)}; {start}; contention per other busy device: {', '.join(slowdowns) or 'nothing'}"
    )


def judged(cells: dict[str, Any]) -> dict[str, Any]:
    """Adds to each placer the median of its rounds, relative to one device, and whether it meets the target."""
    one = cells[ONE]
    for placer, cell in cells.items():
        cell["measured"] = median(cell["rounds"])
        cell["of_one"] = cell["measured"] / median(one["rounds"])
        cell["simulated_of_one"] = cell["simulated"] / one["simulated"]
        cell["ratio"] = cell["measured"] / cell["simulated"]
        worst = max(
            cell["of_one"], 0.0 if placer == TRIED else cell["simulated_of_one"]
        )  # `tried` was chosen by measurement, not by simulation
        cell["met"] = None if placer in FREE else worst <= TARGET
    return cells


def table(name: str, cells: dict[str, Any]) -> str:
    """Returns the results of a graph: times in milliseconds and relative to one device."""
    heads = ("placing s", 10), ("simulated ms", 13), ("of one", 8), ("measured ms", 13), ("of one", 8)
    heads += ("ratio", 8), ("sent", 7)
    lines = [f"{name:15}" + "".join(f"{head:>{width}}" for head, width in heads) + "  verdict"]
    for placer, cell in cells.items():
        verdict = {None: "-", True: "met", False: "MISSED"}[cell["met"]]
        lines.append(
            f"  {placer:13}{cell['placing']:10.2f}{1e3 * cell['simulated']:13.3f}{cell['simulated_of_one']:8.2f}"
            f"{1e3 * cell['measured']:13.3f}{cell['of_one']:8.2f}{cell['ratio']:8.2f}{cell['transfers']:7}  {verdict}"
        )
    return "\n".join(lines)


def save(results: dict[str, Any], folder: Path) -> None:
    """Writes JSON and, if matplotlib is installed, the figure."""
    machine = {"cpu": cpu(), "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}
    summary = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "target": TARGET, "devices": results}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "placers.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    try:
        draw(summary, folder / "placers.png")
    except ImportError as error:
        print(f"no figure: {error}; pip install matplotlib")


def draw(summary: Any, path: Path) -> None:
    """Draws one panel per graph: two bars per placer, simulated and measured, relative to one device."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [(title, name, cells) for title, graphs in summary["devices"].items() for name, cells in graphs.items()]
    columns = 3
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(13.5, 3.4 * lines + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(lines, columns, squeeze=False)
    for axis, (title, name, cells) in zip(axes.flat, panels):
        _panel(axis, f"{name} on {title}", cells)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    machine = summary["machine"]
    title = f"Placers on {machine['cpu']}, {machine['cores']} cores: a step as part of the best single device's"
    words = f"pale: simulated, dark: measured; dashed: the target, {summary['target']}; {summary['date']}"
    figure.suptitle(f"{title}\n{words}", fontsize=12, color=INK)
    figure.savefig(path, dpi=130, facecolor="white")


def _panel(axis: Any, title: str, cells: dict[str, Any]) -> None:
    for place, cell in enumerate(cells.values()):
        for offset, key, colour in ((-0.19, "simulated_of_one", SIMULATED), (0.19, "of_one", MEASURED)):
            axis.barh(place + offset, cell[key], height=0.36, color=colour)
            axis.annotate(
                f"{cell[key]:.2f}",
                (cell[key], place + offset),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=7.5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                color=VERDICTS[cell["met"]] if key == "of_one" else PALE,
            )
    axis.axvline(TARGET, color=INK, linestyle=DASHES, linewidth=1.0)
    axis.set_yticks(range(len(cells)), list(cells), fontsize=8.5, color=INK)
    axis.set_ylim(len(cells) - 0.4, -0.6)
    axis.set_xlim(0, 1.15 * max(TARGET, *(max(cell["of_one"], cell["simulated_of_one"]) for cell in cells.values())))
    axis.set_title(title, fontsize=10, loc="left", color=INK)
    axis.tick_params(axis="x", labelsize=8, colors=PALE)
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)

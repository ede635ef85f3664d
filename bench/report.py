"""Results as a table, as JSON and as a figure."""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from statistics import median
from typing import Any

from rows import GRAPH_PHASES, GRAPH_SIZES, ROWS, TITLES, US, Row

COLOURS = {
    "thalweg": "#0b6e99",
    "thalweg_reference": "#7fb3c8",
    "tensorflow": "#e8a33d",
    "tensorflow_v2": "#f2cd92",
    "jax": "#8f7cc0",
    "torch": "#d9674c",
    "torch_compile": "#e6b0a3",
    "plain": "#9aa5a0",
}
INK, PALE = "#2b2b2b", "#8a8a8a"
VERDICTS = {None: PALE, True: "#2e7d32", False: "#c62828"}
DASHES = (0, (4, 3))
COLUMNS = 3


def summary(results: dict[str, dict[str, list[float]]], versions: dict[str, str], notes: list[str], cores: int) -> Any:
    """Returns everything that is saved: machine, versions, and each row with its rounds, medians and target."""
    rows = []
    for row in ROWS:
        if row.name not in results:
            continue
        rounds = {peer: values for peer, values in results[row.name].items() if values}
        medians = {peer: median(values) for peer, values in rounds.items()}
        target = row.target
        limit = target.limit(medians) if target else None
        rows.append(
            {
                "name": row.name,
                "title": row.title,
                "unit": row.unit,
                "target": target.words() if target else "",
                "limit": limit,
                "ratio": medians[US] / limit if US in medians and limit else None,
                "met": target.met(medians) if target else None,
                "medians": medians,
                "rounds": rounds,
            }
        )
    sizes = {name: values for name, values in results.items() if name.rsplit("_", 1)[-1].isdigit()}
    machine = {"cpu": cpu(), "cores": cores, "python": platform.python_version(), "system": platform.system()}
    when = time.strftime("%Y-%m-%d")
    return {
        "date": when,
        "machine": machine,
        "versions": versions,
        "rows": rows,
        "graph_sizes": sizes,
        "notes": notes,
    }


def cpu() -> str:
    """Returns the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(summary: Any) -> str:
    """Returns the table as text: medians in the row's unit, Thalweg relative to the limit, and the verdict."""
    peers = [peer for peer in TITLES if any(peer in row["medians"] for row in summary["rows"])]
    head = ["work", "unit", *(TITLES[peer] for peer in peers), "target", "of limit", "verdict"]
    lines = [head]
    for row in summary["rows"]:
        cells = [_figure(row["medians"].get(peer)) for peer in peers]
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        verdict = {None: "no value" if row["target"] else "", True: "met", False: "MISSED"}[row["met"]]
        lines.append([row["title"], row["unit"], *cells, row["target"], ratio, verdict])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    left = {0, 1, len(head) - 3, len(head) - 1}
    text = [
        "  ".join(cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths)))
        for line in lines
    ]
    text.insert(1, "  ".join("-" * width for width in widths))
    versions = ", ".join(f"{TITLES[peer]} {version}" for peer, version in summary["versions"].items())
    machine = summary["machine"]
    text += ["", f"{versions}; {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}"]
    return "\n".join(text + [f"note: {note}" for note in summary["notes"]])


def _figure(value: float | None) -> str:
    """Formats a number with three or four digits."""
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{2 if value >= 0.995 else 3}f}" if value < 100 else f"{value:.1f}"


def save(summary: Any, folder: Path, name: str) -> None:
    """Writes a section's JSON and, if matplotlib is installed, its figure."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    try:
        draw(summary, folder / f"{name}.png")
    except ImportError as error:
        print(f"no figure: {error}; pip install matplotlib")


def draw(summary: Any, path: Path) -> None:
    """Draws one panel per row: one bar per peer, the limit as a dashed line; graphs share a panel of curves."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    graphs = {row["name"]: row for row in summary["rows"] if row["name"].startswith("graph_")}
    rows = [row for row in summary["rows"] if row["name"] not in graphs]
    panels = len(rows) + bool(graphs)
    most = max((len(row["medians"]) for row in rows), default=1)
    lines = -(-panels // COLUMNS)
    figure, axes = plt.subplots(lines, COLUMNS, figsize=(13.5, 2.6 * lines + 0.7), squeeze=False, layout="constrained")
    for axis, row in zip(axes.flat, rows):
        _panel(axis, row, next(known for known in ROWS if known.name == row["name"]), most)
    if graphs:
        _curves(axes.flat[len(rows)], graphs, summary["graph_sizes"])
    for axis in axes.flat[panels:]:
        axis.set_axis_off()
    machine = summary["machine"]
    title = f"Thalweg and its peers on {machine['cores']} cores ({machine['cpu']}), medians, {summary['date']}"
    figure.suptitle(f"{title}\ndashed: the target for Thalweg", fontsize=12, color=INK)
    figure.savefig(path, dpi=130, facecolor="white")
    plt.close(figure)


def _panel(axis: Any, row: Any, known: Row, most: int) -> None:
    """Draws the peers of one row, on a logarithmic axis if they are far apart; every panel has room for `most`."""
    names = [peer for peer in known.peers if peer in row["medians"]]
    if not names:
        axis.set_axis_off()
        return
    values = [row["medians"][name] for name in names]
    marks = [*values, *([row["limit"]] if row["limit"] else [])]
    axis.barh(range(len(names)), values, color=[COLOURS[name] for name in names], height=0.6)
    if max(marks) > 100 * min(marks):
        axis.set_xscale("log")
        axis.set_xlim(min(marks) / 5, max(marks) * 5)
    else:
        axis.set_xlim(0, 1.2 * max(marks))
    if row["limit"] is not None:
        axis.axvline(row["limit"], color=INK, linestyle=DASHES, linewidth=1.2)
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    for place, value in enumerate(values):
        label = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 9, "color": INK}
        axis.annotate(_figure(value), (value, place), bbox=paper, **label)
    axis.set_yticks(range(len(names)), [TITLES[name] for name in names], fontsize=9, color=INK)
    axis.set_ylim(most - 0.5, -0.5)
    unit = f", {row['unit']}" if row["unit"] else ""
    _dress(axis, f"{row['title']}{unit}", f"{row['target']}{_verdict(row, ': ')}", row["met"])


def _curves(axis: Any, graphs: dict[str, Any], sizes: dict[str, dict[str, list[float]]]) -> None:
    """Draws build, gradients and first run over the number of nodes, and their limits at the largest."""
    for phase, colour in zip(GRAPH_PHASES, (COLOURS["thalweg"], COLOURS["torch"], COLOURS["jax"])):
        row = graphs[f"graph_{phase}"]
        if US not in row["medians"]:
            continue
        smaller = [median(sizes[f"graph_{phase}_{nodes}"][US]) for nodes in GRAPH_SIZES[:-1]]
        label = f"{phase.replace('_', ' ')} {_figure(row['medians'][US])} ({row['target']}: {_verdict(row)})"
        axis.plot(GRAPH_SIZES, [*smaller, row["medians"][US]], marker="o", markersize=4, color=colour, label=label)
        axis.plot([0.94 * GRAPH_SIZES[-1], 1.06 * GRAPH_SIZES[-1]], [row["limit"]] * 2, color=colour, linestyle=DASHES)
    axis.set_xticks(GRAPH_SIZES, [f"{nodes:,}" for nodes in GRAPH_SIZES])
    axis.set_ylim(0)
    if axis.lines:
        axis.legend(fontsize=8.5, frameon=False, labelcolor=INK, loc="upper left")
    growth = graphs["graph_growth"]
    words = f"growth: exponent {_figure(growth['medians'].get(US))} ({growth['target']}{_verdict(growth, ': ')})"
    _dress(axis, "graph of n nodes, s", words, growth["met"])


def _verdict(row: Any, before: str = "") -> str:
    return "" if row["met"] is None else before + ("met" if row["met"] else "missed")


def _dress(axis: Any, title: str, words: str, met: bool | None) -> None:
    axis.set_title(title, fontsize=10, loc="left", color=INK, pad=17)
    axis.text(0, 1.035, words, transform=axis.transAxes, fontsize=8.5, color=VERDICTS[met])
    axis.tick_params(axis="x", which="both", labelsize=8, colors=PALE)
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(PALE)

"""Reports of simulations: a table as text, CSV or JSON, and a figure by matplotlib."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._src.base.errors import describe, format_bytes, invalid
from thalweg._src.tools.simulate.result import Result

FORMATS = ("text", "csv", "json")
_IMAGES = (".png", ".svg", ".pdf")
_COLOURS = ("#0b6e99", "#d9674c", "#8f7cc0", "#e8a33d", "#2e7d32", "#9aa5a0")
_INK = "#2b2b2b"


def report(results: Sequence[Result], form: str = "text") -> str:
    """Returns a table with one row per result."""
    rows = [result.as_dict() for result in results]
    if form == "json":
        return json.dumps(rows, indent=2)
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().rstrip("\n")
    return "\n".join(_table(rows))


def seconds(value: float) -> str:
    """Returns a time with its unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if value * factor >= 1 or value == 0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    cells = [_cells(row) for row in rows]
    names = [name for name in cells[0] if any(row[name] for row in cells)]
    lines = [names, *([row[name] or "-" for name in names] for row in cells)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))
        )
        for line in lines
    ]


def _cells(row: dict[str, Any]) -> dict[str, str]:
    """Returns the text of each column; columns that are empty in all rows are left out of the table."""

    def share(name: str) -> str:
        return f"{row[name]:.0%}" if row[name] is not None else ""

    return {
        "mode": row["mode"],
        "workers": str(row["workers"]),
        "backups": str(row["backups"] or ""),
        "step": seconds(row["median"]),
        "p10": seconds(row["p10"]),
        "p90": seconds(row["p90"]),
        "examples/s": _number(row["throughput"]),
        "staleness": _number(row["staleness"]),
        "stale p90": _number(row["staleness_p90"]),
        "moved": format_bytes(row["bytes"]) if row["bytes"] else "",
        "dropped": share("dropped") if row["dropped"] else "",
        "ps sends": share("send") if row["send"] else "",
        "ps receives": share("receive") if row["receive"] else "",
        "ps cpu": share("cpu") if row["cpu"] else "",
        "host cpu": share("host") if row["host"] else "",
        "effective": share("effective") if row["effective"] != 1.0 else "",
    }


def curves(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Returns the results by mode and number of backup workers."""
    by_name: dict[str, list[Result]] = {}
    for result in results:
        scenario = result.scenario
        name = scenario.mode if not scenario.backups else f"{scenario.mode}, {scenario.backups} backups"
        by_name.setdefault(name, []).append(result)
    return by_name


def draw(results: Sequence[Result], path: str | Path) -> None:
    """Draws throughput, step time with its 10th to 90th percentile, and staleness against the number of workers."""
    path = Path(path)
    if path.suffix not in _IMAGES:
        raise invalid(
            describe("the name of a figure has no known ending", expected=", ".join(_IMAGES), received=str(path))
        )
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"a figure needs matplotlib ({error}): pip install matplotlib") from None
    stale = any(result.staleness.size for result in results)
    figure = Figure(figsize=(12.0 if stale else 8.4, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 3 if stale else 2)
    for i, (name, line) in enumerate(curves(results).items()):
        _draw_curve(axes, name, line, _COLOURS[i % len(_COLOURS)])
    for axis, title in zip(axes, ("examples per second", "seconds per step", "staleness in updates")):
        axis.set_title(title, fontsize=10, loc="left", color=_INK)
        axis.set_xlabel("workers", fontsize=9, color=_INK)
        axis.set_ylim(0)
        axis.tick_params(labelsize=8)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=130, facecolor="white")


def _draw_curve(axes: Any, name: str, line: Sequence[Result], colour: str) -> None:
    workers = [result.scenario.workers for result in line]
    style = {"marker": "o", "markersize": 4, "color": colour}
    axes[0].plot(workers, [result.effective * result.throughput for result in line], label=name, **style)
    tenth, median, ninetieth = np.transpose([np.quantile(result.steps, (0.1, 0.5, 0.9)) for result in line])
    axes[1].plot(workers, median, **style)
    axes[1].fill_between(workers, tenth, ninetieth, color=colour, alpha=0.2, lw=0)
    if line[0].staleness.size:
        axes[2].plot(workers, [result.staleness.mean() for result in line], **style)

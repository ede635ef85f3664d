"""Results of a simulation: step times, throughput, staleness, and the use of the parameter servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg._src.tools.simulate.scenario import Scenario, Times


@dataclass(frozen=True, slots=True)
class Result:
    """What a simulated job achieved after its warm-up.

    steps: the seconds of each step; in asynchronous mode, of each step of each worker
    throughput: examples per second whose gradients were applied
    staleness: for each asynchronous step, the updates of others between its pull and its own update
    dropped: the share of gradients that came too late
    utilization: of the busiest parameter server: "send", "receive" and "cpu"; of the one host: "host"
    effective: the share of time that failures leave for training
    """

    scenario: Scenario
    steps: Times
    throughput: float
    staleness: np.ndarray[Any, np.dtype[np.int64]]
    dropped: float = 0.0
    utilization: Mapping[str, float] = field(default_factory=dict)
    effective: float = 1.0

    @property
    def median(self) -> float:
        return float(np.median(self.steps))

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures of a row of a table."""
        tenth, median, ninetieth = (float(quantile) for quantile in np.quantile(self.steps, (0.1, 0.5, 0.9)))
        scenario = self.scenario
        row: dict[str, Any] = {"mode": scenario.mode, "workers": scenario.workers, "backups": scenario.backups}
        row |= {"p10": tenth, "median": median, "p90": ninetieth, "throughput": self.throughput}
        row |= {"staleness": None, "staleness_p90": None}
        if self.staleness.size:
            row["staleness"] = float(self.staleness.mean())
            row["staleness_p90"] = float(np.quantile(self.staleness, 0.9))
        row["bytes"] = bytes_per_step(scenario)
        row["dropped"] = self.dropped
        row |= {name: self.utilization.get(name) for name in ("send", "receive", "cpu", "host")}
        row |= {"effective": self.effective, "effective_throughput": self.effective * self.throughput}
        return row


def bytes_per_step(scenario: Scenario) -> float:
    """Returns the bytes that a worker sends and receives in a step."""
    if scenario.mode == "all_reduce":
        return 4 * (scenario.workers - 1) / scenario.workers * scenario.bytes
    return 2 * scenario.bytes

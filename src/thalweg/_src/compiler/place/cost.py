"""Cost model: time of a node on a device and of a transfer between devices, estimated from shapes or measured."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from thalweg._src.base.devices import task_of
from thalweg._src.base.shapes import show
from thalweg._src.compiler.place.groups import device_type
from thalweg._src.compiler.place.work import Sizes, bytes_accessed, flop_count
from thalweg._src.graph.ir.step_graph import Node

_VERSION = 2
_REMOTE = "remote"


@dataclass(frozen=True, slots=True)
class Speed:
    """Throughput of a device per second, and the seconds that launching a kernel takes."""

    flops: float
    bytes: float
    launch: float


@dataclass(frozen=True, slots=True)
class Link:
    """Latency in seconds, bandwidth in bytes per second, and the seconds that a send occupies the sender."""

    latency: float
    bandwidth: float
    overhead: float = 0.0


# Orders of magnitude for a few cores and a data-centre GPU; a file of measured costs replaces them.
SPEEDS = {"CPU": Speed(5e10, 1e10, 2e-6), "GPU": Speed(2e13, 1.5e12, 6e-6)}
LINKS = {
    "CPU>CPU": Link(4e-5, 1e12, 2e-5),  # virtual devices of one process pass references, not copies
    "CPU>GPU": Link(2e-5, 2e10, 1e-5),
    "GPU>CPU": Link(2e-5, 2e10, 1e-5),
    "GPU>GPU": Link(2e-5, 5e10, 1e-5),
    _REMOTE: Link(2e-4, 1e9, 5e-5),
}
SEGMENT = 3e-5


class CostModel:
    """Estimates the time of nodes and transfers, and the size of tensors.

    speeds: by device type ("GPU") or by the full name of a device
    links: by two device types ("CPU>GPU") or by the full names of two devices; "remote" between tasks
    contention: slowdown of a node per other busy device of the same type and task, by device type: virtual CPU devices
        share cores and memory (1.0 means that two of them are no faster than one)
    segment: the seconds that starting a segment which waited for another device occupies a device
    unknown: the assumed size of an unknown dimension
    iterations: the assumed trip count of a loop that was never measured
    """

    def __init__(
        self,
        speeds: dict[str, Speed] | None = None,
        links: dict[str, Link] | None = None,
        *,
        contention: dict[str, float] | None = None,
        segment: float = SEGMENT,
        unknown: int = 32,
        iterations: int = 16,
    ) -> None:
        self.speeds = SPEEDS | (speeds or {})
        self.links = LINKS | (links or {})
        self.contention = dict(contention or {})
        self.segment = segment
        self.sizes = Sizes(unknown)
        self.iterations = iterations
        self.measured: dict[str, tuple[float, int]] = {}  # mean seconds and number of measurements

    # -- estimates ----------------------------------------------------------------------------------------------------

    def bytes(self, node: Node, index: int) -> int:
        """Returns the size of one output in bytes."""
        return self.sizes.bytes(node.dtypes[index], node.shapes[index])

    def time(self, node: Node, device: str) -> float:
        """Returns the seconds that a node takes on a device; halved for each branch around it, since it may not run."""
        seconds = self._measured(node, device_type(device))
        if seconds is None:
            seconds = self._loop(node, device) if node.type == "_While" else self.estimate(node, device)
        return seconds * 0.5 ** len(node.guard)

    def estimate(self, node: Node, device: str) -> float:
        """Returns the roofline estimate: launch overhead plus the larger of arithmetic and memory time."""
        if node.facts.instant:
            return 0.0
        speed = self.speed(device)
        if node.facts.is_alias or node.facts.shape_only:
            return speed.launch
        work = flop_count(node, self.sizes) / speed.flops
        return speed.launch + max(work, bytes_accessed(node, self.sizes) / speed.bytes)

    def _loop(self, node: Node, device: str) -> float:
        once = sum(self.time(n, device) for graph in node.attrs["region"].graphs() for n in graph.nodes)
        return self.iterations * once

    def speed(self, device: str) -> Speed:
        return self.speeds.get(device) or self.speeds.get(device_type(device)) or self.speeds["CPU"]

    def link(self, source: str, destination: str) -> Link:
        """Returns the link between two devices."""
        exact = self.links.get(f"{source}>{destination}")
        if exact is not None:
            return exact
        if task_of(source) != task_of(destination):
            return self.links[_REMOTE]
        return self.links.get(f"{device_type(source)}>{device_type(destination)}") or self.links["CPU>GPU"]

    def transfer(self, size: float, source: str, destination: str) -> float:
        """Returns the seconds that a transfer between two devices takes."""
        if source == destination:
            return 0.0
        link = self.link(source, destination)
        return link.overhead + link.latency + size / link.bandwidth

    def with_scaled_transfers(self, factor: float) -> CostModel:
        """Returns a model in which transfers between CPU devices, and what they start, cost more by a factor."""
        link = self.links["CPU>CPU"]
        scaled = Link(factor * link.latency, link.bandwidth, factor * link.overhead)
        result = CostModel.from_json(self.to_json())
        result.links["CPU>CPU"], result.segment = scaled, factor * self.segment
        return result

    # -- measurements -------------------------------------------------------------------------------------------------

    def learn(self, step_stats: Any, nodes: Iterable[Node] = (), seconds: float = 0.0) -> int:
        """Adds the times of a traced step (`RunMetadata.step_stats`) and returns how many were used.

        nodes: the nodes of the step; other nodes of the same type and shapes then share the measurements
        seconds: of the same step untraced, if it runs on one CPU device; with it the overhead of tracing, which is
            large for small nodes, is subtracted (an accelerator is timed by events on its stream)
        """
        # A measurement counts for the node by name and, more generally, for its type with these shapes. Tracing adds
        # the same overhead to each node: what the traced nodes of a device sum up to beyond the untraced step is
        # divided among them.
        node_of = {node.name: node for node in nodes}
        traced = [
            (device_type(d.device), stats, *_timed(stats)) for d in step_stats.dev_stats for stats in d.node_stats
        ]
        overhead = 0.0
        alone = len(step_stats.dev_stats) == 1 and all(where == "CPU" for where, *_ in traced)
        if seconds and traced and alone and not any(op_type == "_While" for *_, op_type in traced):
            overhead = max(sum(taken for _, _, taken, _ in traced) - seconds, 0.0) / len(traced)
        for where, stats, taken, op_type in traced:
            taken = max(taken - overhead, 0.1 * taken)
            self._add(f"{where} {stats.node_name} = {op_type}", taken)
            node = node_of.get(stats.node_name)
            if node is not None and node.type == op_type and op_type != "_While":
                self._add(f"{where} {signature(node)}", taken)
        return len(traced)

    def _add(self, key: str, seconds: float) -> None:
        mean, number = self.measured.get(key, (0.0, 0))
        self.measured[key] = (mean + (seconds - mean) / (number + 1), number + 1)

    def _measured(self, node: Node, where: str) -> float | None:
        if not self.measured:
            return None
        mean_and_count = self.measured.get(f"{where} {node.name} = {node.type}")
        if mean_and_count is None and node.type != "_While" and not node.facts.instant:
            mean_and_count = self.measured.get(f"{where} {signature(node)}")
        return None if mean_and_count is None else mean_and_count[0]

    # -- files --------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Returns the model as JSON."""
        content = {
            "version": _VERSION,
            "speeds": {name: asdict(speed) for name, speed in self.speeds.items()},
            "links": {name: asdict(link) for name, link in self.links.items()},
            "contention": self.contention,
            "segment": self.segment,
            "unknown": self.sizes.unknown,
            "iterations": self.iterations,
            "measured": {key: list(value) for key, value in sorted(self.measured.items())},
        }
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> CostModel:
        """Parses the result of `to_json`; raises ValueError if the text is malformed."""
        try:
            content = json.loads(text)
            if content["version"] != _VERSION:
                raise ValueError(f"version {content['version']!r} instead of {_VERSION}")
            costs = cls(
                {name: Speed(**_numbers(fields)) for name, fields in content["speeds"].items()},
                {name: Link(**_numbers(fields)) for name, fields in content["links"].items()},
                contention={name: float(share) for name, share in content.get("contention", {}).items()},
                segment=float(content.get("segment", SEGMENT)),
                unknown=int(content["unknown"]),
                iterations=int(content["iterations"]),
            )
            measured = content["measured"].items()
            costs.measured = {key: (float(mean), int(number)) for key, (mean, number) in measured}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"not a cost model: {error}") from None
        return costs

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> CostModel:
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _numbers(fields: dict[str, Any]) -> dict[str, float]:
    numbers = {name: float(value) for name, value in fields.items()}
    if not all(
        value > 0 or (value == 0 and name in ("launch", "latency", "overhead")) for name, value in numbers.items()
    ):
        raise ValueError(f"speeds and links are positive numbers, not {fields}")
    return numbers


def _timed(stats: Any) -> tuple[float, str]:
    """Returns the seconds and the op type of a traced node."""
    seconds = stats.all_end_rel_nanos / 1e9 or max(stats.all_end_rel_micros, 0.5) / 1e6
    return seconds, stats.timeline_label.partition(" = ")[2].partition("(")[0]


def signature(node: Node) -> str:
    """Returns the key under which measurements of equal nodes are shared: op type and input shapes."""
    inputs = " ".join(f"{producer.dtypes[i].name}{show(producer.shapes[i])}" for producer, i in node.inputs)
    return f"{node.type}({inputs})"

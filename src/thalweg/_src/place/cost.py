"""Costs: how long a node takes on a device and a tensor between two, estimated from shapes or measured in runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.place.groups import kind
from thalweg._src.place.work import Sizes, count, moved
from thalweg._src.shapes import show

_VERSION = 1
_REMOTE = "remote"


@dataclass(frozen=True, slots=True)
class Speed:
    """What a device does in a second, and the seconds that starting a kernel takes."""

    flops: float
    bytes: float
    launch: float


@dataclass(frozen=True, slots=True)
class Link:
    """The seconds until the first byte arrives, the bytes that follow in one, and how long the sender is kept busy."""

    latency: float
    bandwidth: float
    overhead: float = 0.0


# Round numbers of a few cores and of a data-centre GPU; a file of measured costs replaces them.
SPEEDS = {"CPU": Speed(5e10, 1e10, 2e-6), "GPU": Speed(2e13, 1.5e12, 6e-6)}
LINKS = {
    "CPU>CPU": Link(4e-5, 1e12, 2e-5),  # virtual devices of a process: a value is handed over, not copied
    "CPU>GPU": Link(2e-5, 2e10, 1e-5),
    "GPU>CPU": Link(2e-5, 2e10, 1e-5),
    "GPU>GPU": Link(2e-5, 5e10, 1e-5),
    _REMOTE: Link(2e-4, 1e9, 5e-5),
}
SEGMENT = 3e-5


class CostModel:
    """Knows the time of nodes and transfers and the bytes of tensors.

    speeds: of a kind of device ("GPU") or of one device by its full name
    links: between two kinds ("CPU>GPU") or two devices by their full names; "remote" for two tasks
    crowding: how much longer a node takes for each other device of its kind and task that is at work, by kind: virtual
        CPU devices share cores and memory (1.0 means that two of them do no more than one)
    segment: the seconds that a device is kept busy by starting what has waited for a tensor from another one
    unknown: the size taken for a dimension that is not known before the step runs
    iterations: how often a loop is taken to turn that was never measured
    """

    def __init__(
        self,
        speeds: dict[str, Speed] | None = None,
        links: dict[str, Link] | None = None,
        *,
        crowding: dict[str, float] | None = None,
        segment: float = SEGMENT,
        unknown: int = 32,
        iterations: int = 16,
    ) -> None:
        self.speeds = SPEEDS | (speeds or {})
        self.links = LINKS | (links or {})
        self.crowding = dict(crowding or {})
        self.segment = segment
        self.sizes = Sizes(unknown)
        self.iterations = iterations
        self.measured: dict[str, tuple[float, int]] = {}  # mean seconds and how many were measured

    # -- estimates ----------------------------------------------------------------------------------------------------

    def bytes(self, node: Node, index: int) -> int:
        """Returns the memory of one output."""
        return self.sizes.bytes(node.dtypes[index], node.shapes[index])

    def time(self, node: Node, device: str) -> float:
        """Returns the seconds that a node takes on a device; one in a branch counts for half, as it may not run."""
        seconds = self._measured(node, kind(device))
        if seconds is None:
            seconds = self._loop(node, device) if node.type == "_While" else self.estimate(node, device)
        return seconds * 0.5 ** len(node.guard)

    def estimate(self, node: Node, device: str) -> float:
        """Returns what shapes and op type say: the launch, then arithmetic or memory, whichever is slower."""
        if node.facts.instant:
            return 0.0
        speed = self.speed(device)
        if node.facts.is_alias or node.facts.metadata:
            return speed.launch
        work = count(node, self.sizes) / speed.flops
        return speed.launch + max(work, moved(node, self.sizes) / speed.bytes)

    def _loop(self, node: Node, device: str) -> float:
        once = sum(self.time(n, device) for part in node.attrs["region"].parts() for n in part.nodes)
        return self.iterations * once

    def speed(self, device: str) -> Speed:
        return self.speeds.get(device) or self.speeds.get(kind(device)) or self.speeds["CPU"]

    def link(self, source: str, destination: str) -> Link:
        """Returns the link between two devices."""
        exact = self.links.get(f"{source}>{destination}")
        if exact is not None:
            return exact
        if _task(source) != _task(destination):
            return self.links[_REMOTE]
        return self.links.get(f"{kind(source)}>{kind(destination)}") or self.links["CPU>GPU"]

    def transfer(self, size: float, source: str, destination: str) -> float:
        """Returns the seconds that some bytes take from one device to another."""
        if source == destination:
            return 0.0
        link = self.link(source, destination)
        return link.overhead + link.latency + size / link.bandwidth

    def with_hand_overs(self, factor: float) -> CostModel:
        """Returns a model in which handing a value from one CPU device to another costs more by a factor."""
        link = self.links["CPU>CPU"]
        dearer = Link(factor * link.latency, link.bandwidth, factor * link.overhead)
        result = CostModel.from_json(self.to_json())
        result.links["CPU>CPU"], result.segment = dearer, factor * self.segment
        return result

    # -- measurements -------------------------------------------------------------------------------------------------

    def learn(self, step_stats: Any, nodes: Iterable[Node] = (), seconds: float = 0.0) -> int:
        """Takes the times of a traced step (`RunMetadata.step_stats`) and returns how many were used.

        nodes: those of the step; nodes of the same type on the same shapes then profit from what was measured
        seconds: of the same step untraced, if it is on one CPU device; looking at the clock takes time, too, and what
            that makes of small nodes is taken off again (an accelerator has a clock of its own)
        """
        known = {node.name: node for node in nodes}
        found = [(kind(d.device), stats, *_timed(stats)) for d in step_stats.dev_stats for stats in d.node_stats]
        clock = 0.0
        alone = len(step_stats.dev_stats) == 1 and all(where == "CPU" for where, *_ in found)
        if seconds and found and alone and not any(op_type == "_While" for *_, op_type in found):
            clock = max(sum(taken for _, _, taken, _ in found) - seconds, 0.0) / len(found)
        for where, stats, taken, op_type in found:
            taken = max(taken - clock, 0.1 * taken)
            self._add(f"{where} {stats.node_name} = {op_type}", taken)
            node = known.get(stats.node_name)
            if node is not None and node.type == op_type and op_type != "_While":
                self._add(f"{where} {signature(node)}", taken)
        return len(found)

    def _add(self, key: str, seconds: float) -> None:
        mean, number = self.measured.get(key, (0.0, 0))
        self.measured[key] = (mean + (seconds - mean) / (number + 1), number + 1)

    def _measured(self, node: Node, where: str) -> float | None:
        if not self.measured:
            return None
        found = self.measured.get(f"{where} {node.name} = {node.type}")
        if found is None and node.type != "_While" and not node.facts.instant:
            found = self.measured.get(f"{where} {signature(node)}")
        return None if found is None else found[0]

    # -- files --------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Writes everything down as text."""
        content = {
            "version": _VERSION,
            "speeds": {name: asdict(speed) for name, speed in self.speeds.items()},
            "links": {name: asdict(link) for name, link in self.links.items()},
            "crowding": self.crowding,
            "segment": self.segment,
            "unknown": self.sizes.unknown,
            "iterations": self.iterations,
            "measured": {key: list(value) for key, value in sorted(self.measured.items())},
        }
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> CostModel:
        """Reads what `to_json` wrote; raises ValueError if it is something else."""
        try:
            content = json.loads(text)
            if content["version"] != _VERSION:
                raise ValueError(f"version {content['version']!r} instead of {_VERSION}")
            costs = cls(
                {name: Speed(**_numbers(fields)) for name, fields in content["speeds"].items()},
                {name: Link(**_numbers(fields)) for name, fields in content["links"].items()},
                crowding={name: float(share) for name, share in content.get("crowding", {}).items()},
                segment=float(content.get("segment", SEGMENT)),
                unknown=int(content["unknown"]),
                iterations=int(content["iterations"]),
            )
            measured = content["measured"].items()
            costs.measured = {key: (float(mean), int(number)) for key, (mean, number) in measured}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"not the text of a cost model: {error}") from None
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
    """Returns the seconds that a traced node took, and its type."""
    seconds = stats.all_end_rel_nanos / 1e9 or max(stats.all_end_rel_micros, 0.5) / 1e6
    return seconds, stats.timeline_label.partition(" = ")[2].partition("(")[0]


def _task(device: str) -> str:
    return device.rpartition("/device:")[0]


def signature(node: Node) -> str:
    """Returns what nodes of equal cost have in common: type and inputs."""
    inputs = " ".join(f"{producer.dtypes[i].name}{show(producer.shapes[i])}" for producer, i in node.inputs)
    return f"{node.type}({inputs})"

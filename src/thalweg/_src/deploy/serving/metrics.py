"""Counters and histograms of a server, under TensorFlow Serving's names, in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator

_LATENCY_LIMITS = [10 * 1.8**power for power in range(33)]  # microseconds, up to some 20 minutes
_SIZE_LIMITS = [float(2**power) for power in range(15)]
_PREFIX = ":tensorflow:serving:"


class Counter:
    """A number that grows, for each combination of labels."""

    def __init__(self, name: str, *labels: str) -> None:
        self.name, self._labels = _PREFIX + name, labels
        self._values: dict[tuple[str, ...], int] = {}
        self._lock = threading.Lock()

    def add(self, *labels: str, count: int = 1) -> None:
        """Adds to the number of these labels."""
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + count

    def total(self) -> int:
        """Returns the sum over all labels."""
        return sum(self._values.values())

    def lines(self) -> Iterator[str]:
        """Yields the text of the counter."""
        yield f"# TYPE {self.name} counter"
        for labels, value in list(self._values.items()):
            yield f"{self.name}{{{_labels(self._labels, labels)}}} {value}"


class Histogram:
    """How many values are below each of some limits, for each combination of labels."""

    def __init__(self, name: str, limits: list[float], *labels: str) -> None:
        self.name, self._limits, self._labels = _PREFIX + name, limits, labels
        self._values: dict[tuple[str, ...], tuple[list[int], list[float]]] = {}
        self._lock = threading.Lock()

    def add(self, *labels: str, value: float) -> None:
        """Adds a value to those of these labels."""
        with self._lock:
            if labels not in self._values:
                self._values[labels] = [0] * (len(self._limits) + 1), [0.0]
            counts, total = self._values[labels]
            counts[bisect_left(self._limits, value)] += 1
            total[0] += value

    def total(self) -> int:
        """Returns how many values there are."""
        return sum(sum(counts) for counts, _ in self._values.values())

    def lines(self) -> Iterator[str]:
        """Yields the text of the histogram."""
        yield f"# TYPE {self.name} histogram"
        for labels, (counts, total) in list(self._values.items()):
            text, below = _labels(self._labels, labels), 0
            for limit, count in zip([*map(str, self._limits), "+Inf"], counts):
                below += count
                yield f'{self.name}_bucket{{{text},le="{limit}"}} {below}'
            yield f"{self.name}_sum{{{text}}} {total[0]}"
            yield f"{self.name}_count{{{text}}} {below}"


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    def escaped(value: str) -> str:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    return ",".join(f'{name}="{escaped(value)}"' for name, value in zip(names, values))


def add_up(pages: Iterable[str]) -> str:
    """Returns the sum of pages that Prometheus reads, line by line."""
    sums: dict[str, dict[str, float]] = {}  # by the line that begins a metric
    for page in pages:
        metric: dict[str, float] = {}
        for line in page.splitlines():
            if line.startswith("#"):
                metric = sums.setdefault(line, {})
            else:
                name, _, value = line.rpartition(" ")
                metric[name] = metric.get(name, 0) + (int(value) if value.isdecimal() else float(value))
    return "".join(f"{start}\n" + "".join(f"{n} {v}\n" for n, v in metric.items()) for start, metric in sums.items())


class Metrics:
    """What a server measures."""

    def __init__(self) -> None:
        self.requests = Counter("request_count", "model_name", "status")
        self.latency = Histogram("request_latency", _LATENCY_LIMITS, "model_name", "API", "entrypoint")
        self.runtime = Histogram("runtime_latency", _LATENCY_LIMITS, "model_name", "API", "runtime")
        self.examples = Histogram("request_example_counts", _SIZE_LIMITS, "model")
        self.example_total = Counter("request_example_count_total", "model")
        self.queueing = Histogram("batching_session:queuing_latency", _LATENCY_LIMITS, "model_name")
        self.batch_sizes = Histogram("batching_session:processed_batch_size", _SIZE_LIMITS, "model_name")
        self.padding = Histogram("batching_session:padding_size", _SIZE_LIMITS, "model_name")
        self._all = (
            *(self.requests, self.latency, self.runtime, self.examples, self.example_total),
            *(self.queueing, self.batch_sizes, self.padding),
        )

    def text(self) -> str:
        """Returns the page that Prometheus reads."""
        return "\n".join(line for metric in self._all for line in metric.lines()) + "\n"

    def totals(self) -> dict[str, int]:
        """Returns the totals by the names that reload requests give, such as /tensorflow/serving/request_count."""
        return {metric.name.replace(":", "/"): metric.total() for metric in self._all}

"""The rows of the table: what is measured, in which unit, for whom, and the bar that Thalweg has to meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

US = "thalweg"
PEERS = (US, "tensorflow", "jax", "torch", "torch_compile")
TITLES = {
    "thalweg": "Thalweg",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "torch": "torch eager",
    "torch_compile": "torch.compile",
}
GRAPH_SIZES = (25_000, 50_000, 100_000)
GRAPH_PHASES = ("build", "gradients", "first_run")


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit: a number, or a share of the best of some peers."""

    value: float
    against: tuple[str, ...] = ()
    at_least: bool = False

    def limit(self, values: Mapping[str, float]) -> float | None:
        """Gives the limit in the row's unit, or None when no peer that it refers to has a value."""
        if not self.against:
            return self.value
        known = [values[peer] for peer in self.against if peer in values]
        return self.value * min(known) if known else None

    def met(self, values: Mapping[str, float]) -> bool | None:
        limit = self.limit(values)
        if limit is None or US not in values:
            return None
        return values[US] >= limit if self.at_least else values[US] <= limit

    def words(self) -> str:
        sign = ">=" if self.at_least else "<="
        if not self.against:
            return f"{sign} {self.value:,.4g}"
        whom = "best peer" if len(self.against) > 1 else TITLES[self.against[0]]
        return f"{sign} {self.value:g} x {whom}"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement and its bar; `scale` turns seconds or bytes into the unit."""

    name: str
    title: str
    unit: str
    scale: float
    bar: Bar
    peers: tuple[str, ...] = PEERS
    workload: str = ""
    busy: bool = False
    inverse: bool = False

    def convert(self, value: float) -> float:
        return self.scale / value if self.inverse else self.scale * value


ALL_PEERS = PEERS[1:]
STEPS = (
    Row(
        "session_run",
        "Session.run of y = x + 1",
        "us",
        1e6,
        Bar(0.15, ("tensorflow",)),
        PEERS[:4],
        workload="session_run",
    ),
    Row("callable", "make_callable of y = x + 1", "us", 1e6, Bar(10.0), PEERS[:2], workload="callable"),
    Row(
        "null_ops",
        "null operations in one step",
        "million/s",
        1e4 / 1e6,
        Bar(10.0, at_least=True),
        PEERS[:2],
        workload="null_ops",
        inverse=True,
    ),
    Row("mlp", "MLP 784-256-256-10, batch 100, Adam", "ms", 1e3, Bar(1.0, ALL_PEERS), workload="mlp"),
    Row("mlp_busy", "MLP step, one core kept busy", "ms", 1e3, Bar(1.0, ("tensorflow",)), workload="mlp", busy=True),
    Row("cnn", "CNN 3 x (conv, relu, pool), batch 64", "ms", 1e3, Bar(1.0, ALL_PEERS), workload="cnn"),
)
MEMORY = Row("cnn_memory", "peak memory of the CNN step", "MB", 1e-6, Bar(1.0, ("torch",)), PEERS[:4], workload="cnn")
IMPORT = Row("import", "import", "s", 1.0, Bar(1.2, ("torch",)), PEERS[:4])
GRAPH_LIMITS = {"build": 5.0, "gradients": 5.0, "first_run": 10.0}
GRAPH_GROWTH = 1.25
GRAPH = tuple(
    Row(f"graph_{phase}", f"100,000 nodes: {phase.replace('_', ' ')}", "s", 1.0, Bar(GRAPH_LIMITS[phase]), (US,))
    for phase in GRAPH_PHASES
) + (Row("graph_growth", "growth of all three, exponent (1 = linear)", "", 1.0, Bar(GRAPH_GROWTH), (US,)),)
ROWS = (*STEPS, *GRAPH, IMPORT, MEMORY)

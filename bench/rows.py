"""The rows of the table: what is measured, in which unit, for which peers, and Thalweg's target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workloads import data
from workloads.eager_cases import CASES, TAPED

US = "thalweg"
PEERS = (US, "tensorflow", "jax", "torch", "torch_compile")
TITLES = {
    "thalweg": "Thalweg",
    "thalweg_reference": "reference",  # Thalweg itself, on the work that the row's target refers to
    "tensorflow": "TensorFlow",
    "tensorflow_v2": "TF, functional",  # with control_flow_v2: loops are functions until they are lowered
    "jax": "JAX",
    "torch": "torch eager",
    "torch_compile": "torch.compile",
    "plain": "plain file",
}
GRAPH_SIZES = (25_000, 50_000, 100_000)
GRAPH_PHASES = ("build", "gradients", "first_run")


@dataclass(frozen=True, slots=True)
class Target:
    """A limit: a number, or a fraction of the best of some peers; `also` is a second one that must be met as well."""

    value: float
    against: tuple[str, ...] = ()
    at_least: bool = False
    also: Target | None = None

    def limit(self, values: Mapping[str, float]) -> float | None:
        """Returns the limit in the row's unit, or None if no peer that it refers to has a value."""
        strictest = max if self.at_least else min
        limits = [self._share(values, strictest), self.also.limit(values) if self.also else None]
        return strictest((limit for limit in limits if limit is not None), default=None)

    def _share(self, values: Mapping[str, float], best: Callable[..., float]) -> float | None:
        if not self.against:
            return self.value
        known = [values[peer] for peer in self.against if peer in values]
        return self.value * best(known) if known else None

    def met(self, values: Mapping[str, float]) -> bool | None:
        limit = self.limit(values)
        if limit is None or US not in values:
            return None
        return values[US] >= limit if self.at_least else values[US] <= limit

    def words(self) -> str:
        sign = ">=" if self.at_least else "<="
        also = f", {self.also.words()}" if self.also else ""
        if not self.against:
            return f"{sign} {self.value:,.4g}{also}"
        whom = "best peer" if len(self.against) > 1 else TITLES[self.against[0]]
        return f"{sign} {self.value:g} x {whom}{also}"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement and its target, if it has one; `scale` converts seconds or bytes to the unit.

    inverse: the unit is a rate. slow: a step takes seconds, so a round is one step, and there are few rounds.
    """

    name: str
    title: str
    unit: str
    scale: float
    target: Target | None
    peers: tuple[str, ...] = PEERS
    workload: str = ""
    busy: bool = False
    inverse: bool = False
    slow: bool = False

    def convert(self, value: float) -> float:
        return self.scale / value if self.inverse else self.scale * value


ALL_PEERS = PEERS[1:]
STEPS = (
    Row(
        "session_run",
        "Session.run of y = x + 1",
        "us",
        1e6,
        Target(0.15, ("tensorflow",)),
        PEERS[:4],
        workload="session_run",
    ),
    Row("callable", "make_callable of y = x + 1", "us", 1e6, Target(10.0), PEERS[:2], workload="callable"),
    Row(
        "null_ops",
        "null operations in one step",
        "million/s",
        1e4 / 1e6,
        Target(10.0, at_least=True),
        PEERS[:2],
        workload="null_ops",
        inverse=True,
    ),
    Row("mlp", "MLP 784-256-256-10, batch 100, Adam", "ms", 1e3, Target(1.0, ALL_PEERS), workload="mlp"),
    Row("mlp_busy", "MLP step, one core kept busy", "ms", 1e3, Target(1.0, ("tensorflow",)), workload="mlp", busy=True),
    Row("cnn", "CNN 3 x (conv, relu, pool), batch 64", "ms", 1e3, Target(1.0, ALL_PEERS), workload="cnn"),
)
MEMORY = Row(
    "cnn_memory", "peak memory of the CNN step", "MB", 1e-6, Target(1.0, ("torch",)), PEERS[:4], workload="cnn"
)
IMPORT = Row("import", "import", "s", 1.0, Target(1.2, ("torch",)), PEERS[:4])
GRAPH_LIMITS = {"build": 5.0, "gradients": 5.0, "first_run": 10.0}
GRAPH_GROWTH = 1.25
GRAPH = tuple(
    Row(f"graph_{phase}", f"100,000 nodes: {phase.replace('_', ' ')}", "s", 1.0, Target(GRAPH_LIMITS[phase]), (US,))
    for phase in GRAPH_PHASES
) + (Row("graph_growth", "growth of all three, exponent (1 = linear)", "", 1.0, Target(GRAPH_GROWTH), (US,)),)

TENSORFLOWS = ("tensorflow", "tensorflow_v2")  # the faster one counts
BESIDE = ("thalweg", "thalweg_reference")
LSTM_PEERS = (US, *TENSORFLOWS, "jax", "torch", "torch_compile")
NOISE = 1.05  # the margin for noise in "no slower"
LOOPS = (
    Row(
        "while_loop",
        f"while_loop, {data.LOOP_ITERATIONS:,} x 2 scalar operations",
        "ms",
        1e3,
        Target(0.7, TENSORFLOWS),
        (US, *TENSORFLOWS),
        workload="while_loop",
    ),
    Row(
        "lstm",
        f"LSTM by while_loop, {data.LSTM_STEPS} steps",
        "ms",
        1e3,
        Target(0.95, LSTM_PEERS[1:]),
        LSTM_PEERS,
        workload="lstm",
    ),
    Row(
        "lstm_compiled",
        "the same, compiled by all who can",
        "ms",
        1e3,
        Target(0.95, ("jax", "torch_compile")),
        (US, "jax", "torch_compile"),
        workload="lstm_compiled",
    ),
    Row(
        "lstm_long",
        f"LSTM, {data.LSTM_LONG_STEPS} steps; reference: {data.LSTM_STEPS}",
        "ms",
        1e3,
        Target(10.5, ("thalweg_reference",)),
        BESIDE,
        workload="lstm_long",
    ),
    Row(
        "rnn_lengths",
        f"dynamic_rnn, lengths 5..{data.LSTM_STEPS}; reference: none",
        "ms",
        1e3,
        Target(NOISE, ("thalweg_reference",)),
        BESIDE,
        workload="rnn_lengths",
    ),
    Row(
        "rnn_lengths_compiled",
        "the same, compiled",
        "ms",
        1e3,
        Target(NOISE, ("thalweg_reference",)),
        BESIDE,
        workload="rnn_lengths_compiled",
    ),
)

INPUT = (
    Row(
        "queue",
        "enqueue and dequeue a scalar, 2 threads",
        "1000/s",
        data.QUEUE_ELEMENTS / 1e3,
        Target(2.0, ("tensorflow",), at_least=True),
        (US, "tensorflow"),
        workload="queue",
        inverse=True,
    ),
    Row(
        "records",
        "1 KB records: decode, shuffle, batch 128",
        "1000/s",
        data.RECORD_BATCH / 1e3,
        Target(0.8, ("tensorflow",), at_least=True, also=Target(2.0, ("torch",), at_least=True)),
        (US, "tensorflow", "torch"),
        workload="records",
        inverse=True,
    ),
    Row(
        "examples",
        "1 KB examples: parse, shuffle, batch 128",
        "1000/s",
        data.RECORD_BATCH / 1e3,
        Target(0.8, ("tensorflow",), at_least=True),
        (US, "tensorflow"),
        workload="examples",
        inverse=True,
    ),
)

# 0.8 of the speed is 1.25 of the time.
FILE_TARGET = Target(1.25, ("plain",), also=Target(1.0, ("tensorflow",)))
FILE_PEERS = (US, "tensorflow", "plain")
CHECKPOINTS = (
    Row("save", "save 1 GB, to the disk", "s", 1.0, FILE_TARGET, FILE_PEERS, workload="save", slow=True),
    Row("restore", "restore 1 GB, from the disk", "s", 1.0, FILE_TARGET, FILE_PEERS, workload="restore", slow=True),
    Row(
        "restore_cached",
        "restore 1 GB, from the page cache",
        "s",
        1.0,
        Target(1.0, ("tensorflow",)),
        FILE_PEERS,
        workload="restore_cached",
        slow=True,
    ),
    Row(
        "step_saving",
        "training step while saving; reference: not saving",
        "ms",
        1e3 / data.SAVING_STEPS,
        Target(1.2, ("thalweg_reference",)),
        BESIDE,
        workload="step_saving",
        slow=True,
    ),
)

COMPILERS = ("jax", "torch_compile")
COMPILED = (
    Row(
        "mlp_compiled",
        "MLP 784-256-256-10, batch 100, Adam",
        "ms",
        1e3,
        Target(0.95, COMPILERS),
        (US, *COMPILERS),
        workload="mlp_compiled",
    ),
    Row(
        "cnn_compiled",
        "CNN 3 x (conv, relu, pool), batch 64",
        "ms",
        1e3,
        Target(0.95, COMPILERS),
        (US, *COMPILERS),
        workload="cnn_compiled",
    ),
    Row(
        "chain",
        "1,000 dependent scalar operations",
        "us",
        1e6,
        Target(1.0, ("tensorflow",)),
        PEERS[:2],
        workload="chain",
    ),
)

TENSORFLOW = ("tensorflow",)
CLUSTER = (
    *(
        Row(f"cluster_{workload}", title, "us", 1e6, Target(share, TENSORFLOW), (US, *TENSORFLOW), workload=workload)
        for workload, title, share in (
            ("noop", "no-op at the worker", 0.25),
            ("noop_client", "the same, client in another process", 0.25),
            ("scalar", "scalar from ps, add at worker", 0.25),
            ("scalar_callable", "the same through make_callable", 0.25),
            ("scalar_client", "the same, client in another process", 0.25),
            ("sparse", f"{data.LOOKED_UP} random rows of {data.TABLE_ROWS:,} x {data.TABLE_WIDTH} at ps", 0.3),
        )
    ),
    *(
        Row(f"cluster_{workload}", title, "ms", 1e3, Target(share, TENSORFLOW), (US, *TENSORFLOW), workload=workload)
        for workload, title, share in (
            ("pull", "100 MB from ps to worker", 0.25),
            ("pull_tcp", "the same over TCP", 1.0),
            ("push", "100 MB from worker, added at ps", 0.4),
        )
    ),
    Row(
        "cluster_mlp",
        "MLP, 4 workers and 2 ps, steps of all",
        "1/s",
        1.0,
        Target(1.5, TENSORFLOW, at_least=True),
        (US, *TENSORFLOW),
        workload="mlp",
        inverse=True,
    ),
    Row(
        "cluster_cnn",
        "CNN, 1 worker and 1 ps; reference: one process",
        "ms",
        1e3,
        Target(1.1, ("thalweg_reference",)),
        (*BESIDE, *TENSORFLOW),
        workload="cnn",
    ),
    Row(
        "cluster_once",
        "MLP, 1 worker and 2 ps, exactly once; reference: without",
        "ms",
        1e3,
        Target(1.3, ("thalweg_reference",)),
        BESIDE,
        workload="once",
    ),
    Row(
        "cluster_first_step",
        f"first step of {data.CLUSTER_NODES:,} nodes, 4 tasks",
        "s",
        1.0,
        Target(0.5, TENSORFLOW),
        (US, *TENSORFLOW),
        workload="first_step",
        slow=True,
    ),
)

OF_TORCH = Target(1.5, ("torch",))
SMALL_OPERATION = Target(1.5, ("torch",), also=Target(0.5, TENSORFLOW))
EAGER_TARGETS = {
    **dict.fromkeys(("op_add", "op_mul", "op_operator"), SMALL_OPERATION),
    **dict.fromkeys(TAPED, OF_TORCH),
}
EAGER_PEERS = (US, "tensorflow", "torch")
PER_CALL = 1e6 / data.EAGER_CALLS
EAGER = (
    *(
        Row(name, case.title, "us", PER_CALL, EAGER_TARGETS.get(name), EAGER_PEERS, workload=name)
        for name, case in (CASES | TAPED).items()
    ),
    Row("gradient", "a tape, multiply, its gradient", "us", PER_CALL, None, EAGER_PEERS, workload="gradient"),
    Row(
        "function_add",
        "call of a traced x + y",
        "us",
        PER_CALL,
        Target(1.5, ("jax",), also=Target(0.3, TENSORFLOW)),
        (US, "tensorflow", "jax"),
        workload="function_add",
    ),
    *(
        Row(f"{name}_eager", f"{name.upper()} step, eager", "ms", 1e3, Target(1.1, ("torch",)), EAGER_PEERS, name)
        for name in ("mlp", "cnn")
    ),
    *(
        Row(
            f"{name}_function",
            f"{name.upper()} step by tf.function; reference: session",
            "ms",
            1e3,
            Target(1.02, ("thalweg_reference",)),
            (*BESIDE, *TENSORFLOW),
            workload=f"{name}_function",
        )
        for name in ("mlp", "cnn")
    ),
)

SECTIONS = {
    "cpu": (*STEPS, *GRAPH, IMPORT, MEMORY),
    "loops": LOOPS,
    "input": INPUT,
    "checkpoints": CHECKPOINTS,
    "compiled": COMPILED,
    "cluster": CLUSTER,
    "eager": EAGER,
}
ROWS = tuple(row for rows in SECTIONS.values() for row in rows)

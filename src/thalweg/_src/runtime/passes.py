"""Passes: all rewrites of a step's graph, from pruning to code generation, in one ordered table."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.dtypes import resource
from thalweg._src.compiler.optimize.consistency import make_consistent, order_first_reads
from thalweg._src.compiler.optimize.freeze import fold_batch_norms, freeze
from thalweg._src.compiler.optimize.functionalize import functionalize
from thalweg._src.compiler.optimize.inline_functions import inline_functions
from thalweg._src.compiler.optimize.lower_references import lower_references, order_latest_reads
from thalweg._src.compiler.optimize.optimize import OPTIMIZATIONS, Optimization
from thalweg._src.compiler.optimize.order_hints import apply_order_hints
from thalweg._src.compiler.optimize.pooling import pool_before_bias
from thalweg._src.compiler.optimize.prune import prune
from thalweg._src.compiler.partition.all_reduce_buckets import fuse_all_reduce
from thalweg._src.compiler.partition.client import receive_feeds, send_fetches
from thalweg._src.compiler.partition.collectives import lower_collectives
from thalweg._src.compiler.partition.host_memory import assign_memory, place_resident_feeds
from thalweg._src.compiler.partition.merge_transfers import merge_transfers
from thalweg._src.compiler.partition.partition import partition
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.compiler.place.place import place
from thalweg._src.compiler.place.placement import Placement
from thalweg._src.compiler.schedule.memory_plan import memory_limits, plan_memory
from thalweg._src.compiler.schedule.send_first import send_first
from thalweg._src.graph.ir.lint import lint
from thalweg._src.graph.ir.step_graph import Node, StepGraph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.compile.bind import bind_node
from thalweg._src.runtime.compile.loop_counters import count_in_numbers
from thalweg._src.runtime.compile.weight_layout import assign_weight_layouts
from thalweg._src.runtime.kernels.registry import Constant, device_types, invoke
from thalweg._src.runtime.kernels.types import from_numpy, to_numpy, to_read
from thalweg._src.runtime.resources.devices import Device

_LINT = "THALWEG_LINT"  # environment variable: "1" checks the graph after every pass of every session


@dataclass(slots=True)
class Compilation:
    """The state of a compilation: one graph, after partitioning one per device.

    is_partial: feeds arrive, and fetches leave, while the step runs
    counters: nodes of loops that compute with Python numbers
    members: the operations that control edges may wait for, by default all; others are effects of the caller
    feed_devices: where the fed values are; fetched values then stay where they are computed. None: both are in host
        memory
    """

    feeds: Sequence[Tensor]
    fetches: Sequence[Tensor]
    targets: Sequence[Operation]
    config: ConfigProto
    devices: Sequence[Device]
    is_partial: bool = False
    step: StepGraph = field(default_factory=lambda: StepGraph([], [], []))
    placement: Placement = field(default_factory=Placement)
    partitions: dict[str, StepGraph] = field(default_factory=dict)
    counters: set[Node] = field(default_factory=set)
    members: Collection[Operation] | None = None
    feed_devices: Sequence[Device] | None = None
    costs: CostModel | None = field(init=False)

    def __post_init__(self) -> None:
        file = self.config.experimental.cost_model
        self.costs = CostModel.load(file) if file else None

    def graphs(self) -> dict[str, StepGraph]:
        """Returns the current graphs by device; before partitioning, one graph under the empty name."""
        return self.partitions or {"": self.step}

    def device(self, name: str) -> Device:
        return next(device for device in self.devices if device.name == name)


@dataclass(frozen=True, slots=True)
class Pass:
    """One rewrite of a step's graphs.

    level: the least `opt_level` at which it runs; None for a pass that always runs
    """

    name: str
    run: Callable[[Compilation], None]
    level: int | None = None

    def applies(self, c: Compilation) -> bool:
        return self.level is None or c.config.graph_options.optimizer_options.opt_level >= self.level


def _prune(c: Compilation) -> None:
    c.step = prune(c.feeds, c.fetches, c.targets, c.members)


def _functionalize(c: Compilation) -> None:
    c.step = functionalize(c.step)


def _transfer_to_client(c: Compilation) -> None:
    if c.is_partial:
        receive_feeds(c.step, [tensor.name for tensor in c.feeds])
        send_fetches(c.step, [tensor.name for tensor in c.fetches], [operation.name for operation in c.targets])


def _freeze(c: Compilation) -> None:
    """Makes constants of variables, where the session asks for it; those of accelerators stay in their memory."""
    host = c.devices[0]
    if not c.config.experimental.freeze_variables or len(c.devices) > 1 or c.step.is_unstructured:
        return

    def value_of(handle: Node) -> np.ndarray[Any, Any] | None:
        if handle.type != "VarHandleOp" or handle.dtypes[0] is not resource:
            return None
        variable = bind_node(handle, host)
        value = variable.value.value if isinstance(variable, Constant) else None
        return None if value is None else to_read(value)

    freeze(c.step, value_of)
    fold_batch_norms(c.step)


def _optimize(optimization: Optimization) -> Pass:
    def run(c: Compilation) -> None:
        if not c.step.is_unstructured:
            optimization.apply(c.step, c.config.graph_options, lambda node: evaluate(node, c.devices[0]))

    return Pass(optimization.name, run, level=0)


def _place(c: Compilation) -> None:
    # Unstructured control flow runs on the token engine and cannot be partitioned, so it stays on the host.
    names = [device.name for device in c.devices if device.type == "CPU" or not c.step.is_unstructured]
    state_devices: dict[str, str] = c.devices[0].state("_state_devices", dict)
    placer, soft = c.config.experimental.placer, c.config.allow_soft_placement
    c.placement = place(c.step, names, device_types, soft, placer, c.costs, state_devices)
    if c.step.is_unstructured:
        c.feed_devices = None
    if c.feed_devices is not None:
        place_resident_feeds(c.step, c.placement.devices, [device.name for device in c.feed_devices])


def _make_consistent(c: Compilation) -> None:
    make_consistent(c.step, c.placement.devices, [device.name for device in c.devices])


def _partition(c: Compilation) -> None:
    c.partitions = partition(c.step, c.placement.devices, c.config.graph_options.enable_bfloat16_sendrecv)


def _on_accelerators(function: Callable[[StepGraph, Device], None]) -> Callable[[Compilation], None]:
    def run(c: Compilation) -> None:
        for name, graph in c.partitions.items():
            device = c.device(name)
            if device.type != "CPU":
                device.on_stream(function)(graph, device)

    return run


def _send_first(c: Compilation) -> None:
    for graph in c.partitions.values() if len(c.partitions) > 1 else ():
        send_first(graph)


def _lower_collectives(c: Compilation) -> None:
    graphs = {name: graph for name, graph in c.partitions.items() if not graph.is_unstructured}
    lower_collectives(graphs, is_connected=c.devices[0].collectives is not None)


def _plan_memory(c: Compilation) -> None:
    limits = memory_limits(c.config, [device.name for device in c.devices])
    c.placement.memory = plan_memory(c.partitions, c.costs, limits)


def _assign_memory(c: Compilation) -> None:
    is_fetched_to_host = c.feed_devices is None
    _on_accelerators(lambda graph, device: assign_memory(graph, is_fetched_to_host))(c)


def _count_in_numbers(c: Compilation) -> None:
    for name, graph in c.partitions.items():
        if not graph.is_unstructured:
            c.counters |= count_in_numbers(graph, on_host=c.device(name).type == "CPU")


def _assign_weight_layouts(c: Compilation) -> None:
    """Changes how filters are stored: on accelerators, and on the host where the graph is static, as for serving.

    There it saves the copies of the forward pass; those of an update would be added.
    """
    _on_accelerators(assign_weight_layouts)(c)
    if c.config.experimental.optimize_for_static_graph:
        for name, graph in c.partitions.items():
            if (device := c.device(name)).type == "CPU":
                assign_weight_layouts(graph, device)


# What the order depends on. Pruning is first, since all later passes cost time per node. Functions are inlined before
# reference variables are lowered, which must see each variable with all its uses, and both before control flow is
# functionalized: then loops are nodes with regions, and the graph has no cycle. Passes that order reads and updates
# come next, so that optimizations respect the order as control edges. Freezing comes before constant folding, which
# makes the most of it. Placement comes after the optimizations, which may remove and merge nodes, and before
# partitioning, which cuts every edge between devices into a send and a receive.
STEP_PASSES: tuple[Pass, ...] = (
    Pass("prune", _prune),
    Pass("inline functions", lambda c: inline_functions(c.step)),
    Pass("reference variables", lambda c: lower_references(c.step)),
    Pass("functionalize", _functionalize),
    Pass("fetched variables", lambda c: order_latest_reads(c.step)),
    Pass("first reads", lambda c: order_first_reads(c.step)),
    Pass("client transfers", _transfer_to_client),
    Pass("order hints", lambda c: apply_order_hints(c.step)),
    Pass("freeze", _freeze, level=0),
    *map(_optimize, OPTIMIZATIONS),
    Pass("place", _place),
    Pass("consistency", _make_consistent),
    Pass("partition", _partition),
    Pass("sends first", _send_first),
    Pass("merge transfers", lambda c: merge_transfers(c.partitions)),
)
# These know the device of each graph and may bind kernels. Collectives come first: a lowered one is several nodes,
# which take part in the passes after it. Nodes are marked for host memory before loop counters become numbers, which on
# an accelerator only those on the host may.
PARTITION_PASSES: tuple[Pass, ...] = (
    Pass("collectives", _lower_collectives),
    Pass("all-reduce buckets", lambda c: fuse_all_reduce(c.partitions)),
    Pass("pooling before bias", _on_accelerators(lambda graph, device: pool_before_bias(graph)), level=0),
    Pass("host memory", _assign_memory),
    Pass("memory plan", _plan_memory),
    Pass("loop counters", _count_in_numbers),
    Pass("weight layout", _assign_weight_layouts),
)
PASSES = STEP_PASSES + PARTITION_PASSES  # in a cluster the master runs the first ones, each worker the others


# The user's control flow has cycles until it is functionalized.
_CYCLIC = ("prune", "inline functions", "reference variables")


def run_passes(
    c: Compilation, observe: Callable[[Pass], Any] | None = None, passes: Sequence[Pass] | None = None
) -> None:
    """Runs passes, by default all; calls `observe` after each, and lints if the session or the environment says so."""
    checked = c.config.experimental.lint_passes or os.environ.get(_LINT) == "1"
    for pass_ in PASSES if passes is None else passes:
        if pass_.applies(c):
            pass_.run(c)
            if checked and pass_.name not in _CYCLIC:
                for graph in c.graphs().values():
                    lint(graph, pass_.name)
        if observe is not None:
            observe(pass_)


def evaluate(node: Node, host: Device) -> list[np.ndarray[Any, Any]] | None:
    """Runs a pure node whose inputs are all constants on the host, for constant folding; None if it cannot."""
    if "CPU" not in device_types(node):
        return None
    values = [from_numpy(node.constant(i), node.input_dtype(i)) for i in range(len(node.inputs))]  # type: ignore[arg-type]
    try:
        kernel = bind_node(node, host)
        result = kernel.value if isinstance(kernel, Constant) else invoke(kernel, values)
        results = [result] if len(node.dtypes) == 1 else list(result)
        return [np.asarray(to_numpy(r.contiguous())) if hasattr(r, "contiguous") else r for r in results]
    except Exception:
        return None  # the step reports the error if it runs the node

"""The compilation pipeline: from fetches and feeds to executable programs, once per step signature."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from thalweg._src.base.config import ConfigProto
from thalweg._src.graph.gc_pause import collector_paused
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.show import show_step
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.compile.tiers import Tiers
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.passes import PARTITION_PASSES, STEP_PASSES, Compilation, Pass, run_passes
from thalweg._src.runtime.resources.devices import Device, stream_barrier


def compile_step(
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    config: ConfigProto,
    devices: Sequence[Device],
    is_partial: bool = False,
    members: Collection[Operation] | None = None,
    feed_devices: Sequence[Device] | None = None,
) -> Executable:
    """Compiles the subgraph that a step needs: runs all passes, then generates one program per device.

    is_partial: feeds and fetches pass through the rendezvous while the step runs
    members: the operations that control edges may wait for, by default all; others are effects of the caller
    feed_devices: where the fed values are; fetched values then stay where they are computed (`fetch_devices` of the
        result). By default both are in host memory
    """
    with collector_paused():
        c = Compilation(feeds, fetches, targets, config, devices, is_partial, members=members)
        c.feed_devices = feed_devices
        run_passes(c)
        return _executable(c, len(c.step.fetches))


def partition_step(c: Compilation) -> None:
    """Runs the passes over the whole step: what a master does before workers compile their partitions."""
    with collector_paused():
        run_passes(c, passes=STEP_PASSES)


def compile_partitions(
    partitions: dict[str, StepGraph], num_fetches: int, config: ConfigProto, devices: Sequence[Device]
) -> Executable:
    """Compiles partitions of a step for devices of this process."""
    with collector_paused():
        c = Compilation((), (), (), config, devices, partitions=partitions)
        run_passes(c, passes=PARTITION_PASSES)
        return _executable(c, num_fetches)


def _executable(c: Compilation, num_fetches: int) -> Executable:
    # With `global_jit_level`, clusters are compiled before the first step, which waits for them; without it in the
    # background, once the signature has proved hot.
    level = c.config.graph_options.optimizer_options.global_jit_level
    tiers = Tiers()
    programs = [Program(graph, c.device(name), level > 0, c.counters, tiers) for name, graph in c.partitions.items()]
    return Executable(programs, num_fetches, c.placement, level == 0, tiers, stream_barrier(c.devices))


def show_passes(
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    config: ConfigProto,
    devices: Sequence[Device],
) -> str:
    """Returns the graph of a step after each pass as text; a pass that changes nothing has a one-line entry."""
    c = Compilation(feeds, fetches, targets, config, devices)
    shown: list[str] = []
    last = ""

    def observe(after: Pass) -> None:
        nonlocal last
        graphs = c.graphs()
        text = "\n".join(
            f"{f'{name}:' if name else ''}\n{show_step(graph)}".strip("\n") for name, graph in graphs.items()
        )
        count = sum(len(graph.nodes) for graph in graphs.values())
        if not after.applies(c):
            shown.append(f"== {after.name}: off at this opt_level")
        elif text == last:
            shown.append(f"== {after.name}: no change")
        else:
            shown.append(f"== {after.name}: {count} nodes\n{text}")
        last = text

    run_passes(c, observe)
    return "\n".join(shown)

"""The pipeline: prune, optimize, place, partition, compile; what happens once for each kind of step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.compile.bind import bind_node
from thalweg._src.config import ConfigProto
from thalweg._src.execute.program import Program
from thalweg._src.graph.gc_pause import collector_paused
from thalweg._src.graph.ir.step_graph import Node, StepGraph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.order_hints import obey
from thalweg._src.graph.tensor import Tensor
from thalweg._src.kernels.registry import Known, device_types, invoke
from thalweg._src.kernels.types import from_numpy, to_numpy
from thalweg._src.optimize.optimize import optimize
from thalweg._src.optimize.pooling import pool_before_bias
from thalweg._src.optimize.prune import prune
from thalweg._src.partition.client import receive_feeds, send_fetches
from thalweg._src.partition.host_memory import assign_memory
from thalweg._src.partition.partition import partition
from thalweg._src.place.cost import CostModel
from thalweg._src.place.place import place
from thalweg._src.resources.devices import Device
from thalweg._src.runtime.executable import Executable
from thalweg._src.schedule.memory_plan import memory_limits, plan_memory


def compile_step(
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    config: ConfigProto,
    devices: Sequence[Device],
) -> Executable:
    """Turns what a session asks for into programs ready to run."""
    with collector_paused():
        return _compile(prune(feeds, fetches, targets), config, devices)


def compile_partial_step(
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    config: ConfigProto,
    devices: Sequence[Device],
) -> Executable:
    """Does the same for a step whose feeds come, and whose fetches go, while it runs: over its rendezvous."""
    step = prune(feeds, fetches, targets)
    receive_feeds(step, [tensor.name for tensor in feeds])
    send_fetches(step, [tensor.name for tensor in fetches], [operation.name for operation in targets])
    return _compile(step, config, devices)


def _compile(step: StepGraph, config: ConfigProto, devices: Sequence[Device]) -> Executable:
    obey(step)
    optimize(step, config.graph_options, lambda node: evaluate(node, devices[0]))
    # What runs by tokens cannot be cut, so it stays on the host.
    names = [device.name for device in devices if device.type == "CPU" or not step.is_free]
    wanted = config.experimental
    costs = CostModel.load(wanted.cost_model) if wanted.cost_model else None
    state_devices: dict[str, str] = devices[0].state("_state_devices", dict)
    placement = place(step, names, device_types, config.allow_soft_placement, wanted.placer, costs, state_devices)
    partitions = partition(step, placement.devices, config.graph_options.enable_bfloat16_sendrecv)
    by_name = {device.name: device for device in devices}
    for name, part in partitions.items():
        if by_name[name].type != "CPU":
            if config.graph_options.optimizer_options.opt_level >= 0:
                pool_before_bias(part)
            assign_memory(part)
    placement.memory = plan_memory(partitions, costs, memory_limits(config, [device.name for device in devices]))
    level = config.graph_options.optimizer_options.global_jit_level
    programs = [Program(part, by_name[name], level > 0) for name, part in partitions.items()]
    return Executable(programs, len(step.fetches), placement, compiles=level == 0)


def evaluate(node: Node, host: Device) -> list[np.ndarray[Any, Any]] | None:
    """Runs a pure node whose inputs are all constants on the host, for constant folding; None if it cannot."""
    if "CPU" not in device_types(node):
        return None
    values = [from_numpy(node.constant(i), node.input_dtype(i)) for i in range(len(node.inputs))]  # type: ignore[arg-type]
    try:
        kernel = bind_node(node, host)
        result = kernel.value if isinstance(kernel, Known) else invoke(kernel, values)
        results = [result] if len(node.dtypes) == 1 else list(result)
        return [np.asarray(to_numpy(r.contiguous())) if hasattr(r, "contiguous") else r for r in results]
    except Exception:
        return None  # the step itself will report it, if it ever runs the node

"""Figures of a real program: the shards of its variables, and the computing time of its step by the cost model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thalweg._src.base.errors import describe, invalid
from thalweg._src.compiler.optimize.functionalize import functionalize
from thalweg._src.compiler.optimize.lower_references import lower_references
from thalweg._src.compiler.optimize.prune import prune
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.graph.operation import Operation

_SERVERS = "/job:ps"


@dataclass(frozen=True, slots=True)
class ProgramCosts:
    """What a step of a worker costs.

    shards: bytes of variables at each parameter server
    compute: seconds of all nodes that are not at a parameter server
    update: seconds of the nodes at the busiest parameter server
    """

    shards: tuple[float, ...]
    compute: float
    update: float


def program_costs(
    step: Operation, variables: Iterable[Operation], ps: int, costs: CostModel, device: str = "/device:CPU:0"
) -> ProgramCosts:
    """Estimates a training step of one worker.

    step: the operation that a step runs
    variables: the operations of the variables that are trained, at the tasks of job ps where they name them; others are
        assigned round robin, as by `replica_device_setter`
    costs: a model with measured times, or one that estimates them from shapes
    device: where the worker computes
    """
    graph = prune([], [], [step])
    lower_references(graph)
    graph = functionalize(graph)
    seconds: dict[int | None, float] = {}
    for node in graph.nodes:
        task = _server(node.device)
        where = device if task is None else "/device:CPU:0"
        seconds[task] = seconds.get(task, 0.0) + costs.time(node, where)
    compute = seconds.pop(None, 0.0)
    shards = _shards(list(variables), ps, costs)
    return ProgramCosts(shards, compute, max(seconds.values(), default=0.0))


def _shards(variables: Sequence[Operation], ps: int, costs: CostModel) -> tuple[float, ...]:
    if not variables:
        hint = "the simulator needs a graph with trainable variables, as tf.train.export_meta_graph writes it"
        raise invalid(describe("the graph has no trainable variables", hint=hint))
    sizes = [0.0] * ps
    unplaced = 0
    for variable in variables:
        task = _server(variable.device)
        if task is None:
            task, unplaced = unplaced % ps, unplaced + 1
        if task >= ps:
            message = f"variable {variable.name!r} is at parameter server {task}"
            raise invalid(describe(message, expected=f"one of {ps}", hint="simulate as many parameter servers"))
        sizes[task] += costs.sizes.bytes(variable.attrs["dtype"], variable.attrs["shape"])
    return tuple(sizes)


def _server(device: str) -> int | None:
    """Returns the number of the parameter server that a device belongs to, if any."""
    if not device.startswith(_SERVERS):
        return None
    task = device.partition("/task:")[2].partition("/")[0]
    return int(task) if task else 0

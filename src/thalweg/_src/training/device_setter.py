"""Device functions for replicated training: variables on parameter servers, everything else on the worker."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.devices import DeviceSpec
from thalweg._src.export import export
from thalweg._src.shapes import num_elements

STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
)
Strategy = Callable[[Any], int]


class RoundRobinStrategy:
    """Assigns operations to tasks round robin."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next_task = 0

    def __call__(self, op: Any) -> int:
        """Returns the task of an operation."""
        task = self._next_task
        self._next_task = (task + 1) % self._num_tasks
        return task


@export("contrib.training.RandomStrategy")
class RandomStrategy:
    """Assigns operations to random tasks, the same ones for equal seeds."""

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._random = random.Random(seed)

    def __call__(self, op: Any) -> int:
        """Returns the task of an operation."""
        return self._random.randrange(self._num_tasks)


@export("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """Assigns each operation to the task with the least load so far."""

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._load_fn = load_fn
        self._loads = [0.0] * num_tasks

    def __call__(self, op: Any) -> int:
        """Returns the task of an operation."""
        task = min(range(len(self._loads)), key=self._loads.__getitem__)
        self._loads[task] += self._load_fn(op)
        return task


@export("contrib.training.byte_size_load_fn")
def byte_size_load_fn(op: Any) -> float:
    """Returns the size of a variable in bytes, given its handle."""
    if "dtype" in op.attrs and "shape" in op.attrs:
        dtype, shape = op.attrs["dtype"], op.attrs["shape"]
    else:
        if len(op.outputs) != 1:
            raise ValueError(f"Op {op} must have a single output")
        dtype, shape = op.outputs[0].dtype, op.outputs[0].dims
    count = num_elements(shape)
    if count is None:
        raise ValueError(f"the size of {op.name!r} is unknown: its shape is not fully defined")
    return float(dtype.size * count)


@export("train.replica_device_setter")
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Strategy | None = None,
) -> Callable[[Any], str] | None:
    """Returns a device function for `tf.device`, or None if there are no parameter servers."""
    if cluster is not None:
        jobs = _jobs(cluster)
        job = DeviceSpec.from_string(ps_device).job
        if jobs.get(job) is None:
            return None
        ps_tasks = len(jobs[job])
    if ps_tasks == 0:
        return None
    strategy = RoundRobinStrategy(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")
    served = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)
    servers, worker = DeviceSpec.from_string(ps_device or ""), DeviceSpec.from_string(worker_device or "")

    def choose(op: Any) -> str:
        if op.device and not merge_devices:
            return op.device  # type: ignore[no-any-return]
        asked = DeviceSpec.from_string(op.device or "")
        if not (ps_device and op.type in served):
            return worker.make_merged_spec(asked).to_string()
        chosen = servers
        if servers.job and asked.job in (None, servers.job):
            chosen = servers.replace(task=strategy(op))
        return chosen.make_merged_spec(asked).to_string()

    return choose


def _jobs(cluster: Any) -> dict[Any, Any]:
    if hasattr(cluster, "as_dict"):
        return cluster.as_dict()  # type: ignore[no-any-return]
    if isinstance(cluster, dict):
        return cluster
    if hasattr(cluster, "job"):  # a ClusterDef message
        return {job.name: dict(job.tasks) for job in cluster.job}
    raise TypeError(f"`cluster` must be a dictionary, a ClusterDef or a ClusterSpec, got {type(cluster).__name__}")

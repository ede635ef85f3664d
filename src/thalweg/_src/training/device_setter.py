"""Device functions for replicated training: variables on parameter servers, everything else on the worker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.shapes import num_elements
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.graph.operation import Operation

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
    "ResourceConditionalAccumulator",
)
Strategy = Callable[[Any], int]


@export("contrib.training.RandomStrategy")
class RandomStrategy:
    """Assigns operations to tasks by a hash of their names and a seed.

    Processes that build different graphs around the same variables agree on the tasks, also with TensorFlow.

    Args:
        num_ps_tasks: Number of parameter servers.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Operation) -> int:
        """Returns the task of an operation."""
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False).digest()
        return int.from_bytes(digest, "big") % self._num_tasks


@export("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """Assigns each operation to the task with the least load so far.

    Args:
        load_fn: Function from an operation to its load.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._load_fn = load_fn
        self._loads = [0.0] * num_tasks

    def __call__(self, op: Operation) -> int:
        """Returns the task of an operation."""
        task = min(range(len(self._loads)), key=self._loads.__getitem__)
        self._loads[task] += self._load_fn(op)
        return task


@export("contrib.training.byte_size_load_fn")
def byte_size_load_fn(op: Operation) -> float:
    """Returns the size of a variable in bytes, given its handle.

    Args:
        op: The operation that holds the variable.
    """
    require_members("op", op, "an operation", "attrs")
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
    cluster: object = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Strategy | None = None,
) -> Callable[[Any], str] | None:
    """Returns a device function for `tf.device`, or None if there are no parameter servers.

    Args:
        ps_tasks: Number of parameter servers.
        ps_device: Device of the parameter servers.
        worker_device: Device of the workers.
        merge_devices: Whether devices that are set already are completed, not replaced.
        cluster: A `ClusterSpec` or what makes one; its tasks of the job of `ps_device` are the parameter servers.
        ps_ops: Op types that go to parameter servers; variables by default.
        ps_strategy: Function from an operation to a task; by default tasks take turns.
    """
    tasks: Sequence[int] = range(ps_tasks)
    if cluster is not None:
        spec, job = ClusterSpec(cluster), DeviceSpec.from_string(ps_device).job
        tasks = spec.task_indices(job) if job in spec.jobs else ()
    if not tasks:
        return None
    round_robin = cycle(tasks)
    strategy: Strategy = ps_strategy if ps_strategy is not None else lambda op: next(round_robin)
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")
    if not merge_devices:
        logging.warning("merge_devices=False of replica_device_setter is deprecated; leave it at True.")
    served = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)
    servers, worker = DeviceSpec.from_string(ps_device or ""), DeviceSpec.from_string(worker_device or "")

    def choose(op: Operation) -> str:
        if op.device and not merge_devices:
            return op.device
        asked = DeviceSpec.from_string(op.device or "")
        if not (ps_device and op.type in served):
            return worker.make_merged_spec(asked).to_string()
        chosen = servers
        if servers.job and asked.job in (None, servers.job):
            chosen = servers.replace(task=strategy(op))
        return chosen.make_merged_spec(asked).to_string()

    return choose

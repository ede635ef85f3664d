"""ClusterResolver, and the resolvers that take a cluster as it is given or join those of others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from contextlib import closing
from itertools import chain
from typing import Any

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.graph.graph import Graph
from thalweg._src.runtime.session.session import Session


@export("distribute.cluster_resolver.ClusterResolver", "contrib.cluster_resolver.ClusterResolver")
class ClusterResolver(ABC):
    """Base class of resolvers, which find the tasks of a cluster and the task that this process is."""

    _task_type: str | None = None
    _task_id: int | None = None
    _rpc_layer: str | None = None

    @abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster as it is at the time of the call."""

    @abstractmethod
    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the target of sessions at a task; the empty string is this process."""

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: ConfigProto | None = None
    ) -> dict[str, int]:
        """Returns the number of devices by type that a session at the master finds, of one task if it is given."""
        master = self.master(task_type, task_id)
        with closing(Session(master, Graph(), config_proto)) as session:
            devices = session.list_devices()
        counts: dict[str, int] = defaultdict(int)
        for device in devices:
            place = DeviceSpec.from_string(device.name)
            if not master or None in (task_type, task_id) or (place.job, place.task) == (task_type, task_id):
                counts[device.device_type] += 1
        return counts

    @property
    def environment(self) -> str:
        """The environment of the process, such as "cloud"; empty if it is unknown."""
        return ""

    @property
    def task_type(self) -> str | None:
        """The job of this process; None if it is unknown."""
        return self._task_type

    @task_type.setter
    def task_type(self, task_type: str | None) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """The number of this process among the tasks of its job; None if it is unknown."""
        return self._task_id

    @task_id.setter
    def task_id(self, task_id: int | None) -> None:
        self._task_id = task_id

    @property
    def rpc_layer(self) -> str | None:
        """The protocol that targets begin with; None if they have none."""
        return self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: str | None) -> None:
        self._rpc_layer = rpc_layer

    def _task_master(self, task_type: str | None, task_id: int | None, rpc_layer: str | None) -> str:
        """Returns the target of a task, by default that of this process; empty if it is unknown."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        return target(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)


def target(address: str, rpc_layer: str | None) -> str:
    """Returns the target of sessions at an address; the empty address is this process."""
    return f"{rpc_layer}://{address}" if rpc_layer and address else address


@export("distribute.cluster_resolver.SimpleClusterResolver", "contrib.cluster_resolver.SimpleClusterResolver")
class SimpleClusterResolver(ClusterResolver):
    """Returns what it is created with."""

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(f"cluster_spec must be a ClusterSpec, got {type(cluster_spec).__name__}.")
        if not isinstance(master, str):
            raise TypeError(f"master must be a string, got {type(master).__name__}.")
        self._cluster_spec = cluster_spec
        self._master = master
        self._task_type = task_type
        self._task_id = task_id
        self._environment = environment
        self._num_accelerators = num_accelerators
        self._rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster that the resolver is created with."""
        return self._cluster_spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the target of a task, by default the master that the resolver is created with."""
        if task_type is None or task_id is None:
            return target(self._master, rpc_layer or self._rpc_layer)
        return self._task_master(task_type, task_id, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: ConfigProto | None = None
    ) -> dict[str, int]:
        """Returns the numbers that the resolver is created with."""
        return self._num_accelerators or {}

    @property
    def environment(self) -> str:
        """The environment that the resolver is created with."""
        return self._environment


@export("distribute.cluster_resolver.UnionResolver", "contrib.cluster_resolver.UnionClusterResolver")
class UnionClusterResolver(ClusterResolver):
    """Joins the clusters of several resolvers; everything else is that of the first."""

    def __init__(
        self,
        *args: ClusterResolver,
        rpc_layer: str | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(f"All arguments must be a sub-class of `ClusterResolver`, got {resolver!r}.")
        self._resolvers = args
        self._rpc_layer = rpc_layer
        self._task_type = task_type
        self._task_id = task_id

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs of all resolvers.

        The tasks of a job in several clusters are numbered one after the other if no cluster has gaps between them.
        Otherwise, all keep their numbers, and a number in two clusters is a KeyError.
        """
        jobs: dict[str, list[Any]] = defaultdict(list)
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                jobs[job].append(tasks)
        return ClusterSpec({job: _union(job, specs) for job, specs in jobs.items()})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the target of a task, by default the master of the first resolver."""
        if task_type is None or task_id is None:
            return self._resolvers[0].master(rpc_layer=rpc_layer or self._rpc_layer)
        return self._task_master(task_type, task_id, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: ConfigProto | None = None
    ) -> dict[str, int]:
        """Returns the numbers of the first resolver."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)

    @property
    def environment(self) -> str:
        """The environment of the first resolver."""
        return self._resolvers[0].environment

    @property
    def task_type(self) -> str | None:
        """The job of this process."""
        return self._resolvers[0].task_type if self._task_type is None else self._task_type

    @task_type.setter
    def task_type(self, task_type: str | None) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """The number of this process among the tasks of its job."""
        return self._resolvers[0].task_id if self._task_id is None else self._task_id

    @task_id.setter
    def task_id(self, task_id: int | None) -> None:
        self._task_id = task_id

    @property
    def rpc_layer(self) -> str | None:
        """The protocol that targets begin with."""
        return self._resolvers[0].rpc_layer if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: str | None) -> None:
        self._rpc_layer = rpc_layer


def _union(job: str, specs: list[Any]) -> Any:
    """Returns the tasks of a job, of which some are in each of the parts."""
    if all(isinstance(tasks, list) for tasks in specs):
        return list(chain.from_iterable(specs))
    merged: dict[int, str] = {}
    for tasks in specs:
        numbered = dict(enumerate(tasks)) if isinstance(tasks, list) else tasks
        if twice := merged.keys() & numbered.keys():
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {sorted(twice)} of job {job!r}")
        merged |= numbered
    return merged

"""The task of this process in a cluster of workers, as a strategy that is built between graphs sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec

_CHIEFS = ("chief", "master")


@dataclass(frozen=True, slots=True)
class Task:
    """A worker of a cluster: the tasks of the jobs "chief" and "worker" train, those of "ps" keep variables."""

    cluster: ClusterSpec
    job: str
    index: int

    @staticmethod
    def of_resolver(resolver: Any) -> Task | None:
        """Returns the task that a resolver finds; None without a cluster."""
        require_members("cluster_resolver", resolver, "a ClusterResolver", "cluster_spec")
        cluster = resolver.cluster_spec()
        return Task.of(cluster, resolver.task_type, resolver.task_id) if cluster else None

    @staticmethod
    def of(cluster: Any, job: str | None, index: int | None) -> Task:
        """Returns a task of a cluster, which must have it."""
        spec = ClusterSpec(cluster)
        if job is None or index is None:
            raise ValueError(
                "no task is given for this process: set task_type and task_id of the resolver, or the task in TF_CONFIG"
            )
        spec.task_address(job, index)
        return Task(spec, job, index)

    @property
    def _workers(self) -> list[tuple[str, int]]:
        return [
            (job, index)
            for job in (*_CHIEFS, "worker")
            if job in self.cluster.jobs
            for index in self.cluster.task_indices(job)
        ]

    @property
    def workers(self) -> int:
        """The number of tasks that train."""
        return len(self._workers)

    @property
    def number(self) -> int:
        """The number of this task among those that train; 0 is the chief."""
        if (self.job, self.index) not in self._workers:
            raise ValueError(f"/job:{self.job}/task:{self.index} does not train: expected a chief or a worker")
        return self._workers.index((self.job, self.index))

    @property
    def is_chief(self) -> bool:
        """Whether this task initializes and saves."""
        return self.number == 0

    @property
    def device(self) -> str:
        """The device name of this task."""
        return f"/job:{self.job}/replica:0/task:{self.index}"

    @property
    def leader(self) -> str:
        """The device name of the chief."""
        job, index = self._workers[0]
        return f"/job:{job}/replica:0/task:{index}"

    def devices(self, names: list[str]) -> tuple[str, ...]:
        """Returns devices of this task, given their names in the process."""
        return tuple(f"{self.device}{name}" for name in names)

"""ClusterSpec: the jobs of a cluster, with the address of each task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg._src.base.config import ClusterDef, JobDef
from thalweg._src.base.export import export


@export("train.ClusterSpec")
class ClusterSpec:
    """The tasks of a cluster by job, each with its network address.

    Args:
        cluster: Addresses by job, each a list or a dictionary by task number; a `ClusterDef`; or a `ClusterSpec`.
    """

    _jobs: dict[str, dict[int, str]]

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._jobs
        elif hasattr(cluster, "job"):  # our ClusterDef, or the protobuf message of that name
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        if not isinstance(cluster, dict):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
                f"`ClusterDef` protocol buffer; got {type(cluster).__name__}"
            )
        self._jobs = {_text(job, "Job name"): _tasks(job, tasks) for job, tasks in cluster.items()}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))})"

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Returns the tasks of each job: a list of addresses if the tasks are numbered without gaps, else a dict."""
        return {
            job: list(tasks.values()) if tasks and max(tasks) + 1 == len(tasks) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """Returns the `ClusterDef` of this cluster, with the jobs sorted by name."""
        return ClusterDef(job=[JobDef(name=job, tasks=tasks) for job, tasks in sorted(self._jobs.items())])

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Returns the number of tasks that a job has."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the numbers of a job's tasks, in ascending order."""
        return list(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns the addresses of a job's tasks by number, None for numbers without a task."""
        tasks = self._job(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._jobs[name]


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    """Returns the addresses of a job by task, in ascending order."""
    if isinstance(tasks, list | tuple):
        tasks = dict(enumerate(tasks))
    if not isinstance(tasks, Mapping):
        raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
    numbered = {int(number): _text(address, "Task address") for number, address in tasks.items()}
    if min(numbered, default=0) < 0:
        raise ValueError(f"The tasks for job {job!r} must not have negative numbers, got {min(numbered)}.")
    return dict(sorted(numbered.items()))


def _text(value: Any, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be bytes or unicode")
    return value

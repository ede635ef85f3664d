"""SlurmClusterResolver: a cluster of the tasks that Slurm's srun, or mpirun in a Slurm job, starts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice, product

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.resolvers.cluster_resolver import ClusterResolver

_RANGES = r"\[(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\]"
_HOST = rf"(?:[^\s,\[\]]|{_RANGES.replace('(', '(?:', 1)})+"
_COUNT = r"(\d+)(?:\(x(\d+)\))?"
# Where the hosts and the tasks per host are named, what applies first: the step of srun, then the whole job. Under
# mpirun, the step is that of mpirun's daemons.
_STEP_HOSTS, _JOB_HOSTS = "SLURM_STEP_NODELIST", ("SLURM_JOB_NODELIST", "SLURM_NODELIST")
_STEP_TASKS, _JOB_TASKS = "SLURM_STEP_TASKS_PER_NODE", ("SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE")


@export("distribute.cluster_resolver.SlurmClusterResolver", "contrib.cluster_resolver.SlurmClusterResolver")
class SlurmClusterResolver(ClusterResolver):
    """Numbers the tasks of a Slurm job host by host, and divides them among jobs in the order of their names."""

    def __init__(
        self,
        jobs: dict[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int = 1,
        gpus_per_task: int = 1,
        tasks_per_node: int | dict[str, int] | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str | None = "grpc",
    ) -> None:
        by_mpirun = "OMPI_COMM_WORLD_RANK" in os.environ
        self._rank = int(_variable("OMPI_COMM_WORLD_RANK") if by_mpirun else _variable("SLURM_PROCID"))
        count = int(
            _variable("OMPI_COMM_WORLD_SIZE") if by_mpirun else _variable("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
        )
        self._jobs = dict(sorted(jobs.items())) if jobs is not None else {"worker": count}
        if sum(self._jobs.values()) != count:
            raise RuntimeError(f"`jobs` have {sum(self._jobs.values())} tasks in all, but Slurm has started {count}.")
        hosts = _tasks_by_host(tasks_per_node, by_mpirun)
        if max(hosts.values(), default=0) * gpus_per_task > gpus_per_node:
            raise RuntimeError(
                f"Requested more GPUs per node than available: {max(hosts.values())} tasks with {gpus_per_task} GPUs "
                f"each, of {gpus_per_node}; set gpus_per_node and gpus_per_task."
            )
        self._places = [(host, place) for host, tasks in hosts.items() for place in range(tasks)][:count]
        if len(self._places) < count or self._rank not in range(count):
            raise RuntimeError(f"Task {self._rank} of {count} does not fit the tasks of the hosts: {hosts}.")
        self._port_base = port_base
        self._gpus_per_task = gpus_per_task
        self._auto_set_gpu = auto_set_gpu
        self._rpc_layer = rpc_layer
        tasks_of_jobs = ((job, task) for job, tasks in self._jobs.items() for task in range(tasks))
        self._task_type, self._task_id = next(islice(tasks_of_jobs, self._rank, None))

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster, and makes the GPUs of this task the visible ones if `auto_set_gpu` is set."""
        if self._auto_set_gpu:
            first = self._places[self._rank][1] * self._gpus_per_task
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(first, first + self._gpus_per_task)))
        addresses = (f"{host}:{self._port_base + place}" for host, place in self._places)
        return ClusterSpec({job: list(islice(addresses, tasks)) for job, tasks in self._jobs.items()})

    def get_task_info(self) -> tuple[str | None, int | None]:
        """Returns the job of this process, and its number among the tasks of the job."""
        return self.task_type, self.task_id

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the target of a task, by default that of this process."""
        return self._task_master(task_type, task_id, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: ConfigProto | None = None
    ) -> dict[str, int]:
        """Returns the number of GPUs of each task."""
        return {"GPU": self._gpus_per_task}


def expand_hosts(hosts: str) -> list[str]:
    """Returns the names that an expression of Slurm stands for, such as `node[1-3,7],gpu-0[01-02]`."""
    if not re.fullmatch(rf"{_HOST}(?:,{_HOST})*", hosts):
        raise ValueError(f"{hosts!r} is not a list of hosts as Slurm writes it, such as 'node[1-3,7],gpu-0[01-02]'.")
    return [name for host in re.findall(_HOST, hosts) for name in _expand(host)]


def expand_counts(counts: str) -> list[int]:
    """Returns the numbers that an expression of Slurm stands for, such as `3(x2),1`."""
    if not re.fullmatch(rf"{_COUNT}(?:,{_COUNT})*", counts):
        raise ValueError(f"{counts!r} is not a list of tasks per node as Slurm writes it, such as '3(x2),1'.")
    return [int(count) for count, times in re.findall(_COUNT, counts) for _ in range(int(times or 1))]


def _expand(host: str) -> Iterator[str]:
    pieces = re.split(_RANGES, host)  # ranges are every second part
    return map("".join, product(*([piece] if i % 2 == 0 else _numbers(piece) for i, piece in enumerate(pieces))))


def _numbers(ranges: str) -> list[str]:
    """Returns the numbers in ranges such as `01-03,7`, as wide as the first of each range."""
    numbers = []
    for interval in ranges.split(","):
        low, _, high = interval.partition("-")
        numbers += [str(number).zfill(len(low)) for number in range(int(low), int(high or low) + 1)]
    return numbers


def _tasks_by_host(tasks_per_node: int | dict[str, int] | None, by_mpirun: bool) -> dict[str, int]:
    """Returns the number of tasks of each host, in the order of their ranks."""
    if isinstance(tasks_per_node, dict):
        return tasks_per_node
    hosts = expand_hosts(_variable(*([] if by_mpirun else [_STEP_HOSTS]), *_JOB_HOSTS))
    if tasks_per_node is not None:
        return dict.fromkeys(hosts, int(tasks_per_node))
    counts = expand_counts(_variable(*([] if by_mpirun else [_STEP_TASKS]), *_JOB_TASKS))
    if len(counts) == 1:  # SLURM_NTASKS_PER_NODE is one number for all
        counts *= len(hosts)
    if len(counts) != len(hosts):
        raise RuntimeError(f"Slurm names {len(hosts)} hosts, {hosts}, but the tasks of {len(counts)}: {counts}.")
    return dict(zip(hosts, counts))


def _variable(*names: str) -> str:
    """Returns the first of some environment variables that is set."""
    for name in names:
        if value := os.environ.get(name):
            return value
    raise RuntimeError(
        f"{' or '.join(names)} is not set in the environment: this process is not a task of Slurm's srun."
    )

"""`thalweg cluster`: the processes of a cluster on this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from dataclasses import dataclass

import click

from thalweg._src.base.processes import usable_cores
from thalweg._src.tools.cli.cluster_config import TF_CONFIG, write_tf_config
from thalweg._src.tools.cli.run import parse
from thalweg._src.tools.cli.supervisor import Command

THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Jobs:
    """How many tasks each job of a cluster has."""

    ps: int
    workers: int
    has_chief: bool
    has_evaluator: bool

    def counts(self) -> dict[str, int]:
        """Returns the number of tasks of each job in the cluster; an evaluator is not a part of it."""
        jobs = {"ps": self.ps, "chief": int(self.has_chief), "worker": self.workers}
        return {job: count for job, count in jobs.items() if count}


def commands(jobs: Jobs, script: tuple[str, ...], options: tuple[str, ...], pass_flags: bool) -> list[Command]:
    """Returns the processes of a cluster.

    script: what `thalweg run` is given
    options: options of `thalweg run`
    pass_flags: whether the script has the flags `job_name`, `task_index`, `ps_hosts` and `worker_hosts`; it is then run
      by the parameter servers too
    """
    _check(jobs, script, options, pass_flags)
    ports = iter(_free_ports(sum(jobs.counts().values())))
    cluster = {job: [f"localhost:{next(ports)}" for _ in range(count)] for job, count in jobs.counts().items()}
    tasks = [(job, index) for job, count in jobs.counts().items() for index in range(count)]
    if jobs.has_evaluator:
        tasks.append(("evaluator", 0))
    shared = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if not shared.get(THREADS):
        shared[THREADS] = str(max(1, usable_cores() // len(tasks)))
    result = []
    for job, index in tasks:
        program = ["run", *(f"--{option}" for option in options), *script]
        if pass_flags:
            hosts = [f"--{name}_hosts={','.join(cluster.get(name, []))}" for name in ("ps", "worker")]
            program += [f"--job_name={job}", f"--task_index={index}", *hosts]
        elif job == "ps":
            program = ["server"]
        environment = {**shared, TF_CONFIG: write_tf_config(cluster, job, index)}
        result.append(Command(job, index, [sys.executable, "-m", "thalweg", *program], environment))
    return result


def _check(jobs: Jobs, script: tuple[str, ...], options: tuple[str, ...], pass_flags: bool) -> None:
    """Refuses what no task could run."""
    program = parse(script, options)
    if program.kind == "-":
        raise click.UsageError("A script is needed: the tasks cannot share standard input.")
    if not program.kind and not os.path.exists(program.what):
        raise click.UsageError(f"There is no script {program.what}.")
    if not jobs.workers and not jobs.has_chief:
        raise click.UsageError("A cluster needs a worker or a chief.")
    if pass_flags and (jobs.has_chief or jobs.has_evaluator):
        raise click.UsageError("--pass-flags has no flags for --chief and --evaluator: worker 0 is the chief.")


def _free_ports(count: int) -> list[int]:
    """Returns ports at which nothing listens on this machine."""
    with contextlib.ExitStack() as sockets:
        bound = [sockets.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [sock.getsockname()[1] for sock in bound]

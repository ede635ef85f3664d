"""Clusters of processes, one process per task: started for one program, measured by the processes with a session."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from peers import Worker, once
from workloads.cluster_programs import PROGRAMS, REFERENCES, Program

TASK = Path(__file__).with_name("cluster_worker.py")
TOGETHER_SECONDS = 2.0  # a round of several workers: long next to the differences of their starts


class Cluster:
    """The processes of one peer; answers the requests of a `Worker`."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self._tasks: list[Worker] = []
        self._sessions: list[Worker] = []

    @property
    def processes(self) -> list[int]:
        return [process for worker in self._tasks for process in worker.processes]

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self, do)(**arguments)
        return answer

    def hello(self) -> dict[str, Any]:
        return once(self.peer, "hello")

    def prepare(self, workload: str, slow: bool = False) -> dict[str, Any]:
        """Starts the tasks of a program, builds it in every process with a session, and returns the first answer."""
        programs = REFERENCES if self.peer.endswith("_reference") else PROGRAMS
        self._start(programs[workload])
        first, *_ = [worker.ask("prepare", workload=workload, slow=slow) for worker in self._sessions]
        return first

    def _start(self, program: Program) -> None:
        self.forget()
        counts = {job: number for job, number in (("ps", program.ps), ("worker", program.workers)) if number}
        ports = iter(free_ports(sum(counts.values())))
        jobs = {job: [f"127.0.0.1:{next(ports)}" for _ in range(number)] for job, number in counts.items()}
        tasks = [(job, task) for job, number in counts.items() for task in range(number)]
        variables = {"THALWEG_CLUSTER_TRANSPORT": program.transport} if program.transport else {}
        self._tasks = [Worker(self.peer, TASK, **variables) for _ in range(len(tasks) + program.client)]
        # Imports take longest, so the processes start together.
        with ThreadPoolExecutor(len(self._tasks)) as pool:
            starts = zip(self._tasks, tasks)
            list(pool.map(lambda start: start[0].ask("start", jobs=jobs, job=start[1][0], task=start[1][1]), starts))
        self._sessions = self._tasks[len(tasks) :] if program.client else self._tasks[program.ps :]
        for task, worker in enumerate(self._sessions):
            worker.ask("connect", jobs=jobs, task=task)

    def run(self, steps: int) -> dict[str, Any]:
        """Returns the seconds of a step; for several sessions, the inverse of the sum of their rates."""
        if len(self._sessions) == 1:
            return self._sessions[0].ask("run", steps=steps)
        return {"seconds": 1 / sum(1 / each for each in self.together(len(self._sessions), TOGETHER_SECONDS))}

    def together(self, workers: int, seconds: float) -> list[float]:
        """Runs steps of the first workers at the same time and returns the seconds of a step of each."""
        with ThreadPoolExecutor(workers) as pool:
            answers = pool.map(lambda worker: worker.ask("repeat", seconds=seconds), self._sessions[:workers])
            return [answer["seconds"] for answer in answers]

    def cpu(self) -> list[float]:
        """Returns the CPU seconds of each task so far, parameter servers first."""
        return [worker.ask("cpu")["seconds"] for worker in self._tasks]

    def forget(self) -> dict[str, Any]:
        """Ends the processes."""
        self.close()
        return {}

    def close(self) -> None:
        for worker in self._tasks:
            worker.close()
        self._tasks, self._sessions = [], []


def free_ports(number: int) -> list[int]:
    """Returns ports at which nothing listens."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports

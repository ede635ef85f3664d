"""One process of a cluster: serves a task, and holds a session if it is a worker or a client."""

from __future__ import annotations

import time
from typing import Any

from worker import Peer, serve
from workloads import cluster_programs
from workloads.cluster_programs import Place


class Process(Peer):
    """A library, its server, and the current step."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.server: Any = None

    def start(self, jobs: dict[str, list[str]], job: str, task: int) -> dict[str, Any]:
        """Starts the server of a task."""
        self.server = self.module.train.Server(jobs, job_name=job, task_index=task)
        return {}

    def connect(self, jobs: dict[str, list[str]], task: int) -> dict[str, Any]:
        """Chooses the task whose master runs the steps: this process's own, or another one's if it has none."""
        target = self.server.target if self.server else f"grpc://{jobs['worker'][task]}" if jobs else ""
        place = Place(jobs, task, target)
        programs = cluster_programs.PROGRAMS if jobs else cluster_programs.REFERENCES
        tf = self.module
        self.programs = {name: lambda program=program: program.build(tf, place) for name, program in programs.items()}
        return {}

    def repeat(self, seconds: float) -> dict[str, Any]:
        """Repeats the step for some time and returns the mean seconds of a step."""
        assert self.step is not None
        start, steps = time.perf_counter(), 0
        while (now := time.perf_counter()) < start + seconds or not steps:
            self.step()
            steps += 1
        return {"seconds": (now - start) / steps}

    def cpu(self) -> dict[str, Any]:
        """Returns the CPU seconds of all threads of the process."""
        return {"seconds": time.process_time()}


if __name__ == "__main__":
    serve(Process)

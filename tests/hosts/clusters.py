"""Clusters over virtual hosts: which task runs where, what each is told of the others, and what the tasks report."""

import json
from itertools import pairwise
from pathlib import Path
from string import digits
from typing import NamedTuple

from tests.hosts.network import wait

PROGRAMS = Path(__file__).parent / "programs"
PORT = 2222
TOKEN = "a token of tests only"


class Step(NamedTuple):
    """A step that a program has completed: the global step, the loss, and the time of the system's monotonic clock."""

    number: int
    loss: float
    time: float


class Cluster:
    """Tasks of one program, each on a host of its own.

    tasks: their names, such as "ps0"; their hosts are those of the network, in this order, and `addresses` what the
        others know of them
    """

    def __init__(self, network, *tasks, program="parameter_servers.py", arguments=(), python=None):
        self.network, self.program, self.arguments, self.python = network, program, list(arguments), python
        self.hosts = dict(zip(tasks, network.hosts))
        self.spare = network.hosts[len(tasks) :]
        self.addresses = {task: host.url(PORT) for task, host in self.hosts.items()}
        self.variables = {"THALWEG_CLUSTER_TOKEN": TOKEN}
        self.processes = {}
        self.trainers = [task for task in tasks if not task.startswith("ps")]  # those that report steps

    def name_hosts(self):
        """Uses names instead of addresses, which all hosts know."""
        names = [(host.address, f"{task}.test") for task, host in self.hosts.items()]
        for host in self.network.hosts:
            host.names(names)
        self.addresses = {task: f"{task}.test:{PORT}" for task in self.hosts}

    def start(self, *tasks, host=None, name=None, program=None, arguments=None, addresses=(), **variables):
        """Starts tasks: those that are named, or all.

        host, name: of a process that is not at the host of its task, or not the only one
        addresses: where they differ from those that the others know, by task
        variables: of the environment, where they differ, without a value if None
        """
        spec = {}
        for task, address in {**self.addresses, **dict(addresses)}.items():
            spec.setdefault(task.rstrip(digits), []).append(address)
        for task in tasks or self.hosts:
            job = task.rstrip(digits)
            config = {"cluster": spec, "task": {"type": job, "index": int(task[len(job) :])}}
            options = {"TF_CONFIG": json.dumps(config) if job in spec else None, **self.variables, **variables}
            self.processes[name or task] = (host or self.hosts[task]).start(
                PROGRAMS / (program or self.program),
                *(self.arguments if arguments is None else arguments),
                name=name or task,
                python=self.python,
                **options,
            )

    def steps(self, task):
        values = [line.split() for line in self.processes[task].lines("step ")]
        return [Step(int(number), float(loss), float(time)) for _, number, loss, time in values]

    def trained(self, since=0.0, count=1):
        """Returns when the last trainer has completed so many steps after a time, or None while one has not."""
        times = []
        for task in self.trainers:
            later = [step.time for step in self.steps(task) if step.time > since] if task in self.processes else []
            if len(later) < count:
                return None
            times.append(later[count - 1])
        return max(times)

    def wait_trained(self, since, seconds, count=1):
        """Returns after how many seconds all trainers have completed steps, or says what they wrote instead."""

        def trained():
            if ended := [task for task in self.trainers if self.processes[task].poll() is not None]:
                raise ChildProcessError(f"{', '.join(ended)} ended")
            return self.trained(since, count)

        try:
            return wait(trained, seconds, "steps of all trainers") - since
        except (TimeoutError, ChildProcessError) as error:
            raise type(error)(f"{error}\n{self.report()}") from None

    def undone(self):
        """Returns the largest number of steps by which the global step went back at a trainer."""
        numbers = [[step.number for step in self.steps(task)] for task in self.trainers]
        return max(0, *(before - after for values in numbers for before, after in pairwise(values)))

    def losses(self):
        """Returns the loss that each trainer reported last for each global step."""
        return {(task, step.number): step.loss for task in self.trainers for step in self.steps(task)}

    def report(self, length=1500):
        """Returns the last of what each process has written, without its steps."""
        parts = []
        for name, process in self.processes.items():
            lines = [line for line in process.text().splitlines() if not line.startswith("step ")]
            status = "runs" if process.poll() is None else f"ended with {process.poll()}"
            count = len(process.lines("step "))
            parts.append(f"--- {name} {status}, {count} steps\n" + "\n".join(lines)[-length:])
        return "\n".join(parts)

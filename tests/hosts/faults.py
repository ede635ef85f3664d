"""Faults of hosts and cables while a cluster trains: it must go on in time, with nothing undone and the same losses.

Each case lets a program train, breaks something, mends it after some seconds, and measures how long it takes from then
until all workers have completed a step.
"""

import functools
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.hosts.clusters import PORT, Cluster
from tests.hosts.network import Network, wait

START_SECONDS, LIMIT = 60, 60
_BEFORE, _AFTER = 10, 10  # steps of each trainer before and after the fault
_REFERENCE_STEPS = 1500  # more than training under a fault completes
_SAME = 5e-6  # the relative difference of losses that agree to six digits
_REST = 8  # seconds
_WORKER, _PS, _FORGOTTEN, _RESTARTED = 3, 10, 15, 15  # seconds until training goes on
_PS_TASKS = ("ps0", "ps1")

# What trains: tasks, a program, and its arguments. The first trainer is the chief.
MODES = {
    "asynchronous": ((*_PS_TASKS, "worker0", "worker1"), "parameter_servers.py", ["--mode", "async"]),
    "synchronous": ((*_PS_TASKS, "worker0", "worker1"), "parameter_servers.py", ["--mode", "sync"]),
    "backup worker": ((*_PS_TASKS, "worker0", "worker1", "worker2"), "parameter_servers.py", ["--mode", "backup"]),
    "Estimator": (("ps0", "chief0", "worker0"), "estimator.py", []),
    "all-reduce": (("worker0", "worker1"), "all_reduce.py", []),
    "all-reduce, Estimator": (("chief0", "worker0"), "estimator.py", ["--all_reduce"]),
    "all-reduce, Keras": (("worker0", "worker1"), "keras.py", []),
    "client": (("ps0", "worker0"), "client.py", []),
}
_ROLES = {"ps0": "a parameter server", "worker0": "the chief", "worker1": "a worker", "client0": "the client"}


@dataclass(frozen=True)
class Fault:
    """A fault of training in a mode.

    breaks, mends: functions of the cluster
    lasts: seconds between them
    within: seconds until training goes on
    restarts: whether a parameter server or the chief does, so that steps since the last checkpoint are lost
    options: of the program
    """

    mode: str
    what: str
    breaks: Callable
    mends: Callable
    lasts: float = 0
    within: float = _PS
    restarts: bool = False
    options: tuple = ()

    @property
    def own(self):
        """Whether TensorFlow has no such program: without a coordinator, its strategies wait for ever."""
        return self.mode == "all-reduce"

    @property
    def name(self):
        return f"{self.mode}: {self.what}"

    @property
    def must(self):
        return "by itself" if self.lasts is None else f"{self.lasts:g} s"


@dataclass(frozen=True)
class Outcome:
    """What was measured: seconds until training went on, steps undone, and whether losses are those without a fault."""

    case: Fault
    seconds: float
    undone: int
    same: bool | None
    report: str

    def __str__(self):
        losses = "" if self.same is None else ", same losses" if self.same else ", other losses"
        return f"{self.seconds:.1f} s, {self.undone} undone{losses}"

    @property
    def wrong(self):
        """What does not hold, in words, or an empty text."""
        late = self.seconds > self.case.within and f"training went on after {self.seconds:.1f} s"
        may_undo = self.case.restarts or self.case.mode.startswith("all-reduce")  # a new group starts at a checkpoint
        undone = self.undone and not may_undo and f"{self.undone} steps were undone"
        return ", ".join(filter(None, [late, undone, self.same is False and "losses differ"]))


def run(case, folder, python=None):
    """Runs a case; TimeoutError if training does not start, or does not go on within a minute."""
    with Network(6, folder=folder) as network:
        cluster = _started(case, network, python)
        if case.lasts is None:  # it breaks by itself
            wait(lambda: all(cluster.processes[task].lines("goes on") for task in cluster.trainers), LIMIT, "a rest")
            mended = max(float(cluster.processes[task].lines("goes on")[0].split()[-1]) for task in cluster.trainers)
        else:
            case.breaks(cluster)
            time.sleep(case.lasts)
            case.mends(cluster)
            mended = time.monotonic()
        seconds = cluster.wait_trained(mended, LIMIT)
        cluster.wait_trained(mended, LIMIT, _AFTER)
        same = None
        if case.mode == "synchronous":
            reference = _reference(python)
            same = all(abs(loss - reference[key]) <= _SAME * reference[key] for key, loss in cluster.losses().items())
        return Outcome(case, seconds, cluster.undone(), same, cluster.report())


def _started(case, network, python):
    tasks, program, arguments = MODES[case.mode]
    options = [] if program in ("client.py", "keras.py") else ["--folder", network.folder / "model"]
    cluster = Cluster(network, *tasks, program=program, arguments=[*arguments, *options, *case.options], python=python)
    if case.options:
        cluster.hosts["ps0"].remember_for(_REST // 2)
    if case.mode == "client":
        cluster.start(program="parameter_servers.py", arguments=["--serve"])
        cluster.hosts["client0"], cluster.trainers = cluster.spare[0], ["client0"]
        target = f"grpc://{cluster.addresses['worker0']}"
        cluster.start("client0", arguments=[target, *cluster.arguments])
    else:
        cluster.start()
    cluster.wait_trained(0, START_SECONDS, _BEFORE)
    return cluster


@functools.cache
def _reference(python):
    """Returns the losses of synchronous training without a fault."""
    tasks, program, arguments = MODES["synchronous"]
    with tempfile.TemporaryDirectory() as folder, Network(len(tasks), folder=Path(folder)) as network:
        options = [*arguments, "--pause", "0", "--steps", _REFERENCE_STEPS]
        cluster = Cluster(network, *tasks, program=program, arguments=options, python=python)
        cluster.start()
        wait(lambda: all(cluster.processes[task].lines("done") for task in cluster.trainers), 3 * LIMIT, "losses")
        return cluster.losses()


# -- what breaks ------------------------------------------------------------------------------------------------------


def _nothing(cluster):
    """Changes nothing."""


def _cable(mode, task, lasts, within, role=None):
    what = f"the cable of {role or _ROLES[task]} is out for {lasts} s"
    return Fault(mode, what, lambda c: c.hosts[task].pull(), lambda c: c.hosts[task].plug(), lasts, within)


def _cables():
    for mode in ("asynchronous", "synchronous"):
        for task, within in (("worker1", _WORKER), ("ps0", _PS), ("worker0", _WORKER)):
            for seconds in (3, 12, 30):
                yield _cable(mode, task, seconds, within)
    yield _cable("backup worker", "worker2", 12, _WORKER, "a worker")
    yield _cable("backup worker", "ps0", 12, _PS)
    yield _cable("Estimator", "worker0", 12, _WORKER, "a worker")
    yield _cable("Estimator", "ps0", 12, _PS)
    yield _cable("Estimator", "chief0", 12, _WORKER, "the chief")
    for mode in ("all-reduce", "all-reduce, Keras"):
        yield _cable(mode, "worker1", 3, _WORKER)
    yield _cable("all-reduce", "worker1", 12, _WORKER)
    for seconds in (3, 12):
        yield _cable("all-reduce, Estimator", "worker0", seconds, _WORKER, "a worker")
    for task, within in (("client0", _WORKER), ("ps0", _PS)):
        for seconds in (3, 12):
            yield _cable("client", task, seconds, within)


def _losses():
    def heal(cluster):
        cluster.network.heal()

    for mode in ("asynchronous", "synchronous"):
        for deaf, mute in (("worker1", "ps0"), ("ps0", "worker1")):
            what = f"{_ROLES[deaf]} does not hear {_ROLES[mute]} for 12 s"
            yield Fault(mode, what, lambda c, d=deaf, m=mute: c.hosts[d].drop(c.hosts[m]), heal, 12)
        yield Fault(
            mode,
            "two halves do not hear each other for 12 s",
            lambda c: c.network.partition(*([c.hosts[f"ps{i}"], c.hosts[f"worker{i}"]] for i in (0, 1))),
            heal,
            12,
        )


def _connections():
    for mode in ("asynchronous", "synchronous", "Estimator", "client"):
        rest = ("--rest", 20, _REST)
        what = f"a firewall forgets connections without packets, in a rest of {_REST} s"
        yield Fault(mode, what, _nothing, _nothing, None, _FORGOTTEN, options=rest)
    for mode, task in (("asynchronous", "ps0"), ("synchronous", "ps0"), ("Estimator", "ps0"), ("client", "ps0")):
        yield Fault(mode, "a firewall forgets all connections", _firewall_restarts, _nothing, 0, _FORGOTTEN)
        yield Fault(mode, "all connections are reset", lambda c, t=task: c.hosts[t].reset(), _nothing)
    yield Fault("all-reduce", "all connections are reset", lambda c: c.hosts["worker1"].reset(), _nothing)


def _firewall_restarts(cluster):
    cluster.hosts["ps0"].remember_for(600)
    cluster.hosts["ps0"].forget()


def _power(mode, task, role=None, **options):
    def restart(cluster):
        cluster.hosts[task].power_on()
        cluster.start(task)

    what = f"{role or _ROLES[task]} has no power for 5 s, and starts again"
    return Fault(mode, what, lambda c: c.hosts[task].power_off(), restart, 5, _RESTARTED, **options)


def _powers():
    for mode in ("asynchronous", "synchronous"):
        yield _power(mode, "worker1")
        yield _power(mode, "worker0", restarts=True)
        yield _power(mode, "ps0", restarts=True)
    yield _power("backup worker", "worker2", "a worker")
    yield _power("Estimator", "ps0", restarts=True)
    yield _power("all-reduce", "worker1")


def _doubles():
    def double(cluster):
        host = cluster.spare[0]
        cluster.start("worker1", name="double", host=host, addresses={"worker1": host.url(PORT)})
        wait(lambda: cluster.processes["double"].poll() is not None, _PS, f"the end of the double\n{cluster.report()}")

    for mode in ("asynchronous", "synchronous"):
        yield Fault(mode, "a second process of a worker starts, and ends", double, _nothing)


CASES = {case.name: case for cases in (_cables, _losses, _connections, _powers, _doubles) for case in cases()}

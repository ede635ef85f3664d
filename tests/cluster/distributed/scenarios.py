"""Fault scenarios: training programs in real processes, of which one fails at a chosen point, and training resumes.

    python -m tests.cluster.distributed.scenarios [--jobs N] [--list] [pattern of names ...]

Each scenario starts two parameter servers and its workers; a supervisor starts tasks again that end with an error. One
line per scenario says after how many seconds another task reported the fault (detection), and how long after the task
was there again all workers had completed a step (recovery). Processes are forked from this one, which has imported what
they need, so that the times are not those of imports.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import grpc  # noqa: F401
import numpy as np

import thalweg as tf
from tests import children
from tests.cluster.distributed import namespaces, replica
from tests.cluster.distributed.injector import GIL_SECONDS, Fault
from thalweg._src.cluster.distributed import credentials

DETECTION, RECOVERY = 10.0, 20.0  # the longest times, in seconds
_LIMIT = 120.0  # seconds of a scenario
_HEALED_AFTER = 12.0  # seconds that a stopped or unreachable task stays so
_FIRST_STEPS = 5
_MORE_STEPS = 15  # after the recovery
_REFERENCE_STEPS = 4000  # more than the others complete while a task does nothing
_SAVE_STEPS = replica.Task.save_steps
_LATE = 1e-3
_INSIDE = "THALWEG_TESTS_INSIDE"  # set in a namespace of this script
_PR_SET_PDEATHSIG, _CLONE_NEWNET = 1, 0x40000000
PS, CHIEF, WORKER, BACKUP = ("ps", 0), ("worker", 0), ("worker", 1), ("worker", 2)
_ROLES = {PS: "ps", CHIEF: "chief", WORKER: "worker", BACKUP: "backup worker"}


@dataclass(frozen=True)
class Scenario:
    """A fault of one task.

    heals_by: for a task that was stopped: "restart" it, or let it "continue"
    """

    victim: tuple[str, int]
    fault: Fault
    mode: str = "async"
    heals_by: str = "restart"
    resumes: bool = False

    @property
    def name(self):
        then = ", continued" if self.fault.action == "stop" and self.heals_by == "continue" else ""
        return f"{self.mode} {_ROLES[self.victim]} {self.fault.action} {self.fault.point}{then}"

    @property
    def is_synchronous(self):
        return self.mode in ("sync", "backup")

    @property
    def at_the_end(self):
        return "clos" in self.fault.point


@dataclass
class Outcome:
    """How a scenario went; times in seconds, None where nothing had to be noticed."""

    name: str
    result: str
    detection: float | None = None
    recovery: float | None = None
    is_good: bool = False

    @property
    def is_timely(self):
        return (self.detection or 0) <= DETECTION and (self.recovery or 0) <= RECOVERY

    @property
    def verdict(self):
        return "FAILED" if not self.is_good else "" if self.is_timely else "TOO SLOW"


def scenarios():
    """Returns all scenarios."""
    found = [*_kills(), *_silences(), *_plain(), *_synchronous(), *_backups()]
    assert len({scenario.name for scenario in found}) == len(found)
    return found


def _kills():
    ps = {
        "before its part of a step": 30,
        "while sending": 60,
        "while receiving": 60,
        "while writing": 1,
        "between renames": 1,
        "while restoring": 1,
        "while a session is closed": 1,
    }
    chief = {
        "before a step": 8,
        "while sending": 60,
        "while receiving": 60,
        "while saving": 2,
        "between renames": 5,
        "while closing": 1,
        "in a queue runner": 2,
    }
    worker = {
        "before a step": 8,
        "while sending": 40,
        "while receiving": 40,
        "while closing": 1,
        "in a queue runner": 2,
    }
    for victim, points in ((PS, ps), (CHIEF, chief), (WORKER, worker)):
        for point, nth in points.items():
            yield Scenario(victim, Fault(point, nth, "kill"), resumes=point == "while restoring")
        point, nth = next(iter(points.items()))
        yield Scenario(victim, Fault(point, nth, "exit"))
    # The last renames of a save: the index of the merged checkpoint, and the file that names the latest one.
    for nth, action in ((3, "exit"), (4, "exit")):
        yield replace(Scenario(CHIEF, Fault("between renames", nth, action)), mode=f"async rename {nth}")


def _silences():
    for victim, step in ((PS, "before its part of a step"), (CHIEF, "before a step"), (WORKER, "before a step")):
        yield Scenario(victim, Fault(step, 12, "stop"))
        yield Scenario(victim, Fault(step, 12, "stop"), heals_by="continue")
        yield Scenario(victim, Fault("while sending", 60, "stop"))
        yield Scenario(victim, Fault(step, 12, "gil"))
        yield Scenario(victim, Fault(step, 12, "cut"))
        yield Scenario(victim, Fault("while receiving", 60, "cut"))
    yield Scenario(PS, Fault("while writing", 1, "stop"))
    yield Scenario(CHIEF, Fault("between renames", 2, "stop"))
    yield Scenario(PS, Fault("while sending", 60, "gil"))


def _plain():
    for action in ("kill", "stop", "gil", "cut"):
        yield Scenario(PS, Fault("before its part of a step", 30, action), mode="plain")
    for point in ("while sending", "while receiving"):
        yield Scenario(PS, Fault(point, 60, "kill"), mode="plain")


def _synchronous():
    points = {
        PS: {
            "before its part of a step": 30,
            "while sending": 60,
            "while receiving": 60,
            "while writing": 3,
            "between renames": 3,
            "while restoring": 1,
        },
        CHIEF: {"before a step": 12, "while sending": 60, "while saving": 2, "between renames": 5, "while closing": 1},
        WORKER: {"before a step": 12, "while sending": 40, "while receiving": 40, "while closing": 1},
    }
    for victim, nths in points.items():
        for point, nth in nths.items():
            yield Scenario(victim, Fault(point, nth, "kill"), mode="sync", resumes=point == "while restoring")
    for victim in (PS, CHIEF, WORKER):
        point = "before its part of a step" if victim == PS else "before a step"
        for action in ("stop", "gil", "cut"):
            yield Scenario(victim, Fault(point, 14, action), mode="sync")


def _backups():
    for victim in (PS, CHIEF, WORKER, BACKUP):
        point = "before its part of a step" if victim == PS else "before a step"
        yield Scenario(victim, Fault(point, 20, "kill"), mode="backup")
        yield Scenario(victim, Fault("while sending", 60, "kill"), mode="backup")
    for action in ("stop", "gil", "cut"):
        yield Scenario(BACKUP, Fault("before a step", 14, action), mode="backup")


# -- processes --------------------------------------------------------------------------------------------------------


class Process:
    """A task in a process that is forked from this one, and ends with it."""

    def __init__(self, task, netns=None):
        self.task, self.netns = task, netns
        self.status = None
        self.pid = os.fork()
        if self.pid == 0:
            self._become()

    def _become(self):
        code = 1
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if self.netns is not None:
                with open(f"/proc/{self.netns}/ns/net") as file:
                    assert libc.setns(file.fileno(), _CLONE_NEWNET) == 0
            log = os.open(self.task.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            code = 0 if replica.run(self.task) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def poll(self):
        """Returns the exit status, negative for a signal, or None while the process runs."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def end(self):
        self.signal(signal.SIGKILL)
        if self.status is None:
            os.waitpid(self.pid, 0)
            self.status = -signal.SIGKILL


class Run:
    """The processes of one scenario, their supervisor, and what they report."""

    def __init__(self, scenario, number, folder, has_fault=True, **options):
        """options: further ones of the tasks."""
        self.scenario, self.folder = scenario, Path(folder)
        self.deadline = time.monotonic() + _LIMIT
        self.restarts, self.most_restarts = {}, 3
        hosts = ("localhost", "localhost")
        self._other = None
        if scenario.fault.action == "cut":
            hosts = (f"10.77.{number}.1", f"10.77.{number}.2")
            self._other = _other_namespace(number, hosts)
        workers = 1 if scenario.mode == "plain" else 3 if scenario.mode == "backup" else 2
        tasks = [("ps", 0), ("ps", 1), *(("worker", index) for index in range(workers))]
        spec = {"ps": [], "worker": []}
        for port, task in zip(_ports(number), tasks):
            spec[task[0]].append(f"{hosts[task == scenario.victim]}:{port}")
        self.processes = {}
        for job, index in tasks:
            fault = scenario.fault if has_fault and (job, index) == scenario.victim else None
            mode = scenario.mode.partition(" ")[0]
            self.start(replica.Task(spec, job, index, mode, self.folder, fault=fault, **options))

    def start(self, task):
        is_apart = (task.job, task.index) == self.scenario.victim and self._other is not None
        self.processes[task.job, task.index] = Process(task, self._other.pid if is_apart else None)

    def close(self):
        for process in self.processes.values():
            process.end()
        if self._other is not None:
            children.end(self._other)

    # -- what the tasks report ------------------------------------------------------------------------------------

    def events(self, job, index, kind, since=0.0):
        """Yields the time and the text of the events of a task."""
        path = self.folder / f"{job}{index}"
        for line in path.read_text().splitlines() if path.exists() else ():
            when, found, *text = line.split(" ", 2)
            if found == kind and float(when) >= since:
                yield float(when), text[0] if text else ""

    def workers(self):
        return [task for task in self.processes if task[0] == "worker"]

    def last_step(self):
        steps = [int(text.split()[0]) for task in self.workers() for _, text in self.events(*task, "step")]
        return max(steps, default=0)

    def fault_time(self):
        path = self.folder / "fault"
        return float(path.read_text()) if path.exists() and path.read_text() else None

    def detection(self):
        """Returns when another task reported that the victim was lost."""
        job, index = self.scenario.victim
        name = re.compile(rf"/job:{job}/replica:0/task:{index}\b.*(lost|reached|restarted|not found)")
        start = self.fault_time()
        times = [
            when
            for other in self.processes
            if other != self.scenario.victim
            for kind in ("log", "error")
            for when, text in self.events(*other, kind, start)
            if name.search(text)
        ]
        return min(times, default=None)

    # -- the supervisor -------------------------------------------------------------------------------------------

    def until(self, condition, what):
        """Supervises the tasks until a condition holds."""
        while not (result := condition()):
            self.supervise()
            if time.monotonic() > self.deadline:
                for process in self.processes.values():
                    process.signal(signal.SIGUSR1)  # writes what its threads do to the log
                time.sleep(1.0)
                raise TimeoutError(what)
            time.sleep(0.05)
        return result

    def supervise(self):
        """Starts tasks again that have ended with an error, or by a signal."""
        for task, process in list(self.processes.items()):
            if process.poll() and self.scenario.mode != "plain":
                self.restarts[task] = self.restarts.get(task, 0) + 1
                if self.restarts[task] > self.most_restarts:
                    raise RuntimeError(f"{task[0]} {task[1]} has failed {self.restarts[task]} times")
                self.start(process.task)

    def heal(self, start):
        """Returns when the victim is there again."""
        victim = self.processes[self.scenario.victim]
        action = self.scenario.fault.action
        if action in ("stop", "cut"):
            self.until(lambda: time.monotonic() > start + _HEALED_AFTER, "the time of the fault")
            if action == "cut":
                children.run([*_entering(self._other), shutil.which("ip"), "link", "set", "there", "up"])
                return time.monotonic()
            if self.scenario.heals_by == "continue":
                victim.signal(signal.SIGCONT)
                return time.monotonic()
            victim.end()
        if action == "gil":
            self.until(lambda: time.monotonic() > start + GIL_SECONDS, "the time of the fault")
            return start + GIL_SECONDS
        return self.until(lambda: next(self.events(*self.scenario.victim, "serves", start), None), "the restart")[0]

    def has_ended(self):
        return all(self.processes[task].poll() == 0 for task in self.workers())

    def end_at(self, step):
        path = self.folder / "last"
        path.with_suffix(".new").write_text(str(step))
        path.with_suffix(".new").rename(path)

    def all_trained(self, since):
        """Returns when the last worker has completed a step, or has ended, after a time; None if one has not."""
        times = []
        for task in self.workers():
            found = [when for when, _ in self.events(*task, "step", since)]
            found += [max(when, since) for when, _ in self.events(*task, "done")]
            if not found:
                return None
            times.append(min(found))
        return max(times)


def _ports(number):
    for port in range(20_000 + 20 * number, 20_020 + 20 * number):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        yield port


def _other_namespace(number, hosts):
    """Makes a namespace that is connected to this one, and returns a process in it."""
    other = children.start([shutil.which("unshare"), "--net", "/bin/sh", "-c", "echo made; exec sleep 600"], stdout=-1)
    assert other.stdout.readline() == b"made\n"
    here, ip = f"here{number}", shutil.which("ip")
    children.run([ip, "link", "add", here, "type", "veth", "peer", "name", "there", "netns", str(other.pid)])
    for start, name, address in (([], here, hosts[0]), (_entering(other), "there", hosts[1])):
        children.run([*start, ip, "addr", "add", f"{address}/24", "dev", name])
        children.run([*start, ip, "link", "set", name, "up"])
        children.run([*start, ip, "link", "set", "lo", "up"])
    return other


def _entering(other):
    return [shutil.which("nsenter"), f"--target={other.pid}", "--net"]


# -- scenarios --------------------------------------------------------------------------------------------------------


def play(scenario, number, folder):
    """Runs a scenario and returns its outcome."""
    outcome = Outcome(scenario.name, "")
    if scenario.resumes:
        _train_before(scenario, number, folder)
    run = Run(scenario, number, folder)
    try:
        _play(run, outcome)
    except (TimeoutError, RuntimeError) as error:
        outcome.result = f"{type(error).__name__}: {error}"
    finally:
        run.close()
    return outcome


def _train_before(scenario, number, folder):
    """Trains for some steps, so that the tasks of the scenario start from a checkpoint."""
    run = Run(scenario, number, folder, has_fault=False)
    try:
        run.end_at(_FIRST_STEPS)
        run.until(run.has_ended, "the end of training")
    finally:
        run.close()
    for path in (folder / "last", *folder.glob("worker*"), *folder.glob("ps*")):
        path.unlink()


def _play(run, outcome):
    scenario = run.scenario
    if scenario.at_the_end:
        run.until(lambda: run.last_step() >= _FIRST_STEPS and run.all_trained(0.0), "the first steps of every worker")
        # At a step with a checkpoint: to repeat synchronous steps, a chief needs workers that have ended.
        run.end_at(-(-(run.last_step() + _FIRST_STEPS) // _SAVE_STEPS) * _SAVE_STEPS)
    start = run.until(run.fault_time, f"the point {scenario.fault.point!r}")
    if scenario.mode == "plain":
        run.until(lambda: run.processes[CHIEF].poll() is not None, "an error")
        _, error = next(run.events(*CHIEF, "error"), (0, "no error"))
        outcome.detection = (run.detection() or float("inf")) - start
        outcome.result = error.partition(" ")[0]
        outcome.is_good = outcome.result in ("UnavailableError", "AbortedError")
        return
    up = run.heal(start)
    back = run.until(lambda: run.all_trained(up), "a step of every worker")
    outcome.recovery = back - up
    if not scenario.at_the_end:
        run.end_at(run.last_step() + _MORE_STEPS)
    wanted = int((run.folder / "last").read_text())
    run.until(run.has_ended, "the end of training")
    detected = run.detection()
    outcome.detection = None if detected is None else detected - start
    reached = run.last_step()
    has_reached = reached + len(run.workers()) >= wanted
    outcome.result = "resumed" if has_reached else f"ended at step {reached} of {wanted}"
    failed = [task for task in run.restarts if task != scenario.victim]
    for task in failed:
        _, error = next(run.events(*task, "error"), (0, "killed"))
        outcome.result += f", {task[0]} {task[1]} was restarted: {error[:150]}"
    if scenario.is_synchronous and (difference := _difference(run)):
        outcome.result += f", {difference}"
        has_reached = False
    # A task that is lost while the last checkpoint is written is a typed error; otherwise the others live on.
    outcome.is_good = has_reached and (scenario.at_the_end or not failed)


def undisturbed(folder, steps):
    """Trains without a fault and writes the loss and the variables of each step to the file `reference`."""
    folder.mkdir()
    run = Run(Scenario(PS, Fault("", 0, ""), mode="sync"), 60, folder, False, is_reference=True, pause=0.0)
    try:
        run.end_at(steps)
        run.until(run.has_ended, "the end of training")
        losses = dict(text.split() for task in run.workers() for _, text in run.events(*task, "step"))
        variables = dict(text.split() for _, text in run.events(*CHIEF, "variables"))
    finally:
        run.close()
    (folder.parent / "reference").write_text(json.dumps({"losses": losses, "variables": variables}))


def _difference(run):
    """Returns where synchronous training differs from an undisturbed run, or an empty text."""
    reference = json.loads((run.folder.parent / "reference").read_text())
    # A backup worker that is late reads variables while they are updated; its gradients are dropped.
    for task in run.workers() if run.scenario.mode == "sync" else ():
        for _, text in run.events(*task, "step"):
            step, loss = text.split()
            if reference["losses"].get(step, loss) != loss:
                return f"{task[0]} {task[1]} has another loss at step {step}"
    reader = tf.train.load_checkpoint(str(run.folder / "model"))
    values = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    assert str(values["global_step"]) in reference["variables"], "the undisturbed run is too short"
    expected = np.frombuffer(bytes.fromhex(reference["variables"][str(values["global_step"])]), np.float32)
    difference = float(np.abs(replica.joined(values) - expected).max())
    # A late gradient of a backup worker may be a part of the means of some variables.
    if difference > (_LATE if run.scenario.mode == "backup" else 0.0):
        return f"the variables at step {values['global_step']} differ by {difference:.1g}"
    return ""


def _play_forked(scenario, number, folder):
    """Starts a scenario in a process of its own, which writes the outcome to a file."""
    pid = os.fork()
    if pid == 0:
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            path = Path(folder)
            path.mkdir()
            outcome = play(scenario, number, path)
            (path / "outcome").write_text(json.dumps(asdict(outcome)))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    return pid


def play_all(chosen, jobs, folder):
    """Runs scenarios, so many at a time, and yields their outcomes."""
    waiting, running = list(enumerate(chosen)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            number, scenario = waiting.pop(0)
            running[_play_forked(scenario, number, folder / str(number))] = number, scenario
        pid, _ = os.wait()
        if pid in running:
            number, scenario = running.pop(pid)
            path = folder / str(number) / "outcome"
            yield Outcome(**json.loads(path.read_text())) if path.exists() else Outcome(scenario.name, "no outcome")


def table(outcomes):
    """Returns lines with the outcomes, their medians and the worst."""
    width = max(len(outcome.name) for outcome in outcomes)
    yield f"{'scenario':<{width}}  detection  recovery  result"
    for outcome in outcomes:
        times = f"{_shown(outcome.detection):>9}  {_shown(outcome.recovery):>8}"
        yield f"{outcome.name:<{width}}  {times}  {outcome.result}  {outcome.verdict}".rstrip()
    for name, of in (("median", statistics.median), ("worst", max)):
        columns = ([getattr(o, field) for o in outcomes] for field in ("detection", "recovery"))
        values = [_shown(of(known)) if (known := [v for v in column if v is not None]) else "-" for column in columns]
        yield f"{name:<{width}}  {values[0]:>9}  {values[1]:>8}"


def _shown(seconds):
    return "-" if seconds is None else f"{seconds:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at a time")
    parser.add_argument("--list", action="store_true", help="print the names of the scenarios")
    parser.add_argument("--folder", type=Path, help="a new folder for the events and logs, which are kept there")
    parser.add_argument("names", nargs="*", help="patterns of names; by default all scenarios are run")
    options = parser.parse_args()
    chosen = [s for s in scenarios() if not options.names or any(re.search(part, s.name) for part in options.names)]
    if options.list:
        print("\n".join(scenario.name for scenario in chosen))
        return 0
    is_cut = any(scenario.fault.action == "cut" for scenario in chosen)
    if is_cut and _INSIDE not in os.environ and not namespaces.missing():
        # In a namespace of its own, the network can be cut.
        command = [*namespaces.outside(), sys.executable, "-m", "tests.cluster.distributed.scenarios", *sys.argv[1:]]
        inside = {_INSIDE: "1", credentials.TOKEN: "a token of tests only"}
        return subprocess.run(command, check=False, env={**os.environ, **inside}).returncode
    if _INSIDE in os.environ:
        children.run([shutil.which("ip"), "link", "set", "lo", "up"])
    else:
        chosen = [scenario for scenario in chosen if scenario.fault.action != "cut"]
    folder = options.folder or Path(tempfile.mkdtemp(prefix="scenarios"))
    folder.mkdir(exist_ok=True)
    if any(scenario.is_synchronous for scenario in chosen):
        is_short = all(scenario.fault.action in ("kill", "exit") for scenario in chosen)
        undisturbed(folder / "undisturbed", _REFERENCE_STEPS // 32 if is_short else _REFERENCE_STEPS)
    outcomes = []
    for outcome in play_all(chosen, options.jobs, folder):
        outcomes.append(outcome)
        print(f"{len(outcomes)}/{len(chosen)} {outcome.name}: {outcome.result}", file=sys.stderr, flush=True)
    print("\n".join(table(outcomes)))
    if not any(outcome.verdict for outcome in outcomes):
        if options.folder is None:
            shutil.rmtree(folder)
        return 0
    print(f"events and logs: {folder}")
    return 1


if __name__ == "__main__":
    sys.exit(main())

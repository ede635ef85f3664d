"""Faults of the wire: what a program meets when one frame or one call between real tasks is lost, repeated or broken.

`python -m tests.distributed.wire_faults` goes through all frames, calls and faults, and prints a table.
"""

import contextlib
import itertools
import json
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from unittest import mock

import thalweg as tf
from tests import children
from tests.distributed.clusters import addresses
from tests.distributed.wire_proxy import Fault, Proxy
from tests.distributed.wire_task import through
from thalweg._src.distributed import client
from thalweg._src.distributed.control import CALLS
from thalweg._src.distributed.frames import Kind

FAULTS = ("lost", "reply lost", "twice", "delayed", "reset", "truncated")
CALL_FAULTS = (*FAULTS, "reply truncated")
LIMIT = 45.0  # seconds for a program with a fault
PS, WORKER, CLIENT = "/job:ps", "/job:worker", "client"
_MEDIUM, _LARGE = 150_000, 400_000  # floats: less and more than the window of 1 MB, beyond which tensors are offered
_SYNC_STEPS = 6
_numbers = itertools.count()

# Frames by kind, role of the connection, and sender.
FRAMES = (
    *((Kind.HELLO, "link", sender) for sender in (CLIENT, WORKER, PS)),
    (Kind.RUN_STEP, "channel", CLIENT),
    (Kind.RUN_PARTITIONS, "channel", WORKER),
    *((Kind.DONE, "channel", sender) for sender in (WORKER, PS)),
    *((Kind.FAILED, "channel", sender) for sender in (WORKER, PS)),
    (Kind.TENSOR, "channel", PS),
    *((Kind.TENSOR, "link", sender) for sender in (CLIENT, WORKER, PS)),
    *((Kind.ABORT, "link", sender) for sender in (WORKER, PS)),
    *((Kind.PING, "link", sender) for sender in (CLIENT, WORKER, PS)),
    *((Kind.PING, "channel", sender) for sender in (CLIENT, WORKER, PS)),
    *((Kind.PONG, "channel", sender) for sender in (WORKER, PS)),
    (Kind.END, "link", WORKER),
    (Kind.OFFER, "link", WORKER),
    (Kind.WANT, "link", PS),
    (Kind.WANTED, "link", WORKER),
    (Kind.CONSUMED, "link", PS),
)
SLAB_FRAMES = tuple((Kind.RELEASE, "link", sender) for sender in (WORKER, PS))
# For synchronous training, also the number of such messages that pass before, so that the fault happens in training.
SYNC_FRAMES = (
    (Kind.RUN_STEP, "channel", CLIENT, 12),
    (Kind.RUN_PARTITIONS, "channel", WORKER, 12),
    *((Kind.DONE, "channel", sender, 12) for sender in (WORKER, PS)),
    (Kind.TENSOR, "channel", PS, 3),
    (Kind.TENSOR, "link", WORKER, 0),
    *((Kind.ABORT, "link", sender, 0) for sender in (WORKER, PS)),
    *((Kind.PING, "link", sender, 0) for sender in (CLIENT, WORKER, PS)),
)
CALLERS = {
    **dict.fromkeys(("CreateWorkerSession", "DeleteWorkerSession", "RegisterStep", "Handle"), (WORKER,)),
    "TaskRequest": (CLIENT, WORKER),
    "Reset": (CLIENT, WORKER),
    "StatusRequest": (),  # by `thalweg status` alone
}


def calls():
    """Yields the calls of the control plane with those that make them."""
    for request in CALLS:
        for caller in CALLERS.get(request.__name__, (CLIENT,)):
            yield request.__name__, "call", caller


@dataclass
class Outcome:
    """What a program met: how many updates succeeded and failed, and the errors."""

    succeeded: int = 0
    failed: int = 0
    errors: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def verdict(self):
        if self.problems:
            return "WRONG"
        return f"{type(self.errors[0]).__name__.removesuffix('Error')}" if self.errors else "ok"


class Program:
    """A graph at a parameter server and a worker with updates that are counted."""

    def __init__(self):
        name = f"n{next(_numbers)}"
        self.graph = tf.Graph()
        with self.graph.as_default():
            one, self.size = tf.placeholder(tf.float32, [], "one"), tf.placeholder(tf.int32, [], "size")
            with tf.device("/job:worker/task:0"):
                sent, many = one * 1.0, tf.fill([self.size], one)
            with tf.device("/job:ps/task:0"):
                self.count = tf.Variable(0.0, name=name, use_resource=True)
                self.queue = tf.FIFOQueue(9, tf.float32, [()], shared_name=name)
                added = self.count.assign_add(sent)
                added_mean = self.count.assign_add(tf.reduce_mean(many))
                big = tf.fill([self.size], one)
                bad = tf.gather([1.0, 2.0], self.size)
                self.put, self.take = self.queue.enqueue(sent), self.queue.dequeue()
                self.fed = tf.placeholder(tf.float32, [], "fed")
                self.doubled = self.fed * 2.0
                slow = tf.gather([1.0], tf.cast(self.take, tf.int32) * 0)
            with tf.device("/job:worker/task:0"):
                self.add, self.add_mean = added * 1.0, added_mean * 1.0
                self.big, self.bad = tf.reduce_sum(big), bad * 2.0
                self.slow = slow * 1.0
            self.one = one
            self.bad_here = tf.gather([1.0, 2.0], self.size)
            self.initializer = self.count.initializer

    def session(self, target, milliseconds=0):
        return tf.Session(target, graph=self.graph, config=self.config(milliseconds))

    def config(self, milliseconds):
        return tf.ConfigProto(operation_timeout_in_ms=milliseconds)


class Run:
    """One run of a program, in which any step may fail."""

    def __init__(self, program, target, milliseconds):
        self._program, self._target, self._milliseconds = program, target, milliseconds
        self.outcome = Outcome()
        self._session = None

    def _try(self, call, *args, expected=(), updates=0, **options):
        try:
            call(*args, **options)
        except expected:
            pass
        except tf.errors.OpError as error:
            self.outcome.errors.append(error)
            self.outcome.failed += updates
            return False
        except Exception as error:
            self.outcome.problems.append(f"{type(error).__name__}: {error}")
            self.outcome.failed += updates
            return False
        self.outcome.succeeded += updates
        return True

    def _open(self):
        self._session = self._program.session(self._target, self._milliseconds)

    def all(self, is_long):
        """Opens a session, and runs steps of all sorts; `is_long`: with one that takes longer than heartbeats."""
        p = self._program
        if not self._try(self._open):
            return
        run = self._session.run
        ones = {p.one: 1.0, p.size: 1}
        for _ in range(3):
            self._try(run, p.add, ones, updates=1)
        self._try(run, p.add, ones, tf.RunOptions(timeout_in_ms=5000), updates=1)
        for size in (_MEDIUM, _LARGE):
            self._try(run, p.add_mean, {p.one: 1.0, p.size: size}, updates=1)
        self._try(run, p.big, {p.one: 1.0, p.size: _MEDIUM})
        self._try(run, p.bad, {p.one: 1.0, p.size: 7}, expected=tf.errors.InvalidArgumentError)
        self._try(run, p.bad_here, {p.one: 1.0, p.size: 7}, expected=tf.errors.InvalidArgumentError)
        limit = tf.RunOptions(timeout_in_ms=300)
        self._try(run, p.slow, ones, limit, expected=tf.errors.DeadlineExceededError)
        if is_long:
            self._try(self._wait_for_an_element)
        self._try(self._partly)
        self._try(run, p.add, ones, updates=1)
        self._try(self._session.close)
        self._try(tf.Session.reset, self._target, ["no such container"], p.config(self._milliseconds))

    def _wait_for_an_element(self):
        """Runs a step that takes longer than the interval of heartbeats."""
        p = self._program
        other = threading.Timer(2.5, self._put)
        other.start()
        try:
            self._session.run(p.slow, {p.one: 1.0, p.size: 1})
        finally:
            other.join()

    def _put(self):
        with contextlib.suppress(tf.errors.OpError):
            self._session.run(self._program.put, {self._program.one: 1.0})

    def _partly(self):
        p = self._program
        handle = self._session.partial_run_setup([p.doubled], [p.fed])
        found = self._session.partial_run(handle, p.doubled, {p.fed: 4.0})
        if found != 8.0:
            self.outcome.problems.append(f"a partial run returned {found}")


class SyncProgram:
    """Synchronous training of one replica, in which each update subtracts 1 from a variable."""

    def __init__(self):
        name = f"n{next(_numbers)}"
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=1)):
            self.step = tf.train.create_global_step()
            self.value = tf.get_variable(name, [], initializer=tf.zeros_initializer())
            self.optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, name=name)
            with tf.device("/job:worker/task:0"):
                loss = self.value * tf.placeholder_with_default(1.0, [])
            self.train = self.optimizer.minimize(loss, global_step=self.step)

    def run(self, target, outcome):
        hooks = [self.optimizer.make_session_run_hook(True), tf.train.StopAtStepHook(num_steps=_SYNC_STEPS)]
        try:
            with (
                self.graph.as_default(),
                tf.train.MonitoredTrainingSession(target, hooks=hooks, log_step_count_steps=None) as session,
            ):
                while not session.should_stop():
                    session.run(self.train)
        except tf.errors.OpError as error:
            outcome.errors.append(error)


class Tasks:
    """A parameter server and a worker in processes, and this process as a client, connected by a proxy."""

    def __init__(self, transport="tcp"):
        self.proxy = Proxy()
        self.spec = addresses(ps=1, worker=1)
        self.target = f"grpc://{self.spec['worker'][0]}"
        self._ports = [f":{tasks[0].rpartition(':')[2]}" for tasks in self.spec.values()]
        with contextlib.ExitStack() as ends:
            ends.callback(self.proxy.close)
            ends.enter_context(through(self.proxy.address, CLIENT))
            variables = {
                "OMP_NUM_THREADS": "1",
                "THALWEG_CLUSTER_TRANSPORT": transport,
                "THALWEG_CLUSTER_WINDOW_MB": "1",
                "THALWEG_CLUSTER_LOST_AFTER": "4",
            }
            ends.enter_context(mock.patch.dict("os.environ", variables))
            self._processes = {job: self._start(job, ends, variables) for job in self.spec}
            for process in self._processes.values():
                assert process.stdout.readline() == "serves\n"
            ends.callback(client.disconnect)
            self._ends = ends.pop_all()

    def _start(self, job, ends, variables):
        command = [sys.executable, "-m", "tests.distributed.wire_task", self.proxy.address, json.dumps(self.spec)]
        process = children.start(
            [*command, job, "0"],
            cwd=children.ROOT,
            env=children.environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        ends.callback(children.end, process)
        return process

    def close(self):
        self._ends.close()

    def states(self):
        """Returns what each task keeps."""
        found = {}
        for job, process in self._processes.items():
            process.stdin.write("state\n")
            process.stdin.flush()
            found[job] = json.loads(process.stdout.readline())
        return found

    def left(self):
        """Waits until the tasks keep nothing for clients that have gone; returns what is left."""
        until = time.monotonic() + 15
        while True:
            left = [
                f"{job}: {name} {value}"
                for job, state in self.states().items()
                for name, value in state.items()
                if value and name != "threads"
            ]
            if not left or time.monotonic() > until:
                return left
            time.sleep(0.1)

    def check(self, fault):
        """Runs a program that meets a fault, and returns its outcome."""
        program = Program()
        with program.session(self.target) as session:
            session.run(program.initializer)
        client.disconnect()
        self.proxy.cut()
        run = Run(program, self.target, 6000 if fault is not None and fault.role == "call" else 0)
        is_long = fault is None or fault.what in (Kind.PING, Kind.PONG)
        self._run(fault, run.outcome, run.all, is_long)
        # The calls that drop a step come from the garbage collector, unless the session was closed before.
        if fault is not None and not fault.happened.is_set() and fault.what not in ("Handle", "ReleaseStep"):
            run.outcome.problems.append("the fault did not happen")
        self._check_afterwards(program, run.outcome)
        return run.outcome

    def check_sync(self, fault):
        """Trains synchronously while a fault happens, if it does, and checks that no gradient is applied twice."""
        client.disconnect()
        self.proxy.cut()
        tf.Session.reset(self.target)  # the global step of the last program
        program, outcome = SyncProgram(), Outcome()
        self._run(fault, outcome, program.run, self.target, outcome)
        with tf.Session(self.target, graph=program.graph) as session:
            step, value = session.run([program.step.read_value(), program.value.read_value()])
        if value != -step or (step < _SYNC_STEPS and not outcome.errors):
            outcome.problems.append(f"{-value} updates in {step} steps")
        self._settle(outcome)
        return outcome

    def _run(self, fault, outcome, function, *args):
        """Calls a function, within limits, while a fault happens."""
        self.proxy.arm(fault)
        start = time.monotonic()
        thread = threading.Thread(target=function, args=args, name="program", daemon=True)
        thread.start()
        thread.join(LIMIT)
        outcome.seconds = time.monotonic() - start
        if thread.is_alive():
            outcome.problems.append(f"hangs: {_where(thread)}")
            self.proxy.cut()
            thread.join(30)
        self.proxy.arm(None)

    def _check_afterwards(self, program, outcome):
        """A new session works, has all updates that succeeded and none twice, and nothing is left of the old one."""
        try:
            with program.session(self.target) as session:
                count = session.run(program.count.read_value())
                if not outcome.succeeded <= count <= outcome.succeeded + outcome.failed:
                    outcome.problems.append(
                        f"{count} updates: {outcome.succeeded} succeeded, {outcome.failed} may have"
                    )
                if session.run(program.add, {program.one: 1.0}) != count + 1:
                    outcome.problems.append("an update of the new session is wrong")
        except tf.errors.OpError as error:
            outcome.problems.append(f"the new session fails: {error}")
        self._settle(outcome)

    def _settle(self, outcome):
        for error in outcome.errors:
            if not any(name in str(error) for name in ("/job:", *self._ports)):
                outcome.problems.append(f"names no task: {type(error).__name__}: {error}")
        client.disconnect()
        outcome.problems += self.left()


def _where(thread):
    frames = sys._current_frames().get(thread.ident)
    return " <- ".join(f"{f.name}:{f.lineno}" for f in reversed(traceback.extract_stack(frames)[-6:]))


def main(pattern=""):
    """Prints the table of all faults whose names contain a text; returns how many are wrong."""
    wrong = 0
    for program, transport, rows in (
        ("plain", "tcp", [*FRAMES, *calls()]),
        ("plain", "unix", SLAB_FRAMES),
        ("synchronous", "tcp", SYNC_FRAMES),
    ):
        rows = [row for row in rows if pattern in f"{program} {_name(*row[:2])}"]
        if not rows:
            continue
        tasks = Tasks(transport)
        check = tasks.check_sync if program == "synchronous" else tasks.check
        heading = f"{program}, {transport}"
        print(f"{heading:32} {'sender':12}" + "".join(f"{name:>20}" for name in CALL_FAULTS), flush=True)
        for what, role, sender, *after in rows:
            name = _name(what, role)
            cells, problems = [], []
            for action in CALL_FAULTS if role == "call" else FAULTS:
                fault = Fault(what, action, role, sender, *after)
                outcome = check(fault)
                cells.append(f"{outcome.verdict} {outcome.seconds:.0f} s" if fault.happened.is_set() else "-")
                problems += [f"    {action}: {text}" for text in outcome.problems]
            print(f"{name:32} {sender:12}" + "".join(f"{cell:>20}" for cell in cells), *problems, sep="\n", flush=True)
            wrong += len(problems)
        tasks.close()
    return wrong


def _name(what, role):
    return f"{what.name if isinstance(what, Kind) else what} ({role})"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)

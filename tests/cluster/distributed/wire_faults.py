"""Faults of the wire: what a program meets when one frame or one call between real tasks is lost, repeated or broken.

`python -m tests.cluster.distributed.wire_faults` goes through all frames, calls and faults, and prints a table.
"""

import contextlib
import json
import subprocess
import sys
import threading
import time
import traceback
from unittest import mock

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import addresses
from tests.cluster.distributed.wire_programs import SYNC_STEPS, CollectiveProgram, Outcome, Program, Run, SyncProgram
from tests.cluster.distributed.wire_proxy import Fault, Proxy
from tests.cluster.distributed.wire_task import through
from thalweg._src.cluster.distributed import client
from thalweg._src.cluster.distributed.frames import FrameKind
from thalweg._src.cluster.distributed.rpc import methods

FAULTS = ("lost", "reply lost", "twice", "delayed", "reset", "truncated")
CALL_FAULTS = (*FAULTS, "reply truncated")
LIMIT = 45.0  # seconds for a program with a fault
PS, WORKER, CLIENT = "/job:ps", "/job:worker", "client"

# Frames by kind, role of the connection, and sender.
FRAMES = (
    *((FrameKind.HELLO, "link", sender) for sender in (CLIENT, WORKER, PS)),
    (FrameKind.RUN_STEP, "channel", CLIENT),
    (FrameKind.RUN_PARTITIONS, "channel", WORKER),
    *((FrameKind.DONE, "channel", sender) for sender in (WORKER, PS)),
    *((FrameKind.FAILED, "channel", sender) for sender in (WORKER, PS)),
    (FrameKind.TENSOR, "channel", PS),
    *((FrameKind.TENSOR, "link", sender) for sender in (CLIENT, WORKER, PS)),
    *((FrameKind.ABORT, "link", sender) for sender in (WORKER, PS)),
    *((FrameKind.PING, "link", sender) for sender in (CLIENT, WORKER, PS)),
    *((FrameKind.PING, "channel", sender) for sender in (CLIENT, WORKER, PS)),
    *((FrameKind.PONG, "channel", sender) for sender in (WORKER, PS)),
    (FrameKind.END, "link", WORKER),
    (FrameKind.OFFER, "link", WORKER),
    (FrameKind.WANT, "link", PS),
    (FrameKind.WANTED, "link", WORKER),
    (FrameKind.CONSUMED, "link", PS),
)
SLAB_FRAMES = tuple((FrameKind.RELEASE, "link", sender) for sender in (WORKER, PS))
# For synchronous training, also the number of such messages that pass before, so that the fault happens in training.
SYNC_FRAMES = (
    (FrameKind.RUN_STEP, "channel", CLIENT, 12),
    (FrameKind.RUN_PARTITIONS, "channel", WORKER, 12),
    *((FrameKind.DONE, "channel", sender, 12) for sender in (WORKER, PS)),
    (FrameKind.TENSOR, "channel", PS, 3),
    (FrameKind.TENSOR, "link", WORKER, 0),
    *((FrameKind.ABORT, "link", sender, 0) for sender in (WORKER, PS)),
    *((FrameKind.PING, "link", sender, 0) for sender in (CLIENT, WORKER, PS)),
)
# For collectives; the worker leads the group.
GROUP_CALLS = (
    *(("JoinGroup", "call", PS), ("GetGroupValue", "call", PS), ("SetGroupValue", "call", PS)),
    *(("EndGroup", "call", sender) for sender in (PS, WORKER)),
)
COLLECTIVE_ROWS = (
    *GROUP_CALLS,
    (FrameKind.HELLO, "link", PS),
    (FrameKind.RUN_STEP, "channel", CLIENT, 3),
    *((FrameKind.DONE, "channel", sender, 3) for sender in (WORKER, PS)),
    *((FrameKind.FAILED, "channel", sender) for sender in (WORKER, PS)),
    *((FrameKind.TENSOR, "link", sender, 5) for sender in (WORKER, PS)),
    *((FrameKind.PING, "link", sender) for sender in (CLIENT, WORKER, PS)),
)
CALLERS = {
    **dict.fromkeys(("CreateWorkerSession", "DeleteWorkerSession", "RegisterGraph", "DeregisterGraph"), (WORKER,)),
    **dict.fromkeys(("CleanupAll", "GetTransaction"), (WORKER,)),
    "GetTask": (CLIENT, WORKER),
    "GetStatus": (),  # by `thalweg status` alone
    **dict.fromkeys((name for name, _, _ in GROUP_CALLS), ()),  # by collectives alone
}


def calls():
    """Yields the calls of the control plane with those that make them."""
    for method in methods().values():
        for caller in CALLERS.get(method.name, (CLIENT,)):
            yield method.name, "call", caller


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
        command = [
            sys.executable,
            "-m",
            "tests.cluster.distributed.wire_task",
            self.proxy.address,
            json.dumps(self.spec),
        ]
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
        is_long = fault is None or fault.what in (FrameKind.PING, FrameKind.PONG)
        self._run(fault, run.outcome, run.all, is_long)
        # The calls that drop a step come from the garbage collector, unless the session was closed before. A failure
        # also comes as an ABORT, after which the master may have closed the channel.
        may_stay_away = ("DeregisterGraph", "ReleaseStep", FrameKind.FAILED)
        if fault is not None and not fault.happened.is_set() and fault.what not in may_stay_away:
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
        if value != -step or (step < SYNC_STEPS and not outcome.errors):
            outcome.problems.append(f"{-value} updates in {step} steps")
        self._settle(outcome)
        return outcome

    def check_collectives(self, fault):
        """Reduces between both tasks while a fault happens, if it does, and checks that no update is applied twice."""
        client.disconnect()
        self.proxy.cut()
        targets = {job: f"grpc://{tasks[0]}" for job, tasks in self.spec.items()}
        program, outcome = CollectiveProgram(targets), Outcome()
        is_long = fault is not None and fault.what is FrameKind.PING
        self._run(fault, outcome, program.run, 0.7 if is_long else 0.0)
        if fault is not None and not fault.happened.is_set():
            outcome.problems.append("the fault did not happen")
        try:
            program.check(outcome)
        except tf.errors.OpError as error:
            outcome.problems.append(f"new sessions fail: {error}")
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
        ("collectives", "tcp", COLLECTIVE_ROWS),
    ):
        rows = [row for row in rows if pattern in f"{program} {_name(*row[:2])}"]
        if not rows:
            continue
        tasks = Tasks(transport)
        check = {"synchronous": tasks.check_sync, "collectives": tasks.check_collectives}.get(program, tasks.check)
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
    return f"{what.name if isinstance(what, FrameKind) else what} ({role})"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)

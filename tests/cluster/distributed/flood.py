"""A cluster during a flood of strangers, as a program (`make flood-cluster`): its memory, and its clients' times.

    python -m tests.cluster.distributed.flood [--seconds 30] [--connections 3000] [--steps 10000] [--kinds all]

A parameter server and a worker are processes of their own. One client trains and another one connects again and again,
first alone, then beside `strangers.py`, of one kind after the other. The program fails if the worker takes 100 MB more
than before, if a client fails, or if the 99th percentile of the time of a step or of connecting is more than three
times that of the quiet cluster, or that of connecting a second more.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import addresses, start_task
from tests.cluster.distributed.strangers import KINDS
from tests.deploy.serving.flood import cpu_seconds, memory, percentile
from thalweg._src.cluster.distributed import client, control
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.rpc import Stub

MOST_MEGABYTES, MOST_TIMES, MOST_SECONDS = 100, 3.0, 1.0
STEPS_PER_SECOND, CONNECTIONS_PER_SECOND = 50, 4


def model():
    """Returns a training step whose variable is at the parameter server."""
    with tf.device("/job:ps"):
        weights = tf.Variable(tf.zeros([100, 10]), name="weights")
    with tf.device("/job:worker"):
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.ones([8, 100]), weights) - 1.0))
    return tf.train.GradientDescentOptimizer(0.001).minimize(loss)


def train(target):
    """Runs a step again and again."""
    step = model()
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return lambda: session.run(step)


def join(target):
    """Connects as a new client does, and runs a step."""
    value = tf.constant(1.0) + 1

    def connect():
        with tf.Session(target) as session:
            assert session.run(value) == 2
        client.disconnect()

    return connect


def repeat(kind, target):
    """Does one thing at a steady rate until the standard input ends, and prints when and how long each time."""
    act, rate = (train(target), STEPS_PER_SECOND) if kind == "step" else (join(target), CONNECTIONS_PER_SECOND)
    ends = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ends.set()), daemon=True).start()
    due = time.monotonic()
    while not ends.is_set():
        start, error = time.monotonic(), None
        try:
            act()
        except Exception as failure:
            error = f"{kind}: {type(failure).__name__}: {failure}"
        now = time.monotonic()
        print(json.dumps([start, now - start, error]), flush=True)
        due = max(due + 1 / rate, now)
        time.sleep(due - now)


class Clients:
    """The processes of clients, and what they print."""

    def __init__(self, target, stack):
        self._processes, self._threads = [], []
        self.rows = {"step": [], "connect": []}
        for kind in self.rows:
            command = [sys.executable, "-m", "tests.cluster.distributed.flood", "--client", kind, "--target", target]
            variables = children.environment(OMP_NUM_THREADS="1")
            process = children.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables)
            stack.callback(children.end, process)
            thread = threading.Thread(target=self._read, args=(process, kind), daemon=True)
            thread.start()
            self._processes.append(process)

    def _read(self, process, kind):
        for line in process.stdout:
            self.rows[kind].append(json.loads(line))

    def wait(self):
        """Waits until each has done something."""
        while not all(self.rows.values()):
            time.sleep(0.1)

    def during(self, seconds):
        """Returns the times, in seconds, of what was begun within some seconds from now, and the errors."""
        start = time.monotonic()
        time.sleep(seconds)
        end = time.monotonic()
        for rows in self.rows.values():  # what was begun before must have ended
            until = time.monotonic() + 60
            while rows[-1][0] < end and time.monotonic() < until:
                time.sleep(0.05)
        chosen = {kind: [row for row in rows if start <= row[0] < end] for kind, rows in self.rows.items()}
        times = {kind: [seconds for _, seconds, error in rows if not error] for kind, rows in chosen.items()}
        return times, [row[2] for rows in chosen.values() for row in rows if row[2]]


@contextmanager
def flooded(kinds, connections, steps, port, info, counts):
    """Runs the strangers, and puts what they did into `counts`."""
    command = [sys.executable, "-m", "tests.cluster.distributed.strangers", kinds, connections, steps]
    process = children.start(
        [*command, port, info.unix_name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=children.environment(),
    )  # fmt: skip
    try:
        yield
        counts |= json.loads(process.communicate("end\n")[0])
    finally:
        children.end(process)


@contextmanager
def watched(process, field="VmRSS"):
    """Gives a list whose one entry is the most memory that a process takes meanwhile."""
    most, ends = [memory(process)], threading.Event()

    def watch():
        while not ends.wait(0.2):
            most[0] = max(most[0], memory(process))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        ends.set()
        thread.join()


class Report:
    """What the clients and the worker did, as a table and as a dictionary, and which limits were exceeded."""

    def __init__(self):
        self.found, self.fails = {}, []
        print(f"{'':16}{'count':>7}{'p50 ms':>9}{'p99 ms':>9}{'most ms':>9}{'times':>7}")

    def add_times(self, name, times, quiet):
        for kind, values in times.items():
            row = [*(percentile(values, percent) for percent in (50, 99)), max(values, default=0) * 1e3]
            before = percentile(quiet[kind], 99)
            times = row[1] / before
            self.found[f"{name} {kind}"] = {"count": len(values), "milliseconds": row, "times": times}
            print(f"{name:8}{kind:8}{len(values):7}{row[0]:9.2f}{row[1]:9.2f}{row[2]:9.2f}{times:7.1f}", flush=True)
            if not times <= MOST_TIMES or (kind == "connect" and row[1] - before > MOST_SECONDS * 1e3):
                self.fails.append(f"{name}: p99 of {kind} is {times:.1f} times that of the quiet cluster")

    def add(self, name, **values):
        self.found[name] = values
        print(f"{name:8}{values}", flush=True)
        if values["megabytes_more"] > MOST_MEGABYTES:
            self.fails.append(f"{name}: the worker takes {values['megabytes_more']} MB more")
        if errors := values["errors"]:
            self.fails.append(f"{name}: {len(errors)} errors: {errors[:3]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--connections", type=int, default=3000)
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    parser.add_argument("--save", type=Path)
    parser.add_argument("--client", choices=["step", "connect"], help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        repeat(options.client, options.target)
        return
    with ExitStack() as stack:
        spec = addresses(ps=1, worker=1)
        tasks = {job: start_task(spec, job, 0) for job in spec}
        for process in tasks.values():
            stack.callback(children.end, process)
            assert process.stdout.readline() == "serves\n"
        worker, address = tasks["worker"], spec["worker"][0]
        stub = Stub(address, Credentials.find([address]))
        stack.callback(stub.close)
        info = stub.call(control.GetTaskRequest(), control.TaskInfo, timeout=60)
        clients = Clients(f"grpc://{address}", stack)
        clients.wait()
        clients.during(5)
        quiet, errors = clients.during(options.seconds)
        assert not errors, errors
        report = Report()
        report.add_times("quiet", quiet, quiet)
        before = memory(worker)
        for name in options.kinds:
            counts, used = {}, cpu_seconds(worker)
            with (
                watched(worker) as most,
                flooded(name, options.connections, options.steps, address.rpartition(":")[2], info, counts),
            ):
                times, errors = clients.during(options.seconds)
            report.add_times(name, times, quiet)
            measured = {
                "cpu_seconds": round(cpu_seconds(worker) - used, 1),
                "strangers": counts,
                "load": os.getloadavg(),
            }
            report.add(name, megabytes_more=most[0] - before >> 20, errors=errors, **measured)
    if options.save is not None:
        options.save.write_text(json.dumps(report.found, indent=1) + "\n")
    sys.exit("\n".join(report.fails) or None)


if __name__ == "__main__":
    main()

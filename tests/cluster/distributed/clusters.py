"""Clusters for tests: servers in this process, by three transports, and servers in processes of their own."""

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys

import thalweg as tf
from tests import children
from tests.cluster.distributed import namespaces

# "namespaces": the servers of `ps` are in processes on another host, as it were
TRANSPORTS = ("namespaces",) if namespaces.OTHER in os.environ else ("inprocess", "sockets", "tcp")
_SERVE = """
import json, sys
import thalweg as tf
tf.config.experimental.enable_tensor_float_32_execution(False)  # as in this process
server = tf.train.Server(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
print("serves", flush=True)
server.join()
"""


# Ports below those that the system gives to connections, other ones for each process that tests.
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_ports = itertools.cycle(range(10_000 + 1000 * (_worker % 20), 11_000 + 1000 * (_worker % 20)))


def free_ports(count):
    """Returns ports at which nothing listens."""
    return [next(port for port in _ports if _is_free(port)) for _ in range(count)]


def _is_free(port):
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def addresses(*, host=lambda job: "localhost", **jobs):
    """Returns a cluster with so many tasks in each job, at free ports of this machine."""
    ports = iter(free_ports(sum(jobs.values())))
    return {job: [f"{host(job)}:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}


def _in_namespaces(job):
    return namespaces.THERE if job == "ps" else namespaces.HERE


class OtherHost:
    """A server in a process in the other namespace."""

    def __init__(self, spec, job, index):
        self.target = f"grpc://{spec[job][index]}"
        self._process = start_task(spec, job, index, start=namespaces.entering())
        assert self._process.stdout.readline() == "serves\n"

    def stop(self):
        children.end(self._process)


class Cluster:
    """Servers in this process; `target` is that of the first task of a job, by default of the last job."""

    def __init__(self, transport, **jobs):
        self.transport = transport
        is_apart = transport == "namespaces"
        self.spec = addresses(host=_in_namespaces, **jobs) if is_apart else addresses(**jobs)
        self.protocol = "inprocess" if transport == "inprocess" else "grpc"
        self.servers = {}
        for job, tasks in self.spec.items():
            for index in range(len(tasks)):
                self.start(job, index)

    def start(self, job, index):
        if self.transport == "namespaces" and job == "ps":
            self.servers[job, index] = OtherHost(self.spec, job, index)
        else:
            self.servers[job, index] = tf.train.Server(self.spec, job, index, protocol=self.protocol)

    def target(self, job=None, index=0):
        return self.servers[job or list(self.spec)[-1], index].target

    def stop(self):
        for server in self.servers.values():
            server.stop()


@contextlib.contextmanager
def processes(spec, jobs=None, **variables):
    """Starts a server process for each task of some jobs of a cluster, and yields them once they serve."""
    started = {}
    try:
        for job, tasks in spec.items():
            for index in range(len(tasks)) if jobs is None or job in jobs else ():
                started[job, index] = start_task(spec, job, index, **variables)
        for process in started.values():
            assert process.stdout.readline() == "serves\n"
        yield started
    finally:
        for process in started.values():
            children.end(process)


def run_script(command, cwd=None, timeout=120, **jobs):
    """Runs a program at all tasks of a cluster, as launchers do, and returns what each worker wrote."""
    spec = addresses(**jobs)
    started = {}
    try:
        for job, index in [(job, index) for job, count in jobs.items() for index in range(count)]:
            config = json.dumps({"cluster": spec, "task": {"type": job, "index": index}})
            environment = children.environment(TF_CONFIG=config, OMP_NUM_THREADS="1")
            options = {"cwd": cwd, "env": environment, "stdout": subprocess.PIPE, "text": True}
            started[job, index] = children.start(command, forked=True, **options)
        workers = [process for (job, _), process in started.items() if job == "worker"]
        written = [worker.communicate(timeout=timeout)[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0] * len(workers)
        return written
    finally:
        for process in started.values():
            children.end(process)


def start_task(spec, job, index, stderr=None, start=(), **variables):
    """Starts the server process of a task, which prints "serves" when it does, by a command that `start` begins."""
    command = [*start, sys.executable, "-c", _SERVE, json.dumps(spec), job, str(index)]
    environment = children.environment(OMP_NUM_THREADS="1", **variables)
    streams = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True}
    return children.start(command, forked=not start, env=environment, **streams)

"""The memory of a task's process: threads share freed buffers, so that it does not grow with the number of steps."""

import json
import subprocess
import sys

import pytest

from tests import children
from tests.cluster.distributed.clusters import addresses, processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and changes options of glibc")
_HEAPS = """
import ctypes, os, tempfile, threading
import torch
import thalweg as tf

server = tf.train.Server.create_local_server()
barrier = threading.Barrier(6)

def allocate():
    barrier.wait()
    tensor = torch.ones(100_000)
    barrier.wait()

threads = [threading.Thread(target=allocate) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
with tempfile.TemporaryFile() as file:
    stream = ctypes.c_void_p(libc.fdopen(os.dup(file.fileno()), b"w"))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    file.seek(0)
    print(file.read().count(b"<heap "))
server.stop()
"""


def _heaps(**variables):
    """Returns the number of heaps in a task of which six threads allocate memory at once."""
    child = children.run([sys.executable, "-c", _HEAPS], env=children.environment(**variables), forked=True)
    return int(child.stdout)


def test_the_threads_of_a_task_share_two_heaps():
    assert _heaps() <= 2


@pytest.mark.parametrize(
    "variables",
    [{"MALLOC_ARENA_MAX": "9"}, {"GLIBC_TUNABLES": "glibc.malloc.arena_max=9"}],
    ids=lambda v: next(iter(v)),
)
def test_a_number_of_heaps_in_the_environment_is_kept(variables):
    assert _heaps(**variables) > 2


def _private_kilobytes(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))


_TRAIN = """
import json, sys
import numpy as np
import thalweg as tf

spec, index = json.loads(sys.argv[1]), int(sys.argv[2])
server = tf.train.Server(spec, "worker", index)
with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{index}")):
    x = tf.constant(np.random.rand(32, 784), tf.float32)
    hidden = tf.layers.dense(tf.layers.dense(x, 1000, tf.nn.relu), 1000, tf.nn.relu)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 10)))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session(server.target) as session:
    session.run(tf.global_variables_initializer())
    for steps in (300, 1500):
        for _ in range(steps):
            session.run([loss, train])
        print(steps, flush=True)
        input()
"""


@pytest.mark.slow
def test_the_memory_of_a_parameter_server_does_not_grow_with_the_steps(start_child):
    spec = addresses(ps=1, worker=2)
    with processes(spec, ["ps"], THALWEG_CLUSTER_TRANSPORT="tcp") as started:
        environment = children.environment(THALWEG_CLUSTER_TRANSPORT="tcp", OMP_NUM_THREADS="1")
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        workers = [
            start_child([sys.executable, "-c", _TRAIN, json.dumps(spec), index], env=environment, **streams)
            for index in range(2)
        ]
        kilobytes = []
        for steps in ("300", "1500"):
            for worker in workers:
                assert worker.stdout.readline().strip() == steps
            kilobytes.append(_private_kilobytes(started["ps", 0]))
            for worker in workers:
                worker.stdin.write("\n")
                worker.stdin.flush()
        assert kilobytes[1] - kilobytes[0] < 28_000  # four times the weights

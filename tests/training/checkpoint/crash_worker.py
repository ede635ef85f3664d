"""Saves repeatedly in forked processes that are killed, each at a different point, and checks what is left.

Run as `crash_worker.py <folder> <moments> <kinds of saves>`; prints for each kind how many moments were tried, and the
names of calls. The moments are `system`, every call to the system, `files`, those among them that touch files, or
`python`, every call of Python's that changes files: before it, after it, and with half of a write done.
"""

import json
import os
import shutil
import signal
import sys

import numpy as np
import torch

import thalweg as tf
from tests.training.checkpoint import tracing

CALLS = ("open", "write", "fsync", "replace", "rename", "unlink", "rmdir", "mkdir", "close")


class Model:
    """Variables that are all filled with one number, and their Saver."""

    def __init__(self, folder, kind):
        self.folder, self.kind = folder, kind
        # The large one is written in several blocks, by another thread.
        tf.get_variable("a", [2_300_000 if "large" in kind else 300], initializer=tf.zeros_initializer())
        with tf.device("/cpu:0"):
            tf.get_variable("b", [5, 2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.zeros_initializer())
        tf.get_variable("c", initializer=tf.constant(["zero"]))
        self.variables = tf.global_variables()
        self.saver = tf.train.Saver(max_to_keep=2, sharded=kind == "sharded")
        self._values = [tf.placeholder(v.dtype, v.get_shape()) for v in self.variables]
        self._assign = tf.group(*[v.assign(value) for v, value in zip(self.variables, self._values)])
        self.session = tf.Session()

    def state(self, number):
        for v in self.variables:
            kind, value = (object, str(number).encode()) if v.dtype.base_dtype == tf.string else (np.float32, number)
            yield np.full(v.get_shape().as_list(), value, kind)

    def fill(self, number):
        self.session.run(self._assign, dict(zip(self._values, self.state(number))))

    def save(self, number):
        step = None if self.kind == "same" else number
        self.saver.save(self.session, os.path.join(self.folder, "model"), global_step=step)
        self.saver.wait()

    def check(self):
        """Checks that the latest checkpoint has the values of one save, the last one or the previous one."""
        self.fill(7)
        latest = tf.train.latest_checkpoint(self.folder)
        assert latest is not None, os.listdir(self.folder)
        self.saver.restore(self.session, latest)
        found = self.session.run(self.variables)
        number = int(found[0].flat[0])
        assert number in (2, 3), number
        for value, expected in zip(found, self.state(number)):
            assert np.array_equal(value, expected)
        self.fill(3)


def main(folder, moments, *kinds):
    torch.set_num_threads(1)
    for kind in kinds:
        with tf.Graph().as_default():
            print(*kill_everywhere(os.path.join(folder, kind), moments, kind))


def kill_everywhere(folder, moments, kind):
    """Returns how many moments were tried, and the names of calls."""
    work, start = os.path.join(folder, "work"), os.path.join(folder, "start")
    model = Model(work, kind)
    os.makedirs(work)
    for number in (1, 2):
        model.fill(number)
        model.save(number)
    shutil.copytree(work, start)
    model.fill(3)
    if "asynchronous" in kind:
        model.saver.make_asynchronous()
    tried, seen = 0, set()
    for name, kill in python_moments(model) if moments == "python" else traced_moments(model, moments == "system"):
        shutil.rmtree(work)
        shutil.copytree(start, work)
        tried += kill()
        seen.add(name)
        model.check()
    return tried, *sorted(seen)


def traced_moments(model, all_calls):
    """Yields names of calls, and functions that save and are killed there."""

    def save():
        model.save(3)

    for moment, number in enumerate(tracing.traced(save)[0]):
        if all_calls or number in tracing.NAMES:
            yield tracing.NAMES.get(number, str(number)), lambda moment=moment: tracing.traced(save, moment)[1]


def python_moments(model):
    def save():
        model.save(3)

    calls = forked(save)
    for when in ("before", "half", "after"):
        for moment, name in enumerate(calls):
            if when != "half" or name == "write":
                yield name, lambda moment=moment, when=when: forked(save, moment, when) is not None


def forked(work, moment=-1, when="never"):
    """Does something in a process of its own, which is killed; returns the calls that it makes if it is not."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        made = die_at(moment, when)
        work()
        calls = json.dumps(made).encode()
        os.write(theirs, calls)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        calls = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) == (when != "never"), (when, moment, status)
    return json.loads(calls or "[]")


def die_at(moment, when):
    """Lets this process be killed at its call number `moment`: before it, after it, or with half of a write done."""
    made = []

    def wrapped(name):
        original = getattr(os, name)

        def call(*args, **kwargs):
            made.append(name)
            now = len(made) == moment + 1
            if now and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            if now and when == "half":
                original(args[0], memoryview(args[1])[: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return original(*args, **kwargs)
            finally:
                if now and when == "after":
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    for name in CALLS:
        setattr(os, name, wrapped(name))
    return made


if __name__ == "__main__":
    main(*sys.argv[1:])

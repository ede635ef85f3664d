"""Saves again and again in forked processes that kill themselves at each call to the system, and looks what is left.

Run as `crash_worker.py <folder> <kind>`; prints how many moments were tried.
"""

import json
import os
import shutil
import signal
import sys

import numpy as np
import torch

import thalweg as tf

CALLS = ("open", "write", "fsync", "replace", "rename", "unlink", "rmdir", "mkdir", "close")


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


def model():
    a = tf.get_variable("a", [300], initializer=tf.zeros_initializer())
    with tf.device("/cpu:0"):
        tf.get_variable("b", [5, 2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.zeros_initializer())
    tf.get_variable("c", initializer=tf.constant(["zero"]))
    return a


def main(folder, kind):
    torch.set_num_threads(1)
    work, start = os.path.join(folder, "work"), os.path.join(folder, "start")
    model()
    variables = tf.global_variables()
    saver = tf.train.Saver(max_to_keep=2, sharded=kind == "sharded")
    values = [tf.placeholder(v.dtype, v.get_shape()) for v in variables]
    assign = tf.group(*[v.assign(value) for v, value in zip(variables, values)])
    session = tf.Session()

    def state(number):
        for v in variables:
            yield np.full(v.get_shape().as_list(), str(number).encode() if v.dtype == tf.string else number, object)

    def fill(number):
        feeds = {
            p: x if v.dtype == tf.string else x.astype(np.float32) for p, x, v in zip(values, state(number), variables)
        }
        session.run(assign, feeds)

    def save(number):
        saver.save(session, os.path.join(work, "model"), global_step=None if kind == "same" else number)

    os.makedirs(work)
    for number in (1, 2):
        fill(number)
        save(number)
    shutil.copytree(work, start)
    fill(3)
    calls = forked(lambda: save(3))
    tried = 0
    for when in ("before", "half", "after"):
        for moment, name in enumerate(calls):
            if when == "half" and name != "write":
                continue
            shutil.rmtree(work)
            shutil.copytree(start, work)
            forked(lambda: save(3), moment, when)
            fill(7)
            latest = tf.train.latest_checkpoint(work)
            assert latest is not None, (when, moment, os.listdir(work))
            saver.restore(session, latest)
            found = session.run(variables)
            number = int(found[0].flat[0])
            assert number in (2, 3), (when, moment, number)
            for value, expected in zip(found, state(number)):
                assert np.array_equal(value.astype(object), expected), (when, moment)
            fill(3)
            tried += 1
    print(tried, *sorted(set(calls)))


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


if __name__ == "__main__":
    main(*sys.argv[1:])

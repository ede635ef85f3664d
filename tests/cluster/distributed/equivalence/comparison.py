"""Programs that run in one plain session and over the tasks of a cluster, with equal results.

A program is a generator: it gets a device per task, builds a graph and yields what to run next, so that the graph may
grow between two steps.
"""

import contextlib
from dataclasses import dataclass, field

import numpy as np

import thalweg as tf

LARGE = 40_000  # elements of a float32 tensor that goes through the slab


@dataclass
class Step:
    """What one call of `Session.run` gets."""

    fetches: object
    feeds: dict = field(default_factory=dict)


@dataclass
class Tasks:
    """The devices of a program: those of tasks of a cluster, or none in a plain session."""

    ps: str = ""
    ps1: str = ""
    worker: str = ""
    worker1: str = ""

    @classmethod
    def of_cluster(cls):
        return cls("/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1")


def target_of(cluster, job="worker", index=0):
    """Returns a target for a session, which for the transport "client" takes the path of clients in other processes."""
    target = cluster.target(job, index)
    return target.replace("localhost", "127.0.0.1") if cluster.transport == "client" else target


def outcomes(program, target, tasks, config=None):
    """Runs a program; returns the value of each step, or the type of its error and the operation that failed."""
    results = []
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        with tf.Session(target, config=config) as session:
            steps = program(tasks)
            answer = None
            with contextlib.suppress(StopIteration):
                while True:
                    step = steps.send(answer)
                    step = step if isinstance(step, Step) else Step(step)
                    try:
                        answer = session.run(step.fetches, step.feeds)
                        results.append(answer)
                    except tf.errors.OpError as error:
                        answer = error
                        results.append((type(error), error.op and error.op.name.partition("/_")[0]))
    return results


def check(program, cluster, config=None):
    """Checks that a program has equal outcomes in a plain session and over a cluster."""
    expected = outcomes(program, "", Tasks(), config)
    assert_equal(outcomes(program, target_of(cluster), Tasks.of_cluster(), config), expected)


def assert_equal(actual, expected, where="result"):
    """Compares structures of values, with their types."""
    assert type(actual) is type(expected), f"{where}: {actual!r} instead of {expected!r}"
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), where
        for key in expected:
            assert_equal(actual[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), f"{where}: {actual!r} instead of {expected!r}"
        for index, (mine, other) in enumerate(zip(actual, expected)):
            assert_equal(mine, other, f"{where}[{index}]")
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert actual.dtype == expected.dtype, where
        assert actual.shape == expected.shape, where
        if expected.dtype.kind in "fc":
            np.testing.assert_allclose(actual, expected, rtol=2e-6, atol=1e-7, err_msg=where)
        else:
            np.testing.assert_array_equal(actual, expected, err_msg=where)
    else:
        assert actual == expected, where

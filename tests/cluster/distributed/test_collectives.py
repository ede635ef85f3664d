"""Collectives over several tasks: values, fusion, what differs between tasks, and members that fail or never come."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import Cluster, addresses
from thalweg._src.cluster.distributed import credentials
from thalweg._src.cluster.distributed.collectives import SessionCollectives, TaskCollectives
from thalweg._src.cluster.distributed.group_table import Formed
from thalweg._src.graph.ops import collective
from thalweg._src.runtime.resources.collectives import Action, Group
from thalweg._src.runtime.resources.step import Step

TASKS = 2


class Workers:
    """Sessions of the workers of a cluster, each of which builds a graph of its own."""

    def __init__(self, cluster, make, count=TASKS, devices=1):
        self.fetches, self.sessions = [], []
        for index in range(count):
            config = tf.ConfigProto(device_filters=[f"/job:worker/task:{index}"], device_count={"CPU": devices})
            with tf.Graph().as_default() as graph:
                self.fetches.append(make(index))
            self.sessions.append(tf.Session(cluster.target("worker", index), graph, config))

    def run(self):
        """Runs a step at each worker at the same time; returns the values, or the error of each that failed."""
        with contextlib.ExitStack() as stack:
            results = [stack.enter_context(self.running(index)) for index in range(len(self.sessions))]
        return [result[0] for result in results]

    @contextlib.contextmanager
    def running(self, index):
        """Runs a step at a worker while the block runs, and yields the list that has its values or error then."""
        result = []

        def step():
            try:
                result.append(self.sessions[index].run(self.fetches[index]))
            except tf.errors.OpError as error:
                result.append(error)

        thread = threading.Thread(target=step)
        thread.start()
        yield result
        thread.join()

    def close(self):
        for session in self.sessions:
            session.close()


@pytest.fixture
def cluster(request):
    made = Cluster(getattr(request, "param", "sockets"), worker=TASKS)
    yield made
    made.stop()


@pytest.fixture
def workers(cluster):
    with contextlib.ExitStack() as stack:

        def start(make, **options):
            made = Workers(cluster, make, **options)
            stack.callback(made.close)
            return made

        yield start


def _value(index, rows=2):
    return np.arange(3.0 * rows, dtype=np.float32).reshape(rows, 3) + 10 * index


@pytest.mark.parametrize("cluster", ["inprocess", "sockets"], indirect=True)
def test_members_at_several_tasks_have_the_same_result(cluster, workers):
    def make(index):
        value = tf.constant(_value(index))
        sent = (
            collective.broadcast_send(value, [2, 3], tf.float32, 2, 1, 4)
            if index
            else collective.broadcast_recv([2, 3], tf.float32, 2, 1, 4)
        )
        total = collective.all_reduce(value, 2, 1, 1)
        return {
            "sum": total,
            "mean": collective.all_reduce(value, 2, 1, 2, "Add", "Div"),
            "maximum": collective.all_reduce(total * (index + 1.0), 2, 1, 5, "Max"),
            "integers": collective.all_reduce(tf.constant([7, index]), 2, 1, 6, "Add", "Div"),
            "gathered": collective.all_gather(value, 2, 1, 3),
            "sent": sent,
        }

    values = np.stack([_value(0), _value(1)])
    expected = {
        "sum": values.sum(0),
        "mean": values.mean(0),
        "maximum": 2 * values.sum(0),
        "integers": [7, 0],
        "gathered": np.concatenate(values),
        "sent": values[1],
    }
    group = workers(make)
    for _ in range(3):
        for found in group.run():
            for name, value in expected.items():
                np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.fixture
def tls(monkeypatch, certificates):
    """Has tasks use the sockets of other hosts, with TLS and no token."""
    files = certificates("task")
    names = (credentials.TLS_CERT, credentials.TLS_KEY, credentials.TLS_CA)
    for name, value in zip(names, (files.certificate, files.key, files.authority), strict=True):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")


@pytest.fixture
def no_window(monkeypatch):
    """Has tensors for another host wait until it asks for them."""
    monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")
    monkeypatch.setenv("THALWEG_CLUSTER_WINDOW_MB", "0")


@pytest.mark.parametrize("network", ["tls", "no_window"])
def test_tensors_between_hosts(network, request):
    request.getfixturevalue(network)
    cluster, workers = request.getfixturevalue("cluster"), request.getfixturevalue("workers")
    large = np.arange(100_000, dtype=np.float32)
    group = workers(lambda index: collective.all_reduce(tf.constant(large * (index + 1)), 2, 1, 1))
    for found in group.run() + group.run():
        np.testing.assert_array_equal(found, 3 * large)
    assert not cluster.servers["worker", 0]._require().worker.waiting()


def test_two_devices_at_each_of_two_tasks(workers):
    def make(index):
        made = []
        for device in range(2):
            with tf.device(f"/job:worker/task:{index}/cpu:{device}"):
                value = tf.constant(_value(2 * index + device))
                made.append(
                    [
                        collective.all_reduce(value, 4, 2, 1, "Add", "Div"),
                        collective.all_gather(value, 4, 2, 2),
                        collective.broadcast_send(value, [2, 3], tf.float32, 4, 2, 3)
                        if (index, device) == (1, 1)
                        else collective.broadcast_recv([2, 3], tf.float32, 4, 2, 3),
                    ]
                )
        return made

    values = [_value(index) for index in range(4)]
    for found in workers(make, devices=2).run():
        for mean, gathered, sent in found:
            np.testing.assert_array_equal(mean, np.mean(values, axis=0))
            np.testing.assert_array_equal(gathered, np.concatenate(values))
            np.testing.assert_array_equal(sent, values[3])


def test_one_session_may_run_all_members(cluster):
    made = []
    for index in range(TASKS):
        with tf.device(f"/job:worker/task:{index}"):
            made.append(collective.all_reduce(tf.constant(_value(index)), 2, 3, 1))
    with tf.Session(cluster.target("worker", 0)) as session:
        for found in session.run(made):
            np.testing.assert_array_equal(found, _value(0) + _value(1))


def test_collectives_in_loops_and_branches(workers):
    def make(index):
        def body(i, x):
            return i + 1, collective.all_reduce(x, 2, 4, 1)

        looped = tf.while_loop(lambda i, x: i < 3, body, (0, tf.constant(1.0)))[1]
        taken = tf.placeholder_with_default(True, [])
        chosen = tf.cond(taken, lambda: collective.all_reduce(looped, 2, 4, 2), lambda: looped)
        return [chosen, taken]

    group = workers(make)
    assert [found[0] for found in group.run()] == [16.0, 16.0]


def test_shapes_that_are_known_in_a_step_alone(workers):
    def make(index):
        value = tf.placeholder_with_default(_value(index, rows=2), [None, 3])
        return collective.all_reduce(value, 2, 5, 1), collective.all_gather(value, 2, 5, 2)

    for total, gathered in workers(make).run():
        np.testing.assert_array_equal(total, _value(0) + _value(1))
        assert gathered.shape == (4, 3)


def test_replicas_train_as_one_process_with_all_examples(workers):
    images = np.random.default_rng(0).random([8, 5], np.float32)
    labels = np.sin(images.sum(1, keepdims=True))

    def train(images, labels, reduce):
        x = tf.constant(images)
        for index in range(3):
            init = tf.random_normal_initializer(seed=index)
            x = tf.layers.dense(x, [7, 6, 1][index], tf.nn.tanh, kernel_initializer=init)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        grads = optimizer.compute_gradients(tf.losses.mean_squared_error(labels, x))
        reduced = [(reduce(grad, key), variable) for key, (grad, variable) in enumerate(grads)]
        with tf.control_dependencies([optimizer.apply_gradients(reduced)]):
            return [variable.read_value() for variable in tf.trainable_variables()]

    def replica(index):
        with tf.variable_scope(f"replica_{index}", use_resource=True):
            mine = slice(4 * index, 4 * index + 4)
            mean = lambda grad, key: collective.all_reduce(grad, 2, 12, key, "Add", "Div")  # noqa: E731
            return train(images[mine], labels[mine], mean)

    group = workers(replica)
    for session in group.sessions:
        with session.graph.as_default():
            session.run(tf.global_variables_initializer())
    with tf.variable_scope("whole", use_resource=True):
        whole = train(images, labels, lambda grad, key: grad)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            expected, found = session.run(whole), group.run()
    for mine, other, one in zip(*found, expected):
        np.testing.assert_array_equal(mine, other)
        np.testing.assert_allclose(mine, one, rtol=1e-4, atol=1e-6)


def test_a_fetched_result_does_not_change_in_later_steps(workers):
    def make(index):
        value = tf.get_variable("v", initializer=_value(index), use_resource=True)
        more = value.assign_add(tf.ones([2, 3]))
        with tf.control_dependencies([more]):
            return [
                collective.all_reduce(value.read_value() * scale, 2, 15, key) for key, scale in enumerate([1.0, 2.0])
            ]

    group = workers(make)
    for session in group.sessions:
        with session.graph.as_default():
            session.run(tf.global_variables_initializer())
    found = [group.run() for _ in range(4)]
    for step, results in enumerate(found, 1):
        for single, double in results:
            np.testing.assert_array_equal(single, _value(0) + _value(1) + 2 * step)
            np.testing.assert_array_equal(double, 2 * single)


# -- differences between tasks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "make"),
    [
        (r"\[2, 3\]", lambda i: collective.all_reduce(tf.zeros([2, 3 + i]), 2, 6, 1)),
        ("float32", lambda i: collective.all_reduce(tf.zeros([2], ["float32", "float64"][i]), 2, 6, 1)),
        ("Add", lambda i: collective.all_reduce(tf.zeros([2]), 2, 6, 1, ["Add", "Max"][i])),
        ("instances 1", lambda i: collective.all_reduce(tf.zeros([2]), 2, 6, 1 + i)),
        ("reduce", lambda i: [collective.all_reduce, collective.all_gather][i](tf.zeros([2]), 2, 6, 1)),
        (
            r"\[2, 3\]",
            lambda i: collective.all_reduce(tf.placeholder_with_default(np.zeros([2, 3 + i]), [None, None]), 2, 6, 1),
        ),
    ],
)
def test_tasks_that_do_different_things_are_named(workers, what, make):
    found = workers(make).run()
    for error in found:
        assert isinstance(error, tf.errors.InvalidArgumentError)
        assert "worker/replica:0/task:0" in error.message and "worker/replica:0/task:1" in error.message
        assert "different collectives" in error.message
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"expected: .*{what}"):
        raise found[0]


def test_a_task_that_runs_another_step_than_before_is_noticed(workers):
    def make(index):
        return [collective.all_reduce(tf.zeros([1000 + key]), 2, 14, key) for key in range(2)]

    group = workers(make)
    both = [list(fetches) for fetches in group.fetches]
    for which in ((0, 0), (0, 0), (0, 1), (0, 0), (1, 1)):
        group.fetches = [fetches[each] for fetches, each in zip(both, which)]
        found = group.run()
        if which == (0, 1):
            for error in found:
                assert isinstance(error, tf.errors.InvalidArgumentError)
                assert "instances 0" in error.message and "instances 1" in error.message
        else:
            assert [value.shape for value in found] == [(1000 + which[0],)] * 2


def test_group_sizes_that_differ_are_named(workers):
    found = workers(lambda index: collective.all_reduce(tf.zeros([2]), 2 + index, 7, 1)).run()
    for error in found:
        assert isinstance(error, tf.errors.InvalidArgumentError)
        assert "group 7 has" in error.message and "task:0" in error.message and "task:1" in error.message


@pytest.mark.parametrize("sends", [True, False])
def test_a_broadcast_over_tasks_has_one_sender(workers, sends):
    def make(index):
        if sends:
            return collective.broadcast_send(tf.zeros([2]), [2], tf.float32, 2, 8, 1)
        return collective.broadcast_recv([2], tf.float32, 2, 8, 1)

    found = workers(make).run()
    assert any(isinstance(error, tf.errors.InvalidArgumentError) for error in found)
    for error in found:
        assert "a broadcast has one sender" in error.message


# -- members that fail ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", ["inprocess", "sockets"], indirect=True)
def test_a_step_that_fails_ends_that_of_the_others_and_the_next_one_works(cluster, workers):
    def make(index):
        fails = tf.placeholder_with_default(False, [])
        with tf.control_dependencies([tf.Assert(tf.logical_not(fails), ["it was fed"])]):
            value = tf.constant(_value(index)) * 1.0
        return {"total": collective.all_reduce(value, 2, 9, 1), "fails": fails}

    group = workers(make)
    np.testing.assert_array_equal(group.run()[0]["total"], _value(0) + _value(1))
    fails = [fetches["fails"] for fetches in group.fetches]
    with group.running(0) as result, pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        group.sessions[1].run(group.fetches[1], {fails[1]: True})
    with pytest.raises(tf.errors.AbortedError, match=r"task:1 ended a step of group 9.*: .*assertion failed") as raised:
        raise result[0]
    assert "CollectiveReduce" in raised.value.message
    np.testing.assert_array_equal(group.run()[0]["total"], _value(0) + _value(1))


def test_a_session_that_closes_leaves_its_groups(workers):
    group = workers(lambda index: collective.all_reduce(tf.constant(_value(index)), 2, 10, 1))
    group.run()
    group.sessions[1].close()
    with pytest.raises(tf.errors.AbortedError, match="task:1 closed its session"):
        group.sessions[0].run(group.fetches[0])


def test_a_task_that_is_restarted_belongs_to_a_new_group(cluster, workers):
    def make(index):
        return collective.all_reduce(tf.constant(_value(index)), 2, 13, 1)

    group = workers(make)
    group.run()
    with group.running(0) as result:
        while not cluster.servers["worker", 0]._require().worker.waiting():
            time.sleep(0.01)
        cluster.servers["worker", 1].stop()
    with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError), match="/job:worker/replica:0/task:1"):
        raise result[0]
    cluster.start("worker", 1)
    with pytest.raises(tf.errors.OpError):
        group.sessions[1].run(group.fetches[1])
    for found in workers(make).run():
        np.testing.assert_array_equal(found, _value(0) + _value(1))


class _Alone:
    """The only task of a cluster, as it sees itself."""

    def __init__(self, tasks):
        self.collectives = TaskCollectives(tasks[0], lambda cluster, task: self, lambda cluster: tasks)

    def require(self):
        pass

    def join_group(self, join, is_leaving=False):
        return self.collectives.join(join, is_leaving)


@pytest.mark.parametrize("plan", ["", "a shape that is known in the step alone"])
def test_a_step_that_its_group_has_ended_forms_no_other_group(plan):
    task = _Alone([f"/job:worker/replica:0/task:{index}" for index in range(2)])
    session = task.collectives.session(tf.ConfigProto(), tf.train.ClusterDef())
    group, step, failed = Group(16, 2, 1), Step(), []
    session.begin(group, step, "a plan", 1, lambda step, error: failed.append(error))
    first = session._communicator(group, step)
    lost = tf.errors.UnavailableError(None, None, "a member is lost")
    first.end(lost)
    assert failed == [lost]
    with pytest.raises(tf.errors.UnavailableError, match="a member is lost"):
        session.start(group, step, Action("reduce", "Add", plan), torch.zeros(1), None)
    assert session._communicator(group, step) is first
    assert session._communicator(group, Step()) is not first
    session.close()


def test_a_member_that_never_comes_is_named_when_the_time_is_up(workers):
    group = workers(lambda index: collective.all_reduce(tf.constant(_value(index)), 2, 11, 1))
    with pytest.raises(tf.errors.DeadlineExceededError, match="waits for /job:worker/replica:0/task:1"):
        group.sessions[0].run(group.fetches[0], options=tf.RunOptions(timeout_in_ms=1000))
    found = group.run()
    np.testing.assert_array_equal(found[0], found[1])


def test_a_task_that_cannot_connect_tells_the_others(workers, monkeypatch):
    connect, failures = TaskCollectives.connect, ["no route"]

    def fail_once(task, number, rank, members):
        if rank and failures:
            raise OSError(failures.pop())
        return connect(task, number, rank, members)

    monkeypatch.setattr(TaskCollectives, "connect", fail_once)
    group = workers(lambda index: collective.all_reduce(tf.constant(_value(index)), 2, 17, 1))
    other, failed = group.run()
    assert isinstance(failed, tf.errors.UnavailableError) and "do not connect: no route" in failed.message
    assert isinstance(other, tf.errors.AbortedError) and "task:1" in other.message and "no route" in other.message
    np.testing.assert_array_equal(*group.run())


def test_an_end_that_comes_before_the_group_is_known_ends_it(workers, monkeypatch):
    """A task learns from the leader that a group is complete when another member has already left it."""
    joined, waiting, ended = SessionCollectives._join, threading.Event(), threading.Event()

    def late(session, communicator):
        formed = joined(session, communicator)
        if session._owner.task.endswith("task:1"):
            waiting.set()
            ended.wait()
        return formed

    end = TaskCollectives.end

    def record_end(task, group_end):
        end(task, group_end)
        ended.set()

    monkeypatch.setattr(SessionCollectives, "_join", late)
    monkeypatch.setattr(TaskCollectives, "end", record_end)
    group = workers(lambda index: collective.all_reduce(tf.constant(_value(index)), 2, 18, 1))
    with group.running(0) as first, group.running(1) as second:
        waiting.wait()
        group.sessions[0].close()
    assert isinstance(first[0], tf.errors.CancelledError)
    assert isinstance(second[0], tf.errors.AbortedError) and "task:0" in second[0].message


def test_a_task_that_gives_up_a_group_that_was_completed_meanwhile_tells_the_others(workers, monkeypatch):
    join, complete, gave_up = TaskCollectives.join, threading.Event(), threading.Event()

    def joined(leader, request, is_leaving=False):
        group = join(leader, request, is_leaving)
        if isinstance(group, Formed):
            complete.set()
        if request.task.endswith("task:1") or is_leaving:
            return group
        gave_up.wait()  # the answer is late
        return []

    monkeypatch.setattr(TaskCollectives, "join", joined)
    group = workers(lambda index: collective.all_reduce(tf.constant(_value(index)), 2, 19, 1))
    with group.running(0) as first, group.running(1) as second:
        complete.wait()
        group.sessions[0].close()
        gave_up.set()
    assert isinstance(first[0], tf.errors.CancelledError)
    assert isinstance(second[0], tf.errors.AbortedError) and "task:0" in second[0].message


def test_a_leader_that_is_no_task_is_refused(cluster):
    config = tf.ConfigProto(experimental=tf.ConfigProto.Experimental(collective_group_leader="/job:chief/task:0"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="collective_group_leader"):
        tf.Session(cluster.target("worker", 0), config=config)


_MEMBER = """
import json, sys
import thalweg as tf
from thalweg._src.graph.ops import collective
server = tf.train.Server(json.loads(sys.argv[1]), "worker", int(sys.argv[2]))
total = collective.all_reduce(tf.ones([1000]), 2, 1, 1)
with tf.Session(server.target, config=tf.ConfigProto(device_filters=["/job:worker/task:1"])) as session:
    session.run(total)
    print("ran", flush=True)
    server.join()
"""


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow(reason="waits for heartbeats"))]
)
def test_a_member_that_dies_or_stops_is_named(how):
    spec = addresses(worker=2)
    command = [sys.executable, "-c", _MEMBER, json.dumps(spec), "1"]
    other = children.start(command, env=children.environment(OMP_NUM_THREADS="1"), stdout=subprocess.PIPE, text=True)
    try:
        with tf.train.Server(spec, "worker", 0) as server:
            total = collective.all_reduce(tf.ones([1000]), 2, 1, 1)
            config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
            with tf.Session(server.target, config=config) as session:
                session.run(total)
                assert other.stdout.readline() == "ran\n"
                waiting = threading.Timer(0.5, other.send_signal, [how])
                waiting.start()
                with pytest.raises(tf.errors.UnavailableError, match="/job:worker/replica:0/task:1 is lost"):
                    session.run(total)
                waiting.join()
    finally:
        children.end(other)

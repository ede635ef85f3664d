"""Transfers between devices: one per tensor and destination, and without a copy between virtual CPU devices."""

import collections

import numpy as np
import torch

import thalweg as tf
from thalweg._src.runtime.resources.step import Step

FOUR = tf.ConfigProto(device_count={"CPU": 4, "GPU": 0})


def transfers(session, fetches, feeds=()):
    """Returns the keys of all sends and receives of a step, including those in loops."""
    sent, received = collections.Counter(), collections.Counter()
    for program in session._plan(fetches, tuple(feeds)).executable.programs:
        stack = list(program.nodes)
        while stack:
            node = stack.pop()
            if node.type in ("_Send", "_Recv"):
                key = tuple(node.attrs[name] for name in ("send_device", "recv_device", "tensor_name"))
                (sent if node.type == "_Send" else received)[key] += 1
            elif node.type == "_While":
                stack += [inner for graph in node.attrs["region"].graphs() for inner in graph.nodes]
    assert sent == received
    assert not sent or set(sent.values()) == {1}
    return sent


def short(keys):
    return sorted((name, where[-1]) for _, where, name in keys)


def test_one_pair_per_tensor_and_destination():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2], name="x")
        y, z = tf.exp(x, name="y"), tf.split(x, 2, name="z")
    results = []
    for i in (1, 2):
        with tf.device(f"/cpu:{i}"):
            results += [tf.sin(y), tf.cos(y), tf.tan(z[1]), tf.add(y, z[1])]
    with tf.Session(config=FOUR) as session:
        assert short(transfers(session, results, [x])) == [("y:0", "1"), ("y:0", "2"), ("z:1", "1"), ("z:1", "2")]


def test_controls_are_one_signal_per_destination():
    with tf.device("/cpu:0"):
        v = tf.get_variable("v", initializer=1.0)
        update = v.assign_add(1.0, name="update").op
    with tf.device("/cpu:1"), tf.control_dependencies([update]):
        results = [tf.random_uniform([]) for _ in range(3)]
    with tf.Session(config=FOUR) as session:
        assert len(transfers(session, results)) == 1


def grouped(devices):
    """Returns updates on some devices that wait for a group, on device 3, of other updates there."""
    variables = []
    for i in devices:
        with tf.device(f"/cpu:{i}"):
            variables.append(tf.get_variable(f"v{i}", initializer=1.0))
    with tf.device("/cpu:3"):
        group = tf.group(*(v.assign_add(1.0).op for v in variables), tf.no_op(), name="group")
    two = tf.constant(2.0)
    with tf.control_dependencies([group]):
        return [v.assign_add(two).op for v in variables]


def test_a_group_on_another_device_costs_no_signals_there_and_back():
    results = grouped([0])
    with tf.Session(config=FOUR) as session:
        session.run(tf.global_variables_initializer())
        assert not transfers(session, results)
        session.run(results)
        assert session.run(tf.global_variables()) == [4.0]


def test_members_of_a_group_signal_directly_to_what_waits_for_it():
    results = grouped([0, 1, 2])
    with tf.Session(config=FOUR) as session:
        session.run(tf.global_variables_initializer())
        assert len(transfers(session, results[:2])) == 4, "instead of 3 to the group and 2 from there"
        session.run(results)
        assert session.run(tf.global_variables()) == [4.0] * 3


def test_a_group_stays_where_direct_signals_would_be_more():
    results = grouped([0, 1, 2, 4])
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 5, "GPU": 0})) as session:
        session.run(tf.global_variables_initializer())
        assert len(transfers(session, results)) == 8, "instead of 12"


def test_loops_across_devices():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [3], name="x")

    def body(i, a):
        with tf.device("/cpu:1"):
            b = tf.tanh(a)
            c = [tf.sin(b), tf.cos(b), tf.exp(b) + x]
        with tf.device("/cpu:2"):
            d = tf.reduce_sum(b) + tf.reduce_max(b)
        with tf.device("/cpu:0"):
            return i + 1, tf.add_n(c) + d

    _, y = tf.while_loop(lambda i, a: i < 3, body, [0, x])
    with tf.device("/cpu:3"):
        z = tf.sin(y) + tf.cos(y)
    with tf.Session(config=FOUR) as session:
        keys = short(transfers(session, [z, y], [x]))
        expected = np.array([0.1, 0.2, 0.3], np.float32)
        for _ in range(3):
            b = np.tanh(expected)
            expected = np.sin(b) + np.cos(b) + np.exp(b) + np.float32([0.1, 0.2, 0.3]) + b.sum() + b.max()
        got = session.run(y, {x: [0.1, 0.2, 0.3]})
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert sum("/body/" in name for name, _ in keys) >= 4
    assert sum("/condition/" in name for name, _ in keys) == 2  # the other two follow the condition


def test_only_taken_branches_send():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [3], name="x")
    with tf.device("/cpu:1"):
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) + tf.cos(x), lambda: tf.tan(x))
    with tf.Session(config=FOUR) as session:
        transfers(session, y, [x])
        np.testing.assert_allclose(session.run(y, {x: [1, 2, -9]}), np.tan([1, 2, -9]), rtol=1e-5)


def test_between_virtual_cpu_devices_nothing_is_copied():
    with tf.device("/cpu:0"):
        x = tf.random_uniform([1 << 16]) * 2.0
    views = [x]
    for i in range(1, 4):
        with tf.device(f"/cpu:{i}"):
            views.append(tf.reshape(x, [1 << i, -1]))
    with tf.Session(config=FOUR) as session:
        assert len(transfers(session, views)) == 3
        for _ in range(3):
            values = session._plan(views, ()).executable.run(Step(), [])
            assert len({value.data_ptr() for value in values}) == 1


def test_fed_values_reach_every_device_unchanged():
    x = tf.placeholder(tf.float32, [1 << 16])
    views = []
    for i in range(4):
        with tf.device(f"/cpu:{i}"):
            views.append(tf.reshape(x, [1 << i, -1]))
    fed = torch.ones(1 << 16)
    with tf.Session(config=FOUR) as session:
        values = session._plan(views, (x,)).executable.run(Step(), [fed])
    assert {value.data_ptr() for value in values} == {fed.data_ptr()}

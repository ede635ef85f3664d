"""Traces: kernel times of accelerators, on fake ones that compute on the CPU, and costs learned from them."""

import json
import time
from itertools import pairwise

import numpy as np
import pytest

import thalweg as tf
from tests.runtime.execute.recorded_calls import record
from thalweg._src.runtime.resources.accelerators import Accelerator
from thalweg._src.runtime.session.measured_costs import learn_costs
from thalweg._src.training.observe.timeline import Timeline

RECORDS = []
TRACED = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
SLOW = "/job:localhost/replica:0/task:0/device:SLOW:0"


class Event:
    """An event on the stream of a device whose clock advances by a millisecond with each event."""

    ticks = 0

    def __init__(self, device):
        self.tick = None

    def record(self):
        Event.ticks += 1
        self.tick = Event.ticks

    def elapsed_time(self, end):
        assert self.tick is not None and end.tick is not None
        return float(end.tick - self.tick)


class Waited(Accelerator):
    """A device type without events that counts synchronizations, which take a while."""

    waits = 0

    def synchronize(self, device):
        Waited.waits += 1
        time.sleep(0.002)


@pytest.fixture(autouse=True)
def no_records():
    RECORDS.clear()


def model():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    with tf.device("/device:SLOW:0"):
        w = tf.get_variable("w", [4, 3], initializer=tf.constant_initializer(0.5))
        y = tf.tanh(tf.matmul(x, w, name="product"), name="y")
        flat = tf.reshape(y, [tf.shape(y)[0] * 3], name="flat")
        loss = tf.reduce_mean(tf.square(flat), name="loss")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return x, loss, train


def stats_of(metadata):
    return {stats.node_name: stats for part in metadata.step_stats.dev_stats for stats in part.node_stats}


def test_kernels_are_timed_by_the_device(register):
    register(Accelerator("SLOW", "cpu", lambda: 1, event=Event))
    x, loss, train = model()
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = time.time_ns()
        session.run([loss, train], {x: np.ones([5, 4])}, TRACED, metadata)
        after = time.time_ns()
    assert [part.device for part in metadata.step_stats.dev_stats] == [SLOW]
    stats = stats_of(metadata)
    kernels = [stats[name] for name in ("product", "y", "flat", "Square", "loss")]
    for one in kernels:
        assert one.op_end_rel_nanos == one.all_end_rel_nanos == 1_000_000
        assert one.op_end_rel_micros == one.all_end_rel_micros == 1000
        assert one.all_start_micros == one.all_start_nanos // 1000
        assert before <= one.scheduled_nanos <= after
    for earlier, later in pairwise(kernels):
        assert earlier.all_start_nanos + earlier.all_end_rel_nanos <= later.all_start_nanos
        assert earlier.scheduled_nanos <= later.scheduled_nanos
    on_host = [one for one in stats.values() if one.all_end_rel_nanos != 1_000_000]
    assert {one.timeline_label.partition(" = ")[2].partition("(")[0] for one in on_host} >= {"Shape", "Mul"}
    assert all(before <= one.all_start_nanos <= after for one in on_host)
    events = json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format())["traceEvents"]
    spans = {event["args"]["name"]: event["dur"] for event in events if event["ph"] == "X"}
    assert spans["product"] == spans["loss"] == 1000


def test_devices_without_events_are_synchronized_after_each_node(register):
    register(Waited("SLOW", "cpu", lambda: 1))
    x, loss, _ = model()
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(loss, {x: np.ones([5, 4])})
        before = Waited.waits
        session.run(loss, {x: np.ones([5, 4])})
        assert Waited.waits == before
        session.run(loss, {x: np.ones([5, 4])}, TRACED, metadata)
    stats = stats_of(metadata)
    assert Waited.waits - before == len(stats) + 1
    assert all(one.all_end_rel_nanos >= 2_000_000 for one in stats.values())


def test_a_traced_step_is_not_captured(register):
    register(Accelerator("SLOW", "cpu", lambda: 1, capture=lambda function, _: record(function, RECORDS), event=Event))
    x, loss, train = model()
    data = np.random.default_rng(1).normal(size=[12, 5, 4])
    results = []
    for traced in (False, True):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = []
            for index, value in enumerate(data):
                metadata = tf.RunMetadata()
                options = TRACED if traced and index % 3 == 2 else None
                count = sum(notes.count for notes in RECORDS)
                values.append(session.run([loss, train], {x: value}, options, metadata)[0])
                if options is not None:
                    assert sum(notes.count for notes in RECORDS) == count
                    assert "product" in stats_of(metadata)
            results.append(values)
    assert RECORDS and max(notes.count for notes in RECORDS) > 0
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


def test_loops_are_timed_as_a_whole_and_per_iteration(register):
    register(Accelerator("SLOW", "cpu", lambda: 1, event=Event))
    metadata = tf.RunMetadata()
    with tf.device("/device:SLOW:0"):
        x = tf.random_uniform([3])
        y = tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(v, name="turn")), [0, x])[1]
    with tf.Session() as session:
        session.run(y, None, TRACED, metadata)
    (part,) = metadata.step_stats.dev_stats
    turns = [stats for stats in part.node_stats if stats.node_name == "while/turn"]
    (loop,) = (stats for stats in part.node_stats if " = _While(" in stats.timeline_label)
    assert [stats.all_end_rel_nanos for stats in turns] == [1_000_000] * 4
    assert loop.all_end_rel_nanos >= 7_000_000
    assert loop.all_start_nanos < turns[0].all_start_nanos
    assert turns[-1].all_start_nanos + 1_000_000 <= loop.all_start_nanos + loop.all_end_rel_nanos


def test_learned_costs_are_those_of_the_kernels(register):
    register(Accelerator("SLOW", "cpu", lambda: 1, event=Event))
    x, loss, _ = model()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        costs = learn_costs(session, loss, {x: np.ones([5, 4])}, steps=2)
    assert costs.measured["SLOW product = MatMul"][0] == pytest.approx(1e-3)
    assert costs.measured["SLOW loss = Mean"][0] == pytest.approx(1e-3)


def test_each_device_is_timed_by_its_own_clock(register):
    register(Accelerator("SLOW", "cpu", lambda: 1, event=Event))
    x = tf.placeholder(tf.float32, [3])
    with tf.device("/cpu:0"):
        a = tf.sin(x, name="a")
    with tf.device("/device:SLOW:0"):
        b = tf.exp(a, name="b")
    with tf.device("/cpu:0"):
        c = tf.cos(b, name="c")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(c, {x: [1, 2, 3]}, TRACED, metadata)
    stats = stats_of(metadata)
    assert stats["b"].all_end_rel_nanos == 1_000_000
    assert 0 < stats["a"].all_end_rel_nanos != 1_000_000 and stats["a"].scheduled_nanos == stats["a"].all_start_nanos
    assert {part.device[-6:] for part in metadata.step_stats.dev_stats} == {"SLOW:0", ":CPU:0"}


def test_steps_on_the_token_engine_are_traced():
    x = tf.placeholder(tf.float32, [2], name="x")
    false, true = tf.raw_ops.Switch(data=x, pred=tf.reduce_sum(x) > 0)
    merged = tf.raw_ops.Merge(inputs=[tf.sin(false), tf.cos(true, name="taken"), tf.tan(false)])[0]
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        assert "token engine" in session.show_program(merged, [x])
        session.run(merged, {x: [1, 2]}, TRACED, metadata)
    stats = stats_of(metadata)
    assert stats["taken"].all_end_rel_nanos > 0 and "Sin" not in stats


# -- cost graphs ------------------------------------------------------------------------------------------------------


def test_costs_are_measured_every_n_steps():
    config = tf.ConfigProto(device_count={"GPU": 0})
    config.graph_options.build_cost_model = 2
    config.graph_options.build_cost_model_after = 1
    x = tf.placeholder(tf.float32, [200, 200], name="x")
    y = tf.matmul(x, x, name="product")
    with tf.Session(config=config) as session:
        seen = []
        for _ in range(6):
            metadata = tf.RunMetadata()
            session.run(y, {x: np.eye(200)}, run_metadata=metadata)
            seen.append(bool(metadata.cost_graph.node))
            assert bool(metadata.step_stats.dev_stats) == seen[-1]
            if seen[-1]:
                nodes = {node.name: node for node in metadata.cost_graph.node}
                taken = stats_of(metadata)["product"].all_end_rel_nanos
                assert nodes["product"].compute_cost == round(taken / 1000) > 0
                assert not nodes["product"].inaccurate and nodes["_arg_x_0"].inaccurate
        session.run(y, {x: np.eye(200)})
    assert seen == [False, False, True, False, True, False]

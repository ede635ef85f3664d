"""Peak memory of a step: estimated and measured."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.place.problems import CPU, GPU
from tests.compiler.place.watched import held_in
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.optimize import optimize
from thalweg._src.compiler.partition.host_memory import assign_memory
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.compiler.place.trip_count import trip_count
from thalweg._src.compiler.schedule.peak_memory import Buffers, format_bytes

ONE = tf.ConfigProto(device_count={"CPU": 1, "GPU": 0})


def estimated(fetches, feeds=(), targets=(), device=CPU[0], **costs):
    step = step_graph(list(feeds), list(fetches), list(targets))
    optimize(step, tf.GraphOptions(), lambda node: None)
    if "GPU" in device:
        assign_memory(step)
    return Buffers(step, device, CostModel(**costs)).estimate(step.nodes)


def dense():
    x = tf.placeholder(tf.float32, [128, 256], name="x")
    h = x
    for i in range(5):
        h = tf.nn.relu(tf.matmul(h, tf.get_variable(f"w{i}", [256, 256])))
    return x, tf.reduce_mean(tf.square(h))


def convolutions():
    x = h = tf.placeholder(tf.float32, [8, 24, 24, 4], name="x")
    for i in range(3):
        h = tf.nn.relu(tf.nn.conv2d(h, tf.get_variable(f"w{i}", [3, 3, h.shape[3], 16]), padding="SAME"))
    return x, tf.reduce_mean(tf.square(tf.nn.max_pool(h, 2, 2, "SAME")))


def recurrent():
    x = tf.placeholder(tf.float32, [16, 30, 32], name="x")
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(64), x, dtype=tf.float32)
    return x, tf.reduce_mean(tf.square(outputs))


@pytest.mark.parametrize("trained", [False, True], ids=["forward", "trained"])
@pytest.mark.parametrize("network", [dense, convolutions, recurrent])
def test_measured_peak_memory_matches_the_estimate(network, trained):
    x, loss = network()
    fetches = [loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)] if trained else loss
    with tf.Session(config=ONE) as session:
        session.run(tf.global_variables_initializer())
        value = np.random.default_rng(3).random(x.shape.as_list(), np.float32)
        real, estimate = held_in(session, fetches, {x: value})
    tensors = estimate.peak - estimate.persistent - value.nbytes  # the feed is the caller's
    assert 0.8 * real <= tensors <= 1.25 * real


def test_a_tensor_is_live_until_its_last_reader():
    a = tf.random_uniform([100], name="a")
    b = tf.sin(a, name="b")
    c = tf.cos(b, name="c")
    estimate = estimated([tf.add(a, c, name="d")])
    assert estimate.peak - estimate.persistent == 1200 and estimate.node.name in ("c", "d")
    assert {held.node.name for held in estimate.held} >= {"a", "c"}
    assert estimate.held[0].size == 400


def test_views_share_buffers_and_variables_are_kept():
    v = tf.get_variable("v", [100])
    x = tf.sin(v, name="x")
    y = tf.exp(tf.reshape(tf.identity(x), [10, 10]), name="y")
    estimate = estimated([tf.reduce_sum(y) + tf.reduce_sum(x)])
    assert estimate.peak == estimate.persistent + 800 + 4 and 400 <= estimate.persistent <= 450


def test_a_list_saved_by_a_loop_has_one_entry_per_iteration():
    def grown(turns):
        x = tf.random_uniform([1000])
        _, y = tf.while_loop(lambda i, a: i < turns, lambda i, a: (i + 1, tf.tanh(a)), [0, x])
        return estimated([tf.gradients(y, x)[0]], iterations=3).peak

    assert 35_000 <= grown(20) - grown(10) <= 45_000


@pytest.mark.parametrize(
    ("condition", "step", "first", "expected"),
    [
        (lambda i: i < 10, 1, 0, 10),
        (lambda i: i <= 10, 2, 1, 5),
        (lambda i: i > 0, -1, 7, 7),
        (lambda i: i >= 0, -3, 7, 3),
        (lambda i: tf.logical_and(i < 10, tf.random_uniform([]) < 0.5), 1, 0, 10),
        (lambda i: i < 10, 1, 12, 0),
        (lambda i: i * i < 10, 1, 0, 99),
        (lambda i: i < 10, 0, 0, 99),
    ],
)
def test_trip_count_of_a_counting_loop(condition, step, first, expected):
    y = tf.while_loop(condition, lambda i: i + step, [first])
    graph = step_graph([], [y], [])
    (loop,) = [node for node in graph.nodes if node.type == "_While"]
    assert trip_count(loop, 99) == expected


def test_feeds_belong_to_the_caller_and_unknown_dimensions_are_assumed():
    x = tf.placeholder(tf.float32, [None, 10], name="x")
    estimate = estimated([tf.sin(tf.sin(x))], [x], unknown=7)
    assert estimate.peak == 3 * 280


def test_on_an_accelerator_only_its_own_memory_counts():
    x = tf.placeholder(tf.float32, [1000], name="x")
    n = tf.shape(x, name="n")
    y = tf.reshape(tf.sin(x), n)
    estimate = estimated([y], [x], device=GPU[0])
    assert (
        estimate.peak == 8000 + estimate.persistent and estimate.persistent == 0
    )  # the copy of the feed, and its sine


def test_the_text_names_node_and_tensors():
    a = tf.random_uniform([1000], name="a")
    estimate = estimated([tf.sin(a, name="b")])
    assert str(estimate).startswith("at most 8") and "KB while 'b' runs, " in str(estimate)
    assert "'a:0' float32[1000], 4 KB, defined at test_peak_memory.py:" in estimate.largest()
    assert format_bytes(12) == "12 B" and format_bytes(2.5e9) == "2.5 GB"

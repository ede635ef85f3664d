"""Programs whose step graphs have all that a step graph can have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import thalweg as tf
from tests.graph.control_flow.test_random_programs import free
from tests.graph.ir.serialized import Partitions, partitions_of
from thalweg._src.runtime import passes

TWO = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})


def layers() -> Partitions:
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    w = tf.get_variable("w", [8, 3])
    loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, w) + tf.constant([1.0, 2.0, 3.0])))
    return partitions_of([loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)], [x])


def loops() -> Partitions:
    x = tf.placeholder(tf.float32, [3], name="x")

    def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        inner = tf.while_loop(lambda j, _: j < i, lambda j, b: (j + 1, tf.sin(b) + x), [tf.constant(0), a])[1]
        return i + 1, tf.cond(i > 2, lambda: inner * 2.0, lambda: inner - 1.0)

    y = tf.while_loop(lambda i, _: i < 5, body, [tf.constant(0), x])[1]
    return partitions_of([y, tf.gradients(y, x)[0]], [x])


def conditionals() -> Partitions:
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.cond(x > 0, lambda: x * 2, lambda: x * 3), lambda: tf.exp(x))
    return partitions_of(y, [x, p])


def unstructured() -> Partitions:
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda a: a < 10, lambda a: tf.cond(a > 3, lambda: a * 2, lambda: a + x), [x])
    structured, passes.functionalize = passes.functionalize, free
    try:
        return partitions_of(y, [x])
    finally:
        passes.functionalize = structured


def devices() -> Partitions:
    x = tf.placeholder(tf.float32, [4], name="x")
    with tf.device("/cpu:1"):
        y = tf.exp(x, name="y")
    z = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, _on_second(a) + x), [tf.constant(0), y])[1]
    return partitions_of([z, y], [x], TWO)


def _on_second(a: tf.Tensor) -> tf.Tensor:
    with tf.device("/cpu:1"):
        return a * 2.0


def texts() -> Partitions:
    words = tf.constant([[b"a", b"\xff\x00"], [b"", "\u00e4\u20ac".encode()]])
    joined = tf.strings.join([words, tf.placeholder(tf.string, [2, 2])], "/")
    ones = tf.fill([3, 4], 2.5) * tf.constant(np.broadcast_to(np.float32(3), (3, 4)))
    return partitions_of([joined, ones, tf.split(ones, 2, 1)[1]])


GRAPHS: list[Callable[[], Partitions]] = [layers, loops, conditionals, unstructured, devices, texts]

"""Graphs for placers: each can be built without devices, for a placer, or with a manual placement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

import thalweg as tf


@dataclass(frozen=True, slots=True)
class Built:
    """A graph, with the fetches and feeds of a step."""

    graph: Any
    fetches: Any
    feeds: dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Hand:
    """A manual placement; without devices its scopes are empty."""

    devices: Sequence[str] = ()

    def part(self, number: int) -> AbstractContextManager[Any]:
        """Returns the device scope of a part; parts are assigned round robin."""
        return tf.device(self.devices[number % len(self.devices)]) if self.devices else nullcontext()

    def share(self, number: int, of: int) -> AbstractContextManager[Any]:
        """Returns the device scope of a part; each device gets a contiguous range of parts."""
        return self.part(number * len(self.devices) // of)


def convnet(hand: Hand, small: bool) -> Built:
    """A convolutional network trained on two halves of a batch; manual placement: one half per device."""
    batch, size, channels = (4, 8, (4, 8)) if small else (64, 32, (32, 64, 128))
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [batch, size, size, 3], name="images")
        labels = tf.placeholder(tf.int64, [batch], name="labels")
        optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
        towers = []
        for number, (x, wanted) in enumerate(zip(tf.split(images, 2), tf.split(labels, 2))):
            with hand.part(number), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
                h = x
                for i, width in enumerate(channels):
                    h = tf.layers.conv2d(h, width, 3, padding="same", activation=tf.nn.relu, name=f"conv{i}")
                    h = tf.layers.max_pooling2d(h, 2, 2)
                logits = tf.layers.dense(tf.layers.flatten(h), 10, name="dense")
                loss = tf.losses.sparse_softmax_cross_entropy(wanted, logits)
                towers.append(optimizer.compute_gradients(loss))
        means = [((a + b) / 2, variable) for (a, variable), (b, _) in zip(*towers)]
        train = optimizer.apply_gradients(means)
    rng = np.random.default_rng(0)
    feeds = {images: rng.normal(size=images.shape.as_list()).astype(np.float32), labels: np.arange(batch) % 10}
    return Built(graph, train, feeds)


def lstm(hand: Hand, small: bool) -> Built:
    """Four unrolled LSTM layers in training; manual placement: some layers per device, as in a pipeline."""
    batch, steps, width = (2, 3, 4) if small else (64, 20, 256)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [steps, batch, width], name="x")
        sequence = tf.unstack(x)
        for layer in range(4):
            with hand.share(layer, 4):
                cell = tf.nn.rnn_cell.BasicLSTMCell(width, name=f"layer{layer}")
                sequence, _ = tf.nn.static_rnn(cell, sequence, dtype=tf.float32, scope=f"rnn{layer}")
        loss = tf.add_n([tf.reduce_mean(tf.square(h)) for h in sequence])
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, colocate_gradients_with_ops=True)
    return Built(graph, train, {x: np.random.default_rng(0).normal(size=(steps, batch, width)).astype(np.float32)})


def layered(hand: Hand, small: bool) -> Built:
    """Random layers of matrix products; manual placement: some columns per device."""
    layers, width, size = (3, 4, 4) if small else (20, 12, 192)
    rng = np.random.default_rng(1)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [size, size], name="x")
        before = [x * (0.1 * i) for i in range(1, width + 1)]
        for layer in range(layers):
            after = []
            for column in range(width):
                a, b = rng.choice(width, 2, replace=False)
                with hand.share(column, width):
                    product = tf.matmul(before[a], before[b], name=f"n{layer}_{column}")
                    after.append(tf.tanh(product) if rng.random() < 0.7 else tf.matmul(product, x))
            before = after
        y = tf.reduce_sum(tf.add_n(before))
    return Built(graph, y, {x: rng.normal(size=(size, size)).astype(np.float32) / size})


def scattered(hand: Hand, small: bool) -> Built:
    """A random graph of small and large products, each of two earlier ones; manual placement: round robin."""
    count, sizes = (12, (4, 8)) if small else (160, (64, 128, 256))
    rng = np.random.default_rng(2)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [sizes[-1], sizes[-1]], name="x")
        made = [x[:n, :n] for n in sizes]
        for number in range(count):
            size = int(rng.choice(sizes))
            a, b = (made[i] for i in rng.choice(len(made), 2))
            with hand.part(number):
                product = tf.matmul(_resized(a, size), _resized(b, size), name=f"n{number}")
                made.append(tf.tanh(product) if rng.random() < 0.5 else product * (1.0 / size))
        y = tf.add_n([tf.reduce_sum(value) for value in made])
    return Built(graph, y, {x: rng.normal(size=(sizes[-1], sizes[-1])).astype(np.float32)})


def _resized(x: Any, size: int) -> Any:
    """Truncates a matrix, or pads it with zeros."""
    missing = max(size - x.shape.as_list()[0], 0)
    return tf.pad(x, [[0, missing]] * 2) if missing else x[:size, :size]


def inception(hand: Hand, small: bool) -> Built:
    """Inception-v3 without its auxiliary head, in training; manual placement: branches round robin."""
    batch, size, narrow = (1, 80, 16) if small else (2, 299, 1)
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [batch, size, size, 3], name="images")
        labels = tf.placeholder(tf.int64, [batch], name="labels")
        logits = _Inception(hand, narrow).network(images)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = optimizer.minimize(loss, colocate_gradients_with_ops=True)
    pixels = np.random.default_rng(0).normal(size=(batch, size, size, 3)).astype(np.float32)
    return Built(graph, train, {images: pixels, labels: np.arange(batch)})


Branch = list[tuple[Any, ...]]


class _Inception:
    """Builds the network of "Rethinking the Inception architecture" (Szegedy and others), narrower on request."""

    def __init__(self, hand: Hand, narrow: int) -> None:
        self._hand = hand
        self._narrow = narrow

    def network(self, x: Any) -> Any:
        h = self._chain(x, [(32, 3, 2, "valid"), (32, 3, 1, "valid"), (64, 3)])
        h = tf.layers.max_pooling2d(h, 3, 2)
        h = self._chain(h, [(80, 1), (192, 3, 1, "valid")])
        h = tf.layers.max_pooling2d(h, 3, 2)
        for pooled in (32, 64, 64):
            h = self._block(h, [(64, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)], [("avg",), (pooled, 1)])
        h = self._block(h, [(384, 3, 2, "valid")], [(64, 1), (96, 3), (96, 3, 2, "valid")], [("max",)])
        for n in (128, 160, 160, 192):
            seven = [(n, 1), (n, (7, 1)), (n, (1, 7)), (n, (7, 1)), (192, (1, 7))]
            h = self._block(h, [(192, 1)], [(n, 1), (n, (1, 7)), (192, (7, 1))], seven, [("avg",), (192, 1)])
        seven = [(192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, "valid")]
        h = self._block(h, [(192, 1), (320, 3, 2, "valid")], seven, [("max",)])
        for _ in range(2):
            wide = ("fork", (384, (1, 3)), (384, (3, 1)))
            h = self._block(h, [(320, 1)], [(384, 1), wide], [(448, 1), (384, 3), wide], [("avg",), (192, 1)])
        return tf.layers.dense(tf.reduce_mean(h, [1, 2]), 1000 // self._narrow)

    def _block(self, x: Any, *branches: Branch) -> Any:
        results = []
        for number, branch in enumerate(branches):
            with self._hand.part(number):
                results.append(self._chain(x, branch))
        return tf.concat(results, 3)

    def _chain(self, x: Any, layers: Branch) -> Any:
        for layer in layers:
            match layer:
                case ("avg",):
                    x = tf.layers.average_pooling2d(x, 3, 1, padding="same")
                case ("max",):
                    x = tf.layers.max_pooling2d(x, 3, 2)
                case ("fork", *parts):
                    x = tf.concat([self._chain(x, [part]) for part in parts], 3)
                case _:
                    x = self._convolution(x, *layer)
        return x

    def _convolution(self, x: Any, channels: int, kernel: Any, stride: int = 1, padding: str = "same") -> Any:
        width = max(channels // self._narrow, 1)
        h = tf.layers.conv2d(x, width, kernel, stride, padding, use_bias=False)
        return tf.nn.relu(tf.layers.batch_normalization(h, scale=False, training=True))


PROGRAMS: dict[str, Callable[[Hand, bool], Built]] = {
    "convnet": convnet,
    "lstm": lstm,
    "inception": inception,
    "layered": layered,
    "scattered": scattered,
}

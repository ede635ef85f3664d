"""TensorFlow 1 programs: one source text, run by TensorFlow (`tensorflow.compat.v1`) and by Thalweg."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from workloads import data

NULL_OPERATIONS = 10_000
NULL_WIDTH = 100
CHAIN = 1_000
TOWERS = 100

Step = Callable[[], Any]


def session_run(tf: Any) -> Step:
    x, y, session = _increment(tf)
    return lambda: session.run(y, {x: 1.0})


def callable_run(tf: Any) -> Step:
    x, y, session = _increment(tf)
    function = session.make_callable(y, [x])
    return lambda: function(1.0)


def _increment(tf: Any) -> tuple[Any, Any, Any]:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        return x, x + 1.0, tf.Session(graph=graph)


def null_ops(tf: Any) -> Step:
    """Builds layers of NoOps, each of which depends on two of the previous layer.

    Graph optimizers are off: they would remove the operations, and nothing would be measured.
    """
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default() as graph:
        layer = [tf.no_op() for _ in range(NULL_WIDTH)]
        for _ in range(NULL_OPERATIONS // NULL_WIDTH - 1):
            above, layer = layer, []
            for i in range(NULL_WIDTH):
                with tf.control_dependencies([above[i], above[i - 1]]):
                    layer.append(tf.no_op())
        last = tf.group(*layer)
        session = tf.Session(graph=graph, config=config)
    return lambda: session.run(last)


def chain(tf: Any) -> Step:
    """Adds and multiplies a scalar, each operation on the result of the one before."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = x
        for _ in range(CHAIN // 2):
            y = y * 0.99 + 0.01
        session = tf.Session(graph=graph, config=_config(tf, compiled=True))
    return lambda: session.run(y, {x: 2.0})


def mlp(tf: Any, compiled: bool = False, device: Any = None, target: str = "") -> Step:
    with tf.Graph().as_default() as graph, tf.device(device):
        return classifier(tf, graph, data.mlp_layers(), compiled, target)[0]


def _config(tf: Any, compiled: bool) -> Any:
    config = tf.ConfigProto()
    if compiled and tf.__name__ == "thalweg":  # TensorFlow's executor is measured, not XLA
        config.graph_options.optimizer_options.global_jit_level = 1
    return config


def classifier(
    tf: Any, graph: Any, layers: list[data.Layer], compiled: bool = False, target: str = ""
) -> tuple[Step, Any]:
    """Builds an MLP with the given initial values and returns its training step and session."""
    x = tf.placeholder(tf.float32, [data.MLP_BATCH, data.MLP_SIZES[0]])
    labels = tf.placeholder(tf.int32, [data.MLP_BATCH])
    h = mlp_logits(tf, x, [variables(tf, f"layer{i}", layer) for i, layer in enumerate(layers)])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h))
    train = tf.train.AdamOptimizer(data.MLP_RATE).minimize(loss)
    return _training(tf, graph, loss, train, (x, labels), data.mlp_batch(), compiled, target)


def cnn(
    tf: Any, compiled: bool = False, device: Any = None, target: str = "", reduce: Callable[..., Any] | None = None
) -> Step:
    """Trains the CNN; `reduce` makes of the gradients, a list, those that are applied."""
    with tf.Graph().as_default() as graph, tf.device(device):
        x = tf.placeholder(tf.float32, [data.CNN_BATCH, data.CNN_IMAGE, data.CNN_IMAGE, data.CNN_CHANNELS[0]])
        labels = tf.placeholder(tf.int32, [data.CNN_BATCH])
        logits = cnn_logits(tf, x, cnn_variables(tf))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        optimizer = tf.train.MomentumOptimizer(data.CNN_RATE, data.CNN_MOMENTUM)
        gradients, trained = zip(*optimizer.compute_gradients(loss))
        train = optimizer.apply_gradients(zip(gradients if reduce is None else reduce(gradients), trained))
        return _training(tf, graph, loss, train, (x, labels), data.cnn_batch(), compiled, target)[0]


def mlp_logits(tf: Any, x: Any, layers: list[tuple[Any, Any]]) -> Any:
    for i, (weights, bias) in enumerate(layers):
        x = tf.matmul(x, weights) + bias
        if i < len(layers) - 1:
            x = tf.nn.relu(x)
    return x


def cnn_logits(tf: Any, x: Any, layers: list[tuple[Any, Any]]) -> Any:
    *convolutions, (weights, bias) = layers
    for filters, channel_bias in convolutions:
        x = tf.nn.conv2d(x, filters, strides=[1, 1, 1, 1], padding="SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, channel_bias))
        x = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    return tf.matmul(tf.reshape(x, [data.CNN_BATCH, weights.shape.as_list()[0]]), weights) + bias


def cnn_variables(tf: Any) -> list[tuple[Any, Any]]:
    convolutions, dense = data.cnn_layers()
    layers = [variables(tf, f"conv{i}", layer) for i, layer in enumerate(convolutions)]
    return [*layers, variables(tf, "dense", dense)]


def variables(tf: Any, name: str, layer: data.Layer) -> tuple[Any, Any]:
    weights, bias = layer
    return tf.Variable(weights, name=f"{name}/weights"), tf.Variable(bias, name=f"{name}/bias")


def _training(
    tf: Any,
    graph: Any,
    loss: Any,
    train: Any,
    inputs: tuple[Any, Any],
    batch: tuple[Any, Any],
    compiled: bool,
    target: str,
) -> tuple[Step, Any]:
    session = tf.Session(target, graph, _config(tf, compiled))
    session.run(tf.global_variables_initializer())
    x, labels = inputs
    images, classes = batch
    fetches = [loss, train]
    return lambda: session.run(fetches, {x: images, labels: classes})[0], session


def graph_times(tf: Any, nodes: int) -> dict[str, float]:
    """Times building, differentiating and first running `nodes` forward nodes in towers of mixed operations."""
    with tf.Graph().as_default() as graph:
        start = time.perf_counter()
        x, w, loss = towers(tf, nodes)
        built = time.perf_counter()
        gradients = tf.gradients(loss, [x, w])
        differentiated = time.perf_counter()
        session = tf.Session(graph=graph)
        values = session.run([loss, *gradients], {x: np.full((4, 4), 0.5, np.float32)})
        ran = time.perf_counter()
    if not all(np.isfinite(value).all() for value in values):
        raise ValueError("the towers gave values that are not finite")
    return {"build": built - start, "gradients": differentiated - built, "first_run": ran - differentiated}


def towers(tf: Any, nodes: int) -> tuple[Any, Any, Any]:
    """Builds towers that differ in their first node, so that no two of them can be merged."""
    x = tf.placeholder(tf.float32, [4, 4])
    w = tf.constant(np.linalg.qr(np.arange(16.0).reshape(4, 4) + np.eye(4))[0].astype(np.float32))
    a, b = tf.constant(0.1), tf.constant(0.9)
    cycle = (
        lambda h: tf.matmul(h, w),
        lambda h: tf.add(h, a),
        tf.tanh,
        lambda h: tf.multiply(h, b),
        lambda h: tf.subtract(h, x),
        tf.sigmoid,
        lambda h: tf.maximum(h, a),
        tf.negative,
    )
    tops = []
    for tower in range(TOWERS):
        h = tf.multiply(x, 0.5 + tower / TOWERS)
        for i in range(nodes // TOWERS - 2):
            h = cycle[i % len(cycle)](h)
        tops.append(tf.reduce_sum(h))
    return x, w, tf.add_n(tops)


PROGRAMS: dict[str, Callable[[Any], Step]] = {
    "session_run": session_run,
    "callable": callable_run,
    "null_ops": null_ops,
    "mlp": mlp,
    "mlp_compiled": lambda tf: mlp(tf, compiled=True),
    "cnn_compiled": lambda tf: cnn(tf, compiled=True),
    "chain": chain,
    "cnn": cnn,
}

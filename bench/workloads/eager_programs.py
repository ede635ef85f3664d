"""Eager programs: one source text, run by TensorFlow (`tensorflow.compat.v1`) and by Thalweg."""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Callable
from typing import Any

from workloads import data, graph_programs
from workloads.eager_cases import CASES, TAPED, Case, M, X, Y, repeat

Step = Callable[[], Any]
WARM_SECONDS = 20.0  # enough for a step to be compiled in the background, if Inductor has cached it


def _names(tf: Any, case: Case) -> dict[str, Any]:
    function = operator.attrgetter(case.tensorflow)(tf) if case.tensorflow else None
    return {"f": function, "y": tf.constant(Y), "m": tf.constant(M), "d": tf.float64}


def operation(case: Case, tf: Any) -> Step:
    x, calls = tf.constant(X), repeat(case.statement, _names(tf, case), data.EAGER_CALLS)
    return lambda: calls(x).numpy().sum()


def taped(case: Case, tf: Any) -> Step:
    x, calls = tf.constant(X), repeat(case.statement, _names(tf, case), data.EAGER_CALLS, "x")

    def step() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = calls(x)
        return z.numpy().sum()

    return step


def gradient(tf: Any) -> Step:
    x, y = tf.constant(X), tf.constant(Y)

    def step() -> Any:
        for _ in range(data.EAGER_CALLS):
            with tf.GradientTape() as tape:
                tape.watch(x)
                z = tf.multiply(x, y)
            found = tape.gradient(z, x)
        return found.numpy().sum()

    return step


def function_add(tf: Any) -> Step:
    traced = tf.function(lambda x, y: x + y)
    x, calls = tf.constant(X), repeat("f(x, y)", {"f": traced, "y": tf.constant(Y)}, data.EAGER_CALLS)
    return lambda: calls(x).numpy().sum()


def mlp(tf: Any, traced: bool = False) -> Step:
    layers = [graph_programs.variables(tf, f"layer{i}", layer) for i, layer in enumerate(data.mlp_layers())]
    optimizer = tf.train.AdamOptimizer(data.MLP_RATE)
    logits_of = functools.partial(graph_programs.mlp_logits, tf, layers=layers)
    return _training(tf, logits_of, [v for layer in layers for v in layer], optimizer, data.mlp_batch(), traced)


def cnn(tf: Any, traced: bool = False) -> Step:
    layers = graph_programs.cnn_variables(tf)
    optimizer = tf.train.MomentumOptimizer(data.CNN_RATE, data.CNN_MOMENTUM)
    logits_of = functools.partial(graph_programs.cnn_logits, tf, layers=layers)
    return _training(tf, logits_of, [v for layer in layers for v in layer], optimizer, data.cnn_batch(), traced)


def _training(
    tf: Any,
    logits_of: Callable[[Any], Any],
    variables: list[Any],
    optimizer: Any,
    batch: tuple[Any, Any],
    traced: bool,
) -> Step:
    def train(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = logits_of(x)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    if traced:
        train = tf.function(train)
    images, classes = batch
    return lambda: train(tf.convert_to_tensor(images), tf.convert_to_tensor(classes)).numpy()


def _warm(build: Callable[[Any], Step], tf: Any) -> Step:
    """Returns a step that has been compiled in the background; it returns no loss, since it is not a new one."""
    step = build(tf)
    end = time.perf_counter() + WARM_SECONDS
    while tf.__name__ == "thalweg" and time.perf_counter() < end:
        step()

    def run() -> None:
        step()

    return run


PROGRAMS: dict[str, Callable[[Any], Step]] = {
    **{name: functools.partial(operation, case) for name, case in CASES.items()},
    **{name: functools.partial(taped, case) for name, case in TAPED.items()},
    "gradient": gradient,
    "function_add": function_add,
    "mlp": mlp,
    "cnn": cnn,
    "mlp_function": functools.partial(_warm, functools.partial(mlp, traced=True)),
    "cnn_function": functools.partial(_warm, functools.partial(cnn, traced=True)),
}
REFERENCES: dict[str, Callable[[Any], Step]] = {
    "mlp_function": functools.partial(_warm, graph_programs.mlp),
    "cnn_function": functools.partial(_warm, graph_programs.cnn),
}

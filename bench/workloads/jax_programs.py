"""The same steps in JAX: one jitted function per step, parameters and slots donated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from workloads import data

Step = Callable[[], Any]


def session_run() -> Step:
    increment = jax.jit(lambda x: x + 1.0)
    return lambda: float(increment(1.0))


def mlp() -> Step:
    def loss_of(layers: Any, x: Any, labels: Any) -> Any:
        *hidden, (weights, bias) = layers
        for w, b in hidden:
            x = jax.nn.relu(x @ w + b)
        return _cross_entropy(x @ weights + bias, labels)

    def update(state: Any, x: Any, labels: Any) -> Any:
        layers, first, second, step = state
        loss, gradients = jax.value_and_grad(loss_of)(layers, x, labels)
        step = step + 1
        rate = data.MLP_RATE * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        first = jax.tree.map(lambda m, g: m + 0.1 * (g - m), first, gradients)
        second = jax.tree.map(lambda v, g: v + 0.001 * (g * g - v), second, gradients)
        layers = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), layers, first, second)
        return (layers, first, second, step), loss

    layers = jax.tree.map(jnp.asarray, data.mlp_layers())
    state = (layers, jax.tree.map(jnp.zeros_like, layers), jax.tree.map(jnp.zeros_like, layers), jnp.float32(0))
    return _training(update, state, data.mlp_batch())


def cnn() -> Step:
    def loss_of(layers: Any, x: Any, labels: Any) -> Any:
        convolutions, (weights, bias) = layers
        for w, b in convolutions:
            x = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + b)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        return _cross_entropy(x.reshape(x.shape[0], -1) @ weights + bias, labels)

    def update(state: Any, x: Any, labels: Any) -> Any:
        layers, momenta = state
        loss, gradients = jax.value_and_grad(loss_of)(layers, x, labels)
        momenta = jax.tree.map(lambda m, g: data.CNN_MOMENTUM * m + g, momenta, gradients)
        return (jax.tree.map(lambda p, m: p - data.CNN_RATE * m, layers, momenta), momenta), loss

    layers = jax.tree.map(jnp.asarray, data.cnn_layers())
    return _training(update, (layers, jax.tree.map(jnp.zeros_like, layers)), data.cnn_batch())


def lstm() -> Step:
    def loss_of(layer: Any, x: Any, target: Any) -> Any:
        weights, bias = layer

        def cell(state: Any, x: Any) -> Any:
            c, h = state
            i, j, f, o = jnp.split(jnp.concatenate([x, h], 1) @ weights + bias, 4, 1)
            c = c * jax.nn.sigmoid(f) + jax.nn.sigmoid(i) * jnp.tanh(j)
            return (c, jnp.tanh(c) * jax.nn.sigmoid(o)), None

        zeros = jnp.zeros_like(target)
        (_, h), _ = jax.lax.scan(cell, (zeros, zeros), x)
        return jnp.mean(jnp.square(h - target))

    def update(layer: Any, x: Any, target: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(layer, x, target)
        return jax.tree.map(lambda p, g: p - data.LSTM_RATE * g, layer, gradients), loss

    return _training(update, jax.tree.map(jnp.asarray, data.lstm_weights()), data.lstm_batch(data.LSTM_STEPS))


def _cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def _training(update: Callable[..., Any], state: Any, batch: tuple[Any, Any]) -> Step:
    jitted = jax.jit(update, donate_argnums=0)

    def step() -> float:
        nonlocal state
        state, loss = jitted(state, *batch)
        jax.block_until_ready(state)
        return float(loss)

    return step


PROGRAMS: dict[str, Callable[[], Step]] = {
    "session_run": session_run,
    "mlp": mlp,
    "mlp_compiled": mlp,
    "cnn": cnn,
    "cnn_compiled": cnn,
    "lstm": lstm,
    "lstm_compiled": lstm,
}

"""The networks in JAX: one jitted step on NHWC images, its state donated; bfloat16 by casting what float32 keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from workloads import convnets
from workloads.convnets import Average, Branches, Conv, Layer, Network, Pool, Training

VERSION = jax.__version__
_ORDER = ("NHWC", "HWIO", "NHWC")


def start(device: str) -> str:
    """Initializes the device, whose float32 products are TF32 by default, and returns its name."""
    jax.config.update("jax_platforms", "cuda" if device == "gpu" else device)
    jnp.ones(8).sum().block_until_ready()
    return str(jax.devices()[0].device_kind)


def train(network: Network, precision: str, device: str, variant: str) -> Training:
    """Builds a network with its momenta on the device."""
    dtype = jnp.bfloat16 if precision == "bf16" else jnp.float32

    def loss_of(values: Any, images: Any, labels: Any) -> Any:
        values = jax.tree.map(lambda value: value.astype(dtype), values)
        logits = _applied(network.layers, iter(values), images.astype(dtype)).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def update(state: Any, images: Any, labels: Any) -> Any:
        values, momenta = state
        loss, gradients = jax.value_and_grad(loss_of)(values, images, labels)
        momenta = jax.tree.map(lambda m, g: convnets.MOMENTUM * m + g, momenta, gradients)
        return (jax.tree.map(lambda v, m: v - convnets.RATE * m, values, momenta), momenta), loss

    images, labels = map(jax.device_put, convnets.batch(network))
    values = jax.tree.map(jax.device_put, convnets.first_values(network))
    state = jax.block_until_ready((values, jax.tree.map(jnp.zeros_like, values)))
    last: Any = None
    jitted = jax.jit(update, donate_argnums=0)

    def step() -> None:
        nonlocal state, last
        state, last = jitted(state, images, labels)

    return Training(step, lambda: jax.block_until_ready(state), lambda: float(last))


def _applied(layers: tuple[Layer, ...], values: Iterator[Any], x: Any) -> Any:
    for layer in layers:
        if isinstance(layer, Conv):
            weights, bias = next(values)
            strides, pads = (layer.stride,) * 2, ((layer.pad, layer.pad),) * 2
            x = jax.lax.conv_general_dilated(x, weights, strides, pads, dimension_numbers=_ORDER)
            x = jax.nn.relu(x + bias)
        elif isinstance(layer, Pool):
            window, strides = (1, layer.size, layer.size, 1), (1, layer.stride, layer.stride, 1)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, "SAME" if layer.same else "VALID")
        elif isinstance(layer, Average):
            x = x.mean((1, 2))
        elif isinstance(layer, Branches):
            x = jnp.concatenate([_applied(chain, values, x) for chain in layer.chains], 3)
        else:
            weights, bias = next(values)
            x = x.reshape(x.shape[0], -1) @ weights + bias
            x = x if layer.last else jax.nn.relu(x)
    return x

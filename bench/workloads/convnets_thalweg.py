"""The networks as a TensorFlow 1 program: images are a variable on the device, and a step fetches nothing.

The step also stores its loss in a variable. Otherwise the graph would compute only gradients, less than the other
systems. bfloat16 is casts in the graph; variables and their momenta stay float32.
"""

from __future__ import annotations

from typing import Any

import torch

import thalweg as tf
from workloads import convnets
from workloads.convnets import Average, Branches, Conv, Layer, Network, Pool, Training

VERSION = tf.__version__


def start(device: str) -> str:
    """Initializes the device and returns its name; sessions allow TF32 by default."""
    if device == "gpu":
        torch.ones(8, device="cuda").sum().item()
        return torch.cuda.get_device_name(0)
    return "CPU"


def train(network: Network, precision: str, device: str, variant: str) -> Training:
    """Builds the graph and a session with its variables on the device; compiled: with `global_jit_level` on."""
    config = tf.ConfigProto()
    if variant.startswith("compiled"):
        config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    with tf.Graph().as_default() as graph, tf.device(f"/{device}:0"):
        builder = Builder(network, precision, "NCHW" if variant.endswith("nchw") else "NHWC")
        loss = builder.loss()
        trained = tf.train.MomentumOptimizer(convnets.RATE, convnets.MOMENTUM).minimize(loss)
        last = tf.Variable(0.0, trainable=False, name="last_loss")
        whole = tf.group(trained, last.assign(loss, read_value=False))
        initializer = tf.global_variables_initializer()
    session = tf.Session(graph=graph, config=config)
    session.run(initializer)

    def step() -> None:
        session.run(whole)

    wait = torch.cuda.synchronize if device == "gpu" else _nothing
    wait()
    return Training(step, wait, lambda: float(session.run(last)), lambda: session.show_program(whole))


def _nothing() -> None:
    pass


class Builder:
    """Builds the operations of a network in one layout and precision."""

    def __init__(self, network: Network, precision: str, layout: str) -> None:
        self._network = network
        self._dtype = tf.bfloat16 if precision == "bf16" else tf.float32
        self._layout = layout
        self._first = layout == "NCHW"
        self._values = iter(convnets.first_values(network))

    def loss(self) -> Any:
        images, labels = convnets.batch(self._network)
        if self._first:
            images = images.transpose(0, 3, 1, 2)
        x = self._cast(tf.Variable(images, trainable=False, name="images"))
        logits = self._applied(self._network.layers, x)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.Variable(labels, trainable=False, name="labels"), logits=tf.cast(logits, tf.float32)
        )
        return tf.reduce_mean(losses)

    def _cast(self, x: Any) -> Any:
        return tf.cast(x, self._dtype)

    def _variables(self, side: int = 1) -> tuple[Any, Any]:
        """Creates the next layer's variables; after NCHW images, with rows in the order of their flattening."""
        weights, bias = next(self._values)
        if self._first and side > 1:
            rows, columns = weights.shape
            weights = weights.reshape(side * side, rows // side**2, columns).swapaxes(0, 1).reshape(rows, columns)
        return self._cast(tf.Variable(weights, name="weights")), self._cast(tf.Variable(bias, name="bias"))

    def _spatial(self, size: int) -> list[int]:
        return [1, 1, size, size] if self._first else [1, size, size, 1]

    def _padding(self, layer: Conv) -> Any:
        if layer.pad == 0:
            return "VALID"
        if layer.stride == 1 and layer.size == 2 * layer.pad + 1:
            return "SAME"
        around, none = [layer.pad, layer.pad], [0, 0]
        return [none, none, around, around] if self._first else [none, around, around, none]

    def _applied(self, layers: tuple[Layer, ...], x: Any) -> Any:
        for layer in layers:
            if isinstance(layer, Conv):
                x = self._convolved(layer, x)
            elif isinstance(layer, Pool):
                window, strides = self._spatial(layer.size), self._spatial(layer.stride)
                x = tf.nn.max_pool(x, window, strides, "SAME" if layer.same else "VALID", data_format=self._layout)
            elif isinstance(layer, Average):
                window = self._spatial(int(x.shape[2]))
                x = tf.nn.avg_pool(x, window, self._spatial(1), "VALID", data_format=self._layout)
            elif isinstance(layer, Branches):
                x = tf.concat([self._applied(chain, x) for chain in layer.chains], 1 if self._first else 3)
            else:
                x = self._dense(layer.last, x)
        return x

    def _convolved(self, layer: Conv, x: Any) -> Any:
        with tf.name_scope("conv"):
            weights, bias = self._variables()
            strides, padding = self._spatial(layer.stride), self._padding(layer)
            x = tf.nn.conv2d(x, weights, strides=strides, padding=padding, data_format=self._layout)
            return tf.nn.relu(tf.nn.bias_add(x, bias, data_format=self._layout))

    def _dense(self, last: bool, x: Any) -> Any:
        with tf.name_scope("dense"):
            side = 1
            if x.shape.ndims == 4:
                side = int(x.shape[2])
                x = tf.reshape(x, [self._network.batch, -1])
            weights, bias = self._variables(side)
            x = tf.nn.bias_add(tf.matmul(x, weights), bias)
            return x if last else tf.nn.relu(x)

"""The models that are served: MLPs and ResNet-18, as SavedModels, and the same layers in torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SHAPES = {"mlp": (784,), "wide": (784,), "resnet": (224, 224, 3)}
_WIDTH = 5000  # of the two layers of 100 MB of the wide MLP
_STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


def save(name: str, folder: Path) -> None:
    """Saves a model with random weights, whose input is named x."""
    import thalweg as tf

    def convolution(x: Any, channels: int, size: int, stride: int) -> Any:
        x = tf.layers.conv2d(x, channels, size, stride, "same", use_bias=False)
        return tf.layers.batch_normalization(x)

    def block(x: Any, channels: int, stride: int) -> Any:
        y = tf.nn.relu(convolution(x, channels, 3, stride))
        y = convolution(y, channels, 3, 1)
        if stride > 1:
            x = convolution(x, channels, 1, stride)
        return tf.nn.relu(x + y)

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, *SHAPES[name]], name="x")
        if name == "mlp":
            y = tf.layers.dense(x, 256, tf.nn.relu)
            y = tf.layers.dense(y, 256, tf.nn.relu)
            y = tf.layers.dense(y, 10)
        elif name == "wide":
            y = tf.layers.dense(x, _WIDTH, tf.nn.relu)
            y = tf.layers.dense(y, _WIDTH, tf.nn.relu)
            y = tf.layers.dense(tf.layers.dense(y, _WIDTH, tf.nn.relu), 10)
        else:
            y = tf.nn.relu(convolution(x, 64, 7, 2))
            y = tf.nn.max_pool(y, 3, 2, "SAME")
            for channels, stride in _STAGES:
                y = block(block(y, channels, stride), channels, 1)
            y = tf.layers.dense(tf.reduce_mean(y, [1, 2]), 1000)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": tf.nn.softmax(y)})


def torch_model(name: str) -> Any:
    """Returns the same layers as a module of torch; images have their channels last, as in the others."""
    from torch import nn

    if name == "mlp":
        layers = [nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10), nn.Softmax(1)]
        return nn.Sequential(*layers).eval()

    def convolution(before: int, channels: int, size: int, stride: int) -> Any:
        layer = nn.Conv2d(before, channels, size, stride, size // 2, bias=False)
        return nn.Sequential(layer, nn.BatchNorm2d(channels))

    class Block(nn.Module):
        def __init__(self, before: int, channels: int, stride: int) -> None:
            super().__init__()
            self.first = convolution(before, channels, 3, stride)
            self.second = convolution(channels, channels, 3, 1)
            self.short = nn.Identity() if stride == 1 else convolution(before, channels, 1, stride)

        def forward(self, x: Any) -> Any:
            return (self.short(x) + self.second(self.first(x).relu())).relu()

    class ChannelsFirst(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.permute(0, 3, 1, 2)

    layers, before = [ChannelsFirst(), convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for channels, stride in _STAGES:
        layers += [Block(before, channels, stride), Block(channels, channels, 1)]
        before = channels
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000), nn.Softmax(1)]
    return nn.Sequential(*layers).eval()

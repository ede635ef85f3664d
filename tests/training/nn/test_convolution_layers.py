"""Convolution and pooling layers: values against torch, static shapes, both data formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import thalweg as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def values(*shape: int) -> Any:
    return np.random.RandomState(len(shape)).standard_normal(shape).astype(np.float32)


def first(array: Any) -> Any:
    return np.moveaxis(array, -1, 1)


def run(layer: Any, x: Any, known: Any = None) -> tuple[Any, list[Any]]:
    """Runs a layer with random weights; returns the outputs, whose static and computed shapes must fit, and these."""
    feed = tf.placeholder(tf.float32, known or x.shape)
    y = layer(feed)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for weight in layer.weights:
            weight.load(values(*weight.shape.as_list()), session)
        result, weights = session.run([y, layer.weights], {feed: x})
    assert y.shape.is_compatible_with(result.shape)
    assert layer.compute_output_shape(x.shape).as_list() == list(result.shape)
    assert layer.compute_output_shape(feed.shape).as_list() == y.shape.as_list()
    return result, weights


FORMATS = pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])


@FORMATS
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(("strides", "rate"), [(1, 1), (2, 1), (1, 2)])
def test_convolutions(rank: int, strides: int, rate: int, data_format: str) -> None:
    x = values(2, *(9, 8, 7)[:rank], 3)
    kind = (tf.layers.Conv1D, tf.layers.Conv2D, tf.layers.Conv3D)[rank - 1]
    layer = kind(4, (3, 2, 1)[:rank], strides, data_format=data_format, dilation_rate=rate, activation=tf.nn.relu)
    got, (kernel, bias) = run(layer, first(x) if data_format == "channels_first" else x)
    function = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    weight = torch.tensor(np.moveaxis(kernel, [-1, -2], [0, 1]).copy())
    expected = function(torch.tensor(first(x).copy()), weight, torch.tensor(bias), strides, 0, rate).relu().numpy()
    np.testing.assert_allclose(got if data_format == "channels_first" else first(got), expected, 1e-4, 1e-4)
    assert [w.name for w in layer.weights] == [f"conv{rank}d/kernel:0", f"conv{rank}d/bias:0"]


@FORMATS
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("rank", [2, 3])
def test_transposed_convolutions(rank: int, padding: str, data_format: str) -> None:
    x = values(2, *(4, 3, 5)[:rank], 3)
    kind = (tf.layers.Conv2DTranspose, tf.layers.Conv3DTranspose)[rank - 2]
    layer = kind(4, (3, 2, 4)[:rank], 2, padding, data_format)
    x = first(x) if data_format == "channels_first" else x
    got, (kernel, bias) = run(layer, x, [None, *x.shape[1:]])
    function = (F.conv_transpose2d, F.conv_transpose3d)[rank - 2]
    weight = torch.tensor(np.moveaxis(kernel, [-1, -2], [0, 1]).copy())
    source = torch.tensor((x if data_format == "channels_first" else first(x)).copy())
    expected = function(source, weight, torch.tensor(bias), 2).numpy()
    got = got if data_format == "channels_first" else first(got)
    if padding == "same":  # the largest output, cut to twice the input: half of the rest on each side, more behind
        for axis, extent in zip(range(2, rank + 2), (3, 2, 4)):
            cut = max(extent - 2, 0) // 2
            expected = np.take(expected, range(cut, cut + got.shape[axis]), axis)
    np.testing.assert_allclose(got, expected, 1e-4, 1e-4)


@FORMATS
@pytest.mark.parametrize("rank", [1, 2])
def test_separable_convolutions(rank: int, data_format: str) -> None:
    x = values(2, *(9, 8)[:rank], 3)
    kind = (tf.layers.SeparableConv1D, tf.layers.SeparableConv2D)[rank - 1]
    layer = kind(4, (3, 3)[:rank], 2, data_format=data_format, depth_multiplier=2)
    got, (depthwise, pointwise, bias) = run(layer, first(x) if data_format == "channels_first" else x)
    function = (F.conv1d, F.conv2d)[rank - 1]
    each = torch.tensor(np.moveaxis(depthwise, [-2, -1], [0, 1]).reshape(6, 1, *(3, 3)[:rank]).copy())
    mix = torch.tensor(np.moveaxis(pointwise, [-1, -2], [0, 1]).copy())
    middle = function(torch.tensor(first(x).copy()), each, None, 2, groups=3)
    expected = function(middle, mix, torch.tensor(bias)).numpy()
    np.testing.assert_allclose(got if data_format == "channels_first" else first(got), expected, 1e-4, 1e-4)


def test_a_causal_convolution_sees_only_the_past() -> None:
    layer = tf.layers.Conv1D(2, 3, padding="causal", dilation_rate=2)
    x = values(1, 9, 3)
    whole, _ = run(layer, x)
    assert whole.shape == (1, 9, 2)
    x[:, 5:] = 0
    feed = tf.placeholder(tf.float32, x.shape)
    y = layer(feed)
    with tf.Session() as session:
        for weight in layer.weights:
            weight.load(values(*weight.shape.as_list()), session)
        np.testing.assert_allclose(session.run(y, {feed: x})[:, :5], whole[:, :5], 1e-5, 1e-5)


@FORMATS
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pools(rank: int, padding: str, data_format: str) -> None:
    x = values(2, *(8, 6, 4)[:rank], 3)
    for kind, reduce in (("Max", np.max), ("Average", np.mean)):
        layer = getattr(tf.layers, f"{kind}Pooling{rank}D")(2, 2, padding, data_format)
        got, _ = run(layer, first(x) if data_format == "channels_first" else x, None)
        split = [part for size in (8, 6, 4)[:rank] for part in (size // 2, 2)]
        expected = reduce(x.reshape(2, *split, 3), axis=tuple(range(2, 2 * rank + 1, 2)))
        expected = first(expected) if data_format == "channels_first" else expected
        np.testing.assert_allclose(got, expected, 1e-5, 1e-6)


def test_pools_with_other_strides_and_names() -> None:
    x = tf.placeholder(tf.float32, [None, None, 7, 3])
    assert tf.layers.max_pooling2d(x, (3, 2), (2, 1)).shape.as_list() == [None, None, 6, 3]
    assert tf.layers.average_pooling2d(x, 3, 2, "same", name="p").name == "p/AvgPool:0"
    assert tf.layers.MaxPooling2D((2, 3), None)(x).shape.as_list() == [None, None, 2, 3]


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("kernel_size: expected 2 integers", lambda x: tf.layers.conv2d(x, 2, (3, 3, 3))),
        ("padding: expected valid or same", lambda x: tf.layers.conv2d(x, 2, 3, padding="causal")),
        ("data_format: expected", lambda x: tf.layers.conv2d(x, 2, 3, data_format="NHWC")),
        ("dilation_rate > 1", lambda x: tf.layers.conv2d(x, 2, 2, strides=2, dilation_rate=2)),
        ("ndim=5, found ndim=4", lambda x: tf.layers.conv3d(x, 2, 3)),
        ("channel dimension of the inputs", lambda x: tf.layers.conv2d(x, 2, 3, data_format="channels_first")),
        ("pool_size: expected 2", lambda x: tf.layers.max_pooling2d(x, (1, 2, 3), 1)),
    ],
)
def test_errors(text: str, function: Any) -> None:
    with pytest.raises(ValueError, match=text):
        function(tf.placeholder(tf.float32, [2, None, 5, 3]))

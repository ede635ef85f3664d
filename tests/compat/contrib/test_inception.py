"""The Inception networks and OverFeat of slim, by the facts published about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg.contrib import slim
from thalweg.contrib.slim.nets import inception, overfeat


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize(
    ("version", "size", "parameters", "last"),
    [(1, 224, 5607184, [7, 7, 1024]), (2, 224, 10173112, [7, 7, 1024]), (3, 299, 21802784, [8, 8, 2048])],
)
def test_inception_has_the_published_number_of_parameters(
    version: int, size: int, parameters: int, last: list[int]
) -> None:
    images = tf.placeholder(tf.float32, [5, size, size, 3])
    with slim.arg_scope(getattr(inception, f"inception_v{version}_arg_scope")()):
        net, ends = getattr(inception, f"inception_v{version}_base")(images)
    assert net.shape.as_list() == [5, *last] and net is [*ends.values()][-1]
    assert sum(v.shape.num_elements() for v in slim.get_model_variables()) == parameters
    assert {v.name for v in tf.get_collection("moving_vars")} == {
        v.name for v in tf.global_variables() if "/moving_" in v.name
    }


def test_scopes_are_those_of_published_checkpoints() -> None:
    images = tf.placeholder(tf.float32, [None, 299, 299, 3])
    with slim.arg_scope(inception.inception_v3_arg_scope()):
        logits, ends = inception.inception_v3(images, 7, is_training=False)
    with slim.arg_scope(inception.inception_v1_arg_scope()):
        inception.inception_v1_base(images)
    names = {v.op.name for v in tf.global_variables()}
    assert {
        "InceptionV1/Mixed_5b/Branch_2/Conv2d_0a_3x3/weights",
        "InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights",
        "InceptionV3/Mixed_6a/Branch_0/Conv2d_1a_1x1/BatchNorm/beta",
        "InceptionV3/Mixed_7b/Branch_1/Conv2d_0b_3x1/weights",
        "InceptionV3/Mixed_7c/Branch_1/Conv2d_0c_3x1/weights",
        "InceptionV3/AuxLogits/Conv2d_2a_5x5/weights",
        "InceptionV3/Logits/Conv2d_1c_1x1/biases",
    } <= names
    assert logits.op.name == "InceptionV3/Logits/SpatialSqueeze" and logits.shape.as_list() == [None, 7]
    assert ends["AuxLogits"].shape.as_list() == [None, 7] and ends["PreLogits"].shape.as_list() == [None, 1, 1, 2048]


def test_a_thin_network_of_small_images_trains() -> None:
    images = tf.placeholder(tf.float32, [2, 64, 64, 3])
    with slim.arg_scope(inception.inception_v2_arg_scope()):
        logits, ends = inception.inception_v2(images, 3, depth_multiplier=0.05, min_depth=4)
        again, _ = inception.inception_v2(images, 3, False, depth_multiplier=0.05, min_depth=4, reuse=True)
    assert ends["Mixed_4a"].shape.as_list() == [2, 4, 4, 8 + 4 + 16]
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2 * 68
    loss = tf.losses.sparse_softmax_cross_entropy([0, 2], logits)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feed = {images: np.random.default_rng(1).normal(size=[2, 64, 64, 3])}
        session.run(step, feed)
        first, second = session.run([ends["Predictions"], tf.nn.softmax(again)], feed)
        np.testing.assert_allclose(first.sum(1), [1, 1], rtol=1e-5)
        assert not np.allclose(first, second)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_networks_end_at_any_layer(version: int) -> None:
    base = getattr(inception, f"inception_v{version}_base")
    images = tf.placeholder(tf.float32, [1, 96, 96, 3])
    first = {1: "Conv2d_1a_7x7", 2: "Conv2d_1a_7x7", 3: "Conv2d_1a_3x3"}[version]
    net, ends = base(images, first, scope="a")
    assert ends == {first: net}
    net, ends = base(images, "Mixed_5b", scope="b")
    assert [*ends][-1] == "Mixed_5b" and ends["Mixed_5b"] is net
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9z"):
        base(images, "Mixed_9z", scope="c")


def test_depth_multiplier_must_be_positive() -> None:
    with pytest.raises(ValueError, match="depth_multiplier"):
        inception.inception_v3_base(tf.zeros([1, 99, 99, 3]), depth_multiplier=0)


def test_overfeat() -> None:
    with slim.arg_scope(overfeat.overfeat_arg_scope()):
        logits, ends = overfeat.overfeat(tf.placeholder(tf.float32, [5, 231, 231, 3]), 10)
    assert logits.op.name == "overfeat/fc8/squeezed" and logits.shape.as_list() == [5, 10]
    assert ends["overfeat/pool5"].shape.as_list() == [5, 6, 6, 1024]
    assert overfeat.overfeat.default_image_size == 231

"""Losses whose gradient output is unused."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.fusion import fuse


def losses(kind):
    logits = tf.placeholder(tf.float32, [None, 3])
    if kind == "dense":
        labels = tf.placeholder(tf.float32, [None, 3])
        return labels, logits, tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    labels = tf.placeholder(tf.int32, [None])
    return labels, logits, tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def types(step):
    return {node.type for node in step.nodes}


@pytest.mark.parametrize(
    ("kind", "alone"), [("dense", "_SoftmaxCrossEntropyLoss"), ("sparse", "_SparseSoftmaxCrossEntropyLoss")]
)
def test_the_gradient_is_omitted_only_if_it_is_unused(kind, alone):
    labels, logits, loss = losses(kind)
    forward = step_graph([labels, logits], [loss], [])
    fuse(forward)
    assert alone in types(forward)
    (gradient,) = tf.gradients(loss, logits)
    both = step_graph([labels, logits], [loss, gradient], [])
    fuse(both)
    assert alone not in types(both)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_losses_are_unchanged(kind):
    labels, logits, loss = losses(kind)
    (gradient,) = tf.gradients(loss, logits)
    rng = np.random.default_rng(3)
    classes = np.array([2, 0, 1, 1])
    feed = {logits: rng.normal(size=(4, 3)), labels: np.eye(3)[classes] if kind == "dense" else classes}
    with tf.Session() as session:
        alone, (with_gradient, value) = session.run(loss, feed), session.run([loss, gradient], feed)
    shifted = np.exp(feed[logits] - feed[logits].max(1, keepdims=True))
    chances = shifted / shifted.sum(1, keepdims=True)
    np.testing.assert_allclose(alone, -np.log(chances[range(4), classes]), rtol=1e-5)
    np.testing.assert_allclose(with_gradient, alone, rtol=1e-6)
    np.testing.assert_allclose(value, chances - np.eye(3)[classes], rtol=1e-5, atol=1e-6)


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_label_out_of_range():
    labels, logits, loss = losses("sparse")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="label value of 3"):
        session.run(loss, {labels: [0, 3], logits: np.zeros((2, 3))})

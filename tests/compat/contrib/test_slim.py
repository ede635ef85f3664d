"""tf.contrib.slim, losses, metrics, training and the networks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import thalweg as tf
import thalweg.contrib.slim as slim  # noqa: PLR0402
from tests import children
from thalweg.contrib import losses, metrics, rnn, training
from thalweg.contrib.slim.nets import alexnet, resnet_v1, resnet_v2, vgg


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(2)
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feeds)


def test_modules_are_loaded_once_and_lazily() -> None:
    assert tf.contrib.slim is slim
    assert tf.contrib.rnn is rnn
    assert slim.conv2d is tf.contrib.layers.conv2d
    assert slim.arg_scope is tf.contrib.framework.arg_scope
    assert rnn.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
    with pytest.raises(AttributeError, match="nothing_here"):
        tf.contrib.nothing_here
    code = "import thalweg, sys; assert not any('thalweg.contrib' in n or '_src.contrib' in n for n in sys.modules)"
    children.run([sys.executable, "-c", code])


def test_every_module_of_contrib_defines_its_public_names() -> None:
    names = "distributions framework layers lookup losses metrics opt rnn seq2seq slim training util"
    for name in names.split():
        module = getattr(tf.contrib, name)
        assert all(hasattr(module, public) for public in module.__all__)


def test_training_a_classifier() -> None:
    rng = np.random.default_rng(1)
    x, y = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.int64, [None])
    scope = slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        normalizer_fn=slim.batch_norm,
        weights_regularizer=slim.l2_regularizer(1e-4),
    )
    with scope, slim.arg_scope([slim.batch_norm], is_training=True, decay=0.9):
        net = slim.conv2d(x, 4, [3, 3], scope="conv1")
        net = slim.max_pool2d(net, [2, 2], scope="pool1")
        logits = slim.fully_connected(
            slim.flatten(net), 2, activation_fn=None, normalizer_fn=None, biases_initializer=tf.zeros_initializer()
        )
    slim.losses.sparse_softmax_cross_entropy(logits, y)
    total = slim.losses.get_total_loss()
    train = slim.learning.create_train_op(
        total, tf.train.AdamOptimizer(0.02), clip_gradient_norm=5.0, summarize_gradients=True
    )
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP)[-1] is train
    values, updates = slim.metrics.aggregate_metric_map(
        {"accuracy": tf.metrics.accuracy(y, tf.argmax(logits, 1)), "loss": slim.metrics.streaming_mean(total)}
    )
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for _ in range(30):
            labels = rng.integers(0, 2, 32)
            images = rng.normal(size=(32, 8, 8, 1)) + 3 * labels[:, None, None, None] * np.eye(8)[None, :, :, None]
            session.run(train, {x: images, y: labels})
        session.run(list(updates.values()), {x: images, y: labels})
        assert session.run(values["accuracy"]) > 0.9
        assert session.run(slim.get_or_create_global_step()) == 30
        moving = session.run(slim.get_unique_variable("conv1/BatchNorm/moving_variance"))
        assert (moving != 1).all()


def test_losses_take_predictions_first() -> None:
    logits, labels = np.array([[2.0, -1.0], [0.5, 0.3]], np.float32), np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    pairs = [
        (losses.softmax_cross_entropy(logits, labels), tf.losses.softmax_cross_entropy(labels, logits)),
        (losses.sigmoid_cross_entropy(logits, labels), tf.losses.sigmoid_cross_entropy(labels, logits)),
        (
            losses.sparse_softmax_cross_entropy(logits, [[0], [1]]),
            tf.losses.sparse_softmax_cross_entropy([0, 1], logits),
        ),
        (losses.mean_squared_error(logits, labels), tf.losses.mean_squared_error(labels, logits)),
        (losses.absolute_difference(logits, labels, 2.0), tf.losses.absolute_difference(labels, logits, 2.0)),
        (losses.log_loss([[0.5, 0.9]], [[1.0, 0.0]]), tf.losses.log_loss([[1.0, 0.0]], [[0.5, 0.9]])),
        (losses.cosine_distance(logits, labels, axis=1), tf.losses.cosine_distance(labels, logits, axis=1)),
    ]
    assert len(losses.get_losses()) == 14
    for found, wanted in run(pairs):
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(run(losses.hinge_loss(logits, labels)), [[0, 0], [1.5, 0.7]], rtol=1e-6)


def test_metrics_take_predictions_first() -> None:
    guesses, labels = np.array([1, 0, 1, 1]), np.array([1, 1, 1, 0])
    made = {
        "accuracy": metrics.streaming_accuracy(guesses, labels),
        "precision": metrics.streaming_precision(guesses, labels),
        "recall": metrics.streaming_recall(guesses, labels, weights=[1.0, 0.0, 1.0, 1.0]),
        "iou": metrics.streaming_mean_iou(guesses, labels, 2),
        "top": metrics.streaming_recall_at_k(np.array([[0.1, 0.9], [0.8, 0.2]], np.float32), [1, 1], 1),
    }
    values, updates = metrics.aggregate_metric_map(made)
    found = run(updates)
    expected = {"accuracy": 0.5, "precision": 2 / 3, "recall": 1.0, "top": 0.5}
    for name, wanted in expected.items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5)
    assert len(metrics.aggregate_metrics(*made.values())[0]) == 5
    np.testing.assert_allclose(run(metrics.accuracy(guesses, labels)), 0.5)
    np.testing.assert_allclose(run(metrics.accuracy(guesses, labels, weights=[1, 0, 1, 0])), 1.0)
    assert set(values) == set(made)


def test_hparams() -> None:
    params = training.HParams(rate=0.1, layers=3, sizes=[1, 2], name="net", on=False, nothing=None)
    assert params.rate == 0.1
    assert "sizes" in params
    params.parse("rate=1e-3,layers=4,sizes=[5,6,7],on=true,name=other")
    assert params.values() == {
        "rate": 1e-3,
        "layers": 4,
        "sizes": [5, 6, 7],
        "name": "other",
        "on": True,
        "nothing": None,
    }
    params.parse("sizes[1]=9")
    assert params.sizes == [5, 9, 7]
    params.override_from_dict({"layers": 5}).parse_json('{"name": "third"}')
    assert (params.layers, params.name) == (5, "third")
    params.set_hparam("rate", 2)
    assert params.rate == 2.0
    params.del_hparam("on")
    assert "on" not in params
    assert params.get("missing", 7) == 7
    assert params.get("layers") == 5
    assert '"layers": 5' in params.to_json()
    params.add_hparam("extra", 1)
    for text, message in (
        ("missing=1", "Unknown"),
        ("layers=a", "Could not parse"),
        ("layers=1,layers=2", "Multiple"),
        ("=", "Malformed"),
        ("layers=[1]", "Must not pass a list"),
        ("sizes=3", "Must pass a list"),
    ):
        with pytest.raises(ValueError, match=message):
            params.parse(text)
    for name, value in (("layers", 1.5), ("name", 3), ("extra", True)):
        with pytest.raises(ValueError, match="cast"):
            params.set_hparam(name, value)
    with pytest.raises(ValueError, match="reserved"):
        params.add_hparam("layers", 1)


def test_train_op_transforms_gradients() -> None:
    w = tf.get_variable("w", initializer=[3.0, 4.0])
    loss = tf.reduce_sum(tf.square(w))
    clip = training.clip_gradient_norms_fn(1.0)
    train = training.create_train_op(loss, tf.train.GradientDescentOptimizer(1.0), transform_grads_fn=clip)
    scaled = training.multiply_gradients([(tf.ones([2]), w)], {"w": 3.0})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(train) == 25.0
        np.testing.assert_allclose(session.run(w), [2.4, 3.2], rtol=1e-5)
        np.testing.assert_array_equal(session.run(scaled[0][0]), [3.0, 3.0])
    with pytest.raises(ValueError, match="must be a dict"):
        training.multiply_gradients([], {})


# -- networks ---------------------------------------------------------------------------------------------------------


def test_alexnet_and_vgg_have_known_shapes_and_names() -> None:
    images = tf.placeholder(tf.float32, [None, 224, 224, 3])
    with slim.arg_scope(alexnet.alexnet_v2_arg_scope()):
        logits, ends = alexnet.alexnet_v2(images, 7)
    assert logits.shape.as_list() == [None, 7]
    assert ends["alexnet_v2/pool5"].shape.as_list() == [None, 5, 5, 256]
    with slim.arg_scope(vgg.vgg_arg_scope()):
        logits, ends = vgg.vgg_16(images, 7, is_training=False)
        vgg.vgg_a(images, 7)
    assert logits.shape.as_list() == [None, 7]
    assert ends["vgg_16/conv3/conv3_3"].shape.as_list() == [None, 56, 56, 256]
    found = [v.op.name for v in slim.get_model_variables("vgg_16")]
    assert len(found) == 32
    assert found[0] == "vgg_16/conv1/conv1_1/weights"
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 8 + 16 + 11


def test_residual_networks() -> None:
    images = tf.placeholder(tf.float32, [None, 32, 32, 3])
    for module, version in ((resnet_v1, "v1"), (resnet_v2, "v2")):
        block = getattr(module, f"resnet_{version}_block")
        make: Any = getattr(module, f"resnet_{version}")
        blocks = [block("block1", 2, 2, 2), block("block2", 4, 1, 1)]
        with slim.arg_scope(module.resnet_arg_scope()):
            logits, ends = make(images, blocks, 5, scope=version, is_training=True)
            dense, _ = make(images, blocks, None, scope=version, reuse=True, global_pool=False, output_stride=4)
        assert logits.shape.as_list() == [None, 1, 1, 5]
        assert dense.shape.as_list() == [None, 8, 8, 16]
        assert f"{version}/block1/unit_2/bottleneck_{version}" in ends
        assert f"{version}/block1/unit_1/bottleneck_{version}/conv1/BatchNorm/gamma" in [
            v.op.name for v in slim.get_model_variables()
        ]
        assert run(logits, {images: np.ones((2, 32, 32, 3))}).shape == (2, 1, 1, 5)
    with slim.arg_scope(resnet_v1.resnet_arg_scope()):
        logits, _ = resnet_v1.resnet_v1_50(images, 10)
    assert len(slim.get_model_variables("resnet_v1_50")) == 53 * 5 + 2


def test_namespaces_accessible_through_slim():
    assert slim.layers.conv2d is slim.conv2d and slim.regularizers.l2_regularizer is slim.l2_regularizer
    assert slim.initializers.xavier_initializer is slim.xavier_initializer

"""tf.contrib.layers and tf.contrib.framework: names, values, scopes of arguments, collections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

layers = tf.contrib.layers
framework = tf.contrib.framework
RNG = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(2)
        yield graph


def names(variables: Any = None) -> list[str]:
    return [v.op.name for v in (tf.global_variables() if variables is None else variables)]


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


# -- scopes of arguments ----------------------------------------------------------------------------------------------


@framework.add_arg_scope
def combine(a: Any, b: Any = 1, c: Any = 2) -> Any:
    """Gives its arguments back."""
    return a, b, c


def test_arg_scope() -> None:
    assert combine(0) == (0, 1, 2)
    with framework.arg_scope([combine], b=5) as outer:
        assert combine(0) == (0, 5, 2)
        assert combine(0, b=7) == (0, 7, 2)
        with framework.arg_scope([combine], c=6) as inner:
            assert combine(0) == (0, 5, 6)
        with framework.arg_scope({}):
            assert combine(0) == (0, 1, 2)
        assert combine(0) == (0, 5, 2)
    with framework.arg_scope(inner):
        assert combine(0) == (0, 5, 6)
    assert outer != inner
    assert combine(0) == (0, 1, 2)
    assert (combine.__name__, combine.__doc__) == ("combine", "Gives its arguments back.")
    assert framework.has_arg_scope(combine)
    assert framework.arg_scoped_arguments(combine) == ("b", "c")
    assert framework.current_arg_scope() == {}


def test_arg_scope_errors() -> None:
    with pytest.raises(ValueError, match="add_arg_scope"), framework.arg_scope([len], b=1):
        pass
    with pytest.raises(TypeError, match="list/tuple"), framework.arg_scope(combine, b=1):
        pass
    with pytest.raises(ValueError, match="kwargs must be empty"), framework.arg_scope({}, b=1):
        pass


# -- layers -----------------------------------------------------------------------------------------------------------


def test_fully_connected() -> None:
    x = RNG.normal(size=(4, 3)).astype(np.float32)
    y = layers.fully_connected(x, 5)
    z = layers.linear(y, 2, scope="out", weights_regularizer=layers.l2_regularizer(0.5), biases_initializer=None)
    assert names() == ["fully_connected/weights", "fully_connected/biases", "out/weights"]
    assert (y.op.type, y.op.name) == ("Relu", "fully_connected/Relu")
    assert names(tf.model_variables()) == names()
    penalty = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)[0]
    y, z, penalty, w, b, v = run([y, z, penalty, *tf.global_variables()])
    np.testing.assert_allclose(y, np.maximum(x @ w + b, 0), rtol=1e-5)
    np.testing.assert_allclose(z, y @ v, rtol=1e-5)
    np.testing.assert_allclose(penalty, 0.25 * np.square(v).sum(), rtol=1e-5)
    limit = np.sqrt(3.0 / 4.0)
    assert np.abs(w).max() <= limit
    with pytest.raises(ValueError, match="num_outputs"):
        layers.fully_connected(x, "5")


def test_reuse_and_collections() -> None:
    x = tf.ones([2, 3])
    options = {"scope": "a", "variables_collections": {"weights": ["w"]}, "outputs_collections": "outs"}
    first = layers.fully_connected(x, 2, **options)
    second = layers.fully_connected(x, 2, reuse=True, **options)
    assert names() == ["a/weights", "a/biases"]
    assert names(tf.get_collection("w")) == ["a/weights"]
    assert tf.get_collection("outs") == [first, second]
    assert layers.utils.convert_collection_to_dict("outs") == {"a": second}
    with pytest.raises(ValueError, match="already exists"):
        layers.fully_connected(x, 2, scope="a")
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        layers.fully_connected(x, 2, scope="a")
        layers.fully_connected(x, 2, scope="a")
    assert len(names()) == 4
    assert len(tf.model_variables()) == 4


def test_convolutions() -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    y = layers.conv2d(x, 4, [3, 3], stride=2, normalizer_fn=layers.batch_norm)
    y = layers.conv2d_transpose(y, 5, 3, 2)
    y = layers.separable_conv2d(y, 6, 3)
    y = layers.separable_conv2d(y, None, 3, depth_multiplier=2, scope="depthwise")
    y = layers.convolution2d(y, 2, 3, rate=2, activation_fn=None)
    assert y.shape.as_list() == [None, 8, 8, 2]
    assert layers.conv1d(tf.ones([1, 5, 2]), 3, 2, padding="VALID").shape.as_list() == [1, 4, 3]
    assert layers.conv3d(tf.ones([1, 5, 5, 5, 2]), 3, 2).shape.as_list() == [1, 5, 5, 5, 3]
    assert names() == [
        "Conv/weights",
        "Conv/BatchNorm/beta",
        "Conv/BatchNorm/moving_mean",
        "Conv/BatchNorm/moving_variance",
        "Conv2d_transpose/weights",
        "Conv2d_transpose/biases",
        "SeparableConv2d/depthwise_weights",
        "SeparableConv2d/pointwise_weights",
        "SeparableConv2d/biases",
        "depthwise/depthwise_weights",
        "depthwise/biases",
        "Conv_1/weights",
        "Conv_1/biases",
        "Conv_2/weights",
        "Conv_2/biases",
        "Conv_3/weights",
        "Conv_3/biases",
    ]
    assert run(y, {x: np.ones((2, 8, 8, 3))}).shape == (2, 8, 8, 2)
    with pytest.raises(ValueError, match="rank"):
        layers.conv2d(tf.ones([2, 3]), 4, 3)
    with pytest.raises(ValueError, match="data_format"):
        layers.conv2d(x, 4, 3, data_format="HWC")


def test_pools_flatten_dropout_and_labels() -> None:
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    training = tf.placeholder(tf.bool, [])
    pooled = layers.max_pool2d(x, 2)
    mean = layers.avg_pool2d(x, [3, 3], 3, scope="mean")
    general = layers.pool(x, [2, 2], "MAX", stride=2)
    flat = layers.flatten(pooled)
    dropped = layers.dropout(flat, 0.5, is_training=training)
    assert (pooled.name, mean.name) == ("MaxPool2D/MaxPool:0", "mean/AvgPool:0")
    assert flat.shape.as_list() == [None, 18]
    value = RNG.normal(size=(2, 6, 6, 2)).astype(np.float32)
    with tf.Session() as session:
        kept, plain, a, b = session.run([dropped, flat, pooled, general], {x: value, training: False})
        zeros = session.run(dropped, {x: value, training: True})
    np.testing.assert_array_equal(kept, plain)
    np.testing.assert_array_equal(a, b)
    assert 0 < np.mean(zeros == 0) < 1
    np.testing.assert_array_equal(run(layers.one_hot_encoding([1, 0], 3)), [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(run(layers.unit_norm([[3.0, 4.0]], 1)), [[0.6, 0.8]], rtol=1e-5)
    assert layers.softmax(tf.ones([2, 3])).shape.as_list() == [2, 3]


def test_repeat_and_stack() -> None:
    x = tf.ones([1, 4, 4, 2])
    y = layers.repeat(x, 2, layers.conv2d, 3, 3, scope="c")
    layers.repeat(y, 1, layers.conv2d, 3, 3)
    z = layers.stack(layers.flatten(y), layers.fully_connected, [4, 5])
    layers.stack(x, layers.conv2d, [[2, 1], [3, 3]], scope="core")
    assert z.shape.as_list() == [1, 5]
    assert names()[::2] == [
        "c/c_1/weights",
        "c/c_2/weights",
        "Repeat/convolution2d_1/weights",
        "Stack/fully_connected_1/weights",
        "Stack/fully_connected_2/weights",
        "core/core_1/weights",
        "core/core_2/weights",
    ]


@pytest.mark.parametrize("unique", [False, True])
def test_embedded_sequences(unique: bool) -> None:
    ids = np.array([[1, 2], [2, 0]])
    y = layers.embed_sequence(ids, 4, 3, unique=unique, scope="e")
    again = layers.embed_sequence(ids, 4, 3, scope="e", reuse=True)
    assert y.shape.as_list() == [2, 2, 3]
    y, again, table = run([y, again, tf.global_variables()[0]])
    np.testing.assert_array_equal(y, table[ids])
    np.testing.assert_array_equal(y, again)
    assert names() == ["e/embeddings"]


# -- normalization ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 3), (4, 5, 6, 3), (5, 4, 3)])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("fed", [False, True])
def test_batch_norm(shape: Any, in_place: bool, fed: bool) -> None:
    value = RNG.normal(2.0, 3.0, size=shape).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, *shape[1:]])
    training = tf.placeholder(tf.bool, []) if fed else True
    collection = None if in_place else tf.GraphKeys.UPDATE_OPS
    options = {"decay": 0.8, "scale": True, "scope": "bn", "updates_collections": collection}
    y = layers.batch_norm(x, is_training=training, **options)
    later = layers.batch_norm(x, is_training=False, reuse=True, **options)
    assert sorted(names()) == ["bn/beta", "bn/gamma", "bn/moving_mean", "bn/moving_variance"]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == (0 if in_place else 2)
    axes = tuple(range(len(shape) - 1))
    mean, variance = value.mean(axes), value.var(axes)
    count = value.size // 3
    kept = variance * count / (count - 1) if len(shape) != 3 else variance
    feeds: Any = {x: value}
    by_name = {v.op.name[3:]: v for v in tf.global_variables()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        if fed:
            plain = session.run([y, *updates], {**feeds, training: False})[0]
            np.testing.assert_allclose(plain, value / np.sqrt(1.001), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(session.run(by_name["moving_mean"]), np.zeros(3))
            feeds[training] = True
        found = session.run([y, *updates], feeds)[0]
        moved = session.run([by_name["moving_mean"], by_name["moving_variance"]])
        after = session.run(later, feeds)
    np.testing.assert_allclose(found, (value - mean) / np.sqrt(variance + 0.001), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moved[0], 0.2 * mean, rtol=1e-4)
    np.testing.assert_allclose(moved[1], 0.8 + 0.2 * kept, rtol=1e-4)
    np.testing.assert_allclose(after, (value - moved[0]) / np.sqrt(moved[1] + 0.001), rtol=1e-4, atol=1e-4)


def test_batch_norm_options() -> None:
    x = tf.constant(RNG.normal(size=(3, 4, 2, 2)).astype(np.float32))
    y = layers.batch_norm(
        x,
        center=False,
        activation_fn=tf.nn.relu,
        data_format="NCHW",
        updates_collections="mine",
        zero_debias_moving_mean=True,
        param_initializers={"moving_variance": tf.constant_initializer(3.0)},
        variables_collections=["bn_vars"],
        outputs_collections="outs",
        trainable=False,
    )
    assert y.op.type == "Relu"
    assert tf.trainable_variables() == []
    assert len(tf.get_collection("mine")) == 2
    assert tf.get_collection("outs") == [y]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        moving_mean, moving_variance = tf.get_collection("bn_vars")
        assert session.run(moving_variance)[0] == 3.0
        _, _, mean = session.run([*tf.get_collection("mine"), tf.reduce_mean(x, [0, 2, 3])])
        np.testing.assert_allclose(session.run(moving_mean), mean, rtol=1e-4)
    weighted = layers.batch_norm(x, batch_weights=[1.0, 0.0, 0.0], scope="w", updates_collections=None)
    first = run([weighted, x])
    expected = first[1][0] - first[1][0].mean((0, 1))
    np.testing.assert_allclose(first[0][0], expected / np.sqrt(first[1][0].var((0, 1)) + 0.001), rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="data_format"):
        layers.batch_norm(x, data_format="HWC")


def test_layer_instance_and_group_norms() -> None:
    value = RNG.normal(size=(2, 5, 3, 4)).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, 5, 3, 4])
    made = [layers.layer_norm(x), layers.instance_norm(x), layers.group_norm(x, 2)]
    turned = tf.transpose(x, [0, 3, 1, 2])
    made.append(tf.transpose(layers.instance_norm(turned, data_format="NCHW"), [0, 2, 3, 1]))
    made.append(tf.transpose(layers.group_norm(turned, 2, channels_axis=-3, reduction_axes=(-2, -1)), [0, 2, 3, 1]))
    assert names()[:6] == [
        "LayerNorm/beta",
        "LayerNorm/gamma",
        "InstanceNorm/beta",
        "InstanceNorm/gamma",
        "GroupNorm/beta",
        "GroupNorm/gamma",
    ]

    def normalized(array: Any, axes: Any, epsilon: float) -> Any:
        return (array - array.mean(axes, keepdims=True)) / np.sqrt(array.var(axes, keepdims=True) + epsilon)

    grouped = normalized(value.reshape(2, 5, 3, 2, 2), (1, 2, 4), 1e-6).reshape(value.shape)
    instance = normalized(value, (1, 2), 1e-6)
    expected = [normalized(value, (1, 2, 3), 1e-12), instance, grouped, instance, grouped]
    for found, wanted in zip(run(made, {x: value}), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="groups"):
        layers.group_norm(x, 3)


def test_initializers() -> None:
    shape = [3, 3, 10, 20]
    draws = [
        (layers.xavier_initializer(), 1.0 / 135),
        (layers.xavier_initializer(uniform=False), 1.0 / 135),
        (layers.variance_scaling_initializer(), 2.0 / 90),
        (layers.variance_scaling_initializer(factor=1.0, mode="FAN_OUT", uniform=True), 1.0 / 180),
    ]
    for value, (_, variance) in zip(run([init(shape) for init, _ in draws]), draws):
        np.testing.assert_allclose(value.var(), variance, rtol=0.15)
    with pytest.raises(TypeError, match="mode"):
        layers.variance_scaling_initializer(mode="FAN")
    assert layers.variance_scaling_initializer()([2, 2], dtype=tf.float64).dtype == tf.float64


# -- training ---------------------------------------------------------------------------------------------------------


def test_optimize_loss() -> None:
    w = tf.get_variable("w", initializer=[3.0, 4.0])
    step = tf.train.get_or_create_global_step()
    train = layers.optimize_loss(
        tf.reduce_sum(tf.square(w)),
        step,
        0.5,
        "SGD",
        clip_gradients=1.0,
        learning_rate_decay_fn=lambda rate, step: tf.train.exponential_decay(rate, step, 1, 0.5),
        summaries=["loss", "learning_rate", "gradients", "gradient_norm", "global_gradient_norm"],
    )
    assert names() == ["w", "global_step", "OptimizeLoss/learning_rate"]
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 6
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(train) == 25.0
        np.testing.assert_allclose(session.run(w), [3.0 - 0.3, 4.0 - 0.4], rtol=1e-5)
        session.run(train)
        np.testing.assert_allclose(session.run(w), [3.0 - 0.45, 4.0 - 0.6], rtol=1e-5)
        assert session.run(step) == 2


@pytest.mark.parametrize(
    "optimizer",
    ["Adam", tf.train.AdamOptimizer, tf.train.AdamOptimizer(0.1), lambda rate: tf.train.AdamOptimizer(rate)],
)
def test_optimizer_arguments(optimizer: Any) -> None:
    w = tf.get_variable("w", initializer=[3.0, 4.0])
    multipliers = {w: 2.0}
    loss = tf.reduce_sum(tf.square(w))
    train = layers.optimize_loss(
        loss, None, 0.1, optimizer, 0.01, multipliers, lambda pairs: pairs, increment_global_step=False
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(train)
        assert session.run(train) < first


def test_optimize_loss_errors() -> None:
    loss = tf.square(tf.get_variable("w", []))
    for options, text in (
        ((None, None, 0.1, "SGD"), "loss"),
        ((loss, None, "a", "SGD"), "Learning rate"),
        ((loss, None, -0.1, "SGD"), "learning_rate"),
        ((loss, None, 0.1, "Nope"), "Optimizer name"),
        ((loss, None, 0.1, 3), "Optimizer must be"),
    ):
        with tf.variable_scope(None, "mistake"), pytest.raises(ValueError, match=text):
            layers.optimize_loss(*options)


def test_summaries() -> None:
    x = tf.nn.relu(tf.ones([2, 3]), name="r")
    tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, x)
    layers.summarize_activations()
    layers.summarize_tensor(tf.reduce_sum(x))
    layers.summarize_tensors([x])
    assert [s.op.type for s in tf.get_collection(tf.GraphKeys.SUMMARIES)] == [
        "ScalarSummary",
        "HistogramSummary",
        "ScalarSummary",
        "HistogramSummary",
    ]


# -- variables --------------------------------------------------------------------------------------------------------


def test_finding_variables() -> None:
    with tf.variable_scope("a"):
        w = framework.model_variable("w", [2], initializer=tf.zeros_initializer())
        b = framework.variable("b", [2], trainable=False, collections=["extra", tf.GraphKeys.GLOBAL_VARIABLES])
    with tf.variable_scope("c") as c:
        other = framework.variable("w", [2], device="/cpu:0")
    local = framework.local_variable(1.0, name="local")
    assert framework.get_variables() == [w, b, other]
    assert framework.get_variables("a") == [w, b]
    assert framework.get_variables(c) == [other]
    assert framework.get_variables_by_suffix("w") == [w, other]
    assert framework.get_model_variables() == [w]
    assert framework.get_trainable_variables() == [w, other]
    assert framework.get_local_variables() == [local]
    assert framework.get_unique_variable("a/b") is b
    assert framework.get_variables_to_restore(exclude=["a/b"]) == [w, other]
    assert framework.get_variables_to_restore(["a"]) == [w, b]
    assert framework.filter_variables([w, b, other], ["w"], ["c/"]) == [w]
    assert framework.get_variable_full_name(w) == "a/w"
    assert tf.get_collection("extra") == [b]
    assert "CPU:0" in other.device.upper()
    with pytest.raises(ValueError, match="find"):
        framework.get_unique_variable("nope")
    init = framework.assign_from_values_fn({"a/w": [5.0, 6.0]})
    with tf.Session() as session:
        init(session)
        np.testing.assert_array_equal(session.run(w), [5.0, 6.0])


def test_shapes_are_checked() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    y = framework.with_shape([3, 2], x)
    assert y.shape.as_list() == [3, 2]
    assert framework.with_same_shape(tf.zeros([3, 2]), x).shape.as_list() == [3, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape"):
        run(y, {x: np.ones((4, 2))})
    with pytest.raises(ValueError, match="Invalid shape"):
        framework.with_shape([3, 4], x)

"""Layers: names, sharing, what they collect, and layers that users write."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compat.contrib.layers.regularizers import l2_regularizer
from thalweg._src.training.variables.partitioners import fixed_size_partitioner


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def names(variables: Any) -> list[str]:
    return [variable.name for variable in variables]


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_names_of_scopes_variables_and_operations() -> None:
    x = tf.placeholder(tf.float32, [4, 3])
    layer = tf.layers.Dense(5, activation=tf.nn.relu)
    assert (layer(x).name, layer(x).name) == ("dense/Relu:0", "dense/Relu_1:0")
    assert (layer.name, layer.scope_name) == ("dense_1", "dense")
    assert tf.layers.dense(x, 2, use_bias=False).name == "dense_1/MatMul:0"
    with tf.variable_scope("s"):
        assert tf.layers.dense(x, 2).name == "s/dense/BiasAdd:0"
        assert tf.layers.dense(x, 2).name == "s/dense_1/BiasAdd:0"
    assert names(tf.trainable_variables()) == [
        "dense/kernel:0",
        "dense/bias:0",
        "dense_1/kernel:0",
        "s/dense/kernel:0",
        "s/dense/bias:0",
        "s/dense_1/kernel:0",
        "s/dense_1/bias:0",
    ]


def test_reuse_by_name_by_scope_and_automatically() -> None:
    x = tf.placeholder(tf.float32, [4, 3])
    tf.layers.dense(x, 2, name="a")
    assert tf.layers.dense(x, 2, name="a", reuse=True).name == "a_1/BiasAdd:0"
    with pytest.raises(ValueError, match="already exists"):
        tf.layers.dense(x, 2, name="a")
    with pytest.raises(ValueError, match="does not exist"):
        tf.layers.dense(x, 2, name="b", reuse=True)
    for _ in range(2):
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
            tf.layers.dense(x, 2)
            tf.layers.conv1d(tf.ones([1, 4, 3]), 2, 2, name="c")
    assert len(tf.global_variables()) == 6


def test_dense_along_the_last_axis() -> None:
    x = tf.placeholder(tf.float32, [None, None, 3])
    layer = tf.layers.Dense(5, kernel_initializer=tf.ones_initializer(), bias_initializer="ones")
    y = layer(x)
    assert y.shape.as_list() == [None, None, 5]
    np.testing.assert_allclose(run(y, {x: np.ones((2, 4, 3))}), np.full((2, 4, 5), 4.0))
    assert layer.compute_output_shape([2, 4, 3]).as_list() == [2, 4, 5]
    assert (layer.count_params(), layer.dtype) == (20, "float32")


def test_dtype_follows_the_first_input() -> None:
    layer = tf.layers.Dense(2)
    assert layer.dtype is None
    assert layer(np.ones((2, 3))).dtype == tf.float64
    assert layer.dtype == "float64" and layer.kernel.dtype.base_dtype == tf.float64
    with pytest.raises(TypeError, match="floating or complex"):
        tf.layers.dense(tf.ones([2, 3], tf.int32), 2)


@pytest.mark.parametrize(
    ("error", "text", "function"),
    [
        (ValueError, "min_ndim=2, found ndim=1", lambda: tf.layers.dense(tf.ones([3]), 2)),
        (ValueError, "should be defined", lambda: tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 2)),
        (ValueError, "rank is undefined", lambda: tf.layers.dense(tf.placeholder(tf.float32), 2)),
        (ValueError, "Unknown activation", lambda: tf.layers.dense(tf.ones([2, 3]), 2, "nope")),
        (ValueError, "Unknown initializer", lambda: tf.layers.dense(tf.ones([2, 3]), 2, kernel_initializer="nope")),
        (TypeError, "not understood: 'nope'", lambda: tf.layers.Dense(2, nope=1)),
        (TypeError, "nope", lambda: tf.layers.dense(tf.ones([2, 3]), 2, nope=1)),
        (ValueError, "before its first call", lambda: tf.layers.Dense(2).scope_name),
        (ValueError, "before it is built", lambda: tf.layers.Dense(2).count_params()),
        (AttributeError, "has not been called", lambda: tf.layers.Dense(2).output),
    ],
)
def test_errors(error: Any, text: str, function: Any) -> None:
    with pytest.raises(error, match=text):
        function()


def test_a_later_input_of_another_size_is_rejected() -> None:
    layer = tf.layers.Dense(2)
    layer(tf.ones([2, 3]))
    with pytest.raises(ValueError, match="axis -1 of input shape to have value 3"):
        layer(tf.ones([2, 4]))


def test_losses_are_collected_once() -> None:
    x = tf.placeholder(tf.float32, [4, 3])
    layer = tf.layers.Dense(
        2, kernel_regularizer=l2_regularizer(0.5), activity_regularizer=tf.nn.l2_loss, kernel_initializer="ones"
    )
    layer(x)
    kernel, activity = layer.losses
    assert kernel.name == "dense/kernel/Regularizer/l2_regularizer:0"
    assert activity.name == "dense/ActivityRegularizer/truediv:0"
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == [kernel, activity]
    assert (layer.get_losses_for(None), layer.get_losses_for(x)) == ([kernel], [activity])
    assert run([kernel, activity], {x: np.ones((4, 3))}) == [1.5, 9.0]
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        tf.layers.dense(x, 2, kernel_regularizer=l2_regularizer(0.5), name="dense")
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 2


def test_scope_defaults_apply_to_variables() -> None:
    with tf.variable_scope(
        "s",
        initializer=tf.ones_initializer(),
        regularizer=l2_regularizer(0.1),
        partitioner=fixed_size_partitioner(2),
    ):
        layer = tf.layers.Dense(4)
        layer(tf.ones([2, 3]))
        normalization = tf.layers.BatchNormalization()
        normalization(tf.ones([2, 4]), training=True)
    assert names(layer.weights) == [
        "s/dense/kernel/part_0:0",
        "s/dense/kernel/part_1:0",
        "s/dense/bias/part_0:0",
        "s/dense/bias/part_1:0",
    ]
    assert names(normalization.non_trainable_weights) == [
        "s/batch_normalization/moving_mean:0",
        "s/batch_normalization/moving_variance:0",
    ]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 10
    np.testing.assert_array_equal(run(tf.convert_to_tensor(layer.kernel)), np.ones((3, 4)))


def test_constraint_and_trainable() -> None:
    x = tf.ones([2, 3])
    layer = tf.layers.Dense(1, kernel_constraint=lambda v: tf.clip_by_value(v, 0.5, 1.0), kernel_initializer="ones")
    step = tf.train.GradientDescentOptimizer(10.0).minimize(tf.reduce_sum(layer(x)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_array_equal(session.run(layer.kernel), np.full((3, 1), 0.5))
    layer.trainable = False
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 2
    frozen = tf.layers.Dense(2, trainable=False)
    frozen(x)
    assert frozen.trainable_variables == [] and frozen.kernel not in tf.trainable_variables()


class Scale(tf.layers.Layer):
    """A layer as programs write them."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_variable(
            "kernel", shape=[input_shape[-1], self.units], initializer=tf.ones_initializer()
        )
        self.count = self.add_weight("count", shape=(), initializer=tf.zeros_initializer(), trainable=False)
        super().build(input_shape)

    def call(self, inputs: Any, factor: float = 1.0) -> Any:
        self.add_update(self.count.assign_add(1.0), inputs=inputs)
        return tf.matmul(inputs, self.kernel) * factor

    def compute_output_shape(self, input_shape: Any) -> Any:
        return tf.TensorShape([input_shape[0], self.units])


def test_a_custom_layer() -> None:
    layer = Scale(2, name="mine")
    x = tf.placeholder(tf.float32, [4, 3])
    y = layer(x, factor=2.0)
    assert y.name == "mine/mul:0"
    assert (names(layer.trainable_weights), names(layer.non_trainable_weights)) == (["mine/kernel:0"], ["mine/count:0"])
    assert (layer.input, layer.output, layer.input_shape, layer.output_shape) == (x, y, (4, 3), (4, 2))
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == layer.updates == layer.get_updates_for(None)
    np.testing.assert_array_equal(run(y, {x: np.ones((4, 3))}), np.full((4, 2), 6.0))
    layer.apply(x)
    assert layer.get_output_shape_at(1) == (4, 2)
    with pytest.raises(AttributeError, match="more than once"):
        _ = layer.output


def test_layers_without_a_constructor_with_scope_and_with_several_inputs() -> None:
    class Sum(tf.layers.Layer):
        def __init__(self) -> None:
            pass

        def call(self, inputs: Any, scope: Any = None) -> Any:
            assert scope.name == "sum"
            return inputs[0] + inputs[1] * tf.get_variable("w", [], initializer=tf.ones_initializer())

    layer = Sum()
    assert run(layer([tf.constant(1.0), tf.constant(2.0)])) == 3.0
    assert (layer.name, names(tf.global_variables())) == ("sum_1", ["sum/w:0"])
    assert layer.input_shape == [(), ()]


def test_a_custom_getter_can_make_variables_untrainable() -> None:
    def getter(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(*args, **{**kwargs, "trainable": False})

    with tf.variable_scope("s", custom_getter=getter):
        layer = tf.layers.Dense(2)
        layer(tf.ones([2, 3]))
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 2


def test_copies_share_variables() -> None:
    layer = tf.layers.Dense(2)
    before = copy.deepcopy(layer)
    layer(tf.ones([2, 3]))
    after = copy.deepcopy(layer)
    assert before.built is False and after.kernel is layer.kernel and after is not layer
    before(tf.ones([2, 3]))
    assert names(before.weights) == ["dense_1/kernel:0", "dense_1/bias:0"]


def test_functions_have_the_signature_of_their_layer() -> None:
    parameters = list(inspect.signature(tf.layers.conv2d).parameters)
    assert parameters[:4] == ["inputs", "filters", "kernel_size", "strides"] and parameters[-1] == "reuse"
    assert list(inspect.signature(tf.layers.max_pooling2d).parameters)[-1] == "name"
    assert (tf.layers.separable_conv2d.__name__, tf.layers.dense.__name__) == ("separable_conv2d", "dense")


def test_dropout() -> None:
    x = tf.ones([200, 10])
    training = tf.placeholder_with_default(False, [])
    by_tensor = tf.layers.dropout(x, 0.4, training=training)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(by_tensor), np.ones((200, 10)))
        for dropped in (
            session.run(by_tensor, {training: True}),
            session.run(tf.layers.dropout(x, 0.4, training=True)),
            session.run(tf.layers.dropout(x, 0.4, noise_shape=[200, 1], training=True)),
        ):
            assert set(np.unique(dropped).round(4)) == {0.0, np.float32(1.6667)}
        np.testing.assert_array_equal(session.run(tf.layers.dropout(x, 0.4)), np.ones((200, 10)))
        rows = session.run(tf.layers.dropout(x, 0.4, noise_shape=[200, 1], training=True))
        assert (rows == rows[:, :1]).all()


def test_flatten() -> None:
    x = tf.placeholder(tf.float32, [None, 2, 3, 4])
    value = np.arange(48.0).reshape(2, 2, 3, 4)
    flat, moved = tf.layers.flatten(x), tf.layers.flatten(x, data_format="channels_first")
    assert flat.shape.as_list() == moved.shape.as_list() == [None, 24]
    np.testing.assert_array_equal(run(flat, {x: value}), value.reshape(2, 24))
    np.testing.assert_array_equal(run(moved, {x: value}), np.moveaxis(value, 1, -1).reshape(2, 24))
    assert tf.layers.flatten(tf.placeholder(tf.float32, [None])).shape.as_list() == [None, 1]
    assert tf.layers.flatten(tf.placeholder(tf.float32, [None, None, 3])).shape.as_list() == [None, None]
    assert tf.layers.Flatten().compute_output_shape([None, 2, 3]).as_list() == [None, 6]


def test_a_small_network_learns() -> None:
    """Every kind of layer in one model, trained with the updates of its averages, then tested with those."""
    tf.set_random_seed(1)
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 2, 64)
    images = rng.standard_normal((64, 8, 8, 1)).astype(np.float32) * 0.3
    images[labels == 1, 2:6, 2:6] += 1.0
    x, training = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.bool, [])
    net = tf.layers.conv2d(x, 4, 3, padding="same", use_bias=False)
    net = tf.nn.relu(tf.layers.batch_normalization(net, training=training, momentum=0.5))
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.separable_conv2d(net, 8, 3, activation=tf.nn.relu)
    net = tf.layers.dropout(tf.layers.flatten(net), 0.2, training=training)
    logits = tf.layers.dense(net, 2, kernel_regularizer=l2_regularizer(1e-3))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    loss += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(30):
            session.run(step, {x: images, training: True})
        guesses = session.run(tf.argmax(logits, 1), {x: images, training: False})
    assert (guesses == labels).mean() > 0.95

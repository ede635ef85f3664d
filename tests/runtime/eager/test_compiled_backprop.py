"""Gradients of operations that a tape records again and again, which run as a compiled step."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.compiled_backprop import _Plan, compiled_gradients

pytestmark = pytest.mark.usefixtures("fresh")
REPEATED = 5  # more often than what is not compiled


@pytest.fixture(autouse=True)
def forgotten():
    """Starts without compiled gradients."""
    compiled_gradients._plans.clear()


def _plans():
    return [plan for plan in compiled_gradients._plans.values() if isinstance(plan, _Plan)]


def _slopes(function, sources):
    with tf.GradientTape() as tape:
        tape.watch([source for source in sources if not isinstance(source, tf.Variable)])
        y = function()
    return tape.gradient(y, sources)


def _network():
    rng = np.random.default_rng(0)
    filters = tf.Variable(rng.normal(size=[3, 3, 2, 4]).astype(np.float32))
    bias = tf.Variable(rng.normal(size=[4]).astype(np.float32))
    table = tf.Variable(rng.normal(size=[7, 4]).astype(np.float32))
    images = rng.normal(size=[REPEATED, 3, 8, 8, 2]).astype(np.float32)
    ids = rng.integers(0, 7, [REPEATED, 3])

    def loss(step):
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(images[step], filters, [1, 1, 1, 1], "SAME"), bias))
        h = tf.reduce_mean(tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [1, 2])
        logits = h * tf.nn.embedding_lookup(table, ids[step])
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids[step] % 4, logits=logits))

    return loss, [filters, bias, table, tf.Variable(1.0)]


def test_gradients_are_those_of_operations_that_run_one_by_one():
    loss, sources = _network()
    for step in range(REPEATED):
        filters, bias, table, unused = _slopes(lambda: loss(step), sources)
        with tf.GradientTape(persistent=True) as tape:
            value = loss(step)
        with tf.GradientTape():  # what a tape may record is not compiled
            expected = tape.gradient(value, sources)
        np.testing.assert_allclose(filters, expected[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(bias, expected[1], rtol=1e-5, atol=1e-6)
        assert isinstance(table, tf.IndexedSlices) and table.dense_shape.numpy().tolist() == [7, 4]
        np.testing.assert_allclose(table.values, expected[2].values, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(table.indices, expected[2].indices)
        assert unused is None is expected[3]
    assert len(_plans()) == 1


def test_each_shape_and_each_constant_has_gradients_of_its_own():
    for size in (2, 3):
        x = tf.constant(np.arange(6.0 * size).reshape(size, 6))
        for axis in (0, 1):
            for repetition in range(REPEATED):
                (found,) = _slopes(lambda: tf.reduce_sum(tf.square(tf.reduce_mean(x, axis))) * 1.0, [x])
                count = x.shape[axis].value
                expected = 2 * np.broadcast_to(np.mean(x, axis, keepdims=True), x.shape) / count
                np.testing.assert_allclose(found, expected, err_msg=f"{size} {axis} {repetition}")
    assert len(_plans()) == 4


def test_a_gradient_that_is_passed_on_is_a_tensor_of_its_own():
    x = tf.constant([1.0, 2.0])
    for weight in range(REPEATED):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.identity(x)
        given = tf.constant([1.0, float(weight)])
        np.testing.assert_array_equal(tape.gradient(y, x, given), given)


def test_several_targets_and_a_source_that_is_a_target():
    x = tf.constant(3.0)
    for _ in range(REPEATED):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            z = y * x
        assert [slope.numpy() for slope in tape.gradient([y, z], [x, y])] == [33, 4]


def test_higher_derivatives():
    x = tf.constant(2.0)
    for _ in range(REPEATED):
        with tf.GradientTape() as outer:
            outer.watch(x)
            (first,) = _slopes(lambda: x * x * x, [x])
        assert (first.numpy(), outer.gradient(first, x).numpy()) == (12, 12)
    assert len(_plans()) == 1  # of the outer tape alone


def test_gradient_functions_of_users_are_called_each_time():
    calls = []

    @tf.custom_gradient
    def clipped(x):
        return tf.identity(x), lambda grad: calls.append(len(calls)) or tf.clip_by_value(grad, -1.0, 1.0)

    x = tf.constant(2.0)
    for _ in range(REPEATED):
        assert _slopes(lambda: 5.0 * clipped(x), [x])[0].numpy() == 1
    assert len(calls) == REPEATED and not _plans()


def test_a_registered_gradient_function_is_called_each_time():
    calls = []

    @tf.RegisterGradient("CountedIdentity")
    def _counted(operation, grad):
        calls.append(operation.type)
        return grad * 2.0

    x = tf.constant(2.0)
    for _ in range(REPEATED):
        with tf.get_default_graph().gradient_override_map({"Identity": "CountedIdentity"}):
            assert _slopes(lambda: tf.identity(x), [x])[0].numpy() == 2
    assert calls == ["Identity"] * REPEATED


def test_training_with_new_variables_uses_the_same_step():
    for start in (1.0, 2.0, 3.0, 4.0):
        variable = tf.Variable([start, start])
        optimizer = tf.train.GradientDescentOptimizer(0.5)
        for _ in range(2):
            optimizer.minimize(lambda: tf.reduce_sum(tf.square(variable)), var_list=[variable])
        assert variable.numpy().tolist() == [0.0, 0.0]
    assert len(_plans()) == 1


def test_no_more_than_some_recordings_are_remembered(monkeypatch):
    monkeypatch.setattr("thalweg._src.runtime.eager.compiled_backprop._MAX_KEYS", 4)
    for size in range(1, 12):
        _slopes(lambda: tf.square(x), [x := tf.ones([size])])
        assert len(compiled_gradients._plans) <= 4

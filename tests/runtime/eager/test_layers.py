"""Layers of eager execution: variables, updates, losses, copies, cells, and nothing kept of past calls."""

import copy
import gc
import weakref

import numpy as np
import pytest

import thalweg as tf

pytestmark = pytest.mark.usefixtures("fresh")
X = np.random.RandomState(0).randn(4, 8).astype(np.float32)
IMAGES = np.random.RandomState(1).randn(2, 6, 6, 3).astype(np.float32)


def test_a_layer_creates_its_variables_once():
    layer = tf.layers.Dense(3, activation=tf.nn.relu)
    first, second = layer(X), layer(X)
    assert [v.name for v in layer.variables] == ["dense/kernel:0", "dense/bias:0"]
    assert layer.trainable_variables == [layer.kernel, layer.bias] and layer.count_params() == 27
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    other = tf.layers.Dense(3)
    other(X)
    assert other.kernel.name == "dense_1/kernel:0"
    with pytest.raises(ValueError, match="dense"):
        layer(X[:, :5])


def test_functions_share_variables_in_a_store():
    store = tf.contrib.eager.EagerVariableStore()
    with store.as_default():
        first, second = (tf.layers.dense(X, 3, name="d") for _ in range(2))
        hidden = tf.layers.conv2d(IMAGES, 2, 3, name="c")
    assert [v.name for v in store.variables()] == ["c/bias:0", "c/kernel:0", "d/bias:0", "d/kernel:0"]
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    assert hidden.shape.as_list() == [2, 4, 4, 2]
    assert not np.array_equal(tf.layers.dense(X, 3).numpy(), tf.layers.dense(X, 3).numpy())


@pytest.mark.parametrize("options", [{}, {"fused": False}, {"renorm": True}, {"virtual_batch_size": 1}])
def test_batch_normalization_moves_its_averages_at_once(options):
    def results(inputs):
        layer = tf.layers.BatchNormalization(momentum=0.5, **options)
        outputs = layer(inputs, training=True)
        return layer, outputs

    layer, outputs = results(IMAGES)
    moved = [layer.moving_mean.numpy(), layer.moving_variance.numpy()]
    layer(IMAGES, training=False)
    assert layer.moving_mean.numpy().tolist() == moved[0].tolist() and layer.updates == []
    with tf.Graph().as_default(), tf.Session() as session:
        other, expected = results(tf.constant(IMAGES))
        session.run(tf.global_variables_initializer())
        expected, _ = session.run([expected, tf.get_collection(tf.GraphKeys.UPDATE_OPS)])
        averages = session.run([other.moving_mean, other.moving_variance])
    np.testing.assert_allclose(outputs.numpy(), expected, rtol=1e-5, atol=1e-5)
    for found, average in zip(moved, averages):
        np.testing.assert_allclose(found, average, rtol=1e-5, atol=1e-6)


def test_regularization_is_recorded_where_losses_are_read():
    layer = tf.layers.Dense(
        2,
        kernel_regularizer=tf.contrib.layers.l2_regularizer(0.5),
        activity_regularizer=tf.contrib.layers.l2_regularizer(0.5),
    )
    layer(X)
    with tf.GradientTape() as tape:
        layer(X)
        regularization, activity = layer.losses
    grads = tape.gradient([regularization, activity], [layer.kernel])
    assert len(layer.losses) == 2 and grads[0] is not None
    with tf.GradientTape() as tape:
        regularization = layer.losses[0]
    np.testing.assert_allclose(tape.gradient(regularization, layer.kernel).numpy(), 0.5 * layer.kernel.numpy())
    assert [loss.numpy() for loss in layer.get_losses_for(None)] == [regularization.numpy()]
    assert tf.losses.get_regularization_losses() == []
    assert tf.layers.Dense(2, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.0)).losses == []


def test_layers_keep_no_values():
    layer = tf.layers.Dense(2)
    x = tf.constant(X)
    freed = [weakref.ref(x), weakref.ref(layer(x))]
    del x
    gc.collect()
    assert [each() for each in freed] == [None, None]


def test_copies_have_variables_of_their_own():
    layer = tf.layers.Dense(2)
    before = layer(X).numpy()
    other = copy.deepcopy(layer)
    other.kernel.assign(tf.zeros([8, 2]))
    assert other.kernel is other.trainable_weights[0] and not other(X).numpy().any()
    np.testing.assert_array_equal(layer(X).numpy(), before)


def test_dropout():
    layer = tf.layers.Dropout(0.5)
    np.testing.assert_array_equal(layer(X).numpy(), X)
    dropped = layer(X, training=True).numpy()
    assert ((dropped == 0) | np.isclose(dropped, 2 * X)).all() and 0 < (dropped == 0).sum() < X.size
    assert not np.array_equal(dropped, layer(X, training=tf.constant(True)).numpy())


CELLS = {
    "basic": lambda cells: cells.BasicRNNCell(4),
    "gru": lambda cells: cells.GRUCell(4),
    "lstm": lambda cells: cells.LSTMCell(4, use_peepholes=True, num_proj=2),
    "several": lambda cells: cells.MultiRNNCell([cells.LSTMCell(4), cells.GRUCell(4)]),
    "residual": lambda cells: cells.ResidualWrapper(cells.GRUCell(8)),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_step_by_step(name):
    cell = CELLS[name](tf.nn.rnn_cell)
    state = cell.zero_state(4, tf.float32)
    with tf.GradientTape() as tape:
        for _ in range(3):
            outputs, state = cell(tf.constant(X), state)
        loss = tf.reduce_sum(tf.square(outputs))
    variables = cell.trainable_variables
    grads = tape.gradient(loss, variables)
    assert variables and all(grad.shape == v.shape for grad, v in zip(grads, variables))
    values = {v.name: v.numpy() for v in variables}
    with tf.Graph().as_default(), tf.Session() as session:
        cell = CELLS[name](tf.nn.rnn_cell)
        state = cell.zero_state(4, tf.float32)
        for _ in range(3):
            expected, state = cell(tf.constant(X), state)
        session.run([v.assign(values[v.name]) for v in cell.trainable_variables])
        np.testing.assert_allclose(outputs.numpy(), session.run(expected), rtol=1e-5, atol=1e-6)

"""Data parallelism in one process: towers on two virtual GPUs of one card, their gradients averaged on the CPU."""

import numpy as np
import pytest

import thalweg as tf

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((12, 6)).astype(np.float32)
HIDDEN, WEIGHTS = RANDOM.standard_normal((6, 8)), RANDOM.standard_normal((8, 2))
LABELS = (X.sum(1) > 0).astype(np.int32)


def config(**options):
    """Returns a configuration with two GPUs of 4 GiB each, enough for the workspaces of cuBLAS."""
    proto = tf.ConfigProto(**options)
    virtual = proto.gpu_options.experimental.virtual_devices.add()
    virtual.memory_limit_mb.extend([4096, 4096])
    return proto


@pytest.fixture(autouse=True)
def needs_a_gpu():
    with tf.Session() as session:
        if not any(device.device_type == "GPU" for device in session.list_devices()):
            pytest.skip("there is no GPU")


def tower(x, labels):
    hidden = tf.layers.dense(x, 8, tf.nn.tanh, name="hidden", kernel_initializer=tf.constant_initializer(HIDDEN))
    hidden = tf.layers.batch_normalization(hidden, training=True, name="normal")
    logits = tf.layers.dense(hidden, 2, name="logits", kernel_initializer=tf.constant_initializer(WEIGHTS))
    return tf.losses.sparse_softmax_cross_entropy(labels, logits)


def averaged(gradients):
    """Returns the mean gradient of each variable, from lists of (gradient, variable) of all towers."""
    return [(tf.add_n([g for g, _ in pairs]) / len(pairs), pairs[0][1]) for pairs in zip(*gradients)]


def trained(devices, steps=12):
    """Returns the losses of a training with one tower per device, the last of steps that are captured and replayed."""
    with tf.Graph().as_default():
        x, labels = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int32, [None])
        parts, label_parts = tf.split(x, len(devices)), tf.split(labels, len(devices))
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        losses, gradients = [], []
        for index, device in enumerate(devices):
            with tf.variable_scope(tf.get_variable_scope(), reuse=index > 0), tf.device(device):
                losses.append(tower(parts[index], label_parts[index]))
                gradients.append(optimizer.compute_gradients(losses[-1]))
        with tf.device("/cpu:0"):
            train, loss = optimizer.apply_gradients(averaged(gradients)), tf.add_n(losses) / len(losses)
        with tf.Session(config=config(allow_soft_placement=True)) as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, train], {x: X, labels: LABELS})[0] for _ in range(steps)]


def test_towers_on_two_gpus_learn_as_on_the_cpu():
    expected = trained(["/cpu:0", "/cpu:0"])
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(trained(["/gpu:0", "/gpu:1"]), expected, rtol=1e-4)


def test_each_tower_runs_on_its_gpu():
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:0"):
        a = tf.tanh(x, name="a")
    with tf.device("/gpu:1"):
        b = tf.exp(a, name="b")
    with tf.Session(config=config()) as session:
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        value = session.run(b, {x: [1.0, 2.0]}, options=options, run_metadata=metadata)
    np.testing.assert_allclose(value, np.exp(np.tanh([1.0, 2.0])), rtol=1e-6)
    ran = {node.node_name: stats.device for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
    assert ran["a"].endswith("GPU:0") and ran["b"].endswith("GPU:1")


def test_a_device_that_is_missing_is_refused_or_replaced():
    with tf.device("/gpu:7"):
        y = tf.square(tf.constant([3.0]), name="y")
    with (
        tf.Session(config=config()) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="GPU:7"),
    ):
        session.run(y)
    with tf.Session(config=config(allow_soft_placement=True)) as session:
        assert session.run(y) == [9.0]

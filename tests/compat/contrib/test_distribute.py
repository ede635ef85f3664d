"""tf.contrib.distribute: strategies with batches per replica, steps, and servers of TF_CONFIG."""

import json

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import addresses
from tests.training.distribute.programs import TWO, session

CLUSTER = {"ps": ["a:1"], "worker": ["b:1", "b:2"]}


def test_each_replica_takes_an_element_of_its_own():
    strategy = tf.contrib.distribute.MirroredStrategy(TWO)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(8).batch(2))
        parts = strategy.experimental_run(lambda x: x, iterator).values
    with session() as sess:
        sess.run(iterator.initialize())
        assert [part.tolist() for part in sess.run(parts)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("iterations", [1, 3])
def test_a_monitor_runs_steps_that_minimize_a_loss(iterations):
    strategy = tf.contrib.distribute.MirroredStrategy(TWO)
    with strategy.scope():
        weight = tf.Variable(0.0, name="w")

    def dataset():
        return tf.data.Dataset.from_tensors(np.float32(1.0)).repeat()

    def loss(context, x):
        return tf.square(weight - 2.0 * x) / 2

    optimizer = tf.train.GradientDescentOptimizer(0.25)
    step = tf.contrib.distribute.StandardSingleLossStep(dataset, loss, optimizer, strategy, iterations)
    assert step.distribution is strategy
    with session() as sess:
        monitor = tf.contrib.distribute.Monitor(step, sess)
        monitor.run_steps(2)
        # each step halves the distance to 2: two replicas with a rate of a quarter
        expected = 2 - 2 * 0.5 ** (2 * iterations)
        assert [sess.run(copy) for copy in weight.values] == [expected, expected]
    with pytest.raises(ValueError, match="expected a session"):
        tf.contrib.distribute.Monitor(step)


def test_configure_sets_the_cluster():
    config = tf.ConfigProto()
    servers = tf.contrib.distribute.ParameterServerStrategy()
    assert servers.extended.worker_devices == ("/replica:0/task:0/device:CPU:0",)
    servers.configure(config, CLUSTER, "worker", 1)
    assert servers.extended.worker_devices == ("/job:worker/replica:0/task:1/device:CPU:0",)
    assert servers.extended.parameter_devices == ("/job:ps/replica:0/task:0/device:CPU:0",)
    assert list(config.device_filters) == ["/job:worker/replica:0/task:1", "/job:ps"]
    reducing = tf.contrib.distribute.CollectiveAllReduceStrategy()
    reducing.configure(cluster_spec=CLUSTER, task_type="worker", task_id=0)
    assert reducing.num_replicas_in_sync == 2
    assert tf.contrib.distribute.CollectiveAllReduceStrategy(3).extended.worker_devices[2].endswith("GPU:2")


def test_numbers_of_gpus():
    strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=2)
    assert [place[-5:] for place in strategy.extended.worker_devices] == ["GPU:0", "GPU:1"]
    assert type(strategy.extended._cross_device_ops) is tf.distribute.NcclAllReduce
    assert tf.contrib.distribute.MirroredStrategy(num_gpus=0).extended.worker_devices[0].endswith("CPU:0")
    with pytest.raises(ValueError, match="one of num_gpus and num_gpus_per_worker"):
        tf.contrib.distribute.MirroredStrategy(num_gpus=1, num_gpus_per_worker=1)
    with pytest.raises(ValueError, match="one of devices and a number of GPUs"):
        tf.contrib.distribute.MirroredStrategy(TWO, num_gpus=1)


def test_contexts_under_their_names_in_contrib():
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    assert tf.contrib.distribute.get_cross_replica_context() is None
    with strategy.scope():
        assert tf.contrib.distribute.get_cross_replica_context() is strategy
        assert tf.contrib.distribute.get_distribution_strategy() is strategy
    replicas = []
    strategy.experimental_run_v2(lambda: replicas.append(tf.contrib.distribute.get_replica_context()))
    with pytest.raises(RuntimeError, match="outside of the scope"):
        tf.contrib.distribute.require_replica_context(replicas[0])
    config = tf.contrib.distribute.DistributeConfig(train_distribute=strategy)
    assert config.train_distribute is strategy and config.remote_cluster is None


def test_the_server_of_tf_config(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match="expected a cluster"):
        tf.contrib.distribute.run_standard_tensorflow_server()
    spec = addresses(worker=1)
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": spec}))
    with pytest.raises(ValueError, match="the type and the index"):
        tf.contrib.distribute.run_standard_tensorflow_server()
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": spec, "task": {"type": "worker", "index": 0}}))
    server = tf.contrib.distribute.run_standard_tensorflow_server()
    try:
        with tf.Session(server.target) as sess:
            assert sess.run(tf.constant(2.0) * 3) == 6.0
    finally:
        server.stop()

"""ParameterServerStrategy: workers that build graphs of their own around variables on parameter servers."""

import contextlib

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster, addresses
from tests.training.distribute.programs import ROWS, X, Y, assert_equal, loss_of, one_device, train
from thalweg._src.training.distribute.parameter_server import ParameterServerExtended
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.distribute.task import Task

SPEC = {"ps": ["a:1", "a:2"], "worker": ["b:1", "b:2"]}


def adam():
    return tf.train.AdamOptimizer(0.1)


def strategy_of(spec, index):
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(spec), task_type="worker", task_id=index
    )
    return tf.distribute.experimental.ParameterServerStrategy(resolver)


@pytest.mark.cpu_only(reason="replicas are on the GPU where there is one")
def test_variables_are_on_parameter_servers_and_computation_on_the_worker():
    strategy = strategy_of(SPEC, 1)
    with strategy.scope():
        variables = [tf.get_variable(f"v{index}", [2]) for index in range(3)]
        local = tf.get_local_variable("l", [2])
        slots = tf.train.MomentumOptimizer(0.1, 0.9)
        strategy.experimental_run_v2(lambda: slots.minimize(tf.reduce_sum(variables[1] * variables[1])))
        result = strategy.experimental_run_v2(lambda: variables[1] * 2.0)
    servers = [f"/job:ps/replica:0/task:{index}/device:CPU:0" for index in range(2)]
    assert strategy.extended.parameter_devices == tuple(servers)
    assert [v.device for v in variables] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert slots.get_slot(variables[1], "momentum").device == "/job:ps/task:1"
    assert result.device == local.device == "/job:worker/replica:0/task:1/device:CPU:0"
    assert strategy.extended.experimental_between_graph and strategy.num_replicas_in_sync == 1
    assert [strategy_of(SPEC, index).extended.should_checkpoint for index in range(2)] == [True, False]
    assert [strategy_of(SPEC, index).extended.experimental_should_init for index in range(2)] == [True, False]
    config = strategy.update_config_proto(tf.ConfigProto(log_device_placement=True))
    assert list(config.device_filters) == ["/job:worker/replica:0/task:1", "/job:ps"] and config.log_device_placement


def test_workers_share_variables():
    cluster = Cluster("inprocess", ps=2, worker=2)
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(cluster.stop)
        runs = []
        for index in range(2):
            strategy = strategy_of(cluster.spec, index)
            with tf.Graph().as_default(), strategy.scope():
                iterator = strategy.make_input_fn_iterator(
                    lambda context: tf.data.Dataset.from_tensor_slices((X, Y))
                    .batch(ROWS)
                    .shard(context.num_input_pipelines, context.input_pipeline_id)
                )
                step = tf.train.get_or_create_global_step()
                optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
                train_op = strategy.experimental_run(
                    lambda inputs: optimizer.minimize(loss_of(*inputs), step), iterator
                )
                session = stack.enter_context(tf.Session(cluster.target("worker", index)))
                if strategy.extended.experimental_should_init:
                    session.run(tf.global_variables_initializer())
                session.run(iterator.initializer)
                runs.append((session, train_op, step, {v.op.name: v for v in tf.global_variables()}))
        for session, train_op, _, _ in [*runs, *runs]:  # one after the other: the batches in their order
            session.run(train_op)
        session, _, step, variables = runs[0]
        assert session.run(step) == 4
        received = {name: session.run(variable) for name, variable in variables.items()}
    _, expected = train(one_device(), lambda: tf.train.MomentumOptimizer(0.1, 0.9), steps=4)
    for name, value in expected.items():
        np.testing.assert_array_equal(received[name], value, err_msg=name)


def test_towers_of_a_worker_are_summed_before_the_update():
    """Two replicas of one worker, over a cluster, equal one device."""
    spec, config = addresses(ps=1, worker=1), tf.ConfigProto(device_count={"CPU": 2})
    servers = [tf.train.Server(spec, job, 0, protocol="inprocess", config=config) for job in ("ps", "worker")]
    try:
        strategy = Strategy(None)
        task = Task.of(spec, "worker", 0)
        strategy._extended = ParameterServerExtended(strategy, task, ["/device:CPU:0", "/device:CPU:1"])
        received = train(strategy, adam, steps=3, target=servers[1].target)
    finally:
        for server in servers:
            server.stop()
    assert_equal(received, train(one_device(), adam, steps=3))


@pytest.mark.cpu_only(reason="replicas are on the GPU where there is one")
def test_without_a_cluster_variables_are_on_the_cpu():
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    assert strategy.extended.parameter_devices == ("/replica:0/task:0/device:CPU:0",)
    received, expected = train(strategy, adam, steps=2), train(one_device(), adam, steps=2)
    assert received[0] == expected[0]


def test_batch_normalization_averages_are_shared():
    strategy = strategy_of(SPEC, 0)
    with strategy.scope():
        layer = tf.layers.BatchNormalization()
        strategy.experimental_run_v2(lambda: layer(tf.ones([4, 2]), training=True))
    assert layer.moving_mean.device.startswith("/job:ps") and len(layer.updates) == 2


@pytest.mark.parametrize(
    ("cluster", "task", "message"),
    [
        ({"worker": ["a:1"]}, ("worker", 0), "no job 'ps'"),
        (SPEC, ("worker", None), "no task is given"),
        (SPEC, ("worker", 7), "7"),
        (SPEC, ("ps", 0), "does not train"),
    ],
)
def test_bad_clusters(cluster, task, message):
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(cluster), "", *task)
    with pytest.raises(ValueError, match=message):
        tf.distribute.experimental.ParameterServerStrategy(resolver).extended.should_checkpoint


@pytest.mark.cpu_only(reason="replicas are on the GPU where there is one")
def test_the_cluster_comes_from_tf_config(monkeypatch):
    monkeypatch.setenv(
        "TF_CONFIG",
        '{"cluster": {"ps": ["a:1"], "chief": ["b:1"], "worker": ["c:1"]}, "task": {"type": "worker", "index": 0}}',
    )
    for strategy in (
        tf.distribute.experimental.ParameterServerStrategy(),
        tf.distribute.experimental.MultiWorkerMirroredStrategy(),
    ):
        assert strategy.extended.worker_devices == ("/job:worker/replica:0/task:0/device:CPU:0",)
        assert strategy.extended._input_context().input_pipeline_id == 1 and not strategy.extended.should_checkpoint

"""Device functions for replicas, and their strategies."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tf
from thalweg._src.training.device_setter import (
    GreedyLoadBalancingStrategy,
    RandomStrategy,
    byte_size_load_fn,
    replica_device_setter,
)

CLUSTER = {"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1", "e:1"]}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_variables_are_assigned_round_robin_to_parameter_servers(graph: Any) -> None:
    with tf.device(replica_device_setter(cluster=CLUSTER, worker_device="/job:worker/task:1")):
        variables = [tf.get_variable(f"v{i}", [2]) for i in range(3)]
        value = variables[0] + 1.0
        with tf.device("/cpu:0"):
            pinned, constant = tf.get_variable("pinned", [2]), tf.constant(1.0)
        with tf.device("/job:other"):
            elsewhere = tf.get_variable("elsewhere", [2])
    assert [v.device for v in variables] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert value.device == "/job:worker/task:1"
    assert (pinned.device, constant.device) == ("/job:ps/task:1/device:CPU:0", "/job:worker/task:1/device:CPU:0")
    assert elsewhere.device == "/job:other"
    assert variables[1].initializer.device == "/job:ps/task:1"
    assert all(not op.device for op in graph.get_operations() if "/Initializer/" in op.name)


def test_without_parameter_servers_there_is_no_device_function() -> None:
    assert replica_device_setter() is None
    assert replica_device_setter(cluster={"worker": ["a:1"]}) is None
    assert replica_device_setter(cluster={"ps": [], "worker": ["a:1"]}) is None
    assert replica_device_setter(cluster=CLUSTER, ps_device="/job:chief") is None
    with pytest.raises(TypeError, match="cluster"):
        replica_device_setter(cluster=3)
    with pytest.raises(TypeError, match="callable"):
        replica_device_setter(ps_tasks=1, ps_strategy=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "cluster",
    [
        {"ps": ["a:1", "b:1"], "worker": {3: "c:1"}},
        tf.train.ClusterSpec({"ps": {1: "b:1", 0: "a:1"}}),
        tf.train.ClusterSpec(CLUSTER).as_cluster_def(),
    ],
)
def test_every_form_of_a_cluster(cluster: Any) -> None:
    with tf.device(replica_device_setter(ps_tasks=5, cluster=cluster)):
        devices = [tf.get_variable(f"v{i}", [2]).device for i in range(3)]
    assert devices == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]


def test_numbers_without_a_task_are_skipped() -> None:
    with tf.device(replica_device_setter(cluster={"ps": {1: "a:1", 4: "b:1"}})):
        devices = [tf.get_variable(f"v{i}", [2]).device for i in range(3)]
    assert devices == ["/job:ps/task:1", "/job:ps/task:4", "/job:ps/task:1"]


def test_other_jobs_operations_and_merging() -> None:
    with tf.device(replica_device_setter(2, "/job:sam", "/job:w", merge_devices=False, ps_ops=["Const"])):
        assert tf.constant(1.0).device == "/job:sam/task:0"
        assert tf.get_variable("v", [2]).device == "/job:w"
        with tf.device("/gpu:0"):
            assert tf.constant(1.0).device == "/device:GPU:0"


def test_strategies() -> None:
    strategy = GreedyLoadBalancingStrategy(2, byte_size_load_fn)
    with tf.device(replica_device_setter(2, ps_strategy=strategy)):
        sizes = [[100], [10], [20], [60], [200]]
        devices = [tf.get_variable(f"v{i}", size).device for i, size in enumerate(sizes)]
    assert devices == [f"/job:ps/task:{task}" for task in (0, 1, 1, 1, 1)]
    with pytest.raises(ValueError, match="not fully defined"):
        byte_size_load_fn(tf.Variable(tf.placeholder(tf.float32), validate_shape=False).op)


def test_random_tasks_depend_on_name_and_seed_alone() -> None:
    ops = [tf.get_variable(f"v{i}", [2]).op for i in range(20)]
    tasks = [RandomStrategy(3)(op) for op in ops]
    assert tasks[:8] == [1, 2, 1, 2, 2, 1, 0, 0] and set(tasks) == {0, 1, 2}
    strategy = RandomStrategy(3)
    assert [strategy(op) for op in reversed(ops)] == tasks[::-1]
    assert [RandomStrategy(3, seed=1)(op) for op in ops] != tasks

"""MultiWorkerMirroredStrategy: workers with graphs of their own, kept in step by all-reduce."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import Cluster, addresses
from tests.training.distribute.programs import ROWS, Y, assert_equal, loss_of, one_device, train
from tests.training.distribute.test_training import embedded_loss
from thalweg._src.cluster.distributed.server import find_server
from thalweg._src.keras.backend import state
from thalweg._src.training.distribute import multi_worker
from thalweg._src.training.distribute.multi_worker import CollectiveCommunication, MultiWorkerExtended
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.distribute.task import Task

LIMIT = 60  # seconds that workers may wait for each other


@pytest.fixture(scope="module")
def cluster():
    cluster = Cluster("sockets", worker=2)
    yield cluster
    cluster.stop()


def strategy_of(cluster, index):
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster.spec), task_type="worker", task_id=index
    )
    return tf.distribute.experimental.MultiWorkerMirroredStrategy(cluster_resolver=resolver)


def in_workers(cluster, function):
    """Returns what a function of the strategy, its session's target and its configuration returns in each worker."""

    def worker(index):
        strategy = strategy_of(cluster, index)
        return function(strategy, cluster.target("worker", index), strategy.update_config_proto(tf.ConfigProto()))

    with ThreadPoolExecutor(2) as threads:
        return [future.result(LIMIT) for future in [threads.submit(worker, index) for index in range(2)]]


def test_two_workers_equal_one_device(cluster):
    def momentum():
        return tf.train.MomentumOptimizer(0.1, 0.9)

    received = in_workers(
        cluster, lambda strategy, target, config: train(strategy, momentum, 3, target=target, config=config)
    )
    expected = train(one_device(), momentum, 3)
    for result in received:
        assert_equal(result, expected)
    for name, value in received[0][1].items():
        np.testing.assert_array_equal(value, received[1][1][name])


def test_sparse_gradients_are_those_of_all_workers(cluster):
    def momentum():
        return tf.train.MomentumOptimizer(0.1, 0.9)

    settings = {"loss_of": embedded_loss, "data": (np.arange(40) % 7, Y), "steps": 2}
    received = in_workers(
        cluster, lambda strategy, target, config: train(strategy, momentum, target=target, config=config, **settings)
    )
    expected = train(one_device(), momentum, **settings)
    for result in received:
        assert_equal(result, expected)


def test_workers_start_from_the_values_of_the_chief_and_read_totals(cluster):
    def values(strategy, target, config):
        with tf.Graph().as_default(), strategy.scope():
            weight = tf.get_variable("w", [3], initializer=tf.random_normal_initializer())
            count = tf.Variable(
                0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
            )
            number = strategy.experimental_run_v2(
                lambda: tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            )
            update = strategy.experimental_run_v2(lambda: count.assign_add(number + 1))
            total, mean = count.read_value(), strategy.reduce("MEAN", number)
            with tf.Session(target, config=config) as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(update)
                return sess.run(weight).tolist(), *sess.run([total, mean, count])

    first, second = in_workers(cluster, values)
    assert first[0] == second[0] and np.std(first[0]) > 0
    assert first[1:] == (3.0, 0.5, 1.0) and second[1:] == (3.0, 0.5, 2.0)


def test_monitored_sessions_of_all_workers_initialize_and_the_chief_saves(cluster, tmp_path):
    def losses(strategy, target, config):
        with tf.Graph().as_default(), strategy.scope():
            step = tf.train.get_or_create_global_step()
            iterator = strategy.make_dataset_iterator(
                tf.data.Dataset.from_tensors((np.ones([ROWS, 3], np.float32), np.ones([ROWS, 1], np.float32))).repeat()
            )

            def train_step(inputs):
                return tf.train.GradientDescentOptimizer(0.1).minimize(loss_of(*inputs), step)

            train_op = strategy.experimental_run(train_step, iterator)
            is_chief = strategy.extended.should_checkpoint
            with tf.train.MonitoredTrainingSession(
                target,
                is_chief,
                str(tmp_path),
                tf.train.Scaffold(local_init_op=iterator.initializer),
                config=config,
                hooks=[tf.train.StopAtStepHook(num_steps=2)],
            ) as sess:
                while not sess.should_stop():
                    sess.run(train_op)
            return is_chief

    assert in_workers(cluster, losses) == [True, False]
    assert tf.train.load_variable(str(tmp_path), "global_step") == 2
    assert in_workers(cluster, losses) == [True, False]  # from the checkpoint
    assert tf.train.load_variable(str(tmp_path), "global_step") == 4


def test_devices_and_replicas_of_a_worker():
    cluster = {"chief": ["a:1"], "worker": ["b:1", "b:2"]}
    strategy = Strategy(None)
    names = ["/device:CPU:0", "/device:CPU:1"]
    task = Task.of(cluster, "worker", 1)
    strategy._extended = MultiWorkerExtended(strategy, CollectiveCommunication.AUTO, task, names)
    assert strategy.num_replicas_in_sync == 6
    assert strategy.extended.worker_devices == tuple(f"/job:worker/replica:0/task:1{name}" for name in names)
    numbers = []
    strategy.experimental_run_v2(
        lambda: numbers.append(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))
    )
    assert numbers == [4, 5]
    config = strategy.update_config_proto(tf.ConfigProto())
    assert config.experimental.collective_group_leader == "/job:chief/replica:0/task:0"
    assert list(config.device_filters) == ["/job:worker/replica:0/task:1"] and config.isolate_session_state


def test_communication_is_checked():
    with pytest.raises(ValueError, match="expected a CollectiveCommunication, received 'ring'"):
        tf.distribute.experimental.MultiWorkerMirroredStrategy("ring")


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
import thalweg as tf

folder = Path(sys.argv[1])
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
server = tf.train.Server(resolver.cluster_spec(), resolver.task_type, resolver.task_id)
with strategy.scope():
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors(np.ones([4, 2], np.float32)).repeat())
    weights = tf.get_variable("weights", [2, 1], initializer=tf.zeros_initializer())
    step = tf.train.get_or_create_global_step()

    def train(x):
        loss = tf.nn.compute_average_loss(tf.square(tf.matmul(x, weights) - 2.0), global_batch_size=4)
        return tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, step)

    train_op = strategy.experimental_run(train, iterator)
with tf.train.MonitoredTrainingSession(
    server.target,
    is_chief=strategy.extended.should_checkpoint,
    checkpoint_dir=str(folder / "model"),
    save_checkpoint_steps=3,
    scaffold=tf.train.Scaffold(local_init_op=iterator.initializer),
    hooks=[tf.train.StopAtStepHook(last_step=12)],
    config=strategy.update_config_proto(tf.ConfigProto()),
) as sess:
    while not sess.should_stop():
        number, value, _ = sess.run([tf.train.get_global_step(), weights, train_op])
        if number == 7 and resolver.task_id == 1 and not (folder / "killed").exists():
            (folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
print(value.ravel().tolist())
"""


@pytest.mark.slow
def test_training_goes_on_after_a_worker_was_killed_and_started_again(tmp_path):
    def start(folder, spec, index):
        config = json.dumps({"cluster": spec, "task": {"type": "worker", "index": index}})
        environment = children.environment(TF_CONFIG=config, OMP_NUM_THREADS="1")
        return children.start(
            [sys.executable, "-c", KILLED, folder], env=environment, stdout=subprocess.PIPE, text=True
        )

    written = []
    for name in ("disturbed", "undisturbed"):
        folder, spec = tmp_path / name, addresses(worker=2)
        folder.mkdir()
        if name == "undisturbed":
            (folder / "killed").touch()
        workers = [start(folder, spec, index) for index in range(2)]
        try:
            if name == "disturbed":
                assert workers[1].wait(LIMIT) == -9
                workers[1] = start(folder, spec, 1)
            written += [worker.communicate(timeout=LIMIT)[0] for worker in workers]
        finally:
            for worker in workers:
                children.end(worker)
    assert len(set(written)) == 1 and json.loads(written[0])


@pytest.mark.parametrize("has_server", [True, False])
def test_keras_uses_the_server_of_its_task(has_server, monkeypatch):
    (address,) = addresses(worker=1)["worker"]
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": [address]}, "task": task}))
    own = tf.train.Server({"worker": [address]}) if has_server else None
    try:
        with tf.distribute.experimental.MultiWorkerMirroredStrategy().scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
            model.compile("sgd", "mse")
        model.fit(np.ones([4, 2], np.float32), np.ones([4, 1], np.float32), batch_size=4, epochs=2, verbose=0)
        session = tf.keras.backend.get_session()
        assert session.sess_str == find_server(f"grpc://{address}").target
        assert multi_worker._servers == [] or not has_server
        assert model.weights[0].device.startswith("/job:worker/replica:0/task:0/device:")
    finally:
        tf.keras.backend.get_session().close()
        state._state.session = None
        for server in (own, *multi_worker._servers):
            if server is not None:
                server.stop()
        multi_worker._servers.clear()

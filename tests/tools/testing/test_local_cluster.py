"""tf.test.create_local_cluster."""

import pytest

import thalweg as tf


@pytest.mark.parametrize("protocol", ["grpc", "inprocess"])
def test_workers_share_the_variables_of_parameter_servers(protocol):
    workers, servers = tf.test.create_local_cluster(2, 1, protocol)
    try:
        with tf.device(tf.train.replica_device_setter(cluster=workers[0].server_def.cluster)):
            total = tf.Variable(0.0)
        with tf.Session(workers[0].target) as first, tf.Session(workers[1].target) as second:
            first.run(total.initializer)
            first.run(total.assign_add(1.0))
            assert second.run(total.assign_add(2.0)) == 3.0
            assert total.device == "/job:ps/task:0"
    finally:
        for server in workers + servers:
            server.stop()


def test_each_job_has_its_configuration():
    two = tf.ConfigProto(device_count={"CPU": 2})
    workers, servers = tf.test.create_local_cluster(1, 1, worker_config=two)
    try:
        with tf.Session(workers[0].target) as session:
            devices = [device.name for device in session.list_devices() if device.device_type == "CPU"]
    finally:
        for server in workers + servers:
            server.stop()
    worker, ps = "/job:worker/replica:0/task:0/device:", "/job:ps/replica:0/task:0/device:"
    assert devices == [f"{worker}CPU:0", f"{worker}CPU:1", f"{ps}CPU:0"]

"""tf.contrib.all_reduce: reductions as graphs of ordinary operations."""

import re

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import addresses

ar = tf.contrib.all_reduce
CPUS = [f"/cpu:{index}" for index in range(8)]
AT_WORKERS = [f"/job:worker/task:{task}/cpu:{index}" for task in range(2) for index in range(2)]
EIGHT = tf.ConfigProto(device_count={"CPU": 8})


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def values(number, shape):
    return [np.random.default_rng(index).integers(-9, 9, shape).astype(np.float32) for index in range(number)]


def on_devices(arrays, places=CPUS, is_shape_known=True):
    tensors = []
    for array, place in zip(arrays, places):
        with tf.device(place):
            tensors.append(tf.placeholder_with_default(array, array.shape if is_shape_known else None))
    return tensors


ON_ONE_LEVEL = {
    "ring": lambda t, un: ar.build_ring_all_reduce(t, 1, 1, range(len(t)), tf.add, un),
    "rings": lambda t, un: ar.build_ring_all_reduce(t, 2, 2, [1, 0, *range(2, len(t) // 2)], tf.add, un),
    "halving": lambda t, un: ar.build_recursive_hd_all_reduce(t, tf.add, un),
    "shuffle": lambda t, un: ar.build_shuffle_all_reduce(t, CPUS[:3], tf.add_n, un),
    "nccl": lambda t, un: ar.build_nccl_all_reduce(t, tf.add, un),
}
BETWEEN_WORKERS = {
    **{"ring": ON_ONE_LEVEL["rings"], "halving": ON_ONE_LEVEL["halving"]},
    "shuffle": lambda t, un: ar.build_shuffle_all_reduce(t, AT_WORKERS[::2], tf.add_n, un),
    "nccl then ring": lambda t, un: ar.build_nccl_then_ring(t, 1, tf.add, un),
    "nccl then halving": lambda t, un: ar.build_nccl_then_recursive_hd(t, tf.add, un),
    "nccl then shuffle": lambda t, un: ar.build_nccl_then_shuffle(t, AT_WORKERS[1:3], tf.add, tf.add_n, un),
    "shuffle then ring": lambda t, un: ar.build_shuffle_then_ring(t, AT_WORKERS, 1, tf.add_n, tf.add, un),
    "shuffle then shuffle": lambda t, un: ar.build_shuffle_then_shuffle(t, AT_WORKERS, AT_WORKERS[:3], tf.add_n, un),
}


@pytest.mark.parametrize("number", [4, 8])
@pytest.mark.parametrize("shape", [(), (3,), (5, 7), (0, 2)])
@pytest.mark.parametrize("is_shape_known", [True, False])
@pytest.mark.parametrize("name", ON_ONE_LEVEL)
def test_all_devices_have_the_sum(name, number, shape, is_shape_known):
    arrays = values(number, shape)
    tensors = on_devices(arrays, is_shape_known=is_shape_known)
    reduced = ON_ONE_LEVEL[name](tensors, lambda total: total * 0.5)
    assert [each.device for each in reduced] == [each.device for each in tensors]
    with tf.Session(config=EIGHT) as session:
        for found in session.run(reduced):
            assert found.shape == shape
            np.testing.assert_array_equal(found, sum(arrays) * 0.5)


@pytest.fixture(scope="module")
def target():
    """Two workers with two devices each."""
    spec = addresses(worker=2)
    config = tf.ConfigProto(device_count={"CPU": 2})
    servers = [tf.train.Server(spec, "worker", index, protocol="inprocess", config=config) for index in range(2)]
    yield servers[0].target
    for server in servers:
        server.stop()


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 2, 1)])
@pytest.mark.parametrize("name", BETWEEN_WORKERS)
def test_workers_have_the_sum_in_the_order_of_the_tensors(target, name, order):
    arrays = values(4, (3, 3))
    tensors = on_devices(arrays, [AT_WORKERS[index] for index in order])
    reduced = BETWEEN_WORKERS[name](tensors, lambda total: total * 0.5)
    assert [each.device for each in reduced] == [each.device for each in tensors]
    assert all(each.shape == (3, 3) for each in reduced)
    with tf.Session(target) as session:
        for found in session.run(reduced):
            np.testing.assert_array_equal(found, sum(arrays) * 0.5)


def work(graph, op_type):
    """Returns the devices of the operations of a type, sorted."""
    return sorted(op.device for op in graph.get_operations() if op.type == op_type)


@pytest.mark.parametrize(
    ("name", "additions"),
    [("ring", 3), ("rings", 6), ("halving", 2)],  # at each of four devices, of 1/4, 1/8, and 1/2 and 1/4 of a tensor
)
def test_the_additions_are_on_all_devices(graph, name, additions):
    ON_ONE_LEVEL[name](on_devices(values(4, (8,))), None)
    found = work(graph, "AddV2")
    assert {place: found.count(place) for place in found} == {f"/device:CPU:{i}": additions for i in range(4)}


def test_each_ring_enters_a_worker_at_another_device(graph):
    """Of the values that pass between workers, half leaves and enters at each of their devices."""
    ON_ONE_LEVEL["rings"](on_devices(values(4, (8,)), AT_WORKERS), None)
    crossing = {
        (source.device, op.device)
        for op in graph.get_operations()
        if op.type == "AddV2"
        for source in op.inputs
        if source.device.rpartition("/device")[0] != op.device.rpartition("/device")[0]
    }
    assert {(a[-1], b[-1]) for a, b in crossing} == {("0", "1"), ("1", "0")}
    assert len(crossing) == 4


def test_shuffles_reduce_on_the_gather_devices(graph):
    ar.build_shuffle_all_reduce(on_devices(values(3, (8,))), ["/cpu:6", "/cpu:7"], tf.add_n)
    assert work(graph, "AddN") == ["/device:CPU:6", "/device:CPU:7"]


def test_other_reductions_than_the_sum():
    arrays = values(4, (5,))
    tensors = on_devices(arrays)
    found = [
        *ar.build_ring_all_reduce(tensors, 1, 1, range(4), tf.maximum),
        *ar.build_recursive_hd_all_reduce(tensors, tf.maximum),
        *ar.build_shuffle_all_reduce(tensors, CPUS[:2], lambda parts: tf.reduce_max(tf.stack(parts), 0)),
    ]
    with tf.Session(config=EIGHT) as session:
        for value in session.run(found):
            np.testing.assert_array_equal(value, np.max(arrays, 0))


def test_reductions_have_gradients():
    tensors = on_devices(values(4, (5,)))
    reduced = ar.build_ring_all_reduce(tensors, 1, 1, range(4), tf.add)
    grads = tf.gradients([each * (index + 1.0) for index, each in enumerate(reduced)], tensors)
    with tf.Session(config=EIGHT) as session:
        for found in session.run(grads):
            np.testing.assert_array_equal(found, [10.0] * 5)


BAD = {
    "at least 2, received 1": lambda t: ar.build_ring_all_reduce(t[:1], 1, 1, [0], tf.add),
    "at least 1, received 0": lambda t: ar.build_nccl_all_reduce([], tf.add),
    "gpu_perm [0, 2]": lambda t: ar.build_ring_all_reduce(t, 2, 1, [0, 2], tf.add),
    "and 4 tensors": lambda t: ar.build_ring_all_reduce(t, 3, 1, [0, 1], tf.add),
    "expected 1 to 2, the devices of a worker, received 3": lambda t: ar.build_ring_all_reduce(t, 2, 3, [0, 1], tf.add),
    "a power of two, received 3": lambda t: ar.build_recursive_hd_all_reduce(t[:3], tf.add),
    "at least one device": lambda t: ar.build_shuffle_all_reduce(t, [], tf.add_n),
    "expected tf.add": lambda t: ar.build_nccl_all_reduce(t, tf.multiply),
    "equal shapes": lambda t: ar.build_recursive_hd_all_reduce([t[0], tf.constant([1.0])], tf.add),
    "one type": lambda t: ar.build_recursive_hd_all_reduce([t[0], tf.constant([1, 2, 3])], tf.add),
    "devices at the workers": lambda t: ar.build_shuffle_then_ring(t, AT_WORKERS[:2], 1, tf.add_n, tf.add),
    "as many at each worker": lambda t: ar.build_shuffle_then_ring(t, AT_WORKERS[:3], 1, tf.add_n, tf.add),
}


@pytest.mark.parametrize("words", BAD)
def test_what_cannot_be_reduced_is_refused(words):
    with pytest.raises(ValueError, match=re.escape(words)):
        BAD[words](on_devices(values(4, (3,)), AT_WORKERS))

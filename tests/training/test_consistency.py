"""Sequential consistency: without it, a step sees half of another step's update; with it, never."""

import itertools
import threading

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster


@pytest.fixture
def cluster():
    started = Cluster("inprocess", ps=2, worker=3)
    yield started
    started.stop()


def _build(make):
    """Two variables at two parameter servers, updated together, one of them with its value slowly computed."""
    with tf.device("/job:ps/task:0"):
        first = tf.get_variable("first", [4], initializer=tf.zeros_initializer(), use_resource=make == "resource")
    with tf.device("/job:ps/task:1"):
        second = tf.get_variable("second", [4], initializer=tf.zeros_initializer(), use_resource=make == "resource")
        work = tf.random_uniform([150, 150])
        for _ in range(10):
            work = tf.matmul(work, work) * 0.01
        slow = tf.ones([4]) + 0.0 * tf.reduce_max(tf.zeros_like(work))
    return first, second, slow


def _seen(cluster, is_consistent, make="reference", rounds=60, reads=11):
    """Returns the differences between two variables that two workers update together, as a third one reads them."""
    done = threading.Event()
    differences, failed = [], []

    def run(index):
        try:
            with tf.Graph().as_default():
                first, second, slow = _build(make)
                if is_consistent:
                    tf.train.experimental.sequential_consistency([first, second])
                updated = first.assign_add(tf.ones([4]))
                late = second.assign_add(slow)
                both = tf.stack([first + 0.0, second + 0.0]) if index == 2 else tf.group(updated, late)
                with tf.Session(cluster.target("worker", index)) as session:
                    if index == 0:
                        session.run(tf.global_variables_initializer())
                        ready.set()
                    ready.wait(20)
                    for number in itertools.count(1):
                        value = session.run(both)
                        if index == 2:
                            differences.append(value[0] - value[1])
                        elif failed or (number >= rounds and len(differences) >= reads):
                            break
                        if done.is_set():
                            break
        except BaseException as error:
            failed.append(error)
        finally:
            if index < 2:
                ended.release()

    ready, ended = threading.Event(), threading.Semaphore(0)
    threads = [threading.Thread(target=run, args=[index]) for index in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        assert ended.acquire(timeout=60)
    done.set()
    for thread in threads:
        thread.join(20)
    assert not failed, failed
    return np.array(differences)


def test_without_it_a_step_sees_half_of_an_update(cluster):
    assert np.any(_seen(cluster, is_consistent=False))


@pytest.mark.parametrize("make", ["reference", "resource"])
def test_with_it_a_step_sees_all_of_an_update_or_nothing(cluster, make):
    differences = _seen(cluster, is_consistent=True, make=make)
    assert not np.any(differences)


def test_checkpoints_are_consistent(cluster, tmp_path):
    stop, ready, saved = threading.Event(), threading.Event(), []

    def update():
        with tf.Graph().as_default():
            first, second, slow = _build("reference")
            tf.train.experimental.sequential_consistency([first, second])
            both = tf.group(first.assign_add(tf.ones([4])), second.assign_add(slow))
            with tf.Session(cluster.target("worker", 0)) as session:
                session.run(tf.global_variables_initializer())
                ready.set()
                while not stop.is_set():
                    session.run(both)

    thread = threading.Thread(target=update)
    thread.start()
    with tf.Graph().as_default():
        first, second, _ = _build("reference")
        tf.train.experimental.sequential_consistency([first, second])
        saver = tf.train.Saver([first, second])
        with tf.Session(cluster.target("worker", 1)) as session:
            ready.wait(20)
            for number in range(10):
                path = saver.save(session, str(tmp_path / "model"), number, write_meta_graph=False)
                reader = tf.train.load_checkpoint(path)
                saved.append(reader.get_tensor("first")[0] - reader.get_tensor("second")[0])
    stop.set()
    thread.join(20)
    assert not np.any(saved)


def test_a_step_that_reads_updates_and_reads_again():
    first, second = tf.Variable(1.0), tf.Variable(2.0)
    tf.train.experimental.sequential_consistency([first, second])
    total = first + second
    with tf.control_dependencies([first.assign_add(total), second.assign_add(total)]):
        again = tf.identity(first.read_value() * second.read_value())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([total, again]) == [3.0, 20.0]
        assert session.run(first) == 4.0


def test_a_failed_step_releases_its_lock():
    variable = tf.Variable(1.0)
    tf.train.experimental.sequential_consistency([variable])
    wrong = variable.assign_add(tf.check_numerics(tf.log(variable - 2.0), "wrong"))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="wrong"):
                session.run(wrong)
        assert session.run(variable.assign_add(1.0)) == 2.0


def test_loops_and_branches():
    total, limit = tf.Variable(0), tf.Variable(5)
    tf.train.experimental.sequential_consistency([total, limit])

    def body(i):
        with tf.control_dependencies([total.assign_add(i)]):
            return i + 1

    counted = tf.while_loop(lambda i: i < limit, body, [0])
    updated = tf.cond(limit > 3, lambda: tf.group(total.assign_add(100)), lambda: tf.no_op())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(counted) == 5
        session.run(updated)
        assert session.run(total) == 110


def test_bad_arguments():
    with pytest.raises(TypeError, match="expected variables"):
        tf.train.experimental.sequential_consistency([tf.constant(1.0)])


@pytest.mark.parametrize("mark", ["atomic_updates", "sequential_consistency"])
def test_a_step_that_fails_changes_nothing(cluster, mark):
    first, second, _ = _build("resource")
    third = tf.get_variable("third", [], tf.string, initializer=tf.constant_initializer("before"))
    getattr(tf.train.experimental, mark)([first, second, third])
    limit = tf.placeholder(tf.float32, [])
    updates = [first.assign_add(tf.ones([4])), third.assign("after")]
    with tf.control_dependencies(updates):
        allowed = tf.assert_less(tf.reduce_sum(first.read_value()), limit)
    with tf.control_dependencies([allowed]):
        both = tf.group(*updates, second.assign_add(tf.ones([4])))
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        session.run(both, {limit: 100.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="less"):
            session.run(both, {limit: 8.0})
        assert [value.tolist() for value in session.run([first, second])] == [[1.0] * 4] * 2
        assert session.run(third) == b"after"


def test_variables_stay_uninitialized_if_their_initialization_fails(cluster):
    first, second, _ = _build("resource")
    tf.train.experimental.atomic_updates([first, second])
    wrong = second.assign(tf.check_numerics(tf.log([-1.0] * 4), "wrong"))
    with tf.Session(cluster.target("worker")) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="wrong"):
            session.run([first.initializer, wrong])
        assert session.run(tf.report_uninitialized_variables()).tolist() == [b"first", b"second"]


def test_variables_of_several_calls_have_one_lock(cluster):
    first, second, _ = _build("resource")
    tf.train.experimental.atomic_updates([second])
    tf.train.experimental.sequential_consistency([first])
    graph = tf.get_default_graph()
    devices = {op.get_attr("_lock_device") for op in graph.get_operations() if "_lock_device" in op.node_def.attr}
    assert devices == {b"/job:ps/task:0"}


def test_the_order_of_updates_of_different_variables_costs_no_message(cluster):
    first, second, _ = _build("resource")
    tf.train.experimental.atomic_updates([first, second])
    with tf.control_dependencies([first.assign_add(tf.ones([4]))]):
        last = second.assign_add(2.0 * tf.ones([4]), read_value=False)
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        session.run(last, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
        assert session.run(second).tolist() == [2.0] * 4
    sent = [node.name for graph in metadata.partition_graphs for node in graph.node if node.op == "_Send"]
    assert not [name for name in sent if "AssignAdd" in name]


def test_updates_that_read_what_others_have_written_keep_their_order(cluster):
    first, second, _ = _build("resource")
    tf.train.experimental.atomic_updates([first, second])
    with tf.control_dependencies([first.assign_add(tf.ones([4]))]):
        copied = second.assign(first.read_value())
    with tf.control_dependencies([copied]):
        last = first.assign_add(10.0 * second.read_value())
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        session.run(last.op)
        assert [value.tolist() for value in session.run([first, second])] == [[11.0] * 4, [1.0] * 4]


def test_a_loop_that_updates_at_two_tasks_is_whole(cluster):
    first, second, _ = _build("resource")
    tf.train.experimental.atomic_updates([first, second])
    last = tf.placeholder(tf.float32, [])

    def body(i):
        with tf.control_dependencies([first.assign_add(tf.ones([4])), second.assign_add(tf.ones([4]))]):
            return tf.check_numerics(tf.where(i < last, i + 1.0, tf.log(-1.0)), "too many")

    looped = tf.while_loop(lambda i: i < 5.0, body, [0.0])
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(looped, {last: 10.0}) == 5.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="too many"):
            session.run(looped, {last: 2.0})
        assert [value.tolist() for value in session.run([first, second])] == [[5.0] * 4] * 2


def _follows(cluster, fetch, last, first):
    """Returns whether an operation of a step waits for another one, within the partition that has both."""
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        session.run(fetch, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    nodes = {node.name: node for graph in metadata.partition_graphs for node in graph.node}
    waits, stack = set(), [last.name]
    while stack:
        for name in nodes[stack.pop()].input:
            name = name.lstrip("^").partition(":")[0]
            if name not in waits:
                waits.add(name)
                stack.append(name)
    return first.name in waits


def test_updates_of_one_variable_keep_their_order_past_those_of_others(cluster):
    first, second, _ = _build("resource")
    tf.train.experimental.atomic_updates([first, second])
    one = first.assign(tf.ones([4]), read_value=False)
    with tf.control_dependencies([one]):
        other = second.assign(tf.ones([4]), read_value=False)
    with tf.control_dependencies([other]):
        three = first.assign(3.0 * tf.ones([4]), read_value=False)
    assert _follows(cluster, three, three, one)
    assert not _follows(cluster, three, other, one)


def test_an_update_stays_after_a_read_that_an_update_of_another_variable_uses(cluster):
    first, second, _ = _build("resource")
    tf.train.experimental.atomic_updates([first, second])
    with tf.control_dependencies([second.assign(tf.ones([4]), read_value=False)]):
        read = second.read_value()
    user, fives = first.assign(read, read_value=False), tf.constant([5.0] * 4)
    with tf.control_dependencies([user]):
        last = second.assign(fives, read_value=False)
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        session.run(last, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
        assert [value.tolist() for value in session.run([first, second])] == [[1.0] * 4, [5.0] * 4]
    nodes = {node.name: node for graph in metadata.partition_graphs for node in graph.node}
    assert any(f"^{user.name}/" in name for name in nodes[last.name].input)

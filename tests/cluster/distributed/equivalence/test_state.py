"""Queues, tables, accumulators and other state at parameter servers, and updates of variables there."""

import threading

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.equivalence.comparison import LARGE, Step, check, target_of


def test_queues_at_a_parameter_server(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            fifo = tf.FIFOQueue(10, [tf.float32, tf.string], [[2], []])
            padding = tf.PaddingFIFOQueue(10, [tf.int32], [[None]])
            priority = tf.PriorityQueue(10, [tf.string], [[]])
        with tf.device(tasks.worker1):
            value = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        put = fifo.enqueue_many([value, ["a", "b", "c"]])
        one, two = fifo.dequeue(), fifo.dequeue_up_to(5)
        pad = [padding.enqueue([[1, 2, 3]]), padding.enqueue([[4]])]
        padded = padding.dequeue_many(2)
        ranked = priority.enqueue_many([np.array([3, 1, 2], np.int64), ["third", "first", "second"]])
        best = priority.dequeue_many(3)
        with tf.device(tasks.worker):
            shifted = one[0] + 1.0
        yield put
        yield [shifted, one[1]]
        yield fifo.size()
        yield fifo.close()
        yield two
        yield one  # closed and empty
        yield put  # closed
        yield [pad[0]]
        yield pad[1]
        yield padded
        yield ranked
        yield best

    check(program, cluster)


def test_a_dequeue_waits_for_an_enqueue_of_another_session(cluster):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(2, [tf.int32], [[]], shared_name="handed")
    fed = tf.placeholder(tf.int32, [])
    put, get = queue.enqueue([fed]), queue.dequeue()
    with tf.device("/job:worker/task:1"):
        doubled = get * 2
    with tf.Session(target_of(cluster)) as one, tf.Session(target_of(cluster, "worker", 1)) as two:
        found = []
        thread = threading.Thread(target=lambda: found.extend(one.run(doubled) for _ in range(3)))
        thread.start()
        for number in (5, 6, 7):
            two.run(put, {fed: number})
        thread.join(30)
        assert found == [10, 12, 14]
        two.run([put, queue.size()], {fed: 1})
        two.run(put, {fed: 2})
        with pytest.raises(tf.errors.DeadlineExceededError):
            two.run(put, {fed: 3}, options=tf.RunOptions(timeout_in_ms=300))
        assert one.run(queue.size()) == 2


def test_closing_a_queue_ends_a_dequeue_that_waits(cluster):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(2, [tf.int32], [[]], shared_name="ends")
    get = queue.dequeue()
    started, ended = threading.Event(), []

    def wait(session):
        started.set()
        try:
            session.run(get)
        except tf.errors.OpError as error:
            ended.append(type(error))

    with tf.Session(target_of(cluster)) as one, tf.Session(target_of(cluster, "worker", 1)) as two:
        thread = threading.Thread(target=wait, args=(one,))
        thread.start()
        started.wait(10)
        two.run(queue.close(cancel_pending_enqueues=True))
        thread.join(30)
        assert ended == [tf.errors.OutOfRangeError]


def test_a_queue_runner_fills_a_queue_at_a_parameter_server(cluster):
    with tf.device("/job:ps/task:1"):
        queue = tf.FIFOQueue(4, [tf.int64], [[]])
        count = tf.Variable(0, dtype=tf.int64, use_resource=True)
    with tf.device("/job:worker/task:0"):
        put = queue.enqueue([count.assign_add(1)])
        total = tf.reduce_sum(queue.dequeue_many(5))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [put]))
    with tf.Session(target_of(cluster)) as session:
        session.run(tf.global_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert [session.run(total) for _ in range(3)] == [15, 40, 65]
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=30)


def test_barriers_stacks_and_staging_areas(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            staging = tf.contrib.staging.StagingArea([tf.float32, tf.int32])
            barrier = tf.raw_ops.Barrier(component_types=[tf.float32], shapes=[[]], shared_name="barrier")
            stack = tf.raw_ops.StackV2(max_size=5, elem_type=tf.float32)
            pushed = tf.raw_ops.StackPushV2(handle=stack, elem=[1.0, 2.0])
            with tf.control_dependencies([pushed]):
                popped = tf.raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
            insert = tf.raw_ops.BarrierInsertMany(handle=barrier, keys=["x", "y"], values=[3.0, 4.0], component_index=0)
            take = tf.raw_ops.BarrierTakeMany(handle=barrier, num_elements=2, component_types=[tf.float32])
        with tf.device(tasks.worker1):
            value = tf.range(3.0)
        put = staging.put([value, tf.constant([7])])
        with tf.device(tasks.worker):
            sum_popped = tf.reduce_sum(popped)
        yield put
        yield staging.size()
        yield staging.get()
        yield insert
        yield take
        yield sum_popped

    check(program, cluster)


def test_accumulators_at_a_parameter_server(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            dense = tf.ConditionalAccumulator(tf.float32, [2], shared_name="dense")
            sparse = tf.SparseConditionalAccumulator(tf.float32, [None, 2], shared_name="sparse")
        applied = []
        for number, device in enumerate((tasks.worker, tasks.worker1)):
            with tf.device(device):
                gradient = tf.constant([1.0, 3.0]) * (number + 1.0)
                slices = tf.IndexedSlices(
                    gradient[None] + 1.0, tf.constant([number], tf.int64), tf.constant([3, 2], tf.int64)
                )
            applied.append(dense.apply_grad(gradient, local_step=0))
            applied.append(sparse.apply_indexed_slices_grad(slices, local_step=0))
        with tf.device(tasks.worker):
            mean = dense.take_grad(2) * 10.0
        yield applied
        yield [dense.num_accumulated(), sparse.num_accumulated()]
        yield mean
        yield sparse.take_indexed_slices_grad(2)
        yield dense.set_global_step(5)
        yield applied[0]  # stale
        yield dense.num_accumulated()

    check(program, cluster)


def test_tables_at_a_parameter_server(cluster, tmp_path):
    (tmp_path / "words.txt").write_text("zero\none\ntwo\n")

    def program(tasks):
        with tf.device(tasks.ps):
            table = tf.contrib.lookup.HashTable(
                tf.contrib.lookup.KeyValueTensorInitializer(["a", "b"], np.array([10, 20], np.int64)), -1
            )
            mutable = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
            dense = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, -1, deleted_key=-2)
        with tf.device(tasks.worker1):
            keys = tf.placeholder(tf.string, [None])
            numbers = tf.constant([1, 5], tf.int64)
        found = table.lookup(keys)
        yield Step(found, {keys: ["a"]})  # not initialized
        yield tf.tables_initializer()
        yield Step(found, {keys: ["b", "c", "a"]})
        yield mutable.insert(numbers, [[1.0, 2.0], [3.0, 4.0]])
        yield [mutable.lookup(numbers), mutable.size()]
        yield dense.insert(numbers, numbers * 2)
        yield [dense.lookup(numbers), dense.size()]

    check(program, cluster)


@pytest.mark.parametrize("use_resource", [False, True])
def test_sparse_updates_of_variables(cluster, use_resource):
    def program(tasks):
        with tf.device(tasks.ps):
            table = tf.Variable(tf.zeros([5, 3]), use_resource=use_resource)
            large = tf.Variable(tf.zeros([LARGE]), use_resource=use_resource)
            index = tf.Variable([0, 0, 0], use_resource=use_resource)
        with tf.device(tasks.worker1):
            rows = tf.constant([4, 1])
            values = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            slices = tf.IndexedSlices(values, rows)
            pushed = tf.ones([LARGE])
        yield tf.global_variables_initializer()
        yield tf.scatter_add(table, rows, values)
        yield tf.scatter_update(table, rows, values * 2.0)
        yield tf.scatter_sub(table, rows, values * 0.5)
        yield tf.scatter_mul(table, rows, values)
        yield tf.scatter_nd_add(table, [[0, 1], [2, 2]], [7.0, 8.0])
        yield table.scatter_sub(slices)
        yield tf.scatter_add(table, [9], values[:1])  # out of range
        yield large.assign_add(pushed)
        yield large.assign_sub(pushed * 3.0)
        yield tf.reduce_sum(large)
        yield index[1:].assign([4, 5]) if not use_resource else index.assign([0, 4, 5])
        yield [table, index, tf.gather(table, index)]

    check(program, cluster)


def test_embeddings_over_partitioned_tables(cluster):
    def program(tasks):
        setter = tf.train.replica_device_setter(ps_tasks=2, worker_device=tasks.worker) if tasks.ps else ""
        ids = tf.placeholder(tf.int64, [None])
        with tf.device(setter):
            tables = {
                strategy: tf.get_variable(
                    strategy, [10, 4], initializer=tf.random_uniform_initializer(seed=4),
                    partitioner=tf.fixed_size_partitioner(3),
                )
                for strategy in ("mod", "div")
            }  # fmt: skip
            rows = [tf.nn.embedding_lookup(table, ids, strategy) for strategy, table in tables.items()]
            sparse = tf.SparseTensor([[0, 0], [0, 2], [1, 0]], tf.constant([3, 9, 5], tf.int64), [2, 3])
            combined = tf.nn.embedding_lookup_sparse(tables["mod"], sparse, None, combiner="mean")
            loss = tf.add_n([tf.reduce_sum(tf.square(row)) for row in rows]) + tf.reduce_sum(combined)
            train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        yield tf.global_variables_initializer()
        for batch in ([1, 2, 9], [0, 0, 5], []):
            yield Step([rows, combined, loss], {ids: batch})
            yield Step(train, {ids: batch})
        yield [tf.convert_to_tensor(table) for table in tables.values()]

    check(program, cluster)


def test_variables_that_start_from_others(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            first = tf.Variable(tf.random_normal([3], seed=5))
        with tf.device(tasks.ps1):
            second = tf.Variable(first.initialized_value() * 2.0)
            local = tf.Variable([1, 2], collections=[tf.GraphKeys.LOCAL_VARIABLES])
        yield tf.report_uninitialized_variables()
        yield tf.global_variables_initializer()
        yield tf.report_uninitialized_variables()
        yield tf.local_variables_initializer()
        yield [first, second, local, tf.report_uninitialized_variables()]
        yield tf.assign_add(local, [1, 1])

    check(program, cluster)


def test_readers_at_another_task_that_allows_them(start_cluster, tmp_path, monkeypatch):
    path = tmp_path / "lines.txt"
    path.write_text("one\ntwo\nthree\n")

    def program(tasks):
        with tf.device(tasks.ps):
            names = tf.FIFOQueue(2, [tf.string], [[]])
            key, line = tf.TextLineReader().read(names)
            content = tf.read_file(str(path))
        yield names.enqueue([str(path)])
        yield names.close()
        for _ in range(4):
            yield [key, line]
        yield content

    monkeypatch.setenv("THALWEG_CLUSTER_ALLOW", "files")
    check(program, start_cluster(ps=1, worker=1))


def test_files_and_python_functions_at_another_task_are_refused(cluster):
    if cluster.transport == "inprocess":
        pytest.skip("all tasks are this process")
    with tf.device("/job:ps/task:0"):
        content = tf.read_file("any")
        value = tf.py_func(lambda: np.float32(1.0), [], tf.float32)
    with tf.Session(target_of(cluster)) as session:
        with pytest.raises(tf.errors.PermissionDeniedError, match="THALWEG_CLUSTER_ALLOW="):
            session.run(content)
        with pytest.raises((tf.errors.PermissionDeniedError, tf.errors.InvalidArgumentError)):
            session.run(value)


def test_random_numbers_of_an_op_continue_from_step_to_step(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            uniform = tf.random_uniform([4], seed=1)
        with tf.device(tasks.worker1):
            normal = tf.random_normal([4])
            shuffled = tf.random_shuffle(tf.range(10), seed=2)
        with tf.device(tasks.worker):
            dropped = tf.nn.dropout(tf.ones([20]), 0.5, seed=3)
        for _ in range(3):
            yield [uniform, normal, shuffled, dropped]

    check(program, cluster)

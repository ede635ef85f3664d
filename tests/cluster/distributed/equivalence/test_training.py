"""Training with variables at parameter servers: optimizers, savers, summaries, input pipelines."""

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.equivalence.comparison import Step, Tasks, assert_equal, check, outcomes, target_of

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
}


def _setter(tasks, **options):
    """Returns the device function of a between-graph program."""
    return tf.train.replica_device_setter(ps_tasks=2, worker_device=tasks.worker, **options) if tasks.ps else ""


def _data():
    numbers = np.random.RandomState(0)
    return numbers.rand(16, 8).astype(np.float32), numbers.randint(0, 3, 16).astype(np.int64)


def _require_the_process_of_the_session(cluster):
    if cluster.transport == "client":
        pytest.skip("a dataset is an object of the process that made it")


@pytest.mark.parametrize("use_resource", [False, True])
def test_optimizers_with_variables_at_parameter_servers(cluster, use_resource):
    images, labels = _data()

    def program(tasks):
        with tf.device(_setter(tasks)), tf.variable_scope("model", use_resource=use_resource):
            x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.int64, [None])
            step = tf.train.get_or_create_global_step()
            hidden = tf.layers.dense(x, 6, tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
            logits = tf.layers.dense(hidden, 3, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
            loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
            trains = [make().minimize(loss, step) for make in OPTIMIZERS.values()]
        yield tf.global_variables_initializer()
        for train in trains:
            for _ in range(2):
                yield Step([loss, train, step], {x: images, y: labels})
        yield tf.trainable_variables()

    check(program, cluster)


@pytest.mark.parametrize("use_resource", [False, True])
def test_sparse_gradients_at_parameter_servers(cluster, use_resource):
    def program(tasks):
        with tf.device(_setter(tasks)), tf.variable_scope("model", use_resource=use_resource):
            ids = tf.placeholder(tf.int32, [None])
            table = tf.get_variable("table", [50, 4], initializer=tf.random_uniform_initializer(seed=1))
            loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids) - 1.0))
            trains = [make().minimize(loss) for make in OPTIMIZERS.values()]
        yield tf.global_variables_initializer()
        for train in trains:
            for batch in ([3, 7, 3], [49]):
                yield Step([loss, train], {ids: batch})
        yield table

    check(program, cluster)


def test_clipped_gradients_moving_averages_and_schedules(cluster):
    images, _ = _data()

    def program(tasks):
        with tf.device(_setter(tasks)):
            step = tf.train.get_or_create_global_step()
            x = tf.constant(images)
            w = tf.get_variable("w", [8, 2], initializer=tf.random_normal_initializer(seed=1))
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
            rate = tf.train.exponential_decay(0.5, step, 2, 0.5, staircase=True)
            optimizer = tf.train.GradientDescentOptimizer(rate)
            gradients, variables = zip(*optimizer.compute_gradients(loss))
            clipped, norm = tf.clip_by_global_norm(gradients, 0.5)
            train = optimizer.apply_gradients(zip(clipped, variables), step)
            averages = tf.train.ExponentialMovingAverage(0.9, step)
            with tf.control_dependencies([train]):
                train = averages.apply([w])
        yield tf.global_variables_initializer()
        for _ in range(4):
            yield [train, rate, norm]
            yield [loss, averages.average(w), step]

    check(program, cluster)


def test_batch_normalization_and_metrics(cluster):
    images, labels = _data()

    def program(tasks):
        with tf.device(_setter(tasks)):
            x = tf.layers.batch_normalization(tf.constant(images), training=True)
            accuracy, update = tf.metrics.accuracy(labels, tf.argmax(x[:, :3], 1))
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                out = tf.identity(x)
        yield [tf.global_variables_initializer(), tf.local_variables_initializer()]
        for _ in range(2):
            yield [out, update]
        yield [accuracy, tf.global_variables()]

    check(program, cluster)


@pytest.mark.parametrize("sharded", [False, True])
def test_checkpoints_are_exchanged_with_a_plain_session(cluster, tmp_path, sharded):
    def build(tasks):
        with tf.device(_setter(tasks)):
            variables = [tf.get_variable(f"v{i}", [5, i + 1]) for i in range(4)]
            table = tf.get_variable("table", [10, 3], partitioner=tf.fixed_size_partitioner(2))
            tf.get_variable("word", initializer=tf.constant(["a", "b"]), trainable=False)
            tf.train.get_or_create_global_step()
            saver = tf.train.Saver(sharded=sharded)
        return [*variables, tf.convert_to_tensor(table)], saver

    def save(target, tasks, path):
        with tf.Graph().as_default(), tf.Session(target) as session:
            values, saver = build(tasks)
            session.run(tf.global_variables_initializer())
            return saver.save(session, path, global_step=3), session.run(values)

    def restore(target, tasks, path):
        with tf.Graph().as_default(), tf.Session(target) as session:
            values, saver = build(tasks)
            saver.restore(session, path)
            return session.run(values)

    here, there = ("", Tasks()), (target_of(cluster), Tasks.of_cluster())
    for writer, reader in ((there, here), (here, there), (there, there)):
        path, values = save(*writer, str(tmp_path / "model"))
        assert_equal(restore(*reader, path), values)
    with tf.Graph().as_default(), tf.Session(there[0]) as session:
        _, saver = build(there[1])
        with pytest.raises((tf.errors.NotFoundError, ValueError)):
            saver.restore(session, str(tmp_path / "missing"))


def test_summaries_of_values_at_other_tasks(cluster):
    def program(tasks):
        with tf.device(_setter(tasks)):
            weight = tf.get_variable("w", [3], initializer=tf.ones_initializer())
            tf.summary.scalar("sum", tf.reduce_sum(weight))
            tf.summary.histogram("weights", weight)
            with tf.device(tasks.ps1):
                tf.summary.scalar("more", weight[0] * 2.0)
            merged = tf.summary.merge_all()
        yield tf.global_variables_initializer()
        yield merged

    check(program, cluster)


def test_input_pipelines_at_the_task_of_the_session(cluster):
    _require_the_process_of_the_session(cluster)

    def program(tasks):
        with tf.device(tasks.worker):
            numbers = tf.data.Dataset.range(10).shuffle(10, seed=1).batch(4)
            initializable = numbers.make_initializable_iterator()
            batch = initializable.get_next()
            once = tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": ["x", "y"]}).make_one_shot_iterator()
            element = once.get_next()
        with tf.device(tasks.ps):
            total = tf.Variable(0, dtype=tf.int64, use_resource=True)
            add = total.assign_add(tf.reduce_sum(batch))
        yield batch  # not initialized
        yield [initializable.initializer, total.initializer]
        for _ in range(4):
            yield [batch, add]
        yield total
        for _ in range(3):
            yield element

    check(program, cluster)


def test_functions_of_datasets_at_the_task_of_the_session(cluster):
    _require_the_process_of_the_session(cluster)

    def program(tasks):
        with tf.device(tasks.worker):
            squares = tf.data.Dataset.range(5).map(lambda n: n * n).filter(lambda n: n > 0).repeat(2).batch(3)
            element = squares.make_one_shot_iterator().get_next()
        with tf.device(tasks.ps):
            doubled = element * 2
        for _ in range(4):
            yield doubled

    check(program, cluster)


def test_asynchronous_workers_share_variables(cluster):
    """Two graphs of two workers update the same variables; sums do not depend on the order."""
    sessions = []
    for index in range(2):
        with tf.Graph().as_default():
            device = f"/job:worker/task:{index}"
            with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device=device)):
                step = tf.train.get_or_create_global_step()
                w = tf.get_variable("w", [2, 2], initializer=tf.zeros_initializer())
                loss = tf.reduce_sum(w * (index + 1.0))
                train = tf.train.GradientDescentOptimizer(1.0).minimize(loss, step)
                initialize = tf.global_variables_initializer()
            sessions.append((tf.Session(target_of(cluster, "worker", index)), initialize, train, w, step))
    sessions[0][0].run(sessions[0][1])
    for _ in range(5):
        for session, _, train, _, _ in sessions:
            session.run(train)
    for session, _, _, w, step in sessions:
        values, count = session.run([w, step])
        np.testing.assert_array_equal(values, np.full((2, 2), -15.0))
        assert count == 10
        session.close()


def test_a_monitored_session_trains(cluster, tmp_path):
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:0")):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(w)), step)
    hooks = [tf.train.StopAtStepHook(last_step=5)]
    with tf.train.MonitoredTrainingSession(
        target_of(cluster), is_chief=True, checkpoint_dir=str(tmp_path), hooks=hooks, log_step_count_steps=None
    ) as session:
        while not session.should_stop():
            session.run(train)
    tf.summary.FileWriterCache.clear()
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-5")
    np.testing.assert_allclose(tf.train.load_variable(str(tmp_path), "w"), np.full(2, 0.8**5), rtol=1e-6)


def test_the_same_program_twice_gives_the_same_numbers(cluster):
    def program(tasks):
        with tf.device(_setter(tasks)):
            w = tf.get_variable("w", [20, 20], initializer=tf.truncated_normal_initializer())
            noise = w + tf.random_normal([20, 20])
        yield tf.global_variables_initializer()
        yield [noise, w]

    first = outcomes(program, target_of(cluster), Tasks.of_cluster())
    tf.Session.reset(target_of(cluster))
    assert_equal(outcomes(program, target_of(cluster), Tasks.of_cluster()), first)

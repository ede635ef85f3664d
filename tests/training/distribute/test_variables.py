"""Distributed variables: copies, how they are read and written, in and outside of replicas."""

import numpy as np
import pytest

import thalweg as tf
from tests.training.distribute.programs import TWO, mirrored, session

SUM, MEAN, FIRST = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN, tf.VariableAggregation.ONLY_FIRST_REPLICA
ON_READ = tf.VariableSynchronization.ON_READ


def replica_number():
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def copies_after(strategy, variable, update):
    """Returns the copies of a variable after its initialization and an update."""
    with session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        sess.run(strategy.experimental_local_results(update))
        return [sess.run(copy).tolist() for copy in variable.values]


def test_a_mirrored_variable_has_a_copy_on_each_device():
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0], name="v")
        with tf.variable_scope("scope"), tf.name_scope("other"):
            local = tf.get_local_variable("w", [2], initializer=tf.random_normal_initializer())
    assert [v.name for v in variable.values] == ["v:0", "v/replica_1:0"]
    assert [v.name for v in local.values] == ["scope/w:0", "scope/w/replica_1:0"]
    assert [v.device for v in variable.values] == list(strategy.extended.worker_devices) == list(variable.devices)
    assert variable.name == "v:0" and variable.shape == (2,) and variable.dtype == tf.float32 and variable.trainable
    assert isinstance(variable, tf.Variable) and variable.distribute_strategy is strategy
    assert tf.global_variables() == tf.trainable_variables() == [variable] and tf.local_variables() == [local]
    assert strategy.extended.variable_created_in_scope(variable)
    assert strategy.extended.value_container(variable.values[1]) is variable
    assert "v/replica_1:0" in repr(variable)
    with session() as sess:
        assert b"v" in sess.run(tf.report_uninitialized_variables())
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        assert not len(sess.run(tf.report_uninitialized_variables()))
        first, second = (sess.run(copy) for copy in local.values)
        np.testing.assert_array_equal(first, second)  # drawn once
        variable.load([5.0, 6.0], sess)
        assert sess.run(variable.values[1]).tolist() == [5.0, 6.0]
        assert sess.run(variable * 2).tolist() == [10.0, 12.0]


def test_a_replica_reads_its_own_copy():
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0])
        reads = strategy.experimental_run_v2(
            lambda: [variable.read_value(), variable.value(), variable + 0.0, variable.sparse_read([1]), variable[0]]
        )
    for read in reads:
        assert [tensor.device for tensor in read.values] == list(strategy.extended.worker_devices)
    handles = strategy.experimental_run_v2(lambda: variable.handle)
    assert handles.values == tuple(copy.handle for copy in variable.values)


def test_replicas_create_the_same_variables():
    strategy = mirrored()

    def step():
        with tf.variable_scope("a"):
            found = [tf.get_variable("x", []), tf.Variable(1.0, name="y"), tf.Variable(2.0), tf.get_variable("z", [])]
        return [*found, tf.Variable(3.0, name="y")]

    with strategy.scope():
        found = strategy.experimental_run_v2(step)
    assert [v.name for v in found] == ["a/x:0", "a/y:0", "a/Variable:0", "a/z:0", "y:0"]
    assert tf.global_variables() == found

    def different():
        if tf.distribute.get_replica_context().devices[0].endswith("CPU:1"):
            tf.Variable(1.0, name="more")

    with pytest.raises(RuntimeError, match="'more', which replica 0 does not"):
        strategy.experimental_run_v2(different)


@pytest.mark.parametrize(
    ("aggregation", "expected"), [(SUM, 11.0 + 3.0), (MEAN, 11.0 + 1.5), (FIRST, 11.0 + 1.0)], ids=str
)
def test_updates_in_replicas_are_aggregated(aggregation, expected):
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable(11.0, aggregation=aggregation)
        update = strategy.experimental_run_v2(lambda: variable.assign_add(1.0 + replica_number()))
    assert copies_after(strategy, variable, update) == [expected, expected]


def test_an_update_in_replicas_needs_an_aggregation():
    strategy = mirrored()
    with strategy.scope():
        plain, summed = tf.Variable(1.0), tf.Variable([1.0, 2.0], aggregation=SUM)
    with pytest.raises(ValueError, match="create it with aggregation="):
        strategy.experimental_run_v2(lambda: plain.assign(2.0))
    with pytest.raises(NotImplementedError, match="use merge_call"):
        strategy.experimental_run_v2(lambda: tf.scatter_add(summed, [0], [replica_number()]))


def test_writes_outside_of_replicas_reach_all_copies():
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0])
        update = tf.group(tf.scatter_add(variable, [0], [1.0]), tf.assign_add(variable, [0.0, 5.0]))
    assert copies_after(strategy, variable, update) == [[2.0, 7.0]] * 2


def test_an_update_returns_the_value_after_all_writes():
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable(1.0, aggregation=FIRST)
        values = strategy.experimental_run_v2(lambda: variable.assign_add(2.0))
        outside = variable.assign_add(10.0)
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(values.values[1]) == 3.0
        assert [sess.run(copy) for copy in variable.values] == [3.0, 3.0]
        assert sess.run(outside) == 13.0
        assert sess.run(variable.values[1]) == 13.0


def test_update_calls_a_function_per_copy():
    strategy = mirrored()
    with strategy.scope():
        variable, slot = tf.Variable(1.0), tf.Variable(5.0)
        value = strategy.extended.broadcast_to(tf.constant(2.0), variable)

        def fn(copy, x, other, scale):
            assert isinstance(x, tf.Tensor) and copy in variable.values and other in slot.values
            return copy.assign(x * scale + slot.read_value())

        grouped = strategy.extended.update(variable, fn, args=(value, slot), kwargs={"scale": 10.0})
        apart = strategy.extended.update(variable, lambda copy: copy.assign_add(1.0), group=False)
    assert len(apart) == 2
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(grouped) == 25.0
        assert [sess.run(copy) for copy in variable.values] == [25.0, 25.0]
        sess.run(apart[1])
        assert [sess.run(copy) for copy in variable.values] == [25.0, 26.0]


@pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 13.0), (MEAN, 6.5), (FIRST, 6.0)], ids=str)
def test_a_variable_synchronized_on_read_is_aggregated_outside_of_replicas(aggregation, expected, tmp_path):
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable(5.0, synchronization=ON_READ, aggregation=aggregation, name="v")
        update = strategy.experimental_run_v2(lambda: variable.assign_add(1.0 + replica_number()))
        inside = strategy.experimental_run_v2(lambda: variable.read_value())
        outside = [variable.value(), variable.read_value(), variable + 0.0, strategy.extended.read_var(variable)]
        assigned = variable.assign(20.0)
        saver = tf.train.Saver()
    assert not variable.trainable and variable.synchronization is ON_READ
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(strategy.unwrap(update))
        assert sess.run(inside.values) == (6.0, 7.0)
        assert sess.run(outside) == [expected] * 4 and sess.run(variable) == expected
        saver.save(sess, str(tmp_path / "m"))
        assert tf.train.load_variable(str(tmp_path / "m"), "v") == expected
        saver.restore(sess, str(tmp_path / "m"))
        assert sess.run(variable) == expected
        sess.run(strategy.unwrap(assigned))
        assert sess.run(variable) == 20.0


def test_the_sum_of_copies_cannot_be_added_to_outside_of_replicas():
    with mirrored().scope():
        variable = tf.Variable(5.0, synchronization=ON_READ, aggregation=SUM)
        with pytest.raises(ValueError, match="can be assigned only"):
            variable.assign_add(1.0)
        with pytest.raises(ValueError, match="cannot be trainable"):
            tf.Variable(1.0, synchronization=ON_READ, trainable=True)
        with pytest.raises(ValueError, match="use ON_WRITE or ON_READ"):
            tf.Variable(1.0, synchronization=tf.VariableSynchronization.NONE)


def test_the_global_step_counts_once_per_step_of_all_replicas():
    strategy = mirrored()
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        update = strategy.experimental_run_v2(lambda: tf.train.get_global_step().assign_add(1))
    assert copies_after(strategy, step, update) == [1, 1]


def test_partitioners_are_left_out():
    with mirrored().scope():
        variable = tf.get_variable("v", [4], partitioner=tf.fixed_size_partitioner(2))
    assert variable.name == "v:0" and variable.shape == (4,)


def test_creators_and_colocation_apply_in_a_scope():
    strategy = tf.distribute.experimental.CentralStorageStrategy(TWO, "/cpu:1")
    names = []

    def creator(next_creator, **kwargs):
        names.append(kwargs["name"])
        return next_creator(**kwargs)

    with strategy.scope(), tf.variable_creator_scope(creator):
        first = tf.Variable(1.0, name="first")
        with strategy.extended.colocate_vars_with(first):
            second = tf.Variable(2.0, name="second")
    assert names == ["first", "second"] and second.device == first.device == "/replica:0/task:0/device:CPU:1"
    outside = tf.Variable(1.0)
    with strategy.scope(), pytest.raises(ValueError, match="not created in the scope"):
        strategy.colocate_vars_with(outside).__enter__()


def test_metrics_are_those_of_all_replicas():
    strategy = mirrored()
    labels, predictions = np.array([0, 1, 1, 0, 1, 1, 0, 1]), np.array([0.1, 0.8, 0.4, 0.7, 0.9, 0.2, 0.3, 0.6])
    metrics = {
        "accuracy": lambda y, p: tf.metrics.accuracy(y, p > 0.5),
        "precision": lambda y, p: tf.metrics.precision(y, p > 0.5),
        "recall": lambda y, p: tf.metrics.recall(y, p > 0.5),
        "auc": lambda y, p: tf.metrics.auc(y, p),
        "mean": lambda y, p: tf.metrics.mean(p),
        "rmse": lambda y, p: tf.metrics.root_mean_squared_error(tf.cast(y, tf.float32), p),
        "mean_iou": lambda y, p: tf.metrics.mean_iou(y, p > 0.5, 2),
        "per_class": lambda y, p: tf.metrics.mean_per_class_accuracy(y, p > 0.5, 2),
        "counts": lambda y, p: tf.metrics.true_positives(y, p > 0.5),
        "at_k": lambda y, p: tf.metrics.recall_at_k(y, tf.stack([1 - p, p], 1), 1),
        "average": lambda y, p: tf.metrics.average_precision_at_k(y[:, None], tf.stack([1 - p, p], 1), 2),
        "thresholds": lambda y, p: tf.metrics.precision_at_thresholds(y, p, [0.5]),
    }

    def evaluate(inputs):
        y, p = inputs
        results = {name: metric(y, tf.cast(p, tf.float32)) for name, metric in metrics.items()}
        tf.metrics.mean(p, metrics_collections=["values"], updates_collections=["updates"])
        return results

    def values(strategy):
        with tf.Graph().as_default(), strategy.scope():
            dataset = tf.data.Dataset.from_tensor_slices((labels, predictions)).batch(4)
            iterator = strategy.make_dataset_iterator(dataset)
            results = strategy.experimental_run(evaluate, iterator)
            updates = [strategy.experimental_local_results(update) for _, update in results.values()]
            assert len(tf.get_collection("values")) == 1
            assert len(tf.get_collection("updates")) == strategy.num_replicas_in_sync
            with session() as sess:
                sess.run([tf.local_variables_initializer(), iterator.initializer])
                for _ in range(2):
                    sess.run(updates)
                return {name: sess.run(value) for name, (value, _) in results.items()}

    expected = values(tf.distribute.OneDeviceStrategy("/cpu:0"))
    received = values(strategy)
    for name, value in expected.items():
        np.testing.assert_allclose(received[name], value, rtol=1e-6, err_msg=name)

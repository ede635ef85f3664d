"""Distributed input: batches that are split among replicas, and elements that they take in turn."""

import numpy as np
import pytest

import thalweg as tf
from tests.training.distribute.programs import mirrored, one_device, session


def taken(strategy, iterator, steps=10):
    """Returns what each replica receives in each step until the input ends."""
    received = strategy.experimental_run(lambda x: x, iterator)
    parts = [strategy.experimental_local_results(received)]
    with session() as sess:
        sess.run(iterator.initialize())
        results = []
        for _ in range(steps):
            try:
                results.append([part.tolist() for part in sess.run(parts)[0]])
            except tf.errors.OutOfRangeError:
                break
        return results


@pytest.mark.parametrize("known", [True, False])
def test_a_batch_is_split_among_replicas(known):
    strategy = mirrored()
    dataset = tf.data.Dataset.range(8).batch(4, drop_remainder=known)
    iterator = strategy.make_dataset_iterator(dataset)
    assert taken(strategy, iterator) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


def test_an_iterator_in_the_way_of_python():
    strategy = mirrored()
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(4).batch(2))
        total = strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(next(iter(iterator)),)))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(iterator.initializer)
        assert [session.run(total), session.run(total)] == [1, 5]


def test_a_batch_that_is_too_small_for_all_replicas_is_left_out():
    strategy = mirrored()
    assert taken(strategy, strategy.make_dataset_iterator(tf.data.Dataset.range(7).batch(4))) == [
        [[0, 1], [2, 3]],
        [[4, 5], [6]],
    ]
    assert taken(strategy, strategy.make_dataset_iterator(tf.data.Dataset.range(5).batch(4))) == [[[0, 1], [2, 3]]]


def test_structures_are_split_as_they_are():
    strategy = mirrored()
    dataset = tf.data.Dataset.from_tensor_slices({"x": np.arange(4), "y": (np.arange(8).reshape(4, 2),)}).batch(4)
    iterator = strategy.make_dataset_iterator(dataset)
    received = strategy.experimental_run(lambda inputs: inputs, iterator)
    with session() as sess:
        sess.run(iterator.initializer)
        x, y = sess.run([received["x"].values, received["y"][0].values])
    assert x[1].tolist() == [2, 3] and y[1].tolist() == [[4, 5], [6, 7]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tf.data.Dataset.range(9).batch(3, drop_remainder=True), ValueError, "a batch size of 3"),
        (lambda: tf.data.Dataset.range(4), ValueError, "received a batch size of a scalar"),
        (
            lambda: tf.data.Dataset.from_tensors(tf.SparseTensor([[0, 0]], [1], [4, 4])),
            TypeError,
            "use make_input_fn_iterator",
        ),
    ],
)
def test_elements_must_be_batches_that_can_be_split(make, error, message):
    with pytest.raises(error, match=message):
        mirrored().make_dataset_iterator(make())


def test_an_input_function_makes_elements_that_replicas_take_in_turn():
    strategy, contexts = mirrored(), []

    def input_fn(context):
        contexts.append(context)
        return tf.data.Dataset.range(10).batch(context.get_per_replica_batch_size(4))

    iterator = strategy.make_input_fn_iterator(input_fn)
    assert taken(strategy, iterator)[:2] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert contexts == [tf.distribute.InputContext(1, 0, 2)]
    with pytest.raises(ValueError, match="multiple of the 2 replicas, received 3"):
        contexts[0].get_per_replica_batch_size(3)


def test_an_input_function_may_return_a_function():
    strategy = mirrored()
    counter = tf.get_variable("counter", [], tf.int32, tf.zeros_initializer(), use_resource=True)
    iterator = strategy.make_input_fn_iterator(lambda context: lambda: counter.assign_add(1)[None])
    received = strategy.experimental_run(lambda x: x, iterator)
    with session() as sess:
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        assert sorted(part.tolist() for part in sess.run(received.values)) in ([[1], [2]], [[2], [2]])
    with pytest.raises(ValueError, match="return a dataset or a function"):
        strategy.make_input_fn_iterator(lambda context: 3)
    with pytest.raises(ValueError, match="PER_WORKER"):
        strategy.make_input_fn_iterator(lambda c: None, tf.distribute.InputReplicationMode.PER_REPLICA)


def test_datasets_are_distributed():
    strategy = mirrored()
    dataset = strategy.experimental_make_numpy_dataset((np.arange(8), np.arange(8) * 2.0)).batch(4)
    split = strategy.experimental_distribute_dataset(dataset)
    in_turn = strategy.experimental_distribute_datasets_from_function(lambda context: dataset)
    first, second = split.make_initializable_iterator(), in_turn.make_one_shot_iterator()
    x, y = first.get_next()
    whole = second.get_next()[0]
    assert first.output_types == (tf.int64, tf.float64)
    with pytest.raises(ValueError, match="starts by itself"):
        second.initialize()
    with session() as sess:
        sess.run(first.initializer)
        assert [part.tolist() for part in sess.run([*x.values, y.values[1]])] == [[0, 1], [2, 3], [4.0, 6.0]]
        assert [part.tolist() for part in sess.run(whole.values)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_one_replica_receives_elements_as_they_are():
    strategy = one_device()
    assert taken(strategy, strategy.make_dataset_iterator(tf.data.Dataset.range(3).batch(2))) == [[[0, 1]], [[2]]]


@pytest.mark.parametrize("make", [mirrored, one_device])
def test_several_steps_run_in_one(make):
    strategy = make()
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(40).batch(4).repeat())
        total = tf.Variable(0, dtype=tf.int64, aggregation=tf.VariableAggregation.SUM)

        def step(context, inputs):
            def of_replica(x):
                context.set_last_step_output("sum", tf.reduce_sum(x), tf.distribute.ReduceOp.SUM)
                context.set_non_tensor_output("kind", "sums")
                return total.assign_add(tf.reduce_sum(x), read_value=False)

            return strategy.group(strategy.extended.call_for_each_replica(of_replica, args=(inputs,)))

        start = {"sum": tf.constant(0, tf.int64)}
        steps = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 3, start)
        assert steps.non_tensor_outputs == {"kind": "sums"}
    with session() as sess:
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        assert sess.run([steps.run_op, steps.last_step_outputs["sum"]])[1] == 8 + 9 + 10 + 11
        assert sess.run(total) == sum(range(12))

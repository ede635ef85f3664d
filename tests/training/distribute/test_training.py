"""Training with a strategy gives the variables of training on one device with the whole batch."""

import numpy as np
import pytest

import thalweg as tf
from tests.training.distribute.programs import (
    ROWS,
    TWO,
    X,
    Y,
    assert_equal,
    loss_of,
    mirrored,
    one_device,
    session,
    train,
)

OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_two_replicas_equal_one_device(name):
    expected = train(one_device(), OPTIMIZERS[name])
    assert_equal(train(mirrored(), OPTIMIZERS[name]), expected)
    assert expected[0][-1] < expected[0][0] and expected[1]["global_step"] == 5


def test_one_device_equals_a_program_without_a_strategy():
    received = train(one_device(), OPTIMIZERS["adam"], steps=3)
    x, y = tf.placeholder(tf.float32, [ROWS, 3]), tf.placeholder(tf.float32, [ROWS, 1])
    step, loss = tf.train.get_or_create_global_step(), loss_of(x, y)
    with tf.control_dependencies([tf.train.AdamOptimizer(0.1).minimize(loss, step)]):
        loss = tf.identity(loss)
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        starts = range(0, 3 * ROWS, ROWS)
        losses = [sess.run(loss, {x: X[start : start + ROWS], y: Y[start : start + ROWS]}) for start in starts]
        assert losses == received[0]
        for variable in tf.global_variables():
            np.testing.assert_array_equal(sess.run(variable), received[1][variable.op.name])


@pytest.mark.parametrize("name", ["momentum", "adam"])
@pytest.mark.parametrize("place", TWO)
def test_variables_in_one_place_equal_one_device(name, place):
    strategy = tf.distribute.experimental.CentralStorageStrategy(TWO, place)
    assert_equal(train(strategy, OPTIMIZERS[name], steps=3), train(one_device(), OPTIMIZERS[name], steps=3))


@pytest.mark.parametrize(
    "operations",
    [
        tf.distribute.NcclAllReduce(),
        tf.distribute.HierarchicalCopyAllReduce(),
        tf.distribute.ReductionToOneDevice("/cpu:1"),
        tf.contrib.distribute.AllReduceCrossDeviceOps("nccl"),
    ],
    ids=lambda operations: type(operations).__name__,
)
def test_all_reductions_give_the_same_training(operations):
    received = train(mirrored(cross_device_ops=operations), OPTIMIZERS["momentum"], steps=2)
    assert_equal(received, train(one_device(), OPTIMIZERS["momentum"], steps=2))


def embedded_loss(ids, y):
    table = tf.get_variable("table", [10, 2], initializer=tf.constant_initializer(np.linspace(-1, 1, 20)))
    return tf.reduce_sum((tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1, keepdims=True) - y) ** 2) / ROWS


@pytest.mark.parametrize("operations", [tf.distribute.ReductionToOneDevice, tf.distribute.NcclAllReduce])
def test_sparse_gradients_update_the_rows_of_all_replicas(operations):
    ids = np.arange(40) % 7  # some in both replicas, some in one of them, three in none
    settings = {"loss_of": embedded_loss, "data": (ids, Y), "steps": 3}
    expected = train(one_device(), OPTIMIZERS["momentum"], **settings)
    received = train(mirrored(cross_device_ops=operations()), OPTIMIZERS["momentum"], **settings)
    assert_equal(received, expected)
    np.testing.assert_array_equal(received[1]["table"][7:], np.linspace(-1, 1, 20, dtype=np.float32).reshape(10, 2)[7:])


def test_checkpoints_move_between_strategies(tmp_path):
    """A checkpoint of two replicas is that of one device, and restores all copies."""
    expected = train(one_device(), OPTIMIZERS["adam"], prefix=str(tmp_path / "one"))
    received = train(mirrored(), OPTIMIZERS["adam"], prefix=str(tmp_path / "two"))
    assert tf.train.list_variables(str(tmp_path / "one")) == tf.train.list_variables(str(tmp_path / "two"))
    with mirrored().scope():
        variable = tf.get_variable("dense/kernel", [3, 4])
        moving = tf.Variable(7.0, name="offset")
    saver = tf.train.Saver()
    for prefix, values in (("one", expected[1]), ("two", received[1])):
        with session() as sess:
            saver.restore(sess, str(tmp_path / prefix))
            for copy in variable.values:
                np.testing.assert_array_equal(sess.run(copy), values["dense/kernel"])
            assert sess.run(moving) == values["offset"]


def test_checkpoints_of_objects_move_between_strategies(tmp_path):
    saved = None
    for strategy in (mirrored(), one_device(), mirrored()):
        with tf.Graph().as_default(), strategy.scope():
            weight = tf.Variable([1.0, 2.0], name="w")
            optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
            update = strategy.experimental_run_v2(lambda: optimizer.minimize(tf.reduce_sum(weight**2)))
            checkpoint = tf.train.Checkpoint(weight=weight, optimizer=optimizer)
            with session() as sess:
                if saved is None:
                    sess.run(tf.global_variables_initializer())
                    sess.run(update)
                    saved = checkpoint.save(str(tmp_path / "c"), sess)
                    expected = sess.run([weight, optimizer.get_slot(weight, "momentum")])
                checkpoint.restore(saved).assert_consumed().run_restore_ops(sess)
                slot = optimizer.get_slot(weight, "momentum")
                for copy, slot_copy in zip(weight.values, slot.values):
                    np.testing.assert_array_equal(sess.run([copy, slot_copy]), expected)


def test_init_from_checkpoint_sets_all_copies(tmp_path):
    values = train(one_device(), OPTIMIZERS["descent"], prefix=str(tmp_path / "one"))[1]
    with mirrored().scope():
        variable = tf.get_variable("w", [3, 4])
        tf.train.init_from_checkpoint(str(tmp_path / "one"), {"dense/kernel": "w"})
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        for copy in variable.values:
            np.testing.assert_array_equal(sess.run(copy), values["dense/kernel"])


def test_a_monitored_session_trains_and_resumes(tmp_path):
    strategy = mirrored()
    for steps in (3, 5):
        with tf.Graph().as_default(), strategy.scope():
            iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices((X, Y)).batch(ROWS).repeat())
            step = tf.train.get_or_create_global_step()

            def train_step(inputs):
                return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss_of(*inputs), step)

            train_op = strategy.group(strategy.experimental_run(train_step, iterator))
            scaffold = tf.train.Scaffold(local_init_op=iterator.initializer)
            hooks = [tf.train.StopAtStepHook(last_step=steps)]
            config = tf.ConfigProto(device_count={"CPU": 2})
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), scaffold=scaffold, hooks=hooks, config=config
            ) as sess:
                assert sess.run(step) == (0 if steps == 3 else 3)
                while not sess.should_stop():
                    sess.run(train_op)
    assert tf.train.load_variable(str(tmp_path), "global_step") == 5


def normalized_loss(x, y):
    rows = tf.layers.batch_normalization(x, training=True)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return loss_of(rows, y)


def test_batch_normalization_keeps_averages_per_replica_and_saves_their_mean(tmp_path):
    strategy = mirrored()
    with strategy.scope():
        rows = strategy.make_input_fn_iterator(lambda _: tf.data.Dataset.from_tensor_slices(X).batch(4).repeat())
        layer = tf.layers.BatchNormalization(momentum=0.5)

        def step(x):
            layer(x, training=True)
            return tf.group(*layer.updates[-2:])

        update = strategy.group(strategy.experimental_run(step, rows))
        saver = tf.train.Saver()
    means = [X[4 * index : 4 * index + 4].mean(0) / 2 for index in range(2)]
    with session() as sess:
        sess.run([tf.global_variables_initializer(), rows.initializer])
        sess.run(update)
        for copy, mean in zip(layer.moving_mean.values, means):
            np.testing.assert_allclose(sess.run(copy), mean, rtol=1e-5)
        np.testing.assert_allclose(sess.run(layer.moving_mean), (means[0] + means[1]) / 2, rtol=1e-5)
        saver.save(sess, str(tmp_path / "m"))
        sess.run(tf.global_variables_initializer())
        saver.restore(sess, str(tmp_path / "m"))
        np.testing.assert_allclose(sess.run(layer.moving_mean.values[1]), (means[0] + means[1]) / 2, rtol=1e-5)


def test_batch_normalization_trains():
    losses, variables = train(mirrored(), OPTIMIZERS["descent"], loss_of=normalized_loss)
    assert losses[-1] < losses[0] and "batch_normalization/moving_mean" in variables


@pytest.mark.parametrize("debias", [False, True])
def test_moving_averages_follow_the_mean_of_replicas(debias):
    strategy = mirrored()
    with strategy.scope():
        weight = tf.Variable([1.0], name="w", aggregation=tf.VariableAggregation.MEAN)
        average = tf.train.ExponentialMovingAverage(0.5, zero_debias=debias)

        def step():
            number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            with tf.control_dependencies([weight.assign([2.0 + 2 * number])]):
                return average.apply([weight])

        update = strategy.group(strategy.experimental_run_v2(step))
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(update)
        assert [sess.run(copy) for copy in weight.values] == [3.0, 3.0]
        assert [sess.run(copy) for copy in average.average(weight).values] == [2.0, 2.0]


def test_estimators_train_with_the_mean_of_mean_losses():
    strategy = mirrored()
    strategy._scale_loss_for_estimator = True
    with strategy.scope():
        weight = tf.get_variable("w", [], initializer=tf.ones_initializer())

        def step():
            loss = tf.losses.mean_squared_error([0.0], [weight])
            assert tf.distribute.get_loss_reduction() is tf.distribute.ReduceOp.MEAN
            return tf.train.GradientDescentOptimizer(0.25).minimize(loss)

        update = strategy.experimental_run_v2(step)
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(update)
        assert sess.run(weight) == 0.5


def test_a_dynamic_loss_scale_skips_a_step_that_is_not_finite_in_one_replica():
    strategy = mirrored()
    with strategy.scope():
        weight = tf.get_variable("w", [], initializer=tf.ones_initializer())
        factors = tf.placeholder(tf.float32, [2])
        scale = tf.train.experimental.DynamicLossScale(8.0, increment_period=2)
        optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(0.5), scale)

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return optimizer.minimize(weight * factors[number])

        update = strategy.experimental_run_v2(step)
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(update, {factors: [1.0, np.inf]})
        assert sess.run([weight, weight.values[1], scale._current_loss_scale]) == [1.0, 1.0, 4.0]
        for _ in range(2):
            sess.run(update, {factors: [1.0, 2.0]})
        np.testing.assert_allclose(sess.run(list(weight.values)), [0.0, 0.0], atol=1e-5)
        assert sess.run(scale._current_loss_scale) == 8.0


def test_average_losses_add_up_to_that_of_the_whole_batch():
    strategy = mirrored()
    values, weights = np.arange(8, dtype=np.float32), np.ones(8, np.float32) / 2
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors((values, weights)))

        def losses(inputs):
            x, w = inputs
            return (
                tf.nn.compute_average_loss(x, w),
                tf.nn.compute_average_loss(x, global_batch_size=16),
                tf.nn.scale_regularization_loss([3.0, 5.0]),
            )

        totals = [strategy.reduce("SUM", loss) for loss in strategy.experimental_run(losses, iterator)]
        with pytest.raises(RuntimeError, match="in the function of a replica"):
            tf.nn.compute_average_loss([1.0])
    with session() as sess:
        sess.run(iterator.initializer)
        assert sess.run(totals) == [28 / 8 / 2, 28 / 16, 8.0]


def test_the_first_replica_writes_summaries():
    strategy = mirrored()
    with strategy.scope():
        strategy.experimental_run_v2(lambda: tf.summary.scalar("loss", tf.constant(2.0)))
    with session() as sess:
        summary = tf.Summary.FromString(sess.run(tf.summary.merge_all()))
    assert [value.tag for value in summary.value] == ["loss"]


def test_an_error_names_the_line_in_the_function_of_a_replica():
    strategy = mirrored()
    with strategy.scope():
        total = strategy.experimental_run_v2(lambda: tf.check_numerics(tf.constant(np.nan), "in a replica"))
    with (
        session() as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"defined at: test_training.py:\d+ in <lambda>"),
    ):
        sess.run(total.values[1])

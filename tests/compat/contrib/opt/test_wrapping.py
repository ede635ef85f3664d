"""Optimizers around optimizers, against the arithmetic written out."""

import numpy as np
import pytest

import thalweg as tf

opt = tf.contrib.opt


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_moving_averages():
    v = tf.Variable([10.0, 20.0])
    inner = tf.train.GradientDescentOptimizer(2.0)
    optimizer = opt.MovingAverageOptimizer(inner, average_decay=0.5)
    step = optimizer.apply_gradients([(tf.constant([0.1, 0.1]), v)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(v), [9.8, 19.8], rtol=1e-6)
        average = optimizer._ema.average(v)
        np.testing.assert_allclose(session.run(average), [9.9, 19.9], rtol=1e-6)
    swapped = optimizer.swapped(tf.global_variables())
    assert swapped[v.op.name] is average and swapped[average.op.name] is v
    with pytest.raises(ValueError, match="partner"):
        optimizer.swapped([v])
    with pytest.raises(RuntimeError, match="apply_gradients"):
        opt.MovingAverageOptimizer(inner).swapped([v])


def test_variables_are_clipped():
    dense = tf.Variable([[3.0, 4.0], [0.3, 0.4]])
    rows = tf.Variable([[0.0, 1.0], [3.0, 4.0], [6.0, 8.0]])
    optimizer = opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(1.0), {dense: [1], rows: [1]}, 2.0)
    slices = tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([1]), tf.constant([3, 2]))
    step = optimizer.apply_gradients([(tf.zeros([2, 2]), dense), (slices, rows)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(dense), [[1.2, 1.6], [0.3, 0.4]], rtol=1e-6)
        np.testing.assert_allclose(session.run(rows), [[0.0, 1.0], [1.2, 1.6], [6.0, 8.0]], rtol=1e-6)


def test_tasks_are_independent():
    a, b = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    optimizer = opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9))
    assert optimizer.get_name() == "Momentum"
    fed = tf.placeholder(tf.float32, [2])
    step = optimizer.apply_gradients([(fed, a), (tf.constant([1.0, 1.0]), b)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step, {fed: [1.0, 0.0]})
        before = session.run(a)
        session.run(step, {fed: [0.0, 0.0]})
        np.testing.assert_array_equal(session.run(a), before)
        np.testing.assert_allclose(session.run(b), [3.0 - 0.1 - 0.19, 4.0 - 0.1 - 0.19], rtol=1e-6)
    with pytest.raises(TypeError, match="Optimizer"):
        opt.MultitaskOptimizerWrapper(3)


def test_gradients_are_clipped_by_global_norm():
    clipped = opt.clip_gradients_by_global_norm([(tf.constant([3.0]), "a"), (tf.constant([4.0]), "b")], 1.0)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run([g for g, _ in clipped]), [[0.6], [0.8]], rtol=1e-6)
    assert [v for _, v in clipped] == ["a", "b"]


def test_stale_gradients_are_dropped():
    step_count = tf.train.get_or_create_global_step()
    v = tf.Variable(1.0)
    optimizer = opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(0.1), staleness=1)
    late = tf.placeholder_with_default(0, [])
    moved = step_count.assign_add(tf.cast(late, tf.int64), read_value=False)
    ((grad, _),) = optimizer.compute_gradients(2.0 * v, [v])
    with tf.control_dependencies([grad, moved]):
        grad = tf.identity(grad)
    step = optimizer.apply_gradients([(grad, v)], global_step=step_count)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(step)
        assert session.run([v, step_count]) == [pytest.approx(0.8), 1]
        session.run(step, {late: 5})
        assert session.run(v) == pytest.approx(0.8)
        assert session.run(optimizer._dropped) == 1
    with pytest.raises(ValueError, match="Global step"):
        optimizer.apply_gradients([(grad, v)])


@pytest.mark.parametrize("lazy", [False, True])
def test_adam_with_global_step_equals_adam(lazy):
    kinds = (opt.LazyAdamOptimizer, opt.LazyAdamGSOptimizer) if lazy else (tf.train.AdamOptimizer, opt.AdamGSOptimizer)
    count = tf.train.get_or_create_global_step()
    start = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
    a, b = tf.Variable(start), tf.Variable(start)
    slices = tf.IndexedSlices(tf.constant([[0.1, -0.2]]), tf.constant([1]), tf.constant([3, 2]))
    plain, by_step = kinds[0](0.01), kinds[1](count, 0.01)
    for grad in (tf.constant(start), slices):
        first = plain.apply_gradients([(grad, a)])
        second = by_step.apply_gradients([(grad, b)], global_step=count)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run([first, second])
            np.testing.assert_allclose(*session.run([a, b]), rtol=1e-5)
            assert session.run(count) == 3


def test_accumulators_are_not_updated_on_request():
    v = tf.Variable([1.0, 2.0])
    optimizer = opt.RegAdagradOptimizer(1.0, initial_accumulator_value=1.0)
    with optimizer.avoid_updating_slots():
        light = optimizer.apply_gradients([(tf.constant([0.5, 0.5]), v)])
    full = optimizer.apply_gradients([(tf.constant([0.5, 0.5]), v)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(light)
        np.testing.assert_allclose(session.run(v), [0.5, 1.5])
        np.testing.assert_allclose(session.run(optimizer.get_slot(v, "accumulator")), [1.0, 1.0])
        session.run(full)
        np.testing.assert_allclose(session.run(optimizer.get_slot(v, "accumulator")), [1.25, 1.25])

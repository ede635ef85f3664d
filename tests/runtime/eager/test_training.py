"""Optimizers, schedules, averages, losses and summaries of eager execution, compared with sessions."""

import glob

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.mode import eager_mode

OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda: tf.train.AdamOptimizer(0.1),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "Adadelta": lambda: tf.train.AdadeltaOptimizer(0.5),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered RMSProp": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "Ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "ProximalAdagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1),
    "ProximalGradientDescent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1),
    "AdagradDA": lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    "AdamW": lambda: tf.contrib.opt.AdamWOptimizer(0.01, 0.1),
    "LazyAdam": lambda: tf.contrib.opt.LazyAdamOptimizer(0.1),
    "Nadam": lambda: tf.contrib.opt.NadamOptimizer(0.1),
    "AddSign": lambda: tf.contrib.opt.AddSignOptimizer(0.1),
    "averaged": lambda: tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1)),
}
STEPS = 3


def _variables():
    dense = tf.Variable([1.0, -2.0, 3.0], name="dense", use_resource=True)
    rows = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="rows", use_resource=True)
    return dense, rows


def _loss(dense, rows):
    return tf.reduce_sum(tf.square(dense)) + tf.reduce_sum(tf.square(tf.nn.embedding_lookup(rows, [0, 2, 2])))


def _in_session(make):
    with tf.Graph().as_default(), tf.Session() as session:
        variables, optimizer = _variables(), make()
        train = optimizer.minimize(_loss(*variables), global_step=tf.train.get_or_create_global_step())
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(train)
        found = {v.name: session.run(v) for v in optimizer.variables()}
        return session.run(variables), found, optimizer.get_slot_names()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_equal_those_of_a_session(fresh, name):
    values, own, slots = _in_session(OPTIMIZERS[name])
    variables, optimizer = _variables(), OPTIMIZERS[name]()
    step = tf.train.get_or_create_global_step()
    for _ in range(STEPS):
        assert optimizer.minimize(lambda: _loss(*variables), global_step=step) is None
    assert int(step) == STEPS and optimizer.get_slot_names() == slots
    for variable, value in zip(variables, values):
        np.testing.assert_allclose(variable.numpy(), value, rtol=1e-6)
    found = {v.name: v.numpy() for v in optimizer.variables()}
    assert list(found) == list(own)
    for key in own:
        np.testing.assert_allclose(found[key], own[key], rtol=2e-6, atol=1e-7)
    assert tf.contrib.eager.get_optimizer_variables(optimizer) == optimizer.variables()


def test_what_minimize_needs(fresh):
    v, optimizer = tf.Variable(1.0, name="v"), tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(RuntimeError, match=r"`loss` passed to Optimizer\.compute_gradients should be a function"):
        optimizer.minimize(v * v)
    with pytest.raises(ValueError, match="No variables"):
        optimizer.minimize(lambda: tf.constant(1.0))
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.minimize(lambda: tf.constant(1.0), var_list=[v])
    with pytest.raises(RuntimeError, match=r"tf\.gradients is not supported when eager execution is enabled"):
        tf.gradients(v * v, v)
    with pytest.raises(RuntimeError, match=r"tf\.gradients"):
        tf.hessians(v * v, v)
    with pytest.raises(RuntimeError, match="Queues are not compatible with eager execution"):
        tf.train.start_queue_runners()


def test_gradients_may_be_changed_before_they_are_applied(fresh):
    v = tf.Variable([3.0, 4.0], constraint=lambda x: tf.clip_by_value(x, 0.0, 3.5))
    unused, fixed = tf.Variable(1.0), tf.Variable(1.0, trainable=False)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(lambda: tf.reduce_sum(v * v) * fixed, [v, unused])
    assert pairs[0][0].numpy().tolist() == [6, 8] and pairs[1] == (None, unused)
    clipped, norm = tf.clip_by_global_norm([grad for grad, _ in pairs], 1.0)
    assert norm.numpy() == 10 and clipped[1] is None
    optimizer.apply_gradients(zip(clipped, [v, unused]))
    np.testing.assert_allclose(v.numpy(), [2.4, 3.2])
    optimizer.apply_gradients([(tf.constant([-5.0, 5.0]), v)])
    assert v.numpy().tolist() == [3.5, 0]
    assert optimizer.compute_gradients(lambda: tf.reduce_sum(v * v) * fixed)[0][1] is v


def test_gradients_of_embeddings_are_sparse(fresh):
    rows = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.embedding_lookup(rows, [0, 0, 2]) * 2.0)
    found = tape.gradient(y, rows)
    assert isinstance(found, tf.IndexedSlices) and found.dense_shape.numpy().tolist() == [3, 2]
    assert found.indices.numpy().tolist() == [0, 0, 2] and (found.values.numpy() == 2).all()


def test_rates_may_be_functions(fresh):
    v, rates = tf.Variable(1.0), iter((0.5, 0.25))
    optimizer = tf.train.GradientDescentOptimizer(lambda: next(rates))
    for expected in (0.5, 0.375):
        optimizer.apply_gradients([(v * 1.0, v)])
        assert v.numpy() == expected


SCHEDULES = {
    "exponential_decay": (10, 0.5),
    "natural_exp_decay": (10, 0.5, True),
    "inverse_time_decay": (10, 0.5),
    "polynomial_decay": (10, 0.1),
    "cosine_decay": (10,),
    "cosine_decay_restarts": (3,),
    "linear_cosine_decay": (10,),
}


@pytest.mark.parametrize("name", [*SCHEDULES, "piecewise_constant"])
def test_schedules_follow_the_step(fresh, name):
    def rate(step):
        if name == "piecewise_constant":
            return tf.train.piecewise_constant(step, [2, 5], [1.0, 0.5, 0.1])
        return getattr(tf.train, name)(1.0, step, *SCHEDULES[name])

    step = tf.Variable(0)
    schedule, found = rate(step), []
    for number in (0, 3, 9):
        step.assign(number)
        found.append(schedule().numpy())
    with tf.Graph().as_default(), tf.Session() as session:
        expected = [session.run(rate(tf.constant(number))) for number in (0, 3, 9)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    if name in SCHEDULES:
        with pytest.raises(ValueError, match="global_step is required"):
            rate(None)


def test_a_schedule_in_an_optimizer(fresh):
    step, v = tf.train.get_or_create_global_step(), tf.Variable(0.0)
    optimizer = tf.train.GradientDescentOptimizer(tf.train.exponential_decay(1.0, step, 1, 0.5))
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant(-1.0), v)], global_step=step)
    assert v.numpy() == 1.75


def test_moving_averages(fresh):
    v = tf.Variable(1.0, name="v")
    averages = tf.train.ExponentialMovingAverage(0.5)
    assert averages.apply([v]) is None
    v.assign(3.0)
    averages.apply([v])
    assert averages.average(v).numpy() == 2 and averages.average(v).name == "v/ExponentialMovingAverage:0"
    assert averages.average_name(v) == "v/ExponentialMovingAverage"
    with pytest.raises(TypeError, match="does not support non-Variable tensors"):
        averages.apply([tf.constant(1.0)])


def test_losses_are_not_collected(fresh):
    labels, predictions = tf.constant([1.0, 2.0]), tf.constant([0.0, 0.0])
    assert tf.losses.mean_squared_error(labels, predictions).numpy() == 2.5
    assert tf.losses.get_losses() == []
    weights = tf.constant([1.0, 0.0])
    assert tf.losses.absolute_difference(labels, predictions, weights=weights).numpy() == 1
    with pytest.raises(RuntimeError, match=r"tf\.metrics\.mean is not supported when eager execution is enabled"):
        tf.metrics.mean([1.0])
    with pytest.raises(RuntimeError, match=r"tf\.metrics\.accuracy"):
        tf.metrics.accuracy([1], [1])


def test_summaries(fresh, tmp_path):
    with pytest.raises(RuntimeError, match="FileWriter is not compatible with eager execution"):
        tf.summary.FileWriter(str(tmp_path))
    one = tf.summary.scalar("a", 1.0)
    for merge in (tf.summary.merge_all, lambda: tf.summary.merge([one])):
        with pytest.raises(RuntimeError, match=r"Merging tf\.summary\.\* ops"):
            merge()
    step = tf.train.get_or_create_global_step()
    writer = tf.contrib.summary.create_file_writer(str(tmp_path), flush_millis=10000)
    with writer.as_default(), tf.contrib.summary.record_summaries_every_n_global_steps(2):
        for number in range(4):
            step.assign(number)
            tf.contrib.summary.scalar("loss", 10.0 + number)
            tf.contrib.summary.histogram("weights", tf.ones([3]))
        tf.contrib.summary.flush()
        tf.contrib.summary.initialize()
    with pytest.raises(RuntimeError, match="only supported in graph mode"):
        tf.contrib.summary.summary_writer_initializer_op()
    (path,) = glob.glob(str(tmp_path / "events*"))
    events = list(tf.train.summary_iterator(path))
    found = [(e.step, v.simple_value) for e in events for v in e.summary.value if v.tag == "loss"]
    assert found == [(0, 10), (2, 12)]
    assert sum(v.tag == "weights" for e in events for v in e.summary.value) == 2
    assert tf.contrib.summary.all_summary_ops() == []


def test_graphs_keep_their_ways():
    with eager_mode(), tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        train = tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.5, 0, 1, 0.5)).minimize(v * v)
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(v) == 0 and session.run(tf.gradients(v * v, v)) == [0]


@pytest.mark.parametrize("name", ["Momentum", "Adam", "Nadam"])
def test_a_function_trains(fresh, name):
    values, _, _ = _in_session(OPTIMIZERS[name])
    variables, optimizer = _variables(), OPTIMIZERS[name]()
    step = tf.train.get_or_create_global_step()
    train = tf.function(lambda: optimizer.minimize(lambda: _loss(*variables), global_step=step))
    for _ in range(STEPS):
        train()
    for variable, value in zip(variables, values):
        np.testing.assert_allclose(variable.numpy(), value, rtol=1e-6)
    assert int(step) == STEPS


@pytest.mark.parametrize("name", ["GradientDescent", "Momentum", "Adam"])
def test_many_variables_are_updated_by_one_operation(fresh, name):
    variables = [tf.Variable(np.full([2], float(index))) for index in range(60)]
    other = [tf.Variable(np.full([2], float(index))) for index in range(60)]
    optimizer, single = OPTIMIZERS[name](), OPTIMIZERS[name]()
    for _ in range(2):
        optimizer.apply_gradients([(tf.constant([1.0, 2.0], tf.float64), variable) for variable in variables])
        for index in range(0, 60, 20):
            part = other[index : index + 20]
            if name != "Adam":  # whose powers of beta are those of the number of calls
                single.apply_gradients([(tf.constant([1.0, 2.0], tf.float64), variable) for variable in part])
    if name != "Adam":
        np.testing.assert_allclose([v.numpy() for v in variables], [v.numpy() for v in other])
    else:
        np.testing.assert_allclose(variables[59].numpy() - 59, variables[0].numpy(), rtol=1e-12, atol=1e-12)
        assert (variables[0].numpy() < 0).all()

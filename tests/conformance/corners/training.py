"""Corners of training: two steps of every optimizer, decays, averages, variables and their updates."""

import numpy as np


def _two_steps(tf, optimizer, sparse=False):
    """Returns a variable and its loss after each of two steps."""
    w = tf.get_variable("w", initializer=tf.constant([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]]))
    rows = tf.gather(w, [2, 0, 2]) if sparse else w
    loss = tf.reduce_sum(tf.square(rows) * [1.0, 3.0] + rows)
    train = optimizer.minimize(loss)
    values = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(train)
            values += [session.run(w), session.run(loss)]
        slots = [optimizer.get_slot(w, name) for name in optimizer.get_slot_names()]
        return values, optimizer.get_slot_names(), [session.run(slot) for slot in slots]


def gradient_descent(tf):
    return _two_steps(tf, tf.train.GradientDescentOptimizer(0.1))


def gradient_descent_of_rows(tf):
    return _two_steps(tf, tf.train.GradientDescentOptimizer(0.1), sparse=True)


def momentum(tf):
    return _two_steps(tf, tf.train.MomentumOptimizer(0.1, 0.9))


def momentum_of_rows(tf):
    return _two_steps(tf, tf.train.MomentumOptimizer(0.1, 0.9), sparse=True)


def nesterov(tf):
    return _two_steps(tf, tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True))


def adam(tf):
    return _two_steps(tf, tf.train.AdamOptimizer(0.1, epsilon=0.01))


def adam_of_rows(tf):
    return _two_steps(tf, tf.train.AdamOptimizer(0.1), sparse=True)


def adagrad(tf):
    return _two_steps(tf, tf.train.AdagradOptimizer(0.1))


def adagrad_of_rows(tf):
    return _two_steps(tf, tf.train.AdagradOptimizer(0.1), sparse=True)


def adadelta(tf):
    return _two_steps(tf, tf.train.AdadeltaOptimizer(0.5))


def adadelta_of_rows(tf):
    return _two_steps(tf, tf.train.AdadeltaOptimizer(0.5), sparse=True)


def rmsprop(tf):
    return _two_steps(tf, tf.train.RMSPropOptimizer(0.1, momentum=0.5))


def rmsprop_of_rows(tf):
    return _two_steps(tf, tf.train.RMSPropOptimizer(0.1), sparse=True)


def rmsprop_centered(tf):
    return _two_steps(tf, tf.train.RMSPropOptimizer(0.1, centered=True))


def ftrl(tf):
    return _two_steps(tf, tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.2))


def ftrl_of_rows(tf):
    return _two_steps(tf, tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1), sparse=True)


def ftrl_with_shrinkage(tf):
    return _two_steps(tf, tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.3))


def proximal_gradient_descent(tf):
    return _two_steps(tf, tf.train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.5))


def proximal_adagrad(tf):
    return _two_steps(
        tf, tf.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.5, l2_regularization_strength=0.1)
    )


def adagrad_dual_averaging(tf):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=tf.constant([0.5, -1.0]))
    loss = tf.reduce_sum(tf.square(w))
    train = tf.train.AdagradDAOptimizer(0.1, step).minimize(loss, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        session.run(train)
        return session.run([w, step])


def an_optimizer_without_variables(tf):
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


def an_optimizer_without_gradients(tf):
    w = tf.get_variable("w", [1])
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0), var_list=[w])


def gradients_may_be_none(tf):
    w, v = tf.Variable(1.0), tf.Variable(2.0)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    pairs = optimizer.compute_gradients(w * 3.0, [w, v])
    train = optimizer.apply_gradients(pairs)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        return pairs[1][0] is None, session.run([w, v])


def steps_are_counted(tf):
    step = tf.train.get_or_create_global_step()
    w = tf.Variable(1.0)
    train = tf.train.AdamOptimizer(0.1).minimize(w * w, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        session.run(train)
        return session.run(step), step.name, step.dtype.base_dtype.name, tf.train.global_step(session, step)


def decays(tf):
    t = tf.train
    boundaries = t.piecewise_constant(tf.constant(5), [2, 5, 9], [1.0, 0.5, 0.25, 0.1])
    return (
        t.exponential_decay(0.1, 7, 5, 0.5),
        t.exponential_decay(0.1, 7, 5, 0.5, staircase=True),
        t.natural_exp_decay(0.1, 7, 5, 0.5),
        t.inverse_time_decay(0.1, 7, 5, 0.5),
        t.inverse_time_decay(0.1, 7, 5, 0.5, staircase=True),
        t.polynomial_decay(0.1, 7, 5, 0.01, power=2.0),
        t.polynomial_decay(0.1, 7, 5, 0.01, cycle=True),
        t.cosine_decay(0.1, 7, 10),
        t.cosine_decay_restarts(0.1, 7, 5),
        t.linear_cosine_decay(0.1, 7, 10),
        boundaries,
    )


def moving_averages(tf):
    w = tf.Variable([1.0, 2.0])
    average = tf.train.ExponentialMovingAverage(0.9)
    update = average.apply([w])
    change = tf.assign_add(w, [10.0, 20.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = [session.run(average.average(w))]
        for _ in range(2):
            session.run(change)
            session.run(update)
            values.append(session.run(average.average(w)))
        return values, average.average_name(w)


def moving_averages_with_steps(tf):
    w = tf.Variable(1.0)
    average = tf.train.ExponentialMovingAverage(0.99, num_updates=3)
    update = average.apply([w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(w, 5.0))
        session.run(update)
        return session.run(average.average(w)), [v.name for v in tf.moving_average_variables()]


def moving_averages_of_tensors(tf):
    w = tf.Variable(1.0)
    doubled = w * 2.0
    average = tf.train.ExponentialMovingAverage(0.5, zero_debias=True)
    update = average.apply([doubled])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        first = session.run(average.average(doubled))
        session.run(update)
        return first, session.run(average.average(doubled))


def assignments(tf):
    v = tf.Variable([1, 2, 3])
    steps = [v.assign([4, 5, 6]), v.assign_add([1, 1, 1]), v.assign_sub([2, 0, 2]), tf.assign(v, [0, 0, 0])]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(step) for step in steps], session.run(v)


def assignment_of_another_shape(tf):
    return tf.assign(tf.Variable([1, 2, 3]), [1, 2])


def assignment_of_another_shape_on_request(tf):
    v = tf.Variable([1, 2, 3], validate_shape=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(v, [1, 2], validate_shape=False))
        return session.run(v)


def assignment_of_another_type(tf):
    return tf.assign(tf.Variable([1, 2, 3]), [1.5, 2.5, 3.5])


def scattered_assignments(tf):
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0, 3.0]), use_resource=True)
    steps = [
        lambda: tf.scatter_update(v, [0, 2], [9.0, 8.0]),
        lambda: tf.scatter_add(v, [0, 0], [1.0, 1.0]),
        lambda: tf.scatter_sub(v, [1], [5.0]),
        lambda: tf.scatter_mul(v, [1, 1], [2.0, 3.0]),
        lambda: tf.scatter_max(v, [1], [0.0]),
        lambda: tf.scatter_min(v, [0], [-1.0]),
        lambda: tf.scatter_div(v, [2], [2.0]),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(step()) for step in steps]


def scattered_assignments_by_vectors(tf):
    v = tf.get_variable("v", initializer=tf.zeros([2, 2]), use_resource=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.scatter_nd_update(v, [[0, 1], [1, 0]], [5.0, 6.0]))
        session.run(tf.scatter_nd_add(v, [[0, 1]], [1.0]))
        return session.run(v)


def sliced_assignment(tf):
    v = tf.get_variable("v", initializer=tf.zeros([3, 3]), use_resource=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(v[1:, ::2].assign([[1.0, 2.0], [3.0, 4.0]]))
        return session.run(v)


def counting_up(tf):
    v = tf.get_variable("v", initializer=tf.constant(0), use_resource=True)
    count = v.count_up_to(2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = [session.run(count), session.run(count)]
        try:
            session.run(count)
        except tf.errors.OutOfRangeError as error:
            values.append(type(error).__name__)
        return values


def a_variable_read_before_it_is_initialized(tf):
    v = tf.get_variable("v", [2], use_resource=True)
    with tf.Session() as session:
        session.run(v)


def uninitialized_variables_are_reported(tf):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    with tf.Session() as session:
        session.run(v.initializer)
        return session.run(tf.report_uninitialized_variables()), session.run(tf.is_variable_initialized(w))


def initialization_from_other_variables(tf):
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable(v.initialized_value() * 2.0)
    return v, w


def initializers(tf):
    shape = [3, 4]
    kinds = (
        tf.zeros_initializer(),
        tf.ones_initializer(),
        tf.constant_initializer(2.5),
        tf.constant_initializer(np.arange(12.0)),
        tf.initializers.identity(2.0),
    )
    return [tf.get_variable(f"v{i}", shape, initializer=kind) for i, kind in enumerate(kinds)]


def limits_of_random_initializers(tf):
    shape = [40, 50]
    kinds = (
        tf.glorot_uniform_initializer(1),
        tf.random_uniform_initializer(-2.0, 3.0, 1),
        tf.initializers.lecun_uniform(1),
        tf.initializers.he_uniform(1),
    )
    values = [tf.get_variable(f"v{i}", shape, initializer=kind) for i, kind in enumerate(kinds)]
    return [tf.round(tf.reduce_max(v) * 30.0) for v in values]


def a_variable_from_a_function(tf):
    return tf.Variable(lambda: tf.constant([1, 2]), dtype=tf.int32), tf.Variable(3, dtype=tf.float64)


def variables_as_tensors(tf):
    v = tf.Variable([[1.0, 2.0]])
    return v + 1.0, v[0, 1], tf.matmul(v, v, transpose_b=True), -v, v.shape.as_list(), tf.transpose(v)


def clipped_gradients(tf):
    w = tf.Variable([3.0, 4.0])
    pairs = tf.train.GradientDescentOptimizer(1.0).compute_gradients(tf.reduce_sum(w * w) * 0.5)
    clipped, norm = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
    return clipped[0], norm


def losses(tf):
    labels, predictions = tf.constant([[1.0], [0.0], [1.0]]), tf.constant([[0.8], [0.3], [-0.5]])
    weights = tf.constant([[1.0], [0.0], [2.0]])
    losses = tf.losses
    return (
        losses.mean_squared_error(labels, predictions),
        losses.mean_squared_error(labels, predictions, weights),
        losses.absolute_difference(labels, predictions, reduction=losses.Reduction.SUM),
        losses.huber_loss(labels, predictions, delta=0.5),
        losses.hinge_loss(labels, predictions, weights, reduction=losses.Reduction.SUM_OVER_BATCH_SIZE),
        losses.log_loss(labels, tf.abs(predictions)),
        losses.sigmoid_cross_entropy(labels, predictions, label_smoothing=0.1),
        losses.mean_squared_error(labels, predictions, tf.zeros([3, 1])),
        losses.get_total_loss(),
    )


def metrics(tf):
    labels, predictions = tf.constant([1, 0, 1, 1]), tf.constant([1, 1, 0, 1])
    accuracy, update = tf.metrics.accuracy(labels, predictions)
    precision, update_precision = tf.metrics.precision(labels, predictions)
    recall, update_recall = tf.metrics.recall(labels, predictions)
    mean, update_mean = tf.metrics.mean([1.0, 2.0, 6.0], weights=[1.0, 1.0, 0.5])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run([update, update_precision, update_recall, update_mean])
        session.run(update_mean)
        return session.run([accuracy, precision, recall, mean])


def fetching_structures(tf):
    x, y = tf.constant(1), tf.constant([2.0])
    with tf.Session() as session:
        result = session.run({"a": x, "b": [y, (x, x)], "c": tf.no_op()})
    return result["a"], result["b"][0], list(result["b"][1]), result["c"] is None


def feeding_values(tf):
    x = tf.placeholder(tf.float32, [None])
    y = x * 2.0
    with tf.Session() as session:
        return (
            session.run(y, {x: [1, 2]}),
            session.run(y, {y: [7.0]}),
            session.run(y, {"Placeholder:0": np.array([3], np.int64)}),
        )


def feeding_what_cannot_be_converted(tf):
    x = tf.placeholder(tf.int32, [1])
    with tf.Session() as session:
        session.run(x, {x: ["a"]})


def fetching_what_is_not_of_the_graph(tf):
    with tf.Session() as session:
        session.run("nothing:0")

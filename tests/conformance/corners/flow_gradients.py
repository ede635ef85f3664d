"""Gradients through programs of loops, conditionals and arrays, up to the second order."""

import numpy as np


def _variable(tf, name, value):
    with tf.variable_scope("v", reuse=tf.AUTO_REUSE, use_resource=True):
        return tf.get_variable(name, initializer=value)


def _numbers(seed, *shape):
    return np.random.RandomState(seed).normal(size=shape) * 0.7


def _loop(tf, n, body, start, **options):
    """Repeats a body n times on one value; returns the last."""
    return tf.while_loop(lambda i, _: i < n, lambda i, x: (i + 1, body(i, x)), (tf.constant(0), start), **options)[1]


def _dense(tf, gradients):
    return [None if g is None else tf.convert_to_tensor(g) for g in gradients]


# -- captured values ---------------------------------------------------------------------------------------------------


def captured_by_the_condition_alone(tf):
    x, limit = tf.constant(1.1), tf.constant(5.0)
    y = tf.while_loop(lambda y: y < limit, lambda y: y * x, [x])
    return y, tf.gradients(y, [x, limit])


def captured_by_both_loops(tf):
    w, b = tf.constant(_numbers(1, 3, 3)), tf.constant(_numbers(2, 3))

    def outer(i, x):
        inner = _loop(tf, 2, lambda j, z: tf.tanh(tf.matmul(z, w) + b), x)
        return tf.matmul(inner, w, transpose_b=True)

    y = _loop(tf, 3, outer, tf.constant(_numbers(3, 2, 3)))
    return y, tf.gradients(y, [w, b])


def captured_twice_in_one_body(tf):
    w = tf.constant(_numbers(1, 3, 3))
    y = _loop(tf, 3, lambda i, x: tf.matmul(tf.sin(tf.matmul(x, w)), w), tf.constant(_numbers(3, 2, 3)))
    return y, tf.gradients(y, w)


def captured_in_a_branch_of_a_loop(tf):
    w, b = tf.constant(_numbers(1, 3)), tf.constant(_numbers(2, 3))
    choose = tf.constant([True, False, True, True])
    y = _loop(tf, 4, lambda i, x: tf.cond(choose[i], lambda: x * w, lambda: x + b * b), tf.constant(_numbers(3, 3)))
    return y, tf.gradients(y, [w, b])


def captured_in_an_inner_branch_that_is_never_taken(tf):
    w, b = tf.constant(_numbers(1, 3)), tf.constant(_numbers(2, 3))
    y = _loop(tf, 4, lambda i, x: tf.cond(i < 9, lambda: tf.sin(x * w), lambda: x * b), tf.constant(_numbers(3, 3)))
    return tf.gradients(y, [w, b])


def captured_value_computed_from_another(tf):
    x = tf.constant([0.5, -1.0])
    z = tf.exp(x)
    y = _loop(tf, 3, lambda i, y: y * z + x, x)
    return tf.gradients(y, [x, z])


def captured_variable_read_in_the_body(tf):
    v = _variable(tf, "v", np.float32([0.5, 2.0]))
    y = _loop(tf, 3, lambda i, y: tf.sin(y * v.read_value()) + v, tf.ones([2]))
    return y, tf.gradients(y, v)


def captured_value_of_a_loop_variable(tf):
    """The inner loop captures what the outer one changes."""
    x = tf.constant(1.2)
    y = _loop(tf, 3, lambda i, y: _loop(tf, i + 1, lambda j, z: z * y + x, tf.sin(y)), x)
    return y, tf.gradients(y, x)


def captured_rows(tf):
    x = tf.constant(_numbers(1, 4, 3))
    y = _loop(tf, 4, lambda i, y: y * x[i] + tf.gather(x, [(i + 1) % 4])[0], tf.ones([3], tf.float64))
    return y, _dense(tf, tf.gradients(y, x))


def captured_embedding_in_nested_loops(tf):
    table = _variable(tf, "table", np.float32(_numbers(1, 5, 2)))

    def inner(i, y):
        return _loop(tf, 2, lambda j, z: z * tf.nn.embedding_lookup(table, [i, j, 4]), y)

    y = _loop(tf, 3, lambda i, y: inner(i, y) + 1.0, tf.ones([3, 2]))
    g = tf.gradients(y, table)
    return type(g[0]).__name__, _dense(tf, g)


def captured_embedding_in_a_branch_of_a_loop(tf):
    table = _variable(tf, "table", np.float32(_numbers(1, 5, 2)))
    y = _loop(
        tf,
        4,
        lambda i, y: tf.cond(tf.equal(i % 2, 0), lambda: y * tf.nn.embedding_lookup(table, [i, 3]), lambda: y + 1.0),
        tf.ones([2, 2]),
    )
    return _dense(tf, tf.gradients(y, table))


def captured_sparse_values(tf):
    values = tf.constant([1.0, 2.0, 3.0])
    x = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], values, [3, 3])
    y = _loop(tf, 3, lambda i, y: tf.sin(tf.sparse_tensor_dense_matmul(x, y)), tf.ones([3, 2]))
    return y, tf.gradients(y, values)


# -- variables of the loop ---------------------------------------------------------------------------------------------


def variables_that_change_places(tf):
    x, y = tf.constant(1.5), tf.constant(-0.5)
    _, a, b = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b * x, a * b), (0, x, y))
    return tf.gradients(a, [x, y]), tf.gradients(b, [x, y])


def variable_that_passes_through(tf):
    x, y = tf.constant(1.5), tf.constant(-0.5)
    _, a, b = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * b, b), (0, x, y))
    return tf.gradients(a, [x, y]), tf.gradients(b, [x, y]), tf.gradients([a, b], y)


def variable_that_is_set_from_outside(tf):
    x, y = tf.constant(1.5), tf.constant(-0.5)
    _, a = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, y), (0, x * 2.0))
    return a, tf.gradients(a, [x, y])


def integers_and_truth_beside(tf):
    x = tf.constant(1.5)

    def body(i, flag, y):
        return i + 1, tf.logical_not(flag), tf.where(flag, y * x, y + tf.cast(i, tf.float32))

    y = tf.while_loop(lambda i, *_: i < 5, body, (0, tf.constant(True), x))[2]
    return y, tf.gradients(y, x)


def mixed_precision(tf):
    x, w = tf.constant(1.5), tf.constant(0.5, tf.float64)

    def body(i, y, z):
        return i + 1, y * tf.cast(z, tf.float32), z + tf.cast(y, tf.float64) * w

    _, y, z = tf.while_loop(lambda i, *_: i < 3, body, (0, x, w))
    return tf.gradients([y, z], [x, w])


def complex_loop(tf):
    z = tf.constant([0.5 + 0.5j, 1j], tf.complex64)
    y = _loop(tf, 3, lambda i, y: y * y + z, z)
    return y, tf.gradients(tf.abs(y), z)


def growing_variable(tf):
    x = tf.constant(_numbers(1, 1, 2))
    y = _loop(
        tf,
        4,
        lambda i, y: tf.concat([y, y[-1:] * x], 0),
        x,
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2])),
    )
    return y, tf.gradients(y, x)


def shrinking_variable(tf):
    x = tf.constant(_numbers(1, 5))
    y = tf.while_loop(
        lambda y: tf.size(y) > 1, lambda y: y[1:] * y[:-1], [x], shape_invariants=[tf.TensorShape([None])]
    )
    return y, tf.gradients(y, x)


def number_of_iterations_is_fed(tf):
    x, results = tf.constant([1.5, 0.5]), []
    for n in (0, 1, 4):
        y = _loop(tf, tf.placeholder_with_default(n, []), lambda i, y: y * y + x, x)
        results.append([y, tf.gradients(y, x)])
    return results


def inner_loop_without_iterations(tf):
    x = tf.constant(1.3)
    y = _loop(tf, 3, lambda i, y: _loop(tf, i - 1, lambda j, z: z * x, y) + y, x)
    return y, tf.gradients(y, x)


def loop_ended_by_its_value(tf):
    x = tf.constant(1.3)
    y, n = tf.while_loop(lambda y, n: y < 20.0, lambda y, n: (y * x + 0.1, n + 1), (x, tf.constant(0)))
    return y, n, tf.gradients(y, x)


def limited_loop(tf):
    x = tf.constant(1.3)
    limit = tf.placeholder_with_default(3, [])
    y = tf.while_loop(lambda i, y: True, lambda i, y: [i + 1, y * x], [tf.constant(0), x], maximum_iterations=limit)[1]
    return y, tf.gradients(y, x)


# -- arrays ------------------------------------------------------------------------------------------------------------


def array_through_a_loop(tf):
    x = tf.constant(_numbers(1, 4, 2))
    source = tf.TensorArray(tf.float64, 4).unstack(x)

    def body(i, state, out):
        state = tf.tanh(state + source.read(i))
        return i + 1, state, out.write(i, state * 2.0)

    _, state, out = tf.while_loop(
        lambda i, *_: i < 4, body, (0, tf.zeros([2], tf.float64), tf.TensorArray(tf.float64, 4, clear_after_read=False))
    )
    y = out.stack()
    return y, tf.gradients(y, x), tf.gradients(state, x), tf.gradients(out.gather([0, 2]), x)


def array_read_more_than_once(tf):
    x = tf.constant(_numbers(1, 3))
    source = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)
    y = _loop(tf, 6, lambda i, y: y * source.read(i % 3) + source.read(0), tf.constant(1.0, tf.float64))
    return y, tf.gradients(y, x)


def array_written_partly(tf):
    x = tf.constant(_numbers(1, 3))
    out = tf.TensorArray(tf.float64, 4, element_shape=[3]).write(0, x)
    out = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a.write(i + 1, x * x)), (0, out))[1]
    return out.stack(), tf.gradients(out.stack(), x)


def array_scattered_and_split_in_a_body(tf):
    x = tf.constant(_numbers(1, 6))

    def body(i, y):
        a = tf.TensorArray(tf.float64, 6).scatter([5, 0, 1, 2, 3, 4], y)
        b = tf.TensorArray(tf.float64, 2, infer_shape=False).split(a.stack(), [2, 4])
        return tf.reshape(tf.concat([b.read(1) * b.read(1), b.read(0)], 0), [6])

    y = _loop(tf, 3, body, x, parallel_iterations=1)
    return y, tf.gradients(y, x)


def array_concatenated_after_a_loop(tf):
    x = tf.constant(_numbers(1, 3))
    a = tf.TensorArray(tf.float64, 3, infer_shape=False)
    a = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, x[: i + 1] * x[i])), (0, a))[1]
    return a.concat(), tf.gradients(a.concat(), x)


def array_in_a_branch(tf):
    x, results = tf.constant(_numbers(1, 3)), []
    for p in (True, False):
        a = tf.TensorArray(tf.float64, 2).write(0, x)
        a = tf.cond(tf.placeholder_with_default(p, []), lambda: a.write(1, x * x), lambda: a.write(1, x * 3.0))
        y = a.stack()
        results.append([y, tf.gradients(y, x)])
    return results


def array_that_grows(tf):
    x = tf.constant(_numbers(1, 2))
    a = tf.TensorArray(tf.float64, 0, dynamic_size=True)
    a = tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, a.write(a.size(), x * tf.cast(i, x.dtype))), (0, a))[1]
    return a.stack(), tf.gradients(a.stack(), x)


# -- maps, folds and scans ---------------------------------------------------------------------------------------------


def map_of_loops(tf):
    x, w = tf.constant([1.1, 0.9, 1.3]), tf.constant(1.2)
    n = tf.constant([0, 2, 5])
    y = tf.map_fn(lambda e: _loop(tf, e[1], lambda i, y: y * w, e[0]), (x, n), dtype=tf.float32)
    return y, tf.gradients(y, [x, w])


def scan_by_all_it_takes(tf):
    x, start, w = tf.constant(_numbers(1, 4, 2)), tf.constant(_numbers(2, 2)), tf.constant(_numbers(3, 2, 2))
    results = []
    for reverse in (False, True):
        y = tf.scan(lambda a, e: tf.tanh(tf.tensordot(a, w, 1) + e), x, initializer=start, reverse=reverse)
        results.append([y, tf.gradients(y, [x, start, w])])
    return results


def scan_of_structures(tf):
    x = tf.constant(_numbers(1, 4))
    a, b = tf.scan(lambda s, e: (s[0] + e, s[1] * s[0]), x, initializer=(x[0], x[1]))
    return a, b, tf.gradients([a, b], x), tf.gradients(b[-1], x)


def folds_to_both_sides(tf):
    x, w = tf.constant(_numbers(1, 4)), tf.constant(0.7, tf.float64)
    return [tf.gradients(fold(lambda a, e: tf.sin(a * w) + e * e, x), [x, w]) for fold in (tf.foldl, tf.foldr)]


def map_inside_of_a_scan(tf):
    x = tf.constant(_numbers(1, 3, 2))
    y = tf.scan(lambda a, e: a * tf.map_fn(lambda t: tf.sin(t) * a[0], e), x, initializer=tf.ones([2], tf.float64))
    return y, tf.gradients(y, x)


def map_without_back_prop(tf):
    x, w = tf.constant(_numbers(1, 3)), tf.constant(2.0, tf.float64)
    y = tf.map_fn(lambda e: e * w, x * 2.0, back_prop=False) + x
    return tf.gradients(y, [x])


def rows_of_a_jacobian(tf):
    x = tf.constant(_numbers(1, 3))
    y = tf.sin(x) * tf.reduce_sum(x * x)
    return tf.map_fn(lambda i: tf.gradients(y[i], x)[0], tf.range(3), dtype=tf.float64)


def hessian_of_what_is_outside(tf):
    x = tf.constant(_numbers(1, 3))
    return tf.hessians(tf.reduce_sum(tf.sin(x) * tf.reverse(x, [0])) ** 2, x)


# -- choices -----------------------------------------------------------------------------------------------------------


def cases_in_a_loop(tf):
    x, w = tf.constant(_numbers(1, 2)), tf.constant(0.7, tf.float64)

    def body(i, y):
        pairs = [(tf.equal(i, 0), lambda: y * w), (tf.equal(i, 2), lambda: tf.sin(y) * x)]
        return tf.case(pairs, default=lambda: y + w * w)

    y = _loop(tf, 4, body, x)
    return y, tf.gradients(y, [x, w])


def switches_in_a_loop(tf):
    x, w = tf.constant(_numbers(1, 2)), tf.constant(0.7, tf.float64)
    y = _loop(tf, 5, lambda i, y: tf.switch_case(i % 3, [lambda: y * w, lambda: y * x, lambda: tf.sin(y)]), x)
    return y, tf.gradients(y, [x, w])


def loop_in_a_branch_in_a_loop(tf):
    x, w = tf.constant(_numbers(1, 2)), tf.constant(0.7, tf.float64)

    def body(i, y):
        return tf.cond(i > 0, lambda: _loop(tf, i, lambda j, z: tf.sin(z * w) + x, y), lambda: y * w)

    y = _loop(tf, 3, body, x)
    return y, tf.gradients(y, [x, w])


def branches_of_one_predicate(tf):
    x, results = tf.constant(_numbers(1, 2)), []
    for value in (True, False):
        p = tf.placeholder_with_default(value, [])
        y = tf.cond(p, lambda: x * x, lambda: x)
        z = tf.cond(p, lambda: y * x, lambda: tf.sin(y))
        results.append([z, tf.gradients(z, x), tf.gradients(z, y)])
    return results


# -- what is asked for -------------------------------------------------------------------------------------------------


def two_loops_in_a_row(tf):
    x = tf.constant(_numbers(1, 2))
    y = _loop(tf, 3, lambda i, y: y * x, x)
    z = _loop(tf, 2, lambda i, z: tf.sin(z) + y, y)
    return tf.gradients(z, [x, y]), tf.gradients([y, z], x)


def two_loops_side_by_side(tf):
    x = tf.constant(_numbers(1, 2))
    y, z = (_loop(tf, n, lambda i, y: tf.sin(y) + x, x) for n in (2, 3))
    return tf.gradients(y * z, x)


def unconnected(tf):
    x, w = tf.constant(1.5), tf.constant(2.0)
    y = _loop(tf, 3, lambda i, y: y * x, x)
    return tf.gradients(y, [x, w], unconnected_gradients=tf.UnconnectedGradients.ZERO), tf.gradients(y, w)


def given_gradients(tf):
    x = tf.constant(_numbers(1, 3))
    y, z = tf.while_loop(lambda y, z: y[0] > -1.0, lambda y, z: (y - tf.abs(x), z * x), (x, x))
    return tf.gradients([y, z], x, grad_ys=[tf.constant(_numbers(2, 3)), tf.constant(_numbers(3, 3))])


def stopped_inside(tf):
    x, w = tf.constant(_numbers(1, 3)), tf.constant(_numbers(2, 3))
    y = _loop(tf, 3, lambda i, y: tf.stop_gradient(y) * x + y * tf.stop_gradient(w), x)
    return tf.gradients(y, [x, w])


def own_gradient_in_a_body(tf):
    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda dy: tf.clip_by_value(dy * x, -0.5, 0.5)

    x = tf.constant(_numbers(1, 3))
    y = _loop(tf, 3, lambda i, y: clipped(y) + x, x)
    return y, tf.gradients(y, x)


def inner_loop_without_back_prop(tf):
    x = tf.constant(1.5)
    y = _loop(tf, 3, lambda i, y: y * _loop(tf, 2, lambda j, z: z * 2.0, tf.stop_gradient(y), back_prop=False), x)
    return y, tf.gradients(y, x)


def descent_in_a_loop(tf):
    """The gradient inside of a loop is differentiated through outside of it, by what it starts with and its rate."""
    rate, target = tf.constant(0.1), tf.constant([1.0, 2.0])
    y = _loop(tf, 4, lambda i, y: y - rate * (y - target) * 2.0, tf.zeros([2]))
    return y, tf.gradients(tf.reduce_sum(y * y), [rate, target])


def trained_by_an_optimizer(tf):
    w = _variable(tf, "w", np.float32(_numbers(1, 2, 2)))
    y = _loop(tf, 4, lambda i, y: tf.tanh(tf.matmul(y, w)), tf.constant([[1.0, -1.0]]))
    loss = tf.reduce_sum((y - 0.3) ** 2)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run([loss, train])[0] for _ in range(5)] + [session.run(w)]


def clipped_by_their_norm(tf):
    w = [_variable(tf, f"w{k}", np.float32(_numbers(k, 2, 2))) for k in range(2)]
    y = _loop(tf, 4, lambda i, y: tf.tanh(tf.matmul(y, w[0])) * 3.0 + tf.matmul(y, w[1]), tf.constant([[1.0, -1.0]]))
    return tf.clip_by_global_norm(tf.gradients(y, w), 0.5)


def checkpoints_of_memory(tf):
    x = tf.constant(_numbers(1, 3))
    results = []
    for options in ({"swap_memory": True}, {"parallel_iterations": 1}, {"swap_memory": True, "parallel_iterations": 3}):
        y = _loop(tf, 5, lambda i, y: tf.sin(y) * x, x, **options)
        results.append(tf.gradients(y, x))
    return results


# -- second order ------------------------------------------------------------------------------------------------------


def _unrolled(cond, body, start):
    values = start
    while cond(*values):
        values = body(*values)
    return values


def _second_order(tf, function, x):
    """Returns first and second gradients of function(loop), unrolled in TensorFlow, which has no second ones else."""
    y = function(_unrolled if "tensorflow" in tf.__name__ else tf.while_loop)
    slope = tf.gradients(y, x)[0]
    return y, slope, tf.gradients(tf.reduce_sum(slope * slope), x)


def second_order(tf):
    x = tf.constant(_numbers(1, 3))
    return _second_order(tf, lambda loop: loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), (0, x))[1], x)


def second_order_by_a_weight(tf):
    x, w = tf.constant(_numbers(1, 2, 3)), tf.constant(_numbers(2, 3, 3))
    return _second_order(
        tf, lambda loop: loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w))), (0, x))[1], w
    )


def second_order_of_nested_loops(tf):
    x = tf.constant(_numbers(1, 3))

    def function(loop):
        def outer(i, y):
            return i + 1, loop(lambda j, z: j < 2, lambda j, z: (j + 1, tf.sin(z) * x + y), (0, y))[1]

        return loop(lambda i, y: i < 3, outer, (0, x))[1]

    return _second_order(tf, function, x)


def second_order_of_a_branch_in_a_loop(tf):
    x = tf.constant(_numbers(1, 3))

    def body(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(y) * x, lambda: y * y + x)

    return _second_order(tf, lambda loop: loop(lambda i, y: i < 4, body, (0, x))[1], x)


class _List:
    """What TensorFlow, which has no second gradients of arrays either, takes for one."""

    def __init__(self, values):
        self._values = values

    def read(self, index):
        return self._values[index]

    def write(self, index, value):
        return _List([*self._values, value])


def second_order_through_an_array(tf):
    x = tf.constant(_numbers(1, 4))
    source, written = _List(tf.unstack(x)), _List([])
    if "tensorflow" not in tf.__name__:
        source = tf.TensorArray(tf.float64, 4, clear_after_read=False).unstack(x)
        written = tf.TensorArray(tf.float64, 4, clear_after_read=False)

    def body(i, state, written):
        return i + 1, tf.sin(state * source.read(i)) + 1.0, written.write(i, state * state)

    def function(loop):
        written_by = loop(lambda i, *_: i < 4, body, (0, tf.constant(0.5, tf.float64), written))[2]
        return tf.stack([written_by.read(i) for i in range(4)])

    return _second_order(tf, function, x)


def second_order_of_two_variables(tf):
    x = tf.constant(0.7, tf.float64)
    return _second_order(
        tf, lambda loop: loop(lambda i, a, b: i < 4, lambda i, a, b: (i + 1, a * b, tf.sin(a) + x), (0, x, x))[1], x
    )


def second_order_by_rows(tf):
    x = tf.constant(_numbers(1, 4, 2))
    return _second_order(
        tf, lambda loop: loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.sin(y) * x[i]), (0, tf.ones_like(x[0])))[1], x
    )

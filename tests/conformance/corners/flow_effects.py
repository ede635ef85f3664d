"""Programs in which loops and branches change variables, fill queues, and wait for each other."""

import numpy as np


def _variable(tf, name, value):
    with tf.variable_scope("v", reuse=tf.AUTO_REUSE, use_resource=True):
        return tf.get_variable(name, initializer=value)


def _run(tf, *fetches):
    """Returns the values of fetches, each by a step of its own, in order."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetch) for fetch in fetches]


def effects_of_a_branch_in_a_loop(tf):
    v, w = _variable(tf, "v", 0), _variable(tf, "w", 0)

    def body(i):
        done = tf.cond(tf.equal(i % 3, 0), lambda: v.assign_add(1), lambda: w.assign_add(10))
        with tf.control_dependencies([done]):
            return i + 1

    return _run(tf, tf.while_loop(lambda i: i < 8, body, [0]), v, w)


def effects_of_nested_loops(tf):
    v = _variable(tf, "v", 1)

    def inner(i):
        def body(j):
            with tf.control_dependencies([v.assign(v * 2 + j)]):
                return j + 1

        return tf.while_loop(lambda j: j < i, body, [0], parallel_iterations=1)

    def outer(i):
        with tf.control_dependencies([inner(i)]):
            return i + 1

    return _run(tf, tf.while_loop(lambda i: i < 4, outer, [0], parallel_iterations=1), v)


def rows_updated_in_a_loop(tf):
    v = _variable(tf, "v", np.zeros((4, 2), np.float32))

    def body(i):
        with tf.control_dependencies([tf.scatter_add(v, [i, (i + 1) % 4], tf.ones([2, 2]) * tf.cast(i, tf.float32))]):
            return i + 1

    return _run(tf, tf.while_loop(lambda i: i < 4, body, [0], parallel_iterations=1), v)


def conditions_are_asked_once_more(tf):
    v = _variable(tf, "v", 0)

    def more(i):
        with tf.control_dependencies([v.assign_add(1)]):
            return i < 4

    return _run(tf, tf.while_loop(more, lambda i: i + 1, [0]), v)


def condition_with_a_branch(tf):
    x = tf.constant([3, 0, 2])
    return tf.while_loop(
        lambda i, t: tf.cond(i < 3, lambda: x[i] > 0, lambda: False), lambda i, t: (i + 1, t + x[i]), (0, 0)
    )


def assigned_before_a_loop_once(tf):
    v = _variable(tf, "v", 1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        total = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, t: (i + 1, tf.cond(i > 0, lambda: t + v.read_value(), lambda: t)),
            (0, 0.0),
        )[1]
    return _run(tf, total, v, total, v)


def branch_waits_for_what_is_before(tf):
    v = _variable(tf, "v", 1.0)
    first = v.assign(5.0)

    def taken():
        with tf.control_dependencies([first]):
            return v.read_value() * 2.0

    return _run(tf, tf.cond(tf.constant(True), taken, lambda: tf.constant(0.0)), v)


def inner_loop_waits_for_the_outer_body(tf):
    v = _variable(tf, "v", 0)

    def outer(i, t):
        with tf.control_dependencies([v.assign_add(1)]):
            inner = tf.while_loop(lambda j, s: j < 2, lambda j, s: (j + 1, s + v.read_value()), (0, t))
        return i + 1, inner[1]

    return _run(tf, tf.while_loop(lambda i, _: i < 3, outer, (0, 0), parallel_iterations=1), v)


def what_follows_waits_for_a_branch(tf):
    v = _variable(tf, "v", 1.0)
    done = tf.cond(tf.constant(True), lambda: tf.group(v.assign(7.0)), tf.no_op)
    with tf.control_dependencies([done]):
        return _run(tf, v.read_value())


def group_of_effects_in_a_body(tf):
    v, w = _variable(tf, "v", 0), _variable(tf, "w", 0)

    def body(i):
        both = tf.group(v.assign_add(1), w.assign_add(2))
        return tf.tuple([i + 1], control_inputs=[both])[0]

    return _run(tf, tf.while_loop(lambda i: i < 3, body, [0]), v, w)


def queue_filled_and_emptied(tf):
    queue = tf.FIFOQueue(10, tf.int32, [[]])

    def fill(i):
        with tf.control_dependencies([queue.enqueue(i * i)]):
            return i + 1

    filled = tf.while_loop(lambda i: i < 5, fill, [0], parallel_iterations=1)
    with tf.control_dependencies([filled]):
        total = tf.while_loop(
            lambda i, t: i < 4, lambda i, t: (i + 1, t * 10 + queue.dequeue()), (0, 0), parallel_iterations=1
        )[1]
    with tf.control_dependencies([total]):
        left = queue.size()
    return _run(tf, [total, left])


def python_sees_the_order(tf):
    seen = []

    def note(i, j):
        seen.append([int(i), int(j)])
        return np.int32(0)

    def inner(i):
        return tf.while_loop(
            lambda j, _: j < 2,
            lambda j, s: (j + 1, s + tf.reshape(tf.py_func(note, [i, j], tf.int32), [])),
            (0, 0),
            parallel_iterations=1,
        )[1]

    _run(tf, tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + inner(i)), (0, 0), parallel_iterations=1))
    return seen


def weights_shared_by_name(tf):
    with tf.variable_scope("net", use_resource=True):
        tf.get_variable("w", initializer=np.float32([[0.5, 1.0], [1.0, -0.5]]))

    def body(i, x):
        with tf.variable_scope("net", reuse=True):
            return i + 1, tf.tanh(tf.matmul(x, tf.get_variable("w", [2, 2])))

    y = tf.while_loop(lambda i, _: i < 3, body, (0, tf.ones([1, 2])))[1]
    return [v.name for v in tf.trainable_variables()], y, tf.gradients(y, tf.trainable_variables())


def depth_three(tf):
    p = tf.placeholder_with_default(True, [])
    x = tf.constant([0.5, -1.0, 2.0], tf.float64)

    def inner(y):
        return tf.while_loop(lambda k, _: k < 2, lambda k, y: (k + 1, tf.sin(y) + x), (0, y))[1]

    def body(i, y):
        return i + 1, tf.cond(p & (i > 0), lambda: inner(y), lambda: tf.cond(p, lambda: y * x, lambda: y))

    y = tf.while_loop(lambda i, _: i < 3, body, (0, x))[1]
    return y, tf.gradients(y, x)

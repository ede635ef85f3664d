"""Programs of arrays in loops and branches, and of maps, folds and scans inside of each other."""

import numpy as np


def _variable(tf, name, value):
    with tf.variable_scope("v", reuse=tf.AUTO_REUSE, use_resource=True):
        return tf.get_variable(name, initializer=value)


def _run(tf, *fetches):
    """Returns the values of fetches, each by a step of its own, in order."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetch) for fetch in fetches]


# -- arrays ------------------------------------------------------------------------------------------------------------


def array_that_grows_in_jumps(tf):
    a = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2])
    a = tf.while_loop(lambda i, _: i < 9, lambda i, a: (i * 2 + 1, a.write(i, tf.fill([2], 1.0))), (0, a))[1]
    return a.size(), a.stack()


def array_read_again_and_again(tf):
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(tf.constant([1.0, 2.0, 4.0]))
    total = tf.while_loop(lambda i, _: i < 7, lambda i, t: (i + 1, t * 2.0 + a.read(i % 3)), (0, 0.0))[1]
    return total, a.stack()


def array_from_outside_is_read_inside(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    a = tf.TensorArray(tf.float32, 3).unstack(x)
    y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * a.read(i)), (0, tf.ones([2])))[1]
    return y, tf.gradients(y, x)


def array_written_in_a_branch(tf):
    def body(i, a):
        value = tf.cast(i, tf.float32)
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a.write(i, value), lambda: a.write(i, -value))

    return tf.while_loop(lambda i, _: i < 5, body, (0, tf.TensorArray(tf.float32, 5)))[1].stack()


def array_written_by_an_inner_loop(tf):
    def inner(i, a):
        return tf.while_loop(lambda j, _: j < 3, lambda j, a: (j + 1, a.write(3 * i + j, 10 * i + j)), (0, a))[1]

    a = tf.TensorArray(tf.int32, 6)
    return tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, inner(i, a)), (0, a))[1].stack()


def array_made_in_a_body(tf):
    def body(i, total):
        a = tf.TensorArray(tf.int32, i + 1)
        a = tf.while_loop(lambda j, _: j <= i, lambda j, a: (j + 1, a.write(j, j * j)), (0, a))[1]
        return i + 1, total + tf.reduce_sum(a.stack())

    return tf.while_loop(lambda i, _: i < 5, body, (0, 0))[1]


def array_of_one_loop_in_the_next(tf):
    a = tf.TensorArray(tf.float32, 4, clear_after_read=False)
    a = tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) + 1.0)), (0, a))[1]
    b = tf.TensorArray(tf.float32, 4)
    b = tf.while_loop(lambda i, _: i < 4, lambda i, b: (i + 1, b.write(i, a.read(3 - i) * 2.0)), (0, b))[1]
    return b.stack()


def array_read_and_written_in_turn(tf):
    a = tf.TensorArray(tf.float32, 6, clear_after_read=False).write(0, 1.0).write(1, 1.0)
    a = tf.while_loop(
        lambda i, _: i < 6, lambda i, a: (i + 1, a.write(i, a.read(i - 1) + a.read(i - 2))), (tf.constant(2), a)
    )[1]
    return a.stack()


def arrays_scattered_and_gathered_in_a_loop(tf):
    def body(i, x):
        a = tf.TensorArray(tf.float32, 4).scatter([2, 0, 3, 1], x)
        return i + 1, tf.reshape(a.gather([0, 1, 2, 3]) + 1.0, [4, 1])

    return tf.while_loop(lambda i, _: i < 3, body, (0, tf.constant([[1.0], [2.0], [3.0], [4.0]])))[1]


def arrays_split_and_joined_in_a_loop(tf):
    def body(i, x):
        a = tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, [1, i, 4 - i])
        return i + 1, tf.reshape(tf.concat([a.read(2), a.read(0), a.read(1)], 0), [5])

    return tf.while_loop(lambda i, _: i < 4, body, (0, tf.range(5.0)))[1]


def arrays_of_all_kinds(tf):
    kinds = {"string": ["a", "b"], "bool": [True, False], "int64": [3, 4], "complex64": [1j, 2.0]}
    results = []
    for kind, values in kinds.items():
        a = tf.TensorArray(tf.as_dtype(kind), 2)
        source = tf.constant(values, kind)
        a = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a.write(i, source[1 - i])), (0, a))[1]
        results.append(a.stack())
    return results


def array_shapes_after_a_loop(tf):
    p = tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, 3])
    results = []
    for options in ({}, {"infer_shape": False}, {"element_shape": [None, 3]}, {"dynamic_size": True}):
        a = tf.TensorArray(tf.float32, 3, **options)
        a = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, p)), (0, a))[1]
        results.append(a.stack())
    return results


def array_read_twice_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3).unstack(tf.constant([1.0, 2.0, 3.0]))
    return tf.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, t + a.read(0)), (0, 0.0))[1]


def array_read_before_writing_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3, infer_shape=False)

    def body(i, a, t):
        a = a.write(i, 1.0)
        return i + 1, a, t + tf.reshape(a.read(i + 1), [])

    return tf.while_loop(lambda i, *_: i < 2, body, (0, a, 0.0))[2]


def array_written_past_its_end_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3)
    return tf.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, 1.0)), (0, a))[1].stack()


def array_written_twice_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3)
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(0, 1.0)), (0, a))[1].stack()


def array_of_another_shape_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3, element_shape=[2])
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, [1.0, 2.0, 3.0])), (0, a))[1].stack()


# -- maps, folds and scans inside of each other ------------------------------------------------------------------------


def map_of_scan_of_fold(tf):
    x = tf.constant(np.arange(24.0).reshape(2, 3, 4))
    return tf.map_fn(lambda m: tf.scan(lambda a, row: a + tf.foldl(lambda s, e: s * 0.5 + e, row), m, 0.0), x)


def scan_of_a_choice(tf):
    x = tf.constant([1, 5, 2, 0, 7])
    double, add, zero = (lambda a, e: a * 2), (lambda a, e: a + e), (lambda a, e: tf.zeros_like(a))

    def step(a, e):
        return tf.switch_case(e % 3, [lambda: double(a, e), lambda: add(a, e), lambda: zero(a, e)])

    return tf.scan(step, x, initializer=3)


def map_of_cases(tf):
    def kind(x):
        return tf.case([(x < 0.0, lambda: tf.constant("below")), (x > 0.0, lambda: tf.constant("above"))], lambda: "at")

    return tf.map_fn(kind, tf.constant([-1.0, 0.0, 2.0]), dtype=tf.string)


def map_of_structures_inside_a_loop(tf):
    def body(i, x):
        a, b = tf.map_fn(lambda e: (e[0] + e[1], {"d": e[0] - e[1]}), (x, x * 2.0), (tf.float32, {"d": tf.float32}))
        return i + 1, a + b["d"]

    return tf.while_loop(lambda i, _: i < 3, body, (0, tf.constant([1.0, 2.0, 3.0])))[1]


def map_one_after_the_other(tf):
    v = _variable(tf, "v", 0)

    def note(x):
        with tf.control_dependencies([v.assign(v * 10 + x)]):
            return v.read_value()

    return _run(tf, tf.map_fn(note, tf.constant([1, 2, 3, 4]), parallel_iterations=1))


def folds_of_structures(tf):
    elements = (tf.constant([1.0, 2.0, 3.0]), tf.constant([[1, 2], [3, 4], [5, 6]]))

    def step(a, e):
        return {"sum": a["sum"] * 0.5 + e[0], "rows": a["rows"] * 2 + e[1]}

    start = {"sum": tf.constant(0.0), "rows": tf.zeros([2], tf.int32)}
    return tf.foldl(step, elements, start), tf.foldr(step, elements, start)


def scan_backwards_of_structures(tf):
    elements = {"a": tf.constant([1.0, 2.0, 3.0]), "b": tf.constant([4.0, 5.0, 6.0])}
    start = (tf.constant(0.0), tf.constant(1.0))
    return tf.scan(lambda s, e: (s[0] + e["a"], s[1] * e["b"]), elements, start, reverse=True, swap_memory=True)


def scan_without_elements(tf):
    x = tf.placeholder_with_default(np.zeros((0,), np.float32), [None])
    return tf.scan(lambda a, e: a + e, x, initializer=1.0)


def fold_of_a_scalar(tf):
    return tf.foldl(lambda a, e: a + e, tf.constant(1.0))


def scan_that_changes_its_type(tf):
    return tf.scan(lambda a, e: tf.cast(a, tf.float64), tf.constant([1.0, 2.0]))


def scan_that_changes_its_structure(tf):
    return tf.scan(lambda a, e: (a, e), tf.constant([1.0, 2.0]))

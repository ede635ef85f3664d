"""Corners of while_loop: structures, static shapes, limits, what runs how often, gradients, errors."""

import collections

import numpy as np

State = collections.namedtuple("State", "count total")


def _variable(tf, name, value):
    with tf.variable_scope("v", reuse=tf.AUTO_REUSE, use_resource=True):
        return tf.get_variable(name, initializer=value)


def one_tensor(tf):
    return tf.while_loop(lambda i: i < 5, lambda i: i + 2, [tf.constant(0)])


def one_tensor_that_is_no_list(tf):
    return tf.while_loop(lambda i: i < 5, lambda i: i + 2, tf.constant(0))


def one_tensor_in_a_tuple(tf):
    result = tf.while_loop(lambda i: i < 5, lambda i: (i + 2,), (tf.constant(0),))
    return isinstance(result, tuple), result


def same_structure_of_one(tf):
    result = tf.while_loop(lambda i: i < 5, lambda i: [i + 2], [tf.constant(0)], return_same_structure=True)
    return isinstance(result, list), result


def same_structure_of_one_that_is_no_list(tf):
    result = tf.while_loop(lambda i: i < 5, lambda i: i + 2, tf.constant(0), return_same_structure=True)
    return isinstance(result, list), result


def kinds_of_results(tf):
    def body(i, x):
        return i + 1, x * 2.0

    a = tf.while_loop(lambda i, x: i < 3, body, [tf.constant(0), tf.constant(1.0)])
    b = tf.while_loop(lambda i, x: i < 3, body, (tf.constant(0), tf.constant(1.0)))
    return type(a).__name__, type(b).__name__, a, b


def python_numbers_in(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), [0, 1.0])


def namedtuple_of_variables(tf):
    result = tf.while_loop(
        lambda count, total: count < 4,
        lambda count, total: State(count + 1, total + tf.cast(count, tf.float32)),
        State(tf.constant(0), tf.constant(0.0)),
    )
    return type(result).__name__, result.count, result.total


def namedtuple_in_a_list(tf):
    result = tf.while_loop(
        lambda s: s.count < 4,
        lambda s: [State(s.count + 1, s.total + tf.cast(s.count, tf.float32))],
        [State(tf.constant(0), tf.constant(0.0))],
    )
    return type(result).__name__, result.count, result.total


def dict_in_a_list(tf):
    result = tf.while_loop(
        lambda i, d: i < 3,
        lambda i, d: (i + 1, {"a": d["b"] + 1.0, "b": [d["a"], d["b"]][1] * 2.0}),
        [tf.constant(0), {"a": tf.constant(0.5), "b": tf.constant(1.0)}],
    )
    return result[0], result[1]["a"], result[1]["b"]


def nested_lists(tf):
    return tf.while_loop(
        lambda i, rest: i < 3,
        lambda i, rest: (i + 1, [rest[1][0], (rest[0], rest[1][1] * 2)]),
        [tf.constant(0), [tf.constant(1), (tf.constant(2), tf.constant(3))]],
    )


def sparse_variable(tf):
    s = tf.SparseTensor([[0, 1], [2, 0]], [1.5, 2.5], [3, 3])
    result = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)),
        [tf.constant(0), s],
    )[1]
    return type(result).__name__, result.indices, result.values, result.dense_shape


def sparse_variable_that_grows(tf):
    s = tf.SparseTensor([[0, 1]], [1.5], [3, 3])

    def body(i, s):
        more = tf.SparseTensor(tf.concat([s.indices, s.indices], 0), tf.concat([s.values, s.values], 0), s.dense_shape)
        return i + 1, more

    result = tf.while_loop(
        lambda i, s: i < 2,
        body,
        [tf.constant(0), s],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, None])],
    )[1]
    return result.indices, result.values, result.dense_shape


def slices_variable(tf):
    s = tf.IndexedSlices(tf.constant([[1.5], [2.5]]), tf.constant([0, 2]), tf.constant([3, 1]))
    result = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape)),
        [tf.constant(0), s],
    )[1]
    return type(result).__name__, result.indices, result.values, result.dense_shape


def array_variable(tf):
    result = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, [i, i * i])), [tf.constant(0), tf.TensorArray(tf.int32, 3)]
    )[1]
    return type(result).__name__, result.stack()


def strings(tf):
    return tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.string_join([s, tf.as_string(i)])),
        [tf.constant(0), tf.constant("x")],
    )


def booleans(tf):
    return tf.while_loop(lambda b, i: b, lambda b, i: (i < 2, i + 1), [tf.constant(True), tf.constant(0)])


def no_iterations(tf):
    x = tf.constant([1.0, 2.0])
    i, y = tf.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2.0), [tf.constant(0), x])
    return i, y, tf.gradients(y, x)


def no_iterations_and_a_captured_value(tf):
    x, w = tf.constant([1.0, 2.0]), tf.constant(3.0)
    i, y = tf.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * w), [tf.constant(0), x])
    return i, y, tf.gradients(y, [x, w])


def swapped_variables(tf):
    return tf.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a), [tf.constant(0), tf.constant(1), tf.constant(2)]
    )


def unchanged_variable(tf):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a), [tf.constant(0), tf.constant(7)])


def variable_set_to_a_value_of_outside(tf):
    x = tf.constant([1.0, 2.0])
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, x), [tf.constant(0), tf.zeros([2])])[1]
    return y, tf.gradients(y, x)


def limit(tf):
    return [
        tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)], maximum_iterations=m) for m in (0, 3, 20)
    ]


def limit_by_tensor(tf):
    m = tf.placeholder_with_default(4, [])
    return tf.while_loop(
        lambda i, x: i < 10, lambda i, x: (i + 1, x * 2.0), [tf.constant(0), tf.constant(1.0)], maximum_iterations=m
    )


def limit_and_one_variable_that_is_no_list(tf):
    return tf.while_loop(lambda i: i < 10, lambda i: i + 1, tf.constant(0), maximum_iterations=4)


def limit_and_same_structure(tf):
    r = tf.while_loop(
        lambda i: i < 10, lambda i: [i + 1], [tf.constant(0)], maximum_iterations=4, return_same_structure=True
    )
    return isinstance(r, list), r


def limit_is_a_vector(tf):
    return tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)], maximum_iterations=[1, 2])


def limit_and_gradient(tf):
    x = tf.constant(1.5)
    y = tf.while_loop(lambda x: x < 1e6, lambda x: x * x, [x], maximum_iterations=3)
    return y, tf.gradients(y, x)


def limit_and_shapes(tf):
    x = tf.ones([1, 2])
    return tf.while_loop(
        lambda x: True,
        lambda x: tf.concat([x, x], 0),
        [x],
        shape_invariants=[tf.TensorShape([None, 2])],
        maximum_iterations=3,
    )


def growing_shape(tf):
    return tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, x[:1]], 0)),
        [tf.constant(0), tf.ones([2, 3])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])],
    )


def unknown_rank(tf):
    return tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.expand_dims(x, 0)),
        [tf.constant(0), tf.ones([2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
    )


def gradient_of_a_growing_value(tf):
    x = tf.constant([[1.0, 2.0]])
    y = tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, x * 2.0], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )[1]
    return tf.gradients(y, x)


def shape_grows_without_invariant(tf):
    return tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [tf.constant(0), tf.ones([2, 3])]
    )


def shape_becomes_unknown_without_invariant(tf):
    p = tf.placeholder_with_default(np.ones((2, 3), np.float32), None)
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, p), [tf.constant(0), tf.ones([2, 3])])


def rank_changes_without_invariant(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x[0]), [tf.constant(0), tf.ones([2, 3])])


def invariant_that_does_not_hold_at_first(tf):
    return tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, x),
        [tf.constant(0), tf.ones([2, 3])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([2, 4])],
    )


def invariants_of_another_structure(tf):
    return tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, x),
        [tf.constant(0), tf.ones([2, 3])],
        shape_invariants=[tf.TensorShape([])],
    )


def static_shapes_in_the_body(tf):
    seen = []

    def body(i, x, y):
        seen.append([None if t.shape.ndims is None else t.shape.as_list() for t in (i, x, y)])
        return i + 1, x, y

    y = tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, 3])
    r = tf.while_loop(lambda i, x, y: i < 1, body, [tf.constant(0), tf.ones([2]), y])
    return seen, r


def static_values_are_not_kept(tf):
    seen = []

    def body(n, x):
        y = tf.fill([n], 1.0)
        seen.append(None if y.shape.ndims is None else y.shape.as_list())
        return n + 1, x + tf.reduce_sum(y)

    return seen, tf.while_loop(lambda n, x: n < 4, body, [tf.constant(1), tf.constant(0.0)])


def types_change(tf):
    return tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.cast(x, tf.float64)), [tf.constant(0), tf.constant(1.0)]
    )


def too_few_results(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1], [tf.constant(0), tf.constant(1.0)])


def too_many_results(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x, x], [tf.constant(0), tf.constant(1.0)])


def another_structure(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, [x]], [tf.constant(0), tf.constant(1.0)])


def no_result(tf):
    return tf.while_loop(lambda i: i < 3, lambda i: None, [tf.constant(0)])


def condition_is_a_number(tf):
    return tf.while_loop(lambda i: i, lambda i: i - 1, [tf.constant(3)])


def condition_is_a_vector(tf):
    return tf.while_loop(lambda i: i > 0, lambda i: i - 1, [tf.constant([3, 2])])


def condition_is_python_true(tf):
    return tf.while_loop(lambda i: True, lambda i: i - 1, [tf.constant(3)], maximum_iterations=2)


def condition_is_python_false(tf):
    return tf.while_loop(lambda i: False, lambda i: i - 1, [tf.constant(3)])


def no_condition(tf):
    return tf.while_loop(None, lambda i: i - 1, [tf.constant(3)])


def no_body(tf):
    return tf.while_loop(lambda i: i > 0, tf.constant(1), [tf.constant(3)])


def no_variables(tf):
    return tf.while_loop(lambda: True, lambda: [], [])


def parallel_iterations_zero(tf):
    return tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], parallel_iterations=0)


def parallel_iterations_one(tf):
    x = tf.constant(1.5)
    y = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * x), [tf.constant(0), x], parallel_iterations=1)[1]
    return y, tf.gradients(y, x)


def value_of_a_body_used_outside(tf):
    inside = []

    def body(i):
        inside.append(i + 1)
        return inside[0]

    tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    return inside[0] + 1


def value_of_a_body_is_fetched(tf):
    inside = []

    def body(i):
        inside.append(i + 1)
        return inside[0]

    tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    return inside[0]


def value_of_one_body_used_in_another(tf):
    inside = []

    def body(i):
        inside.append(i + 1)
        return inside[0]

    tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    return tf.while_loop(lambda i: i < 3, lambda i: i + inside[0], [tf.constant(0)])


def gradient_without_back_prop(tf):
    x = tf.constant(1.5)
    y = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * x), [tf.constant(0), x], back_prop=False)[1]
    return tf.gradients(y, x)


def gradient_by_a_captured_value(tf):
    x, w = tf.constant([1.0, 2.0]), tf.constant([[1.0, 0.5], [0.25, 1.0]])
    y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w))), [tf.constant(0), tf.expand_dims(x, 0)]
    )[1]
    return tf.gradients(y, [x, w])


def gradient_by_a_variable(tf):
    w = _variable(tf, "w", np.float32([0.5, 2.0]))
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * w), [tf.constant(0), tf.ones([2])])[1]
    return tf.gradients(y, w)


def gradient_of_an_embedding_is_sparse(tf):
    table = _variable(tf, "table", np.arange(12.0, dtype=np.float32).reshape(4, 3))
    y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, y * tf.nn.embedding_lookup(table, tf.stack([i, 1]))),
        [tf.constant(0), tf.ones([2, 3])],
    )[1]
    g = tf.gradients(y, table)[0]
    return type(g).__name__, tf.convert_to_tensor(g)


def gradient_by_a_captured_gather(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.gather(x, i)), [tf.constant(0), tf.constant(1.0)]
    )[1]
    return y, tf.convert_to_tensor(tf.gradients(y, x)[0])


def gradient_of_two_results(tf):
    x = tf.constant(0.5)
    _, y, z = tf.while_loop(
        lambda i, y, z: i < 4, lambda i, y, z: (i + 1, y * z, z + y), [tf.constant(0), x, tf.constant(1.0)]
    )
    return tf.gradients([y, z], x), tf.gradients(y, x), tf.gradients(z, x)


def gradient_of_a_result_that_x_does_not_reach(tf):
    x = tf.constant(0.5)
    _, y, z = tf.while_loop(
        lambda i, y, z: i < 4, lambda i, y, z: (i + 1, y * 2.0, z + 1.0), [tf.constant(0), x, tf.constant(1.0)]
    )
    return tf.gradients(z, x), tf.gradients(y, x)


def gradient_of_nested_loops(tf):
    x = tf.constant(1.1)

    def body(i, y):
        return i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), [tf.constant(0), y])[1]

    y = tf.while_loop(lambda i, y: i < 4, body, [tf.constant(0), x])[1]
    return y, tf.gradients(y, x)


def gradient_of_a_conditional_in_a_loop(tf):
    x, w = tf.constant(1.1), tf.constant(0.7)

    def body(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * w, lambda: y + x * x)

    y = tf.while_loop(lambda i, y: i < 5, body, [tf.constant(0), x])[1]
    return y, tf.gradients(y, [x, w])


def gradient_of_a_loop_in_a_conditional(tf):
    x = tf.constant(1.1)
    results = []
    for p in (True, False):
        y = tf.cond(
            tf.constant(p),
            lambda: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [tf.constant(0), x])[1],
            lambda: x * 2.0,
        )
        results.append([y, tf.gradients(y, x)])
    return results


def gradient_inside_of_a_body(tf):
    x = tf.constant([1.0, -2.0])

    def body(i, x):
        loss = tf.reduce_sum(tf.square(x - 3.0))
        return i + 1, x - 0.1 * tf.gradients(loss, x)[0]

    return tf.while_loop(lambda i, x: i < 5, body, [tf.constant(0), x])


def gradient_of_a_loop_inside_of_a_body(tf):
    def body(i, x):
        y = tf.while_loop(lambda j, y: j < 3, lambda j, y: (j + 1, y * x), [tf.constant(0), x])[1]
        return i + 1, x - 0.01 * tf.gradients(y, x)[0]

    return tf.while_loop(lambda i, x: i < 3, body, [tf.constant(0), tf.constant(1.5)])


def stop_gradient_in_a_body(tf):
    x = tf.constant(1.5)
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.stop_gradient(x) + x), [tf.constant(0), x])[1]
    return y, tf.gradients(y, x)


def gradient_stopped_at_a_captured_value(tf):
    x = tf.constant(1.5)
    z = x * 2.0
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * z + x), [tf.constant(0), x])[1]
    return tf.gradients(y, [x, z], stop_gradients=[z])


def grad_ys_of_a_loop(tf):
    x = tf.constant([1.5, 0.5])
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y), [tf.constant(0), x])[1]
    return tf.gradients(y, x, grad_ys=[tf.constant([1.0, 10.0])])


def assigned_once_an_iteration(tf):
    v = _variable(tf, "v", 0.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(tf.cast(i, tf.float32))]):
            return i + 1

    n = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(n), session.run(v), session.run(n), session.run(v)]


def assigned_and_not_waited_for(tf):
    v = _variable(tf, "v", 0.0)

    def body(i):
        v.assign_add(1.0)
        return i + 1

    n = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(n), session.run(v)]


def operation_as_result_of_a_body(tf):
    v = _variable(tf, "v", 0.0)
    n = tf.while_loop(
        lambda i, x: i < 5,
        lambda i, x: (i + 1, v.assign_add(2.0)),
        [tf.constant(0), tf.constant(0.0)],
        parallel_iterations=1,
    )
    with tf.Session() as session:
        session.run(v.initializer)
        return [*session.run(n), session.run(v)]


def reads_see_earlier_writes(tf):
    v = _variable(tf, "v", 1.0)

    def body(i, total):
        with tf.control_dependencies([v.assign(v * 2.0)]):
            return i + 1, total + v.read_value()

    r = tf.while_loop(lambda i, t: i < 4, body, [tf.constant(0), tf.constant(0.0)], parallel_iterations=1)
    with tf.Session() as session:
        session.run(v.initializer)
        return session.run(r)


def waits_for_what_is_around(tf):
    v = _variable(tf, "v", 1.0)
    with tf.control_dependencies([v.assign_add(10.0)]):
        r = tf.while_loop(
            lambda i, t: i < 2, lambda i, t: (i + 1, t + v.read_value()), [tf.constant(0), tf.constant(0.0)]
        )
    with tf.Session() as session:
        session.run(v.initializer)
        return session.run(r)


def waits_for_a_loop(tf):
    v = _variable(tf, "v", 1.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1

    n = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with tf.control_dependencies([n]):
        y = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        return session.run(y)


def body_waits_for_what_is_outside(tf):
    v = _variable(tf, "v", 1.0)
    outside = v.assign_add(10.0)

    def body(i, t):
        with tf.control_dependencies([outside]):
            return i + 1, t + v.read_value()

    r = tf.while_loop(lambda i, t: i < 2, body, [tf.constant(0), tf.constant(0.0)])
    with tf.Session() as session:
        session.run(v.initializer)
        return session.run(r)


def assertion_in_a_body(tf):
    def body(i):
        with tf.control_dependencies([tf.Assert(i < 2, [i])]):
            return i + 1

    return tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])


def python_function_in_a_body(tf):
    seen = []

    def note(i):
        seen.append(int(i))
        return np.int32(i * 2)

    def body(i, t):
        value = tf.py_func(note, [i], tf.int32)
        value.set_shape([])
        return i + 1, t + value

    r = tf.while_loop(lambda i, t: i < 4, body, [tf.constant(0), tf.constant(0)])
    with tf.Session() as session:
        values = session.run(r)
    return [*values, sorted(seen)]


def random_numbers_differ_by_iteration(tf):
    r = tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, a.write(i, tf.random_uniform([], seed=3))),
        [tf.constant(0), tf.TensorArray(tf.float32, 3)],
    )[1].stack()
    with tf.Session() as session:
        return len(set(session.run(r).tolist()))


def random_number_of_outside_is_one(tf):
    x = tf.random_uniform([])
    r = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x)), [tf.constant(0), tf.TensorArray(tf.float32, 3)]
    )[1].stack()
    with tf.Session() as session:
        return len(set(session.run(r).tolist()))


def under_scopes_and_devices(tf):
    with tf.device("/cpu:0"), tf.name_scope("outer"), tf.variable_scope("vs", use_resource=True):
        w = tf.get_variable("w", initializer=2.0)
        y = tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * w), [tf.constant(0), tf.constant(1.0)], name="again"
        )[1]
        g = tf.gradients(y, w)[0]
    return y, g, y.name.startswith("outer/vs/again/"), w.name, y.device == w.device


def loop_of_a_fed_value(tf):
    x = tf.placeholder_with_default(np.float32([1, 2]), [None])
    y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * x), [tf.constant(0), x])[1]
    return y, tf.gradients(y, x)


def complex_values(tf):
    z = tf.constant(0.5 + 0.5j, tf.complex64)
    return tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z + 0.25), [tf.constant(0), z])


def int64_counter(tf):
    return tf.while_loop(lambda i: i < 5, lambda i: i * 2 + 1, [tf.constant(0, tf.int64)])


def counter_that_wraps_around(tf):
    return tf.while_loop(lambda i: i > 0, lambda i: i * 65536, [tf.constant(3, tf.int32)])


def float_counter(tf):
    return tf.while_loop(lambda x: x < 1.0, lambda x: x + 0.25, [tf.constant(0.0)])


def integer_division_and_modulo(tf):
    return tf.while_loop(
        lambda i, a, b: i < 4,
        lambda i, a, b: (i + 1, (a - 7) // 2, (b - 7) % 5),
        [tf.constant(0), tf.constant(3), tf.constant(3)],
    )


def division_by_zero_of_a_counter(tf):
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a // i), [tf.constant(0), tf.constant(3)])

"""Corners of cond, case and switch_case: structures, static shapes, what runs, gradients, errors."""

import collections

import numpy as np

Pair = collections.namedtuple("Pair", "first second")


def one_value(tf):
    return [
        tf.cond(tf.constant(p), lambda: tf.constant([1.0, 2.0]), lambda: tf.constant([3.0, 4.0])) for p in (True, False)
    ]


def shapes_in_common(tf):
    p = tf.constant(True)
    x = tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, 3])
    y = tf.placeholder_with_default(np.ones((2, 3), np.float32), None)
    z = tf.ones([2, 4])
    return [
        tf.cond(p, lambda: x, lambda: z[:, :3]),
        tf.cond(p, lambda: z, lambda: x),
        tf.cond(p, lambda: x, lambda: y),
        tf.cond(p, lambda: z, lambda: z[0]),
        tf.cond(p, lambda: z + 1.0, lambda: z * 2.0),
    ]


def python_numbers(tf):
    return tf.cond(tf.constant(True), lambda: 1, lambda: 2), tf.cond(tf.constant(False), lambda: 1.5, lambda: 2.5)


def list_of_one_is_unwrapped(tf):
    result = tf.cond(tf.constant(True), lambda: [tf.constant(1)], lambda: [tf.constant(2)])
    return isinstance(result, list), result


def list_of_one_if_strict(tf):
    result = tf.cond(tf.constant(True), lambda: [tf.constant(1)], lambda: [tf.constant(2)], strict=True)
    return isinstance(result, list), result


def nested_structure(tf):
    def branch(k):
        return lambda: {
            "a": tf.constant(k),
            "b": [tf.constant(k + 1.5), Pair(tf.constant(b"x") if k else tf.constant(b"y"), (k,))],
        }

    result = tf.cond(tf.constant(False), branch(0), branch(1))
    return type(result["b"][1]).__name__, result["a"], result["b"][0], result["b"][1].first, result["b"][1].second


def tuples_and_lists_may_not_mix(tf):
    return tf.cond(
        tf.constant(True), lambda: (tf.constant(1), tf.constant(2)), lambda: [tf.constant(3), tf.constant(4)]
    )


def sparse_result(tf):
    def branch(k):
        return lambda: tf.SparseTensor([[0, k]], [k + 1.5], [2, 3])

    result = tf.cond(tf.constant(True), branch(1), branch(2))
    return type(result).__name__, result.indices, result.values, result.dense_shape


def slices_result(tf):
    def branch(k):
        return lambda: tf.IndexedSlices(tf.constant([[k + 0.5]]), tf.constant([k]), tf.constant([4, 1]))

    result = tf.cond(tf.constant(True), branch(1), branch(2))
    return type(result).__name__, result.indices, result.values, result.dense_shape


def array_result(tf):
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).write(0, [1.0])
    one = tf.cond(tf.constant(True), lambda: array.write(1, [2.0]), lambda: array.write(1, [3.0]))
    return one.stack()


def operations_as_results(tf):
    with tf.variable_scope("v", use_resource=True):
        v = tf.get_variable("v", initializer=1.0)
    p = tf.placeholder(tf.bool, [])
    done = tf.cond(p, lambda: v.assign_add(1.0).op, lambda: tf.no_op())
    found = []
    with tf.Session() as session:
        session.run(v.initializer)
        for value in (True, False, True):
            found.append(np.asarray(session.run(done, {p: value})))
            found.append(session.run(v))
    return found


def outside_runs_in_any_case(tf):
    with tf.variable_scope("v", use_resource=True):
        v = tf.get_variable("v", initializer=1.0)
    outside = v.assign_add(10.0)
    p = tf.placeholder(tf.bool, [])
    result = tf.cond(p, lambda: tf.identity(outside), lambda: tf.constant(0.0))
    found = []
    with tf.Session() as session:
        session.run(v.initializer)
        for value in (True, False):
            found += [session.run(result, {p: value}), session.run(v)]
    return found


def branch_runs_only_if_taken(tf):
    with tf.variable_scope("v", use_resource=True):
        v, w = tf.get_variable("v", initializer=0), tf.get_variable("w", initializer=0)
    p = tf.placeholder(tf.bool, [])
    result = tf.cond(p, lambda: v.assign_add(1), lambda: w.assign_add(10))
    with tf.Session() as session:
        session.run([v.initializer, w.initializer])
        return [
            np.array([session.run(result, {p: value}), *session.run([v, w])]) for value in (True, True, False, True)
        ]


def failing_branch_that_is_not_taken(tf):
    x = tf.placeholder_with_default(np.float32([1, 2]), [None])
    return tf.cond(tf.constant(True), lambda: x[0], lambda: tf.reduce_sum(tf.reshape(x, [7])))


def failing_branch_that_is_taken(tf):
    x = tf.placeholder_with_default(np.float32([1, 2]), [None])
    return tf.cond(tf.constant(False), lambda: x[0], lambda: tf.reduce_sum(tf.reshape(x, [7])))


def dead_value_is_fetched(tf):
    inside = []

    def branch():
        inside.append(tf.constant(1.0) + 1.0)
        return inside[0]

    tf.cond(tf.constant(False), branch, lambda: tf.constant(0.0))
    return inside[0]


def living_value_of_a_branch_is_fetched(tf):
    inside = []

    def branch():
        inside.append(tf.constant(1.0) + 1.0)
        return inside[0]

    tf.cond(tf.constant(True), branch, lambda: tf.constant(0.0))
    return inside[0] * 3.0


def gradients_of_both_sides(tf):
    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    results = []
    for p in (True, False):
        z = tf.cond(tf.constant(p), lambda: x * y, lambda: tf.square(x) + 0.0 * y)
        results.append(tf.gradients(z, [x, y]))
    return results


def gradient_by_what_one_side_uses(tf):
    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    results = []
    for p in (True, False):
        z = tf.cond(tf.constant(p), lambda: x * 2.0, lambda: tf.fill([2], y))
        results.append(tf.gradients(z, [x, y]))
    return results


def gradient_by_what_no_side_uses(tf):
    x, y = tf.constant(1.0), tf.constant(3.0)
    return tf.gradients(tf.cond(tf.constant(True), lambda: x * 2.0, lambda: x), y)


def gradient_of_a_value_that_is_passed_on(tf):
    x = tf.constant(2.0)
    y = tf.cond(tf.constant(True), lambda: x, lambda: -x)
    return tf.gradients(y * y, x)


def gradient_of_an_embedding_stays_sparse(tf):
    with tf.variable_scope("v", use_resource=True):
        table = tf.get_variable("table", initializer=np.arange(12.0, dtype=np.float32).reshape(4, 3))
    results = []
    for p in (True, False):
        y = tf.cond(tf.constant(p), lambda: tf.nn.embedding_lookup(table, [1, 1, 3]), lambda: tf.zeros([3, 3]))
        g = tf.gradients(y, table)[0]
        results += [type(g).__name__, tf.convert_to_tensor(g)]
    return results


def second_order(tf):
    x = tf.constant([0.5, 1.5])
    y = tf.cond(tf.constant(True), lambda: tf.cond(tf.reduce_sum(x) > 1.0, lambda: x**3, lambda: x), lambda: tf.sin(x))
    g = tf.gradients(y, x)[0]
    return g, tf.gradients(g, x)[0]


def gradient_inside_of_a_branch(tf):
    x = tf.constant(2.0)
    return tf.cond(tf.constant(True), lambda: tf.gradients(x**3, x)[0], lambda: tf.constant(0.0))


def predicate_is_a_python_bool(tf):
    return tf.cond(True, lambda: tf.constant(1), lambda: tf.constant(2))


def predicate_is_a_number(tf):
    return tf.cond(tf.constant(1), lambda: tf.constant(1), lambda: tf.constant(2))


def predicate_is_an_array(tf):
    return tf.cond(np.array(True), lambda: tf.constant(1), lambda: tf.constant(2))


def predicate_is_a_vector(tf):
    return tf.cond(tf.constant([True, False]), lambda: tf.constant(1), lambda: tf.constant(2))


def predicate_is_a_vector_of_one(tf):
    return tf.cond(tf.constant([True]), lambda: tf.constant(1), lambda: tf.constant(2))


def predicate_is_a_vector_unseen(tf):
    p = tf.placeholder_with_default([True, False], None)
    return tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(2))


def no_true_function(tf):
    return tf.cond(tf.constant(True), None, lambda: tf.constant(2))


def no_false_function(tf):
    return tf.cond(tf.constant(True), lambda: tf.constant(2))


def a_tensor_for_a_function(tf):
    return tf.cond(tf.constant(True), tf.constant(1), tf.constant(2))


def old_argument_names(tf):
    return tf.cond(tf.constant(True), fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))


def old_and_new_names(tf):
    return tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2), fn1=lambda: tf.constant(3))


def types_differ(tf):
    return tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2.0))


def structures_differ(tf):
    return tf.cond(tf.constant(True), lambda: [tf.constant(1), tf.constant(2)], lambda: tf.constant(2))


def lengths_differ(tf):
    return tf.cond(tf.constant(True), lambda: [tf.constant(1)] * 2, lambda: [tf.constant(2)] * 3)


def keys_differ(tf):
    return tf.cond(tf.constant(True), lambda: {"a": tf.constant(1)}, lambda: {"b": tf.constant(2)})


def nothing_returned(tf):
    return tf.cond(tf.constant(True), lambda: None, lambda: tf.constant(2))


def nothing_returned_on_both_sides(tf):
    return tf.cond(tf.constant(True), lambda: None, lambda: None)


def case_takes_the_first(tf):
    t, f = tf.constant(True), tf.constant(False)
    return [
        tf.case([(a, lambda: tf.constant(1)), (b, lambda: tf.constant(2))], default=lambda: tf.constant(3))
        for a, b in ((t, t), (t, f), (f, t), (f, f))
    ]


def case_by_dict(tf):
    t, f = tf.constant(True), tf.constant(False)
    return tf.case(
        {f: lambda: tf.constant(1), t: lambda: tf.constant(2)}, default=lambda: tf.constant(3), exclusive=True
    )


def case_exclusive_and_two_true(tf):
    t = tf.constant(True)
    pairs = [(t, lambda: tf.constant(1)), (tf.logical_or(t, t), lambda: tf.constant(2))]
    return tf.case(pairs, default=lambda: tf.constant(3), exclusive=True)


def case_without_default(tf):
    t, f = tf.constant(True), tf.constant(False)
    return tf.case([(f, lambda: tf.constant(1)), (t, lambda: tf.constant(2))])


def case_without_default_and_none_true(tf):
    f, g = tf.constant(False), tf.logical_not(tf.constant(True))
    return tf.case([(f, lambda: tf.constant(1)), (g, lambda: tf.constant(2))])


def case_of_one(tf):
    return tf.case([(tf.constant(True), lambda: tf.constant(1))], default=lambda: tf.constant(3))


def case_of_one_without_default(tf):
    return tf.case([(tf.constant(True), lambda: tf.constant(1))])


def case_of_one_without_default_and_false(tf):
    return tf.case([(tf.constant(False), lambda: tf.constant(1))])


def case_of_none(tf):
    return tf.case([], default=lambda: tf.constant(3))


def case_of_none_without_default(tf):
    return tf.case([])


def case_of_numbers(tf):
    return tf.case([(tf.constant(1), lambda: tf.constant(1))], default=lambda: tf.constant(3))


def case_of_triples(tf):
    return tf.case([(tf.constant(True), lambda: tf.constant(1), 3)], default=lambda: tf.constant(3))


def case_of_a_tensor(tf):
    return tf.case(tf.constant(True), default=lambda: tf.constant(3))


def case_of_no_function(tf):
    return tf.case([(tf.constant(True), tf.constant(1))], default=lambda: tf.constant(3))


def case_default_is_no_function(tf):
    return tf.case([(tf.constant(True), lambda: tf.constant(1))], default=tf.constant(3))


def case_structure(tf):
    t, f = tf.constant(True), tf.constant(False)
    return tf.case(
        [(f, lambda: [tf.constant(1), tf.constant(1.5)]), (t, lambda: [tf.constant(2), tf.constant(2.5)])],
        default=lambda: [tf.constant(3), tf.constant(3.5)],
    )


def case_gradient(tf):
    x = tf.constant(2.0)
    y = tf.case([(x > 3.0, lambda: x), (x > 1.0, lambda: x * x)], default=lambda: x**3)
    return y, tf.gradients(y, x)


def switch_by_number(tf):
    functions = [lambda k=k: tf.constant(k * 10) for k in range(3)]
    return [tf.switch_case(tf.constant(k), functions) for k in (-1, 0, 1, 2, 3, 7)]


def switch_with_default(tf):
    functions = {k: (lambda k=k: tf.constant(k * 10)) for k in (4, 1, 2)}
    return [tf.switch_case(tf.constant(k), functions, default=lambda: tf.constant(-5)) for k in (-1, 0, 1, 2, 3, 4, 7)]


def switch_without_default(tf):
    functions = [(k, (lambda k=k: tf.constant(k * 10))) for k in (1, 0, 2)]
    return [tf.switch_case(tf.constant(k), functions) for k in (-1, 0, 1, 2, 3)]


def switch_by_int64(tf):
    return tf.switch_case(tf.constant(1, tf.int64), [lambda: tf.constant(1), lambda: tf.constant(2)])


def switch_by_float(tf):
    return tf.switch_case(tf.constant(1.0), [lambda: tf.constant(1), lambda: tf.constant(2)])


def switch_by_python_number(tf):
    return tf.switch_case(1, [lambda: tf.constant(1), lambda: tf.constant(2)])


def switch_with_equal_numbers(tf):
    return tf.switch_case(tf.constant(1), [(1, lambda: tf.constant(1)), (1, lambda: tf.constant(2))])


def switch_with_text(tf):
    return tf.switch_case(tf.constant(1), {"a": lambda: tf.constant(1)})


def switch_of_nothing(tf):
    return tf.switch_case(tf.constant(1), [])


def switch_of_tensors(tf):
    return tf.switch_case(tf.constant(0), [tf.constant(1), tf.constant(2)])


def switch_gradient(tf):
    x = tf.constant(3.0)
    ys = [tf.switch_case(tf.constant(k), [lambda: x, lambda: x * x, lambda: x**3]) for k in range(3)]
    return [tf.gradients(y, x) for y in ys]


def waits_for_what_is_around(tf):
    with tf.variable_scope("v", use_resource=True):
        v = tf.get_variable("v", initializer=1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        y = tf.cond(tf.constant(True), lambda: v.read_value(), lambda: tf.constant(0.0))
    with tf.Session() as session:
        session.run(v.initializer)
        return session.run(y)


def waits_inside(tf):
    with tf.variable_scope("v", use_resource=True):
        v = tf.get_variable("v", initializer=1.0)

    def branch():
        with tf.control_dependencies([v.assign_add(1.0)]):
            return v.read_value()

    y = tf.cond(tf.constant(True), branch, lambda: tf.constant(0.0))
    with tf.Session() as session:
        session.run(v.initializer)
        return session.run(y)


def waits_for_a_conditional(tf):
    with tf.variable_scope("v", use_resource=True):
        v = tf.get_variable("v", initializer=1.0)
    p = tf.placeholder(tf.bool, [])
    done = tf.cond(p, lambda: v.assign_add(1.0), lambda: v.assign_add(10.0))
    with tf.control_dependencies([done]):
        y = v.read_value()
    found = []
    with tf.Session() as session:
        session.run(v.initializer)
        for value in (True, False):
            found.append(session.run(y, {p: value}))
    return found


def names_of_operations(tf):
    with tf.name_scope("outer"):
        y = tf.cond(
            tf.constant(True, name="p"),
            lambda: tf.constant(1, name="one"),
            lambda: tf.constant(2, name="two"),
            name="choice",
        )
    names = {op.name for op in tf.get_default_graph().get_operations()}
    return y.name, sorted(
        names & {"outer/choice/one", "outer/choice/two", "outer/choice/Merge", "outer/choice/pred_id"}
    )


def variables_made_in_a_branch(tf):
    def branch():
        with tf.variable_scope("inside", use_resource=True):
            return tf.get_variable("w", initializer=tf.constant_initializer(3.0), shape=[2]) * 2.0

    y = tf.cond(tf.constant(True), branch, lambda: tf.zeros([2]))
    return [v.name for v in tf.global_variables()], y

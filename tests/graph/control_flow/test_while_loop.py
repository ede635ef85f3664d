"""while_loop: values, structures, shapes, limits, side effects, cancellation, memory, and errors."""

import collections
import gc
import threading

import numpy as np
import pytest

import thalweg as tf

State = collections.namedtuple("State", "count total")


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def variable(value, name="v"):
    return tf.get_variable(name, initializer=value)


# -- values and structures --------------------------------------------------------------------------------------------


def test_loop_counts(engine):
    n = tf.placeholder(tf.int32, [])
    i, x = tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2.0), [0, 1.0])
    assert run([i, x], {n: 5}) == [5, 32.0]
    assert run([i, x], {n: 0}) == [0, 1.0]


def test_the_operations_of_a_loop_are_named_as_in_tensorflow():
    with tf.name_scope("rnn"):
        last = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.identity(a)), [0, 1.0])
    assert [tensor.name for tensor in last] == ["rnn/while/Exit:0", "rnn/while/Exit_1:0"]
    names = {op.name for op in tf.get_default_graph().get_operations() if op.name.startswith("rnn/while/Identity")}
    assert names == {"rnn/while/Identity", "rnn/while/Identity_1", "rnn/while/Identity_2"}


def test_structures_are_those_that_the_body_returns(engine):
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [1.5, 2.5], [3, 3])
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2]), tf.constant([4, 1]))

    def body(i, d, s, sp, sl, array):
        d = {"b": [d["b"][0] + 1.0, d["a"]], "a": d["a"] * 2.0}
        sp = tf.SparseTensor(sp.indices, sp.values * 2.0, sp.dense_shape)
        sl = tf.IndexedSlices(sl.values + 1.0, sl.indices, sl.dense_shape)
        return i + 1, d, State(s.count + i, (s.total[0] + 1.0,)), sp, sl, array.write(i, [i, i * i])

    first = [
        tf.constant(0),
        {"a": tf.constant(1.0), "b": [tf.constant(0.0), tf.constant(0.0)]},
        State(tf.constant(0), (tf.constant(0.5),)),
        sparse,
        slices,
        tf.TensorArray(tf.int32, 3),
    ]
    last = tf.while_loop(lambda i, *_: i < 3, body, first)
    assert type(last) is tuple and type(last[2]) is State and type(last[2].total) is tuple
    assert isinstance(last[3], tf.SparseTensor) and isinstance(last[4], tf.IndexedSlices)
    assert isinstance(last[5], tf.TensorArray)
    i, d, s, sp, sl, rows = run([*last[:5], last[5].stack()])
    assert (i, d, s.count, s.total) == (3, {"a": 8.0, "b": [3.0, 4.0]}, 3, (3.5,))
    assert sp.values.tolist() == [12.0, 20.0] and sl.values.tolist() == [[4.0]] and sl.indices.tolist() == [2]
    np.testing.assert_array_equal(rows, [[0, 0], [1, 1], [2, 4]])


def test_a_single_loop_variable_is_unpacked_unless_same_structure_is_requested():
    alone = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    listed = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)], return_same_structure=True)
    assert isinstance(alone, tf.Tensor) and isinstance(listed, list)


def test_strings_and_booleans(engine):
    y = tf.while_loop(
        lambda go, i, s: go,
        lambda go, i, s: (i < 2, i + 1, tf.string_join([s, tf.as_string(i)])),
        [tf.constant(True), tf.constant(0), tf.constant("x")],
    )
    assert run(y) == (False, 3, b"x012")


def test_variables_that_swap(engine):
    y = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a), [0, 1, 2])
    assert run(y) == (3, 2, 1)


def test_nested_loops(engine):
    def body(i, total):
        return i + 1, tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), [0, total])[1]

    _, total = tf.while_loop(lambda i, t: i < 6, body, [0, 0])
    assert run(total) == sum(i * j for i in range(6) for j in range(i))


def test_conditionals_in_loops(engine):
    def body(i, x):
        return i + 1, tf.cond(tf.equal(i % 3, 0), lambda: x + 10, lambda: tf.cond(i > 3, lambda: x * 2, lambda: x - 1))

    expected = 0
    for i in range(7):
        expected = expected + 10 if i % 3 == 0 else expected * 2 if i > 3 else expected - 1
    assert run(tf.while_loop(lambda i, x: i < 7, body, [0, 0])[1]) == expected


def test_counters_wrap_around_like_tensors(engine):
    y = tf.while_loop(lambda i, x: i < 40, lambda i, x: (i + 1, x * 3 + 1), [0, tf.constant(7, tf.int32)])[1]
    expected = np.int32(7)
    with np.errstate(over="ignore"):
        for _ in range(40):
            expected = expected * np.int32(3) + np.int32(1)
    assert run(y) == expected


# -- shapes and limits ------------------------------------------------------------------------------------------------


def test_shape_invariants(engine):
    x = tf.ones([1, 3])
    _, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.concat([y, y], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])],
    )
    assert y.shape.as_list() == [None, 3]
    (g,) = tf.gradients(y, x)
    value, gradient = run([y, g])
    assert value.shape == (8, 3)
    np.testing.assert_array_equal(gradient, np.full((1, 3), 8.0))


def test_static_shapes_are_those_of_the_initial_values():
    seen = []

    def body(i, x):
        seen.append(x.shape.as_list())
        return i + 1, x * 2.0

    p = tf.placeholder(tf.float32, [None, 3])
    y = tf.while_loop(lambda i, x: i < 3, body, [0, p])[1]
    assert seen == [[None, 3]] and y.shape.as_list() == [None, 3]


def test_maximum_iterations(engine):
    m = tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, x * 2.0), (0, 1.0), maximum_iterations=m)
    assert [run(y, {m: k}) for k in (0, 3, 20)] == [(0, 1.0), (3, 8.0), (10, 1024.0)]
    x = tf.constant(1.5)
    (g,) = tf.gradients(tf.while_loop(lambda x: True, lambda x: x * x, [x], maximum_iterations=3), x)
    np.testing.assert_allclose(run(g), 8 * 1.5**7, rtol=1e-6)


# -- effects ----------------------------------------------------------------------------------------------------------


def test_assignments_happen_once_per_iteration(engine):
    v = variable(0.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(tf.cast(i, tf.float32))]):
            return i + 1

    n = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run(n), session.run(v), session.run(n), session.run(v)] == [5, 10.0, 5, 20.0]


def test_order_across_contexts(engine):
    """A loop waits for what is before it, its reads for its own writes, and what follows for all of it."""
    v = variable(1.0)
    with tf.control_dependencies([v.assign(v * 2.0)]):

        def body(i, total):
            with tf.control_dependencies([v.assign(v + 1.0)]):
                return i + 1, total + v.read_value()

        _, total = tf.while_loop(lambda i, t: i < 3, body, [0, 0.0], parallel_iterations=1)
    with tf.control_dependencies([total]):
        after = v.read_value() * 10.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([total, after]) == [3.0 + 4.0 + 5.0, 50.0]


def test_body_waits_for_outer_control_dependencies(engine):
    v = variable(1.0)
    outside = v.assign_add(10.0)

    def body(i, total):
        with tf.control_dependencies([outside]):
            return i + 1, total + v.read_value()

    _, total = tf.while_loop(lambda i, t: i < 2, body, [0, 0.0])
    assert run(total) == 22.0


def test_assignment_in_a_branch_in_a_loop(engine):
    v = variable(0)

    def body(i):
        done = tf.cond(tf.equal(i % 2, 0), lambda: v.assign_add(i), lambda: tf.constant(0))
        with tf.control_dependencies([done]):
            return tf.identity(i + 1)

    n = tf.while_loop(lambda i: i < 7, body, [0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(n) == 7
        assert session.run(v) == 0 + 2 + 4 + 6


def test_python_functions_in_a_body(engine):
    seen = []

    def note(i):
        seen.append(int(i))
        return np.int32(i * 2)

    def body(i, total):
        value = tf.py_func(note, [i], tf.int32)
        value.set_shape([])
        return i + 1, total + value

    assert run(tf.while_loop(lambda i, t: i < 4, body, [0, 0])[1]) == 12
    assert sorted(seen) == [0, 1, 2, 3]


def test_print_in_a_body(engine, capfd):
    y = tf.while_loop(lambda i: i < 3, lambda i: tf.Print(i, [i], "at ") + 1, [0])
    assert run(y) == 3
    assert [line for line in capfd.readouterr().err.splitlines() if line.startswith("at ")] == [
        "at [0]",
        "at [1]",
        "at [2]",
    ]


def test_assertion_in_a_body(engine):
    n = tf.placeholder(tf.int32, [])

    def body(i):
        with tf.control_dependencies([tf.Assert(i < 2, ["too far", i])]):
            return i + 1

    y = tf.while_loop(lambda i: i < n, body, [0])
    assert run(y, {n: 2}) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too far(?s:.)*\b2\b"):
        run(y, {n: 5})


def test_error_in_a_body_names_the_node_and_the_line(engine):
    x = tf.placeholder(tf.float32, [None])
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.reshape(x, [5], name="wrong")), [0, tf.zeros([5])])[1]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"while/wrong(?s:.)*test_while_loop.py"):
        run(y, {x: [1.0, 2.0]})


def test_random_numbers(engine):
    """What is drawn in a body is drawn in each iteration, what is drawn outside once."""
    x = tf.random_uniform([])
    arrays = [tf.TensorArray(tf.float32, 4), tf.TensorArray(tf.float32, 4)]
    _, (a, b) = tf.while_loop(
        lambda i, _: i < 4,
        lambda i, ab: (i + 1, [ab[0].write(i, x), ab[1].write(i, tf.random_uniform([]))]),
        [0, arrays],
    )
    outside, inside = run([a.stack(), b.stack()])
    assert len(set(outside.tolist())) == 1 and len(set(inside.tolist())) == 4


# -- gradients --------------------------------------------------------------------------------------------------------


def test_gradients_of_captured_values(engine):
    x, w = tf.constant([[1.0, 2.0]]), variable(np.float32([[1.0, 0.5], [0.25, 1.0]]))
    b = tf.constant([0.1, 0.2])
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.matmul(y, w) + b), [0, x])[1]
    gx, gw, gb = run(tf.gradients(y, [x, w, b]))
    m, value = np.float32([[1.0, 0.5], [0.25, 1.0]]), np.float32([[1.0, 2.0]])
    values, grads = [], []
    for _ in range(3):
        values.append(value)
        value = value @ m + np.float32([0.1, 0.2])
    grad = np.ones((1, 2))
    for _ in range(3):
        grads.append(grad)
        grad = grad @ m.T
    np.testing.assert_allclose(gx, grad, rtol=1e-5)
    np.testing.assert_allclose(gw, sum(v.T @ g for v, g in zip(values, reversed(grads))), rtol=1e-5)
    np.testing.assert_allclose(gb, sum(grads)[0], rtol=1e-5)


def test_embedding_gradients_stay_sparse(engine):
    table = variable(np.arange(12, dtype=np.float32).reshape(4, 3), "table")
    y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, y + tf.nn.embedding_lookup(table, tf.stack([i, 1]))),
        [0, tf.zeros([2, 3])],
    )[1]
    (g,) = tf.gradients(y, table)
    assert isinstance(g, tf.IndexedSlices)
    value = run(g)
    assert sorted(value.indices.tolist()) == [0, 1, 1, 1, 1, 2]
    np.testing.assert_array_equal(value.values, np.ones((6, 3)))


def test_sparse_gradient_in_a_branch_of_a_loop(engine):
    table = variable(np.arange(12, dtype=np.float32).reshape(4, 3), "table")

    def body(i, y):
        return i + 1, tf.cond(i > 0, lambda: y + tf.nn.embedding_lookup(table, i), lambda: y)

    (g,) = tf.gradients(tf.while_loop(lambda i, y: i < 3, body, [0, tf.zeros([3])])[1], table)
    assert isinstance(g, tf.IndexedSlices)
    dense = np.zeros((4, 3))
    value = run(g)
    np.add.at(dense, value.indices, value.values)
    np.testing.assert_array_equal(dense, [[0] * 3, [1] * 3, [1] * 3, [0] * 3])


def test_gradient_of_no_iterations(engine):
    n, x, w = tf.placeholder(tf.int32, []), tf.constant([1.0, 2.0]), tf.constant(3.0)
    y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * w), [0, x])[1]
    gx, gw = tf.gradients(y, [x, w])
    assert [v.tolist() for v in run([gx, gw], {n: 0})] == [[1.0, 1.0], 0.0]
    assert [v.tolist() for v in run([gx, gw], {n: 2})] == [[9.0, 9.0], 18.0]


def test_gradient_inside_a_body(engine):
    """Descends a parabola in a loop: `gradients` is called in the body, by the body's own value."""

    def body(i, x):
        return i + 1, x - 0.25 * tf.gradients(tf.reduce_sum(tf.square(x - 3.0)), x)[0]

    y = tf.while_loop(lambda i, x: i < 4, body, [0, tf.constant([1.0, 5.0])])[1]
    np.testing.assert_allclose(run(y), 3 + np.array([-2, 2]) / 16, rtol=1e-6)


def test_gradient_of_captured_values_in_nested_loops(engine):
    """A sampler in two nested loops differentiates with respect to values outside one or both of them."""
    x = tf.constant(3.0)

    def outer(i, a):
        w = x * 2.0

        def inner(j, b):
            by_x, by_w = tf.gradients(x * x * w, [x, w])
            return j + 1, b + by_x + by_w

        return i + 1, a + tf.while_loop(lambda j, b: j < 2, inner, [0, 0.0])[1]

    total = tf.while_loop(lambda i, a: i < 2, outer, [0, 0.0])[1]
    assert run(total) == 4 * (2 * 3 * 6 + 2 * 3 * 3 + 3 * 3)


def test_gradient_of_a_loop_inside_a_body_and_its_gradient(engine):
    """A loop whose body differentiates another loop is differentiated itself."""
    x = tf.placeholder(tf.float64, [])

    def body(i, y):
        z = tf.while_loop(lambda j, z: j < 3, lambda j, z: (j + 1, z * y), [0, y])[1]  # y ** 4
        return i + 1, y + 0.01 * tf.gradients(z, y)[0]  # y + 0.04 y ** 3

    y = tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]
    (g,) = tf.gradients(y, x)

    def reference(v):
        for _ in range(3):
            v = v + 0.04 * v**3
        return v

    value, gradient = run([y, g], {x: 1.1})
    np.testing.assert_allclose(value, reference(1.1), rtol=1e-9)
    np.testing.assert_allclose(gradient, (reference(1.1 + 1e-6) - reference(1.1 - 1e-6)) / 2e-6, rtol=1e-6)


def test_second_and_third_order(engine):
    x = tf.constant(1.3, tf.float64)
    y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), [0, x])[1]  # x ** 5
    orders = [y]
    for _ in range(3):
        orders.append(tf.gradients(orders[-1], x)[0])
    expected = [1.3**5, 5 * 1.3**4, 20 * 1.3**3, 60 * 1.3**2]
    np.testing.assert_allclose(run(orders), expected, rtol=1e-9)


def test_no_gradient_without_back_prop():
    x = tf.constant(1.5)
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y), [0, x], back_prop=False)[1]
    with pytest.warns(UserWarning, match="back_prop=False"):
        assert tf.gradients(y, x) == [None]
    assert run(tf.gradients(y + 2.0 * x, x)) == [2.0]


def test_a_stopped_gradient(engine):
    x = tf.constant(2.0)
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.stop_gradient(x)), [0, x])[1]
    assert run(tf.gradients(y, x)) == [8.0]


# -- scopes and graphs ------------------------------------------------------------------------------------------------


def test_scopes_and_devices_apply_inside():
    with tf.name_scope("outer"), tf.device("/cpu:0"), tf.variable_scope("vs"):
        w = tf.get_variable("w", initializer=2.0)
        y = tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, tf.multiply(y, w, name="m")), [0, 1.0], name="again"
        )[1]
        (g,) = tf.gradients(y, w)
    assert y.name.startswith("outer/vs/again/")
    assert tf.get_default_graph().get_operation_by_name("outer/vs/again/m").device == "/device:CPU:0"
    assert run([y, g]) == [8.0, 12.0]


def test_a_variable_created_in_a_body_is_initialized_outside():
    def body(i, x):
        w = tf.get_variable("w", initializer=tf.constant_initializer(2.0), shape=[])
        return i + 1, x * w

    y = tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])[1]
    assert [v.name for v in tf.global_variables()] == ["w:0"]
    assert run(y) == 8.0


def test_graph_def_round_trip(engine):
    with tf.Graph().as_default() as graph:
        n, x = tf.placeholder(tf.int32, [], name="n"), tf.placeholder(tf.float32, [], name="x")
        y = tf.while_loop(
            lambda i, y: i < n,
            lambda i, y: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y + x)),
            [0, x],
            name="again",
        )[1]
        tf.identity(tf.gradients(y, x)[0], name="g")
    (g,) = tf.import_graph_def(graph.as_graph_def(), return_elements=["g:0"])
    assert run(g, {"import/n:0": 0, "import/x:0": 3.0}) == 1.0
    assert run(g, {"import/n:0": 3, "import/x:0": 3.0}) == 3 * 3.0**2 + 2 * 3.0  # (x * x + x) * x


# -- time and memory --------------------------------------------------------------------------------------------------


def endless():
    return tf.while_loop(lambda i, x: x > -1.0, lambda i, x: (i + 1, tf.sin(x)), [0, 1.0])[1]


def test_an_infinite_loop_ends_at_the_timeout(engine):
    y = endless()
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(y, options=tf.RunOptions(timeout_in_ms=300))
        assert session.run(tf.constant(3)) == 3  # the session goes on


def test_an_infinite_loop_ends_when_its_session_closes(engine):
    y = endless()
    session = tf.Session()
    closer = threading.Timer(0.3, session.close)
    closer.start()
    with pytest.raises((tf.errors.CancelledError, RuntimeError)):
        session.run(y)
    closer.join()


def test_a_long_loop_uses_constant_memory(engine):
    """Values of ten thousand iterations are kept only if the loop is differentiated."""
    x = tf.placeholder(tf.float32, [64, 64])
    n = tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, 0.5 * y + x), [0, x], back_prop=False)[1]
    matrix = np.zeros((64, 64), np.float32)
    with tf.Session() as session:
        session.run(y, {x: matrix, n: 100})
        gc.collect()
        before = resident()
        session.run(y, {x: matrix, n: 10_000})
        assert resident() - before < 20e6  # all iterations would be 164 MB


def resident():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


# -- errors -----------------------------------------------------------------------------------------------------------


def less_than_three(i, *_):
    return i < 3


@pytest.mark.parametrize(
    ("cond", "body", "variables", "kind", "words"),
    [
        (None, lambda i: i, [0], TypeError, "cond of while_loop is not callable: None"),
        (less_than_three, 7, [0], TypeError, "body of while_loop is not callable: 7"),
        (less_than_three, lambda: [], [], ValueError, "No loop variables provided"),
        (lambda i: i, lambda i: i, [0], TypeError, "scalar bool, but .*int32"),
        (lambda i: tf.constant([True]), lambda i: i, [0], ValueError, r"scalar bool, but .*bool\[1\]"),
        (less_than_three, lambda i, x: i + 1, [0, 1.0], ValueError, "2 loop variables of the same structure"),
        (less_than_three, lambda i, x: (i + 1, x, x), [0, 1.0], ValueError, "2 loop variables of the same structure"),
        (less_than_three, lambda i, x: (i + 1, [x]), [0, 1.0], ValueError, "2 loop variables of the same structure"),
        (less_than_three, lambda i, x: (i + 1, (x, x)), [0, [1.0, 2.0]], TypeError, "the same structure"),
        (less_than_three, lambda i: None, [0], ValueError, "None"),
    ],
)
def test_invalid_arguments_are_rejected(cond, body, variables, kind, words):
    with pytest.raises(kind, match=words):
        tf.while_loop(cond, body, variables)


def test_rejects_a_variable_that_changes_its_type():
    x = tf.constant(1.0, name="speed")
    with pytest.raises(TypeError, match=r"Loop variable 1, 'speed:0', .*float32.*float64"):
        tf.while_loop(less_than_three, lambda i, x: (i + 1, tf.cast(x, tf.float64)), [0, x])


def test_rejects_a_variable_that_changes_its_shape():
    x = tf.ones([2, 3], name="rows")
    with pytest.raises(ValueError, match=r"'rows:0' enters .*\(2, 3\).*\(4, 3\)(?s:.)*shape_invariants"):
        tf.while_loop(less_than_three, lambda i, x: (i + 1, tf.concat([x, x], 0)), [0, x])


def test_rejects_an_invariant_that_does_not_hold_initially():
    x = tf.ones([2, 3], name="rows")
    with pytest.raises(ValueError, match=r"invariant \[2, 4\] of loop variable 1, 'rows:0'.*\[2, 3\]"):
        tf.while_loop(
            less_than_three,
            lambda i, x: (i + 1, x),
            [0, x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([2, 4])],
        )


def test_rejects_invariants_of_another_structure():
    with pytest.raises(ValueError, match="shape_invariants"):
        tf.while_loop(less_than_three, lambda i, x: (i + 1, x), [0, 1.0], shape_invariants=[tf.TensorShape([])])


def test_rejects_parallel_iterations_below_one():
    with pytest.raises(TypeError, match="1 or more, not 0"):
        tf.while_loop(less_than_three, lambda i: i + 1, [0], parallel_iterations=0)


def test_rejects_non_scalar_maximum_iterations():
    with pytest.raises(ValueError, match=r"maximum_iterations.*scalar"):
        tf.while_loop(less_than_three, lambda i: i + 1, [0], maximum_iterations=[1, 2])


def test_values_of_a_body_cannot_be_used_outside():
    inside = []

    def body(i):
        inside.append(tf.add(i, 1, name="inner"))
        return inside[0]

    tf.while_loop(less_than_three, body, [0])
    words = "Cannot use 'while/inner' as input to .* because"
    with pytest.raises(ValueError, match=words):
        _ = inside[0] + 1
    with pytest.raises(ValueError, match=words), tf.control_dependencies([inside[0]]):
        tf.no_op()
    with pytest.raises(ValueError, match=words):
        tf.while_loop(less_than_three, lambda i: i + inside[0], [0])
    with pytest.raises(ValueError, match="fetch"), tf.Session() as session:
        session.run(inside[0])
    with pytest.raises(ValueError, match=r"may not be fed|cannot (be fed|feed)"), tf.Session() as session:
        session.run(tf.constant(1), {inside[0]: 1})

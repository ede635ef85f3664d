"""Loop optimizations: equal results with and without them, and programs that show what remains in the loop."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base.config import RewriterConfig

STEPS, BATCH, WIDTH, UNITS = 4, 3, 2, 5


def config(**switches):
    return tf.ConfigProto(graph_options=tf.GraphOptions(rewrite_options=RewriterConfig(**switches)))


INSIDE = config(loop_optimization=RewriterConfig.OFF)
AS_WRITTEN = config(arithmetic_optimization=RewriterConfig.OFF)


def same_numbers(fetches, feed=None, tolerance=1e-5):
    """Compares results with all loop optimizations, without batched products, and without any."""
    results, state = [], []
    for chosen in (tf.ConfigProto(), AS_WRITTEN, INSIDE):
        with tf.Session(config=chosen) as session:
            session.run(tf.global_variables_initializer())
            state = state or session.run(tf.global_variables())
            for variable, value in zip(tf.global_variables(), state):
                variable.load(value, session)
            results.append(session.run(fetches, feed))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def inside_loops(fetches, feed=(), chosen=None):
    """Returns the lines of a step's program that stand in loops."""
    with tf.Session(config=chosen) as session:
        session.run(tf.global_variables_initializer())
        return [line.strip() for line in session.show_program(fetches, feed).splitlines() if line.startswith(" " * 8)]


def calls(lines, name):
    return sum(f"= {name}(" in line for line in lines)


# -- loop invariants --------------------------------------------------------------------------------------------------


def test_invariants_are_computed_before_the_loop():
    x = tf.placeholder(tf.float32, [3])
    _, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * tf.tanh(tf.sin(x))), [0, x])
    lines = inside_loops(y, [x])
    assert calls(lines, "sin") == calls(lines, "tanh") == 0 and calls(lines, "mul") == 1
    assert calls(inside_loops(y, [x], INSIDE), "sin") == 1
    same_numbers([y], {x: [0.1, 0.2, 0.3]})


def test_invariants_leave_nested_loops():
    x = tf.placeholder(tf.float32, [3])

    def outer(i, y):
        return i + 1, tf.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, z * tf.sin(x)), [0, y])[1]

    _, y = tf.while_loop(lambda i, y: i < 3, outer, [0, x])
    assert calls(inside_loops(y, [x]), "sin") == 0
    same_numbers([y], {x: [0.1, 0.2, 0.3]})


def test_invariants_of_a_condition_are_computed_once():
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda y: y < tf.sqrt(x), lambda y: y + 1.0, [0.0])
    assert calls(inside_loops(y, [x]), "sqrt") == 0
    same_numbers([y], {x: 17.0})


def test_a_variable_is_read_once_and_not_saved():
    w = tf.get_variable("w", [3], use_resource=True)
    y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.sin(y * w)), [0, tf.ones([3])])[1]
    (grad,) = tf.gradients(y, w)
    lines = inside_loops([y, grad])
    assert not any("read_w" in line for line in lines)
    assert calls(lines, "push") == 2  # the product, and the variable of the loop before
    same_numbers([y, grad])


def test_a_variable_that_the_loop_changes_is_read_in_it():
    w = tf.get_variable("w", [], initializer=tf.constant_initializer(1.0), use_resource=True)

    def body(i, y):
        with tf.control_dependencies([w.assign_add(1.0)]):
            return i + 1, y + w.read_value()

    y = tf.while_loop(lambda i, y: i < 3, body, [0, 0.0])[1]
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(y) == 2.0 + 3.0 + 4.0


def test_a_blocking_loop_reads_variables_in_every_iteration():
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer(), use_resource=True)
    session = tf.Session()
    more = w.assign_add(1.0)

    def body(i, y):
        passed = tf.py_func(lambda n: session.run(more) and n, [i], tf.int32)
        passed.set_shape([])
        return passed + 1, y + w

    y = tf.while_loop(lambda i, y: i < 3, body, [0, 0.0])[1]
    with session:
        session.run(w.initializer)
        assert session.run(y) > 0.0


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_hoisted_nodes_do_not_fail_without_iterations():
    x = tf.placeholder(tf.float32, [3])
    index = tf.placeholder(tf.int32, [])
    n = tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + tf.gather(x, index)), [0, 1.0])[1]
    with tf.Session() as session:
        assert session.run(y, {x: [1, 2, 3], index: 2, n: 2}) == 7.0
        assert session.run(y, {x: [1, 2, 3], index: 9, n: 0}) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {x: [1, 2, 3], index: 9, n: 1})


# -- matrix products --------------------------------------------------------------------------------------------------


def _cell(x, h, w, b, order):
    joined = tf.concat([x, h] if order else [h, x], 1)
    product = tf.matmul(joined, w)
    return tf.tanh(product + b if order else tf.nn.bias_add(product, b))


def _weights():
    w = tf.get_variable("w", [WIDTH + UNITS, UNITS], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
    return w, tf.get_variable("b", [UNITS], initializer=tf.random_uniform_initializer(-1, 1, seed=2))


def _loop(x, cell, steps=STEPS, start=None):
    array = tf.TensorArray(tf.float32, steps).unstack(x)
    h = tf.zeros([BATCH, UNITS]) if start is None else start
    return tf.while_loop(lambda t, h: t < steps, lambda t, h: (t + 1, cell(array.read(t), h)), [0, h])[1]


@pytest.mark.parametrize("order", [True, False])
def test_products_with_the_sequence_leave_the_loop(order):
    x = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
    w, b = _weights()
    h = _loop(x, lambda x_t, h: _cell(x_t, h, w, b, order))
    gradients = tf.gradients(h, [w, b])
    lines = inside_loops([h, *gradients], [x])
    assert calls(lines, "addmm") == 1 and calls(lines, "mm") == 1 and calls(lines, "sum") == 0
    same_numbers([h, *gradients], {x: np.random.RandomState(0).randn(STEPS, BATCH, WIDTH)})


def test_second_gradients_of_products_leave_the_loop():
    x = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
    w, b = _weights()
    h = _loop(x, lambda x_t, h: _cell(x_t, h, w, b, True))
    first = tf.gradients(h, [w, b, x])
    second = tf.gradients([tf.reduce_sum(g * g) for g in first], [w, b, x])
    same_numbers([h, *first, *second], {x: np.random.RandomState(0).randn(STEPS, BATCH, WIDTH)}, 1e-4)


def test_a_product_with_the_sequence_alone_and_a_transposed_matrix():
    x = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
    w = tf.get_variable("w", [UNITS, WIDTH], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
    h = _loop(x, lambda x_t, h: tf.tanh(h + tf.matmul(x_t, w, transpose_b=True)))
    (gradient,) = tf.gradients(h, w)
    assert calls(inside_loops(h, [x]), "mm") == 0
    same_numbers([h, gradient], {x: np.random.RandomState(0).randn(STEPS, BATCH, WIDTH)})


def test_the_length_of_the_sequence_may_be_data():
    x = tf.placeholder(tf.float32, [None, BATCH, WIDTH])
    w, b = _weights()
    h = _loop(x, lambda x_t, h: _cell(x_t, h, w, b, True), steps=tf.shape(x)[0])
    fetches = [h, *tf.gradients(h, [w, b])]
    assert calls(inside_loops(fetches, [x]), "addmm") == 1
    for steps in (0, 1, 6):
        same_numbers(fetches, {x: np.random.RandomState(0).randn(steps, BATCH, WIDTH)})


@pytest.mark.parametrize("halves", [True, False])
def test_one_matrix_in_two_products(halves):
    """Two parts of one matrix, by columns or by rows, are two matrices."""
    x = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
    w = tf.get_variable("w", [WIDTH + WIDTH, 2 * WIDTH], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
    left, right = tf.split(w[:WIDTH], 2, 1)

    def by_columns(x_t, h):
        return tf.tanh(h + tf.matmul(x_t, left) - 2.0 * tf.matmul(x_t, right))

    def by_rows(x_t, h):
        first, second = tf.matmul(tf.concat([x_t, h], 1), w), tf.matmul(tf.concat([h, x_t], 1), w)
        return tf.tanh(first[:, :WIDTH] - 2.0 * second[:, :WIDTH])

    h = _loop(x, by_columns if halves else by_rows, start=tf.zeros([BATCH, WIDTH]))
    fetches = [h, *tf.gradients(h, w)]
    same_numbers(fetches, {x: np.random.RandomState(0).randn(STEPS, BATCH, WIDTH)})


def test_reading_past_the_end_is_still_an_error():
    x = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
    w, b = _weights()
    array = tf.TensorArray(tf.float32, STEPS).unstack(x)
    start = [0, tf.zeros([BATCH, UNITS])]
    h = tf.while_loop(lambda t, h: t < 9, lambda t, h: (t + 1, _cell(array.read(t), h, w, b, True)), start)[1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.OpError, match="read from index 4 but array size is: 4"):
            session.run(h, {x: np.zeros([STEPS, BATCH, WIDTH])})


@pytest.mark.parametrize("make", ["BasicLSTMCell", "GRUCell", "LSTMCell", "BasicRNNCell"])
def test_cells(make):
    x = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
    cell = getattr(tf.nn.rnn_cell, make)(UNITS)
    tf.set_random_seed(1)
    outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=[4, 1, 2], dtype=tf.float32, time_major=True)
    gradients = tf.gradients(outputs, [*tf.trainable_variables(), x])
    same_numbers([outputs, *tf.nest.flatten(state), *gradients], {x: np.random.RandomState(0).randn(4, 3, 2)})


def test_a_sum_of_products_without_gradient_stays_in_the_loop():
    """Batching would keep the products of all iterations in memory."""
    x = tf.placeholder(tf.float32, [BATCH, WIDTH])
    total = tf.while_loop(
        lambda i, a: i < 5,
        lambda i, a: (i + 1, a + tf.matmul(x, tf.sin(a[:1, :]) + x, transpose_a=True)),
        [0, tf.zeros([2, 2])],
    )[1]
    same_numbers([total], {x: np.ones([BATCH, WIDTH])})


def test_a_deep_product_takes_a_matrix_as_bias():
    """From some depth on products are oneDNN's, which adds vectors only."""
    x, w, y = (tf.placeholder(tf.float32, shape) for shape in ([4, 600], [600, 3], [4, 3]))
    z = tf.nn.relu(tf.matmul(x, w) + y)
    random = np.random.RandomState(0)
    feed = {x: random.randn(4, 600), w: random.randn(600, 3), y: random.randn(4, 3)}
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(z, feed), np.maximum(feed[x] @ feed[w] + feed[y], 0), atol=1e-4)


# -- controls ---------------------------------------------------------------------------------------------------------


def test_control_edges_from_pure_nodes_are_removed():
    x = tf.placeholder(tf.float32, [3])
    with tf.control_dependencies([tf.exp(x, name="idle")]):
        y = tf.sin(x)
    with tf.Session() as session:
        assert "exp" not in session.show_program(y, [x])


def test_effects_are_waited_for_through_pure_nodes():
    v = tf.Variable(1.0, use_resource=True)
    with tf.control_dependencies([v.assign_add(1.0)]):
        between = tf.constant(0.0) + 1.0
    with tf.control_dependencies([tf.group(between)]):
        y = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y) == 2.0
        assert session.run(y) == 3.0


def test_a_fetched_group_runs_all_its_members():
    ran = []
    x = tf.py_func(lambda: ran.append(1) or np.float32(1), [], tf.float32)
    with tf.Session() as session:
        session.run(tf.group(x + 1.0))
    assert ran == [1]

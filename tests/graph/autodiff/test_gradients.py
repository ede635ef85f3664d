"""Gradients: sums over paths, stops, sparse gradients, and invalid arguments."""

import itertools

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.autodiff.registry import GRADIENTS

METHODS = [
    tf.AggregationMethod.ADD_N,
    tf.AggregationMethod.DEFAULT,
    tf.AggregationMethod.EXPERIMENTAL_TREE,
    tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
]
_serial = itertools.count()


@pytest.fixture
def session(graph):
    with tf.Session() as session:
        yield session


def own_rule(function):
    """Registers a gradient under a name that no other test has, and returns the name."""
    name = f"TestRule{next(_serial)}"
    tf.RegisterGradient(name)(function)
    return name


# -- sums --------------------------------------------------------------------------------------------------------------


def test_gradients_of_several_ys_and_paths_are_summed(session):
    x = tf.placeholder(tf.float64, [2])
    a = x * 3.0
    b = a * x  # 3 x^2: through a and directly
    gradient = tf.gradients([a, b, b], x)[0]
    np.testing.assert_allclose(session.run(gradient, {x: [2.0, -1.0]}), [3 + 2 * 12.0, 3 - 2 * 6.0])


def test_the_shape_of_the_arguments_does_not_matter(session):
    x, y = tf.constant(2.0), tf.constant(5.0)
    product = x * y
    for ys, xs in ((product, [x, y]), ([product], (x, y)), ((product,), [x, y])):
        assert session.run(tf.gradients(ys, xs)) == [5.0, 2.0]
    assert tf.gradients([], [x, y]) == [None, None]


def test_grad_ys(session):
    x = tf.placeholder(tf.float32, [2])
    y, z = x * x, tf.sin(x)
    gradient = tf.gradients([y, z], x, grad_ys=[[1.0, 10.0], None])[0]
    start = np.array([3.0, 4.0], np.float32)
    np.testing.assert_allclose(session.run(gradient, {x: start}), 2 * start * [1, 10] + np.cos(start), rtol=1e-6)


def test_grad_ys_may_be_fed(session):
    x, weight = tf.constant([1.0, 2.0]), tf.placeholder(tf.float32, [None])
    gradient = tf.gradients(x * x, x, grad_ys=weight)[0]
    assert gradient.shape.as_list() == [2]
    assert session.run(gradient, {weight: [3.0, 0.5]}).tolist() == [6.0, 2.0]


def test_grad_ys_may_have_any_shape_that_rules_accept(session):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert session.run(tf.gradients(x * x, x, grad_ys=2.0))[0].tolist() == [[4.0, 8.0], [12.0, 16.0]]
    assert session.run(tf.gradients(tf.reshape(x, [4]), x, grad_ys=tf.ones([1, 2, 2])))[0].tolist() == [[1.0] * 2] * 2


@pytest.mark.parametrize(
    ("weight", "error", "match"),
    [
        (lambda: tf.zeros([2]), ValueError, r"but are 2 and 3 for 'gradients/y_grad/Mul'"),
        (lambda: tf.zeros([3], tf.float64), ValueError, "float32.*float64"),
        (lambda: tf.zeros([3], tf.int32), ValueError, "float32.*int32"),
        (lambda: "text", TypeError, "float32"),
        (lambda: [tf.zeros([3]), tf.zeros([3])], ValueError, "Passed 2 grad_ys for 1 ys"),
    ],
)
def test_invalid_grad_ys(weight, error, match):
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.exp(x, name="y")
    with pytest.raises(error, match=match):
        tf.gradients(y, x, grad_ys=weight())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("colocate", [False, True])
def test_all_aggregation_methods_agree(session, method, gate, colocate):
    x = tf.constant([0.5, 2.0], tf.float64)
    parts = [tf.sin(x), tf.exp(x), x * x * x, tf.sqrt(x), x / 3.0]
    gradient = tf.gradients(
        parts, x, aggregation_method=method, gate_gradients=gate, colocate_gradients_with_ops=colocate
    )[0]
    v = np.array([0.5, 2.0])
    np.testing.assert_allclose(session.run(gradient), np.cos(v) + np.exp(v) + 3 * v**2 + 0.5 / np.sqrt(v) + 1 / 3)


def test_pairwise_aggregation_adds_two_at_a_time(graph):
    x = tf.constant(1.0)
    tf.gradients([tf.sin(x), tf.cos(x), tf.exp(x)], x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)
    assert [len(op.inputs) for op in graph.get_operations() if op.type == "AddN"] == [2, 2]


def test_an_unknown_aggregation_method():
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="Invalid aggregation_method specified 7"):
        tf.gradients(x * x, x, aggregation_method=7)


@pytest.mark.parametrize(
    ("rows", "bias"), [(4, [3]), (4, [1, 3]), (4, [4, 1]), (None, [3]), (None, [None]), (None, [1, 3]), (None, [4, 1])]
)
def test_the_gradient_of_a_broadcast_operand_is_a_reshape_of_a_sum(session, rows, bias):
    x, b = tf.placeholder(tf.float32, [rows, 3]), tf.placeholder(tf.float32, bias)
    gradient = tf.gradients(tf.exp(x + b), b)[0]
    assert gradient.op.type == "Reshape"
    assert gradient.op.inputs[0].op.type == "Sum"
    assert gradient.shape.as_list() == bias
    size = [d or 3 for d in bias]
    feeds = {x: np.ones([4, 3]), b: np.zeros(size)}
    np.testing.assert_allclose(session.run(gradient, feeds), np.full(size, 12 / np.prod(size) * np.e), rtol=1e-6)


def test_a_redundant_reshape_of_a_gradient_is_not_computed(session):
    x, b = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3])
    gradient = tf.gradients(tf.exp(x + b), b)[0]
    assert "Reshape" not in session.show_program(gradient, [x, b])


# -- where they start and stop -----------------------------------------------------------------------------------------


def test_intermediate_tensors_and_the_output_itself(session):
    x = tf.constant(2.0)
    middle = x * x
    y = middle * middle * 3.0
    assert session.run(tf.gradients(y, [y, middle, x])) == [1.0, 24.0, 96.0]
    assert session.run(tf.gradients([y, middle], [y, middle])) == [1.0, 25.0]


def test_a_tensor_listed_twice(session):
    x = tf.constant(2.0)
    first, second = tf.gradients(x * x, [x, x])
    assert session.run([first, second]) == [4.0, 4.0]


def test_variables(session):
    v = tf.Variable([1.0, 2.0])
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(v * v * w + v)
    session.run(tf.global_variables_initializer())
    by_v, by_w = session.run(tf.gradients(loss, [v, w]))
    assert by_v.tolist() == [3.0, 5.0] and by_w.tolist() == [1.0, 4.0]


def test_gradient_by_a_single_read_of_a_variable(session):
    v = tf.Variable(3.0)
    read = v.read_value()
    y = read * read + v
    session.run(v.initializer)
    assert session.run(tf.gradients(y, [v, read])) == [7.0, 6.0]


def test_stop_gradients_makes_partial_derivatives(session):
    a = tf.constant(3.0)
    b = 2.0 * a
    assert session.run(tf.gradients(a + b, [a, b])) == [3.0, 1.0]
    assert session.run(tf.gradients(a + b, [a, b], stop_gradients=[a, b])) == [1.0, 1.0]
    assert tf.gradients(b * b, a, stop_gradients=b) == [None]


def test_the_stop_gradient_op(session):
    x = tf.constant(3.0)
    assert session.run(tf.gradients(x * tf.stop_gradient(x), x)) == [3.0]
    assert tf.gradients(tf.stop_gradient(x) * 2.0, x) == [None]


def test_unconnected(session):
    x, other = tf.constant([1.0, 2.0]), tf.constant([[1.0], [2.0], [3.0]])
    v = tf.Variable([1.0, 2.0, 3.0])
    session.run(v.initializer)
    y = tf.exp(x)
    assert tf.gradients(y, [other, v]) == [None, None]
    zeros = tf.gradients(y, [other, v, x], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    values = session.run(zeros)
    np.testing.assert_array_equal(values[0], np.zeros((3, 1)))
    np.testing.assert_array_equal(values[1], np.zeros(3))
    np.testing.assert_allclose(values[2], np.exp([1.0, 2.0]), rtol=1e-6)
    assert tf.gradients(y, other, unconnected_gradients="none") == [None]
    with pytest.raises(ValueError, match="some"):
        tf.gradients(y, other, unconnected_gradients="some")


def test_integer_tensors_stop_gradients():
    x = tf.constant([1.5, 2.5])
    assert tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), x) == [None]
    assert tf.gradients(x * tf.cast(tf.argmax(x), tf.float32), x)[0] is not None


def test_integer_outputs_have_no_gradient():
    x, count = tf.constant(1.0), tf.constant(3)
    assert tf.gradients(tf.cast(x, tf.int32), x) == tf.gradients(count * 2, count) == [None]
    assert tf.gradients(x * 2, [x, count])[1] is None


@pytest.mark.parametrize("y", [True, "a"])
def test_non_numeric_outputs_are_rejected(y):
    tensor = tf.constant(y, name="answer")
    with pytest.raises(TypeError, match=r"numeric tensors.*'answer:0'"):
        tf.gradients(tensor, tf.constant(1.0))


def test_names_are_under_one_scope(graph):
    x = tf.constant(1.0)
    y = tf.sin(x, name="layer/sin")
    before = len(graph.get_operations())
    tf.gradients(y, x, name="back")
    made = [op.name for op in graph.get_operations()[before:]]
    assert made and all(name.startswith("back/") for name in made)
    assert any(name.startswith("back/layer/sin_grad/") for name in made)


# -- order and place ---------------------------------------------------------------------------------------------------


def test_gated_gradients_wait_for_each_other():
    x, y = tf.constant([[1.0, 2.0]]), tf.constant([[3.0], [4.0]])
    product = tf.matmul(x, y)
    gated = tf.gradients(product, [x, y], gate_gradients=True)

    def ancestors(op):
        seen, stack = set(), [op]
        while stack:
            op = stack.pop()
            if op not in seen:
                seen.add(op)
                stack += [t.op for t in op.inputs] + list(op.control_inputs)
        return seen

    def products(gradient):
        return {op.name for op in ancestors(gradient.op) if op.type == "MatMul"}

    assert products(gated[0]) == products(gated[1]) and len(products(gated[0])) == 2
    free = tf.gradients(product, [x, y])
    assert products(free[0]) != products(free[1])
    with tf.Session() as session:
        assert [v.tolist() for v in session.run(gated)] == [[[3.0, 4.0]], [[1.0], [2.0]]]


def test_colocated_gradients_follow_their_operation(graph):
    with tf.device("/cpu:1"):
        x = tf.constant(1.0)
        y = tf.sin(x, name="sine")
    before = len(graph.get_operations())
    tf.gradients(y, x, colocate_gradients_with_ops=True)
    made = [op for op in graph.get_operations()[before:] if op.name.startswith("gradients/sine_grad/")]
    assert made and all(op.colocation_groups() == [b"loc:@sine"] for op in made)
    before = len(graph.get_operations())
    tf.gradients(y, x)
    assert not any(b"loc:@sine" in op.colocation_groups() for op in graph.get_operations()[before:])


def test_sums_of_partial_gradients_are_colocated_with_what_they_are_gradients_of(graph):
    x = tf.constant([1.0, 2.0], name="x")
    y = tf.sin(x, name="sine")
    total = tf.add(tf.exp(y), tf.square(y), name="total")
    gradient = tf.gradients(total, y, colocate_gradients_with_ops=True)[0]
    assert gradient.op.type == "AddN"
    assert gradient.op.colocation_groups() == [b"loc:@sine"]
    start = [op for op in graph.get_operations() if op.name.startswith("gradients/grad_ys_0")]
    assert start and all(op.colocation_groups() == [b"loc:@total"] for op in start)


# -- sparse ------------------------------------------------------------------------------------------------------------


def dense(value):
    result = np.zeros(value.dense_shape, value.values.dtype)
    np.add.at(result, value.indices, value.values)
    return result


def test_a_lookup_has_a_sparse_gradient(session):
    table = tf.Variable(np.arange(8.0).reshape(4, 2))
    session.run(table.initializer)
    rows = tf.gather(table, [2, 0, 2])
    gradient = tf.gradients(rows * rows, table)[0]
    assert isinstance(gradient, tf.IndexedSlices)
    value = session.run(gradient)
    assert isinstance(value, tf.IndexedSlicesValue)
    assert value.indices.tolist() == [2, 0, 2] and value.dense_shape.tolist() == [4, 2]
    assert value.values.tolist() == [[8.0, 10.0], [0.0, 2.0], [8.0, 10.0]]
    assert session.run(tf.convert_to_tensor(gradient)).tolist() == [[0, 2], [0, 0], [16, 20], [0, 0]]


def test_several_lookups_stay_sparse(session):
    table = tf.Variable(np.zeros((5, 2), np.float32))
    session.run(table.initializer)
    narrow, wide = tf.constant([1, 3]), tf.constant([3], tf.int64)
    loss = tf.reduce_sum(tf.gather(table, narrow)) + 2.0 * tf.reduce_sum(tf.gather(table, wide))
    gradient = tf.gradients(loss, table)[0]
    assert isinstance(gradient, tf.IndexedSlices)
    assert dense(session.run(gradient))[:, 0].tolist() == [0, 1, 0, 3, 0]


@pytest.mark.parametrize("method", METHODS)
def test_a_lookup_and_a_dense_use_add_up_densely(session, method):
    table = tf.Variable(np.ones((3, 2)))
    session.run(table.initializer)
    loss = tf.reduce_sum(tf.gather(table, [1, 1])) + tf.reduce_sum(table * table) + tf.reduce_sum(table)
    gradient = tf.gradients(loss, table, aggregation_method=method)[0]
    assert isinstance(gradient, tf.Tensor)
    assert session.run(gradient).tolist() == [[3, 3], [5, 5], [3, 3]]


def test_lookups_of_a_computed_tensor(session):
    x = tf.constant(np.arange(6.0).reshape(3, 2))
    y = tf.gather(x * 2.0, [0, 0, 2])
    gradient = tf.gradients(y, x)[0]
    value = session.run(gradient)
    value = dense(value) if isinstance(value, tf.IndexedSlicesValue) else value
    assert value.tolist() == [[4, 4], [0, 0], [2, 2]]


def test_indexed_slices_are_distinguished(session):
    """A session caches plans by ids; slices that were garbage-collected must not lend their plan to later ones."""
    values, rows = tf.constant([[1.0]]), [tf.constant([i]) for i in range(8)]
    for i, row in enumerate(rows):
        slices = tf.IndexedSlices(values, row)
        assert session.run(slices).indices.tolist() == [i]
        del slices


def test_slices_as_outputs(session):
    table = tf.Variable(np.ones((3, 2)))
    session.run(table.initializer)
    rows = tf.gather(table, [1])
    slices = tf.IndexedSlices(rows * rows, tf.constant([1]))
    assert dense(session.run(tf.gradients(slices, table)[0])).tolist() == [[0, 0], [2, 2], [0, 0]]


# -- higher order ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "derivatives"),
    [
        (lambda x: x**4, [lambda v: 4 * v**3, lambda v: 12 * v**2, lambda v: 24 * v]),
        (tf.exp, [np.exp] * 3),
        (tf.sin, [np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v)]),
        (tf.log, [lambda v: 1 / v, lambda v: -1 / v**2, lambda v: 2 / v**3]),
        (lambda x: 1.0 / x, [lambda v: -1 / v**2, lambda v: 2 / v**3, lambda v: -6 / v**4]),
        (tf.sqrt, [lambda v: v**-0.5 / 2, lambda v: -(v**-1.5) / 4, lambda v: 3 * v**-2.5 / 8]),
        (
            tf.tanh,
            [
                lambda v: 1 - np.tanh(v) ** 2,
                lambda v: -2 * np.tanh(v) * (1 - np.tanh(v) ** 2),
                lambda v: (1 - np.tanh(v) ** 2) * (6 * np.tanh(v) ** 2 - 2),
            ],
        ),
        (
            tf.sigmoid,
            [
                lambda v: (s := 1 / (1 + np.exp(-v))) * (1 - s),
                lambda v: (s := 1 / (1 + np.exp(-v))) * (1 - s) * (1 - 2 * s),
                lambda v: (s := 1 / (1 + np.exp(-v))) * (1 - s) * (1 - 6 * s + 6 * s * s),
            ],
        ),
    ],
)
def test_derivatives_up_to_third_order(session, function, derivatives):
    start = np.array([0.3, 0.9, 1.7])
    x = tf.constant(start)
    y = function(x)
    for derivative in derivatives:
        y = tf.gradients(y, x)[0]
        np.testing.assert_allclose(session.run(y), derivative(start), rtol=1e-9)


def test_second_order_through_a_matrix_product(session):
    a = np.array([[2.0, 1.0], [3.0, 4.0]])
    x = tf.constant([[1.0], [2.0]], tf.float64)
    form = tf.reduce_sum(x * tf.matmul(tf.constant(a), x))  # x' A x
    first = tf.gradients(form, x)[0]
    rows = [tf.gradients(first[i, 0], x)[0] for i in range(2)]
    np.testing.assert_allclose(session.run(first), (a + a.T) @ [[1.0], [2.0]])
    np.testing.assert_allclose(np.hstack(session.run(rows)).T, a + a.T)


def test_mixed_derivatives_agree(session):
    x, y = tf.constant(0.7, tf.float64), tf.constant(1.3, tf.float64)
    f = tf.sin(x * y) * tf.exp(x)
    xy = tf.gradients(tf.gradients(f, x)[0], y)[0]
    yx = tf.gradients(tf.gradients(f, y)[0], x)[0]
    left, right = session.run([xy, yx])
    np.testing.assert_allclose(left, right, rtol=1e-12)
    u = 0.7 * 1.3
    expected = np.exp(0.7) * (0.7 * np.cos(u) + np.cos(u) - u * np.sin(u))
    np.testing.assert_allclose(left, expected, rtol=1e-12)


# -- complex -----------------------------------------------------------------------------------------------------------


def test_complex_inputs(session):
    z = tf.constant(np.array([1 + 2j, -3 + 0.5j]))
    gradient = tf.gradients(tf.reduce_sum(tf.real(z * tf.conj(z))), z)[0]  # of |z|^2
    np.testing.assert_allclose(session.run(gradient), 2 * np.array([1 + 2j, -3 + 0.5j]))


def test_complex_outputs_require_grad_ys(session):
    z = tf.constant(1 + 2j)
    with pytest.raises(TypeError, match="must set grad_ys"):
        tf.gradients(z * z, z)
    weight = 0.5 - 1j
    found = session.run(tf.gradients(z * z, z, grad_ys=tf.constant(weight)))[0]
    np.testing.assert_allclose(found, weight * np.conj(2 * (1 + 2j)))


@pytest.mark.parametrize("function", [tf.exp, tf.square, lambda z: z / (1 + 1j), lambda z: tf.matmul(z, z)])
def test_complex_gradients_match_numeric_ones(session, function):
    start = np.random.default_rng(3).normal(size=(2, 2)) + 0.5j
    z = tf.constant(start)
    assert tf.test.compute_gradient_error(z, [2, 2], function(z), [2, 2], start, delta=1e-6) < 1e-6


# -- rules -------------------------------------------------------------------------------------------------------------


def test_an_op_without_a_rule(monkeypatch):
    entries = {name: GRADIENTS.get(name) for name in GRADIENTS if name != "Sin"}
    monkeypatch.setattr(GRADIENTS, "_entries", entries)
    x = tf.constant(1.0)
    y = tf.sin(x, name="wave") * 2.0
    with pytest.raises(LookupError, match=r"No gradient defined for operation 'wave' \(op type: Sin\)"):
        tf.gradients(y, x)
    assert tf.gradients(y, tf.constant(2.0)) == [None]  # it is not on a path


def test_override_of_a_rule(session):
    name = own_rule(lambda op, grad: grad * 100.0)
    x = tf.constant(0.0)
    with tf.get_default_graph().gradient_override_map({"Sin": name}):
        replaced = tf.sin(x)
    usual = tf.sin(x)
    assert session.run([tf.gradients(replaced, x)[0], tf.gradients(usual, x)[0]]) == [100.0, 1.0]
    assert session.run(replaced) == 0.0


def test_override_by_an_unknown_rule():
    x = tf.constant(0.0)
    with tf.get_default_graph().gradient_override_map({"Sin": "NobodyRegisteredThis"}):
        y = tf.sin(x)
    with pytest.raises(LookupError, match="'Sin'"):
        tf.gradients(y, x)


def test_not_differentiable(session):
    name = f"TestRule{next(_serial)}"
    tf.NotDifferentiable(name)
    x = tf.constant(0.5)
    with tf.get_default_graph().gradient_override_map({"Sin": name}):
        y = tf.sin(x)
    assert tf.gradients(y, x) == [None]
    assert session.run(tf.gradients(y * x, x)[0]) == pytest.approx(np.sin(0.5))


def test_a_rule_may_not_be_registered_twice():
    name = own_rule(lambda op, grad: grad)
    with pytest.raises(KeyError, match=name):
        tf.RegisterGradient(name)(lambda op, grad: grad)


@pytest.mark.parametrize("result", [lambda grad: [grad], lambda grad: (grad, grad, grad), lambda grad: []])
def test_the_wrong_number_of_gradients(result):
    name = own_rule(lambda op, grad: result(grad))
    x = tf.constant(1.0)
    with tf.get_default_graph().gradient_override_map({"Mul": name}):
        y = tf.multiply(x, 2.0, name="product")
    count = len(result(None))
    with pytest.raises(
        ValueError, match=rf"Num gradients {count} generated for op 'product'.*do not match num inputs 2"
    ):
        tf.gradients(y, x)


def test_a_gradient_of_the_wrong_shape():
    name = own_rule(lambda op, grad: tf.zeros([7]))
    x = tf.constant([1.0, 2.0], name="x")
    with tf.get_default_graph().gradient_override_map({"Sin": name}):
        y = tf.sin(x, name="wave")
    with pytest.raises(ValueError, match=r"'wave' for its input 'x:0' has shape \[7\], but the input has shape \[2\]"):
        tf.gradients(y, x)


def test_a_rule_sees_zeros_for_outputs_without_gradient(session):
    name = own_rule(lambda op, *grads: [tf.concat(grads, 0), None, None])
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    with tf.get_default_graph().gradient_override_map({"SplitV": name}):
        left, _ = tf.split(x, [1, 3])
    gradient = tf.gradients(left * 5.0, x)[0]
    assert session.run(gradient).tolist() == [5.0, 0.0, 0.0, 0.0]


# -- size --------------------------------------------------------------------------------------------------------------


def count_of_gradients(build, depth):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 2])
        y = x
        for _ in range(depth):
            y = build(y)
        before = len(graph.get_operations())
        assert tf.gradients(y, x)[0] is not None
        return len(graph.get_operations()) - before


@pytest.mark.parametrize(
    "build",
    [tf.sin, lambda y: y * y, lambda y: tf.matmul(y, y), lambda y: tf.nn.relu(y) + y, lambda y: tf.tanh(y) * tf.exp(y)],
)
def test_operations_grow_linearly_with_depth(build):
    counts = [count_of_gradients(build, depth) for depth in (10, 20, 40)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0]) > 0


def test_a_deep_chain_does_not_recurse(session):
    x = tf.placeholder(tf.float64, [])
    y = x
    for _ in range(5000):
        y = y * 1.0001
    np.testing.assert_allclose(session.run(tf.gradients(y, x)[0], {x: 1.0}), 1.0001**5000, rtol=1e-9)


# -- networks ----------------------------------------------------------------------------------------------------------


def error_of(loss, tensors, values):
    """Returns the largest difference between built and measured derivatives by the tensors, which are fed."""
    shapes = [v.shape for v in values]
    return tf.test.compute_gradient_error(tensors, shapes, loss, loss.shape.as_list(), values, delta=1e-5)


def test_a_perceptron_with_softmax_loss(session):
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (3, 5), (5,), (5, 2), (2,)]
    values = [rng.normal(size=shape) for shape in shapes]
    x, w1, b1, w2, b2 = tensors = [tf.placeholder(tf.float64, shape) for shape in shapes]
    hidden = tf.tanh(tf.nn.bias_add(tf.matmul(x, w1), b1))
    logits = tf.matmul(hidden, w2) + b2
    dense_loss = tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=tf.one_hot([0, 1, 1, 0], 2, dtype=tf.float64), logits=logits
    )
    sparse_loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant([1, 1, 0, 0]), logits=logits)
    loss = tf.reduce_mean(dense_loss) + tf.reduce_mean(sparse_loss)
    assert error_of(loss, tensors, values) < 1e-8


@pytest.mark.parametrize("training", [True, False])
def test_a_convolutional_network(session, training):
    rng = np.random.default_rng(1)
    values = [rng.normal(size=s) for s in [(2, 6, 6, 2), (3, 3, 2, 3), (3,), (3,)]]
    image, kernel, scale, offset = tensors = [tf.placeholder(tf.float64, v.shape) for v in values]
    y = tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME")
    if training:
        mean, variance = tf.nn.moments(y, [0, 1, 2])
    else:
        mean, variance = tf.constant([0.1, 0.2, 0.3], tf.float64), tf.constant([1.0, 2.0, 3.0], tf.float64)
    y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
    y = tf.nn.avg_pool(tf.nn.elu(y), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    y = tf.nn.max_pool(y, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    loss = tf.reduce_sum(y * y)
    assert error_of(loss, tensors, values) < 1e-6


def test_fused_batch_normalization(session):
    rng = np.random.default_rng(2)
    values = [rng.normal(size=s).astype(np.float32) for s in [(3, 2, 2, 2), (2,), (2,)]]
    x, scale, offset = tensors = [tf.placeholder(tf.float32, v.shape) for v in values]
    y, _, _ = tf.nn.fused_batch_norm(x, scale, offset, epsilon=0.1)
    loss = tf.reduce_sum(y * tf.constant(rng.normal(size=(3, 2, 2, 2)).astype(np.float32)))
    shapes = [v.shape for v in values]
    assert tf.test.compute_gradient_error(tensors, shapes, loss, [], values, delta=1e-2) < 2e-2


def test_an_embedding(session):
    rng = np.random.default_rng(4)
    values = [rng.normal(size=s) for s in [(5, 3), (3, 2)]]
    table, projection = tensors = [tf.placeholder(tf.float64, v.shape) for v in values]
    words = tf.nn.embedding_lookup(table, [[0, 4, 4], [1, 0, 2]])
    sentence = tf.reduce_mean(words, axis=1)
    loss = tf.reduce_sum(tf.sigmoid(tf.matmul(sentence, projection)))
    assert error_of(loss, tensors, values) < 1e-8


def test_second_order_of_a_network_numerically(session):
    """The gradient penalty: a loss that contains a gradient."""
    rng = np.random.default_rng(5)
    values = [rng.normal(size=s) for s in [(3, 2), (2, 4), (4, 1)]]
    x, w1, w2 = tensors = [tf.placeholder(tf.float64, v.shape) for v in values]
    y = tf.matmul(tf.sigmoid(tf.matmul(x, w1)), w2)
    slope = tf.gradients(y, x)[0]
    penalty = tf.reduce_sum(tf.square(tf.sqrt(tf.reduce_sum(tf.square(slope), axis=1)) - 1.0))
    assert error_of(penalty, tensors, values) < 1e-7


def test_operations_that_were_inserted_afterwards_are_differentiated():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        y = tf.square(x)
        loss = tf.reduce_sum(y + y * 3.0)
        users = y.consumers()
        doubled = y * tf.stop_gradient(2.0 * tf.ones([2]))
        for user in users:
            for place, tensor in enumerate(user.inputs):
                if tensor is y:
                    user._update_input(place, doubled)
        assert session.run(tf.gradients(loss, x)[0]).tolist() == [16.0, 32.0]

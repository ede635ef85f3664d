"""tf.py_function: tensors with values, and gradients of what is computed by tf.* inside."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.py_function import py_function


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_tensors_have_values():
    seen = []

    def look(x, text):
        seen.append((x.numpy(), text.numpy(), x.dtype, x.shape.as_list(), len(x), [float(e) for e in x], np.sum(x)))
        assert isinstance(x, tf.Tensor) and bool(x[0] < x[1])
        return x.numpy() * 2, [1, 2]

    doubled, numbers = py_function(look, [[1.0, 2.0], "abc"], [tf.float32, tf.int64])
    got, integers = run([doubled, numbers])
    np.testing.assert_array_equal(got, [2.0, 4.0])
    assert got.dtype == np.float32 and integers.dtype == np.int64 and integers.tolist() == [1, 2]
    value, text, dtype, shape, size, parts, total = seen[0]
    np.testing.assert_array_equal(value, [1.0, 2.0])
    assert (text, dtype, shape, size, parts, total) == (b"abc", tf.float32, [2], 2, [1.0, 2.0], 3.0)


def test_operations_of_tf_inside_and_python_control_flow():
    def fold(x):
        total = tf.constant(0.0)
        for part in x:
            total = total + part if part > 0 else total
        return total if total.numpy() < 100 else tf.zeros([])

    x = tf.placeholder(tf.float32, [None])
    result = py_function(fold, [x], tf.float32)
    assert result.dtype == tf.float32 and result.shape.ndims is None
    assert run(result, {x: [1.0, -2.0, 3.0]}) == 4.0


def test_a_python_result_gets_the_requested_type():
    assert run(py_function(lambda x: 3.0, [1], tf.float32)).dtype == np.float32
    assert run(py_function(lambda x: [[1, 2], 3], [1], tf.int32)).tolist() == [1, 2]
    assert run(py_function(lambda x: np.array([3.5]), [1], tf.int32)).tolist() == [3]
    assert run(py_function(lambda x: "word", [1], tf.string)) == b"word"
    operation = py_function(lambda x: None, [1], [])
    run(operation)


def test_the_gradient_of_tf_operations():
    x, y = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
    result = py_function(lambda a, n, b: tf.sin(a) * b * float(n), [x, 2, y], tf.float32)
    by_x, by_y = tf.gradients(result, [x, y])
    assert by_x.shape.as_list() == [3]
    a, b = np.array([0.1, 0.2, 0.3], np.float32), np.array([1.0, 2.0, 3.0], np.float32)
    got = run([result, by_x, by_y], {x: a, y: b})
    for value, expected in zip(got, (np.sin(a) * b * 2, np.cos(a) * b * 2, np.sin(a) * 2)):
        np.testing.assert_allclose(value, expected, rtol=1e-6)
    constant = py_function(lambda a: np.sin(a.numpy()) + a, [x], tf.float32)
    np.testing.assert_allclose(run(tf.gradients(constant, x)[0], {x: a}), [1.0, 1.0, 1.0])


def test_the_gradient_calls_the_function_no_second_time():
    calls = []

    def square(a):
        calls.append(a)
        return a * a

    x = tf.placeholder(tf.float32, [2])
    result = py_function(square, [x], tf.float32)
    got = run([result, tf.gradients(result, x)[0]], {x: [1.0, 3.0]})
    np.testing.assert_array_equal(got, [[1.0, 9.0], [2.0, 6.0]])
    assert len(calls) == 1


def test_what_a_function_keeps_does_not_change():
    kept = []

    def keep(a):
        kept.append(a)
        return a

    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(x)
    result = tf.exp(py_function(keep, [y], tf.float32)) + y
    np.testing.assert_allclose(run(result, {x: [0.0, 1.0]}), np.exp(np.exp([0.0, 1.0])) + np.exp([0.0, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(kept[0].numpy(), np.exp([0.0, 1.0]), rtol=1e-6)


def test_gradients_in_a_loop():
    x = tf.placeholder(tf.float32, [])
    _, product = tf.while_loop(
        lambda i, p: i < 3,
        lambda i, p: (i + 1, py_function(lambda a, b: a * b, [p, x], tf.float32)),
        [0, 1.0],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
    )
    assert run([product, tf.gradients(product, x)[0]], {x: 2.0}) == [8.0, 12.0]


def test_functions_at_once(eager):
    seen = []

    def double(a):
        seen.append(a)
        return a * 2.0

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, count = py_function(lambda a: (double(a) * a, 7), [x], [tf.float32, tf.int32])
    assert y.numpy() == 18.0 and count.numpy() == 7 and count.dtype == tf.int32 and seen[0].numpy() == 3.0
    assert tape.gradient(y, x).numpy() == 12.0
    assert py_function(lambda a: None, [x], []) == []

    def fail(a):
        raise ValueError("not this one")

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"ValueError: not this one(.|\n)*test_py_function.py"):
        py_function(fail, [x], tf.float32)
    with pytest.raises(tf.errors.OpError, match="variable"):
        py_function(lambda a: tf.Variable(1.0), [x], tf.float32)


def test_functions_of_arrays_at_once(eager):
    def fail(a):
        raise KeyError("as it is")

    for call in (tf.py_func, tf.numpy_function):
        found = call(lambda a, b: (a + b, "text"), [tf.constant([1.0]), 2.0], [tf.float32, tf.string])
        assert found[0].numpy().tolist() == [3.0] and found[1].numpy() == b"text"
        assert call(lambda a: a.dtype == np.float32, [tf.constant(1.0)], tf.bool).numpy()
        assert call(lambda: None, [], []) is None
        with pytest.raises(KeyError, match="as it is"):
            call(fail, [1.0], tf.float32)


def test_a_session_runs_functions_beside_eager_code(eager):
    variable = tf.Variable(2.0, use_resource=True)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        result = py_function(lambda a: a * variable, [x], tf.float32)
        grad = tf.gradients(result, x)[0]
        assert run([result, grad], {x: 3.0}) == [6.0, 2.0]


def test_several_results_and_sparse_gradients():
    x = tf.placeholder(tf.float32, [4, 2])
    rows, count = py_function(lambda a: (tf.gather(a, [1, 1, 3]), 7), [x], [tf.float32, tf.int32])
    grad = tf.gradients(rows, x)[0]
    np.testing.assert_array_equal(run(grad, {x: np.ones((4, 2))}), [[0, 0], [2, 2], [0, 0], [1, 1]])
    assert run(count, {x: np.ones((4, 2))}) == 7


def test_invalid_results_are_reported():
    with pytest.raises(ValueError, match="callable"):
        py_function(3, [1.0], tf.float32)
    for function, text in (
        (lambda x: x.numpy().nothing, "nothing"),
        (lambda x: None, "0 values, Tout asks for 1"),
        (lambda x: tf.cast(x, tf.float64), "float64, Tout asks for float32"),
    ):
        result = py_function(function, [1.0], tf.float32)
        with pytest.raises(tf.errors.OpError, match=text):
            run(result)
    with pytest.raises(tf.errors.InvalidArgumentError, match="1 values, Tout asks for 2"):
        run(py_function(lambda x: 1.0, [1.0], [tf.float32, tf.float32]))

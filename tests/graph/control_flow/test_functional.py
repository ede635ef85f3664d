"""map_fn, foldl, foldr, scan: values, structures, static shapes, gradients, and errors."""

import numpy as np
import pytest

import thalweg as tf


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


X = np.float32([[1, 2], [3, 4], [5, 6]])


def test_map(engine):
    n = tf.placeholder(tf.float32, [None, 2])
    y = tf.map_fn(lambda e: tf.reduce_sum(e) * 2.0, n)
    assert run(y, {n: X}).tolist() == [6.0, 14.0, 22.0]
    assert run(y, {n: X[:0]}).shape == (0,)


def test_map_of_structures(engine):
    elems = {"a": tf.constant([1, 2, 3]), "b": (tf.constant([0.5, 1.5, 2.5]),)}
    y = tf.map_fn(lambda e: {"a": e["a"] * 2, "b": (e["b"][0] + 1.0,)}, elems)
    value = run(y)
    assert value["a"].tolist() == [2, 4, 6] and value["b"][0].tolist() == [1.5, 2.5, 3.5]


def test_map_to_another_structure_and_type(engine):
    y = tf.map_fn(lambda e: (e > 1.0, [tf.as_string(e)]), tf.constant([1.0, 2.0]), dtype=(tf.bool, [tf.string]))
    flags, (texts,) = run(y)
    assert flags.tolist() == [False, True] and [t[:1] for t in texts.tolist()] == [b"1", b"2"]


def test_map_in_map_with_gradient(engine):
    x = tf.constant(X)
    y = tf.map_fn(lambda row: tf.map_fn(lambda e: e * e, row), x)
    (g,) = tf.gradients(y, x)
    np.testing.assert_allclose(run([y, g]), [X * X, 2 * X])


def test_map_without_back_prop():
    x = tf.constant(X)
    with pytest.warns(UserWarning, match="back_prop=False"):
        assert tf.gradients(tf.map_fn(lambda e: e * e, x, back_prop=False), x) == [None]


def test_map_that_writes_a_variable(engine):
    v = tf.get_variable("v", initializer=0.0)

    def body(e):
        with tf.control_dependencies([v.assign_add(e)]):
            return tf.identity(e)

    y = tf.map_fn(body, tf.constant([1.0, 2.0, 4.0]))
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(y)
        assert session.run(v) == 7.0


def test_static_shapes():
    p, q = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, None)
    assert tf.map_fn(lambda e: e, p).shape.as_list() == [None, 3]
    assert tf.map_fn(lambda e: e, tf.zeros([2, 3])).shape.as_list() == [2, 3]
    assert tf.map_fn(lambda e: tf.reshape(e, [3, 1]), q).shape.as_list() == [None, 3, 1]
    assert tf.map_fn(lambda e: e, q).shape.ndims is None
    assert tf.scan(lambda a, e: a + e, p).shape.as_list() == [None, 3]
    assert tf.scan(lambda a, e: a + tf.reduce_sum(e), tf.zeros([2, 3]), initializer=0.0).shape.as_list() == [2]
    assert tf.foldl(lambda a, e: a + e, p).shape.as_list() == [3]


@pytest.mark.parametrize("initial", [None, [10.0, 20.0]])
@pytest.mark.parametrize("backward", [False, True])
def test_folds_and_scans(engine, initial, backward):
    rows = list(X[::-1] if backward else X)
    state = rows.pop(0) if initial is None else np.float32(initial)
    states = [state] if initial is None else []
    for row in rows:
        state = 0.5 * state - row
        states.append(state)
    x, initial = tf.constant(X), None if initial is None else tf.constant(initial)
    fold = (tf.foldr if backward else tf.foldl)(lambda a, e: 0.5 * a - e, x, initializer=initial)
    scan = tf.scan(lambda a, e: 0.5 * a - e, x, initializer=initial, reverse=backward)
    np.testing.assert_allclose(run(fold), state)
    np.testing.assert_allclose(run(scan), states[::-1] if backward else states)


def test_scan_of_structures(engine):
    y = tf.scan(lambda a, e: (a[1], a[0] + a[1] + e), tf.constant([0, 0, 0, 1]), initializer=(0, 1))
    assert [v.tolist() for v in run(y)] == [[1, 1, 2, 3], [1, 2, 3, 6]]


def test_scan_of_no_elements(engine):
    n = tf.placeholder(tf.float32, [None, 2])
    assert run(tf.scan(lambda a, e: a + e, n, initializer=tf.zeros([2])), {n: X[:0]}).shape == (0, 2)
    assert run(tf.foldl(lambda a, e: a + e, n, initializer=tf.ones([2])), {n: X[:0]}).tolist() == [1.0, 1.0]


def test_gradients_of_scan(engine):
    x, w = tf.constant([1.0, 2.0, 3.0], tf.float64), tf.constant(0.5, tf.float64)
    y = tf.scan(lambda a, e: a * w + e, x)  # x0, x0 w + x1, (x0 w + x1) w + x2
    gx, gw = tf.gradients(y, [x, w])
    (h,) = tf.gradients(gw, w)
    np.testing.assert_allclose(run(gx), [1.75, 1.5, 1.0])
    np.testing.assert_allclose(run(gw), 1.0 + 2 * 0.5 * 1.0 + 2.0)
    np.testing.assert_allclose(run(h), 2.0)


def test_gradients_of_folds(engine):
    x = tf.constant([1.0, 2.0, 3.0])
    assert run(tf.gradients(tf.foldl(lambda a, e: a * e, x), x))[0].tolist() == [6.0, 3.0, 2.0]
    assert run(tf.gradients(tf.foldr(lambda a, e: a * e, x), x))[0].tolist() == [6.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("build", "kind", "words"),
    [
        (lambda: tf.map_fn(3, [1, 2]), TypeError, "callable"),
        (lambda: tf.scan(None, [1, 2]), TypeError, "callable"),
        (lambda: tf.foldl(None, [1, 2]), TypeError, "callable"),
        (lambda: tf.map_fn(lambda e: e, tf.constant(1.0)), ValueError, "first dimension"),
        (lambda: tf.scan(lambda a, e: e, tf.constant(1.0)), ValueError, "first dimension"),
        (lambda: tf.map_fn(lambda e: e[0], (tf.zeros([2]), tf.zeros([3]))), ValueError, "first dimension"),
        (lambda: tf.map_fn(lambda e: (e, e), tf.constant([1, 2])), (TypeError, ValueError), "structure"),
        (
            lambda: tf.map_fn(lambda e: tf.cast(e, tf.float32), tf.constant([1, 2])),
            TypeError,
            "fn of map_fn returns .*float32, where int32 is expected",
        ),
        (lambda: tf.scan(lambda a, e: (a, e), tf.constant([1, 2])), (TypeError, ValueError), "structure"),
        (lambda: tf.scan(lambda a, e: tf.concat([a, e], 0), tf.ones([3, 2])), ValueError, r"shape|\[4\]"),
    ],
)
def test_invalid_arguments_are_rejected(build, kind, words):
    with pytest.raises(kind, match=words):
        build()

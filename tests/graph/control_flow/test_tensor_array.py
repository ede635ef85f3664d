"""TensorArray: writes, reads, concat and split, static shapes, gradients, and errors."""

import numpy as np
import pytest

import thalweg as tf


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


def array(size=3, **options):
    return tf.TensorArray(tf.float32, size, **options)


# -- values -----------------------------------------------------------------------------------------------------------


def test_write_and_stack(engine):
    n = tf.placeholder(tf.int32, [])
    _, a = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, [i, 2 * i])), [0, tf.TensorArray(tf.int32, n)]
    )
    assert run(a.stack(), {n: 3}).tolist() == [[0, 0], [1, 2], [2, 4]]
    assert run(a.size(), {n: 4}) == 4


def test_unstack_and_read(engine):
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert [v.tolist() for v in run([a.read(2), a.read(0)])] == [[5.0, 6.0], [1.0, 2.0]]
    assert run(a.gather([2, 2, 0])).tolist() == [[5.0, 6.0], [5.0, 6.0], [1.0, 2.0]]


def test_scatter(engine):
    assert run(array(4).scatter([3, 1], [[1.0], [2.0]]).stack()).tolist() == [[0.0], [2.0], [0.0], [1.0]]


def test_concat_and_split(engine):
    a = array(3, infer_shape=False, clear_after_read=False).split([[1.0], [2.0], [3.0]], [1, 0, 2])
    first, second, third, whole = run([a.read(0), a.read(1), a.read(2), a.concat()])
    assert (first.tolist(), second.shape, third.tolist()) == ([[1.0]], (0, 1), [[2.0], [3.0]])
    assert whole.tolist() == [[1.0], [2.0], [3.0]]


def test_strings(engine):
    a = tf.TensorArray(tf.string, 3).unstack(["a", "bc"])
    assert run([a.size(), a.write(2, "d").stack()])[1].tolist() == [b"a", b"bc", b"d"]


def test_array_grows(engine):
    a = array(0, dynamic_size=True, element_shape=[2]).write(2, [1.0, 2.0])
    assert run(a.stack()).tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]]


def test_array_grows_in_a_loop(engine):
    n = tf.placeholder(tf.int32, [])
    a = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    _, a = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i * i)), [0, a])
    assert run(a.stack(), {n: 5}).tolist() == [0, 1, 4, 9, 16]


def test_arrays_are_per_step():
    a = array(2).write(0, 1.0).write(1, 2.0)
    y = a.stack()
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(y).tolist() == [1.0, 2.0]


def test_close_drops_the_elements():
    a = array(2, clear_after_read=False).write(0, 1.0)
    before = a.read(0)
    with tf.control_dependencies([before]):
        close = a.close()
    with tf.control_dependencies([close]):
        after = a.read(0)
    with tf.Session() as session:
        assert session.run([before, close])[0] == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="Tried to read from index 0"):
            session.run(after)


# -- static shapes ----------------------------------------------------------------------------------------------------


def shape_of(tensor):
    return None if tensor.shape.ndims is None else tensor.shape.as_list()


def test_element_shapes_are_inferred_from_writes():
    p = tf.placeholder(tf.float32, [None, None])
    assert shape_of(array().write(0, p).read(0)) == [None, None]
    assert shape_of(array(element_shape=[None, 2]).write(0, p).read(0)) == [None, 2]
    assert shape_of(array(infer_shape=False).write(0, p).read(0)) is None
    assert shape_of(array(2).unstack(tf.zeros([2, 3])).read(0)) == [3]


def test_the_number_of_elements_is_known_where_tensorflow_knows_it():
    unknown, known = array(2).unstack(tf.zeros([2, 3])), array(2, element_shape=[3]).unstack(tf.zeros([2, 3]))
    assert shape_of(unknown.stack()) == shape_of(known.stack()) == [None, 3]
    assert (shape_of(unknown.gather([1, 0])), shape_of(known.gather([1, 0]))) == ([None, 3], [2, 3])
    assert shape_of(array(2).unstack(tf.zeros([2, 3, 4])).concat()) == [None, 4]
    gradient = known.grad("g")
    assert (shape_of(gradient.gather([1, 0])), shape_of(gradient.read(0))) == ([2, 3], [3])


def test_pieces_of_equal_lengths_have_a_known_shape():
    x = tf.zeros([4, 3])
    assert shape_of(array(2).split(x, [2, 2]).read(0)) == [2, 3]
    assert shape_of(array(2).split(tf.placeholder(tf.float32), [2, 2]).read(0)) is None
    for lengths in ([1, 3], tf.placeholder(tf.int64, [2])):
        assert shape_of(array(2).split(x, lengths).read(0)) is None
        assert shape_of(array(2, element_shape=[None, 3]).split(x, lengths).read(0)) == [None, 3]


def test_shapes_are_known_after_a_loop():
    _, a = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.zeros([4, 5]))), [0, array()])
    assert a.stack().shape.as_list() == [None, 4, 5]


# -- gradients --------------------------------------------------------------------------------------------------------


def test_gradients_of_writes_and_reads(engine):
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    z = array(2).write(0, x).write(1, y * y).stack()
    gx, gy = run(tf.gradients(z * [[1.0, 2.0], [3.0, 4.0]], [x, y]))
    assert (gx.tolist(), gy.tolist()) == ([1.0, 2.0], [18.0, 32.0])


def test_gradients_add_up_over_reads(engine):
    x = tf.constant([1.0, 2.0, 3.0])
    a = array(clear_after_read=False).unstack(x)
    (g,) = tf.gradients(a.read(1) * a.read(2) + 5.0 * a.read(1), x)
    assert run(g).tolist() == [0.0, 8.0, 2.0]


def test_gradients_of_gather_scatter_concat_split(engine):
    x = tf.constant([1.0, 2.0, 3.0])
    a = array(clear_after_read=False).scatter([2, 0, 1], x)
    assert run(tf.gradients(a.gather([1, 2, 2]) * [1.0, 10.0, 100.0], x))[0].tolist() == [110.0, 0.0, 1.0]
    y = tf.constant([[1.0], [2.0], [3.0]])
    b = array(2, infer_shape=False, clear_after_read=False).split(y, [1, 2])
    assert run(tf.gradients(b.concat() * y, y))[0].tolist() == [[2.0], [4.0], [6.0]]
    assert run(tf.gradients(b.read(1), y))[0].tolist() == [[0.0], [1.0], [1.0]]


def test_two_calls_of_gradients_are_independent(engine):
    x = tf.constant([1.0, 2.0])
    y = array(2).unstack(x).stack()
    first, second = tf.gradients(y, x)[0], tf.gradients(3.0 * y, x)[0]
    assert [g.tolist() for g in run([first, second])] == [[1.0, 1.0], [3.0, 3.0]]


def test_gradients_in_a_loop_and_of_second_order(engine):
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)

    def body(i, out, source):
        return i + 1, out.write(i, source.read(i) ** 3), source

    source = tf.TensorArray(tf.float64, 3).unstack(x)
    _, out, _ = tf.while_loop(lambda i, *_: i < 3, body, [0, tf.TensorArray(tf.float64, 3), source])
    (g,) = tf.gradients(out.stack(), x)
    (h,) = tf.gradients(g, x)
    np.testing.assert_allclose(run(g), [3, 12, 27])
    np.testing.assert_allclose(run(h), [6, 12, 18])


def test_an_array_in_nested_loops(engine):
    x = tf.constant([0.5, 1.5], tf.float64)

    def body(i, y):
        inner = tf.while_loop(
            lambda j, a: j < 2, lambda j, a: (j + 1, a.write(j, y * x)), [0, tf.TensorArray(tf.float64, 2)]
        )[1]
        return i + 1, tf.reduce_sum(inner.stack(), 0)  # 2 x y

    y = tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]  # 8 x ** 4
    (g,) = tf.gradients(y, x)
    np.testing.assert_allclose(run([y, g]), [8 * np.array([0.5, 1.5]) ** 4, 32 * np.array([0.5, 1.5]) ** 3])


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "kind", "words"),
    [
        (
            lambda: array().write(0, [1.0]).write(1, [1.0, 2.0]),
            ValueError,
            r"shape \[2\] does not fit.*\[1\].*infer_shape",
        ),
        (lambda: array(element_shape=[3]).write(0, [1.0]), ValueError, r"shape \[1\] does not fit.*\[3\]"),
        (
            lambda: array(element_shape=[3], infer_shape=False).write(0, [1.0]),
            ValueError,
            r"shape \[1\] does not fit.*\[3\]\.$",
        ),
        (lambda: array(2).split([1.0, 2.0], 1), ValueError, "rank 1 but is rank 0"),
        (lambda: array().write(0, tf.constant(1)), TypeError, "TensorArray of float32 cannot hold .*int32"),
        (
            lambda: array().unstack([1, 2, 3]).write(0, tf.constant("a")),
            TypeError,
            "float32 cannot hold .*(int32|string)",
        ),
        (lambda: array().write([0], 1.0), ValueError, "index is not a scalar"),
        (lambda: array().scatter([0, 1], [1.0, 2.0, 3.0]), ValueError, "indices and value differ in length"),
        (lambda: array().scatter([0], 1.0), ValueError, "value is a scalar"),
        (lambda: tf.TensorArray(tf.float32), ValueError, "requires a size"),
        (lambda: tf.TensorArray(tf.float32, handle=3), TypeError, "handle of a TensorArray must be a tensor, not 3"),
        (lambda: tf.TensorArray(tf.float32, 3, handle=tf.constant(1)), ValueError, "cannot be combined with handle"),
    ],
)
def test_errors_while_the_graph_is_built(build, kind, words):
    with pytest.raises(kind, match=words):
        build()


def after_reading(a, index):
    """Reads an element, and then gives the array to go on with."""
    with tf.control_dependencies([a.read(index)]):
        return a.identity()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: array().write(0, 1.0).write(0, 2.0).read(0), "index 0 because it has already been written"),
        (
            lambda: after_reading(array(clear_after_read=False).write(0, 1.0), 0).write(0, 2.0).read(0),
            "index 0 because it has already been read",
        ),
        (
            lambda: after_reading(array().write(0, 1.0), 0).read(0),
            "index 0 twice because it was cleared.*clear_after",
        ),
        (lambda: array().write(3, 1.0).read(0), "write to index 3 but array is not resizeable and size is: 3"),
        (lambda: array(dynamic_size=True).write(-1, 1.0).read(0), "write to index -1"),
        (lambda: array(element_shape=[]).read(3), "read from index 3 but array size is: 3"),
        (lambda: array(element_shape=[]).read(-1), "read from index -1"),
        (lambda: array().read(1), "Could not read from TensorArray index 1.*never written"),
        (lambda: array(tf.placeholder_with_default(-1, [])).stack(), "cannot have -1 elements"),
        (lambda: array(2, infer_shape=False).split([[1.0]], [1]).read(0), "1 lengths for an array of 2"),
        (lambda: array(2, infer_shape=False).split([[1.0]], [1, 1]).read(0), r"lengths \[1, 1\] do not add up"),
        (lambda: array(2).unstack([1.0, 2.0]).concat(), r"cannot concatenate element 0 of shape \[\]"),
    ],
)
def test_errors_in_the_step(engine, build, words):
    value = build()
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"TensorArray .*{words}(?s:.)*test_tensor_array.py"):
        run(value)


def test_shapes_known_only_in_the_step(engine):
    p = tf.placeholder(tf.float32, [None])
    a = array(2).write(0, [1.0]).write(1, p)
    assert run(a.stack(), {p: [2.0]}).tolist() == [[1.0], [2.0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[2\] does not fit.*\[1\]"):
        run(a.stack(), {p: [2.0, 3.0]})
    b = array(2, infer_shape=False).write(0, [1.0]).write(1, p)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"differ in shape.*\[1\].*\[2\]"):
        run(b.stack(), {p: [2.0, 3.0]})


def test_concat_of_an_empty_array(engine):
    assert run(array(0, element_shape=[2]).stack()).shape == (0, 2)
    with pytest.raises(tf.errors.UnimplementedError, match="no elements to concatenate"):
        run(array(0).stack())


def test_the_static_shape_of_a_handle_is_that_of_tensorflow(engine):
    assert array(3).handle.shape.as_list() == [2]

"""tf.debugging.assert_shapes: sizes, symbols, any number of dimensions, now and in the step."""

import numpy as np
import pytest

import thalweg as tf

assert_shapes = tf.debugging.assert_shapes


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def run(operation, feed):
    with tf.Session() as session:
        return session.run(operation, {x: np.zeros(shape) for x, shape in feed.items()})


def placeholders(*shapes):
    return [tf.placeholder(tf.float32, shape) for shape in shapes]


@pytest.mark.parametrize("static", [([None, 3], [3, None]), (None, None)])
def test_symbols_mean_equal_sizes(static):
    x, y = placeholders(*static)
    check = assert_shapes([(x, ("N", "Q")), (y, ("Q", "N"))], message="sizes")
    run(check, {x: (2, 3), y: (3, 2)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="sizes: dimension 1 of tensor"):
        run(check, {x: (2, 3), y: (3, 4)})


def test_known_shapes_are_checked_immediately():
    x, y, z = placeholders([None, 3], [4, 5], [None, 5])
    assert_shapes({x: ("N", 3), y: "MD", z: (None, "D")})
    for wrong, text in (
        ([(x, ("N", 4))], "dimension 1 of tensor Placeholder:0 must have size 4; it is 3"),
        ([(x, ("N",))], "must have rank 1; it has rank 2"),
        ([(x, ("*", "N", 3, 1))], "rank at least 3"),
        ([(x, (".", "D")), (y, (4, "D"))], "must have size 3, the size 'D' of dimension 1 of tensor Placeholder:0"),
        ([(y, (4, "...", 5))], "first entry"),
        ([(x, 5)], "iterable"),
    ):
        with pytest.raises(ValueError, match=text):
            assert_shapes(wrong)


def test_any_number_of_dimensions_before_the_last_ones():
    x, y = placeholders(None, [5, None])
    check = assert_shapes([(x, ("...", "N", 3)), (y, ("N", "."))])
    run(check, {x: (2, 5, 3), y: (5, 9)})
    run(check, {x: (5, 3), y: (5, 9)})
    for shape in ((2, 4, 3), (5, 4), (3,)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(check, {x: shape, y: (5, 9)})


def test_scalars_are_vectors_of_one_element():
    (x,) = placeholders(None)
    for check in (assert_shapes([(x, ())]), assert_shapes([(x, (1,))])):
        run(check, {x: ()})
        run(check, {x: (1,)})
        for shape in ((3,), (1, 1)):
            with pytest.raises(tf.errors.InvalidArgumentError):
                run(check, {x: shape})
    with tf.Session() as session:
        session.run([assert_shapes([(3.0, ())]), assert_shapes([])])


def test_sparse_tensors_have_a_shape():
    x = tf.SparseTensor([[0, 0]], [1.0], [2, 3])
    assert_shapes([(x, ("N", 3))])
    with pytest.raises(ValueError, match="must have size 4; it is 3"):
        assert_shapes([(x, ("N", 4))])
    late = tf.sparse_placeholder(tf.float32)
    check = assert_shapes([(late, ("N", 3))])
    with tf.Session() as session:
        session.run(check, {late: ([[0, 0]], [1.0], [2, 3])})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(check, {late: ([[0, 0]], [1.0], [2, 4])})

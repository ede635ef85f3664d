"""Corners of py_function and of shapes that are asserted."""

import numpy as np


def tensors_with_values(tf):
    return tf.py_function(lambda x, y: (x.numpy() * 2, y + 1), [tf.constant([1.0, 2.0]), 3], [tf.float32, tf.int32])


def operations_inside(tf):
    return tf.py_function(lambda x: tf.reduce_sum(tf.square(x)), [tf.constant([1.0, 2.0])], tf.float32)


def python_results(tf):
    return (
        tf.py_function(lambda x: 3.0, [1], tf.float32),
        tf.py_function(lambda x: np.array([3.5]), [1], tf.int32),
        tf.py_function(lambda x: (x, x), [1], tf.int32),
        tf.py_function(lambda x: "word", [1], tf.string),
    )


def gradients_of_operations_inside(tf):
    x, y = tf.constant([0.1, 0.2]), tf.constant([2.0, 3.0])
    result = tf.py_function(lambda a, b: tf.sin(a) * b, [x, y], tf.float32)
    return tf.gradients(result, [x, y])


def too_few_results(tf):
    return tf.py_function(lambda x: x, [1.0], [tf.float32, tf.float32])


def another_type(tf):
    return tf.py_function(lambda x: tf.cast(x, tf.float64), [1.0], tf.float32)


def _checked(tf, x, *pairs):
    with tf.control_dependencies([tf.debugging.assert_shapes(list(pairs))]):
        return tf.identity(x)


def _unknown(tf, value):
    return tf.placeholder_with_default(np.asarray(value, np.float32), None)


def shapes_that_agree(tf):
    x, y = _unknown(tf, np.zeros([2, 3])), _unknown(tf, np.zeros([3, 2]))
    return _checked(tf, x, (x, ("N", "Q")), (y, ("Q", "N"))), _checked(tf, y, (y, ("*", 2)), (x, (None, ".")))


def shapes_that_differ(tf):
    x, y = _unknown(tf, np.zeros([2, 3])), _unknown(tf, np.zeros([3, 3]))
    return _checked(tf, x, (x, ("N", "Q")), (y, ("Q", "N")))


def shapes_known_to_differ(tf):
    return _checked(tf, 1.0, (tf.zeros([2, 3]), ("N", 4)))


def ranks_known_to_differ(tf):
    return _checked(tf, 1.0, (tf.zeros([2, 3]), ("N",)))


def scalars_as_vectors(tf):
    return _checked(tf, 1.0, (_unknown(tf, 3.0), (1,)), (_unknown(tf, [3.0]), ()))


def a_vector_is_no_scalar(tf):
    return _checked(tf, 1.0, (_unknown(tf, [3.0, 4.0]), ()))

"""Runs a function in a session and eagerly, with gradients, so that both can be compared."""

import numpy as np

import thalweg as tf
from thalweg._src.runtime.eager.mode import eager_mode


def initializer(shape, dtype=None, partition_info=None):
    """Returns weights that depend on nothing but their shape."""
    size = int(np.prod(shape))
    return tf.constant(np.cos(np.arange(size) * 1.3 + size).reshape(shape) * 0.4, dtype or tf.float32)


def in_session(function, arrays):
    """Returns the values of a function of tensors, and its gradients by input, then by variable name."""
    with tf.Graph().as_default(), tf.Session() as session, _scope():
        inputs = [tf.constant(array) for array in arrays]
        outputs = tf.nest.flatten(function(*inputs))
        variables = sorted(tf.trainable_variables(), key=lambda variable: variable.name)
        sources = [x for x in inputs if x.dtype.is_floating] + variables
        gradients = tf.gradients(_loss(outputs), sources)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(outputs), [None if g is None else session.run(tf.convert_to_tensor(g)) for g in gradients]


def eagerly(function, arrays):
    """Returns the same of eager execution, with gradients by a tape."""
    with eager_mode(), _scope(), tf.GradientTape() as tape:
        inputs = [tf.constant(array) for array in arrays]
        tape.watch([x for x in inputs if x.dtype.is_floating])
        outputs = tf.nest.flatten(function(*inputs))
        variables = sorted(tape.watched_variables(), key=lambda variable: variable.name)
        gradients = tape.gradient(_loss(outputs), [x for x in inputs if x.dtype.is_floating] + variables)
        found = [None if g is None else tf.convert_to_tensor(g).numpy() for g in gradients]
        return [output.numpy() for output in outputs], found


def _scope():
    return tf.variable_scope("model", initializer=initializer, use_resource=True)


def _loss(outputs):
    floating = [output for output in outputs if output.dtype.is_floating]
    return tf.add_n([tf.reduce_sum(tf.sin(output * (i + 1.0))) for i, output in enumerate(floating)])


def assert_same(function, *arrays, gradients=None):
    """Fails unless both modes give the same values and gradients; `gradients` is the number of those expected."""
    (there, slopes_there), (here, slopes) = in_session(function, arrays), eagerly(function, arrays)
    assert len(here) == len(there)
    assert len(slopes) == len(slopes_there)
    if gradients is not None:
        assert sum(slope is not None for slope in slopes) == gradients
    for mine, other in zip([*here, *slopes], [*there, *slopes_there]):
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-6)
            assert mine.dtype == other.dtype

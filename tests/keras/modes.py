"""Evaluates a function of tensors in a graph, eagerly, and inside of `tf.function`."""

import thalweg as tf
from thalweg._src.runtime.eager.mode import eager_mode

MODES = ("graph", "eager", "function")


def evaluate(mode, function, *arrays):
    """Returns the value of a function of tensors, which are made of arrays, in one of the modes."""
    if mode == "graph":
        with tf.Graph().as_default(), tf.Session() as session:
            return session.run(function(*map(tf.constant, arrays)))
    with eager_mode():
        traced = tf.function(function) if mode == "function" else function
        return traced(*map(tf.constant, arrays)).numpy()

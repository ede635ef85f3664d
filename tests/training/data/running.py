"""How tests look at pipelines: all elements of a dataset, or a session that stops in between."""

import contextlib

import numpy as np

import thalweg as tf


def plain(value):
    """Returns a fetched element with lists in place of arrays."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        parts = [plain(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def elements(build, most=1000, feed=None):
    """Returns the elements of the dataset that a function builds, each once through a session."""
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = build().make_initializable_iterator()
        session.run(iterator.initializer, feed)
        return take(session, iterator.get_next(), most)


def take(session, element, most=1000):
    """Returns the elements that follow, at most so many."""
    found = []
    with contextlib.suppress(tf.errors.OutOfRangeError):
        while len(found) < most:
            found.append(plain(session.run(element)))
    return found

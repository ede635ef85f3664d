"""Small programs, converted: on tensors they compute what Python computes on numbers."""

import copy

import numpy as np
import pytest

import thalweg as tf
from tests.graph.autograph import branching_programs, calling_programs, looping_programs  # noqa: F401
from tests.graph.autograph.collected import PROGRAMS


def tensors(arguments):
    """Returns placeholders like the arguments; vectors have unknown length."""
    arrays = [np.array(argument, np.int32 if _is_integer(argument) else None) for argument in arguments]
    types = [np.float32 if array.dtype == np.float64 else array.dtype for array in arrays]
    return [tf.placeholder(t, [None] * a.ndim) for t, a in zip(types, arrays)], arrays


def _is_integer(value):
    return _is_integer(value[0]) if isinstance(value, list) and value else not isinstance(value, bool | float)


@pytest.mark.parametrize(("function", "calls"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_a_program_computes_the_same_on_tensors(function, calls):
    converted = tf.autograph.to_graph(function)
    placeholders, _ = tensors(calls[-1])
    result = converted(*placeholders)
    with tf.Session() as session:
        for arguments in calls:
            expected = function(*copy.deepcopy(arguments))
            arrays = tensors(arguments)[1]
            found = session.run(result, dict(zip(placeholders, arrays))) if _is_fetched(result) else result
            tf.nest.map_structure(np.testing.assert_allclose, _as_array(found), _as_array(expected))
            again = converted(*copy.deepcopy(arguments))
            assert again == expected and type(again) is type(expected)


def _is_fetched(result):
    return any(isinstance(leaf, tf.Tensor) for leaf in tf.nest.flatten(result))


def _as_array(value):
    return np.array(value) if isinstance(value, list | np.ndarray) else value


def test_there_are_many_programs():
    assert len(PROGRAMS) >= 120

"""The recurrent loop of keras.backend: the numbers of the real Keras, nested structures, and gradients."""

import numpy as np
import pytest

import thalweg as tf
from tests.keras.backend_cases import decoded, read_answers
from tests.keras.backend_checks import same
from tests.keras.backend_names import K
from tests.keras.rnn_cases import CASES, REVERSED, run
from thalweg._src.runtime.eager.mode import eager_mode


def _untraced(function):
    return tf.function(function, autograph=False)


@pytest.mark.parametrize("mode", ["graph", "eager", "function"])
def test_a_loop_computes_what_keras_computes(mode):
    for case, answers in zip(CASES, read_answers()["rnn"], strict=True):
        if mode == "graph":
            with tf.Graph().as_default(), tf.Session():
                results = run(K, tf, **case)
        else:
            with eager_mode():
                results = run(K, tf, **case, **({"wrap": _untraced} if mode == "function" else {}))
        for result, answer in zip(results, map(decoded, answers), strict=True):
            same(result, answer, str(case))


@pytest.mark.usefixtures("fresh")
def test_an_unrolled_loop_backwards_zeroes_the_outputs_that_a_loop_zeroes():
    for case in REVERSED:
        for result, answer in zip(run(K, tf, **case), run(K, tf, **{**case, "unroll": False}), strict=True):
            same(result, answer, str(case))


def _sum_so_far(inputs, states):
    total = states[0] + inputs
    return total, [total]


@pytest.mark.parametrize("mask", [None, [[1, 1, 0], [1, 0, 1]]])
def test_sequences_of_unknown_number_and_length_are_fed(mask):
    x = K.placeholder((None, None, 2))
    start = tf.zeros([tf.shape(x)[0], 2])
    start.set_shape([None, 2])
    known = [] if mask is None else [K.placeholder((None, None))]
    last, outputs, states = K.rnn(_sum_so_far, x, [start], mask=known[0] if known else None)
    assert outputs.shape.as_list() == [None, None, 2]
    assert last.shape.as_list() == [None, 2]
    values = np.arange(12.0).reshape(2, 3, 2)
    kept = values if mask is None else values * np.expand_dims(mask, -1)
    arrays = K.function([x, *known], [last, outputs, states[0]])([values, *([mask] if known else [])])
    np.testing.assert_allclose(arrays[1], np.cumsum(kept, 1))
    np.testing.assert_allclose(arrays[0], arrays[1][:, -1])
    np.testing.assert_allclose(arrays[2], arrays[1][:, -1])


@pytest.mark.parametrize("unroll", [False, True])
def test_static_shapes_of_outputs_are_known(unroll):
    last, outputs, states = K.rnn(_sum_so_far, tf.ones([4, 3, 2]), [tf.zeros([4, 2])], unroll=unroll)
    assert outputs.shape.as_list() == [4, 3, 2]
    assert last.shape.as_list() == [4, 2]
    assert states[0].shape.as_list() == [4, 2]


@pytest.mark.parametrize("unroll", [False, True])
def test_inputs_outputs_and_states_may_be_nested(unroll):
    def step(inputs, states):
        first, second = states
        sums = {"a": inputs[0] + first["x"], "b": inputs[1] * 2.0}
        return sums, [{"x": sums["a"]}, second + 1.0]

    inputs = [tf.ones([2, 3, 1]), tf.fill([2, 3, 4], 5.0)]
    start = [{"x": tf.zeros([2, 1])}, tf.zeros([2, 1])]
    last, outputs, states = K.rnn(step, inputs, start, mask=tf.ones([2, 3]), unroll=unroll)
    with tf.Session() as session:
        last, outputs, states = session.run([last, outputs, states])
    np.testing.assert_array_equal(outputs["a"][0, :, 0], [1, 2, 3])
    np.testing.assert_array_equal(outputs["b"], np.full([2, 3, 4], 10.0))
    np.testing.assert_array_equal(last["a"], [[3], [3]])
    np.testing.assert_array_equal(states[0]["x"], [[3], [3]])
    np.testing.assert_array_equal(states[1], [[3], [3]])


@pytest.mark.parametrize("unroll", [False, True])
def test_masked_steps_have_no_gradient(unroll):
    x = tf.constant(np.arange(6.0, dtype=np.float32).reshape(1, 6, 1))
    mask = tf.constant([[1, 0, 1, 0, 0, 1]])

    def step(inputs, states):
        output = inputs * inputs + states[0]
        return output, [output]

    last, _, _ = K.rnn(step, x, [tf.zeros([1, 1])], mask=mask, unroll=unroll)
    (gradient,) = K.gradients(last, [x])
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(gradient)[0, :, 0], [0, 0, 4, 0, 0, 10])


def test_a_loop_without_a_known_length_is_not_unrolled():
    with pytest.raises(ValueError, match="unroll: expected a known number of time steps"):
        K.rnn(_sum_so_far, K.placeholder((2, None, 3)), [tf.zeros([2, 3])], unroll=True)


def test_inputs_without_an_axis_for_the_time_are_refused():
    with pytest.raises(ValueError, match="axes for the batch and the time"):
        K.rnn(_sum_so_far, tf.zeros([3]), [tf.zeros([3])])

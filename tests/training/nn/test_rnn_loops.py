"""Loops over sequences: lengths, directions, structures, unknown sizes, and gradients against numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compat.contrib.rnn.stacks import stack_bidirectional_dynamic_rnn, stack_bidirectional_rnn
from thalweg._src.training.nn.rnn.dynamic import bidirectional_dynamic_rnn, dynamic_rnn, raw_rnn
from thalweg._src.training.nn.rnn.static import static_bidirectional_rnn, static_rnn, static_state_saving_rnn

rnn_cell = tf.nn.rnn_cell
RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(6)
        yield graph


def names() -> list[str]:
    return [variable.op.name for variable in tf.global_variables()]


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def numpy_rnn(x: Any, kernel: Any, bias: Any, lengths: Any = None, state: Any = None) -> tuple[Any, Any]:
    """Runs a basic cell over [batch, time, depth]."""
    batch, steps, _ = x.shape
    units = bias.shape[0]
    h = np.zeros((batch, units)) if state is None else state
    outputs = np.zeros((batch, steps, units))
    for t in range(steps):
        active = np.ones(batch, bool) if lengths is None else t < np.asarray(lengths)
        new = np.tanh(np.concatenate([x[:, t], h], 1) @ kernel + bias)
        h = np.where(active[:, None], new, h)
        outputs[:, t] = np.where(active[:, None], new, 0)
    return outputs, h


@pytest.mark.parametrize("shape", [[3, 5, 2], [None, 5, 2], [3, None, 2], [None, None, 2]])
@pytest.mark.parametrize("lengths", [None, [5, 1, 3], [2, 0, 3], [0, 0, 0]])
@pytest.mark.parametrize("time_major", [False, True])
def test_dynamic_rnn(shape: Any, lengths: Any, time_major: bool) -> None:
    value = RNG.normal(size=(3, 5, 2))
    x = tf.placeholder(tf.float64, shape)
    inputs = tf.transpose(x, [1, 0, 2]) if time_major else x
    outputs, state = dynamic_rnn(
        rnn_cell.BasicRNNCell(4), inputs, sequence_length=lengths, dtype=tf.float64, time_major=time_major
    )
    if time_major:
        outputs = tf.transpose(outputs, [1, 0, 2])
    batch = shape[0] if lengths is None else 3
    assert outputs.shape.as_list() == [batch, shape[1], 4]
    assert state.shape.as_list() == [shape[0], 4] or lengths is not None
    assert names() == ["rnn/basic_rnn_cell/kernel", "rnn/basic_rnn_cell/bias"]
    found, last, kernel, bias = run([outputs, state, *tf.global_variables()], {x: value})
    expected, expected_last = numpy_rnn(value, kernel, bias, lengths)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(last, expected_last, atol=1e-12)


def test_initial_state_and_int64_lengths_fed() -> None:
    x = tf.constant(RNG.normal(size=(3, 4, 2)))
    lengths = tf.placeholder(tf.int64, [None])
    first = RNG.normal(size=(3, 4))
    outputs, state = dynamic_rnn(rnn_cell.BasicRNNCell(4), x, lengths, initial_state=tf.constant(first))
    value, found, last, kernel, bias = run([x, outputs, state, *tf.global_variables()], {lengths: [4, 2, 0]})
    expected, expected_last = numpy_rnn(value, kernel, bias, [4, 2, 0], first)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(last, expected_last)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape for Tensor"):
        run(outputs, {lengths: [4, 2]})


@pytest.mark.parametrize(
    "make",
    [
        lambda: rnn_cell.BasicLSTMCell(3),
        lambda: rnn_cell.GRUCell(3),
        lambda: rnn_cell.LSTMCell(3, use_peepholes=True, num_proj=2),
        lambda: rnn_cell.MultiRNNCell([rnn_cell.GRUCell(3), rnn_cell.ResidualWrapper(rnn_cell.BasicLSTMCell(3))]),
    ],
)
@pytest.mark.parametrize("lengths", [None, [4, 2]])
def test_gradients(make: Any, lengths: Any) -> None:
    x = tf.constant(RNG.normal(size=(2, 4, 2)))
    outputs, state = dynamic_rnn(make(), x, lengths, dtype=tf.float64)
    loss = tf.reduce_sum(tf.sin(outputs)) + sum(tf.reduce_sum(tf.square(s)) for s in tf.nest.flatten(state))
    variables = tf.trainable_variables()
    grads = tf.gradients(loss, [x, *variables])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([x, *variables])
        found = session.run(grads)

        def difference(index: int, place: tuple[int, ...]) -> float:
            results = []
            for step in (1e-5, -1e-5):
                moved = values[index].copy()
                moved[place] += step
                if index:
                    variables[index - 1].load(moved, session)
                results.append(session.run(loss, {} if index else {x: moved}))
            if index:
                variables[index - 1].load(values[index], session)
            return float(results[0] - results[1]) / 2e-5

        for index, grad in enumerate(found):
            for _ in range(3):
                place = tuple(RNG.integers(0, n) for n in values[index].shape)
                np.testing.assert_allclose(grad[place], difference(index, place), rtol=1e-5, atol=1e-8)


def test_static_rnn_equals_dynamic_rnn() -> None:
    x, lengths = RNG.normal(size=(3, 4, 2)).astype(np.float32), [4, 0, 2]
    cell = rnn_cell.LSTMCell(5)
    dynamic = dynamic_rnn(cell, tf.constant(x), lengths, dtype=tf.float32)
    steps = tf.unstack(tf.constant(x), axis=1)
    static = static_rnn(cell, steps, dtype=tf.float32, sequence_length=lengths)
    free = static_rnn(cell, steps, dtype=tf.float32)
    whole = dynamic_rnn(cell, tf.constant(x), dtype=tf.float32)
    assert len(names()) == 2
    (outputs, state), (listed, last), (free_outputs, _), (whole_outputs, _) = run([dynamic, static, free, whole])
    np.testing.assert_allclose(np.stack(listed, 1), outputs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, state, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.stack(free_outputs, 1), whole_outputs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lengths", [None, [4, 1, 2]])
def test_both_directions(lengths: Any) -> None:
    x = RNG.normal(size=(3, 4, 2))
    make = lambda: (rnn_cell.BasicRNNCell(5), rnn_cell.BasicRNNCell(3))  # noqa: E731
    (fw, bw), (state_fw, state_bw) = bidirectional_dynamic_rnn(*make(), tf.constant(x), lengths, dtype=tf.float64)
    assert names() == [
        "bidirectional_rnn/fw/basic_rnn_cell/kernel",
        "bidirectional_rnn/fw/basic_rnn_cell/bias",
        "bidirectional_rnn/bw/basic_rnn_cell/kernel",
        "bidirectional_rnn/bw/basic_rnn_cell/bias",
    ]
    with tf.variable_scope("", reuse=True):
        listed, static_fw, static_bw = static_bidirectional_rnn(
            *make(), tf.unstack(tf.constant(x), axis=1), dtype=tf.float64, sequence_length=lengths
        )
    found = run([fw, bw, state_fw, state_bw, tf.stack(listed, 1), static_fw, static_bw, *tf.global_variables()])
    weights = found[7:]
    sizes = lengths or [4, 4, 4]

    def turned(value: Any) -> Any:
        result = value.copy()
        for row, size in enumerate(sizes):
            result[row, :size] = value[row, :size][::-1]
        return result

    forward, last_fw = numpy_rnn(x, *weights[:2], lengths)
    backward, last_bw = numpy_rnn(turned(x), *weights[2:], lengths)
    wanted = [forward, turned(backward), last_fw, last_bw]
    wanted += [np.concatenate([forward, turned(backward)], 2), last_fw, last_bw]
    for value, expected in zip(found, wanted):
        np.testing.assert_allclose(value, expected)


def test_stacked_directions() -> None:
    x = tf.constant(RNG.normal(size=(2, 4, 3)))
    cells = [[rnn_cell.GRUCell(n) for n in (3, 4)] for _ in range(2)]
    outputs, states_fw, states_bw = stack_bidirectional_dynamic_rnn(*cells, x, dtype=tf.float64)
    assert outputs.shape.as_list() == [2, 4, 8]
    assert [s.shape[1].value for s in (*states_fw, *states_bw)] == [3, 4, 3, 4]
    assert names()[0] == "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/gru_cell/gates/kernel"
    cells = [[rnn_cell.GRUCell(n) for n in (3, 4)] for _ in range(2)]
    listed, _, _ = stack_bidirectional_rnn(*cells, tf.unstack(x, axis=1), dtype=tf.float64, scope="s")
    assert listed[0].shape.as_list() == [2, 8]
    assert run([outputs, listed])[0].shape == (2, 4, 8)
    with pytest.raises(ValueError, match="as many cells"):
        stack_bidirectional_dynamic_rnn(cells[0], cells[1][:1], x, dtype=tf.float64)


class Pair(rnn_cell.RNNCell):  # type: ignore[name-defined, misc]
    """Takes and gives dictionaries and tuples; its state holds a matrix for each example."""

    state_size = property(lambda self: {"sum": tf.TensorShape([2, 3]), "count": 1})
    output_size = property(lambda self: (3, tf.TensorShape([2, 3])))

    def call(self, inputs: Any, state: Any) -> Any:
        total = state["sum"] + inputs["a"]
        count = state["count"] + inputs["b"]
        return (tf.reduce_sum(total, 1), total * 2.0), {"sum": total, "count": count}


def test_nested_inputs_states_and_outputs() -> None:
    a, b = RNG.normal(size=(2, 5, 2, 3)).astype(np.float32), np.ones((2, 5, 1), np.float32)
    inputs = {"a": tf.placeholder(tf.float32, [None, None, 2, 3]), "b": tf.constant(b)}
    (sums, doubles), state = dynamic_rnn(Pair(), inputs, [5, 2], dtype=tf.float32)
    assert sums.shape.as_list() == [2, None, 3] or sums.shape.as_list() == [2, 5, 3]
    sums, doubles, state = run([sums, doubles, state], {inputs["a"]: a})
    running = a.cumsum(1)
    np.testing.assert_allclose(doubles[0], 2 * running[0], rtol=1e-5)
    np.testing.assert_allclose(doubles[1, :2], 2 * running[1, :2], rtol=1e-5)
    assert not doubles[1, 2:].any()
    np.testing.assert_allclose(sums[0], running[0].sum(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(state["sum"], [running[0, 4], running[1, 1]], rtol=1e-5)
    np.testing.assert_array_equal(state["count"], [[5], [2]])


def test_raw_rnn_as_a_loop_over_inputs() -> None:
    x, lengths = RNG.normal(size=(3, 5, 2)), np.array([5, 2, 3])
    cell = rnn_cell.BasicRNNCell(4)
    steps = tf.TensorArray(tf.float64, size=5).unstack(tf.constant(x.transpose(1, 0, 2)))

    def loop(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        after = cell.zero_state(3, tf.float64) if output is None else state
        finished = time >= lengths
        done = tf.reduce_all(finished)
        following = tf.cond(done, lambda: tf.zeros([3, 2], tf.float64), lambda: steps.read(time))
        following.set_shape([3, 2])
        return finished, following, after, output, tf.constant(0) if loop_state is None else loop_state + 1

    arrays, state, count = raw_rnn(cell, loop)
    outputs = tf.transpose(arrays.stack(), [1, 0, 2])
    assert names() == ["rnn/basic_rnn_cell/kernel", "rnn/basic_rnn_cell/bias"]
    found, last, number, kernel, bias = run([outputs, state, count, *tf.global_variables()])
    expected, expected_last = numpy_rnn(x, kernel, bias, lengths)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(last, expected_last)
    assert number == 5


def test_state_saver() -> None:
    class Saver:
        def __init__(self) -> None:
            self.saved: dict[str, Any] = {}

        def state(self, name: str) -> Any:
            return tf.ones([2, 3])

        def save_state(self, name: str, value: Any) -> Any:
            self.saved[name] = value
            return tf.group(value)

    saver = Saver()
    cell = rnn_cell.BasicLSTMCell(3)
    outputs, state = static_state_saving_rnn(cell, [tf.zeros([2, 4])] * 2, saver, ("c", "h"))
    assert saver.saved == {"c": state.c, "h": state.h}
    assert run(outputs)[1].shape == (2, 3)
    with pytest.raises(ValueError, match="structure"):
        static_state_saving_rnn(cell, [tf.zeros([2, 4])], saver, "c")


def test_invalid_arguments() -> None:
    cell = rnn_cell.GRUCell(3)
    with pytest.raises(ValueError, match="must give a dtype"):
        dynamic_rnn(cell, tf.zeros([2, 3, 4]))
    with pytest.raises(ValueError, match="depth of inputs"):
        dynamic_rnn(cell, tf.placeholder(tf.float32, [2, 3, None]), dtype=tf.float32)
    with pytest.raises(ValueError, match="must be a vector"):
        dynamic_rnn(cell, tf.zeros([2, 3, 4]), [[1, 2]], dtype=tf.float32)
    with pytest.raises(ValueError, match="time steps"):
        dynamic_rnn(cell, (tf.zeros([2, 3, 4]), tf.zeros([2, 5, 4])), dtype=tf.float32)
    with pytest.raises(TypeError, match="not an RNNCell"):
        dynamic_rnn(tf.tanh, tf.zeros([2, 3, 4]), dtype=tf.float32)
    with pytest.raises(TypeError, match="must be a sequence"):
        static_rnn(cell, tf.zeros([2, 4]), dtype=tf.float32)
    with pytest.raises(ValueError, match="must not be empty"):
        static_rnn(cell, [], dtype=tf.float32)


def test_training_a_counter() -> None:
    """Learns to add up ones: the optimizer changes what the loop reads."""
    x = tf.placeholder(tf.float32, [None, None, 1])
    y = tf.placeholder(tf.float32, [None])
    _, state = dynamic_rnn(rnn_cell.BasicLSTMCell(8), x, dtype=tf.float32)
    guess = tf.layers.dense(state.h, 1)[:, 0]
    loss = tf.reduce_mean(tf.square(guess - y))
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    rng = np.random.default_rng(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = []
        for _ in range(120):
            bits = rng.integers(0, 2, size=(32, 6, 1))
            losses.append(session.run([loss, step], {x: bits, y: bits.sum((1, 2))})[0])
    assert np.mean(losses[-10:]) < 0.2 * np.mean(losses[:10])

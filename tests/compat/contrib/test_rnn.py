"""The cells of tf.contrib.rnn against plain NumPy, in loops, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

rnn = tf.contrib.rnn
BATCH, WIDTH, UNITS, TIME = 3, 6, 4, 5
RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        yield


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def step(cell: Any, inputs: Any, state: Any) -> tuple[Any, dict[str, Any]]:
    """Returns what one step gives, and the variables by name; zeros among them are made random first."""
    result = cell(inputs, state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            variable.load(floats(*variable.shape.as_list()) * 0.5 + 0.6, session)
        values = {v.op.name: value for v, value in zip(tf.global_variables(), session.run(tf.global_variables()))}
        return session.run(result), values


CELLS = {
    "ind_rnn": lambda: rnn.IndRNNCell(UNITS),
    "indy_gru": lambda: rnn.IndyGRUCell(UNITS),
    "indy_lstm": lambda: rnn.IndyLSTMCell(UNITS),
    "sru": lambda: rnn.SRUCell(UNITS),
    "nas": lambda: rnn.NASCell(UNITS, num_proj=3, use_bias=True),
    "coupled": lambda: rnn.CoupledInputForgetGateLSTMCell(UNITS, use_peepholes=True, num_proj=3, proj_clip=0.2),
    "coupled_norm": lambda: rnn.CoupledInputForgetGateLSTMCell(UNITS, layer_norm=True, state_is_tuple=False),
    "glstm": lambda: rnn.GLSTMCell(WIDTH, number_of_groups=2, num_proj=WIDTH),
    "grid": lambda: rnn.GridLSTMCell(
        UNITS, use_peepholes=True, feature_size=2, frequency_skip=2, num_frequency_blocks=[3], cell_clip=1.0
    ),
    "grid_flat": lambda: rnn.GridLSTMCell(
        UNITS,
        share_time_frequency_weights=True,
        couple_input_forget_gates=True,
        feature_size=2,
        frequency_skip=2,
        num_frequency_blocks=[3],
        state_is_tuple=False,
    ),
    "grid_both": lambda: rnn.BidirectionalGridLSTMCell(
        UNITS,
        use_peepholes=True,
        feature_size=2,
        frequency_skip=1,
        num_frequency_blocks=[2, 3],
        start_freqindex_list=[0, 2],
        end_freqindex_list=[3, 6],
        backward_slice_offset=1,
    ),
    "time_freq": lambda: rnn.TimeFreqLSTMCell(UNITS, use_peepholes=True, feature_size=WIDTH, cell_clip=2.0),
    "highway": lambda: rnn.HighwayWrapper(rnn.BasicRNNCell(WIDTH), couple_carry_transform_gates=False),
    "compiled": lambda: rnn.CompiledWrapper(rnn.GRUCell(UNITS)),
}


@pytest.mark.parametrize("name", sorted(CELLS))
def test_every_cell_trains_in_dynamic_rnn(name: str) -> None:
    cell = CELLS[name]()
    inputs = tf.constant(floats(BATCH, TIME, WIDTH))
    outputs, state = tf.nn.dynamic_rnn(cell, inputs, sequence_length=[5, 2, 3], dtype=tf.float32)
    assert outputs.shape.as_list() == [BATCH, TIME, cell.output_size]
    tf.nest.assert_same_structure(state, cell.state_size) if isinstance(state, tuple) else None
    variables = [v for v in tf.trainable_variables() if name != "coupled_norm" or not v.op.name.endswith("/B")]
    assert variables
    grads = tf.gradients(tf.reduce_sum(outputs**2) + sum(tf.reduce_sum(s) for s in tf.nest.flatten(state)), variables)
    assert all(grad is not None for grad in grads)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value, found = session.run([outputs, grads])
    assert not value[1, 2:].any() and value[1, :2].any()
    assert all(np.isfinite(grad).all() for grad in found)


def test_ind_rnn() -> None:
    x, h = floats(BATCH, WIDTH), floats(BATCH, UNITS)
    (got, _), v = step(rnn.IndRNNCell(UNITS), x, h)
    expected = np.tanh(x @ v["ind_rnn_cell/kernel_w"] + h * v["ind_rnn_cell/kernel_u"] + v["ind_rnn_cell/bias"])
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_indy_gru() -> None:
    x, h = floats(BATCH, WIDTH), floats(BATCH, UNITS)
    (got, _), v = step(rnn.IndyGRUCell(UNITS, name="g"), x, h)
    gates = x @ v["g/gates/kernel_w"] + np.tile(h, (1, 2)) * v["g/gates/kernel_u"] + v["g/gates/bias"]
    r, u = np.split(sigmoid(gates), 2, 1)
    candidate = np.tanh(x @ v["g/candidate/kernel_w"] + r * h * v["g/candidate/kernel_u"] + v["g/candidate/bias"])
    np.testing.assert_allclose(got, u * h + (1 - u) * candidate, rtol=1e-4)


def test_indy_lstm_and_sru() -> None:
    x, c, h = floats(BATCH, WIDTH), floats(BATCH, UNITS), floats(BATCH, UNITS)
    (got, state), v = step(rnn.IndyLSTMCell(UNITS, name="l"), x, rnn.LSTMStateTuple(c, h))
    i, j, f, o = np.split(x @ v["l/kernel_w"] + np.tile(h, (1, 4)) * v["l/kernel_u"] + v["l/bias"], 4, 1)
    new = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(state.c, new, rtol=1e-4)
    np.testing.assert_allclose(got, np.tanh(new) * sigmoid(o), rtol=1e-4)
    (got, state), v = step(rnn.SRUCell(UNITS, name="s"), x, c)
    a, f, r, t = np.split(x @ v["s/kernel"], 4, 1)
    f, r = sigmoid(f + v["s/bias"][:UNITS]), sigmoid(r + v["s/bias"][UNITS:])
    np.testing.assert_allclose(state, f * c + (1 - f) * a, rtol=1e-4)
    np.testing.assert_allclose(got, r * np.tanh(state) + (1 - r) * t, rtol=1e-4, atol=1e-5)


def test_nas_and_coupled_gates() -> None:
    x, c, m = floats(BATCH, WIDTH), floats(BATCH, UNITS), floats(BATCH, UNITS)
    (got, state), v = step(rnn.NASCell(UNITS), x, (c, m))
    a, b = np.split(x @ v["nas_cell/kernel"], 8, 1), np.split(m @ v["nas_cell/recurrent_kernel"], 8, 1)
    one = np.tanh(sigmoid(a[0] + b[0]) * np.maximum(a[1] + b[1], 0))
    two = np.tanh(sigmoid(a[2] + b[2]) + np.maximum(a[3] * b[3], 0))
    three = np.tanh(np.tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
    four = sigmoid(np.tanh(a[6] + b[6]) + sigmoid(a[7] + b[7]))
    new = np.tanh(one + c) * two
    np.testing.assert_allclose(state.c, new, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got, np.tanh(new * np.tanh(three + four)), rtol=1e-4, atol=1e-6)
    with tf.variable_scope("second"):
        (got, state), v = step(rnn.CoupledInputForgetGateLSTMCell(UNITS), x, (c, m))
    prefix = "second/coupled_input_forget_gate_lstm_cell/"
    j, f, o = np.split(np.concatenate([x, m], 1) @ v[prefix + "W"] + v[prefix + "B"], 3, 1)
    new = sigmoid(f + 1) * c + (1 - sigmoid(f + 1)) * np.tanh(j)
    np.testing.assert_allclose(got, sigmoid(o) * np.tanh(new), rtol=1e-4, atol=1e-6)


def test_one_group_equals_an_lstm() -> None:
    x, c, h = floats(BATCH, UNITS), floats(BATCH, UNITS), floats(BATCH, UNITS)
    (got, _), v = step(rnn.GLSTMCell(UNITS, number_of_groups=2), x, (c, h))
    half = UNITS // 2
    for group in range(2):
        mine = slice(group * half, (group + 1) * half)
        mixed = np.concatenate([x[:, mine], h[:, mine]], 1) @ v[f"glstm_cell/group{group}/kernel"]
        i, j, f, o = (part + v[f"glstm_cell/bias_{k}"][mine] for part, k in zip(np.split(mixed, 4, 1), "ijfo"))
        new = sigmoid(f + 1) * c[:, mine] + sigmoid(i) * np.tanh(j)
        np.testing.assert_allclose(got[:, mine], sigmoid(o) * np.tanh(new), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="divisible"):
        rnn.GLSTMCell(5, number_of_groups=2)


def test_phases() -> None:
    cell = rnn.PhasedLSTMCell(UNITS, use_peepholes=True, leak=0.01, ratio_on=0.3)
    time, x = np.array([[0.5], [20.0], [333.0]], np.float32), floats(BATCH, WIDTH)
    c, h = floats(BATCH, UNITS), floats(BATCH, UNITS)
    output, state = cell((tf.constant(time), tf.constant(x)), rnn.LSTMStateTuple(tf.constant(c), tf.constant(h)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        v = {a.op.name.split("/", 1)[1]: b for a, b in zip(tf.global_variables(), session.run(tf.global_variables()))}
        got, new = session.run([output, state])
    assert ((v["period"] >= 1) & (v["period"] <= 1000)).all()
    assert ((v["phase"] >= 0) & (v["phase"] <= v["period"])).all()
    i, f = np.split(sigmoid(np.concatenate([x, h, c], 1) @ v["mask_gates/kernel"] + v["mask_gates/bias"]), 2, 1)
    inner = c * f + i * np.tanh(np.concatenate([x, h], 1) @ v["new_input/kernel"] + v["new_input/bias"])
    o = sigmoid(np.concatenate([x, h, inner], 1) @ v["output_gate/kernel"] + v["output_gate/bias"])
    cycle = np.mod(time - v["phase"], v["period"]) / v["period"]
    up = 2 * cycle / v["ratio_on"]
    k = np.where(cycle < 0.5 * v["ratio_on"], up, np.where(cycle < v["ratio_on"], 2 - up, 0.01 * cycle))
    np.testing.assert_allclose(new.c, k * inner + (1 - k) * c, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got, k * np.tanh(inner) * o + (1 - k) * h, rtol=1e-4, atol=1e-5)
    sequence = (tf.zeros([BATCH, TIME, 1]), tf.zeros([BATCH, TIME, WIDTH]))
    outputs, _ = tf.nn.dynamic_rnn(rnn.PhasedLSTMCell(UNITS), sequence, dtype=tf.float32)
    assert outputs.shape.as_list() == [BATCH, TIME, UNITS]


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("skip", [False, True])
def test_convolutional_cells(dimensions: int, skip: bool) -> None:
    kind = (rnn.Conv1DLSTMCell, rnn.Conv2DLSTMCell, rnn.Conv3DLSTMCell)[dimensions - 1]
    space = [5, 4, 3][:dimensions]
    cell = kind(input_shape=[*space, 2], output_channels=4, kernel_shape=[3] * dimensions, skip_connection=skip)
    x = floats(BATCH, TIME, *space, 2)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(x), dtype=tf.float32)
    assert outputs.shape.as_list() == [BATCH, TIME, *space, 6 if skip else 4]
    grads = tf.gradients(outputs, tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value, (c, h), _ = session.run([outputs, state, grads])
    np.testing.assert_allclose(value[:, -1, ..., :4], h)
    assert c.shape == (BATCH, *space, 4)
    if skip:
        np.testing.assert_allclose(value[..., 4:], x)
    with pytest.raises(ValueError, match="Invalid input_shape"):
        kind(input_shape=[3], output_channels=1, kernel_shape=[1])


def test_a_convolution_of_one_pixel_equals_an_lstm() -> None:
    x, c, h = floats(BATCH, 1, 1, 2), floats(BATCH, 1, 1, 4), floats(BATCH, 1, 1, 4)
    cell = rnn.ConvLSTMCell(2, [1, 1, 2], 4, [1, 1])
    (got, _), v = step(cell, x, rnn.LSTMStateTuple(c, h))
    kernel, bias = v["conv_lstm_cell/kernel"][0, 0], v["conv_lstm_cell/biases"]
    i, j, f, o = np.split(np.concatenate([x, h], -1) @ kernel + bias, 4, -1)
    np.testing.assert_allclose(
        got, np.tanh(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)) * sigmoid(o), rtol=1e-4, atol=1e-6
    )


def test_highway() -> None:
    x, h = floats(BATCH, UNITS), floats(BATCH, UNITS)
    cell = rnn.HighwayWrapper(rnn.BasicRNNCell(UNITS))
    (got, state), v = step(cell, tf.constant(x), tf.constant(h))
    carry = sigmoid(x @ v["carry_w"] + v["carry_b"])
    np.testing.assert_allclose(got, x * carry + state * (1 - carry), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_fused_adaptors_run_whole_sequences(dynamic: bool, listed: bool) -> None:
    x, lengths = floats(TIME, BATCH, WIDTH), [5, 2, 3]
    inputs = list(tf.unstack(tf.constant(x))) if listed else tf.constant(x)
    fused = rnn.FusedRNNCellAdaptor(rnn.BasicRNNCell(UNITS), use_dynamic_rnn=dynamic)
    outputs, state = fused(inputs, dtype=tf.float32, sequence_length=lengths, scope="a")
    assert isinstance(outputs, list) == listed
    with tf.variable_scope("", reuse=True):
        back, _ = rnn.TimeReversedFusedRNN(fused)(inputs, dtype=tf.float32, sequence_length=lengths, scope="a")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        forward, backward, last = session.run([outputs, back, state])
        (kernel, bias) = session.run(tf.global_variables())
    for example, length in enumerate(lengths):
        for order, got in ((range(length), forward), (reversed(range(length)), backward)):
            h = np.zeros(UNITS)
            for t in order:
                h = np.tanh(np.append(x[t, example], h) @ kernel + bias)
                np.testing.assert_allclose(np.asarray(got)[t, example], h, rtol=1e-4, atol=1e-6)
            if got is forward:
                np.testing.assert_allclose(last[example], h, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("peephole", [False, True])
def test_the_fused_lstm_equals_the_cell_in_a_loop(peephole: bool) -> None:
    x, lengths = tf.constant(floats(TIME, BATCH, WIDTH)), [5, 2, 3]
    start = rnn.LSTMStateTuple(tf.ones([BATCH, UNITS]), tf.zeros([BATCH, UNITS]))
    fused = rnn.LSTMBlockFusedCell(UNITS, use_peephole=peephole, cell_clip=0.9)
    outputs, state = fused(x, initial_state=start, sequence_length=lengths)
    assert [v.op.name.split("/")[0] for v in fused.variables] == ["lstm_fused_cell"] * (5 if peephole else 2)
    cell = rnn.LSTMCell(UNITS, use_peepholes=peephole, cell_clip=0.9)
    plain = tf.nn.dynamic_rnn(cell, x, lengths, start, time_major=True)
    listed, _ = fused(list(tf.unstack(x)), dtype=tf.float32)
    assert len(listed) == TIME
    grads = tf.gradients(outputs, fused.trainable_variables)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        named = {v.op.name.split("/")[-1]: v for v in fused.variables}
        for variable in cell.variables:
            variable.load(session.run(named[variable.op.name.split("/")[-1]]), session)
        got, expected, _ = session.run([(outputs, state), plain, grads])
    for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(expected)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_invalid_arguments_are_reported() -> None:
    with pytest.raises(ValueError, match="num_frequency_blocks"):
        rnn.GridLSTMCell(UNITS)
    cell = rnn.GridLSTMCell(UNITS, feature_size=2, frequency_skip=2, num_frequency_blocks=[9])
    with pytest.raises(ValueError, match="requires 3 but gets 9"):
        cell(tf.zeros([BATCH, WIDTH]), cell.zero_state(BATCH, tf.float32))
    assert rnn.best_effort_input_batch_size([tf.zeros([TIME, BATCH])]) == BATCH

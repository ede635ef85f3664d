"""Recurrent cells over whole sequences against formulas in NumPy, their gradients against differences, and dropout."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compat.contrib.rnn.gated import LayerNormBasicLSTMCell

rnn_cell = tf.nn.rnn_cell
RNG = np.random.default_rng(4)
DEPTH, BATCH, STEPS = 3, 4, 5


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        yield graph


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


# -- formulas: step(x, state, weights) gives output and state ----------------------------------------------------------


def affine(x: Any, h: Any, w: dict[str, Any], kernel: str = "kernel", bias: str = "bias") -> Any:
    return np.concatenate([x, h], 1) @ w[kernel] + w[bias]


def basic(act: Any = np.tanh) -> Any:
    def step(x: Any, state: Any, w: dict[str, Any]) -> Any:
        output = act(affine(x, state[0], w))
        return output, [output]

    return step


def gru(act: Any = np.tanh) -> Any:
    def step(x: Any, state: Any, w: dict[str, Any]) -> Any:
        (h,) = state
        r, u = np.split(sigmoid(affine(x, h, w, "gates/kernel", "gates/bias")), 2, 1)
        h = u * h + (1 - u) * act(affine(x, r * h, w, "candidate/kernel", "candidate/bias"))
        return h, [h]

    return step


def lstm(act: Any = np.tanh, forget: float = 1.0, clip: float = np.inf, proj_clip: float = np.inf) -> Any:
    def step(x: Any, state: Any, w: dict[str, Any]) -> Any:
        c, h = state
        i, j, f, o = np.split(affine(x, h, w), 4, 1)
        diagonal = {gate: w.get(f"w_{gate}_diag", 0.0) for gate in "ifo"}
        c = c * sigmoid(f + forget + diagonal["f"] * c) + sigmoid(i + diagonal["i"] * c) * act(j)
        c = np.clip(c, -clip, clip)
        h = act(c) * sigmoid(o + diagonal["o"] * c)
        if "projection/kernel" in w:
            h = np.clip(h @ w["projection/kernel"], -proj_clip, proj_clip)
        return h, [c, h]

    return step


def normed(value: Any, w: dict[str, Any], scope: str) -> Any:
    value = (value - value.mean(1, keepdims=True)) / np.sqrt(value.var(1, keepdims=True) + 1e-12)
    return value * w[f"{scope}/gamma"] + w[f"{scope}/beta"]


def layer_norm_lstm(x: Any, state: Any, w: dict[str, Any]) -> Any:
    c, h = state
    parts = np.split(np.concatenate([x, h], 1) @ w["kernel"], 4, 1)
    i, j, f, o = (normed(part, w, scope) for part, scope in zip(parts, ("input", "transform", "forget", "output")))
    c = normed(c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j), w, "state")
    h = np.tanh(c) * sigmoid(o)
    return h, [c, h]


def peephole(**options: Any) -> Any:
    return rnn_cell.LSTMCell(4, use_peepholes=True, **options)


CELLS: dict[str, tuple[Any, Any]] = {
    "basic": (lambda: rnn_cell.BasicRNNCell(4), basic()),
    "basic relu": (lambda: rnn_cell.BasicRNNCell(4, activation="relu"), basic(relu)),
    "gru": (lambda: rnn_cell.GRUCell(4), gru()),
    "gru relu": (lambda: rnn_cell.GRUCell(4, activation=tf.nn.relu), gru(relu)),
    "basic lstm": (lambda: rnn_cell.BasicLSTMCell(4), lstm()),
    "basic lstm relu": (lambda: rnn_cell.BasicLSTMCell(4, 0.25, activation=tf.nn.relu), lstm(relu, 0.25)),
    "lstm": (lambda: rnn_cell.LSTMCell(4, forget_bias=0.0), lstm(forget=0.0)),
    "lstm clipped": (lambda: rnn_cell.LSTMCell(4, cell_clip=0.3), lstm(clip=0.3)),
    "lstm peephole": (lambda: peephole(), lstm()),
    "lstm projected": (lambda: rnn_cell.LSTMCell(4, num_proj=2), lstm()),
    "lstm of all": (
        lambda: peephole(cell_clip=0.9, num_proj=2, proj_clip=0.4, forget_bias=0.5, activation="sigmoid"),
        lstm(sigmoid, 0.5, 0.9, 0.4),
    ),
    "layer norm lstm": (lambda: LayerNormBasicLSTMCell(4), layer_norm_lstm),
}


def trained(session: Any, cell_name: str = "cell/") -> dict[str, Any]:
    """Gives random values to all variables; returns them by the ends of their names."""
    session.run(tf.global_variables_initializer())
    session.run([v.assign(RNG.normal(size=v.shape.as_list()) * 0.8) for v in tf.trainable_variables()])
    values = session.run(tf.trainable_variables())
    return {v.op.name.rpartition(cell_name)[2]: value for v, value in zip(tf.trainable_variables(), values)}


def over(step: Any, x: Any, state: list[Any], w: dict[str, Any], lengths: Any) -> Any:
    """Runs a formula over [batch, time, depth]; finished examples give zeros and keep their state."""
    outputs = []
    for time in range(x.shape[1]):
        output, after = step(x[:, time], state, w)
        going = (time < lengths)[:, None]
        outputs.append(np.where(going, output, 0.0))
        state = [np.where(going, new, old) for new, old in zip(after, state)]
    return np.stack(outputs, 1), state


@pytest.mark.parametrize("lengths", [None, [0, 5, 3, 1]])
@pytest.mark.parametrize("name", CELLS)
def test_sequences(name: str, lengths: Any) -> None:
    make, step = CELLS[name]
    cell, x = make(), RNG.normal(size=(BATCH, STEPS, DEPTH))
    sizes = tf.nest.flatten(cell.state_size)
    first = [RNG.normal(size=(BATCH, size)) for size in sizes]
    state = tf.nest.pack_sequence_as(cell.state_size, [tf.constant(value) for value in first])
    outputs, last = tf.nn.dynamic_rnn(cell, tf.constant(x), lengths, state)
    with tf.Session() as session:
        weights = trained(session)
        outputs, last = session.run([outputs, tf.nest.flatten(last)])
    wanted, state = over(step, x, first, weights, np.array([STEPS] * BATCH if lengths is None else lengths))
    np.testing.assert_allclose(outputs, wanted, rtol=1e-6, atol=1e-9)
    for found, value in zip(last, state):
        np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in CELLS if "clip" not in name and "relu" not in name])
def test_gradients(name: str) -> None:
    """Every element of inputs, state and weights is moved a little, up and down."""
    cell = CELLS[name][0]()
    x = tf.Variable(RNG.normal(size=(2, 3, DEPTH)))
    state = [tf.Variable(RNG.normal(size=(2, size))) for size in tf.nest.flatten(cell.state_size)]
    packed = tf.nest.pack_sequence_as(cell.state_size, [s.read_value() for s in state])
    outputs, last = tf.nn.dynamic_rnn(cell, x.read_value(), [3, 2], packed)
    loss = tf.reduce_sum(tf.sin(outputs)) + sum(tf.reduce_sum(s**2) for s in tf.nest.flatten(last))
    variables = tf.trainable_variables()
    slopes = tf.gradients(loss, variables)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([v.assign(v * 0.5 + 0.1) for v in variables[1 + len(state) :]])
        found = session.run(slopes)
        for variable, slope in zip(variables, found):
            value = session.run(variable)
            for index in list(np.ndindex(*value.shape))[::7]:
                ends = []
                for move in (1e-5, -1e-5):
                    moved = value.copy()
                    moved[index] += move
                    variable.load(moved, session)
                    ends.append(session.run(loss))
                np.testing.assert_allclose(slope[index], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-7)
            variable.load(value, session)


def test_stacked_cells() -> None:
    cell = rnn_cell.MultiRNNCell(
        [peephole(name="a"), rnn_cell.GRUCell(2, name="b"), rnn_cell.BasicRNNCell(3, name="c")]
    )
    x = RNG.normal(size=(BATCH, STEPS, DEPTH))
    outputs, last = tf.nn.dynamic_rnn(cell, tf.constant(x), dtype=tf.float64)
    with tf.Session() as session:
        weights = trained(session, "multi_rnn_cell/")
        outputs, last = session.run([outputs, last])
    full = np.array([STEPS] * BATCH)
    wanted = x
    for number, (step, state) in enumerate(((lstm(), last[0]), (gru(), [last[1]]), (basic(), [last[2]]))):
        prefix = f"cell_{number}/{'abc'[number]}/"
        own = {name[len(prefix) :]: value for name, value in weights.items() if name.startswith(prefix)}
        zeros = [np.zeros_like(part) for part in state]
        wanted, end = over(step, wanted, zeros, own, full)
        for found, value in zip(state, end):
            np.testing.assert_allclose(found, value, rtol=1e-6)
    np.testing.assert_allclose(outputs, wanted, rtol=1e-6)


def test_layer_norm_options() -> None:
    cell = LayerNormBasicLSTMCell(4, forget_bias=0.5, norm_gain=2.0, norm_shift=0.3, layer_norm=True)
    plain = LayerNormBasicLSTMCell(4, layer_norm=False)
    x, state = tf.constant(RNG.normal(size=(2, 3))), rnn_cell.LSTMStateTuple(*[tf.ones([2, 4], tf.float64)] * 2)
    with tf.variable_scope("normed"):
        cell(x, state)
    with tf.variable_scope("plain"):
        output, _ = plain(x, state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        gains = {v.op.name: session.run(v) for v in tf.trainable_variables("normed") if "gamma" in v.op.name}
        shifts = [session.run(v) for v in tf.trainable_variables("normed") if "beta" in v.op.name]
        weights = trained(session)
        found, given = session.run([output, x])
    assert len(gains) == 5 and all((gain == 2.0).all() for gain in gains.values())
    assert all((shift == 0.3).all() for shift in shifts)
    own = {name: weights[name] for name in ("kernel", "bias")}
    np.testing.assert_allclose(found, lstm()(given, [np.ones((2, 4))] * 2, own)[0], rtol=1e-6)


# -- dropout -----------------------------------------------------------------------------------------------------------


class Through(rnn_cell.RNNCell):
    """A cell that gives its inputs as output and as state, so that what dropout did to them shows."""

    state_size = output_size = 60

    def call(self, inputs: Any, state: Any) -> Any:
        return inputs, inputs


def dropped(outputs: Any, keep: float) -> Any:
    """Returns which ones were dropped, of outputs that are 1 else."""
    np.testing.assert_allclose(outputs[outputs != 0], 1 / keep, rtol=1e-6)
    return outputs == 0


@pytest.mark.parametrize("where", ["input", "output", "state"])
@pytest.mark.parametrize("variational", [False, True])
def test_dropout_masks(where: str, variational: bool) -> None:
    options: dict[str, Any] = {f"{where}_keep_prob": 0.7}
    if variational:
        options.update(variational_recurrent=True, dtype=tf.float32, input_size=60)
    cell = rnn_cell.DropoutWrapper(Through(), **options)
    state, masks = tf.zeros([BATCH, 60]), []
    for _ in range(3):
        output, state = cell(tf.ones([BATCH, 60]), state)
        masks.append(state if where == "state" else output)
    with tf.Session() as session:
        first, again = (np.array([dropped(mask, 0.7) for mask in session.run(masks)]) for _ in range(2))
    assert 0.1 < first.mean() < 0.5
    assert (first != again).any()
    same_in_each_step = (first == first[0]).all()
    same_for_all_examples = (first == first[:, :1]).all()
    assert same_in_each_step == same_for_all_examples == variational


def test_dropout_masks_are_independent() -> None:
    cell = rnn_cell.DropoutWrapper(
        Through(), 0.5, 0.5, 0.5, variational_recurrent=True, dtype=tf.float32, input_size=60, seed=3
    )
    output, state = cell(tf.ones([1, 60]), tf.zeros([1, 60]))
    with tf.Session() as session:
        output, state = session.run([output, state])
    assert not np.array_equal(output, state)
    assert set(np.unique(output)) <= {0.0, 4.0}  # twice kept, each time worth two
    assert set(np.unique(state)) <= {0.0, 4.0}


def test_a_seed_repeats_the_dropout_masks() -> None:
    found = []
    for seed in (3, 3, 4):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            cell = rnn_cell.DropoutWrapper(Through(), 0.5, 0.5, seed=seed)
            output, _ = cell(tf.ones([2, 60]), tf.zeros([2, 60]))
            with tf.Session() as session:
                found.append(session.run(output))
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_keep_probability_one_drops_nothing() -> None:
    keep = tf.placeholder_with_default(1.0, [])
    cell = rnn_cell.DropoutWrapper(Through(), keep, keep, keep)
    output, state = cell(tf.ones([2, 60]), tf.zeros([2, 60]))
    with tf.Session() as session:
        assert all((value == 1.0).all() for value in session.run([output, state]))
        assert any((value == 0.0).any() for value in session.run([output, state], {keep: 0.5}))


@pytest.mark.parametrize("kept", [(True, True), (False, True), (True, False), (False, False)])
def test_dropout_filter_for_parts_of_a_state(kept: tuple[bool, bool]) -> None:
    cell = rnn_cell.DropoutWrapper(
        rnn_cell.BasicLSTMCell(200),
        state_keep_prob=0.5,
        dropout_state_filter_visitor=lambda s: (
            rnn_cell.LSTMStateTuple(*kept) if isinstance(s, rnn_cell.LSTMStateTuple) else True
        ),
    )
    _, state = cell(tf.ones([1, 3]), rnn_cell.LSTMStateTuple(tf.ones([1, 200]), tf.ones([1, 200])))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        after = session.run(state)
    assert ((after.c == 0).any(), (after.h == 0).any()) == kept


def test_cells_with_dropout_train() -> None:
    """What is dropped gets no gradient, what is kept gets more."""
    cell = rnn_cell.DropoutWrapper(Through(), output_keep_prob=0.5)
    x = tf.ones([2, 60])
    output, _ = cell(x, tf.zeros([2, 60]))
    with tf.Session() as session:
        output, slope = session.run([output, tf.gradients(output, x)[0]])
    np.testing.assert_array_equal(output, slope)


# -- residual connections and devices ----------------------------------------------------------------------------------


class Doubles(rnn_cell.RNNCell):
    """A cell of structures."""

    state_size = 1
    output_size = (3, {"b": 2})

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.nest.map_structure(lambda t: t * 2.0, inputs), state


def test_residuals_of_structures() -> None:
    x = (tf.ones([2, 4, 3]), {"b": tf.ones([2, 4, 2]) * 5.0})
    outputs, _ = tf.nn.dynamic_rnn(rnn_cell.ResidualWrapper(Doubles()), x, dtype=tf.float32)
    product = rnn_cell.ResidualWrapper(Doubles(), lambda i, o: tf.nest.map_structure(tf.multiply, i, o))
    multiplied, _ = tf.nn.dynamic_rnn(product, x, dtype=tf.float32)
    with tf.Session() as session:
        (a, b), (c, d) = ((one, other["b"]) for one, other in session.run([outputs, multiplied]))
    assert (a == 3).all() and (b == 15).all() and (c == 2).all() and (d == 50).all()


def test_a_stack_of_wrappers() -> None:
    def layer(number: int) -> Any:
        cell = rnn_cell.GRUCell(3, name=f"layer{number}")
        return rnn_cell.DeviceWrapper(
            rnn_cell.ResidualWrapper(rnn_cell.DropoutWrapper(cell, 1.0, 1.0)), f"/device:CPU:{number}"
        )

    cell, x = rnn_cell.MultiRNNCell([layer(0), layer(1)]), RNG.normal(size=(BATCH, STEPS, DEPTH))
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(x), dtype=tf.float64)
    products = [op for op in tf.get_default_graph().get_operations() if op.type == "MatMul"]
    assert sorted(op.device[-5:] for op in products) == ["CPU:0", "CPU:0", "CPU:1", "CPU:1"]
    assert all(state.device.endswith(f"CPU:{i}") for i, state in enumerate(cell.zero_state(2, tf.float64)))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        weights = trained(session, "multi_rnn_cell/")
        found = session.run(outputs)
    wanted = x
    for number in range(2):
        prefix = f"cell_{number}/layer{number}/"
        own = {name[len(prefix) :]: value for name, value in weights.items() if name.startswith(prefix)}
        made, _ = over(gru(), wanted, [np.zeros((BATCH, 3))], own, np.array([STEPS] * BATCH))
        wanted = wanted + made
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_every_wrapper_exposes_its_cell() -> None:
    inner = rnn_cell.LSTMCell(4, num_proj=2)
    wrappers = [
        rnn_cell.DropoutWrapper(inner),
        rnn_cell.ResidualWrapper(inner),
        rnn_cell.DeviceWrapper(inner, "/device:CPU:0"),
    ]
    for wrapper, other in itertools.product(wrappers, wrappers):
        assert wrapper.state_size == other.state_size == rnn_cell.LSTMStateTuple(4, 2)
        assert wrapper.output_size == 2
        assert [t.shape.as_list() for t in wrapper.zero_state(3, tf.float32)] == [[3, 4], [3, 2]]

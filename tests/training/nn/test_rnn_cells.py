"""Recurrent cells against plain NumPy: values, names, sharing, wrappers, and cells that users write."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compat.contrib.rnn.gated import (
    GRUBlockCell,
    IntersectionRNNCell,
    LayerNormBasicLSTMCell,
    LSTMBlockCell,
    UGRNNCell,
)
from thalweg._src.compat.contrib.rnn.projections import (
    AttentionCellWrapper,
    EmbeddingWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
)
from thalweg._src.training.nn.rnn.dynamic import dynamic_rnn

rnn_cell = tf.nn.rnn_cell
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        yield graph


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def names() -> list[str]:
    return [variable.op.name for variable in tf.global_variables()]


def values(session: Any) -> dict[str, Any]:
    return {
        v.op.name.rpartition("cell/")[2]: value
        for v, value in zip(tf.global_variables(), session.run(tf.global_variables()))
    }


def one_step(cell: Any, depth: int = 3, batch: int = 2, state: Any = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """Runs one step on random inputs and a random state; variables are random too."""
    x = RNG.normal(size=(batch, depth))
    zero = cell.zero_state(batch, tf.float64)
    flat = [RNG.normal(size=t.shape.as_list()) for t in tf.nest.flatten(zero)] if state is None else state
    given = tf.nest.pack_sequence_as(zero, [tf.constant(value) for value in flat])
    output, after = cell(tf.constant(x), given)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([v.assign(RNG.normal(size=v.shape.as_list())) for v in tf.global_variables()])
        weights = values(session)
        output, after = session.run([output, tf.nest.flatten(after)])
    return x, flat, output, after, weights


def test_basic_rnn() -> None:
    x, (h,), output, (state,), w = one_step(rnn_cell.BasicRNNCell(4))
    expected = np.tanh(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"])
    np.testing.assert_allclose(output, expected)
    np.testing.assert_allclose(state, expected)
    assert names() == ["basic_rnn_cell/kernel", "basic_rnn_cell/bias"]


def numpy_gru(x: Any, h: Any, w: dict[str, Any]) -> Any:
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ w["gates/kernel"] + w["gates/bias"]), 2, 1)
    c = np.tanh(np.concatenate([x, r * h], 1) @ w["candidate/kernel"] + w["candidate/bias"])
    return u * h + (1 - u) * c


def test_gru() -> None:
    x, (h,), output, (state,), w = one_step(rnn_cell.GRUCell(4))
    np.testing.assert_allclose(output, numpy_gru(x, h, w))
    np.testing.assert_allclose(state, output)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(tf.global_variables()[1]), np.ones(8))
        np.testing.assert_array_equal(session.run(tf.global_variables()[3]), np.zeros(4))


def test_gru_block_variable_names() -> None:
    x, (h,), output, _, w = one_step(GRUBlockCell(4))
    renamed = dict(zip(["gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias"], w.values()))
    np.testing.assert_allclose(output, numpy_gru(x, h, renamed))
    assert names() == ["gru_cell/w_ru", "gru_cell/b_ru", "gru_cell/w_c", "gru_cell/b_c"]


def numpy_lstm(
    x: Any, c: Any, h: Any, w: dict[str, Any], bias: float = 1.0, clip: Any = None, proj_clip: Any = None
) -> Any:
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"], 4, 1)
    peep = {key: w.get(f"w_{key}_diag", 0.0) for key in "ifo"}
    c_new = sigmoid(f + bias + peep["f"] * c) * c + sigmoid(i + peep["i"] * c) * np.tanh(j)
    if clip is not None:
        c_new = np.clip(c_new, -clip, clip)
    h_new = sigmoid(o + peep["o"] * c_new) * np.tanh(c_new)
    if "projection/kernel" in w:
        h_new = np.clip(h_new @ w["projection/kernel"], -(proj_clip or np.inf), proj_clip or np.inf)
    return c_new, h_new


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: rnn_cell.BasicLSTMCell(4, forget_bias=0.5), {"bias": 0.5}),
        (lambda: rnn_cell.LSTMCell(4), {}),
        (lambda: rnn_cell.LSTMCell(4, use_peepholes=True, cell_clip=0.7), {"clip": 0.7}),
        (lambda: rnn_cell.LSTMCell(4, num_proj=5, proj_clip=0.3, forget_bias=0.0), {"proj_clip": 0.3, "bias": 0.0}),
        (lambda: LSTMBlockCell(4, use_peephole=True, cell_clip=0.5), {"clip": 0.5}),
        (lambda: LSTMBlockCell(4), {}),
    ],
)
def test_lstm(make: Any, facts: dict[str, Any]) -> None:
    x, (c, h), output, after, w = one_step(make())
    expected = numpy_lstm(x, c, h, w, **facts)
    for wanted, found in zip(expected, after):
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(output, expected[1])


@pytest.mark.parametrize("make", [rnn_cell.BasicLSTMCell, lambda n, **kw: rnn_cell.LSTMCell(n, num_proj=3, **kw)])
def test_lstm_state_as_one_tensor(make: Any) -> None:
    cell = make(4, state_is_tuple=False)
    x, (state,), output, (after,), w = one_step(cell)
    assert cell.state_size == state.shape[1]
    expected = numpy_lstm(x, state[:, :4], state[:, 4:], w)
    np.testing.assert_allclose(after, np.concatenate(expected, 1))
    np.testing.assert_allclose(output, expected[1])


def test_multi_cell_names_and_states() -> None:
    cell = rnn_cell.MultiRNNCell([rnn_cell.LSTMCell(4), rnn_cell.GRUCell(5, name="top")])
    assert cell.state_size == (rnn_cell.LSTMStateTuple(4, 4), 5)
    assert cell.output_size == 5
    dynamic_rnn(cell, tf.zeros([2, 3, 6]), dtype=tf.float32)
    assert names() == [
        "rnn/multi_rnn_cell/cell_0/lstm_cell/kernel",
        "rnn/multi_rnn_cell/cell_0/lstm_cell/bias",
        "rnn/multi_rnn_cell/cell_1/top/gates/kernel",
        "rnn/multi_rnn_cell/cell_1/top/gates/bias",
        "rnn/multi_rnn_cell/cell_1/top/candidate/kernel",
        "rnn/multi_rnn_cell/cell_1/top/candidate/bias",
    ]
    assert cell.trainable_variables == tf.trainable_variables()
    joined = rnn_cell.MultiRNNCell([rnn_cell.GRUCell(4), rnn_cell.GRUCell(5)], state_is_tuple=False)
    assert joined.zero_state(2, tf.float32).shape.as_list() == [2, 9]
    with tf.variable_scope("joined"):
        output, state = joined(tf.zeros([2, 3]), joined.zero_state(2, tf.float32))
    assert (output.shape.as_list(), state.shape.as_list()) == ([2, 5], [2, 9])


def test_multi_cell_errors() -> None:
    with pytest.raises(ValueError, match="at least one cell"):
        rnn_cell.MultiRNNCell([])
    with pytest.raises(TypeError, match="list or tuple"):
        rnn_cell.MultiRNNCell(rnn_cell.GRUCell(3))
    with pytest.raises(ValueError, match="state_is_tuple=False"):
        rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(3)], state_is_tuple=False)
    with pytest.raises(TypeError, match="not an RNNCell"):
        rnn_cell.MultiRNNCell([3])


def test_reuse() -> None:
    x, cell = tf.zeros([2, 3]), rnn_cell.BasicLSTMCell(4)
    state = cell.zero_state(2, tf.float32)
    cell(x, state)
    cell(x, state)
    with pytest.raises(ValueError, match="already exists"):
        rnn_cell.BasicLSTMCell(4, name="basic_lstm_cell")(x, state, scope="basic_lstm_cell")
    rnn_cell.BasicLSTMCell(4, reuse=True, name="basic_lstm_cell")(x, state)
    with tf.variable_scope("s"):
        cell(x, state)
    assert names() == ["basic_lstm_cell/kernel", "basic_lstm_cell/bias"]
    rnn_cell.BasicLSTMCell(4)(x, state, scope="given")
    assert names()[2:] == ["given/kernel", "given/bias"]
    copied = copy.deepcopy(cell)
    copied(x, state)
    assert len(names()) == 4


def test_sharded_kernel_and_initializer() -> None:
    cell = rnn_cell.LSTMCell(4, num_unit_shards=2, initializer=tf.constant_initializer(0.5))
    cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    assert names()[:2] == ["lstm_cell/kernel/part_0", "lstm_cell/kernel/part_1"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(tf.global_variables()[0]), np.full((4, 16), 0.5))


def test_zero_state_of_an_unknown_batch() -> None:
    batch = tf.placeholder(tf.int32, [])
    state = rnn_cell.BasicLSTMCell(4).zero_state(batch, tf.float32)
    assert isinstance(state, rnn_cell.LSTMStateTuple)
    assert state.dtype == tf.float32
    assert state.c.shape.as_list() == [None, 4]
    with tf.Session() as session:
        assert session.run(state, {batch: 3}).h.shape == (3, 4)
    inputs = tf.placeholder(tf.float32, [5, 2])
    assert rnn_cell.GRUCell(4).get_initial_state(inputs).shape.as_list() == [5, 4]
    with pytest.raises(ValueError, match="needs inputs, or batch_size and dtype"):
        rnn_cell.GRUCell(4).get_initial_state(batch_size=3)


def test_wrong_inputs() -> None:
    cell = rnn_cell.GRUCell(4)
    with pytest.raises(ValueError, match="last dimension must be known"):
        cell(tf.placeholder(tf.float32, [2, None]), cell.zero_state(2, tf.float32))
    with pytest.raises(ValueError, match="expected ndim=2"):
        rnn_cell.GRUCell(4)(tf.zeros([2, 3, 4]), cell.zero_state(2, tf.float32))


# -- wrappers ---------------------------------------------------------------------------------------------------------


def test_dropout_of_inputs_outputs_and_states() -> None:
    inner = rnn_cell.BasicLSTMCell(400, forget_bias=0.0)
    keep = tf.placeholder_with_default(0.25, [])
    cell = rnn_cell.DropoutWrapper(inner, output_keep_prob=keep, state_keep_prob=0.5, seed=1)
    state = rnn_cell.LSTMStateTuple(tf.ones([2, 400]), tf.ones([2, 400]))
    output, after = cell(tf.ones([2, 3]), state)
    plain, plain_state = inner(tf.ones([2, 3]), state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        output, after, plain, plain_state = session.run([output, after, plain, plain_state])
    assert 0.15 < np.mean(output != 0) < 0.35
    np.testing.assert_allclose(output[output != 0], plain[output != 0] * 4, rtol=1e-5)
    assert 0.4 < np.mean(after.h != 0) < 0.6
    np.testing.assert_array_equal(after.c, plain_state.c)  # the memory is never dropped
    assert names() == ["basic_lstm_cell/kernel", "basic_lstm_cell/bias"]


def test_variational_dropout_is_the_same_in_every_step() -> None:
    cell = rnn_cell.DropoutWrapper(
        rnn_cell.BasicRNNCell(50, activation=lambda x: x * 0 + 1),
        output_keep_prob=0.5,
        variational_recurrent=True,
        dtype=tf.float32,
    )
    outputs, _ = dynamic_rnn(cell, tf.ones([3, 4, 2]), dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run(outputs), session.run(outputs)
    np.testing.assert_array_equal(first, np.broadcast_to(first[0, 0], first.shape))
    assert 0 < np.mean(first == 0) < 1
    assert (first != second).any()
    with pytest.raises(ValueError, match="needs input_size"):
        rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2), 0.5, variational_recurrent=True, dtype=tf.float32)
    with pytest.raises(ValueError, match="needs dtype"):
        rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2), variational_recurrent=True)
    with pytest.raises(ValueError, match="from 0 to 1"):
        rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2), output_keep_prob=1.5)


def test_dropout_filter_chooses_parts_of_the_state() -> None:
    cell = rnn_cell.DropoutWrapper(
        rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(100), rnn_cell.GRUCell(100)]),
        state_keep_prob=0.5,
        dropout_state_filter_visitor=lambda s: not isinstance(s, rnn_cell.LSTMStateTuple),
    )
    state = tf.nest.map_structure(tf.ones_like, cell.zero_state(1, tf.float32))
    _, after = cell(tf.ones([1, 3]), state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        lstm, gru = session.run(after)
    assert (lstm.h != 0).all()
    assert (gru == 0).any()


def test_residual_and_device() -> None:
    inner = rnn_cell.BasicRNNCell(3)
    cell = rnn_cell.DeviceWrapper(rnn_cell.ResidualWrapper(inner), "/device:CPU:0")
    x, state = tf.ones([2, 3]), tf.zeros([2, 3])
    output, _ = cell(x, state)
    doubled, _ = rnn_cell.ResidualWrapper(inner, lambda i, o: o * 2)(x, state)
    plain, _ = inner(x, state)
    assert "CPU:0" in output.device
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        output, doubled, plain = session.run([output, doubled, plain])
    np.testing.assert_allclose(output, plain + 1)
    np.testing.assert_allclose(doubled, plain * 2)
    assert names() == ["basic_rnn_cell/kernel", "basic_rnn_cell/bias"]
    with pytest.raises(ValueError, match="compatible"):
        rnn_cell.ResidualWrapper(rnn_cell.BasicRNNCell(4))(x, tf.zeros([2, 4]))


def test_projections_and_embedding() -> None:
    cell = OutputProjectionWrapper(InputProjectionWrapper(rnn_cell.GRUCell(4), 5), 6)
    outputs, _ = dynamic_rnn(cell, tf.zeros([2, 3, 7]), dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 3, 6]
    assert names() == [
        "rnn/output_projection_wrapper/input_projection_wrapper/kernel",
        "rnn/output_projection_wrapper/input_projection_wrapper/bias",
        "rnn/output_projection_wrapper/input_projection_wrapper/gru_cell/gates/kernel",
        "rnn/output_projection_wrapper/input_projection_wrapper/gru_cell/gates/bias",
        "rnn/output_projection_wrapper/input_projection_wrapper/gru_cell/candidate/kernel",
        "rnn/output_projection_wrapper/input_projection_wrapper/gru_cell/candidate/bias",
        "rnn/output_projection_wrapper/kernel",
        "rnn/output_projection_wrapper/bias",
    ]
    assert len(cell.trainable_weights) == 8
    with tf.variable_scope("e"):
        embedded = EmbeddingWrapper(rnn_cell.GRUCell(4), 10, 3)
        output, _ = embedded(tf.constant([[1], [2]]), embedded.zero_state(2, tf.float32))
    assert output.shape.as_list() == [2, 4]
    assert "e/embedding_wrapper/embedding" in names()


def test_attention_over_the_last_outputs() -> None:
    cell = AttentionCellWrapper(rnn_cell.BasicLSTMCell(4), attn_length=3)
    assert cell.state_size == (rnn_cell.LSTMStateTuple(4, 4), 4, 12)
    outputs, state = dynamic_rnn(cell, tf.ones([2, 5, 6]), dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 5, 4]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        outputs, state = session.run([outputs, state])
    np.testing.assert_allclose(state[2].reshape(2, 3, 4), outputs[:, 2:], rtol=1e-5)
    assert "rnn/attention_cell_wrapper/attention/attn_w" in names()


def test_layer_norm_lstm() -> None:
    cell = LayerNormBasicLSTMCell(4)
    x, (c, h), output, after, w = one_step(cell)

    def norm(value: Any, scope: str) -> Any:
        value = (value - value.mean(1, keepdims=True)) / np.sqrt(value.var(1, keepdims=True) + 1e-12)
        return value * w[f"{scope}/gamma"] + w[f"{scope}/beta"]

    parts = np.split(np.concatenate([x, h], 1) @ w["kernel"], 4, 1)
    i, j, f, o = (norm(p, s) for p, s in zip(parts, ("input", "transform", "forget", "output")))
    c = norm(c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j), "state")
    np.testing.assert_allclose(after[0], c, rtol=1e-6)
    np.testing.assert_allclose(output, np.tanh(c) * sigmoid(o), rtol=1e-6)


def test_update_gate_and_intersection() -> None:
    x, (h,), output, _, w = one_step(UGRNNCell(4))
    g, c = np.split(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"], 2, 1)
    g = sigmoid(g + 1)
    np.testing.assert_allclose(output, g * h + (1 - g) * np.tanh(c))
    with tf.Graph().as_default():
        x, (h,), output, (after,), w = one_step(IntersectionRNNCell(3))
        gh, h_act, gy, y_act = np.split(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"], 4, 1)
        gh, gy = sigmoid(gh + 1), sigmoid(gy + 1)
        np.testing.assert_allclose(output, gy * x + (1 - gy) * np.maximum(y_act, 0))
        np.testing.assert_allclose(after, gh * h + (1 - gh) * np.tanh(h_act))
        with pytest.raises(ValueError, match="num_in_proj"):
            IntersectionRNNCell(4)(tf.zeros([2, 3]), tf.zeros([2, 4]))


# -- cells that users write -------------------------------------------------------------------------------------------


class OldStyle(rnn_cell.RNNCell):  # type: ignore[name-defined, misc]
    """Defines __call__ itself and forgets the constructor of the base class."""

    def __init__(self, units: int) -> None:
        self._units = units

    state_size = property(lambda self: self._units)
    output_size = property(lambda self: self._units)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with tf.variable_scope(scope or type(self).__name__):
            w = tf.get_variable("w", [inputs.shape[1].value, self._units])
            output = tf.tanh(tf.matmul(inputs, w) + state)
        return output, output


class NewStyle(rnn_cell.RNNCell):  # type: ignore[name-defined, misc]
    """Defines `call` and makes its variables there."""

    def __init__(self, units: int, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._units = units

    state_size = property(lambda self: self._units)
    output_size = property(lambda self: self._units)

    def call(self, inputs: Any, state: Any) -> Any:
        w = tf.get_variable("w", [inputs.shape[1].value, self._units])
        output = tf.tanh(tf.matmul(inputs, w) + state)
        return output, output


def test_custom_cells() -> None:
    x = tf.ones([2, 3, 4])
    new = NewStyle(5)
    dynamic_rnn(OldStyle(5), x, dtype=tf.float32)
    dynamic_rnn(rnn_cell.DropoutWrapper(new, 0.5), x, dtype=tf.float32, scope="b")
    dynamic_rnn(rnn_cell.MultiRNNCell([OldStyle(5), NewStyle(5)]), x, dtype=tf.float32, scope="c")
    assert names() == [
        "rnn/OldStyle/w",
        "b/new_style/w",
        "c/multi_rnn_cell/cell_0/OldStyle/w",
        "c/multi_rnn_cell/cell_1/new_style/w",
    ]
    assert new.trainable_weights == [tf.global_variables()[1]]

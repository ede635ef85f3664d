"""Recurrent layers and wrappers: dropout, constants, cells of programs, states in models, configurations, errors."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras import recurrent_cases as cases
from tests.keras.recurrent_layers import L, in_mode, values_of
from thalweg._src.graph import nest
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.lookup import deserialize, serialize

with gzip.open(Path(__file__).parent.parent / "fixtures" / "keras_recurrent.json.gz") as _file:
    CONFIGS = json.load(_file)["configs"]
_MAKERS = {**cases.LAYERS, **cases.CONVOLUTIONS}
_X = cases.numbers("x", (cases.BATCH, cases.STEPS, cases.FEATURES))
_WIDE = np.ones((3, 6, 40), np.float32)
_BOTH = pytest.mark.parametrize("mode", ["graph", "eager"])


class Minimal(Layer):
    """A cell of a program: a leaky sum of its inputs, to which it adds constants."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units

    def build(self, input_shape):
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        self.kernel = self.add_weight("kernel", [shapes[0][-1], self.units])
        self.shapes = [tuple(shape) for shape in shapes]

    def call(self, inputs, states, constants=None):
        output = tf.matmul(inputs, self.kernel) + 0.5 * states[0]
        for constant in constants or ():
            output += constant
        return output, [output]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


# -- dropout ----------------------------------------------------------------------------------------------------------


@_BOTH
@pytest.mark.parametrize("kind", ["SimpleRNN", "GRU", "LSTM"])
def test_dropout_needs_training(mode, kind):
    with in_mode(mode):
        layer = getattr(L, kind)(3, dropout=0.5, recurrent_dropout=0.5, return_sequences=True)
        plain = getattr(L, kind)(3, return_sequences=True)
        x = tf.constant(_X)
        quiet, noisy, _ = layer(x, training=False), layer(x, training=True), plain(x)
        plain.set_weights(layer.get_weights())
        quiet, noisy, expected = values_of(mode, [quiet, noisy, plain(x)])
    np.testing.assert_allclose(quiet, expected, rtol=1e-5, atol=1e-6)
    assert np.abs(noisy - expected).max() > 1e-3


@_BOTH
@pytest.mark.parametrize("unroll", [False, True])
def test_all_steps_share_a_dropout_mask(mode, unroll):
    with in_mode(mode):
        layer = L.SimpleRNN(
            40,
            activation="linear",
            kernel_initializer="identity",
            recurrent_initializer="zeros",
            dropout=0.5,
            return_sequences=True,
            unroll=unroll,
        )
        first, second = values_of(mode, [layer(tf.constant(_WIDE), training=True) for _ in range(2)])
    assert set(np.unique(first)) == {0.0, 2.0}
    np.testing.assert_array_equal(first, np.broadcast_to(first[:, :1], first.shape))
    assert (first != second).any(), "each call has a mask of its own"


@_BOTH
@pytest.mark.parametrize(("implementation", "count"), [(1, 4), (2, 1)])
def test_each_gate_has_a_mask_of_its_own_unless_they_are_fused(mode, implementation, count):
    with in_mode(mode):
        cell = L.LSTMCell(2, dropout=0.5, implementation=implementation)
        x = tf.constant(_WIDE[:, 0])
        cell(x, cell.get_initial_state(inputs=x), training=True)
        masks = values_of(mode, cell.get_dropout_mask_for_cell(x, True, 4))
    assert len(masks) == count
    assert len({mask.tobytes() for mask in masks}) == count


def test_the_learning_phase_of_a_graph_controls_dropout():
    with in_mode("graph"):
        layer = L.GRU(3, dropout=0.5)
        y = layer(tf.constant(_X))
        phase = state.symbolic_phase()
        quiet = [state.get_session().run(y, {phase: False}) for _ in range(2)]
        noisy = [state.get_session().run(y, {phase: True}) for _ in range(2)]
    np.testing.assert_array_equal(*quiet)
    assert (noisy[0] != noisy[1]).any()


# -- cells ------------------------------------------------------------------------------------------------------------


@_BOTH
def test_a_cell_of_a_program_takes_constants(mode):
    with in_mode(mode):
        layer = L.RNN(Minimal(3))
        given = [tf.ones([cases.BATCH, 3]), 2 * tf.ones([cases.BATCH, 3])]
        output = layer(tf.constant(_X), constants=given)
        layer.set_weights([np.zeros((cases.FEATURES, 3))])
        output = layer(tf.constant(_X), constants=given)
        np.testing.assert_allclose(values_of(mode, [output])[0], np.full((cases.BATCH, 3), 3 * 1.875))
    assert layer.cell.shapes == [(cases.BATCH, cases.FEATURES), (cases.BATCH, 3), (cases.BATCH, 3)]


@_BOTH
def test_symbolic_constants_are_inputs_of_a_model(mode):
    with in_mode(mode):
        x, constant, start = L.Input((4, 5)), L.Input((3,)), L.Input((3,))
        layer = L.RNN(Minimal(3))
        model = L.Model([x, constant, start], layer(x, initial_state=start, constants=constant))
        assert [tensor.shape.as_list() for tensor in layer.input] == [[None, 4, 5], [None, 3], [None, 3]]
        layer.set_weights([np.zeros((5, 3))])
        found = model.predict([_X, np.ones((2, 3), np.float32), np.full((2, 3), 16, np.float32)])
    np.testing.assert_allclose(found, np.full((2, 3), 1.875 + 1))


def test_constants_need_a_cell_that_takes_them():
    with pytest.raises(ValueError, match="does not support constants"):
        L.LSTM(3)(tf.constant(_X), constants=[tf.ones([2, 3])])


@_BOTH
def test_cells_of_tensorflow_are_cells_too(mode):
    with in_mode(mode):
        for cell, count in ((tf.nn.rnn_cell.GRUCell(3), 1), (tf.nn.rnn_cell.LSTMCell(3), 2)):
            layer = L.RNN(cell, return_sequences=True, return_state=True)
            outputs = layer(tf.constant(_X))
            found = values_of(mode, outputs) if mode == "eager" else [each.shape.as_list() for each in outputs]
            assert len(found) == 1 + count
            assert len(layer.trainable_weights) == (4 if count == 1 else 2)
            np.testing.assert_array_equal(np.shape(found[0]) if mode == "eager" else found[0], [2, 4, 3])


def test_weights_of_a_layer_are_those_of_its_cells():
    layer = L.RNN([L.LSTMCell(3, kernel_regularizer="l2"), L.GRUCell(2)], name="cells")
    layer(tf.constant(_X))
    assert [weight.name for weight in layer.weights[:3]] == [
        "cells/kernel:0",
        "cells/recurrent_kernel:0",
        "cells/bias:0",
    ]
    assert len(layer.weights) == 6
    assert len(layer.losses) == 1
    layer.trainable = False
    assert layer.trainable_weights == []
    assert len(layer.non_trainable_weights) == 6


@_BOTH
def test_the_forget_gate_starts_open(mode):
    with in_mode(mode):
        for kind, expected in (("LSTM", [0, 0, 1, 1, 0, 0, 0, 0]), ("CuDNNLSTM", [0] * 8 + [0, 0, 1, 1, 0, 0, 0, 0])):
            layer = getattr(L, kind)(2)
            layer(tf.constant(_X))
            np.testing.assert_array_equal(layer.get_weights()[2], expected)


# -- states -----------------------------------------------------------------------------------------------------------


@_BOTH
def test_a_stateful_model_keeps_its_states_until_they_are_reset(mode):
    with in_mode(mode):
        model = L.Sequential([L.LSTM(3, stateful=True, batch_input_shape=(2, 4, 5)), L.Dense(1)])
        assert model.stateful
        first, second = model.predict(_X, batch_size=2), model.predict(_X, batch_size=2)
        model.reset_states()
        third = model.predict(_X, batch_size=2)
        model.compile("sgd", "mse")
        model.train_on_batch(_X, np.zeros((2, 1), np.float32))
        states = [each.copy() for each in _states(model.layers[0])]
        model.train_on_batch(_X, np.zeros((2, 1), np.float32))
        assert np.abs(np.subtract(states, _states(model.layers[0]))).max() > 1e-3
    np.testing.assert_allclose(first, third, rtol=1e-5)
    assert np.abs(first - second).max() > 1e-4


def _states(layer):
    if tf.executing_eagerly():
        return [each.numpy() for each in layer.states]
    return state.get_session().run(layer.states)


@_BOTH
def test_states_are_no_weights_and_no_part_of_a_checkpoint(mode, tmp_path):
    with in_mode(mode):
        layer = L.GRU(3, stateful=True)
        layer(tf.constant(_X))
        assert len(layer.weights) == 3
        assert len(layer.trainable_weights) == 3
        if mode == "eager":
            path = tf.train.Checkpoint(layer=layer).save(str(tmp_path / "model"))
            names = [name for name, _ in tf.train.list_variables(path)]
            assert [name for name in names if "states" in name] == []
            assert any("recurrent_kernel" in name for name in names)


@_BOTH
def test_given_states_count_for_the_first_batch_of_a_stateful_layer(mode):
    with in_mode(mode):
        layer, plain = L.GRU(3, stateful=True), L.GRU(3)
        x, begin = tf.constant(_X), tf.constant(cases.numbers("begin", (2, 3)))
        layer(x), plain(x)
        plain.set_weights(layer.get_weights())
        layer.reset_states()
        expected = plain(x, initial_state=begin)
        then = plain(x, initial_state=expected)
        if mode == "graph":
            output = layer(x, initial_state=begin)
            updates = layer.updates[-1:]
            found = [state.get_session().run([output, updates])[0] for _ in range(2)]
        else:
            found = [layer(x, initial_state=begin).numpy() for _ in range(2)]
        np.testing.assert_allclose(found, values_of(mode, [expected, then]), rtol=1e-5, atol=1e-6)


@_BOTH
def test_a_model_of_recurrent_layers_learns(mode):
    with in_mode(mode):
        x, target = L.Input((None, 5)), L.Input((None, 2))
        _, *states = L.Bidirectional(L.LSTM(4, return_state=True, dropout=0.1))(L.Masking()(x))
        encoded = [L.Dense(4)(each) for each in states[:2]]
        y = L.LSTM(4, return_sequences=True)(target, initial_state=encoded)
        model = L.Model([x, target], L.TimeDistributed(L.Dense(1))(y))
        model.compile(tf.train.AdamOptimizer(0.02), "mse")
        data = [_X, cases.numbers("target", (2, 3, 2))], cases.numbers("y", (2, 3, 1))
        losses = model.fit(*data, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2


# -- configurations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", _MAKERS)
def test_a_configuration_makes_an_equal_layer(name):
    layer = _MAKERS[name](L)
    config = json.loads(json.dumps(serialize(layer)))
    again = deserialize(config)
    assert type(again) is type(layer)
    assert json.loads(json.dumps(serialize(again))) == config


@pytest.mark.parametrize("name", _MAKERS)
def test_a_configuration_has_the_keys_of_the_real_library(name):
    assert {*_MAKERS[name](L).get_config(), "dtype"} == set(CONFIGS[name])


def test_layers_have_the_properties_of_their_cells():
    layer = L.LSTM(3, activation="relu", dropout=0.25, recurrent_dropout=2.0, kernel_constraint="non_neg", input_dim=5)
    assert (layer.units, layer.dropout, layer.recurrent_dropout, layer.implementation) == (3, 0.25, 1.0, 1)
    assert layer.activation.__name__ == "relu"
    assert layer.recurrent_activation.__name__ == "hard_sigmoid"
    assert type(layer.kernel_constraint).__name__ == "NonNeg"
    assert layer.unit_forget_bias
    assert layer._batch_input_shape == (None, None, 5)


@_BOTH
def test_bidirectional_of_a_cell_of_a_program(mode):
    with in_mode(mode):
        layer = L.Bidirectional(L.RNN(Minimal(3), return_sequences=True))
        layer(tf.constant(_X))
        kernels = layer.get_weights()
        assert len(kernels) == 2
        layer.set_weights([kernels[0], kernels[0]])
        found, mirrored = values_of(mode, [layer(tf.constant(x)) for x in (_X, _X[:, ::-1].copy())])
    np.testing.assert_allclose(found[:, :, :3], mirrored[:, ::-1, 3:], rtol=1e-5, atol=1e-6)


def test_weights_of_both_directions_can_be_given():
    weights = [cases.numbers(str(i), shape) for i, shape in enumerate([(5, 9), (3, 9), (9,)] * 2)]
    with in_mode("eager"):
        layer = L.Bidirectional(L.GRU(3), weights=weights)
        layer(tf.constant(_X))
        for found, expected in zip(layer.get_weights(), weights):
            np.testing.assert_array_equal(found, expected)


# -- masks ------------------------------------------------------------------------------------------------------------


def test_masks_pass_through_layers_that_return_sequences():
    x = L.Masking()(L.Input((4, 5)))
    for layer, count in (
        (L.GRU(3, return_sequences=True), 1),
        (L.LSTM(3, return_sequences=True, return_state=True), 1),
        (L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode=None), 2),
        (L.TimeDistributed(L.Dense(2)), 1),
        (L.GRU(3), 0),
        (L.Bidirectional(L.GRU(3)), 0),
    ):
        outputs = nest.flatten(layer(x))
        masks = [getattr(each, "_keras_mask", None) for each in outputs]
        assert [mask is not None for mask in masks] == [index < count for index in range(len(outputs))]


def test_the_weights_of_cudnn_have_no_masks():
    with pytest.raises(ValueError, match="Masking is not supported"):
        L.CuDNNLSTM(3)(L.Masking()(L.Input((4, 5))))


@_BOTH
def test_a_layer_of_a_program_is_called_for_each_step_if_the_batch_is_known(mode):
    class Mean(Layer):
        def call(self, inputs):
            return inputs - tf.reduce_mean(inputs, 0, keepdims=True)

        def compute_output_shape(self, input_shape):
            return input_shape

    with in_mode(mode):
        found = values_of(mode, [L.TimeDistributed(Mean())(tf.constant(_X))])[0]
    np.testing.assert_allclose(found, _X - _X.mean(0, keepdims=True), rtol=1e-5, atol=1e-6)


# -- errors -----------------------------------------------------------------------------------------------------------

_X_INPUT = (cases.STEPS, cases.FEATURES)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: L.RNN(3), ValueError, "should have `call`"),
        (lambda: L.StackedRNNCells([3]), ValueError, "must have `call`"),
        (lambda: L.LSTM(3).reset_states(), AttributeError, "must be stateful"),
        (lambda: L.LSTM(3, stateful=True)(L.Input(_X_INPUT)), ValueError, "batch size"),
        (lambda: L.LSTM(3, unroll=True)(L.Input((None, 5))), ValueError, "Cannot unroll"),
        (lambda: L.LSTM(3)(L.Input((5,))), ValueError, "ndim=3"),
        (lambda: L.LSTM(3)(L.Input((4, None))), ValueError, "must be known"),
        (lambda: L.LSTM(3)(L.Input(_X_INPUT), initial_state=[L.Input((3,))]), ValueError, "has 2 states"),
        (lambda: L.GRU(3)(L.Input(_X_INPUT), initial_state=[L.Input((4,))]), ValueError, "not compatible"),
        (lambda: L.LSTM(3)(L.Input(_X_INPUT), [L.Input((3,)), tf.ones([2, 3])]), ValueError, "or none of them"),
        (lambda: L.LSTM(3)([L.Input(_X_INPUT), L.Input((3,))], [tf.ones([2, 3])]), ValueError, "given twice"),
        (lambda: L.Bidirectional(L.LSTM(3), merge_mode="max"), ValueError, "Invalid merge mode"),
        (lambda: L.Bidirectional(3), ValueError, "initialize `Bidirectional`"),
        (lambda: L.Bidirectional(L.GRU(3))(L.Input(_X_INPUT), [L.Input((3,))]), ValueError, "list containing"),
        (lambda: L.Bidirectional(L.GRU(3), backward_layer=L.GRU(3)), ValueError, "different `go_backwards`"),
        (lambda: L.TimeDistributed(3), ValueError, "initialize `TimeDistributed`"),
        (lambda: L.TimeDistributed(L.Dense(3))(L.Input((4,))), ValueError, "at least 3 dimensions"),
        (lambda: L.ConvLSTM2D(3, 2, unroll=True), TypeError, "unroll"),
    ],
)
def test_what_cannot_work_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_states_of_a_wrong_number_or_shape_are_refused():
    with in_mode("eager"):
        layer = L.LSTM(3, stateful=True)
        layer(tf.constant(_X))
        with pytest.raises(ValueError, match="expects 2 states"):
            layer.reset_states([np.zeros((2, 3))])
        with pytest.raises(ValueError, match="State 1 is incompatible"):
            layer.reset_states([np.zeros((2, 3)), np.zeros((2, 4))])


# -- models at each step ----------------------------------------------------------------------------------------------


@_BOTH
def test_a_model_is_applied_at_each_step(mode):
    with in_mode(mode):
        inner = L.Sequential([L.Dense(3, activation="tanh"), L.Dense(2)])
        model = L.Sequential([L.TimeDistributed(inner, input_shape=(4, 5)), L.GRU(2)])
        assert len(model.trainable_weights) == 7
        kernel, bias, kernel_2, bias_2 = inner.get_weights()
        found = L.Model(model.inputs, model.layers[0].output).predict(_X)
    np.testing.assert_allclose(found, np.tanh(_X @ kernel + bias) @ kernel_2 + bias_2, rtol=1e-5, atol=1e-6)


@_BOTH
def test_the_mask_of_a_model_at_each_step_is_that_of_its_outputs(mode):
    tokens = np.array([[[1, 2, 0], [3, 0, 0]], [[0, 0, 0], [2, 1, 3]]], np.int32)
    with in_mode(mode):
        words = L.Input((3,), dtype="int32")
        sentence = L.Model(words, L.Embedding(5, 4, mask_zero=True)(words))
        x = L.Input((2, 3), dtype="int32")
        y = L.TimeDistributed(sentence)(x)
        found = L.Model(x, tf.cast(y._keras_mask, tf.float32)).predict(tokens)
    np.testing.assert_array_equal(found, tokens > 0)

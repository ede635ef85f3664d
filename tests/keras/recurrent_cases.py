"""Cases of recurrent layers and wrappers, which the oracle and the tests run; without imports of either library."""

import zlib

import numpy as np

BATCH, STEPS, FEATURES, UNITS = 2, 4, 5, 3
RIGHT = [[True, True, False, False], [True, True, True, True]]
LEFT = [[False, False, True, True], [True, True, True, True]]
HOLES = [[False, True, False, True], [True, False, True, False]]

# Layers that are called on [batch, steps, features]; each is a function of the namespace of layers.
LAYERS = {
    "simple": lambda L: L.SimpleRNN(UNITS),
    "simple, no bias, relu": lambda L: L.SimpleRNN(UNITS, activation="relu", use_bias=False),
    "simple, sequences and state": lambda L: L.SimpleRNN(UNITS, return_sequences=True, return_state=True),
    "gru": lambda L: L.GRU(UNITS, return_state=True),
    "gru, sequences": lambda L: L.GRU(UNITS, return_sequences=True),
    "gru, sigmoid, no bias": lambda L: L.GRU(UNITS, recurrent_activation="sigmoid", use_bias=False),
    "gru, reset after": lambda L: L.GRU(UNITS, reset_after=True, return_sequences=True),
    "gru, reset after, no bias": lambda L: L.GRU(UNITS, reset_after=True, use_bias=False, implementation=2),
    "gru, implementation 2": lambda L: L.GRU(UNITS, implementation=2, recurrent_activation="sigmoid"),
    "gru, backwards": lambda L: L.GRU(UNITS, go_backwards=True, return_sequences=True, return_state=True),
    "lstm": lambda L: L.LSTM(UNITS),
    "lstm, sequences and states": lambda L: L.LSTM(UNITS, return_sequences=True, return_state=True),
    "lstm, no bias, sigmoid": lambda L: L.LSTM(UNITS, use_bias=False, recurrent_activation="sigmoid"),
    "lstm, implementation 2": lambda L: L.LSTM(UNITS, implementation=2, return_state=True),
    "lstm, softsign": lambda L: L.LSTM(UNITS, activation="softsign", return_sequences=True),
    "lstm, backwards": lambda L: L.LSTM(UNITS, go_backwards=True, return_sequences=True, return_state=True),
    "lstm, unrolled": lambda L: L.LSTM(UNITS, unroll=True, return_sequences=True, return_state=True),
    "gru, unrolled": lambda L: L.GRU(UNITS, unroll=True, return_sequences=True),
    "lstm, time first": lambda L: L.LSTM(UNITS, time_major=True, return_sequences=True, return_state=True),
    "rnn of a cell": lambda L: L.RNN(L.GRUCell(UNITS), return_sequences=True),
    "rnn, zeros for masked steps": lambda L: L.RNN(
        L.LSTMCell(UNITS), return_sequences=True, return_state=True, zero_output_for_mask=True
    ),
    "stacked cells": lambda L: L.RNN(
        [L.LSTMCell(UNITS), L.GRUCell(2), L.SimpleRNNCell(4)], return_sequences=True, return_state=True
    ),
    "stacked lstms": lambda L: L.RNN(L.StackedRNNCells([L.LSTMCell(UNITS), L.LSTMCell(2)]), return_state=True),
    "stacked, unrolled": lambda L: L.RNN([L.GRUCell(UNITS), L.GRUCell(2)], unroll=True, return_sequences=True),
    "bidirectional": lambda L: L.Bidirectional(L.LSTM(UNITS, return_sequences=True)),
    "bidirectional, last": lambda L: L.Bidirectional(L.GRU(UNITS), merge_mode="sum"),
    "bidirectional, product": lambda L: L.Bidirectional(L.SimpleRNN(UNITS, return_sequences=True), merge_mode="mul"),
    "bidirectional, average": lambda L: L.Bidirectional(L.GRU(UNITS, return_sequences=True), merge_mode="ave"),
    "bidirectional, both": lambda L: L.Bidirectional(L.LSTM(UNITS, return_sequences=True), merge_mode=None),
    "bidirectional, states": lambda L: L.Bidirectional(L.LSTM(UNITS, return_sequences=True, return_state=True)),
    "bidirectional, of two kinds": lambda L: L.Bidirectional(
        L.LSTM(UNITS, return_sequences=True), backward_layer=L.GRU(2, return_sequences=True, go_backwards=True)
    ),
    "bidirectional of a cell": lambda L: L.Bidirectional(L.RNN(L.LSTMCell(UNITS), return_sequences=True)),
    "dense at each step": lambda L: L.TimeDistributed(L.Dense(UNITS, activation="tanh")),
}
MASKED = [name for name in LAYERS if name != "lstm, time first" and "dense" not in name]
MASKS = {"right": RIGHT, "left": LEFT, "holes": HOLES}
# The number of states and their sizes, for calls with initial states.
INITIAL = {
    "simple": [UNITS],
    "gru": [UNITS],
    "gru, reset after": [UNITS],
    "gru, backwards": [UNITS],
    "lstm": [UNITS, UNITS],
    "lstm, sequences and states": [UNITS, UNITS],
    "lstm, unrolled": [UNITS, UNITS],
    "rnn of a cell": [UNITS],
    "bidirectional": [UNITS] * 4,
    "bidirectional, last": [UNITS] * 2,
    "bidirectional, states": [UNITS] * 4,
}
STATEFUL = {
    "simple": lambda L: L.SimpleRNN(UNITS, stateful=True),
    "gru": lambda L: L.GRU(UNITS, stateful=True, return_sequences=True),
    "lstm": lambda L: L.LSTM(UNITS, stateful=True, return_sequences=True, return_state=True),
    "lstm, backwards": lambda L: L.LSTM(UNITS, stateful=True, go_backwards=True),
    "lstm, unrolled": lambda L: L.LSTM(UNITS, stateful=True, unroll=True),
    "stacked": lambda L: L.RNN([L.LSTMCell(UNITS), L.GRUCell(2)], stateful=True),
    "bidirectional": lambda L: L.Bidirectional(L.LSTM(UNITS, stateful=True, return_sequences=True)),
}
CONVOLUTIONS = {
    "conv": lambda L: L.ConvLSTM2D(2, 2),
    "conv, sequences and states": lambda L: L.ConvLSTM2D(2, (2, 3), return_sequences=True, return_state=True),
    "conv, same": lambda L: L.ConvLSTM2D(2, 3, padding="same", return_sequences=True, recurrent_activation="sigmoid"),
    "conv, strides": lambda L: L.ConvLSTM2D(3, 2, strides=(2, 1), padding="same", use_bias=False),
    "conv, dilation, backwards": lambda L: L.ConvLSTM2D(2, 2, dilation_rate=2, go_backwards=True),
    "conv at each step": lambda L: L.TimeDistributed(L.Conv2D(2, 2)),
    "flatten at each step": lambda L: L.TimeDistributed(L.Flatten()),
}
IMAGES = (BATCH, 3, 5, 4, 2)
CUDNN = {
    "cudnn lstm": (
        lambda L: L.CuDNNLSTM(UNITS, return_sequences=True, return_state=True),
        lambda L: L.LSTM(UNITS, recurrent_activation="sigmoid", return_sequences=True, return_state=True),
    ),
    "cudnn gru": (
        lambda L: L.CuDNNGRU(UNITS, return_sequences=True, return_state=True),
        lambda L: L.GRU(
            UNITS, recurrent_activation="sigmoid", reset_after=True, return_sequences=True, return_state=True
        ),
    ),
}
TOKENS = np.array([[3, 1, 2, 0], [4, 0, 0, 0], [1, 2, 3, 4]], np.int32)


def _classifier(L):
    x = L.Input((STEPS,), dtype="int32")
    y = L.LSTM(UNITS, return_sequences=True)(L.Embedding(6, FEATURES, mask_zero=True)(x))
    return L.Model(x, L.Dense(2)(L.GRU(UNITS)(y)))


def _tagger(L):
    x = L.Input((None, FEATURES))
    y = L.Bidirectional(L.LSTM(UNITS, return_sequences=True))(L.Masking()(x))
    return L.Model(x, L.TimeDistributed(L.Dense(2))(y))


def _translator(L):
    source, target = L.Input((None, FEATURES)), L.Input((None, 2))
    _, h, c = L.LSTM(UNITS, return_state=True)(source)
    outputs, *_ = L.LSTM(UNITS, return_sequences=True, return_state=True)(target, initial_state=[h, c])
    return L.Model([source, target], L.Dense(2, activation="softmax")(outputs))


def _bidirectional_translator(L):
    source, target = L.Input((None, FEATURES)), L.Input((None, 2))
    _, *states = L.Bidirectional(L.LSTM(UNITS, return_state=True))(source)
    outputs = L.Bidirectional(L.LSTM(UNITS, return_sequences=True))(target, initial_state=states)
    return L.Model([source, target], outputs)


def _given_state(L):
    x, state = L.Input((STEPS, FEATURES)), L.Input((UNITS,))
    return L.Model([x, state], L.GRU(UNITS)([x, state]))


def _repeated(L):
    return L.Sequential(
        [
            L.SimpleRNN(UNITS, input_shape=(STEPS, FEATURES)),
            L.RepeatVector(2),
            L.GRU(2, return_sequences=True),
            L.TimeDistributed(L.Dense(1)),
        ]
    )


def _sequences(L):
    x = L.Input((3, STEPS, FEATURES))
    return L.Model(x, L.GRU(2)(L.TimeDistributed(L.LSTM(UNITS))(L.TimeDistributed(L.Masking())(x))))


MODELS = {
    "embedding with a mask": (_classifier, [TOKENS]),
    "masking and two directions": (_tagger, ["masked"]),
    "encoder and decoder": (_translator, [(BATCH, STEPS, FEATURES), (BATCH, 3, 2)]),
    "encoder and decoder of two directions": (_bidirectional_translator, [(BATCH, STEPS, FEATURES), (BATCH, 3, 2)]),
    "given state": (_given_state, [(BATCH, STEPS, FEATURES), (BATCH, UNITS)]),
    "repeated vector": (_repeated, [(BATCH, STEPS, FEATURES)]),
    "sequences of sequences": (_sequences, [(BATCH, 3, STEPS, FEATURES)]),
}


def numbers(name, shape):
    """Returns numbers between -1 and 1 that are the same for a name in all processes."""
    generator = np.random.RandomState(zlib.crc32(name.encode()))
    return generator.uniform(-1, 1, shape).astype(np.float32)


def weights_for(name, layer):
    """Returns values for the weights of a layer."""
    return [numbers(f"{name} {index}", each.shape) for index, each in enumerate(layer.get_weights())]


def inputs_of(name, shapes):
    """Returns the arrays of inputs; sequences of the kind "masked" have steps of zeros."""
    made = []
    for index, shape in enumerate(shapes):
        if isinstance(shape, np.ndarray):
            made.append(shape)
        elif shape == "masked":
            made.append(numbers(name, (BATCH, STEPS, FEATURES)) * np.array(HOLES, np.float32)[:, :, None])
        else:
            made.append(numbers(f"{name} input {index}", shape))
    return made


def coefficients(outputs):
    """Returns a weight for each number of each output, so that no gradients cancel."""
    return [np.cos(np.arange(np.prod(shape), dtype=np.float32) + i).reshape(shape) for i, shape in enumerate(outputs)]

"""Loops and recurrent networks as TensorFlow 1 programs: one source text, run by TensorFlow and by Thalweg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads import data

Step = Callable[[], Any]


def while_loop(tf: Any) -> Step:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        _, y = tf.while_loop(lambda i, y: i < data.LOOP_ITERATIONS, lambda i, y: (i + 1, y * 1.001), [0, x])
        function = tf.Session(graph=graph).make_callable(y, [x])
    return lambda: function(1.0)


def lstm(tf: Any, steps: int = data.LSTM_STEPS, compiled: bool = False) -> Step:
    batch = data.lstm_batch(steps)
    with tf.Graph().as_default() as graph:
        x, target = (tf.placeholder(tf.float32, array.shape) for array in batch)
        weights, bias = (tf.Variable(array) for array in data.lstm_weights())
        inputs = tf.TensorArray(tf.float32, steps).unstack(x)

        def cell(t: Any, c: Any, h: Any) -> tuple[Any, Any, Any]:
            gates = tf.matmul(tf.concat([inputs.read(t), h], 1), weights) + bias
            i, j, f, o = tf.split(gates, 4, 1)
            c = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
            return t + 1, c, tf.tanh(c) * tf.sigmoid(o)

        zeros = tf.zeros(target.shape)
        _, _, h = tf.while_loop(lambda t, c, h: t < steps, cell, [0, zeros, zeros])
        loss = tf.reduce_mean(tf.square(h - target))
        return _training(tf, graph, loss, {x: batch[0], target: batch[1]}, compiled)


def rnn(tf: Any, lengths: bool, compiled: bool = False) -> Step:
    """Trains dynamic_rnn on sequences of different lengths, or on the same sequences padded to one length."""
    inputs, wanted = data.lstm_batch(data.LSTM_STEPS)
    with tf.Graph().as_default() as graph:
        x, target = tf.placeholder(tf.float32, inputs.shape), tf.placeholder(tf.float32, wanted.shape)
        sizes = tf.placeholder(tf.int32, [data.LSTM_BATCH])
        cell = tf.nn.rnn_cell.LSTMCell(data.LSTM_WIDTH, initializer=tf.constant_initializer(data.lstm_weights()[0]))
        sequence_length = sizes if lengths else None
        outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length, dtype=tf.float32, time_major=True)
        feeds = {x: inputs, target: wanted, sizes: data.lstm_lengths()}
        return _training(tf, graph, tf.reduce_mean(tf.square(outputs - target)), feeds, compiled)


def _training(tf: Any, graph: Any, loss: Any, feeds: dict[Any, Any], compiled: bool) -> Step:
    """Returns a training step; `compiled` enables JIT compilation."""
    train = tf.train.GradientDescentOptimizer(data.LSTM_RATE).minimize(loss)
    config = tf.ConfigProto()
    if compiled:
        config.graph_options.optimizer_options.global_jit_level = 1
    session = tf.Session(graph=graph, config=config)
    session.run(tf.global_variables_initializer())
    fetches = [loss, train]
    return lambda: session.run(fetches, feeds)[0]


PROGRAMS: dict[str, Callable[[Any], Step]] = {
    "while_loop": while_loop,
    "lstm": lstm,
    "lstm_compiled": lambda tf: lstm(tf, compiled=True),
    "lstm_long": lambda tf: lstm(tf, data.LSTM_LONG_STEPS),
    "rnn_lengths": lambda tf: rnn(tf, lengths=True),
    "rnn_lengths_compiled": lambda tf: rnn(tf, lengths=True, compiled=True),
}
REFERENCES: dict[str, Callable[[Any], Step]] = {
    "lstm_long": lstm,
    "rnn_lengths": lambda tf: rnn(tf, lengths=False),
    "rnn_lengths_compiled": lambda tf: rnn(tf, lengths=False, compiled=True),
}

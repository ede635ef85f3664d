"""Networks of several kinds, small."""

from __future__ import annotations

import numpy as np

import thalweg as tf

layers = tf.keras.layers
seq = tf.contrib.seq2seq


def _norm(x):
    return tf.contrib.layers.layer_norm(x, begin_norm_axis=-1, begin_params_axis=-1)


def bert(ids, mask, width=16, heads=2, depth=2, vocabulary=30):
    """Returns the hidden states of a transformer, their summary, and the scores of words."""
    batch, steps = tf.unstack(tf.shape(ids))
    table = tf.get_variable("words", [vocabulary, width])
    kinds = tf.matmul(tf.one_hot(tf.reshape(tf.zeros_like(ids), [-1]), 2), tf.get_variable("kinds", [2, width]))
    x = tf.nn.embedding_lookup(table, ids) + tf.reshape(kinds, [batch, steps, width])
    x = _norm(x + tf.slice(tf.get_variable("positions", [20, width]), [0, 0], [steps, -1]))
    seen = tf.cast(tf.reshape(mask, [batch, 1, steps]), tf.float32) * tf.ones([batch, steps, 1])
    for layer in range(depth):
        with tf.variable_scope(f"layer_{layer}"):
            x = _transformed(x, seen, batch, steps, width, heads)
    pooled = tf.layers.dense(tf.squeeze(x[:, 0:1, :], axis=1), width, activation=tf.tanh)
    return x, pooled, tf.einsum("bth,vh->btv", x, table)


def _transformed(x, seen, batch, steps, width, heads):
    flat = tf.reshape(x, [-1, width])
    query, key, value = (
        tf.transpose(
            tf.reshape(tf.layers.dense(flat, width, name=name), [batch, steps, heads, width // heads]), [0, 2, 1, 3]
        )
        for name in ("query", "key", "value")
    )
    scores = tf.matmul(query, key, transpose_b=True) * (width / heads) ** -0.5
    scores += (1.0 - tf.expand_dims(seen, 1)) * -10000.0
    found = tf.matmul(tf.nn.dropout(tf.nn.softmax(scores), keep_prob=1.0), value)
    found = tf.reshape(tf.transpose(found, [0, 2, 1, 3]), [batch * steps, width])
    attended = _norm(tf.layers.dense(found, width) + flat)
    hidden = tf.layers.dense(attended, 2 * width)
    hidden = hidden * 0.5 * (1.0 + tf.erf(hidden / np.float32(np.sqrt(2.0))))
    return tf.reshape(_norm(tf.layers.dense(hidden, width) + attended), [batch, steps, width])


def _encoded(ids, lengths, cell, vocabulary, size):
    table = tf.get_variable("words", [vocabulary, size])
    outputs, state = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(table, ids), lengths, dtype=tf.float32)
    return table, outputs, state


def seq2seq(ids, lengths, vocabulary=11, size=8):
    """Returns what a decoder with attention writes, word by word."""
    table, outputs, state = _encoded(ids, lengths, tf.nn.rnn_cell.LSTMCell(size), vocabulary, size)
    attention = seq.LuongAttention(size, outputs, lengths)
    cell = seq.AttentionWrapper(tf.nn.rnn_cell.LSTMCell(size), attention, attention_layer_size=size)
    batch = tf.shape(ids)[0]
    helper = seq.GreedyEmbeddingHelper(table, tf.fill([batch], 1), 2)
    start = cell.zero_state(batch, tf.float32).clone(cell_state=state)
    decoder = seq.BasicDecoder(cell, helper, start, tf.layers.Dense(vocabulary))
    found, _, counts = seq.dynamic_decode(decoder, maximum_iterations=7)
    return found.rnn_output, found.sample_id, counts


def beam_search(ids, lengths, vocabulary=11, size=8, width=3):
    """Returns the best of several sequences that a decoder writes."""
    table, _, state = _encoded(ids, lengths, tf.nn.rnn_cell.GRUCell(size), vocabulary, size)
    cell = tf.nn.rnn_cell.GRUCell(size, name="decoder")
    start = seq.tile_batch(state, width)
    first = tf.fill([tf.shape(ids)[0]], 1)
    decoder = seq.BeamSearchDecoder(cell, table, first, 2, start, width, tf.layers.Dense(vocabulary))
    return seq.dynamic_decode(decoder, maximum_iterations=5)[0].predicted_ids


def both_directions(x):
    cells = [tf.nn.rnn_cell.LSTMCell(4) for _ in range(2)]
    return tf.concat(tf.nn.bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32)[0], 2)


def detector(images, kept=5):
    """Returns boxes, scores and their number for each image, as single-shot detectors do."""
    x = tf.layers.conv2d(images, 8, 3, 2, "same", activation=tf.nn.relu6)
    x = tf.layers.separable_conv2d(x, 8, 3, 2, "same", activation=tf.nn.relu6)
    places = tf.reshape(tf.layers.conv2d(x, 8, 1), [-1, 32, 4])
    scores = tf.reduce_max(tf.sigmoid(tf.reshape(tf.layers.conv2d(x, 6, 1), [-1, 32, 3])), 2)
    centers, halves = places[..., :2], tf.exp(places[..., 2:]) / 2

    def suppressed(values):
        boxes, found = values
        chosen = tf.image.non_max_suppression(boxes, found, kept, 0.5)
        count = tf.shape(chosen)[0]
        lacking = kept - count
        return (
            tf.reshape(tf.pad(tf.gather(boxes, chosen), [[0, lacking], [0, 0]]), [kept, 4]),
            tf.reshape(tf.pad(tf.gather(found, chosen), [[0, lacking]]), [kept]),
            count,
        )

    boxes = tf.concat([centers - halves, centers + halves], -1)
    return tf.map_fn(suppressed, (boxes, scores), dtype=(tf.float32, tf.float32, tf.int32))


def keras_images(x):
    x = layers.Conv2D(4, 3, padding="same")(x)
    x = layers.MaxPooling2D()(layers.Activation("relu")(layers.BatchNormalization()(x)))
    x = layers.UpSampling2D()(layers.DepthwiseConv2D(3, padding="same")(x))
    x = layers.Conv2DTranspose(3, 3, strides=2, padding="same")(x)
    x = layers.Dropout(0.5)(layers.GlobalAveragePooling2D()(x))
    return layers.Dense(3, activation="softmax")(x)


def keras_steps(x):
    x = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(x)
    x = layers.Conv1D(4, 3, padding="causal", activation="relu")(x)
    return layers.Dense(2)(layers.GRU(3)(x))


def words(x):
    keys = tf.constant(["river", "valley"])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2], tf.int64)), 0)
    return tf.reduce_mean(tf.nn.embedding_lookup(tf.get_variable("table", [3, 4]), table.lookup(x)), 1)

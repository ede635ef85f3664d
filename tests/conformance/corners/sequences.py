"""Corners of connectionist temporal classification: labels that do not fit, lengths, repetition, blanks."""

import numpy as np


def _logits(tf, time=6, batch=3, classes=5, dtype=np.float32, scale=1.0):
    return tf.constant((scale * np.random.RandomState(0).normal(size=(time, batch, classes))).astype(dtype))


def _labels(tf, rows):
    indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [label for row in rows for label in row]
    indices = np.array(indices, np.int64).reshape(-1, 2)
    return tf.SparseTensor(indices, tf.constant(values, tf.int32), [len(rows), max(map(len, rows))])


def _loss(tf, rows, lengths, x=None, **options):
    x = _logits(tf) if x is None else x
    loss = tf.nn.ctc_loss(_labels(tf, rows), x, lengths, **options)
    return loss, tf.gradients(loss * tf.constant([1, 2, 3], x.dtype), x)


def _parts(sparse):
    return sparse.indices, sparse.values, sparse.dense_shape


_ROWS = [[0, 1, 3], [2, 2], [1]]


def loss(tf):
    return _loss(tf, _ROWS, [6, 4, 5])


def loss_in_double(tf):
    loss, (gradient,) = _loss(tf, _ROWS, [6, 4, 5], _logits(tf, dtype=np.float64, scale=5.0))
    return loss, tf.cast(gradient, tf.float32)  # TensorFlow computes it no better


def loss_in_half(tf):
    return tf.nn.ctc_loss(_labels(tf, [[1]]), tf.zeros([2, 1, 3], tf.float16), [2])


def loss_batch_first(tf):
    x = tf.transpose(_logits(tf), [1, 0, 2])
    return _loss(tf, _ROWS, [6, 4, 5], x, time_major=False)


def loss_by_logits(tf):
    return tf.nn.ctc_loss(_labels(tf, _ROWS), logits=_logits(tf), sequence_length=[6, 4, 5])


def loss_without_merging(tf):
    return _loss(tf, _ROWS, [6, 4, 5], ctc_merge_repeated=False)


def loss_without_merging_just_long_enough(tf):
    return _loss(tf, [[0, 0, 0], [2, 2], [1]], [3, 2, 1], ctc_merge_repeated=False)


def loss_of_collapsed(tf):
    return _loss(tf, [[0, 0, 0], [2, 2], [1]], [6, 4, 5], preprocess_collapse_repeated=True)


def loss_with_null_labels(tf):
    return _loss(tf, [[0, 4, 4], [2, 9], [1, 4]], [6, 4, 5])


def loss_without_a_path(tf):
    return _loss(tf, [[0, 0, 0], [2, 2], [1]], [3, 4, 5])


def loss_ignoring(tf):
    return _loss(tf, _ROWS, [2, 4, 0], ignore_longer_outputs_than_inputs=True)


def loss_too_long(tf):
    return _loss(tf, _ROWS, [2, 4, 5])


def loss_of_nothing(tf):
    return _loss(tf, [[0], [], [1]], [2, 4, 5])


def loss_label_after_null(tf):
    return _loss(tf, [[0, 4, 1], [2], [1]], [6, 4, 5])


def loss_negative_label(tf):
    return _loss(tf, [[0, -1, 1], [2], [1]], [6, 4, 5])


def loss_beyond_time(tf):
    return _loss(tf, _ROWS, [7, 4, 5])


def loss_out_of_order(tf):
    labels = tf.SparseTensor([[1, 0], [0, 0], [2, 0]], tf.constant([0, 1, 2]), [3, 1])
    return tf.nn.ctc_loss(labels, _logits(tf), [6, 4, 5])


def loss_of_dense_labels(tf):
    return tf.nn.ctc_loss([[1]], _logits(tf), [6, 4, 5])


def loss_second_order(tf):
    x = _logits(tf)
    gradient = tf.gradients(tf.nn.ctc_loss(_labels(tf, _ROWS), x, [6, 4, 5]), x)[0]
    return tf.gradients(gradient, x)


def dense(tf):
    x = _logits(tf)
    labels = tf.constant([[1, 2, 4], [3, 3, 0], [2, 7, 9]])
    loss = tf.nn.ctc_loss_v2(labels, x, [3, 2, 1], [6, 4, 9])
    return loss, tf.gradients(loss, x)


def dense_without_labels(tf):
    x = _logits(tf)
    loss = tf.nn.ctc_loss_v2(tf.constant([[1, 2], [3, 3], [2, 0]]), x, [0, 2, 1], [6, 4, 0])
    return loss[:2], tf.gradients(loss[:2], x)


def dense_blanks(tf):
    x = _logits(tf)
    labels = tf.constant([[1, 2, 3], [3, 3, 0], [2, 0, 0]])
    first = [tf.nn.ctc_loss_v2(labels, x, [3, 2, 1], [6, 4, 5], blank_index=b) for b in (4, -1)]
    return [*first, tf.nn.ctc_loss_v2(labels * 0 + 2, x, [1, 2, 1], [6, 4, 5], blank_index=1)]


def sparse_blanks(tf):
    x = _logits(tf)
    labels = _labels(tf, [[1, 2, 3], [3, 3], [2]])
    return [tf.nn.ctc_loss_v2(labels, x, None, [6, 4, 5], blank_index=b) for b in (0, 4, -1, -5)]


def sparse_needs_a_blank(tf):
    return tf.nn.ctc_loss_v2(_labels(tf, _ROWS), _logits(tf), None, [6, 4, 5])


def greedy(tf):
    found = []
    for merge in (True, False):
        (labels,), scores = tf.nn.ctc_greedy_decoder(_logits(tf, time=9), [9, 4, 0], merge_repeated=merge)
        found.append((_parts(labels), scores))
    return found


def greedy_blank(tf):
    (labels,), scores = tf.nn.ctc_greedy_decoder(_logits(tf, time=9), [9, 4, 3], blank_index=0)
    return _parts(labels), scores


def greedy_nothing(tf):
    (labels,), scores = tf.nn.ctc_greedy_decoder(tf.constant([[[0.0, 0.0, 1.0]]]), [1])
    return _parts(labels), scores


def greedy_beyond_time(tf):
    return tf.nn.ctc_greedy_decoder(_logits(tf), [7, 4, 0])[1]


def beam_search(tf):
    found = []
    for width, paths, merge in ((100, 3, False), (7, 2, True), (1, 1, True), (3, 3, False)):
        labels, scores = tf.nn.ctc_beam_search_decoder(_logits(tf, time=9, scale=2.0), [9, 4, 2], width, paths, merge)
        found.append(([_parts(path) for path in labels], scores))
    return found


def beam_search_long(tf):
    labels, scores = tf.nn.ctc_beam_search_decoder_v2(_logits(tf, time=40, classes=4), [40, 33, 2], 20, 4)
    return [_parts(path) for path in labels], scores


def beam_search_in_double(tf):
    x = _logits(tf, time=30, classes=3, dtype=np.float64)
    labels, scores = tf.nn.ctc_beam_search_decoder_v2(x, [30, 17, 1], 5, 1)
    scores = tf.cast(scores, tf.float32)
    return [_parts(path) for path in labels], scores


def beam_search_one_class(tf):
    labels, scores = tf.nn.ctc_beam_search_decoder(tf.zeros([2, 2, 1]), [2, 0])
    return _parts(labels[0]), scores


def beam_search_without_time(tf):
    labels, scores = tf.nn.ctc_beam_search_decoder(_logits(tf), [0, 0, 0])
    return _parts(labels[0]), scores


def beam_search_too_few(tf):
    return tf.nn.ctc_beam_search_decoder(_logits(tf), [6, 4, 0], top_paths=2)[1]


def beam_search_more_paths_than_beams(tf):
    return tf.nn.ctc_beam_search_decoder(_logits(tf), [6, 4, 0], beam_width=2, top_paths=3)[1]


def unique_labels(tf):
    unique, places = tf.nn.ctc_unique_labels(tf.constant([[3, 4, 4, 3], [1, 2, 3, 4]]))
    return tf.reshape(unique, [2, 4]), places


def collapsed(tf):
    labels = tf.placeholder_with_default([[3, 4, 4, 3], [1, 1, 1, 4]], [2, 4])
    return tf.nn.collapse_repeated(labels, tf.constant([3, 4], tf.int64)), tf.nn.collapse_repeated(labels, [4, 0])

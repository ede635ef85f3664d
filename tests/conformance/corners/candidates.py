"""Corners of candidate samplers and of the losses over samples."""

import numpy as np

_TRUE = [[1, 2], [0, 5]]


def _model(tf):
    rng = np.random.RandomState(0)
    weights = tf.constant(rng.normal(size=(7, 3)).astype(np.float32))
    biases = tf.constant(rng.normal(size=7).astype(np.float32))
    inputs = tf.constant(rng.normal(size=(2, 3)).astype(np.float32))
    sampled = tf.constant([5, 3, 6, 5], tf.int64), tf.constant([[0.5, 0.25], [0.75, 0.1]]), tf.fill([4], 0.3)
    return weights, biases, inputs, sampled


def _by_gradient(tf, loss, *sources):
    return loss, [tf.convert_to_tensor(gradient) for gradient in tf.gradients(loss, sources)]


def nce(tf):
    w, b, x, sampled = _model(tf)
    return _by_gradient(tf, tf.nn.nce_loss(w, b, tf.constant(_TRUE), x, 4, 7, 2, sampled), w, b, x)


def nce_without_hits(tf):
    w, b, x, sampled = _model(tf)
    labels = tf.constant(_TRUE)
    return tf.nn.nce_loss(w, b, labels, x, 4, 7, num_true=2, sampled_values=sampled, remove_accidental_hits=True)


def softmax(tf):
    w, b, x, sampled = _model(tf)
    labels = tf.constant(_TRUE)
    loss = tf.nn.sampled_softmax_loss(w, b, labels, x, 4, 7, num_true=2, sampled_values=sampled)
    return _by_gradient(tf, loss, x)


def softmax_with_hits(tf):
    w, b, x, sampled = _model(tf)
    labels = tf.constant(_TRUE)
    return tf.nn.sampled_softmax_loss(w, b, labels, x, 4, 7, 2, sampled, remove_accidental_hits=False)


def softmax_over_all(tf):
    w, b, x, _ = _model(tf)
    labels = tf.constant([[3], [6]], tf.int64)
    sampled = tf.nn.all_candidate_sampler(labels, 1, 7, unique=True)
    return tf.nn.sampled_softmax_loss(w, b, labels, x, 7, 7, sampled_values=sampled)


def parts_of_weights(tf):
    w, b, x, sampled = _model(tf)
    labels = tf.constant(_TRUE)
    by_mod = tf.nn.nce_loss([w[::2], w[1::2]], [b[::2], b[1::2]], labels, x, 4, 7, 2, sampled)
    parts = [w[:4], w[4:]], [b[:4], b[4:]]
    return by_mod, tf.nn.nce_loss(*parts, labels, x, 4, 7, 2, sampled, partition_strategy="div")


def partitioned_variable(tf):
    _, b, x, sampled = _model(tf)
    w = tf.get_variable(
        "w", [7, 3], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2), use_resource=True
    )
    labels = tf.constant(_TRUE)
    return tf.nn.sampled_softmax_loss(w, b, labels, x, 4, 7, 2, sampled, partition_strategy="div")


def expected_counts(tf):
    classes = tf.constant(_TRUE, tf.int64)
    drawn = [
        tf.nn.uniform_candidate_sampler(classes, 2, 5, False, 9),
        tf.nn.log_uniform_candidate_sampler(classes, 2, 5, False, 9),
        tf.nn.learned_unigram_candidate_sampler(classes, 2, 5, False, 9),
        tf.nn.fixed_unigram_candidate_sampler(classes, 2, 5, False, 6, unigrams=[1.0, 2, 3, 4, 5, 6], distortion=0.75),
        tf.nn.fixed_unigram_candidate_sampler(
            classes, 2, 5, False, 6, unigrams=[1.0, 2, 3, 4, 5, 6, 7, 8, 9], num_reserved_ids=3, num_shards=2, shard=1
        ),
    ]
    return [counts for _, counts, _ in drawn]


def every_class(tf):
    classes = tf.constant(_TRUE, tf.int64)
    return tf.nn.all_candidate_sampler(classes, 2, 6, True), tf.sort(
        tf.nn.uniform_candidate_sampler(classes, 2, 6, True, 6)[0]
    )


def one_class(tf):
    return tf.nn.log_uniform_candidate_sampler([[0]], 1, 3, False, 1), tf.nn.uniform_candidate_sampler(
        [[0]], 1, 1, True, 1
    )


def accidental_hits(tf):
    return tf.nn.compute_accidental_hits(_TRUE, [5, 9, 5, 1, -1], 2), tf.nn.compute_accidental_hits(_TRUE, [], 2)


def range_too_small(tf):
    return tf.nn.log_uniform_candidate_sampler(_TRUE, 2, 3, True, 2)


def wrong_columns(tf):
    return tf.nn.log_uniform_candidate_sampler(_TRUE, 1, 3, True, 20)


def class_out_of_range(tf):
    return tf.nn.uniform_candidate_sampler(_TRUE, 2, 3, True, 5)


def too_few_weights(tf):
    return tf.nn.fixed_unigram_candidate_sampler([[1]], 1, 3, False, 4, unigrams=[1.0, 2.0, 3.0])


def no_weights(tf):
    return tf.nn.fixed_unigram_candidate_sampler([[1]], 1, 3, False, 4)


def no_vocabulary(tf):
    return tf.nn.fixed_unigram_candidate_sampler([[1]], 1, 3, False, 4, vocab_file="/no/such/file")

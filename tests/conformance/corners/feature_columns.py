"""Corners of feature columns: what an input layer and a linear model make of each kind."""

import numpy as np


def _features(tf):
    return {
        "x": tf.constant([[1.0, 2.0], [3.0, 4.0], [-5.0, 0.5]]),
        "y": tf.constant([[1], [7], [30]]),
        "s": tf.constant([["a"], ["zz"], [""]]),
        "m": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "c", "q"], [3, 2]),
        "w": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, 3.0], [3, 2]),
        "i": tf.constant([[1, 2], [0, -1], [3, 3]]),
        "big": tf.constant([[1], [9], [2]]),
        "flat": tf.constant([1.0, 2.0, 3.0]),
    }


def _filled(shape, dtype=None, partition_info=None):
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape([int(n) for n in shape])


def _run(tf, *outputs):
    """Returns values, static shapes and the names of variables."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        values = [session.run(output).tolist() for output in outputs]
    return values, [output.shape.as_list() for output in outputs], [v.op.name for v in tf.global_variables()]


def _inputs(tf, *columns):
    return _run(tf, tf.feature_column.input_layer(_features(tf), list(columns)))


def _linear(tf, *columns, **kwargs):
    """Returns what a linear model gives once its weights are not 0."""
    output = tf.feature_column.linear_model(_features(tf), list(columns), **kwargs)
    variables = sorted(tf.global_variables(), key=lambda v: v.op.name)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for variable in variables:
            variable.load(_filled(variable.shape.as_list()), session)
        return session.run(output).tolist(), output.shape.as_list(), [v.op.name for v in variables]


def numbers(tf):
    fc = tf.feature_column
    return _inputs(
        tf,
        fc.numeric_column("x", shape=(2,), normalizer_fn=lambda t: t / 2),
        fc.numeric_column("flat"),
        fc.numeric_column("y"),
    )


def buckets(tf):
    fc = tf.feature_column
    one = fc.bucketized_column(fc.numeric_column("y"), [0, 5, 7])
    return _inputs(tf, one, fc.bucketized_column(fc.numeric_column("x", shape=(2,)), [0.0, 1.0, 3.0]))


def vocabularies(tf):
    fc = tf.feature_column
    with_buckets = fc.categorical_column_with_vocabulary_list("m", ["a", "b", "c"], num_oov_buckets=2)
    return _inputs(
        tf,
        fc.indicator_column(with_buckets),
        fc.indicator_column(fc.categorical_column_with_vocabulary_list("s", ["a", "zz"], default_value=1)),
    )


def hashes(tf):
    fc = tf.feature_column
    words = fc.categorical_column_with_hash_bucket("s", 10)
    integers = fc.categorical_column_with_hash_bucket("y", 10, dtype=tf.int32)
    return _inputs(tf, fc.indicator_column(words), fc.indicator_column(integers))


def identities(tf):
    fc = tf.feature_column
    plain = fc.categorical_column_with_identity("i", 4)
    return _inputs(
        tf,
        fc.indicator_column(plain),
        fc.indicator_column(fc.categorical_column_with_identity("big", 4, default_value=0)),
    )


def embeddings(tf):
    fc = tf.feature_column
    start = tf.constant_initializer(_filled([5, 3]))
    column = fc.categorical_column_with_vocabulary_list("m", ["a", "b", "c"], num_oov_buckets=2)
    ids = fc.categorical_column_with_identity("i", 4)
    return _inputs(
        tf,
        fc.embedding_column(column, 3, initializer=start),
        fc.embedding_column(
            ids, 2, combiner="sqrtn", initializer=tf.constant_initializer(_filled([4, 2])), max_norm=0.5
        ),
    )


def shared_embeddings(tf):
    fc = tf.feature_column
    names = ["a", "b", "c"]
    columns = [fc.categorical_column_with_vocabulary_list(key, names) for key in ("m", "s")]
    shared = fc.shared_embedding_columns(columns, 2, initializer=tf.constant_initializer(_filled([3, 2])))
    return _inputs(tf, *shared)


def weights(tf):
    fc = tf.feature_column
    column = fc.categorical_column_with_vocabulary_list("m", ["a", "b", "c"], num_oov_buckets=1)
    weighted = fc.weighted_categorical_column(column, "w")
    values, _, names = _inputs(tf, fc.indicator_column(weighted))
    return values, names, _linear(tf, weighted)


def crosses(tf):
    fc = tf.feature_column
    bucketed = fc.bucketized_column(fc.numeric_column("y"), [0, 5, 10])
    crossed = fc.crossed_column(["s", bucketed], 20)
    nested = fc.crossed_column([fc.categorical_column_with_identity("i", 4), crossed], 7, hash_key=5)
    values, _, _ = _inputs(tf, fc.indicator_column(crossed), fc.indicator_column(nested))
    return values, crossed.name, nested.name


def linear_models(tf):
    fc = tf.feature_column
    number = fc.numeric_column("x", shape=(2,))
    bucketed = fc.bucketized_column(fc.numeric_column("y"), [0, 5, 10])
    column = fc.categorical_column_with_vocabulary_list("m", ["a", "b", "c"], num_oov_buckets=1)
    return _linear(tf, number, bucketed, column, fc.crossed_column(["s", bucketed], 5), units=2, sparse_combiner="mean")


def parse_specs(tf):
    fc = tf.feature_column
    number = fc.numeric_column("x", shape=(2,), default_value=3.0)
    column = fc.categorical_column_with_vocabulary_list("m", ["a", "b", "c"])
    spec = fc.make_parse_example_spec(
        [
            number,
            fc.weighted_categorical_column(column, "w"),
            fc.crossed_column(["s", "t"], 5),
            fc.embedding_column(column, 2),
        ]
    )
    return sorted((key, type(value).__name__, value.dtype.name) for key, value in spec.items())


def a_categorical_column_is_no_input(tf):
    column = tf.feature_column.categorical_column_with_hash_bucket("s", 10)
    return tf.feature_column.input_layer(_features(tf), [column])


def a_missing_feature(tf):
    return tf.feature_column.input_layer(_features(tf), [tf.feature_column.numeric_column("nothing")])


def unsorted_boundaries(tf):
    return tf.feature_column.bucketized_column(tf.feature_column.numeric_column("y"), [5, 0])


def hashed_columns_are_not_crossed(tf):
    fc = tf.feature_column
    return fc.crossed_column([fc.categorical_column_with_hash_bucket("s", 10), "m"], 5)

"""Feature columns: what the conformance programs do not show, such as training, files, sequences and mistakes."""

import numpy as np
import pytest

import thalweg as tf

fc = tf.feature_column


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches, feed)


def test_buckets_count_the_boundaries_reached():
    from thalweg._src.graph.ops.bucketize import bucketize

    for dtype in ("float32", "float64", "int32", "int64"):
        x = np.array([[-1, 0, 3], [5, 7, 100]], dtype)
        got = run(bucketize(x, boundaries=[0.0, 5.0, 50.0]))
        assert got.dtype == np.int32 and got.tolist() == [[0, 1, 1], [2, 2, 3]]
    with pytest.raises(ValueError, match="sorted"):
        bucketize([1.0], boundaries=[2.0, 1.0])


def test_a_wide_and_deep_model_learns():
    rng = np.random.default_rng(1)
    ages, towns = rng.integers(18, 90, (64, 1)), rng.choice(["rome", "oslo", "lima"], (64, 1))
    labels = ((ages > 50) ^ (towns == "oslo")).astype(np.float32)
    age = fc.numeric_column("age")
    bucket = fc.bucketized_column(age, [30, 50, 70])
    town = fc.categorical_column_with_vocabulary_list("town", ["rome", "oslo", "lima"])
    features = {"age": tf.constant(ages), "town": tf.constant(towns)}
    wide = fc.linear_model(features, [town, bucket, fc.crossed_column(["town", bucket], 40)])
    deep = fc.input_layer(features, [bucket, fc.embedding_column(town, 4), fc.indicator_column(town)])
    assert deep.shape.as_list() == [64, 4 + 4 + 3]
    logits = wide + tf.layers.dense(tf.layers.dense(deep, 8, tf.nn.relu), 1)
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        before = session.run(loss)
        for _ in range(60):
            session.run(step)
        assert session.run(loss) < 0.2 * before


def test_files_defaults_and_parsing(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("red\ngreen\nblue\n")
    color = fc.categorical_column_with_vocabulary_file("color", str(path), num_oov_buckets=1)
    assert color.num_buckets == 4
    number = fc.numeric_column("size", shape=(2,), default_value=[1.0, 2.0])
    columns = [number, fc.indicator_column(color)]
    example = tf.train.Example()
    example.features.feature["color"].bytes_list.value.extend([b"blue", b"pink", b"blue"])
    parsed = tf.parse_example([example.SerializeToString()], fc.make_parse_example_spec(columns))
    assert run(fc.input_layer(parsed, columns)).tolist() == [[0, 0, 2, 1, 1, 2]]


def test_identities_are_checked_in_the_step():
    column = fc.indicator_column(fc.categorical_column_with_identity("i", 3))
    i = tf.placeholder(tf.int64, [None, 1])
    layer = fc.input_layer({"i": i}, [column])
    assert run(layer, {i: [[2]]}).tolist() == [[0, 0, 1]]
    for wrong in ([[3]], [[-2]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="a value is"):
            run(layer, {i: wrong})


def test_unknown_ranks_and_shared_tables():
    x = tf.placeholder(tf.float32)
    layer = fc.input_layer({"x": x}, [fc.numeric_column("x")])
    assert run(layer, {x: [1.0, 2.0]}).tolist() == [[1.0], [2.0]]
    columns = [fc.categorical_column_with_identity(key, 5) for key in "ab"]
    shared = fc.shared_embedding_columns(columns, 2)
    features = {"a": tf.constant([[1]]), "b": tf.constant([[1]])}
    one, two = run(fc.input_layer(features, shared))[0].reshape(2, 2)
    np.testing.assert_array_equal(one, two)
    fc.input_layer(features, shared)
    assert len(tf.global_variables()) == 1
    variables, outputs = {}, {}
    fc.input_layer(
        features, [fc.embedding_column(columns[0], 3)], cols_to_vars=variables, cols_to_output_tensors=outputs
    )
    ((column, (table,)),) = variables.items()
    assert column == fc.embedding_column(columns[0], 3, initializer=column.initializer)
    assert table.shape.as_list() == [5, 3] and outputs[column].shape.as_list() == [1, 3]


def test_sequences():
    words = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "b"], [3, 2])
    numbers = tf.SparseTensor([[0, 0], [0, 1], [0, 2], [0, 3], [2, 0], [2, 1]], [1.0, 2, 3, 4, 5, 6], [3, 4])
    column = fc.sequence_categorical_column_with_vocabulary_list("w", ["a", "b"])
    columns = [fc.indicator_column(column), fc.sequence_numeric_column("n", shape=(2,))]
    layer, length = tf.contrib.feature_column.sequence_input_layer({"w": words, "n": numbers}, columns)
    values, lengths = run([layer, length])
    assert lengths.tolist() == [2, 0, 1]
    assert values.tolist() == [
        [[1, 2, 1, 0], [3, 4, 0, 1]],
        [[0, 0, 0, 0], [0, 0, 0, 0]],
        [[5, 6, 0, 1], [0, 0, 0, 0]],
    ]
    embedded, _ = tf.contrib.feature_column.sequence_input_layer({"w": words}, [fc.embedding_column(column, 3)])
    assert run(embedded).shape == (3, 2, 3)


def test_invalid_arguments_are_reported():
    town = fc.categorical_column_with_hash_bucket("town", 3)
    for wrong, kind, text in (
        (lambda: fc.numeric_column("x", shape=(0,)), ValueError, "greater than 0"),
        (lambda: fc.numeric_column("x", dtype=tf.string), ValueError, "convertible to float"),
        (lambda: fc.categorical_column_with_hash_bucket("x", 0), ValueError, "at least 1"),
        (lambda: fc.categorical_column_with_vocabulary_list("x", ["a", "a"]), ValueError, "Duplicate keys"),
        (lambda: fc.categorical_column_with_vocabulary_list("x", []), ValueError, "non-empty"),
        (lambda: fc.categorical_column_with_identity("x", 3, default_value=3), ValueError, "not in range"),
        (lambda: fc.embedding_column(town, 0), ValueError, "Invalid dimension"),
        (lambda: fc.crossed_column(["a"], 3), ValueError, "length > 1"),
        (lambda: fc.input_layer({}, []), ValueError, "must not be empty"),
        (lambda: fc.input_layer({"x": [1.0]}, [fc.numeric_column("x")] * 2), ValueError, "Duplicate feature column"),
        (lambda: fc.linear_model({"town": [1.0]}, [town]), ValueError, "string or integer"),
        (lambda: fc.linear_model({"town": [1]}, [town]), ValueError, "expects string"),
        (lambda: fc.input_layer([1.0], [fc.numeric_column("x")]), ValueError, "dictionary"),
        (lambda: fc.make_parse_example_spec([3]), ValueError, "FeatureColumn instances"),
    ):
        with pytest.raises(kind, match=text):
            wrong()

"""Models that tests serve."""

import numpy as np

import thalweg as tf

WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)


def save(folder, scale=1.0):
    """Saves a model with signatures to predict, to classify and to regress; scale: of its outputs."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        weights = tf.get_variable("weights", initializer=WEIGHTS * np.float32(scale))
        y = tf.matmul(x, weights)
        examples = tf.placeholder(tf.string, [None], name="examples")
        features = tf.parse_example(examples, {"x": tf.FixedLenFeature([3], tf.float32)})["x"]
        scores = tf.matmul(features, weights)
        classes = tf.tile([["low", "high"]], [tf.shape(scores)[0], 1])
        words = tf.placeholder(tf.string, [None], name="words")
        session.run(tf.global_variables_initializer())
        predict, info = tf.saved_model.predict_signature_def, tf.saved_model
        builder = tf.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {
                "serving_default": predict({"x": x}, {"y": y}),
                "two": predict({"a": x, "b": words}, {"sum": tf.reduce_sum(y, 1), "words": words}),
                "total": predict({"x": x}, {"total": tf.reduce_sum(y)}),
                "blobs": predict({"words": words}, {"out_bytes": words}),
                "joined": predict({"words": words}, {"text": tf.strings.reduce_join(words, 0)}),
                "classify": info.classification_signature_def(examples, classes, scores),
                "regress": info.regression_signature_def(examples, scores[:, 0]),
            },
        )
        builder.save()
    return folder


def nested(depth, value):
    """Returns a value in as many lists."""
    for _ in range(depth):
        value = [value]
    return value


def named(depth):
    """Returns as many dictionaries in one another."""
    value = {}
    for _ in range(depth):
        value = {"x": value}
    return value


def example(*values):
    """Returns an Example with the feature that the model reads."""
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Example(features=tf.train.Features(feature={"x": feature}))

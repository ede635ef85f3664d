"""Predictors: saved models called with dictionaries."""

import pytest

import thalweg as tf

predictor = tf.contrib.predictor


@pytest.fixture
def folder(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None], name="x"), tf.placeholder_with_default(1.0, [], name="y")
        v = tf.get_variable("v", initializer=10.0)
        total = tf.add(x * v, y, name="total")
        session.run(v.initializer)
        builder = tf.saved_model.Builder(tmp_path / "model")
        predict = tf.saved_model.predict_signature_def
        signatures = {
            "serving_default": predict({"x": x, "y": y}, {"out": total}),
            "plain": predict({"x": x}, {"x": x}),
        }
        builder.add_meta_graph_and_variables(session, ["serve", "here"], signatures)
        builder.save()
    return str(tmp_path / "model")


def test_signatures(folder):
    predict = predictor.from_saved_model(folder, tags="serve,here")
    assert sorted(predict.feed_tensors) == ["x", "y"] and list(predict.fetch_tensors) == ["out"]
    assert predict({"x": [1.0, 2.0]})["out"].tolist() == [11, 21]
    assert predict({"x": [1.0], "y": 5.0})["out"].tolist() == [15]
    with pytest.raises(ValueError, match=r"unexpected keys in input_dict: \['z'\]"):
        predict({"x": [1.0], "z": 1.0})
    plain = predictor.from_saved_model(folder, signature_def_key="plain", tags=["serve", "here"])
    assert plain({"x": [3.0]})["x"].tolist() == [3]
    graph = tf.Graph()
    named = predictor.from_saved_model(
        folder, input_names={"a": "x:0"}, output_names={"b": "total:0"}, tags="serve,here", graph=graph
    )
    assert named.graph is graph and named({"a": [0.0]})["b"].tolist() == [1]


def test_missing_signatures_and_tensors(folder):
    with pytest.raises(RuntimeError, match="serve"):
        predictor.from_saved_model(folder)
    with pytest.raises(ValueError, match="there is plain, serving_default"):
        predictor.from_saved_model(folder, signature_def_key="none", tags="serve,here")
    with pytest.raises(ValueError, match="without the other"):
        predictor.from_saved_model(folder, input_names={"a": "x:0"})
    with pytest.raises(ValueError, match="more than one was given"):
        predictor.from_saved_model(folder, "plain", input_names={}, output_names={})

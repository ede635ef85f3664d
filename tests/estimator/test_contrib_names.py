"""Names of tf.contrib.estimator and tf.contrib.predictor: heads by functions, clipping, predictors of Estimators."""

import numpy as np
import pytest

import thalweg as tf
from tests.estimator.models import XS, descended, estimator, rows

contrib = tf.contrib.estimator


@pytest.mark.parametrize(
    ("made", "kind", "size"),
    [
        (lambda: contrib.binary_classification_head(thresholds=[0.3], name="a"), tf.estimator.BinaryClassHead, 1),
        (lambda: contrib.multi_class_head(4, name="a"), tf.estimator.MultiClassHead, 4),
        (
            lambda: contrib.multi_label_head(3, label_vocabulary=["x", "y", "z"], name="a"),
            tf.estimator.MultiLabelHead,
            3,
        ),
        (lambda: contrib.regression_head(None, 2, name="a"), tf.estimator.RegressionHead, 2),
        (lambda: contrib.poisson_regression_head(label_dimension=2, name="a"), tf.estimator.PoissonRegressionHead, 2),
        (lambda: contrib.logistic_regression_head(name="a"), tf.estimator.LogisticRegressionHead, 1),
    ],
)
def test_heads_by_functions(made, kind, size):
    head = made()
    assert isinstance(head, kind) and head.logits_dimension == size and head.name == "a"
    assert head.loss_reduction == tf.losses.Reduction.SUM_OVER_BATCH_SIZE


def test_heads_are_joined():
    heads = [contrib.regression_head(name="a"), contrib.multi_class_head(3, name="b")]
    joined = contrib.multi_head(heads, head_weights=[1.0, 2.0])
    assert isinstance(joined, tf.estimator.MultiHead) and joined.logits_dimension == {"a": 1, "b": 3}


def test_boolean_labels_are_numbers():
    head = contrib.binary_classification_head()
    logits = tf.constant([[0.0], [0.0]])
    loss = head.loss(tf.constant([True, False]), logits)
    with tf.Session() as session:
        assert session.run(loss) == pytest.approx(np.log(2))


def test_gradients_are_clipped_together():
    v, w = tf.Variable(0.0), tf.Variable(0.0)
    optimizer = contrib.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), clip_norm=1.0)
    update = optimizer.minimize(-3.0 * v - 4.0 * w)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run([v, w]) == pytest.approx([0.6, 0.8])


def test_the_numbers_of_evaluations_are_read(tmp_path):
    model = estimator(tmp_path)
    for _ in range(2):
        model.train(rows(), steps=2)
        model.evaluate(rows(epochs=1))
    found = contrib.read_eval_metrics(model.eval_dir())
    assert list(found) == [2, 4] and found[4]["loss"] < found[2]["loss"]


def receive():
    x = tf.placeholder(tf.float32, [None, 2])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"points": x})


def test_a_predictor_of_an_estimator(tmp_path):
    model = estimator(tmp_path)
    with pytest.raises(ValueError, match="train the Estimator first"):
        tf.contrib.predictor.from_estimator(model, receive)
    model.train(rows(), steps=3)
    predict = tf.contrib.predictor.from_estimator(model, receive)
    found = predict({"points": XS})
    np.testing.assert_allclose(found["y"], XS @ descended(3), rtol=1e-4)
    np.testing.assert_allclose(found["sum"], XS.sum(1))
    predict.session.close()
    with pytest.raises(KeyError, match="serving_default"):
        tf.contrib.predictor.from_estimator(model, receive, output_key="other")

"""Heads: their losses, predictions, metrics and exports, against NumPy."""

import numpy as np
import pytest

import thalweg as tf

TRAIN, EVAL, PREDICT = tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL, tf.estimator.ModeKeys.PREDICT
SUM = tf.losses.Reduction.SUM
LOGITS, LABELS = np.array([[1.0], [-2.0], [0.5]], np.float32), np.array([[1], [0], [0]])
WEIGHTS = np.array([1.0, 2.0, 3.0], np.float32)
FEATURES = {"w": WEIGHTS}


def logistic_losses(logits=LOGITS, labels=LABELS):
    return np.log1p(np.exp(logits)) - labels * logits


def sigmoid(values):
    return 1 / (1 + np.exp(-np.asarray(values)))


def values_of(fetches, local=True):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


def evaluated(head, logits, labels, features=None):
    """Returns the metrics of one batch."""
    spec = head.create_estimator_spec(features or {}, EVAL, tf.constant(logits), labels)
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), tf.tables_initializer()])
        session.run([update for _, update in spec.eval_metric_ops.values()])
        found = session.run({key: value for key, (value, _) in spec.eval_metric_ops.items()})
        return {**found, "loss": session.run(spec.loss)}


def predicted(head, logits):
    return values_of(head.create_estimator_spec({}, PREDICT, tf.constant(logits)).predictions)


# -- two classes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, logistic_losses().mean()),
        ({"loss_reduction": "sum"}, logistic_losses().sum()),
        ({"loss_reduction": SUM}, logistic_losses().sum()),
        ({"weight_column": "w"}, (logistic_losses()[:, 0] * WEIGHTS).sum() / 3),
        ({"weight_column": "w", "loss_reduction": SUM}, (logistic_losses()[:, 0] * WEIGHTS).sum()),
        ({"weight_column": tf.feature_column.numeric_column("w")}, (logistic_losses()[:, 0] * WEIGHTS).sum() / 3),
        ({"loss_fn": lambda labels, logits: (labels - logits) ** 2}, ((LABELS - LOGITS) ** 2).mean()),
    ],
)
def test_the_logistic_loss_is_weighted_and_reduced(options, expected):
    loss = tf.estimator.BinaryClassHead(**options).loss(LABELS, tf.constant(LOGITS), FEATURES)
    assert values_of(loss) == pytest.approx(expected, rel=1e-5)


def test_penalties_are_added_to_the_loss():
    head = tf.estimator.BinaryClassHead()
    loss = head.loss(LABELS, tf.constant(LOGITS), regularization_losses=[tf.constant(2.0), tf.constant(3.0)])
    assert values_of(loss) == pytest.approx(logistic_losses().mean() + 5, rel=1e-5)


def test_labels_may_be_a_vector():
    loss = tf.estimator.BinaryClassHead().loss(LABELS[:, 0], tf.constant(LOGITS))
    assert values_of(loss) == pytest.approx(logistic_losses().mean(), rel=1e-5)


def test_two_classes_are_predicted():
    found = predicted(tf.estimator.BinaryClassHead(), LOGITS)
    np.testing.assert_allclose(found["logistic"], sigmoid(LOGITS), rtol=1e-5)
    np.testing.assert_allclose(found["probabilities"], np.hstack([sigmoid(-LOGITS), sigmoid(LOGITS)]), rtol=1e-5)
    np.testing.assert_array_equal(found["class_ids"], [[1], [0], [1]])
    np.testing.assert_array_equal(found["classes"], [[b"1"], [b"0"], [b"1"]])
    np.testing.assert_array_equal(found["all_class_ids"], [[0, 1]] * 3)
    np.testing.assert_array_equal(found["all_classes"], [[b"0", b"1"]] * 3)
    np.testing.assert_array_equal(found["logits"], LOGITS)


def test_classes_are_named_by_a_vocabulary():
    head = tf.estimator.BinaryClassHead(label_vocabulary=["no", "yes"])
    np.testing.assert_array_equal(predicted(head, LOGITS)["classes"], [[b"yes"], [b"no"], [b"yes"]])
    loss = head.loss(tf.constant(["yes", "no", "no"]), tf.constant(LOGITS))
    assert values_of(loss) == pytest.approx(logistic_losses().mean(), rel=1e-5)
    with pytest.raises(ValueError, match="string"):
        head.loss(LABELS, tf.constant(LOGITS))


def test_two_classes_are_measured():
    found = evaluated(tf.estimator.BinaryClassHead(thresholds=[0.7]), LOGITS, LABELS)
    expected = {
        "accuracy": 2 / 3,
        "precision": 1 / 2,
        "recall": 1.0,
        "accuracy_baseline": 2 / 3,
        "auc": 1.0,
        "average_loss": logistic_losses().mean(),
        "loss": logistic_losses().mean(),
        "label/mean": 1 / 3,
        "prediction/mean": sigmoid(LOGITS).mean(),
        "accuracy/positive_threshold_0.7": 1.0,
        "precision/positive_threshold_0.7": 1.0,
        "recall/positive_threshold_0.7": 1.0,
    }
    assert found.pop("auc_precision_recall") == pytest.approx(1.0, abs=1e-3)
    assert found == pytest.approx(expected, rel=1e-4)


def test_metrics_are_weighted_and_named_by_the_head():
    found = evaluated(tf.estimator.BinaryClassHead("w", name="h", loss_reduction=SUM), LOGITS, LABELS, FEATURES)
    assert found["accuracy/h"] == pytest.approx(0.5)
    assert found["label/mean/h"] == pytest.approx(1 / 6)
    assert found["average_loss/h"] == pytest.approx((logistic_losses()[:, 0] * WEIGHTS).sum() / 6, rel=1e-5)
    assert found["loss"] == pytest.approx((logistic_losses()[:, 0] * WEIGHTS).sum(), rel=1e-5)


def test_metrics_can_be_updated_by_hand():
    head = tf.estimator.BinaryClassHead()
    metrics = head.metrics(regularization_losses=[tf.constant(1.0)])
    assert set(metrics) >= {"accuracy", "regularization_loss", "average_loss"}
    updated = head.update_metrics(metrics, {}, tf.constant(LOGITS), LABELS, regularization_losses=[tf.constant(1.5)])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run([metric.updates for metric in updated.values()])
        assert session.run(updated["accuracy"].result()) == pytest.approx(2 / 3)
        assert session.run(updated["regularization_loss"].result()) == 1.5


@pytest.mark.parametrize("label", [2, -1])
def test_labels_of_two_classes_are_checked_in_each_step(label):
    loss = tf.estimator.BinaryClassHead().loss(np.array([[1], [0], [label]]), tf.constant(LOGITS))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Labels must be"):
        values_of(loss)


# -- several classes --------------------------------------------------------------------------------------------------

MANY = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0]], np.float32)
SOFTMAX = np.exp(MANY) / np.exp(MANY).sum(1, keepdims=True)


def test_one_of_several_classes_is_predicted_and_measured():
    head = tf.estimator.MultiClassHead(3, label_vocabulary=["a", "b", "c"])
    found = predicted(head, MANY)
    np.testing.assert_allclose(found["probabilities"], SOFTMAX, rtol=1e-5)
    np.testing.assert_array_equal(found["class_ids"], [[1], [0]])
    np.testing.assert_array_equal(found["classes"], [[b"b"], [b"a"]])
    losses = -np.log(SOFTMAX[[0, 1], [2, 0]])
    measured = evaluated(head, MANY, tf.constant([["c"], ["a"]]))
    expected = {"accuracy": 0.5, "average_loss": losses.mean(), "loss": losses.mean()}
    assert measured == pytest.approx(expected, rel=1e-5)


def test_the_loss_of_several_classes_is_weighted():
    head = tf.estimator.MultiClassHead(3, "w", loss_reduction=SUM)
    loss = head.loss(np.array([2, 0]), tf.constant(MANY), {"w": np.array([2.0, 5.0], np.float32)})
    losses = -np.log(SOFTMAX[[0, 1], [2, 0]])
    assert values_of(loss) == pytest.approx((losses * [2, 5]).sum(), rel=1e-5)


def test_any_number_of_classes_is_predicted_and_measured():
    head = tf.estimator.MultiLabelHead(3, thresholds=[0.6], classes_for_class_based_metrics=[1])
    labels = np.array([[0, 1, 0], [1, 0, 1]])
    np.testing.assert_allclose(predicted(head, MANY)["probabilities"], sigmoid(MANY), rtol=1e-5)
    found = evaluated(head, MANY, labels)
    losses = logistic_losses(MANY, labels)
    assert found["loss"] == pytest.approx(losses.mean(), rel=1e-5)
    assert found["average_loss"] == pytest.approx(losses.mean(), rel=1e-5)
    assert found["accuracy/positive_threshold_0.6"] == pytest.approx(5 / 6)
    assert found["precision/positive_threshold_0.6"] == pytest.approx(3 / 4)
    assert found["recall/positive_threshold_0.6"] == pytest.approx(1.0)
    assert found["probability_mean/class1"] == pytest.approx(sigmoid(MANY)[:, 1].mean())
    assert found["auc/class1"] == pytest.approx(1.0)
    assert set(found) >= {"auc", "auc_precision_recall", "auc_precision_recall/class1"}


def test_labels_of_many_classes_may_be_sparse_words():
    head = tf.estimator.MultiLabelHead(3, label_vocabulary=["a", "b", "c"], classes_for_class_based_metrics=["b"])
    labels = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["b", "a", "c"], [2, 2])
    expected = logistic_losses(MANY, np.array([[0, 1, 0], [1, 0, 1]])).mean()
    assert values_of(head.loss(labels, tf.constant(MANY))) == pytest.approx(expected, rel=1e-5)
    assert "auc/b" in head.metrics()


# -- regression -------------------------------------------------------------------------------------------------------


def test_numbers_are_predicted_and_measured():
    head = tf.estimator.RegressionHead(2)
    logits, labels = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([[0, 0], [1, 1]])
    np.testing.assert_array_equal(predicted(head, logits)["predictions"], logits)
    squares = (logits - labels) ** 2
    expected = {"loss": squares.mean(), "average_loss": squares.mean(), "prediction/mean": 2.5, "label/mean": 0.5}
    assert evaluated(head, logits, labels) == pytest.approx(expected)


def test_counts_have_the_loss_of_a_poisson_distribution():
    head = tf.estimator.PoissonRegressionHead(compute_full_loss=False)
    assert values_of(head.loss(LABELS, tf.constant(LOGITS))) == pytest.approx((np.exp(LOGITS) - LABELS * LOGITS).mean())
    found = predicted(head, LOGITS)
    np.testing.assert_allclose(found["predictions"], np.exp(LOGITS), rtol=1e-5)
    np.testing.assert_array_equal(found["logits"], LOGITS)
    full = tf.estimator.PoissonRegressionHead().loss(np.array([[3.0]]), tf.constant([[0.0]]))
    stirling = 3 * np.log(3) - 3 + 0.5 * np.log(2 * np.pi * 3)
    assert values_of(full) == pytest.approx(1 + stirling, rel=1e-5)


def test_probabilities_have_the_logistic_loss():
    head = tf.estimator.LogisticRegressionHead()
    labels = np.array([[0.5], [0.25], [1.0]])
    expected = logistic_losses(LOGITS, labels).mean()
    assert values_of(head.loss(labels, tf.constant(LOGITS))) == pytest.approx(expected, rel=1e-5)
    assert evaluated(head, LOGITS, labels)["prediction/mean"] == pytest.approx(sigmoid(LOGITS).mean(), rel=1e-5)


# -- several heads ----------------------------------------------------------------------------------------------------


def two_heads(weights=None):
    one, two = tf.estimator.BinaryClassHead(name="one"), tf.estimator.RegressionHead(name="two")
    return tf.estimator.MultiHead([one, two], weights)


@pytest.mark.parametrize("as_tensor", [False, True])
def test_the_losses_of_several_heads_are_added(as_tensor):
    head, targets = two_heads([1.0, 0.5]), np.array([[1.0], [2.0], [3.0]], np.float32)
    logits = {"one": tf.constant(LOGITS), "two": tf.constant(LOGITS * 2)}
    given = tf.concat(list(logits.values()), 1) if as_tensor else logits
    loss = head.loss({"one": LABELS, "two": targets}, given)
    expected = logistic_losses().mean() + 0.5 * ((LOGITS * 2 - targets) ** 2).mean()
    assert values_of(loss) == pytest.approx(expected, rel=1e-5)
    assert head.logits_dimension == {"one": 1, "two": 1}
    found = values_of(head.predictions(given))
    np.testing.assert_allclose(found["two", "predictions"], LOGITS * 2)
    np.testing.assert_allclose(found["one", "logistic"], sigmoid(LOGITS), rtol=1e-5)


def test_the_metrics_of_several_heads_have_their_names():
    logits = {"one": tf.constant(LOGITS), "two": tf.constant(LOGITS)}
    spec = two_heads().create_estimator_spec({}, EVAL, logits, {"one": LABELS, "two": LABELS})
    assert {"accuracy/one", "average_loss/two", "loss/one", "loss/two"} <= set(spec.eval_metric_ops)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run([update for _, update in spec.eval_metric_ops.values()])
        assert session.run(spec.eval_metric_ops["loss/one"][0]) == pytest.approx(logistic_losses().mean(), rel=1e-5)


def test_several_heads_are_exported_under_their_names():
    logits = {"one": tf.constant(LOGITS), "two": tf.constant(LOGITS)}
    outputs = two_heads().create_estimator_spec({}, PREDICT, logits).export_outputs
    assert set(outputs) == {
        *("serving_default", "predict", "one", "one/classification", "one/regression", "one/predict"),
        *("two", "two/regression", "two/predict"),
    }
    assert outputs["serving_default"] is outputs["one"]
    assert "two/predictions" in outputs["predict"].outputs


# -- training ---------------------------------------------------------------------------------------------------------


def test_a_step_is_made_by_an_optimizer_or_a_function():
    step = tf.train.create_global_step()
    weight = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    head = tf.estimator.RegressionHead()
    logits = tf.matmul(tf.constant([[2.0]]), weight)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(step, 10))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    spec = head.create_estimator_spec({}, TRAIN, logits, [[1.0]], optimizer=optimizer, trainable_variables=[weight])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(spec.train_op)
        assert session.run(weight) == pytest.approx(0.4)
        assert session.run(step) == 11
    made = []
    function = head.create_estimator_spec(
        {}, TRAIN, logits, [[1.0]], train_op_fn=lambda loss: made.append(loss) or loss
    )
    assert made == [function.loss]
    for options in ({}, {"optimizer": optimizer, "train_op_fn": lambda loss: loss}):
        with pytest.raises(ValueError, match="exactly one"):
            head.create_estimator_spec({}, TRAIN, logits, [[1.0]], **options)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: tf.estimator.BinaryClassHead(thresholds=[1.0]), ValueError, "thresholds"),
        (lambda: tf.estimator.BinaryClassHead(label_vocabulary="ab"), ValueError, "list or a tuple"),
        (lambda: tf.estimator.BinaryClassHead(label_vocabulary=["a"]), ValueError, "2 words"),
        (lambda: tf.estimator.BinaryClassHead(loss_reduction="none"), ValueError, "loss_reduction"),
        (lambda: tf.estimator.BinaryClassHead(loss_fn=lambda x: x), ValueError, "loss_fn"),
        (lambda: tf.estimator.BinaryClassHead(weight_column=1), TypeError, "Weight column"),
        (lambda: tf.estimator.MultiClassHead(2), ValueError, "n_classes"),
        (lambda: tf.estimator.MultiLabelHead(1), ValueError, "n_classes"),
        (lambda: tf.estimator.MultiLabelHead(2, classes_for_class_based_metrics=[2]), ValueError, "range"),
        (lambda: tf.estimator.MultiLabelHead(2, classes_for_class_based_metrics=["a"]), ValueError, "vocabulary"),
        (lambda: tf.estimator.RegressionHead(0), ValueError, "label_dimension"),
        (lambda: tf.estimator.MultiHead([]), ValueError, "Must specify heads"),
        (lambda: tf.estimator.MultiHead([tf.estimator.RegressionHead()]), ValueError, "name"),
        (lambda: tf.estimator.MultiHead([tf.estimator.RegressionHead(name="a")] * 2), ValueError, "differ"),
        (lambda: tf.estimator.MultiHead([tf.estimator.RegressionHead(name="a")], [1, 2]), ValueError, "same size"),
        (lambda: tf.estimator.RegressionHead().loss(None, tf.constant(LOGITS)), ValueError, "labels"),
        (lambda: tf.estimator.RegressionHead(2).loss(LABELS, tf.constant(LOGITS)), ValueError, "logits shape"),
        (lambda: tf.estimator.RegressionHead().loss(MANY, tf.constant(LOGITS)), ValueError, "label shape"),
        (lambda: tf.estimator.LogisticRegressionHead("w").loss(LABELS, tf.constant(LOGITS)), ValueError, "features"),
        (lambda: tf.estimator.LogisticRegressionHead("w").loss(LABELS, tf.constant(LOGITS), {}), ValueError, "'w'"),
        (lambda: tf.estimator.MultiClassHead(3).loss(LOGITS[:2], tf.constant(MANY)), ValueError, "integer"),
    ],
)
def test_wrong_heads_and_labels_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()

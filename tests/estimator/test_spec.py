"""What a model function may return in each mode, and what it may not."""

import pytest

import thalweg as tf

TRAIN, EVAL, PREDICT = tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL, tf.estimator.ModeKeys.PREDICT
Spec = tf.estimator.EstimatorSpec


def other_graph(make):
    with tf.Graph().as_default():
        return make()


def test_training_needs_a_loss_and_an_update():
    loss, update = tf.constant(1.0), tf.no_op()
    spec = Spec(TRAIN, loss=loss, train_op=update)
    assert (spec.mode, spec.loss, spec.train_op) == (TRAIN, loss, update)
    assert (spec.predictions, spec.eval_metric_ops, spec.export_outputs) == ({}, {}, None)
    assert isinstance(spec.scaffold, tf.train.Scaffold)
    with pytest.raises(ValueError, match="Missing loss"):
        Spec(TRAIN, train_op=update)
    with pytest.raises(ValueError, match="Missing train_op"):
        Spec(TRAIN, loss=loss)


def test_evaluation_needs_a_loss():
    assert Spec(EVAL, loss=tf.constant(1.0)).train_op is None
    with pytest.raises(ValueError, match="Missing loss"):
        Spec(EVAL, predictions=tf.constant(1.0))


def test_prediction_needs_predictions():
    y = tf.constant([1.0])
    assert Spec(PREDICT, predictions={"y": y}).predictions == {"y": y}
    with pytest.raises(ValueError, match="Missing predictions"):
        Spec(PREDICT)


@pytest.mark.parametrize("mode", ["test", "", None])
def test_a_mode_must_be_known(mode):
    with pytest.raises(ValueError, match="Invalid mode"):
        Spec(mode, predictions=tf.constant([1.0]))


def test_a_loss_of_one_element_becomes_a_scalar():
    spec = Spec(EVAL, loss=tf.constant([[3.0]]))
    assert spec.loss.shape.ndims == 0
    with tf.Session() as session:
        assert session.run(spec.loss) == 3.0


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Spec(EVAL, loss=tf.constant([1.0, 2.0])), ValueError, "Loss must be scalar"),
        (lambda: Spec(EVAL, loss=1.0), TypeError, "loss must be Tensor"),
        (lambda: Spec(TRAIN, loss=tf.constant(1.0), train_op=1.0), TypeError, "train_op must be Operation or Tensor"),
        (lambda: Spec(PREDICT, predictions=[1.0]), TypeError, "predictions must be Tensor"),
        (lambda: Spec(PREDICT, predictions={"y": 1.0}), TypeError, "predictions\\['y'\\] must be Tensor"),
        (lambda: Spec(EVAL, loss=other_graph(lambda: tf.constant(1.0))), ValueError, "default graph"),
        (lambda: Spec(PREDICT, predictions=other_graph(lambda: tf.constant(1.0))), ValueError, "default graph"),
        (
            lambda: Spec(TRAIN, loss=tf.constant(1.0), train_op=other_graph(tf.no_op)),
            ValueError,
            "train_op must be of the default graph",
        ),
        (lambda: Spec(EVAL, loss=tf.constant(1.0), eval_metric_ops=[1]), TypeError, "eval_metric_ops must be a dict"),
        (
            lambda: Spec(EVAL, loss=tf.constant(1.0), eval_metric_ops={"a": tf.constant(1.0)}),
            TypeError,
            "metric_value, update_op",
        ),
        (
            lambda: Spec(EVAL, loss=tf.constant(1.0), eval_metric_ops={"a": (tf.constant(1.0),)}),
            TypeError,
            "metric_value, update_op",
        ),
        (
            lambda: Spec(EVAL, loss=tf.constant(1.0), eval_metric_ops={"a": (1.0, tf.no_op())}),
            TypeError,
            "must be Operation or Tensor",
        ),
        (
            lambda: Spec(EVAL, loss=tf.constant(1.0), eval_metric_ops={"a": (tf.constant(1.0), other_graph(tf.no_op))}),
            ValueError,
            "default graph",
        ),
        (lambda: Spec(EVAL, loss=tf.constant(1.0), training_hooks=[1]), TypeError, "training_hooks"),
        (lambda: Spec(EVAL, loss=tf.constant(1.0), training_chief_hooks=[1]), TypeError, "training_chief_hooks"),
        (lambda: Spec(EVAL, loss=tf.constant(1.0), evaluation_hooks=[1]), TypeError, "evaluation_hooks"),
        (lambda: Spec(EVAL, loss=tf.constant(1.0), prediction_hooks=[1]), TypeError, "prediction_hooks"),
        (lambda: Spec(EVAL, loss=tf.constant(1.0), scaffold=1), TypeError, "Scaffold"),
        (lambda: Spec(PREDICT, predictions=tf.constant(1.0), export_outputs=[1]), TypeError, "export_outputs"),
        (lambda: Spec(PREDICT, predictions=tf.constant(1.0), export_outputs={"a": 1}), TypeError, "ExportOutput"),
    ],
)
def test_a_wrong_spec_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_metric_object_gives_its_result_and_its_update():
    class Metric:
        updates = ()

        def update_state(self):
            self.updates = (tf.no_op(name="update"),)

        def result(self):
            return tf.constant(5.0)

    metric = Metric()
    with pytest.raises(ValueError, match="update_state"):
        Spec(EVAL, loss=tf.constant(1.0), eval_metric_ops={"m": metric})
    metric.update_state()
    spec = Spec(EVAL, loss=tf.constant(1.0), eval_metric_ops={"m": metric})
    assert spec.eval_metric_ops["m"][1].name == "update"


def test_predictions_are_served_by_default():
    y = tf.constant([1.0])
    (output,) = Spec(PREDICT, predictions={"y": y}).export_outputs.values()
    assert output.outputs == {"y": y}
    assert list(Spec(PREDICT, predictions=y).export_outputs) == ["serving_default"]


def test_one_of_several_outputs_must_be_the_default():
    y = tf.constant([1.0])
    one, two = tf.estimator.export.PredictOutput(y), tf.estimator.export.RegressionOutput(y)
    with pytest.raises(ValueError, match="serving_default"):
        Spec(PREDICT, predictions=y, export_outputs={"one": one, "two": two})
    given = {"serving_default": one, "two": two}
    assert Spec(PREDICT, predictions=y, export_outputs=given).export_outputs == given
    assert Spec(PREDICT, predictions=y, export_outputs={"two": two}).export_outputs == {
        "two": two,
        "serving_default": two,
    }


def test_a_field_can_be_replaced():
    spec = Spec(EVAL, loss=tf.constant(1.0))
    other = tf.constant(2.0)
    assert spec._replace(loss=other).loss is other
    assert isinstance(spec._replace(loss=other), Spec)

"""Losses: values recorded from tf_keras, weights and reductions, logits found in graphs, configurations and names."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras.modes import MODES, evaluate
from thalweg._src.keras.backend import crossentropy
from thalweg._src.keras.losses import functions, losses
from thalweg._src.keras.losses.weighting import Reduction
from thalweg._src.keras.serialization import custom_object_scope

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_losses.json.gz"
RECORDED = json.loads(gzip.decompress(FIXTURE.read_bytes()))["losses"]
CLASSES = sorted({case["class"] for case in RECORDED})
X, Y = np.float32([[1, 2], [3, 5]]), np.float32([[1, 4], [2, 1]])


def _array(values):
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _fed_with_unknown_shapes(function, *arrays):
    """Evaluates a function of placeholders whose shapes are not known."""
    with tf.Graph().as_default(), tf.Session() as session:
        placeholders = [tf.placeholder(array.dtype) for array in arrays]
        return session.run(function(*placeholders), dict(zip(placeholders, arrays)))


# -- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [*MODES, "unknown shapes"])
@pytest.mark.parametrize("name", CLASSES)
def test_a_loss_is_that_of_keras_for_all_weights_and_reductions(name, mode):
    for case in RECORDED:
        if case["class"] != name:
            continue
        assert case["answers"]
        for answer in case["answers"]:
            loss = getattr(losses, name)(reduction=answer["reduction"], **case["config"])
            weights = [] if answer["weight"] is None else [answer["weight"]]
            arrays = [_array(values) for values in (*case["data"], *weights)]
            value = _fed_with_unknown_shapes(loss, *arrays) if mode not in MODES else evaluate(mode, loss, *arrays)
            np.testing.assert_allclose(value, answer["value"], rtol=2e-5, atol=1e-6, err_msg=str((case, answer)))
            assert value.dtype == np.float32


def test_the_huber_loss_is_one_of_each_element(eager):
    loss = losses.Huber(reduction="none")(tf.constant([[0.0, 0.0]]), tf.constant([[0.5, 3.0]]))
    np.testing.assert_allclose(loss.numpy(), [[0.125, 2.5]])


def test_a_loss_of_equal_directions_is_minus_one(eager):
    assert losses.CosineSimilarity()(tf.constant([[3.0, 4.0]]), tf.constant([[6.0, 8.0]])).numpy() == pytest.approx(-1)


def test_targets_take_the_type_of_predictions(eager):
    for kind in (tf.float16, tf.float64):
        loss = losses.MeanSquaredError()(tf.constant([[1, 2]]), tf.constant([[2, 4]], kind))
        assert loss.dtype == kind
        assert loss.numpy() == 2.5


def test_a_mean_of_narrow_floats_does_not_overflow(eager):
    ones = tf.constant(np.full([70000, 1], 1, np.float16))
    assert losses.MeanAbsoluteError()(tf.zeros([70000, 1]), ones).numpy() == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_loss_has_gradients(mode):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = losses.CategoricalCrossentropy(from_logits=True)(tf.constant([[0.0, 1.0]]), x)
        return tape.gradient(loss, x)

    np.testing.assert_allclose(evaluate(mode, gradient, np.float32([[0, 0]])), [[0.5, -0.5]])


def test_a_mean_of_no_examples_is_zero(eager):
    assert losses.MeanSquaredError()(tf.zeros([0, 2]), tf.zeros([0, 2])).numpy() == 0


# -- crossentropies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function, target, activation, expected",
    [
        (functions.categorical_crossentropy, [[0.0, 1.0]], tf.nn.softmax, 200.0),
        (functions.sparse_categorical_crossentropy, [1], tf.nn.softmax, 200.0),
        (functions.binary_crossentropy, [[0.0, 1.0]], tf.nn.sigmoid, 100.0),
    ],
)
def test_a_crossentropy_in_a_graph_is_computed_from_the_logits_of_probabilities(function, target, activation, expected):
    logits = tf.constant([[100.0, -100.0]])
    with tf.Session() as session:
        assert session.run(function(tf.constant(target), activation(logits))) == pytest.approx(expected)
        hidden = tf.identity(activation(logits))  # probabilities of which nothing is known are clipped
        assert session.run(function(tf.constant(target), hidden)) == pytest.approx(-np.log(1e-7), rel=0.05)


def test_a_crossentropy_of_eager_probabilities_is_finite(eager):
    probabilities = tf.nn.softmax(tf.constant([[100.0, -100.0]]))
    loss = functions.categorical_crossentropy(tf.constant([[0.0, 1.0]]), probabilities)
    assert loss.numpy() == pytest.approx(-np.log(1e-7), rel=1e-5)


def test_classes_may_be_along_any_axis(eager):
    logits = np.random.RandomState(0).normal(size=(2, 3, 4)).astype(np.float32)
    labels = np.int32([[0, 1, 2, 0], [2, 2, 1, 0]])
    last = crossentropy.sparse_categorical_crossentropy(labels, logits.transpose(0, 2, 1), from_logits=True)
    middle = crossentropy.sparse_categorical_crossentropy(labels, logits, from_logits=True, axis=1)
    np.testing.assert_array_equal(middle.numpy(), last.numpy())
    hot = np.eye(3, dtype=np.float32)[labels].transpose(0, 2, 1)
    dense = crossentropy.categorical_crossentropy(hot, logits, from_logits=True, axis=1)
    np.testing.assert_allclose(dense.numpy(), last.numpy(), rtol=1e-5)


# -- reductions -------------------------------------------------------------------------------------------------------


def test_an_unknown_reduction_is_refused():
    for reduction in ("mean", tf.losses.Reduction.SUM):
        with pytest.raises(ValueError, match="Invalid Reduction Key"):
            losses.MeanSquaredError(reduction=reduction)
    assert losses.MeanSquaredError(reduction=tf.losses.Reduction.NONE).reduction == Reduction.NONE


def test_a_mean_over_the_batch_is_refused_in_the_scope_of_a_strategy():
    with tf.distribute.MirroredStrategy(["/cpu:0"]).scope():
        with pytest.raises(ValueError, match="in the scope of a strategy"):
            losses.MeanSquaredError()(X, Y)
        total = losses.MeanSquaredError(reduction="sum")(X, Y)
    with tf.Session() as session:
        assert session.run(total) == 10.5


def test_weights_that_do_not_fit_are_refused(eager):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        losses.MeanSquaredError()(X, Y, sample_weight=[1.0, 2.0, 3.0])


# -- classes of a program's own ---------------------------------------------------------------------------------------


class Difference(losses.Loss):
    """The difference."""

    def call(self, y_true, y_pred):
        return tf.reduce_sum(y_pred - y_true, -1)


@pytest.mark.parametrize("mode", MODES)
def test_a_loss_of_the_programs_own_is_weighted_and_reduced(mode):
    assert evaluate(mode, Difference(), X, Y) == pytest.approx(-1.5)
    assert evaluate(mode, Difference(reduction="sum"), X, Y, np.float32([1, 2])) == pytest.approx(-8)


def test_a_loss_without_call_is_refused():
    with pytest.raises(NotImplementedError):
        losses.Loss()(X, Y)


def test_operations_of_a_loss_are_in_a_scope_of_its_name(graph):
    assert losses.MeanSquaredError()(X, Y).op.name.startswith("mean_squared_error/weighted_loss/")
    assert Difference()(X, Y).op.name.startswith("Difference/weighted_loss/")
    assert losses.LossFunctionWrapper(functions.hinge, name="<lambda>")(X, Y).op.name.startswith("lambda/")


# -- names and configurations -----------------------------------------------------------------------------------------


def test_a_loss_is_made_again_from_its_configuration(eager):
    for case in RECORDED:
        loss = getattr(losses, case["class"])(reduction="sum", name="mine", **case["config"])
        again = losses.deserialize(losses.serialize(loss))
        assert type(again) is type(loss)
        assert again.get_config() == loss.get_config()
        assert loss.get_config() == {**loss.get_config(), **case["config"], "reduction": "sum", "name": "mine"}
        arrays = [_array(values) for values in case["data"]]
        assert again(*arrays).numpy() == loss(*arrays).numpy()


@pytest.mark.parametrize(
    "name, function",
    [
        *(("mse", functions.mean_squared_error), ("MSE", functions.mean_squared_error)),
        *(("mean_absolute_error", functions.mean_absolute_error), ("mape", functions.mean_absolute_percentage_error)),
        *(("MSLE", functions.mean_squared_logarithmic_error), ("kld", functions.kullback_leibler_divergence)),
        *(("binary_crossentropy", functions.binary_crossentropy), ("cosine_proximity", functions.cosine_similarity)),
        *(("logcosh", functions.logcosh), ("huber_loss", functions.huber_loss), ("bce", functions.binary_crossentropy)),
    ],
)
def test_a_loss_is_found_by_name(name, function):
    assert losses.get(name) is function
    assert losses.get(losses.serialize(function)) is function


def test_what_stands_for_a_loss_is_found():
    assert losses.get(None) is None
    assert losses.get(np.mean) is np.mean
    assert isinstance(losses.get("Huber"), losses.Huber)
    assert losses.get({"class_name": "Huber", "config": {"delta": 3.0}}).get_config()["delta"] == 3.0
    with custom_object_scope({"Difference": Difference}):
        assert isinstance(losses.get("Difference"), Difference)
    with pytest.raises(ValueError, match="Could not interpret loss function identifier"):
        losses.get(3)
    with pytest.raises(ValueError, match="Unknown loss function"):
        losses.get("nothing")

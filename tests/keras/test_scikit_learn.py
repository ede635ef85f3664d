"""Models as estimators of scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thalweg as tf

KerasClassifier = tf.keras.wrappers.scikit_learn.KerasClassifier
KerasRegressor = tf.keras.wrappers.scikit_learn.KerasRegressor
keras = tf.keras

POINTS = np.random.RandomState(0).uniform(-1, 1, [60, 2]).astype(np.float32)
NAMES = np.where(POINTS[:, 0] > 0, "right", "left")


def classifier(units=4, outputs=2, loss="categorical_crossentropy", metrics=("accuracy",)):
    last = "softmax" if outputs > 1 else "sigmoid"
    layers = [keras.layers.Dense(units, activation="tanh", input_shape=(2,)), keras.layers.Dense(outputs, last)]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.1), loss, metrics=list(metrics))
    return model


def regressor(rate=0.1):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    model.compile(keras.optimizers.Adam(rate), "mse", metrics=["mae"])
    return model


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "sparse_categorical_crossentropy"},
        {"loss": keras.losses.categorical_crossentropy},
        {"loss": keras.losses.CategoricalCrossentropy()},
        {"outputs": 1, "loss": "binary_crossentropy"},
    ],
    ids=["name", "sparse", "function", "object", "one output"],
)
def test_classes_of_any_kind_are_learned(options):
    found = KerasClassifier(classifier, epochs=20, batch_size=10, verbose=0, **options)
    history = found.fit(POINTS, NAMES)
    assert len(history.history["loss"]) == 20
    assert found.classes_.tolist() == ["left", "right"] and found.n_classes_ == 2
    assert found.score(POINTS, NAMES, verbose=0) > 0.9
    predicted = found.predict(POINTS)
    assert predicted.shape == ((60, 1) if options.get("outputs") == 1 else (60,))
    assert np.mean(predicted.ravel() == NAMES) > 0.9
    probabilities = found.predict_proba(POINTS)
    assert probabilities.shape == (60, 2)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)


def test_rows_of_a_one_are_classes():
    rows = np.eye(2)[(NAMES == "right").astype(int)]
    found = KerasClassifier(classifier, epochs=20, verbose=0)
    found.fit(POINTS, rows)
    assert found.classes_.tolist() == [0, 1] and found.score(POINTS, rows, verbose=0) > 0.9
    with pytest.raises(ValueError, match=r"Invalid shape for y: .* received \(1, 2, 3\)"):
        found.fit(POINTS, np.zeros([1, 2, 3]))


def test_a_score_needs_the_accuracy():
    found = KerasClassifier(classifier, metrics=(), verbose=0)
    found.fit(POINTS, NAMES)
    with pytest.raises(ValueError, match=r"pass `metrics=\[.accuracy.\]`"):
        found.score(POINTS, NAMES, verbose=0)


def test_a_regressor_scores_by_its_loss():
    targets = POINTS @ [1.0, -2.0]
    found = KerasRegressor(regressor, epochs=1, verbose=0)
    found.fit(POINTS, targets, epochs=30)
    assert found.predict(POINTS).shape == (60,)
    loss, _ = found.model.evaluate(POINTS, targets, verbose=0)
    np.testing.assert_allclose(found.score(POINTS, targets, verbose=0), -loss, rtol=1e-6)
    assert loss < 0.05


def test_an_object_or_a_subclass_makes_the_model():
    class Builder:
        def __call__(self, units):
            return classifier(units)

    class Own(KerasClassifier):
        def __call__(self, units):
            return classifier(units)

    for found in (KerasClassifier(Builder(), units=3, verbose=0), Own(units=3, verbose=0)):
        found.fit(POINTS, NAMES)
        assert found.model.layers[0].units == 3


def test_parameters_are_those_of_functions():
    found = KerasClassifier(classifier, units=2, epochs=3)
    assert found.get_params(deep=True) == {"units": 2, "epochs": 3, "build_fn": classifier}
    assert found.set_params(units=5, batch_size=7) is found
    assert found.filter_sk_params(classifier) == {"units": 5}
    assert found.filter_sk_params(keras.Sequential.fit, {"verbose": 0}) == {"epochs": 3, "batch_size": 7, "verbose": 0}
    assert found.set_params(build_fn=regressor).build_fn is regressor
    for wrong in (lambda: KerasClassifier(classifier, speed=3), lambda: found.set_params(speed=3)):
        with pytest.raises(ValueError, match="speed is not a legal parameter"):
            wrong()


def test_equal_estimators_are_made():
    callbacks = [keras.callbacks.Callback()]
    found = KerasClassifier(classifier, units=2, callbacks=callbacks)
    again = clone(found)
    assert again is not found and again.get_params()["units"] == 2
    assert is_classifier(found) and not is_regressor(found) and is_regressor(KerasRegressor(regressor))


def test_cross_validation_and_grid_search():
    found = KerasClassifier(classifier, epochs=15, batch_size=10, verbose=0)
    scores = cross_val_score(found, POINTS, NAMES, cv=3)
    assert scores.shape == (3,) and scores.mean() > 0.8
    search = GridSearchCV(KerasClassifier(classifier, verbose=0), {"units": [2, 4], "epochs": [1, 15]}, cv=2)
    search.fit(POINTS, NAMES)
    assert search.best_params_["epochs"] == 15
    assert np.mean(search.predict(POINTS) == NAMES) > 0.8
    scores = cross_val_score(KerasRegressor(regressor, epochs=2, verbose=0), POINTS, POINTS[:, 0], cv=2)
    assert (scores < 0).all()


def test_a_step_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), KerasClassifier(classifier, epochs=15, batch_size=10, verbose=0))
    pipeline.fit(POINTS, NAMES)
    assert pipeline.score(POINTS, NAMES) > 0.8

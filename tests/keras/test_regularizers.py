"""Regularizers: penalties, configurations, and names."""

import numpy as np
import pytest

import thalweg as tf
from tests.keras.modes import MODES, evaluate
from thalweg._src.keras import regularizers
from thalweg._src.keras.backend import settings

_X = np.array([[1.0, -2.0], [3.0, -4.0]], np.float32)
_HUNDREDTH = float(np.float32(0.01))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "regularizer, expected",
    [
        (regularizers.l1(0.1), 1.0),
        (regularizers.l2(0.1), 3.0),
        (regularizers.l1_l2(0.1, 0.2), 7.0),
        (regularizers.L1L2(), 0.0),
        (regularizers.L1L2(l1=0.5), 5.0),
        (regularizers.get("l1"), 0.1),
        (regularizers.get("l2"), 0.3),
        (regularizers.get("l1_l2"), 0.4),
        (regularizers.get("L1L2"), 0.0),
    ],
)
def test_a_penalty_is_a_weighted_sum_of_absolute_values_and_squares(regularizer, expected, mode):
    np.testing.assert_allclose(evaluate(mode, regularizer, _X), np.float32(expected), rtol=1e-6)


def test_a_penalty_has_the_type_of_its_input(eager):
    x = tf.Variable(_X.astype(np.float64), use_resource=True)
    assert regularizers.l1_l2()(x).dtype == tf.float64


def test_a_penalty_has_a_gradient(eager):
    x = tf.constant(_X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        penalty = regularizers.l1_l2(0.5, 0.25)(x)
    np.testing.assert_allclose(tape.gradient(penalty, x).numpy(), 0.5 * np.sign(_X) + 0.5 * _X)


def test_a_configuration_shows_factors_as_the_default_type_has_them(monkeypatch):
    config = regularizers.serialize(regularizers.l1(0.01))
    assert config == {"class_name": "L1L2", "config": {"l1": _HUNDREDTH, "l2": 0.0}}
    assert regularizers.get(config).get_config() == config["config"]
    monkeypatch.setattr(settings._settings, "floatx", "float64")
    assert regularizers.l2(0.01).get_config() == {"l1": 0.0, "l2": 0.01}


def test_the_configuration_of_a_function_calls_it():
    regularizer = regularizers.deserialize({"class_name": "l2", "config": {"l": 0.5}})
    assert regularizer.get_config() == {"l1": 0.0, "l2": 0.5}


def test_none_stays_none_and_a_callable_is_itself():
    assert regularizers.get(None) is None
    assert regularizers.get(tf.nn.l2_loss) is tf.nn.l2_loss
    regularizer = regularizers.l1()
    assert regularizers.get(regularizer) is regularizer
    assert regularizers.Regularizer()(3) == 0


def test_what_is_no_regularizer_is_refused():
    with pytest.raises(ValueError, match="Could not interpret regularizer identifier: 3"):
        regularizers.get(3)
    with pytest.raises(ValueError, match="Unknown regularizer: l3"):
        regularizers.get("l3")


def test_a_regularizer_of_the_program_can_be_part_of_a_configuration():
    class Largest(regularizers.Regularizer):
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return self.factor * tf.reduce_max(x)

        def get_config(self):
            return {"factor": self.factor}

    config = regularizers.serialize(Largest(3.0))
    assert config == {"class_name": "Largest", "config": {"factor": 3.0}}
    assert regularizers.deserialize(config, {"Largest": Largest}).factor == 3.0


def test_a_regularizer_without_a_configuration_cannot_be_written():
    with pytest.raises(ValueError, match="Cannot serialize"):
        regularizers.serialize(regularizers.Regularizer())

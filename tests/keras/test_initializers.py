"""Initializers: defaults of Keras, distributions, configurations, and names."""

import math

import numpy as np
import pytest

import thalweg as tf
from tests.keras.modes import MODES, evaluate
from thalweg._src.keras import initializers
from thalweg._src.keras.serialization import custom_object_scope

_NAMES = {
    initializers.Zeros: ("zeros", "zero", "Zeros"),
    initializers.Ones: ("ones", "one", "Ones"),
    initializers.Constant: ("constant", "Constant"),
    initializers.RandomNormal: ("random_normal", "normal", "RandomNormal"),
    initializers.RandomUniform: ("random_uniform", "uniform", "RandomUniform"),
    initializers.TruncatedNormal: ("truncated_normal", "TruncatedNormal"),
    initializers.VarianceScaling: ("VarianceScaling", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform"),
    initializers.Orthogonal: ("orthogonal", "Orthogonal"),
    initializers.Identity: ("identity", "Identity"),
    initializers.GlorotUniform: ("glorot_uniform", "GlorotUniform"),
    initializers.GlorotNormal: ("glorot_normal", "GlorotNormal"),
}
_EACH = [(name, kind) for kind, names in _NAMES.items() for name in names]

# The standard deviation of values of a shape with fan-in 50 and fan-out 100, and the bound of their magnitudes.
_SPREADS = {
    "random_normal": (0.05, math.inf),
    "truncated_normal": (0.05 * 0.8796, 0.1),
    "random_uniform": (0.05 / math.sqrt(3), 0.05),
    "glorot_uniform": (math.sqrt(1 / 75), math.sqrt(3 / 75)),
    "glorot_normal": (math.sqrt(1 / 75), 2 * math.sqrt(1 / 75) / 0.8796),
    "he_normal": (math.sqrt(2 / 50), 2 * math.sqrt(2 / 50) / 0.8796),
    "he_uniform": (math.sqrt(2 / 50), math.sqrt(6 / 50)),
    "lecun_normal": (math.sqrt(1 / 50), 2 * math.sqrt(1 / 50) / 0.8796),
    "lecun_uniform": (math.sqrt(1 / 50), math.sqrt(3 / 50)),
}


@pytest.mark.parametrize("name, kind", _EACH)
def test_an_initializer_is_found_by_name_and_by_its_configuration(name, kind):
    initializer = initializers.get(name)
    assert type(initializer) is kind
    config = initializers.serialize(initializer)
    assert config == {"class_name": kind.__name__, "config": initializer.get_config()}
    copy = initializers.get(config)
    assert type(copy) is kind
    assert copy.get_config() == initializer.get_config()


def test_configurations_are_those_of_keras():
    normal = {"mean": 0.0, "stddev": 0.05, "seed": None, "dtype": "float32"}
    assert initializers.serialize(initializers.RandomNormal()) == {"class_name": "RandomNormal", "config": normal}
    assert initializers.get("truncated_normal").get_config() == normal
    uniform = {"minval": -0.05, "maxval": 0.05, "seed": 3, "dtype": "float16"}
    assert initializers.RandomUniform(seed=3, dtype="float16").get_config() == uniform
    glorot = {"class_name": "GlorotUniform", "config": {"seed": 3, "dtype": "float32"}}
    assert initializers.serialize(initializers.GlorotUniform(seed=3)) == glorot
    constant = {"class_name": "Constant", "config": {"value": 2.0, "dtype": "float32"}}
    assert initializers.serialize(initializers.Constant(2.0)) == constant


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", _SPREADS)
def test_random_values_have_the_spread_of_their_distribution(name, mode):
    initializer = initializers.deserialize({"class_name": name, "config": {"seed": 3}})
    value = evaluate(mode, lambda: initializer([50, 100], dtype=tf.float32))
    assert value.dtype == np.float32
    stddev, bound = _SPREADS[name]
    np.testing.assert_allclose(value.std(), stddev, rtol=0.05)
    np.testing.assert_allclose(value.mean(), 0.0, atol=stddev / 10)
    assert np.abs(value).max() <= bound * 1.001


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "initializer, expected",
    [
        (initializers.Zeros(), [[0, 0, 0], [0, 0, 0]]),
        (initializers.Ones(), [[1, 1, 1], [1, 1, 1]]),
        (initializers.Constant(2), [[2, 2, 2], [2, 2, 2]]),
        (initializers.Identity(3.0), [[3, 0, 0], [0, 3, 0]]),
    ],
)
def test_values_that_are_not_random(initializer, expected, mode):
    np.testing.assert_array_equal(evaluate(mode, lambda: initializer((2, 3))), np.array(expected, np.float32))


@pytest.mark.parametrize("mode", MODES)
def test_the_rows_of_an_orthogonal_value_are_orthogonal(mode):
    value = evaluate(mode, lambda: initializers.Orthogonal(gain=2.0, seed=3)([3, 5]))
    np.testing.assert_allclose(value @ value.T, 4 * np.eye(3), atol=1e-5)


def test_the_type_of_the_call_wins(eager):
    for name in ("zeros", "random_uniform", "glorot_uniform", "orthogonal"):
        initializer = initializers.get(name)
        assert initializer([2, 2]).dtype == tf.float32
        assert initializer([2, 2], dtype=tf.float64, partition_info=None).dtype == tf.float64


def test_a_seed_repeats_the_values():
    def values():
        with tf.Graph().as_default(), tf.Session() as session:
            return session.run(initializers.RandomNormal(seed=3)([4]))

    np.testing.assert_array_equal(values(), values())


def test_a_class_is_called_and_a_callable_is_itself():
    assert type(initializers.get(initializers.Ones)) is initializers.Ones
    initializer = initializers.Ones()
    assert initializers.get(initializer) is initializer
    assert initializers.get(tf.zeros) is tf.zeros
    assert initializers.get(None) is None


def test_an_initializer_of_the_program_is_found_in_its_scope():
    class Halves(initializers.Initializer):
        def __call__(self, shape, dtype=None, partition_info=None):
            return tf.fill(shape, tf.cast(0.5, dtype))

        def get_config(self):
            return {}

    config = initializers.serialize(Halves())
    assert config == {"class_name": "Halves", "config": {}}
    assert type(initializers.deserialize(config, {"Halves": Halves})) is Halves
    with custom_object_scope({"Halves": Halves}):
        assert type(initializers.get("Halves")) is Halves
        assert type(initializers.get(config)) is Halves


def test_what_is_no_initializer_is_refused():
    with pytest.raises(ValueError, match="Could not interpret initializer identifier: 3"):
        initializers.get(3)
    with pytest.raises(ValueError, match="Unknown initializer: halves"):
        initializers.get("halves")


def test_keras_and_variables_share_the_initializers_without_other_defaults():
    assert initializers.Zeros is tf.zeros_initializer
    assert initializers.GlorotUniform is tf.glorot_uniform_initializer
    assert issubclass(initializers.RandomNormal, tf.random_normal_initializer)

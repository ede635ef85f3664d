"""Constraints: values of the real Keras, configurations, and names."""

import numpy as np
import pytest

import thalweg as tf
from tests.keras.modes import MODES, evaluate
from thalweg._src.keras import constraints

_W = np.array([[3.0, -1.0, 0.1], [4.0, 2.0, 0.2]], np.float32)

# What tf_keras 2.21 makes of _W.
_VALUES = [
    (constraints.MaxNorm(2.0), [[1.2, -0.8944272, 0.09999996], [1.6, 1.7888544, 0.19999991]]),
    (constraints.MaxNorm(2.0, axis=1), [[1.8964187, -0.63213956, 0.06321396], [1.7870682, 0.8935341, 0.08935341]]),
    (constraints.NonNeg(), [[3.0, 0.0, 0.1], [4.0, 2.0, 0.2]]),
    (constraints.UnitNorm(), [[0.6, -0.4472136, 0.44721338], [0.8, 0.8944272, 0.89442676]]),
    (
        constraints.UnitNorm(axis=[0, 1]),
        [[0.54726666, -0.18242222, 0.01824222], [0.7296889, 0.36484444, 0.03648445]],
    ),
    (constraints.MinMaxNorm(1.0, 2.0), [[1.2, -0.8944272, 0.44721338], [1.6, 1.7888544, 0.89442676]]),
    (constraints.MinMaxNorm(1.0, 2.0, 0.5), [[2.1, -0.94721353, 0.27360666], [2.8, 1.8944271, 0.5472133]]),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("constraint, expected", _VALUES)
def test_a_constraint_has_the_values_of_keras(constraint, expected, mode):
    np.testing.assert_allclose(evaluate(mode, constraint, _W), expected, rtol=2e-6)


@pytest.mark.parametrize("constraint", [constraint for constraint, _ in _VALUES])
def test_a_configuration_makes_an_equal_constraint(constraint):
    config = constraints.serialize(constraint)
    copy = constraints.get(config)
    assert type(copy) is type(constraint)
    assert config == {"class_name": type(constraint).__name__, "config": copy.get_config()}


def test_a_configuration_has_all_arguments():
    assert constraints.MaxNorm().get_config() == {"max_value": 2, "axis": 0}
    assert constraints.NonNeg().get_config() == {}
    assert constraints.UnitNorm(1).get_config() == {"axis": 1}
    expected = {"min_value": 0.0, "max_value": 1.0, "rate": 1.0, "axis": 0}
    assert constraints.MinMaxNorm().get_config() == expected


@pytest.mark.parametrize(
    "name, kind",
    [
        ("max_norm", constraints.MaxNorm),
        ("MaxNorm", constraints.MaxNorm),
        ("non_neg", constraints.NonNeg),
        ("unit_norm", constraints.UnitNorm),
        ("min_max_norm", constraints.MinMaxNorm),
        ("radial_constraint", constraints.RadialConstraint),
        ("RadialConstraint", constraints.RadialConstraint),
    ],
)
def test_a_constraint_is_found_by_name(name, kind):
    assert type(constraints.get(name)) is kind


def test_none_stays_none_and_a_callable_is_itself():
    assert constraints.get(None) is None
    assert constraints.get(tf.nn.relu) is tf.nn.relu
    constraint = constraints.Constraint()
    assert constraints.get(constraint) is constraint
    assert constraint(3) == 3


def test_what_is_no_constraint_is_refused():
    with pytest.raises(ValueError, match="Could not interpret constraint identifier: 3"):
        constraints.get(3)
    with pytest.raises(ValueError, match="Unknown constraint: round"):
        constraints.get("round")


def test_a_constraint_keeps_the_type_and_takes_variables(eager):
    w = tf.Variable(_W.astype(np.float64), use_resource=True)
    for constraint, _ in _VALUES:
        assert constraint(w).dtype == tf.float64


def test_weights_that_are_zero_stay_zero(eager):
    zeros = np.zeros([2, 2], np.float32)
    for constraint, _ in _VALUES:
        np.testing.assert_array_equal(constraint(zeros).numpy(), zeros)


# What tf_keras 2.21 makes of a square window that counts its places by rows.
_RINGS = {
    2: [[0, 0], [0, 0]],
    3: [[4, 4, 4], [4, 0, 4], [4, 4, 4]],
    4: [[15, 15, 15, 15], [15, 5, 5, 15], [15, 5, 5, 15], [15, 15, 15, 15]],
    5: [[18, 18, 18, 18, 18], [18, 12, 12, 12, 18], [18, 12, 6, 12, 18], [18, 12, 12, 12, 18], [18, 18, 18, 18, 18]],
    6: [
        [35, 35, 35, 35, 35, 35],
        [35, 28, 28, 28, 28, 35],
        [35, 28, 14, 14, 28, 35],
        [35, 28, 14, 14, 28, 35],
        [35, 28, 28, 28, 28, 35],
        [35, 35, 35, 35, 35, 35],
    ],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", _RINGS)
def test_a_radial_constraint_makes_each_ring_of_each_kernel_constant(size, mode):
    window = np.arange(size * size, dtype=np.float32).reshape(size, size, 1, 1)
    kernels = window + 100 * np.arange(6, dtype=np.float32).reshape(2, 3)
    value = evaluate(mode, constraints.RadialConstraint(), kernels)
    expected = np.array(_RINGS[size], np.float32)[:, :, None, None] + (kernels - window)
    np.testing.assert_array_equal(value, expected)


def test_a_window_of_one_place_stays_under_a_radial_constraint(eager):
    kernels = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    np.testing.assert_array_equal(constraints.RadialConstraint()(kernels).numpy(), kernels)


@pytest.mark.parametrize("shape, message", [((3, 3), "must be of rank 4"), ((3, 5, 1, 1), "needs a square window")])
def test_a_radial_constraint_refuses_what_has_no_rings(shape, message):
    with pytest.raises(ValueError, match=message):
        constraints.RadialConstraint()(np.zeros(shape, np.float32))

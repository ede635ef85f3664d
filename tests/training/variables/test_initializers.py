"""Initializers: values, distributions, dtypes and configurations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from thalweg._src.base import dtypes
from thalweg._src.graph.graph import Graph
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.variables import initializers as init


def value_of(initializer: Any, shape: Any, dtype: Any = None) -> np.ndarray:
    with Graph().as_default():
        tensor = initializer(shape, dtype=dtype)
        assert tensor.shape.as_list() == list(shape)
        with Session() as session:
            return np.asarray(session.run(tensor))


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool])
def test_zeros_and_ones(dtype: Any) -> None:
    for initializer, expected in ((init.Zeros(), 0), (init.Ones(), 1)):
        value = value_of(initializer, (2, 3), dtype)
        assert value.dtype == dtype.as_numpy_dtype and (value == expected).all()
    assert value_of(init.Zeros(dtypes.int64), ()).dtype == np.int64


def test_constant() -> None:
    assert value_of(init.Constant(3), (2,)).tolist() == [3, 3]
    assert value_of(init.Constant([1, 2, 3]), (2, 2)).tolist() == [[1, 2], [3, 3]]
    assert value_of(init.Constant(np.arange(4)), (2, 2), dtypes.int32).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(TypeError, match="a constant initializer takes"):
        init.Constant(object())
    with pytest.raises(TypeError, match="shape"):
        value_of(init.Constant([1, 2], verify_shape=True), (4,))


def test_random_values_have_their_moments() -> None:
    uniform = value_of(init.RandomUniform(-2.0, 4.0, seed=1), (20000,))
    assert uniform.min() >= -2 and uniform.max() < 4 and abs(uniform.mean() - 1) < 0.05
    whole = value_of(init.RandomUniform(2, 5, seed=1, dtype=dtypes.int32), (1000,))
    assert set(whole.tolist()) == {2, 3, 4}
    normal = value_of(init.RandomNormal(1.0, 2.0, seed=1), (20000,))
    assert abs(normal.mean() - 1) < 0.05 and abs(normal.std() - 2) < 0.05
    cut = value_of(init.TruncatedNormal(1.0, 2.0, seed=1), (20000,))
    assert abs(cut - 1).max() <= 4 and abs(cut.std() - 2 * 0.8796) < 0.05
    unit = value_of(init.UniformUnitScaling(2.0, seed=1), (10, 20, 30))
    assert abs(abs(unit).max() - 2 * math.sqrt(3 / 200)) < 0.01


@pytest.mark.parametrize(
    ("initializer", "variance"),
    [
        (init.VarianceScaling(3.0, "fan_in", seed=1), 3 / 100),
        (init.VarianceScaling(3.0, "fan_out", "normal", seed=1), 3 / 300),
        (init.VarianceScaling(3.0, "fan_avg", "untruncated_normal", seed=1), 3 / 200),
        (init.VarianceScaling(3.0, "fan_avg", "uniform", seed=1), 3 / 200),
        (init.GlorotUniform(seed=1), 1 / 200),
        (init.GlorotNormal(seed=1), 1 / 200),
        (init.he_normal(seed=1), 2 / 100),
        (init.he_uniform(seed=1), 2 / 100),
        (init.lecun_normal(seed=1), 1 / 100),
        (init.lecun_uniform(seed=1), 1 / 100),
    ],
)
def test_variance_scaling(initializer: Any, variance: float) -> None:
    assert value_of(initializer, (100, 300)).var() == pytest.approx(variance, rel=0.05)


def test_fans_of_other_ranks() -> None:
    uniform = init.VarianceScaling(1.0, "fan_in", "uniform", seed=1)
    assert abs(value_of(uniform, (3, 3, 5, 7))).max() == pytest.approx(math.sqrt(3 / 45), rel=0.05)
    assert abs(value_of(uniform, (400,))).max() == pytest.approx(math.sqrt(3 / 400), rel=0.05)
    value_of(uniform, ())
    value_of(uniform, (0, 4))


def test_identity() -> None:
    assert value_of(init.Identity(2.0), (2, 3)).tolist() == [[2, 0, 0], [0, 2, 0]]
    with pytest.raises(ValueError, match="rank 2"):
        value_of(init.Identity(), (2,))


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="positive"):
        init.VarianceScaling(0)
    with pytest.raises(ValueError, match="mode"):
        init.VarianceScaling(mode="fan")
    with pytest.raises(ValueError, match="distribution"):
        init.VarianceScaling(distribution="other")
    for kind in (init.RandomNormal, init.TruncatedNormal, init.UniformUnitScaling, init.VarianceScaling, init.Identity):
        with pytest.raises(ValueError, match="floating point"):
            kind(dtype=dtypes.int32)
    with pytest.raises(ValueError, match="fully defined"):
        value_of(init.GlorotUniform(), (None, 2))


@pytest.mark.parametrize(
    "initializer",
    [
        init.Zeros(dtypes.int32),
        init.Ones(),
        init.Constant([1, 2]),
        init.RandomUniform(0, 2, seed=3),
        init.RandomNormal(1.0, 2.0, seed=3),
        init.TruncatedNormal(1.0, 2.0, seed=3, dtype=dtypes.float64),
        init.UniformUnitScaling(2.0, seed=3),
        init.VarianceScaling(2.0, "fan_out", "uniform", seed=3),
        init.GlorotUniform(seed=3),
        init.GlorotNormal(seed=3),
        init.Identity(3.0),
    ],
)
def test_an_initializer_can_be_recreated_from_its_config(initializer: Any) -> None:
    config = initializer.get_config()
    again = type(initializer).from_config(config)
    assert again.get_config() == config
    np.testing.assert_array_equal(value_of(again, (3, 3)), value_of(initializer, (3, 3)))


def test_the_named_initializers() -> None:
    assert init.zeros_initializer is init.Zeros and init.glorot_uniform_initializer is init.GlorotUniform
    assert init.variance_scaling_initializer is init.VarianceScaling

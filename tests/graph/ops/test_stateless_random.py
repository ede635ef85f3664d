import numpy as np
import pytest

from thalweg import random
from thalweg._src.base import errors
from thalweg._src.graph.ops.constants import placeholder_with_default
from thalweg._src.runtime.session.session import Session

SEED = [3, 7]


def run(value):
    with Session() as session:
        return session.run(value)


CALLS = {
    "binomial": (lambda seed: random.stateless_binomial([5000, 2], seed, [10.0, 20.0], 0.3), [3, 6], [2.1, 4.2]),
    "gamma": (lambda seed: random.stateless_gamma([5000, 2], seed, [2.0, 4.0], 2.0), [1, 2], [0.5, 1]),
    "poisson": (lambda seed: random.stateless_poisson([5000, 2], seed, [2.0, 9.0]), [2, 9], [2, 9]),
    "truncated": (
        lambda seed: random.stateless_parameterized_truncated_normal([5000, 2], seed, [0.0, 5.0]),
        [0, 1.717],
        [0.774, 0.0706],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_moments_and_seeds(name: str) -> None:
    call, mean, variance = CALLS[name]
    sample = call(SEED)
    assert sample.shape == (5000, 2)
    value = run(sample)
    np.testing.assert_array_equal(value, run(call(SEED)))
    assert (value != run(call([3, 8]))).any()
    np.testing.assert_allclose(value.mean(0), mean, rtol=0.05, atol=0.05)
    np.testing.assert_allclose(value.var(0), variance, rtol=0.1)


def test_types() -> None:
    assert run(random.stateless_binomial([2], SEED, 5.0, 0.5)).dtype == np.int32
    assert run(random.stateless_poisson([2], SEED, 5.0, dtype="float64")).dtype == np.float64
    assert run(random.stateless_gamma([2], SEED, 5.0, dtype="float16")).dtype == np.float16


def test_limits() -> None:
    value = run(random.stateless_parameterized_truncated_normal([1000], SEED, 0.0, 1.0, 8.0, 9.0))
    assert value.min() >= 8 and value.max() <= 9 and value.std() > 0.05
    with pytest.raises(errors.InvalidArgumentError, match="minvals < maxvals"):
        run(random.stateless_parameterized_truncated_normal([2], SEED, 0.0, 1.0, 1.0, 1.0))


def test_the_shape_ends_with_that_of_the_parameters() -> None:
    with pytest.raises(ValueError, match="a suffix of"):
        random.stateless_poisson([3, 2], SEED, [1.0, 2.0, 3.0])
    with pytest.raises(errors.InvalidArgumentError, match="a suffix of"):
        run(random.stateless_poisson([3, 2], SEED, placeholder_with_default(np.ones(3, np.float32), None)))


def test_new_seeds() -> None:
    seeds = random.split(SEED, 3)
    assert seeds.shape == (3, 2) and seeds.dtype.name == "int32"
    assert len(np.unique(run(seeds))) == 6
    first, second = run(random.fold_in(SEED, 1)), run(random.fold_in([4, 7], 1))
    assert first[1] == second[1] == 1 and first[0] != second[0]

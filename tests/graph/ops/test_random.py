from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.random import (
    categorical,
    multinomial,
    random_crop,
    random_gamma,
    random_normal,
    random_poisson,
    random_shuffle,
    random_uniform,
    stateless_categorical,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
    truncated_normal,
)
from thalweg._src.graph.seeds import DEFAULT_GRAPH_SEED, get_seed, set_random_seed
from thalweg._src.runtime.session.session import Session

MANY = 40_000


@pytest.fixture(autouse=True)
def own_graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def run(tensors: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(tensors, feeds)


def in_two_graphs(build: Callable[[], Any], seed: int | None) -> tuple[Any, Any]:
    results = []
    for _ in range(2):
        with Graph().as_default():
            set_random_seed(seed)
            results.append(run(build()))
    return results[0], results[1]


# -- seeds ---------------------------------------------------------------------------------------------------------


def test_pair_of_seeds(own_graph: Graph) -> None:
    assert get_seed(None) == (None, None)
    assert get_seed(5) == (DEFAULT_GRAPH_SEED, 5)
    set_random_seed(7)
    assert own_graph.seed == 7
    assert get_seed(5) == (7, 5)
    assert get_seed(None) == (7, 0)
    constant(1.0)
    assert get_seed(None) == (7, 1)
    assert get_seed(2**31 + 3) == (7, 4)
    set_random_seed(0)
    assert get_seed(0) == (0, 2**31 - 1)


def test_seeds_are_attributes() -> None:
    set_random_seed(7)
    op = random_uniform([2], seed=3).op
    assert (op.get_attr("seed"), op.get_attr("seed2")) == (7, 3)


BUILDERS = {
    "uniform": lambda **seed: random_uniform([4], **seed),
    "integers": lambda **seed: random_uniform([4], maxval=2**30, dtype=dtypes.int32, **seed),
    "normal": lambda **seed: random_normal([4], **seed),
    "truncated": lambda **seed: truncated_normal([4], **seed),
    "shuffle": lambda **seed: random_shuffle(np.arange(50), **seed),
    "gamma": lambda **seed: random_gamma([4], [1.5, 2.5], **seed),
    "poisson": lambda **seed: random_poisson([100.0], [9], **seed),
    "multinomial": lambda **seed: multinomial(np.zeros([2, 9], np.float32), 20, **seed),
    "categorical": lambda **seed: categorical(np.zeros([2, 9], np.float32), 20, **seed),
    "crop": lambda **seed: random_crop(np.arange(10000).reshape(100, 100), [2, 3], **seed),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_each_session_repeats_a_seeded_sequence(name: str) -> None:
    numbers = BUILDERS[name](seed=3)
    with Session() as first, Session() as second:
        a = [first.run(numbers) for _ in range(3)]
        b = [second.run(numbers) for _ in range(3)]
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a[0], a[1])


@pytest.mark.parametrize("name", BUILDERS)
def test_without_a_seed_each_session_differs(name: str) -> None:
    numbers = BUILDERS[name]()
    assert not np.array_equal(run(numbers), run(numbers))


def test_sequence_does_not_depend_on_other_fetches() -> None:
    numbers = random_uniform([3], seed=1)
    doubled = numbers + numbers
    with Session() as session:
        separate = [session.run(numbers), session.run(doubled) / 2]
    with Session() as session:
        alone = [session.run(numbers), session.run(numbers)]
    np.testing.assert_allclose(separate, alone)


def test_graph_seed_makes_graphs_equal_and_operations_differ() -> None:
    def build() -> Any:
        return [random_uniform([4]), random_uniform([4]), random_normal([4])]

    first, second = in_two_graphs(build, 9)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    other, _ = in_two_graphs(build, 10)
    assert not np.array_equal(first[0], other[0])


def test_operation_seed_counts_without_and_with_a_graph_seed() -> None:
    def build() -> Any:
        return [random_uniform([4], seed=1), random_uniform([4], seed=1), random_uniform([4], seed=2)]

    (a, b, c), again = in_two_graphs(build, None)
    np.testing.assert_array_equal([a, b, c], again)
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    with_graph_seed, _ = in_two_graphs(build, 5)
    assert not np.array_equal(a, with_graph_seed[0])


def test_one_value_in_a_step_for_all_its_consumers() -> None:
    numbers = random_uniform([5])
    difference, value = run([numbers - numbers, numbers])
    np.testing.assert_array_equal(difference, np.zeros(5))
    assert len(set(value.tolist())) == 5


# -- distributions -------------------------------------------------------------------------------------------------


def within(value: float, expected: float, deviation: float) -> None:
    """Accepts a sample mean within five standard errors."""
    assert abs(value - expected) < 5 * deviation / np.sqrt(MANY), f"{value} is not near {expected}"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform(dtype: str) -> None:
    value = run(random_uniform([MANY // 10, 10], -1, 3, dtype, seed=1))
    assert value.dtype == dtypes.as_dtype(dtype).as_numpy_dtype and value.shape == (MANY // 10, 10)
    value = value.astype(np.float64)
    assert value.min() >= -1 and value.max() <= 3
    within(value.mean(), 1, 4 / np.sqrt(12) + (0.5 if dtype == "bfloat16" else 0))
    unit = run(random_uniform([MANY], seed=1))
    assert unit.min() >= 0 and unit.max() < 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_normal(dtype: str) -> None:
    value = run(random_normal([MANY], 2, 3, dtype, seed=1))
    assert value.dtype == dtypes.as_dtype(dtype).as_numpy_dtype
    value = value.astype(np.float64)
    within(value.mean(), 2, 3.1)
    within(value.var(), 9, 9 * np.sqrt(2) * 1.1)
    within(np.mean(((value - 2) / 3) ** 3), 0, 4.5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_truncated_normal(dtype: str) -> None:
    value = run(truncated_normal([MANY], dtype=dtype, seed=1)).astype(np.float64)
    assert np.abs(value).max() <= 2
    assert np.abs(value).max() > 1.98
    within(value.mean(), 0, 1)
    within(value.var(), 0.7737413, 1)
    within(np.mean(np.abs(value) < 1), 0.6826895 / 0.9544997, 0.5)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(dtype: str) -> None:
    value = run(random_uniform([MANY], -3, 4, dtype, seed=1))
    assert value.dtype == dtype
    counts = np.bincount(value + 3, minlength=7)
    assert len(counts) == 7
    for count in counts:
        within(count / MANY, 1 / 7, np.sqrt(6) / 7)


@pytest.mark.parametrize(
    "dtype, low, high",
    [("int32", -(2**31), 2**31 - 1), ("int64", -(2**63), 2**63 - 1), ("int64", 0, 3 * 2**61), ("int32", 0, 3 * 2**29)],
)
def test_wide_ranges_are_unbiased(dtype: str, low: int, high: int) -> None:
    value = run(random_uniform([MANY], low, high, dtype, seed=1))
    assert value.min() >= low and value.max() < high
    quarters = np.floor((value.astype(np.float64) - low) / (float(high) - low) * 4)
    for quarter in range(4):
        within(np.mean(quarters == quarter), 0.25, np.sqrt(3) / 4)


def test_gamma() -> None:
    value = run(random_gamma([MANY], [0.5, 4.0], [[2.0], [1.0]], seed=1))
    assert value.shape == (MANY, 2, 2) and value.min() > 0
    for i, beta in enumerate((2.0, 1.0)):
        for j, alpha in enumerate((0.5, 4.0)):
            within(value[:, i, j].mean(), alpha / beta, np.sqrt(alpha) / beta)
            within(value[:, i, j].var(), alpha / beta**2, np.sqrt(6 / alpha + 2) * alpha / beta**2)


def test_scalar_gamma() -> None:
    assert run(random_gamma([], 2.0, seed=1)).shape == ()


def test_gradient_of_gamma_by_its_parameters() -> None:
    alpha = placeholder("float64", [2])
    mean = random_gamma([MANY], alpha, constant(2.0, "float64"), dtypes.float64, seed=1) / MANY
    (grad,) = gradients(mean, alpha)
    np.testing.assert_allclose(run(grad, {alpha: [1.0, 3.0]}), [0.5, 0.5], rtol=0.05)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_poisson(dtype: str) -> None:
    value = run(random_poisson([0.5, 20.0], [MANY], dtype, seed=1))
    assert value.shape == (MANY, 2) and value.dtype == dtype
    for i, rate in enumerate((0.5, 20.0)):
        within(value[:, i].astype(np.float64).mean(), rate, np.sqrt(rate))
        within(value[:, i].astype(np.float64).var(), rate, np.sqrt(rate * (1 + 2 * rate) + rate))


@pytest.mark.parametrize("dtype", [None, "int32"])
def test_categorical(dtype: str | None) -> None:
    chances = np.array([[0.2, 0.0, 0.5, 0.3], [1.0, 0.0, 0.0, 0.0]])
    with np.errstate(divide="ignore"):
        logits = np.log(chances).astype(np.float32) + 100
    value = run(categorical(logits, MANY, dtype, seed=1))
    assert value.shape == (2, MANY) and value.dtype == (dtype or "int64")
    for row, wanted in zip(value, chances):
        counts = np.bincount(row, minlength=4) / MANY
        assert counts[1] == 0
        for count, chance in zip(counts, wanted):
            within(count, chance, np.sqrt(chance * (1 - chance)) + 1e-9)


def test_shuffle_permutes_rows() -> None:
    x = np.arange(60).reshape(20, 3)
    value = run(random_shuffle(x, seed=1))
    assert not np.array_equal(value, x)
    np.testing.assert_array_equal(value[np.argsort(value[:, 0])], x)
    words = run(random_shuffle([str(i) for i in range(20)], seed=1))
    assert sorted(words) == sorted(str(i).encode() for i in range(20))
    assert run(random_shuffle(constant(3.0))) == 3
    assert run(random_shuffle(np.zeros([0, 2]))).shape == (0, 2)


def test_shuffle_produces_every_permutation() -> None:
    order = random_shuffle([0, 1, 2], seed=1)
    with Session() as session:
        seen = {tuple(session.run(order).tolist()) for _ in range(200)}
    assert len(seen) == 6


def test_crop() -> None:
    x = np.arange(20).reshape(4, 5)
    crop = random_crop(x, [2, 3], seed=1)
    assert crop.shape.as_list() == [2, 3]
    with Session() as session:
        values = [session.run(crop) for _ in range(60)]
    corners = {int(v[0, 0]) for v in values}
    assert corners == {row * 5 + column for row in range(3) for column in range(3)}
    for value in values:
        np.testing.assert_array_equal(value - value[0, 0], [[0, 1, 2], [5, 6, 7]])


def test_crop_larger_than_the_input() -> None:
    x = placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match=r"Need value\.shape >= size"):
        run(random_crop(x, [3, 2]), {x: np.zeros([2, 2])})


# -- stateless -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [stateless_uniform, stateless_normal, stateless_truncated_normal])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_stateless_numbers_are_a_function_of_the_seed(build: Any, dtype: str) -> None:
    seed = placeholder("int64", [2])
    numbers = build([5], seed, dtype=dtype)
    with Session() as session:
        a, again = session.run(numbers, {seed: [1, 2]}), session.run(numbers, {seed: [1, 2]})
        b, c = session.run(numbers, {seed: [2, 1]}), session.run(numbers, {seed: [-1, 2]})
    np.testing.assert_array_equal(a, again)
    assert not np.array_equal(a, b) and not np.array_equal(a, c)
    assert a.dtype == dtypes.as_dtype(dtype).as_numpy_dtype


def test_stateless_distributions() -> None:
    uniform, normal = stateless_uniform([MANY], [1, 2], -1, 3), stateless_normal([MANY], [1, 2], 5, 2)
    integers = stateless_uniform([MANY], [3, 4], 0, 5, dtypes.int32)
    classes = stateless_categorical([[0.0, 0.0]], MANY, [5, 6])
    u, n, i, k = run([uniform, normal, integers, classes])
    within(u.mean(), 1, 4 / np.sqrt(12))
    within(n.mean(), 5, 2)
    within(i.mean(), 2, np.sqrt(2))
    within(k.mean(), 0.5, 0.5)
    assert u.min() >= -1 and u.max() <= 3 and set(i.tolist()) == set(range(5))
    with pytest.raises(ValueError, match="two seeds"):
        stateless_uniform([2], [1, 2, 3])


# -- shapes and errors ---------------------------------------------------------------------------------------------


def test_shapes() -> None:
    size = placeholder("int32", [])
    sizes = placeholder("int64", [None])
    assert random_uniform([]).shape.as_list() == []
    assert random_normal((2, 3)).shape.as_list() == [2, 3]
    assert random_uniform([2, size]).shape.as_list() == [2, None]
    assert random_uniform(sizes).shape.dims is None
    assert random_poisson([1.0, 2.0], [3]).shape.as_list() == [3, 2]
    assert multinomial(np.zeros([2, 3], np.float32), size).shape.as_list() == [2, None]
    assert run(random_uniform([2, size]), {size: 3}).shape == (2, 3)
    assert run(truncated_normal(sizes), {sizes: [0, 4]}).shape == (0, 4)
    assert run(random_normal([])).shape == ()
    assert run(multinomial(np.zeros([2, 3], np.float32), size), {size: 0}).shape == (2, 0)


def test_names() -> None:
    assert random_uniform([2]).op.name == "random_uniform"
    assert random_normal([2]).op.name == "random_normal"
    assert random_normal([2]).op.name == "random_normal_1"
    assert truncated_normal([2], name="w").op.name == "w"
    assert random_shuffle([1, 2]).op.name == "RandomShuffle"


def test_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="maxval is missing: int32"):
        random_uniform([2], dtype=dtypes.int32)
    for build in (random_uniform, random_normal, truncated_normal):
        with pytest.raises(ValueError, match="Invalid dtype"):
            build([2], dtype=dtypes.int8)
    with pytest.raises(ValueError, match="minval 3 is not less than maxval 3"):
        random_uniform([2], 3, 3, dtypes.int32)
    with pytest.raises(ValueError, match="negative dimension"):
        random_uniform([2, -1])
    with pytest.raises(ValueError, match="expected: a vector"):
        random_uniform(constant([[1, 2]]))
    with pytest.raises(ValueError, match="rank"):
        multinomial([1.0, 2.0], 3)
    with pytest.raises(ValueError, match="no classes"):
        multinomial(np.zeros([2, 0], np.float32), 3)


def test_invalid_arguments_in_a_step() -> None:
    limit, sizes, logits = placeholder("int32"), placeholder("int32"), placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match="minval"):
        run(random_uniform([2], 3, limit, dtypes.int32), {limit: 3})
    with pytest.raises(errors.InvalidArgumentError, match="negative"):
        run(random_uniform(sizes), {sizes: [2, -1]})
    with pytest.raises(errors.InvalidArgumentError):
        run(multinomial(logits, 2), {logits: np.zeros([2, 0])})
    with pytest.raises(errors.InvalidArgumentError):
        run(multinomial(logits, 2), {logits: np.zeros([2])})

from itertools import pairwise

import numpy as np
import pytest
import torch

from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.fractional_pooling import (
    fractional_avg_pool,
    fractional_avg_pool_grad,
    fractional_max_pool,
    fractional_max_pool_grad,
)
from thalweg._src.runtime.kernels.philox import Philox
from thalweg._src.runtime.session.session import Session

RATIO = [1.0, 1.44, 1.73, 1.0]
IMAGE = np.random.default_rng(0).normal(size=(2, 7, 9, 3))


def test_generator() -> None:
    """The published answers of Philox 4x32-10 for zeros, and for a counter and key of ones."""
    assert list(Philox(0, 0).reserve(4)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    stream = Philox(-1, -1)
    stream._low = 2**64 - 1
    assert list(stream.reserve(1)) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("pool", [fractional_max_pool, fractional_avg_pool])
def test_pools_and_gradients(pool, overlapping: bool, pseudo_random: bool) -> None:
    x = constant(IMAGE)
    result, rows, columns = pool(x, RATIO, pseudo_random, overlapping, deterministic=True, seed=5, seed2=2)
    assert result.shape == (2, 4, 5, 3) and rows.shape == (5,) and columns.shape == (6,)
    (grad,) = gradients(result * result, x)
    with Session() as session:
        value, first, second, slope = session.run([result, rows, columns, grad])
    image = torch.from_numpy(IMAGE).requires_grad_()
    reduce = (lambda w: w.amax((1, 2))) if pool is fractional_max_pool else (lambda w: w.mean((1, 2)))
    more = int(overlapping)
    expected = torch.stack(
        [
            torch.stack([reduce(image[:, a : b + more, c : d + more]) for c, d in pairwise(second.tolist())], 1)
            for a, b in pairwise(first.tolist())
        ],
        1,
    )
    np.testing.assert_allclose(value, expected.detach())
    (expected * expected).sum().backward()
    np.testing.assert_allclose(slope, image.grad, atol=1e-12)


def test_sequences_match_tensorflow() -> None:
    with Session() as session:
        shuffled = session.run(fractional_max_pool(IMAGE, RATIO, deterministic=True, seed=1, seed2=2)[1:])
        steps = session.run(fractional_max_pool(IMAGE, RATIO, True, deterministic=True, seed=1, seed2=2)[1:])
    assert [s.tolist() for s in shuffled] == [[0, 1, 3, 5, 7], [0, 2, 4, 6, 7, 9]]
    assert [s.tolist() for s in steps] == [[0, 2, 3, 5, 7], [0, 2, 3, 5, 7, 9]]


@pytest.mark.parametrize("fixed", [True, False])
def test_random_unless_deterministic(fixed: bool) -> None:
    image = placeholder("float32", [1, 101, 3, 1])
    rows = fractional_max_pool(image, [1.0, 1.5, 1.0, 1.0], deterministic=fixed)[1]
    with Session() as session:
        drawn = {tuple(session.run(rows, {image: np.zeros((1, 101, 3, 1))}).tolist()) for _ in range(3)}
    assert len(drawn) == (1 if fixed else 3)


def test_integers() -> None:
    image = np.arange(12, dtype=np.int32).reshape(1, 4, 3, 1)
    with Session() as session:
        value = session.run(fractional_avg_pool(image, [1.0, 2.0, 1.0, 1.0], deterministic=True, seed=1)[0])
    assert value[0, :, :, 0].tolist() == [[1, 2, 3], [7, 8, 9]]


def test_infinite_gradients_stay_in_their_window() -> None:
    grad = np.array([np.inf, 6, 1, 2]).reshape(1, 2, 2, 1)
    with Session() as session:
        value = session.run(fractional_avg_pool_grad([1, 3, 4, 1], grad, [0, 1, 3], [0, 1, 4]))
    assert value[0, :, :, 0].tolist() == [[np.inf, 2, 2, 2], [0.5, 1 / 3, 1 / 3, 1 / 3], [0.5, 1 / 3, 1 / 3, 1 / 3]]


def test_errors() -> None:
    with pytest.raises(ValueError, match="non-negative sizes"):
        fractional_avg_pool_grad([1, -4, 5, 1], np.zeros((1, 2, 2, 1)), [0, 2, 4], [0, 2, 5])
    with pytest.raises(ValueError, match="at least one element"):
        fractional_max_pool_grad(IMAGE[:0], IMAGE[:0, :2, :2], IMAGE[:0, :2, :2], [0, 3, 7], [0, 4, 9])
    with pytest.raises(ValueError, match="none unless deterministic"):
        fractional_max_pool(IMAGE, RATIO, seed=1)
    with pytest.raises(ValueError, match="1 for batch and channels"):
        fractional_max_pool(IMAGE, [2.0, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="at least 1"):
        fractional_max_pool(IMAGE, [1.0, 0.5, 1.0, 1.0])
    with pytest.raises(errors.InvalidArgumentError, match="from 0 up to 7"), Session() as session:
        pooled = IMAGE[:, :2, :2]
        session.run(fractional_max_pool_grad(IMAGE, pooled, pooled, [0, 3, 6], [0, 4, 9]))

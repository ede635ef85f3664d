import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.checks import check_op
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops import pooling
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session


def array(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def run(build, *arrays: np.ndarray):
    with Graph().as_default():
        inputs = [placeholder(a.dtype) for a in arrays]
        with Session() as session:
            return session.run(build(*inputs), dict(zip(inputs, arrays)))


def padded(x: torch.Tensor, kernel, stride: int, padding: str, value: float) -> torch.Tensor:
    """Returns channels-last images as NC..., padded as SAME asks."""
    x = x.movedim(-1, 1)
    if padding == "VALID":
        return x
    pads: list[int] = []
    for size, extent in zip(x.shape[2:], kernel):
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        pads = [total // 2, total - total // 2, *pads]
    return F.pad(x, pads, value=value)


def largest(x: torch.Tensor, kernel, stride: int, padding: str) -> torch.Tensor:
    pool = F.max_pool2d if len(kernel) == 2 else F.max_pool3d
    return pool(padded(x, kernel, stride, padding, -torch.inf), kernel, stride).movedim(1, -1)


def mean(x: torch.Tensor, kernel, stride: int, padding: str) -> torch.Tensor:
    pool = F.avg_pool2d if len(kernel) == 2 else F.avg_pool3d
    share = pool(padded(torch.ones_like(x), kernel, stride, padding, 0), kernel, stride)
    return (pool(padded(x, kernel, stride, padding, 0), kernel, stride) / share).movedim(1, -1)


CASES = [
    # size, kernel, stride, padding
    ((4, 6), (2, 2), 2, "SAME"),
    ((4, 6), (2, 2), 2, "VALID"),
    ((5, 7), (2, 2), 2, "SAME"),
    ((5, 7), (2, 2), 2, "VALID"),
    ((5, 6), (3, 3), 2, "SAME"),
    ((5, 6), (3, 2), 1, "SAME"),
    ((6, 7), (3, 3), 1, "SAME"),
    ((6, 7), (5, 4), 3, "SAME"),
    ((7, 7), (1, 1), 2, "SAME"),
    ((6, 7), (3, 2), 3, "VALID"),
]


@pytest.mark.parametrize(("size", "kernel", "stride", "padding"), CASES)
def test_pools(size, kernel, stride: int, padding: str) -> None:
    x = array(2, *size, 3)
    check_op(lambda x: pooling.max_pool(x, kernel, stride, padding), lambda x: largest(x, kernel, stride, padding), x)
    check_op(lambda x: pooling.avg_pool(x, kernel, stride, padding), lambda x: mean(x, kernel, stride, padding), x)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_channels_first(padding: str) -> None:
    x = array(2, 3, 5, 6)
    for build, reference in ((pooling.max_pool, largest), (pooling.avg_pool, mean)):
        check_op(
            lambda x: build(x, [1, 1, 2, 3], [1, 1, 2, 2], padding, data_format="NCHW"),
            lambda x: reference(x.movedim(1, -1), (2, 3), 2, padding).movedim(-1, 1),
            x,
        )


@pytest.mark.parametrize(("size", "kernel", "stride", "padding"), CASES)
def test_indexed_pool_and_gradient(size, kernel, stride: int, padding: str) -> None:
    """The optimizer's pair gives what MaxPool and MaxPoolGrad give."""
    settings = {"ksize": [1, *kernel, 1], "strides": [1, stride, stride, 1], "padding": padding}

    def built(x):
        y, indices = pooling.max_pool_indexed.many(x, **settings)
        return [y, pooling.max_pool_indexed_grad(x, indices, y, **settings)]

    def reference(x: torch.Tensor) -> list[torch.Tensor]:
        x = x.detach().requires_grad_(True)
        y = largest(x, kernel, stride, padding)
        return [y.detach(), torch.autograd.grad(y, x, y)[0]]

    check_op(built, reference, array(2, *size, 3), grad=False)


def test_explicit_padding() -> None:
    x = array(2, 5, 6, 3)
    check_op(
        lambda x: pooling.max_pool(x, 3, 2, [[0, 0], [2, 1], [0, 1], [0, 0]]),
        lambda x: F.max_pool2d(F.pad(x.movedim(-1, 1), [0, 1, 2, 1], value=-torch.inf), 3, 2).movedim(1, -1),
        x,
    )


@pytest.mark.parametrize(("size", "kernel", "stride", "padding"), CASES[2:6])
def test_second_order(size, kernel, stride: int, padding: str) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_(True)
        y = largest(x, kernel, stride, padding) ** 2 + mean(x, kernel, stride, padding) ** 2
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return torch.autograd.grad((first**2).sum(), x)[0]

    def built(x):
        y = pooling.max_pool(x, kernel, stride, padding) ** 2 + pooling.avg_pool(x, kernel, stride, padding) ** 2
        return gradients(gradients(y, x)[0] ** 2, x)[0]

    check_op(built, reference, array(2, *size, 3, dtype="float64"), grad=False)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint16", "float16", "float64"])
@pytest.mark.parametrize("kernel", [2, 3])
def test_other_types(dtype: str, kernel: int) -> None:
    x = np.random.default_rng(0).permutation(2 * 4 * 4).reshape(1, 4, 4, 2).astype(dtype)
    exact = largest(torch.from_numpy(x.astype("float64")), (kernel, kernel), 2, "SAME").numpy()
    value = run(lambda x: pooling.max_pool(x, kernel, 2, "SAME"), x)
    assert value.dtype == dtype
    np.testing.assert_array_equal(value, exact)
    grad = run(lambda x: pooling.max_pool_grad(x, pooling.max_pool(x, 2, 2, "SAME"), ones_for(x), **HALVES), x)
    assert grad.dtype == dtype and grad.astype("float64").sum() == 8


HALVES = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}


def ones_for(x):
    return constant(np.ones((1, 2, 2, 2), x.dtype.as_numpy_dtype))


def test_the_first_of_equal_maxima_gets_the_gradient() -> None:
    x = np.zeros((1, 2, 2, 1), "float32")
    grad = run(lambda x: gradients(pooling.max_pool(x, 2, 2, "SAME"), x)[0], x)
    assert grad.ravel().tolist() == [1, 0, 0, 0]


def test_three_dimensions() -> None:
    x = array(2, 4, 5, 6, 3)
    for padding in ("SAME", "VALID"):
        check_op(
            lambda x: pooling.max_pool3d(x, [1, 2, 2, 3, 1], [1, 2, 2, 2, 1], padding),
            lambda x: largest(x, (2, 2, 3), 2, padding),
            x,
        )
        check_op(
            lambda x: pooling.avg_pool3d(x, [1, 2, 2, 3, 1], [1, 2, 2, 2, 1], padding),
            lambda x: mean(x, (2, 2, 3), 2, padding),
            x,
        )


def test_one_dimension() -> None:
    x = array(2, 7, 3)
    check_op(
        lambda x: pooling.max_pool1d(x, 2, 2, "VALID"), lambda x: F.max_pool1d(x.movedim(-1, 1), 2).movedim(1, -1), x
    )
    check_op(
        lambda x: pooling.avg_pool1d(x, 2, 2, "VALID"), lambda x: F.avg_pool1d(x.movedim(-1, 1), 2).movedim(1, -1), x
    )


def test_pool_of_any_rank() -> None:
    for rank in (1, 2, 3):
        x = array(2, *(5, 6, 7)[:rank], 3)
        for kind in ("MAX", "AVG"):
            with Graph().as_default(), Session() as session:
                y = pooling.pool(constant(x), [2] * rank, kind, "VALID", strides=[2] * rank)
                assert session.run(y).shape == tuple(y.shape.as_list()) == (2, *(2, 3, 3)[:rank], 3)
    with pytest.raises(ValueError, match="MIN"):
        pooling.pool(constant(array(1, 5, 5, 1)), [2, 2], "MIN", "SAME")


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("first", [False, True])
def test_dilated_pool(padding: str, first: bool) -> None:
    x = np.abs(array(2, 3, 7, 8)) if first else np.abs(array(2, 7, 8, 3))
    pads = [1, 2, 2, 2] if padding == "SAME" else [0] * 4
    images = torch.from_numpy(x if first else x.transpose(0, 3, 1, 2))
    exact = F.max_pool2d(F.pad(images, pads), (3, 2), 1, dilation=(2, 3)).numpy()
    with Graph().as_default(), Session() as session:
        y = pooling.pool(constant(x), [3, 2], "MAX", padding, [2, 3], data_format="NCHW" if first else None)
        np.testing.assert_array_equal(session.run(y), exact if first else exact.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize(("size", "kernel", "stride", "padding"), CASES[1:6])
def test_argmax(size, kernel, stride: int, padding: str, batches: bool) -> None:
    x = array(2, *size, 3)
    build = lambda x: list(  # noqa: E731
        pooling.max_pool_with_argmax(x, kernel, stride, padding, include_batch_in_index=batches)
    )
    value, argmax = run(build, x)
    rows = x.reshape(2, -1) if not batches else np.broadcast_to(x.ravel(), (2, x.size))
    for n in range(2):
        np.testing.assert_array_equal(rows[n][argmax[n]], value[n])
    check_op(lambda x: build(x)[0], lambda x: largest(x, kernel, stride, padding), x)


def test_empty_batches() -> None:
    x = array(0, 4, 5, 3)
    for build in (pooling.max_pool, pooling.avg_pool):
        check_op(lambda x: build(x, 2, 2, "SAME"), lambda x: torch.zeros(0, 2, 3, 3) + 0 * x.sum(), x)


def test_invalid_arguments() -> None:
    x = constant(array(1, 3, 4, 2))
    with pytest.raises(ValueError, match="subtracting 4 from 3"):
        pooling.max_pool(x, 4, 1, "VALID")
    with pytest.raises(ValueError, match="strides of at least 1"):
        pooling.max_pool(x, 2, 0, "VALID")
    with pytest.raises(ValueError, match="batch and channel"):
        pooling.avg_pool(x, [1, 2, 2, 2], 1, "VALID")
    with pytest.raises(ValueError, match="input of rank 4"):
        pooling.max_pool(constant(array(3, 4, 2)), 2, 2, "VALID")
    with pytest.raises(errors.InvalidArgumentError, match="Negative dimension size"):
        run(lambda x: pooling.max_pool(x, 4, 1, "VALID"), array(1, 3, 4, 2))
    with pytest.raises(errors.InvalidArgumentError, match="Negative dimension size"):
        run(lambda x: pooling.avg_pool(x, 4, 1, "VALID"), array(1, 3, 4, 2))
    with pytest.raises(errors.InvalidArgumentError, match=r"grad is \[1, 1, 2, 2\]"):
        run(
            lambda x, g: pooling.max_pool_grad(x, pooling.max_pool(x, 2, 2, "SAME"), g, **HALVES),
            array(1, 3, 4, 2),
            array(1, 1, 2, 2),
        )


def test_average_gradient_of_another_shape_than_the_pool() -> None:
    """The shape of the images is constant, that of the gradient is known in the step alone."""
    grad = placeholder("float32", [None, None, None, None])
    spread = pooling.avg_pool_grad([7, 4, 4, 2], grad, **HALVES)
    with Session() as session, pytest.raises(errors.InvalidArgumentError, match="AvgPoolGrad"):
        session.run(spread, {grad: array(1, 2, 2, 2)})


@pytest.mark.parametrize("dtype", ["float32", "uint8", "uint16"])
def test_pool_over_depth(dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 200, (2, 3, 4, 6)).astype(dtype)
    check_op(
        lambda x: pooling.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], "SAME"),
        lambda _: x.reshape(2, 3, 4, 2, 3).max(4),
        x,
        grad=False,
    )


@pytest.mark.parametrize(
    ("ksize", "strides", "text"),
    [
        ([1, 2, 1, 3], [1, 1, 1, 3], "over depth only"),
        ([1, 1, 1, 3], [1, 1, 1, 1], "the stride in depth is 1"),
        ([1, 1, 1, 4], [1, 1, 1, 4], "not a multiple"),
    ],
)
def test_invalid_pools_over_depth(ksize: list[int], strides: list[int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        pooling.max_pool(np.zeros((2, 3, 4, 6), np.float32), ksize, strides, "VALID")
    with pytest.raises(ValueError, match="batch and channel"):
        pooling.avg_pool(np.zeros((2, 3, 4, 6), np.float32), ksize, strides, "VALID")


@pytest.mark.parametrize("pool", [pooling.max_pool, pooling.avg_pool, pooling.max_pool2d])
def test_a_data_format_is_a_string_or_none(pool):
    images = placeholder("float32", [1, 4, 6, 2])
    assert pool(images, 2, 2, "SAME", data_format=None).shape == [1, 2, 3, 2]
    with pytest.raises(TypeError, match="data_format: expected a string, received the int 3"):
        pool(images, 2, 2, "SAME", data_format=3)

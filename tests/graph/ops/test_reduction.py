from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.reduction import (
    argmax,
    argmin,
    cumprod,
    cumsum,
    cumulative_logsumexp,
    reduce_all,
    reduce_any,
    reduce_euclidean_norm,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.nn.statistics import count_nonzero, norm, reduce_logsumexp, reduce_std, reduce_variance

AXES = [None, 0, -1, [0, 2], [1], (2, 1, 0), []]


def array(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def integers(*shape: int, dtype: str = "int32") -> np.ndarray:
    return np.random.default_rng(0).integers(0, 5, size=shape).astype(dtype)


def run(tensors: Any, feeds: Any = None) -> Any:
    with Session(graph=_graph_of(tensors)) as session:
        return session.run(tensors, feeds)


def _graph_of(tensors: Any) -> Graph:
    return (tensors[0] if isinstance(tensors, list) else tensors).graph  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def own_graph() -> Any:
    with Graph().as_default():
        yield


def along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a torch reduction with TensorFlow's reading of axes: None is all, an empty list none."""

    def reduce(x: torch.Tensor, axis: Any, keepdim: bool) -> torch.Tensor:
        if axis is None:
            axis = list(range(x.dim()))
        axes = [axis] if isinstance(axis, int) else list(axis)
        return function(x, axes, keepdim) if axes else x  # type: ignore[no-any-return]

    return reduce


def torch_prod(x: torch.Tensor, axes: list[int], keepdim: bool) -> torch.Tensor:
    for axis in sorted((axis % x.dim() for axis in axes), reverse=True):
        x = torch.prod(x, axis, keepdim=keepdim, dtype=x.dtype)
    return x


REDUCTIONS = {
    "sum": (reduce_sum, along(lambda x, axes, keep: torch.sum(x, axes, keep, dtype=x.dtype))),
    "mean": (reduce_mean, along(lambda x, axes, keep: torch.mean(x, axes, keep))),
    "max": (reduce_max, along(lambda x, axes, keep: torch.amax(x, axes, keep))),
    "min": (reduce_min, along(lambda x, axes, keep: torch.amin(x, axes, keep))),
    "prod": (reduce_prod, along(torch_prod)),
    "norm": (reduce_euclidean_norm, along(lambda x, axes, keep: torch.linalg.vector_norm(x, 2, axes, keep))),
    "logsumexp": (reduce_logsumexp, along(lambda x, axes, keep: torch.logsumexp(x, axes, keep))),
    "variance": (reduce_variance, along(lambda x, axes, keep: torch.var(x, axes, correction=0, keepdim=keep))),
    "std": (reduce_std, along(lambda x, axes, keep: torch.std(x, axes, correction=0, keepdim=keep))),
}


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name: str, axis: Any) -> None:
    if axis == [] and name in ("norm", "logsumexp", "variance", "std"):
        pytest.skip("a reduction over nothing is not the identity here")
    build, reference = REDUCTIONS[name]
    keep = axis in (-1, [1])
    check_op(lambda x: build(x, axis, keep), lambda x: reference(x, axis, keep), array(2, 3, 4), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float16", "float64"])
def test_dtype_is_preserved(name: str, dtype: str) -> None:
    build, reference = REDUCTIONS[name]
    check_op(
        lambda x: build(x, 1),
        lambda x: reference(x, 1, False),
        integers(3, 4, dtype=dtype),
        grad=False,
    )


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_wide_unsigned_types(dtype: str) -> None:
    x = (integers(3, 4).astype(np.uint64) * 16001).astype(dtype)
    value = constant(x)
    sums = [reduce_sum(value, 1), reduce_max(value, 0), reduce_min(value), reduce_prod(value, 0, True)]
    got = run([*sums, cumsum(value, 1), argmax(value, 1), reduce_mean(value, 0)])
    expected = [
        x.sum(1, dtype=dtype),
        x.max(0),
        x.min(),
        x.prod(0, dtype=dtype, keepdims=True),
        x.cumsum(1, dtype=dtype),
        x.argmax(1),
        x.sum(0, dtype=np.uint64) // 3,
    ]
    for value_got, wanted in zip(got, expected):
        np.testing.assert_array_equal(value_got, wanted)
    assert all(v.dtype == dtype for v in got[:5])


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
def test_complex(name: str) -> None:
    build, reference = REDUCTIONS[name]
    x = (array(2, 3) + 1j * array(2, 3, seed=1)).astype(np.complex64)
    check_op(lambda x: build(x, 1), lambda x: reference(x, 1, False), x)


def test_mean_of_integers_truncates_and_does_not_overflow() -> None:
    means = [
        reduce_mean(constant([-3, -4])),
        reduce_mean(constant([100, 100], dtypes.int8)),
        reduce_mean(constant([100, 201], dtypes.uint8)),
        reduce_mean(constant(np.zeros([0, 2], np.int32)), 0),
    ]
    values = run(means)
    assert [v.dtype for v in values] == [np.int32, np.int8, np.uint8, np.int32]
    assert [v.tolist() for v in values] == [-3, 100, 150, [0, 0]]


def test_sum_of_small_integers_wraps_around() -> None:
    assert run(reduce_sum(constant([100, 100], dtypes.int8))) == -56


@pytest.mark.parametrize("build, reference", [(reduce_all, torch.all), (reduce_any, torch.any)])
@pytest.mark.parametrize("axis", [0, -1, [0, 1]])
def test_booleans(build: Any, reference: Any, axis: Any) -> None:
    x = array(3, 4) > 0
    check_op(lambda x: build(x, axis), lambda x: reference(x, axis), x)
    check_op(lambda x: build(x, keepdims=True), lambda x: reference(x, (0, 1), keepdim=True), x)


def test_boolean_reductions_require_booleans() -> None:
    with pytest.raises(TypeError):
        reduce_all([1, 0])
    with pytest.raises((TypeError, ValueError)):
        reduce_any(constant([1, 0]))
    with pytest.raises(TypeError, match="DataType bool not in list of allowed values"):
        reduce_sum([True])


IDENTITIES = [
    (reduce_sum, "float32", 0.0),
    (reduce_mean, "float32", np.nan),
    (reduce_mean, "complex64", 0.0),
    (reduce_prod, "int32", 1),
    (reduce_max, "float32", -np.inf),
    (reduce_min, "float16", np.inf),
    (reduce_max, "int32", np.iinfo(np.int32).min),
    (reduce_min, "int8", 127),
    (reduce_max, "uint8", 0),
    (reduce_min, "uint32", 2**32 - 1),
    (reduce_logsumexp, "float32", -np.inf),
    (reduce_euclidean_norm, "float32", 0.0),
]


@pytest.mark.parametrize("build, dtype, identity", IDENTITIES)
def test_empty_input_gives_the_identity(build: Any, dtype: str, identity: Any) -> None:
    empty = np.zeros([2, 0, 3], dtype)
    x, any_shape = placeholder(dtype, [2, 0, 3]), placeholder(dtype)
    for value in run([build(x, 1), build(any_shape, 1)], {x: empty, any_shape: empty}):
        np.testing.assert_array_equal(value, np.full([2, 3], identity, dtype))
    assert run(build(x, [0, 2]), {x: empty}).shape == (0,)


def test_boolean_reductions_of_empty_inputs() -> None:
    x = constant(np.zeros([0], bool))
    assert run([reduce_all(x), reduce_any(x)]) == [True, False]


@pytest.mark.parametrize("axis", [0, 1, [0, 1], []])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("build", [reduce_sum, reduce_mean, reduce_max, reduce_prod])
def test_axes_known_only_in_the_step(build: Any, axis: Any, keep: bool) -> None:
    x = array(2, 3)
    value, axes = placeholder("float32", [2, 3]), placeholder("int64", None)
    found, wanted = build(value, axes, keep), build(value, axis, keep)
    weights = np.full(wanted.shape.as_list(), 0.5, np.float32)
    by_step, by_graph = gradients(found, value, [constant(weights)])[0], gradients(wanted, value, [weights])[0]
    got = run([found, wanted, by_step, by_graph], {value: x, axes: np.array(axis, np.int64)})
    np.testing.assert_allclose(got[0], got[1])
    np.testing.assert_allclose(got[2], got[3], rtol=1e-6)


def test_keywords_of_tensorflow_1() -> None:
    x = placeholder("float32", [2, 3])
    assert reduce_sum(x, reduction_indices=1, keep_dims=True).shape.as_list() == [2, 1]
    assert argmax(x, dimension=1).shape.as_list() == [2]
    with pytest.raises(ValueError, match="Cannot specify both 'axis' and 'reduction_indices'"):
        reduce_sum(x, 1, reduction_indices=1)
    with pytest.raises(ValueError, match="Cannot specify both 'keepdims' and 'keep_dims'"):
        reduce_max(x, 1, keepdims=True, keep_dims=True)


def test_static_shapes() -> None:
    x, unknown = placeholder("float32", [2, None, 4]), placeholder("float32")
    axes = placeholder("int32", [2])
    assert reduce_sum(x, -2).shape.as_list() == [2, 4]
    assert reduce_sum(x, [0, 2], keepdims=True).shape.as_list() == [1, None, 1]
    assert reduce_sum(x, axes, keepdims=True).shape.as_list() == [None, None, None]
    assert reduce_sum(unknown).shape.as_list() == []
    assert reduce_sum(unknown, 0).shape.dims is None
    assert argmax(x, placeholder("int32", [])).shape.as_list() == [None, None]


def test_shape_integers_are_known_at_graph_construction() -> None:
    x = placeholder("float32", [None, 3, 4])
    assert reshape(x, [-1, reduce_prod(shape(x)[1:])]).shape.as_list() == [None, 12]


def test_wrong_axes() -> None:
    x = placeholder("float32", [2, 3])
    for axis in (2, -3, [0, 2]):
        with pytest.raises(ValueError, match="Invalid reduction dimension"):
            reduce_sum(x, axis)
    with pytest.raises(ValueError, match="axis -2 is duplicated"):
        reduce_sum(x, [0, -2])
    with pytest.raises(ValueError, match="a scalar or a vector of axes"):
        reduce_sum(x, [[0, 1]])
    unknown, axes = placeholder("float32"), placeholder("int32")
    for build in (reduce_sum, reduce_max, reduce_prod):
        with pytest.raises(errors.InvalidArgumentError, match=r"Invalid reduction dimension|out of range"):
            run(build(unknown, axes), {unknown: 1.0, axes: 0})
        with pytest.raises(errors.InvalidArgumentError, match="duplicated"):
            run(build(unknown, axes), {unknown: [[1.0]], axes: [0, 0]})


def test_equal_extremes_share_the_gradient() -> None:
    x = constant([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]])
    (grad,) = gradients(reduce_max(x, 1), x)
    np.testing.assert_allclose(run(grad), [[0, 0.5, 0.5], [0.5, 0.5, 0]])


def test_gradient_of_a_product_with_zeros() -> None:
    x = np.array([[0.0, 2, 3], [0, 0, 5], [1, 2, 4]], np.float32)
    check_op(lambda x: reduce_prod(x, 1), lambda x: torch.prod(x, 1), x)
    check_op(reduce_prod, lambda x: torch.prod(x), x)


@pytest.mark.parametrize("build, power", [(reduce_sum, 2), (reduce_mean, 3), (reduce_prod, 1), (reduce_logsumexp, 1)])
def test_second_order(build: Any, power: int) -> None:
    x = array(3, 4, dtype="float64")
    reference = {
        reduce_sum: lambda x: torch.sum(x, 1),
        reduce_mean: lambda x: torch.mean(x, 1),
        reduce_prod: lambda x: torch.prod(x, 1),
        reduce_logsumexp: lambda x: torch.logsumexp(x, 1),
    }[build]
    value = placeholder("float64", [3, None])
    result = build(value, 1)
    for _ in range(power - 1):
        result = result * build(value, 1)
    (first,) = gradients(result, value)
    (second,) = gradients(first * constant(x), value)
    source = torch.from_numpy(x).requires_grad_()
    (grad,) = torch.autograd.grad(reference(source).pow(power).sum(), source, create_graph=True)
    (wanted,) = torch.autograd.grad((grad * torch.from_numpy(x)).sum(), source)
    np.testing.assert_allclose(run(second, {value: x}), wanted.numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("build, reference", [(argmax, torch.argmax), (argmin, torch.argmin)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_argmax_and_argmin(build: Any, reference: Any, axis: int) -> None:
    check_op(lambda x: build(x, axis), lambda x: reference(x, axis), array(3, 4, 5))
    check_op(lambda x: build(x, axis), lambda x: reference(x, axis), integers(3, 4))
    check_op(
        lambda x: build(x, axis, output_type=dtypes.int32), lambda x: reference(x.byte(), axis).int(), array(3, 4) > 0
    )


def test_argmax_returns_the_first_of_equal_values() -> None:
    assert run([argmax([1, 3, 3]), argmin([2, 1, 1, 3])]) == [1, 1]


def test_argmax_requires_elements() -> None:
    with pytest.raises(ValueError, match="empty"):
        argmax(np.zeros([0, 3], np.float32), 0)
    x = placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match="empty"):
        run(argmax(x, 0), {x: np.zeros([0, 3])})
    with pytest.raises(errors.InvalidArgumentError, match=r"Invalid reduction dimension|out of range"):
        run(argmax(x, 0), {x: 1.0})
    assert run(argmax(x, 1), {x: np.zeros([0, 3])}).shape == (0,)


def scanned(function: Any, start: float, exclusive: bool, reverse: bool) -> Any:
    def scan(x: torch.Tensor, dim: int) -> torch.Tensor:
        x = torch.flip(x, (dim,)) if reverse else x
        if exclusive:
            first = torch.full_like(x.narrow(dim, 0, 1), start)
            x = torch.cat((first, x.narrow(dim, 0, x.shape[dim] - 1)), dim)
        y = function(x, dim)
        return torch.flip(y, (dim,)) if reverse else y

    return scan


SCANS = {
    "sum": (cumsum, lambda x, d: torch.cumsum(x, d, dtype=x.dtype), 0.0),
    "prod": (cumprod, lambda x, d: torch.cumprod(x, d, dtype=x.dtype), 1.0),
    "logsumexp": (cumulative_logsumexp, torch.logcumsumexp, -np.inf),
}


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_sums_and_products(name: str, exclusive: bool, reverse: bool) -> None:
    build, function, start = SCANS[name]
    reference = scanned(function, start, exclusive, reverse)
    check_op(lambda x: build(x, 1, exclusive, reverse), lambda x: reference(x, 1), array(2, 4, 3), rtol=1e-4)
    check_op(lambda x: build(x, -1, exclusive, reverse), lambda x: reference(x, -1), array(2, 4), rtol=1e-4)
    if name != "logsumexp":
        check_op(lambda x: build(x, 0, exclusive, reverse), lambda x: reference(x, 0), integers(3, 2))


@pytest.mark.parametrize("row", [[0.0, 2, 3], [2, 0, 3, 0, 4], [0, 0], [1, 2, 0]])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_gradient_of_cumprod_with_zeros(row: list[float], exclusive: bool, reverse: bool) -> None:
    reference = scanned(torch.cumprod, 1, exclusive, reverse)
    x = np.array([row, np.arange(1, len(row) + 1)], np.float32)
    check_op(lambda x: cumprod(x, 1, exclusive, reverse), lambda x: reference(x, 1), x)


def test_cumulative_ops_require_an_axis() -> None:
    with pytest.raises(ValueError, match="out of range"):
        cumsum(constant(1.0))
    x = placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match=r"Invalid reduction dimension|out of range"):
        run(cumsum(x), {x: 1.0})
    assert run(cumsum(x, exclusive=True), {x: np.zeros([0, 2])}).shape == (0, 2)


def test_logsumexp_of_infinities() -> None:
    x = placeholder("float32", [None])
    total = reduce_logsumexp(x)
    assert run(total, {x: [-np.inf, -np.inf]}) == -np.inf
    assert run(total, {x: [np.inf, 0]}) == np.inf
    np.testing.assert_allclose(run(total, {x: [1000, 1000]}), 1000 + np.log(2), rtol=1e-6)
    np.testing.assert_allclose(run(gradients(total, x)[0], {x: [-np.inf, 1, 1]}), [0, 0.5, 0.5], rtol=1e-6)


def test_variance_requires_floating_point() -> None:
    with pytest.raises(TypeError, match="floating or complex"):
        reduce_variance([1, 2])
    x = (array(5) + 1j * array(5, seed=1)).astype(np.complex64)
    np.testing.assert_allclose(run(reduce_variance(x)), np.var(x), rtol=1e-5)


def test_count_nonzero() -> None:
    x = integers(3, 4)
    assert run(count_nonzero(x)) == np.count_nonzero(x)
    np.testing.assert_array_equal(run(count_nonzero(x, 1, dtype=dtypes.int32)), np.count_nonzero(x, 1).astype(np.int32))
    assert run([count_nonzero([True, False]), count_nonzero(["", "a"]), count_nonzero([0.0, 0.5])]) == [1, 1, 1]


@pytest.mark.parametrize("ord", ["euclidean", 1, 2, 3, 0.5, np.inf])
@pytest.mark.parametrize("axis", [None, 0, -1, [1]])
def test_vector_norms(ord: Any, axis: Any) -> None:
    p = 2 if ord == "euclidean" else ord
    check_op(
        lambda x: norm(x, ord, axis),
        lambda x: torch.linalg.vector_norm(x, p, axis),
        array(3, 4),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("ord", ["euclidean", "fro", 1, np.inf])
@pytest.mark.parametrize("axis", [(0, 1), (2, 0), [-2, -1]])
def test_matrix_norms(ord: Any, axis: Any) -> None:
    p = "fro" if ord == "euclidean" else ord
    check_op(
        lambda x: norm(x, ord, axis, keepdims=True),
        lambda x: torch.linalg.matrix_norm(x, p, tuple(axis), keepdim=True),
        array(2, 3, 4),
        rtol=1e-4,
        atol=1e-5,
    )


def test_unknown_norms() -> None:
    x = placeholder("float32", [2, 3])
    for ord, axis in (("fro", None), ("fro", 1), (-1, None), ("max", 0), (3, [0, 1])):
        with pytest.raises(ValueError, match=r"ord is .*expected"):
            norm(x, ord, axis)
    for axis in ([0, 0], [0, 1, 2]):
        with pytest.raises(ValueError, match=r"axis is .*expected"):
            norm(x, "euclidean", axis)

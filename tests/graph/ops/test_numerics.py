"""Checks for NaN and infinity."""

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.math import log, sqrt
from thalweg._src.graph.ops.numerics import add_check_numerics_ops, check_numerics, verify_tensor_all_finite
from thalweg._src.runtime.session.session import Session


@pytest.fixture
def session():
    with Graph().as_default(), Session() as session:
        yield session


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.float32, dtypes.float64])
@pytest.mark.parametrize("build", [lambda x: check_numerics(x, "mine"), lambda x: verify_tensor_all_finite(x, "mine")])
def test_finite_values_pass_and_others_fail(session, dtype, build):
    x = placeholder(dtype, [None])
    y = build(x)
    assert y.dims == (None,)
    np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [1, 2])
    assert session.run(y, {x: []}).shape == (0,)
    for values, found in (([np.nan], "NaN"), ([np.inf], "Inf"), ([1, -np.inf, np.nan], "Inf and NaN")):
        with pytest.raises(errors.InvalidArgumentError, match=f"mine : Tensor had {found} values"):
            session.run(y, {x: values})


def test_gradients_are_checked(session):
    x = placeholder(dtypes.float32)
    (grad,) = gradients(check_numerics(sqrt(x), "mine"), x, grad_ys=[np.float32("inf")])
    with pytest.raises(errors.InvalidArgumentError, match=r"the gradient contains .*mine"):
        session.run(grad, {x: 4.0})
    (grad,) = gradients(check_numerics(sqrt(x), "mine"), x)
    assert session.run(grad, {x: 4.0}) == 0.25


def test_all_tensors_of_a_graph(session):
    x = placeholder(dtypes.float32, name="x")
    log(x, name="log")
    check = add_check_numerics_ops()
    session.run(check, {x: 1.0})
    with pytest.raises(errors.InvalidArgumentError, match="log:0 : Tensor had Inf"):
        session.run(check, {x: 0.0})


def test_arguments(session):
    with pytest.raises(ValueError, match="requires a tensor"):
        verify_tensor_all_finite(1.0)
    with pytest.raises(TypeError):
        check_numerics(placeholder(dtypes.int32), "mine")

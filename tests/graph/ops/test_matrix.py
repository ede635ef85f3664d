import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.matrix import matmul


def array(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul(transpose_a: bool, transpose_b: bool) -> None:
    a = array(*((3, 2) if transpose_a else (2, 3)))
    b = array(*((4, 3) if transpose_b else (3, 4)), seed=1)
    check_op(
        lambda x, y: matmul(x, y, transpose_a, transpose_b),
        lambda x, y: torch.matmul(x.mT if transpose_a else x, y.mT if transpose_b else y),
        a,
        b,
    )


@pytest.mark.parametrize("adjoint", [False, True])
def test_batches_broadcast(adjoint: bool) -> None:
    a, b = array(5, 1, 2, 3), array(*((7, 4, 3) if adjoint else (7, 3, 4)), seed=1)
    check_op(lambda x, y: matmul(x, y, adjoint_b=adjoint), lambda x, y: torch.matmul(x, y.mH if adjoint else y), a, b)


def test_inner_dimensions_are_checked_when_the_graph_is_built() -> None:
    x, w = placeholder("float32", [32, 784], name="x"), placeholder("float32", [10, 784], name="w")
    with pytest.raises(ValueError, match=r"but are 784 and 10 for") as caught:
        matmul(x, w)
    text = str(caught.value)
    assert "expected: a.shape[1] == b.shape[0]" in text
    assert "received: a = 'x:0' float32[32, 784], b = 'w:0' float32[10, 784]" in text
    assert "hint: did you mean transpose_b=True?" in text
    assert "defined at: test_matrix.py" in text


@pytest.mark.parametrize("batch", [7, 0])
def test_layers_of_few_units(batch: int) -> None:
    """Products with few columns, and over few columns, take ways of their own on the CPU."""
    check_op(
        lambda x, g: matmul(x, g, transpose_a=True), lambda x, g: x.mT @ g, array(batch, 200), array(batch, 5, seed=1)
    )
    check_op(lambda g, w: matmul(g, w, transpose_b=True), lambda g, w: g @ w.mT, array(batch, 5), array(200, 5, seed=1))

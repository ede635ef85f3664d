"""The example of docs/extending.md runs, and the page shows what the example holds."""

import importlib.util
import pathlib
import re

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg.autodiff.numeric import compute_gradient_error

ROOT = pathlib.Path(__file__).parent.parent


@pytest.fixture(scope="module")
def own_op():
    """Loads the example when a test asks for it: tests of all ops are collected before and see Thalweg's own alone."""
    spec = importlib.util.spec_from_file_location("own_op", ROOT / "examples/own_op.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_runs(own_op, capsys):
    with tf.Graph().as_default():
        values = own_op.main()
    x = torch.tensor([[-1.0, 0.0, 1.0]], requires_grad=True)
    y = x * torch.sigmoid(2 * x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    for value, wanted in zip(values, (y, first, second)):
        np.testing.assert_allclose(value, wanted.detach().numpy(), rtol=1e-5)
    assert "d2y/dx2" in capsys.readouterr().out


def test_the_op_is_one_like_any_other(own_op):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [2, 3])
        y = own_op.swish(x, name="act")
        assert y.name == "act:0" and y.shape.as_list() == [2, 3]
        assert "silu(" in session.show_program(y, [x])
        assert compute_gradient_error(x, [2, 3], y, [2, 3]) < 1e-6
        node = y.op.node_def
        assert node.op == "Swish" and node.attr["beta"].f == 1.0


def test_the_page_shows_the_example():
    example = (ROOT / "examples/own_op.py").read_text()
    page = (ROOT / "docs/extending.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    shown = [block.strip() for block in blocks if "my_own_cuda" not in block]
    assert len(shown) == 3
    for block in shown:
        assert block in example

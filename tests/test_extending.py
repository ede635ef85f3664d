"""The example of docs/extending.md runs, and the page shows what the example holds."""

import importlib.util
import pathlib
import re

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.autodiff.numeric import compute_gradient_error

ROOT = pathlib.Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"examples/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def own_op():
    """Loads the example when a test asks for it: tests of all ops are collected before and see Thalweg's own alone."""
    return load("own_op")


@pytest.fixture(scope="module")
def own_placer():
    return load("own_placer")


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
    placer = (ROOT / "examples/own_placer.py").read_text()
    assert len(shown) == 4
    for block in shown:
        assert block in (placer if "@tf.placer" in block else example)


def test_the_placer_cuts_the_step_in_two(own_placer, capsys):
    with tf.Graph().as_default():
        value, text = own_placer.main()
    assert value.shape == (64, 512) and text in capsys.readouterr().out
    homes = {line.split()[0]: line.split()[2] for line in text.splitlines() if "_FusedMatMul" in line}
    assert homes == {f"{side}{i}/Relu": f"CPU:{cpu}" for cpu, side in enumerate(("left", "right")) for i in range(4)}


def place_a_chain(placer):
    """Returns the report on a chain of layers, and where each of its products went."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 256])
        h = x
        for layer in range(4):
            h = tf.layers.dense(h, 256, tf.nn.relu, name=f"layer{layer}")
        config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
        config.experimental.placer = placer
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            text = session.show_placement(h, [x])
            assert session.run(h, {x: np.ones((64, 256))}).shape == (64, 256)
    return text, [line.split()[2] for line in text.splitlines() if "_FusedMatMul" in line]


def test_a_cut_that_makes_nothing_faster_is_not_made(own_placer):
    text, homes = place_a_chain("stretches")
    assert set(homes) == {"CPU:0"} and "stretches: " in text and "which was used" in text


def test_the_placer_is_taken_at_its_word(own_placer):
    from thalweg._src.place.placers import PLACERS, register_placer

    register_placer("stretches_as_they_are", own_placer.stretches, compared=False)
    _, homes = place_a_chain("stretches_as_they_are")
    PLACERS._entries.pop("stretches_as_they_are")
    assert homes == ["CPU:0", "CPU:0", "CPU:1", "CPU:1"]

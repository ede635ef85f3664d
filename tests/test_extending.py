"""The examples of docs/extending.md run, the page shows them, and facts of a user's op have the documented effects."""

import importlib
import importlib.util
import pathlib
import re

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.loop_invariants import hoist
from thalweg._src.graph.autodiff.numeric import compute_gradient_error
from thalweg._src.graph.autodiff.registry import GRADIENTS
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.compile import clusters, lowering
from thalweg._src.runtime.kernels import registry as kernels
from thalweg._src.runtime.resources.accelerators import Accelerator

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


def test_the_custom_op_behaves_like_a_built_in_one(own_op):
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
    assert len(shown) == 5
    for block in shown:
        assert block in (placer if "@tf.placer" in block else example)


@pytest.mark.cpu_only(reason="pages show what a machine without GPUs prints")
def test_the_page_shows_the_program_of_the_example(own_op, capsys):
    own_op.main()
    (shown,) = re.findall(r"```text\n(.*?)```", (ROOT / "docs/extending.md").read_text(), re.S)
    assert shown in capsys.readouterr().out


def test_the_placer_splits_the_step_in_two(own_placer, capsys):
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


def test_a_split_that_is_not_faster_is_not_used(own_placer):
    text, homes = place_a_chain("stretches")
    assert set(homes) == {"CPU:0"} and "stretches: " in text and "which was used" in text


def test_an_uncompared_placer_is_always_used(own_placer):
    from thalweg._src.compiler.place.placers import PLACERS, register_placer

    register_placer("stretches_as_they_are", own_placer.stretches, compared=False)
    _, homes = place_a_chain("stretches_as_they_are")
    PLACERS._entries.pop("stretches_as_they_are")
    assert homes == ["CPU:0", "CPU:0", "CPU:1", "CPU:1"]


# -- facts ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def gate():
    """Defines an op with facts, a kernel and a gradient, for one test."""

    def define(**facts):
        made = tf.op("OwnGate", "x: float32 -> y: float32", infer=lambda c: c.shapes, **facts)
        tf.kernel("OwnGate")(lambda node, device: torch.nn.functional.silu)

        @tf.RegisterGradient("OwnGate")
        def gradient(op, grad):
            s = tf.sigmoid(op.inputs[0])
            return grad * (s + op.inputs[0] * s * (1 - s))

        return made

    yield define
    for entries in (OPS._entries, kernels._kernels, GRADIENTS._entries):
        del entries["OwnGate"]


def test_a_kernel_gets_contiguous_tensors_where_it_demands_them(gate):
    layouts = []

    def bind(node, device):
        return lambda x: layouts.append(x.is_contiguous()) or torch.nn.functional.silu(x)

    own, x = gate(), tf.placeholder(tf.float32, [2, 3])
    value = np.arange(6, dtype=np.float32).reshape(3, 2).T
    for demands in ({}, {"dense": ("x",)}):
        tf.kernel("OwnGate", **demands)(bind)
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(own(x), {x: value}), silu(value), rtol=1e-5)
    assert layouts == [False, True]


def silu(x):
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize(
    "facts, shape, moved",
    [
        ({"fails": "never"}, [None], True),
        ({"fails": "never"}, None, False),  # shapes are checked in the step
        ({"fails": "by shape"}, [3], True),
        ({"fails": "by shape"}, [None], False),
        ({}, [3], False),
    ],
)
def test_an_op_that_cannot_fail_is_hoisted_out_of_loops(gate, facts, shape, moved):
    own, x = gate(**facts), tf.placeholder(tf.float32, shape)
    total = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + own(x)), [0, x])[1]
    step = step_graph([x], [total], [])
    hoist(step)
    (loop,) = [node for node in step.nodes if node.type == "_While"]
    inside = [node.type for node in loop.attrs["region"].body.nodes]
    assert ([node.type for node in step.nodes].count("OwnGate"), inside.count("OwnGate")) == (moved, not moved)
    value = np.array([-1.0, 0.5, 2.0], np.float32)
    with tf.Session() as session:
        values = session.run([total, *tf.gradients(total, x)], {x: value})
    sigmoid = 1 / (1 + np.exp(-value))
    np.testing.assert_allclose(values[0], value + 3 * silu(value), rtol=1e-5)
    np.testing.assert_allclose(values[1], 1 + 3 * (sigmoid + silu(value) * (1 - sigmoid)), rtol=1e-5)


@pytest.mark.parametrize("traceable", [True, False])
def test_a_traceable_op_is_part_of_a_fusion_cluster(gate, traceable, monkeypatch):
    fused = []

    def library(request):
        """Runs what the compiler is given, operation by operation."""
        with torch.inference_mode(False), torch.no_grad():
            graph, _ = lowering.traced(request)
        fused.append([request.nodes[member][0] for member in request.members])
        return lambda values: graph(*values)

    monkeypatch.setattr(clusters, "find", lambda request: None)
    monkeypatch.setattr(clusters, "is_importable", lambda module: True)
    monkeypatch.setattr(clusters.FOREGROUND, "wait_for", library)
    own, x = gate(traceable=traceable), tf.placeholder(tf.float32, [4])
    y = tf.tanh(tf.sin(tf.exp(own(tf.exp(tf.sin(tf.tanh(x)))))))
    options = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
    value = np.linspace(-1, 1, 4, dtype=np.float32)
    with tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))) as session:
        result = session.run(y, {x: value})
    np.testing.assert_allclose(result, np.tanh(np.sin(np.exp(silu(np.exp(np.sin(np.tanh(value))))))), rtol=1e-5)
    before, after = ["Tanh", "Sin", "Exp"], ["Exp", "Sin", "Tanh"]
    assert fused == ([[*before, "OwnGate", *after]] if traceable else [before, after])


class Captured(TorchDispatchMode):
    """Lists the kernels of a function that is captured."""

    def __init__(self):
        super().__init__()
        self.kernels = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.kernels.append(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "facts, captured",
    [({}, True), ({"capturable": False}, False), ({"stateful": True}, False)],
)
def test_a_pure_op_is_captured(gate, facts, captured, register):
    found = Captured()

    def capture(function, generators):
        with found:
            values = function()
        return values, lambda: None  # every run has the same feeds, so the values stay right

    register(Accelerator("FAKE", "cpu", lambda: 1, capture=capture))
    own, x = gate(**facts), tf.placeholder(tf.float32, [4])
    with tf.device("/device:FAKE:0"):
        y = own(tf.tanh(tf.exp(tf.sin(tf.cos(x)))))
    value = np.linspace(-1, 1, 4, dtype=np.float32)
    with tf.Session() as session:
        results = [session.run(y, {x: value}) for _ in range(6)]
    np.testing.assert_allclose(results, [silu(np.tanh(np.exp(np.sin(np.cos(value)))))] * 6, rtol=1e-5)
    assert found.kernels == ["cos", "sin", "exp", "tanh", *["silu"] * captured]


OWN_MODULE = """
import torch
import thalweg as tf

smooth = tf.op("OwnSmooth", "x: float32 -> y: float32", infer=lambda c: c.shapes, differentiable=False, traceable=True)

@tf.kernel("OwnSmooth")
def bind(node, device):
    return lambda x: x * torch.sigmoid(x)
"""


def test_an_op_of_a_script_stays_out_of_clusters_of_the_other_process(gate):
    own, x = gate(traceable=True), tf.placeholder(tf.float32, [4])
    y = tf.tanh(tf.exp(own(tf.tanh(tf.exp(x * 2.0)))) * 2.0)
    with tf.Session(config=tf.ConfigProto()) as session:
        assert "OwnGate" in session.show_program(y, [x])
        node = next(n for p in session._plan(y, (x,)).executable.programs for n in p.nodes if n.type == "OwnGate")
    assert not all(map(lowering.is_importable, lowering.user_modules(node, "CPU")))


@pytest.mark.slow
def test_an_op_of_a_module_is_compiled_by_the_other_process(tmp_path, monkeypatch, caplog):
    (tmp_path / "own_smooth_module.py").write_text(OWN_MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("own_smooth_module")
    x = tf.placeholder(tf.float32, [4])
    y = tf.tanh(own.smooth(tf.exp(x)) * 2.0)
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    value = np.linspace(-1, 1, 4, dtype=np.float32)
    with tf.Session(config=config) as session, tf.Session() as plain:
        np.testing.assert_allclose(session.run(y, {x: value}), plain.run(y, {x: value}), rtol=1e-5)
    assert "uncompiled" not in caplog.text
    del OPS._entries["OwnSmooth"]

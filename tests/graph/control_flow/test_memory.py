"""Memory of loops: values are saved only for gradients, and swapped to disk or recomputed on request."""

import gc
import sys

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.graph.control_flow import programs
from thalweg._src.runtime.resources.swap import HOST, Swap

X = np.array([0.3, -0.5, 0.7])


@pytest.fixture
def no_memory(monkeypatch):
    """Sets the memory limit of swapping to zero, so that everything is spilled to disk."""
    monkeypatch.setattr(HOST, "limit", 0)


def _squares(steps, **options):
    x = tf.placeholder(tf.float32, [3])
    _, y = tf.while_loop(lambda i, y: i < steps, lambda i, y: (i + 1, tf.sin(y * tf.sigmoid(y)) + x), [0, x], **options)
    return x, y, tf.gradients(y, x)[0]


@pytest.mark.parametrize("options", [{"swap_memory": True}, {"recompute": True}])
def test_gradients_are_unchanged(options, no_memory):
    results = []
    for chosen in ({}, options):
        with tf.Graph().as_default():
            x, y, gradient = _squares(5, **chosen)
            with tf.Session() as session:
                results.append(session.run([y, gradient], {x: [0.1, 0.2, 0.3]}))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


@pytest.mark.parametrize("keyword", ["swap_memory", "recompute"])
@pytest.mark.parametrize("seed", range(0, programs.COUNT, 4))
def test_random_programs(seed, keyword, no_memory, monkeypatch):
    """Programs with loops and conditionals in each other, every loop of them with the option."""
    source = programs.source(seed)

    class Always:
        def __getattr__(self, name):
            return getattr(tf, name)

        @staticmethod
        def while_loop(*args, **kwargs):
            return tf.while_loop(*args, **kwargs, **{keyword: True})

    results = []
    for module in (tf, Always()):
        with tf.Graph().as_default():
            names = {}
            exec(source, names)
            x, p, n = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
            y = names["build"](module, x, p, n)
            g = tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
            with tf.Session() as session:
                feeds = [{x: X, p: side, n: count} for side in (True, False) for count in (0, 2)]
                results.append([session.run([y, g], feed) for feed in feeds])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-10, err_msg=source)


def test_recomputing_saves_only_the_loop_variables():
    def pushes(**options):
        with tf.Graph().as_default() as graph:
            _squares(5, **options)
            return sum(op.type == "TensorListPushBack" for op in graph.get_operations())

    assert pushes(recompute=True) == 1 < pushes()


def test_second_order_with_both(no_memory):
    results = []
    for options in ({}, {"swap_memory": True}, {"recompute": True}):
        with tf.Graph().as_default():
            x, _, gradient = _squares(3, **options)
            (second,) = tf.gradients(gradient, x)
            with tf.Session() as session:
                results.append(session.run(second, {x: [0.1, 0.2, 0.3]}))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)
    np.testing.assert_allclose(results[0], results[2], rtol=1e-5)


# -- the swap itself --------------------------------------------------------------------------------------------------


def test_the_oldest_values_are_spilled_to_disk_and_restored():
    import torch

    swap = Swap(limit=100)
    values = [torch.arange(10, dtype=torch.float32) + i for i in range(5)]
    kept = [swap.swap_out(value) for value in values]
    assert swap.in_memory == 80 and swap.on_disk == 120
    assert [one.held is None for one in kept] == [True, True, True, False, False]
    for value, one in zip(values, kept):
        assert torch.equal(one.value(), value)
    del kept, one
    gc.collect()
    assert swap.in_memory == swap.on_disk == 0 and swap._file is None


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_every_type_and_shape_is_restored(dtype, shape):
    import torch

    value = torch.ones(shape, dtype=getattr(torch, dtype))
    again = Swap(limit=-1).swap_out(value).value()
    assert again.dtype == value.dtype and again.shape == value.shape and torch.equal(again, value)


def test_a_full_disk_is_a_typed_error(monkeypatch):
    import torch

    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
        Swap(limit=0).swap_out(torch.ones(3))


# -- processes --------------------------------------------------------------------------------------------------------

# On the CPU, since what a GPU keeps is not memory of the process.
PEAK = """
import re, sys
import numpy as np
import thalweg as tf
def peak():  # of this program alone: getrusage counts what the process was before as well
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
steps, options = int(sys.argv[1]), eval(sys.argv[2])
x = tf.placeholder(tf.float32, [50_000])
_, y = tf.while_loop(lambda i, y: i < steps, lambda i, y: (i + 1, tf.sin(y)), [0, x], **options)
fetch = tf.gradients(y, x)[0] if options.get("back_prop", True) else y
config = tf.ConfigProto(device_count={"GPU": 0}); config.experimental.host_swap_limit_in_mb = 8
with tf.Session(config=config) as session:
    session.run(tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y)), [0, x])[1], {x: np.ones(50_000)})
    before = peak()
    session.run(fetch, {x: np.ones(50_000)})
    print(peak() - before)
"""


def _growth(steps, **options):
    """Returns by how many MB a process grows that runs a loop over values of 0.2 MB."""
    return float(children.run([sys.executable, "-c", PEAK, steps, repr(options)]).stdout)


def test_a_long_loop_without_gradient_uses_constant_memory():
    assert _growth(10_000, back_prop=False) < 20


def test_a_long_gradient_stays_within_the_limit_of_swap_memory():
    assert _growth(1_000) > 100
    assert _growth(1_000, swap_memory=True) < 60

"""Interpreted steps: the same values as the generated code gives, and every kernel seen."""

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.runtime.execute.interpret import interpret
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.kernels.registry import STEP, Call, Input, invoke
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import local_devices
from thalweg._src.runtime.resources.step import Step

HOST = local_devices(tf.ConfigProto(), Containers())[0]
TRACED = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
RNG = np.random.default_rng(0)


def arithmetic(x):
    return [x * 2.0 - tf.exp(x) / 3.0, tf.maximum(x, 0.1), -x]


def products(x):
    return [tf.matmul(x, x, transpose_b=True), tf.matmul(x[None], x[None])]


def reductions(x):
    return [tf.reduce_sum(x, 1, keepdims=True), tf.reduce_mean(x), tf.argmax(x, 0), tf.reduce_logsumexp(x)]


def several_outputs(x):
    top = tf.nn.top_k(x, 2)
    mean, variance = tf.nn.moments(x, [0])
    return [top.values, top.indices, mean, variance, *tf.unstack(x), *tf.split(x, 3)]


def unused_outputs(x):
    return [tf.nn.top_k(x, 2).indices, tf.split(x, 3)[1], tf.unique(tf.reshape(x, [-1])).idx]


def shapes(x):
    rows = tf.shape(x)[0]
    return [tf.reshape(x, [-1, rows]), tf.tile(x, [2, rows]), tf.transpose(x)[1:, ::-1], tf.expand_dims(x, 0)]


def convolution(x):
    image = tf.reshape(x, [1, 3, 3, 1])
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(image, tf.ones([2, 2, 1, 2]), [1, 1, 1, 1], "SAME"), [0.1, 0.2]))
    return [y, tf.nn.max_pool(y, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")]


def gradients(x):
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot([0, 2, 1], 3), logits=tf.matmul(x, x))
    return [loss, *tf.gradients(loss, x)]


def strings(x):
    return [tf.constant([b"a", b"b"]), tf.cast(x, tf.int32)]


def functions(x):
    return tf.py_func(lambda a: (a + 1, np.float32(a.sum())), [x], [tf.float32, tf.float32])


def comparisons(x):
    return [tf.where(x > 0.5, x, tf.zeros_like(x)), tf.reduce_any(x > 0.9), tf.boolean_mask(x, x > 0.2)]


def variables(x):
    v = tf.Variable(tf.ones([3, 3]), name="v")
    before = tf.identity(v)
    with tf.control_dependencies([before]):
        added = tf.assign_add(v, x)
    with tf.control_dependencies([added]):
        scattered = tf.scatter_update(v, [1], x[:1])
    with tf.control_dependencies([scattered]):
        return [before, tf.identity(v), added.op, scattered.op if hasattr(scattered, "op") else scattered]


def training(x):
    w = tf.Variable(tf.ones([3, 2]), name="w")
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - 1.0))
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.control_dependencies([step]):
        return [step, loss, w.read_value()]


GRAPHS = [
    arithmetic,
    products,
    reductions,
    several_outputs,
    unused_outputs,
    shapes,
    convolution,
    gradients,
    strings,
    functions,
    comparisons,
    variables,
    training,
]


@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("build", GRAPHS)
def test_values_are_those_of_the_generated_code(build, devices):
    x = tf.placeholder(tf.float32, [3, 3], name="x")
    fetches = build(x)
    if devices > 1:
        for index in range(1, devices):
            with tf.device(f"/cpu:{index}"):
                fetches = [tf.identity(f) if isinstance(f, tf.Tensor) else f for f in fetches]
    value = RNG.normal(size=(3, 3)).astype(np.float32)
    results = []
    for traced in (False, True):
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": devices})) as sess:
            sess.run(tf.global_variables_initializer())
            metadata = tf.RunMetadata()
            options = {"options": TRACED, "run_metadata": metadata} if traced else {}
            results.append(sess.run(fetches, {x: value}, **options))
            assert bool(metadata.step_stats.dev_stats) == traced
    for plain, interpreted in zip(*results):
        assert type(plain) is type(interpreted)
        np.testing.assert_array_equal(plain, interpreted)


class Noting:
    """Records the start of each node by its name, and the end in capitals."""

    def __init__(self, seen):
        self.seen = seen

    def start(self, node):
        self.seen.append(node.name)
        return node.name.upper()

    def end(self, node, started):
        self.seen.append(started)


def test_every_call_is_observed_in_order():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.sin(x, name="a")
    z = tf.add(y, tf.cos(x, name="b"), name="c")
    program = Program(step_graph([x], [z], []), HOST)
    seen = []
    (value,) = interpret(
        program.segments[0],
        program.bound.calls,
        program.bound.constants,
        Step(),
        [torch.zeros(2)],
        Noting(seen),
        HOST.name,
    )
    assert value.tolist() == [1.0, 1.0]
    assert seen == ["a", "A", "b", "B", "c", "C"]


def test_a_cancelled_step_stops():
    x = tf.placeholder(tf.float32, [])
    program = Program(step_graph([x], [tf.sin(x)], []), HOST)
    step = Step()
    step.fail(tf.errors.CancelledError(None, None, "enough"))
    bound = program.bound
    with pytest.raises(tf.errors.CancelledError, match="enough"):
        interpret(program.segments[0], bound.calls, bound.constants, step, [torch.tensor(1.0)], None, HOST.name)


def test_invoke_fills_in_inputs_nested_calls_lists_and_the_step():
    inner = Call(lambda a, b: a - b, (Input(1), 1))
    call = Call(lambda *a, **k: (a, k), (STEP, Input(0), inner, [Input(1), 5], (6, 7)), {"k": Input(0), "n": None})
    step = object()
    assert invoke(call, [10, 20], step) == ((step, 10, 19, [20, 5], (6, 7)), {"k": 10, "n": None})

"""Deterministic operations: the same bits in every run, whenever compiled code would be there, and however many run."""

import sys

import numpy as np
import pytest
import torch

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import addresses, processes
from thalweg._src.base.determinism import _Determinism
from thalweg._src.runtime import executable
from thalweg._src.runtime.compile import clusters, lowering


@pytest.fixture
def required(monkeypatch):
    """Lets this process require determinism for the time of a test."""
    monkeypatch.setattr(_Determinism, "is_required", True)
    monkeypatch.setattr(_Determinism, "needs_seeds", True)


def _trained(monkeypatch, delay):
    """Trains for 30 steps; the compiled code, which rounds differently, arrives so many steps after it is asked for."""
    asked = []
    monkeypatch.setattr(executable, "COMPILE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(clusters.BACKGROUND, "ask", lambda request, done: asked.append((request, done)))
    monkeypatch.setattr(executable.threads, "start", lambda work: work())
    losses, late = [], 0
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.linspace(0.1, 1.0, 8, dtype=np.float32))
        loss = tf.reduce_sum(tf.square(tf.sin(v * 3.0) + tf.exp(v)))
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(30):
            losses.append(session.run([loss, train])[0].tobytes())
            late += bool(asked)
            if asked and late > delay:
                request, done = asked.pop()
                with torch.inference_mode(False), torch.no_grad():
                    graph, _ = lowering.traced(request)
                done(lambda values, graph=graph: [value * 1.000001 for value in graph(*values)])
    return losses


def test_when_compiled_code_arrives_shows_in_the_bits_unless_operations_are_deterministic(monkeypatch, request):
    assert _trained(monkeypatch, 3) != _trained(monkeypatch, 9)
    request.getfixturevalue("required")
    assert _trained(monkeypatch, 3) == _trained(monkeypatch, 9)


def test_code_that_is_compiled_first_is_cached_apart(monkeypatch, request):
    asked = []
    monkeypatch.setattr(clusters, "find", lambda request: asked.append(request) or (lambda values: list(values)))
    options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1))

    def compiled():
        x = tf.placeholder(tf.float32, [4])
        with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
            session.run(tf.tanh(tf.sin(tf.exp(x) + 1.0)), {x: np.zeros(4)})
        return asked[-1].digest()

    first = compiled()
    assert compiled() == first
    request.getfixturevalue("required")
    assert compiled() != first


def test_a_random_operation_needs_a_seed(required):
    with pytest.raises(RuntimeError, match=r"no seed, .*tf.set_random_seed\(1\)"):
        tf.random_normal([2])
    with pytest.raises(RuntimeError, match="no seed"):
        tf.data.Dataset.range(3).shuffle(3)
    tf.random_normal([2], seed=1)
    tf.set_random_seed(1)
    tf.random_normal([2])


def test_an_imported_random_operation_needs_a_seed(monkeypatch):
    x = tf.random_normal([2])
    monkeypatch.setattr(_Determinism, "is_required", True)
    monkeypatch.setattr(_Determinism, "needs_seeds", True)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="no seed"):
        session.run(x)


def test_parallel_calls_keep_the_order_of_elements_and_of_random_numbers(required):
    def elements(calls):
        tf.set_random_seed(2)
        dataset = tf.data.Dataset.range(40).map(lambda i: (i, tf.random_uniform([], seed=3)), calls)
        options = tf.data.Options()
        options.experimental_deterministic = False
        following = dataset.with_options(options).make_one_shot_iterator().get_next()
        with tf.Session() as session:
            return [session.run(following) for _ in range(40)]

    assert elements(8) == elements(None)


def test_an_operation_without_a_deterministic_kernel_says_so(monkeypatch):
    def refuse(*args, **options):
        raise RuntimeError(
            "index_add_cuda does not have a deterministic implementation, but you set "
            "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation"
        )

    monkeypatch.setattr(torch.Tensor, "index_add_", refuse)
    x = tf.placeholder(tf.float32, [3])
    total = tf.unsorted_segment_sum(x, [0, 1, 0], 2)
    with tf.Session() as session, pytest.raises(tf.errors.UnimplementedError, match="place the operation on the CPU"):
        session.run(total, {x: np.ones(3)})


_UNSEEDED = """
import sys
import thalweg as tf

with tf.device("/job:ps"):
    x = tf.random_normal([2])
if sys.argv[2] == "deterministic":
    tf.config.experimental.enable_op_determinism()
with tf.Session(sys.argv[1]) as session:
    try:
        session.run(x)
    except tf.errors.InvalidArgumentError as error:
        print("no seed" in str(error))
    else:
        print("ran")
"""


def test_the_tasks_that_run_steps_are_deterministic_as_the_client_is():
    spec = addresses(ps=1, worker=1)
    with processes(spec):

        def client(how):
            command = [sys.executable, "-c", _UNSEEDED, f"grpc://{spec['worker'][0]}", how]
            return children.run(command, env=children.environment(OMP_NUM_THREADS="1"), forked=True).stdout

        assert client("as usual") == "ran\n"
        assert client("deterministic") == "True\n"


_SETTINGS = """
import thalweg as tf
import torch

print(torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark)
print(tf.Session().run(tf.random_uniform([2])).shape)  # as in TensorFlow 1.15, which asks for no seed
"""


def test_the_environment_asks_for_determinism():
    variables = children.environment(TF_DETERMINISTIC_OPS="1")
    assert children.run([sys.executable, "-c", _SETTINGS], env=variables).stdout == "True False\n(2,)\n"

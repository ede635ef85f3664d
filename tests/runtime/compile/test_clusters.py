"""Fusion clusters in programs and loops, compiled and uncompiled."""

import pickle
import re
import time

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.graph.control_flow import programs
from thalweg._src.runtime import executable
from thalweg._src.runtime.compile import clusters, inductor, lowering

JIT = tf.ConfigProto(
    graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1))
)


@pytest.fixture
def uncompiled(monkeypatch):
    """Makes clusters run their calls one by one, as if there were no compiler."""
    monkeypatch.setattr(clusters, "find", lambda request: None)
    monkeypatch.setattr(clusters.FOREGROUND, "wait_for", lambda request: None)


@pytest.fixture
def lowered(monkeypatch, as_library):
    """Makes clusters interpret the lowered graph; returns the number of nodes of each."""
    sizes = []

    def library(request):
        sent = pickle.loads(pickle.dumps(request))  # it goes to another process
        assert sent.digest() == request.digest()
        request = sent
        with torch.inference_mode(False), torch.no_grad():
            graph, _ = lowering.traced(request)
        sizes.append(len(request.members))
        return as_library(graph)

    monkeypatch.setattr(clusters, "find", lambda request: None)
    monkeypatch.setattr(clusters.FOREGROUND, "wait_for", library)
    return sizes


def clusters_of(session, fetches, feeds):
    """Returns the lines of the program that call clusters; what is captured may be in it a second time."""
    program = session._plan(fetches, tuple(feeds)).executable.programs[0]
    _ = program.functions
    lines = [line for code in program._more_codes for line in code.text.splitlines()]
    return list(dict.fromkeys(line for line in lines if "_cluster_of_" in line))


def _cell():
    x = tf.placeholder(tf.float32, [4, 6], name="x")
    a, b, c = tf.split(x, 3, 1)
    y = tf.tanh(a) * tf.sigmoid(b + 1.0) + tf.where(c > 0, c, -c)
    return x, y, tf.gradients(y, x)[0]


def test_pure_nodes_become_one_line(uncompiled):
    x, y, gradient = _cell()
    value = np.random.RandomState(0).randn(4, 6)
    with tf.Session() as plain, tf.Session(config=JIT) as session:
        assert len(clusters_of(session, [y, gradient], [x])) == 1
        for ours, expected in zip(session.run([y, gradient], {x: value}), plain.run([y, gradient], {x: value})):
            np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_no_other_node_runs_between_the_nodes_of_a_cluster(uncompiled):
    """A sort takes values of one cluster and provides some for the next."""
    x = tf.placeholder(tf.float32, [3, 3])
    before = tf.tanh(tf.sin(tf.exp(x) + 1.0))
    after = tf.tanh(tf.sin(tf.exp(tf.sort(before)) + before))
    with tf.Session(config=JIT) as session, tf.Session() as plain:
        assert len(clusters_of(session, after, [x])) == 2
        feed = {x: np.random.RandomState(0).randn(3, 3)}
        np.testing.assert_allclose(session.run(after, feed), plain.run(after, feed), rtol=1e-6)


def _trained(build, optimizer, config, steps=6):
    """Returns the losses of some steps and the variables after them."""
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        tf.set_random_seed(1)
        feeds, loss = build()
        train = optimizer().minimize(loss, global_step=tf.train.get_or_create_global_step())
        session.run(tf.global_variables_initializer())
        random = np.random.RandomState(0)
        for variable in tf.trainable_variables():
            variable.load(random.randn(*variable.shape.as_list()) * 0.3, session)
        losses = [session.run([loss, train], feeds)[0] for _ in range(steps)]
        return losses, session.run(tf.global_variables())


def _dense():
    x, y = tf.placeholder(tf.float32, [6, 5]), tf.placeholder(tf.float32, [6, 3])
    hidden = tf.layers.dense(x, 4, tf.nn.relu)
    loss = tf.losses.softmax_cross_entropy(y, tf.layers.dense(hidden, 3))
    random = np.random.RandomState(5)
    return {x: random.randn(6, 5), y: np.eye(3)[random.randint(0, 3, 6)]}, loss


def _convolutional():
    x, y = tf.placeholder(tf.float32, [2, 9, 9, 3]), tf.placeholder(tf.float32, [2, 7])
    h = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    h = tf.layers.max_pooling2d(h, 3, 2, padding="same")
    parts = [tf.layers.conv2d(h, 4, 1, use_bias=False), tf.layers.conv2d(h, 6, 3, padding="same", use_bias=False)]
    h = tf.concat(parts, 3)
    h = tf.nn.relu(tf.layers.batch_normalization(h, training=True))
    h = tf.layers.average_pooling2d(h, 2, 1)
    loss = tf.losses.mean_squared_error(y, tf.layers.dense(tf.layers.flatten(h), 7))
    random = np.random.RandomState(6)
    return {x: random.randn(2, 9, 9, 3), y: random.randn(2, 7)}, loss


def _attention():
    """Embeddings, normalization, attention, gelu and labels, as in a language model."""
    ids, labels = tf.placeholder(tf.int32, [2, 5]), tf.placeholder(tf.int32, [2, 5])
    h = tf.contrib.layers.layer_norm(tf.nn.embedding_lookup(tf.get_variable("table", [9, 8]), ids), begin_norm_axis=-1)
    q, k, v = (tf.reshape(tf.layers.dense(h, 8), [2, 5, 2, 4]) for _ in range(3))
    weights = tf.nn.softmax(tf.einsum("bqhd,bkhd->bhqk", q, k) * 0.5)
    mixed = tf.reshape(tf.einsum("bhqk,bkhd->bqhd", weights, v), [2, 5, 8])
    hidden = tf.layers.dense(h + mixed, 16)
    hidden = 0.5 * hidden * (1.0 + tf.tanh(0.79788 * (hidden + 0.044715 * tf.pow(hidden, 3))))
    logits = tf.layers.dense(tf.nn.dropout(hidden, rate=0.0), 9)
    random = np.random.RandomState(7)
    feeds = {ids: random.randint(0, 9, [2, 5]), labels: random.randint(0, 9, [2, 5])}
    return feeds, tf.losses.sparse_softmax_cross_entropy(labels, logits)


OPTIMIZERS = [
    lambda: tf.train.GradientDescentOptimizer(0.1),
    lambda: tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    lambda: tf.train.AdamOptimizer(0.01),
    lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    lambda: tf.train.AdagradOptimizer(0.1),
    lambda: tf.train.FtrlOptimizer(0.1),
]


@pytest.mark.parametrize("optimizer", range(len(OPTIMIZERS)))
@pytest.mark.parametrize("build", [_dense, _convolutional])
def test_a_whole_step_can_be_one_cluster(build, optimizer, lowered):
    """Forward pass, backward pass and update equal the individual calls, including variables and slots."""
    ours, variables = _trained(build, OPTIMIZERS[optimizer], JIT)
    expected, others = _trained(build, OPTIMIZERS[optimizer], None)
    np.testing.assert_allclose(ours, expected, rtol=2e-4)
    for mine, theirs in zip(variables, others):
        np.testing.assert_allclose(mine, theirs, rtol=2e-3, atol=1e-5)
    assert max(lowered) > 15


def test_a_value_read_before_an_update_does_not_change(lowered):
    with tf.Session(config=JIT) as session:
        v = tf.Variable([1.0, 2.0])
        before = tf.identity(v)
        with tf.control_dependencies([before]):
            change = tf.assign_add(v, tf.exp(tf.sin(v)) * 2.0)
        with tf.control_dependencies([change]):
            after = tf.identity(v) * 1.0
        session.run(tf.global_variables_initializer())
        expected = np.array([1.0, 2.0], np.float32)
        for _ in range(3):
            old, new = session.run([before, after])
            np.testing.assert_allclose(old, expected, rtol=1e-6)
            expected = expected + np.exp(np.sin(expected)) * 2
            np.testing.assert_allclose(new, expected, rtol=1e-5)


def test_scopes_mark_nodes_for_compilation(lowered):
    x = tf.placeholder(tf.float32, [4])
    with tf.contrib.compiler.jit.experimental_jit_scope():
        y = tf.tanh(tf.sin(tf.exp(x) + 1.0))
    z = tf.tanh(tf.sin(tf.exp(y) + 1.0))
    with tf.Session() as session:
        wanted = np.tanh(np.sin(np.exp(np.tanh(np.sin(2.0))) + 1))
        np.testing.assert_allclose(session.run(z, {x: np.zeros(4)}), [wanted] * 4, rtol=1e-5)
    assert lowered == [4]


def test_a_scope_may_choose_among_its_operations(lowered):
    x = tf.placeholder(tf.float32, [4])
    with tf.contrib.compiler.jit.experimental_jit_scope(lambda node_def: node_def.op != "Tanh"):
        y = tf.tanh(tf.sin(tf.exp(x) + 1.0))
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(y, {x: np.zeros(4)}), [np.tanh(np.sin(2.0))] * 4, rtol=1e-5)
    assert lowered == [3]


def test_more_layouts_than_the_limit_run_uncompiled(lowered):
    x = tf.placeholder(tf.float32, [None])
    y = tf.tanh(tf.sin(tf.exp(x) + 1.0))
    with tf.Session(config=JIT) as session:
        for size in range(1, 9):
            wanted = np.tanh(np.sin(np.exp(np.arange(size) / 8) + 1))
            np.testing.assert_allclose(session.run(y, {x: np.arange(size) / 8}), wanted, rtol=1e-5)
    assert len(lowered) == 4


def test_clusters_are_compiled_in_the_background(monkeypatch):
    """A hot step keeps running while it is compiled, tries both functions, and keeps one."""
    asked = []
    monkeypatch.setattr(executable, "COMPILE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(clusters.BACKGROUND, "ask", lambda request, done: asked.append((request, done)))
    x = tf.placeholder(tf.float32, [4])
    v = tf.Variable(tf.zeros([4]))
    change = tf.assign_add(v, tf.tanh(tf.sin(tf.exp(x) + 1.0)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def run(count):
            for _ in range(count):
                session.run(change, {x: np.zeros(4)})

        run(1)
        while not asked:
            run(1)
            time.sleep(0.01)
        request, done = asked[0]
        calls = []
        with torch.inference_mode(False), torch.no_grad():
            graph, _ = lowering.traced(request)
        done(lambda values: (calls.append(1), graph(*values))[1])
        before = session.run(v)
        run(40)
        assert len(calls) >= 6  # tried, at least
        np.testing.assert_allclose(session.run(v), before + 40 * np.tanh(np.sin(2.0)), rtol=1e-4)


SEEDS = [pytest.param(seed, marks=pytest.mark.slow) if seed % 4 else seed for seed in range(0, programs.COUNT, 2)]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed, uncompiled):
    source = programs.source(seed)
    names = {}
    exec(source, names)
    x, p, n = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
    y = names["build"](tf, x, p, n)
    g = tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
    with tf.Session(config=JIT) as session, tf.Session() as plain:
        for side in (True, False):
            for count in (0, 2):
                feed = {x: [0.3, -0.5, 0.7], p: side, n: count}
                np.testing.assert_allclose(session.run([y, g], feed), plain.run([y, g], feed), rtol=1e-12)


def test_a_failure_inside_a_cluster_names_the_node(uncompiled):
    x = tf.placeholder(tf.float32, [None])
    y = tf.placeholder(tf.float32, [None])
    z = tf.exp(tf.add(tf.sin(x), tf.cos(y), name="sum"))
    with tf.Session(config=JIT) as session, pytest.raises(tf.errors.InvalidArgumentError) as failure:
        session.run(z, {x: [1.0, 2.0], y: [1.0, 2.0, 3.0]})
    assert re.match(r"AddV2 'sum' on /device:[CG]PU:0: Incompatible shapes: \[2\] vs. \[3\]", failure.value.message)
    assert failure.value.op.name == "sum" and "defined at: test_clusters.py" in failure.value.message


def test_a_failure_in_a_loop_names_the_iteration(uncompiled):
    x = tf.placeholder(tf.float32, [None])

    def body(i, total):
        return i + 1, tf.tanh(tf.sin(total) + tf.cos(x[: 4 - i], name="part"), name="end")

    last = tf.while_loop(lambda i, total: i < 9, body, [0, x], shape_invariants=[tf.TensorShape([]), x.shape])[1]
    messages = []
    for config in (None, JIT):
        with tf.Session(config=config) as session, pytest.raises(tf.errors.InvalidArgumentError) as failure:
            session.run(last, {x: [1.0, 2.0, 3.0, 4.0]})
        messages.append(failure.value.message)
    assert "in iteration 1: Incompatible shapes: [4] vs. [3]" in messages[0]
    assert messages[0] == messages[1]


def _classifier():
    """Returns a loss by labels, and what updates by it, and something else."""
    labels = tf.placeholder(tf.int32, [4])
    count = tf.assign_add(tf.Variable(0.0), 1.0)
    weights = tf.Variable(np.ones((4, 3)), dtype=tf.float32)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.tanh(weights), name="loss")
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(tf.square(loss)))
    return labels, loss, tf.group(count, train)


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_a_failed_library_gives_the_error_of_the_node(lowered):
    labels, loss, _ = _classifier()
    scaled = tf.exp(tf.sin(loss))
    messages = []
    for config in (None, JIT):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            session.run(scaled, {labels: [0, 1, 2, 0]})
            with pytest.raises(tf.errors.InvalidArgumentError) as failure:
                session.run(scaled, {labels: [0, 1, 3, 0]})
            messages.append(failure.value.message)
    assert lowered
    assert "label value of 3" in messages[0] and "defined at: test_clusters.py" in messages[0]
    assert messages[0] == messages[1]


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_a_failed_library_updates_nothing_again(lowered):
    """To find the node that failed, nodes run once more, but no update."""
    labels, _, train = _classifier()
    with tf.Session(config=JIT) as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {labels: [0, 1, 2, 0]})
        before = session.run(tf.global_variables())
        with pytest.raises(tf.errors.InvalidArgumentError, match="label value of 3"):
            session.run(train, {labels: [0, 1, 3, 0]})
        for mine, theirs in zip(session.run(tf.global_variables()), before):
            np.testing.assert_array_equal(mine, theirs)
        session.run(train, {labels: [0, 1, 2, 0]})
    assert lowered == [10]  # all in one cluster


@pytest.mark.cpu_only(reason="on a GPU the library may fail under capture")
def test_a_library_that_fails_alone_is_replaced_by_the_calls(monkeypatch):
    def library(values):
        raise RuntimeError("a compiled part of the step failed")

    monkeypatch.setattr(clusters, "find", lambda request: library)
    x = tf.placeholder(tf.float32, [4])
    y = tf.tanh(tf.sin(tf.exp(x) + 1.0))
    with tf.Session(config=JIT) as session:
        np.testing.assert_allclose(session.run(y, {x: np.zeros(4)}), [np.tanh(np.sin(2.0))] * 4, rtol=1e-5)
    v = tf.Variable(tf.zeros([4]))
    change = tf.assign_add(v, tf.tanh(tf.sin(tf.exp(x) + 1.0)), name="change")
    with tf.Session(config=JIT) as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="a compiled part of the step failed"):
            session.run(change, {x: np.zeros(4)})
        np.testing.assert_array_equal(session.run(v), np.zeros(4))


@pytest.mark.slow
def test_compiled_for_the_layouts_of_its_inputs():
    x = tf.placeholder(tf.float32, [None, 6])
    y = tf.tanh(x) * tf.sigmoid(x + 1.0)
    with tf.Session(config=JIT) as session, tf.Session() as plain:
        for rows in (2, 3, 2, 4, 5, 6, 7):
            value = np.random.RandomState(rows).randn(rows, 6)
            np.testing.assert_allclose(session.run(y, {x: value}), plain.run(y, {x: value}), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("build", [_dense, _convolutional, _attention])
def test_compiled_steps_give_the_same_results(build, caplog):
    inductor.warn.cache_clear()
    ours, variables = _trained(build, OPTIMIZERS[2], JIT)
    expected, others = _trained(build, OPTIMIZERS[2], None)
    np.testing.assert_allclose(ours, expected, rtol=2e-4)
    for mine, theirs in zip(variables, others):
        np.testing.assert_allclose(mine, theirs, rtol=2e-3, atol=1e-4)
    assert "uncompiled" not in caplog.text


@pytest.mark.slow
def test_compiled_training_loops_give_the_same_results():
    x = tf.placeholder(tf.float32, [5, 4, 3])
    outputs, _ = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(8), x, sequence_length=[5, 1, 3, 0], dtype=tf.float32, time_major=True
    )
    loss = tf.reduce_mean(tf.square(outputs))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    value = np.random.RandomState(0).randn(5, 4, 3)
    losses, state = [], None
    for config in (None, JIT):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            state = state or session.run(tf.global_variables())
            for variable, first in zip(tf.global_variables(), state):
                variable.load(first, session)
            losses.append([session.run([loss, train], {x: value})[0] for _ in range(5)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)

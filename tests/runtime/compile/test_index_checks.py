"""Index checks: which inputs of a traced function are used as indices, and calls that they refuse."""

import numpy as np
import pytest
import torch
import torch._inductor.inductor_prims
from torch.fx.experimental.proxy_tensor import make_fx

import thalweg as tf
from thalweg._src.runtime.compile import clusters, lowering
from thalweg._src.runtime.compile.index_checks import checked, clamp_pool_indices, index_checks

X, INDEX = torch.zeros(5, 7), torch.zeros(3, 2, dtype=torch.int64)

FUNCTIONS = {
    "gather": (lambda x, i: torch.gather(x, 1, i), [(1, 7)]),
    "from the end": (lambda x, i: torch.gather(x, -2, i), [(1, 5)]),
    "cast and reshaped": (lambda x, i: x.index_select(0, i.to(torch.int32).reshape(-1)), [(1, 5)]),
    "scatter": (lambda x, i: x.scatter_add(0, i, torch.ones(3, 2)), [(1, 5)]),
    "indices of two dimensions": (lambda x, i: x[i[:, 0], i[:, 1]], [(1, 5)]),
    "embedding": (lambda x, i: torch.nn.functional.embedding(i, x), [(1, 5)]),
    "the smaller size": (lambda x, i: torch.gather(x, 1, i) + torch.gather(x, 0, i), [(1, 5)]),
    "either index": (lambda x, i: torch.gather(x, 1, torch.where(i == 9, 0, i)), [(1, 7)]),
    "made in range": (lambda x, i: torch.gather(x, 1, torch.argmax(x, 1, keepdim=True)), []),
    "masks": (lambda x, i: x.index_put((x > 0,), torch.tensor(1.0)), []),
    "no index": (lambda x, i: torch.sin(x).sum() + i, []),
    "computed": (lambda x, i: torch.gather(x, 1, i + 1), None),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs_that_are_indices(name):
    function, expected = FUNCTIONS[name]
    assert index_checks(make_fx(function, tracing_mode="fake")(X, INDEX)) == expected


def test_indices_of_pools_stay_inside():
    """Inductor takes the first element of a window that has only -inf, be it in the padding."""

    def positions(first):
        return torch.ops.prims._low_memory_max_pool_offsets_to_indices(first, [3, 3], [9, 9], [2, 2], [1, 1], [1, 1])

    first = torch.zeros(1, 2, 5, 5, dtype=torch.int8)
    graph = make_fx(positions)(first)
    assert graph(first).min() == -10
    clamp_pool_indices(graph)
    assert graph(first).min() == 0
    assert graph(first + 8).max() == 80  # the last element


def test_calls_with_indices_out_of_range_are_refused():
    library = checked(lambda values: [torch.gather(values[0], 1, values[1])], [(1, 7)])
    assert library([X, INDEX + 6])[0].shape == (3, 2)
    assert library([X, INDEX[:0]])[0].shape == (0, 2)
    for bad in (INDEX + 7, INDEX - 1):
        with pytest.raises(IndexError, match="not in"):
            library([X, bad])


def test_labels_are_checked(monkeypatch):
    requests = []
    monkeypatch.setattr(clusters, "find", lambda request: None)
    monkeypatch.setattr(clusters.FOREGROUND, "wait_for", requests.append)
    labels = tf.placeholder(tf.int64, [4])
    weights = tf.Variable(np.ones((4, 3)), dtype=tf.float32)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.tanh(weights))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1))
    with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
        session.run(weights.initializer)
        session.run(train, {labels: [0, 1, 2, 0]})
    (request,) = requests
    number = [dtype for _, _, dtype in request.layouts].index(torch.int64)
    with torch.inference_mode(False), torch.no_grad():
        assert index_checks(lowering.traced(request)[0]) == [(number, 3)]


@pytest.mark.slow
def test_a_pool_is_compiled_as_for_an_accelerator(monkeypatch, tmp_path):
    """For accelerators, what is inserted into a traced cluster is not decomposed any more."""
    requests = []
    monkeypatch.setattr(clusters, "find", lambda request: None)
    monkeypatch.setattr(clusters.FOREGROUND, "wait_for", requests.append)
    x = tf.placeholder(tf.float32, [1, 9, 9, 2])
    pooled = tf.nn.max_pool2d(tf.tanh(x), 3, 2, "SAME")
    (slope,) = tf.gradients(pooled**2, x)
    image = np.random.default_rng(1).standard_normal((1, 9, 9, 2)).astype(np.float32)
    options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1))
    config = tf.ConfigProto(graph_options=options, device_count={"GPU": 0})
    with tf.Session(config=config) as session:
        expected = session.run(slope, {x: image})
    (request,) = requests
    (found,) = lowering.build_here(request, str(tmp_path))([torch.from_numpy(image)])
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)

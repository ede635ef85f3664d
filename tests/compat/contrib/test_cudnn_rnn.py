"""tf.contrib.cudnn_rnn: layers against networks of cells that share their checkpoints, in values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.graph.ops.cudnn_rnn import cudnn_rnn_op

cudnn_rnn = tf.contrib.cudnn_rnn
TIME, BATCH, WIDTH, UNITS, LAYERS = 5, 3, 4, 6, 2
RNG = np.random.default_rng(7)
X = RNG.normal(size=(TIME, BATCH, WIDTH)).astype(np.float32)
LENGTHS = [2, 5, 3]
CELLS: dict[str, Callable[[], Any]] = {
    "CudnnLSTM": lambda: cudnn_rnn.CudnnCompatibleLSTMCell(UNITS),
    "CudnnGRU": lambda: cudnn_rnn.CudnnCompatibleGRUCell(UNITS),
    "CudnnRNNTanh": lambda: tf.nn.rnn_cell.BasicRNNCell(UNITS),
    "CudnnRNNRelu": lambda: tf.nn.rnn_cell.BasicRNNCell(UNITS, activation=tf.nn.relu),
}
CLOSE = {"rtol": 1e-3, "atol": 1e-4}  # cuDNN approximates tanh and the sigmoid to about four digits
CASES = [(name, direction) for name in CELLS for direction in ("unidirectional", "bidirectional")]


@pytest.fixture(autouse=True)
def graph(request: Any) -> Any:
    if request.config.getoption("--pretend-gpu"):
        pytest.skip("torch computes recurrent networks on devices by fused cells, which the pretended one lacks")
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        yield


def layer(name: str, **options: Any) -> Any:
    return getattr(cudnn_rnn, name)(
        LAYERS, UNITS, bias_initializer=tf.random_normal_initializer(), name="net", **options
    )


def cells(name: str, direction: str, x: Any, lengths: Any = None) -> Any:
    """Returns the outputs and final states of a network of cells whose variables have the names of a checkpoint."""
    options = {"dtype": tf.float32, "time_major": True, "sequence_length": lengths}
    with tf.variable_scope("net"):
        if direction == "unidirectional":
            stack = tf.nn.rnn_cell.MultiRNNCell([CELLS[name]() for _ in range(LAYERS)])
            return tf.nn.dynamic_rnn(stack, x, **options)
        forward, backward = ([CELLS[name]() for _ in range(LAYERS)] for _ in range(2))
        outputs, *states = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(forward, backward, x, **options)
        return outputs, [state for layer in zip(*states) for state in layer]


def flat_states(name: str, states: Any) -> list[Any]:
    """Returns the states of cells as the layers return them: all outputs, then all memories of an LSTM."""
    if name != "CudnnLSTM":
        return [np.stack(states)]
    return [np.stack([state.h for state in states]), np.stack([state.c for state in states])]


@pytest.mark.parametrize(("name", "direction"), CASES)
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_cells_compute_what_the_layer_computes_from_its_checkpoint(
    name: str, direction: str, lengths: Any, tmp_path: Any
) -> None:
    x = tf.placeholder(tf.float32, X.shape)
    outputs, states = layer(name, direction=direction)(x, sequence_lengths=lengths)
    grads = tf.gradients(tf.reduce_sum(outputs**2), x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = session.run([outputs, grads, states], {x: X})
        path = tf.train.Saver().save(session, str(tmp_path / "model"))

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, X.shape)
        outputs, states = cells(name, direction, x, lengths)
        grads = tf.gradients(tf.reduce_sum(outputs**2), x)
        tf.train.Saver().restore(session, path)
        found = session.run([outputs, grads, states], {x: X})
    for ours, theirs in zip([*expected[:2], *expected[2]], [*found[:2], *flat_states(name, found[2])]):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


@pytest.mark.parametrize(("name", "direction"), CASES)
def test_a_layer_reads_the_checkpoint_of_cells(name: str, direction: str, tmp_path: Any) -> None:
    outputs, _ = cells(name, direction, X)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            variable.load(RNG.normal(size=variable.shape.as_list()), session)
        expected = session.run(outputs)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))

    with tf.Graph().as_default(), tf.Session() as session:
        net = layer(name, direction=direction)
        outputs, _ = net(X)
        tf.train.Saver([net.saveable]).restore(session, path)
        np.testing.assert_allclose(session.run(outputs), expected, **CLOSE)


def test_checkpoints_have_the_names_of_tensorflow(tmp_path: Any) -> None:
    layer("CudnnGRU")(X)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    found = dict(tf.train.list_variables(path))
    assert found.pop("net/opaque_kernel") == [sum(3 * UNITS * (w + UNITS + 2) for w in (WIDTH, UNITS))]
    for number, width in enumerate((WIDTH, UNITS)):
        cell = f"net/rnn/multi_rnn_cell/cell_{number}/cudnn_compatible_gru_cell"
        assert found.pop(f"{cell}/gates/kernel") == [width + UNITS, 2 * UNITS]
        assert found.pop(f"{cell}/gates/bias") == [2 * UNITS]
        assert found.pop(f"{cell}/candidate/input_projection/kernel") == [width, UNITS]
        assert found.pop(f"{cell}/candidate/hidden_projection/kernel") == [UNITS, UNITS]
        assert found.pop(f"{cell}/candidate/input_projection/bias") == [UNITS]
        assert found.pop(f"{cell}/candidate/hidden_projection/bias") == [UNITS]
    assert not found


def test_a_layer_restores_its_own_checkpoint(tmp_path: Any) -> None:
    outputs, _ = layer("CudnnLSTM")(X)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected, path = session.run(outputs), saver.save(session, str(tmp_path / "model"))
    with tf.Session() as session:
        saver.restore(session, path)
        np.testing.assert_allclose(session.run(outputs), expected, rtol=1e-5, atol=1e-6)


def test_a_layer_is_trained() -> None:
    net = layer("CudnnLSTM", direction="bidirectional", dropout=0.2)
    outputs, (h, c) = net(X)
    assert (outputs.shape.as_list(), h.shape.as_list(), c.shape.as_list()) == (
        [TIME, BATCH, 2 * UNITS],
        *[[2 * LAYERS, BATCH, UNITS]] * 2,
    )
    assert net.trainable_variables == tf.trainable_variables() == [net.kernel]
    loss = tf.reduce_mean((outputs - 0.5) ** 2)
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(30):
            session.run(step)
        assert session.run(loss) < first / 2


def test_initial_states_and_the_gradients_of_all_inputs() -> None:
    module = torch.nn.GRU(WIDTH, UNITS, LAYERS)
    params = torch.cat([p.flatten() for p in sorted_parameters(module)]).detach().numpy()
    h = RNG.normal(size=(LAYERS, BATCH, UNITS)).astype(np.float32)
    inputs = [tf.constant(X), tf.constant(h), tf.zeros([0]), tf.constant(params)]
    outputs, final, *_ = cudnn_rnn_op.many(*inputs, rnn_mode="gru")
    grads = tf.gradients([outputs * 2, final * 3], inputs)
    with tf.Session() as session:
        found = session.run([outputs, final, *grads])

    x, start = torch.tensor(X, requires_grad=True), torch.tensor(h, requires_grad=True)
    theirs, last = module(x, start)
    (theirs.sum() * 2 + last.sum() * 3).backward()
    flat = torch.cat([p.grad.flatten() for p in sorted_parameters(module)])  # type: ignore[union-attr]
    for ours, wanted in zip(found, (theirs, last, x.grad, start.grad, torch.zeros(0), flat)):
        np.testing.assert_allclose(ours, wanted.detach().numpy(), rtol=1e-4, atol=1e-5)  # type: ignore[union-attr]


def sorted_parameters(module: Any) -> list[Any]:
    """Returns torch's parameters as cuDNN orders them: weights, then biases."""
    return sorted(module.parameters(), key=lambda parameter: parameter.ndim != 2)


def test_dropout_is_applied_between_layers_and_gradients_use_its_mask() -> None:
    net = layer("CudnnRNNTanh", dropout=0.5, seed=3)
    x = tf.constant(X)
    outputs, _ = net(x)
    grad = tf.gradients(outputs, x)[0]
    mask = outputs.op.outputs[3]
    silent, _ = net(x, training=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        params, ours, by_x, masks = session.run([net.kernel, outputs, grad, mask])
        again, plain, plain_again = session.run([outputs, silent, silent])
    assert set(np.unique(masks)) == {0.0, 2.0}
    assert 0 < np.mean(masks == 0) < 1
    assert not np.allclose(ours, again)
    assert np.array_equal(plain, plain_again)

    layers = [torch.nn.RNN(WIDTH, UNITS), torch.nn.RNN(UNITS, UNITS)]
    parameters = sorted((p for one in layers for p in one.parameters()), key=lambda parameter: parameter.ndim != 2)
    torch.nn.utils.vector_to_parameters(torch.from_numpy(params), parameters)
    signal = torch.tensor(X, requires_grad=True)
    theirs = layers[1](layers[0](signal)[0] * torch.from_numpy(masks).view(TIME, BATCH, UNITS))[0]
    theirs.sum().backward()
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(by_x, signal.grad.numpy(), rtol=1e-4, atol=1e-5)  # type: ignore[union-attr]


def test_batches_may_come_first_where_lengths_are_given() -> None:
    net = layer("CudnnLSTM")
    h = RNG.normal(size=(BATCH, LAYERS, UNITS)).astype(np.float32)
    x = tf.constant(X.swapaxes(0, 1))
    first, state = net(x, initial_state=(h, h), sequence_lengths=LENGTHS, time_major=False)
    swapped = tuple(np.ascontiguousarray(h.swapaxes(0, 1)) for _ in range(2))
    second, same = net(X, initial_state=swapped, sequence_lengths=LENGTHS)
    by_first = tf.gradients(first, x)[0]
    by_second = tf.gradients(second, second.op.inputs[0])[0]
    zero_start, _ = net(x, sequence_lengths=LENGTHS, time_major=False)
    assert zero_start.shape == first.shape == [BATCH, TIME, UNITS]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for ours, theirs in ((first, second), (state[1], same[1]), (by_first, by_second)):
            a, b = session.run([ours, theirs])
            np.testing.assert_allclose(a.swapaxes(0, 1), b, rtol=1e-5, atol=1e-6)
        assert not session.run(second)[2:, 0].any(), "outputs past the end of a sequence are 0"


def test_a_skipped_input_is_added_as_it_is() -> None:
    x = tf.constant(RNG.normal(size=(TIME, BATCH, UNITS)).astype(np.float32))
    net = cudnn_rnn.CudnnRNNTanh(1, UNITS, input_mode="auto_select")
    outputs, _ = net(x)
    assert net.kernel.shape.as_list() == [UNITS * UNITS + 2 * UNITS]
    grads = tf.gradients(outputs, [net.kernel, x])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        ours, given, kernel, *_ = session.run([outputs, x, net.kernel, *grads])
    state, weights = np.zeros((BATCH, UNITS)), kernel[: UNITS * UNITS].reshape(UNITS, UNITS)
    for moment in range(TIME):
        state = np.tanh(given[moment] + state @ weights.T)
        np.testing.assert_allclose(ours[moment], state, rtol=1e-4, atol=1e-5)


def test_the_second_call_uses_the_same_variable() -> None:
    net = layer("CudnnGRU")
    net(X)
    net(X)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        layer("CudnnGRU")(X, scope="net")
    assert [v.op.name for v in tf.global_variables()] == ["net/opaque_kernel"]
    assert len(tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cudnn_rnn.CudnnLSTM(1, 2, direction="both"), "direction"),
        (lambda: cudnn_rnn.CudnnLSTM(1, 2, input_mode="none"), "input_mode"),
        (lambda: cudnn_rnn.CudnnLSTM(1, 2, dtype=tf.int32), "dtype"),
        (lambda: cudnn_rnn.CudnnLSTM(1, 2)(tf.zeros([3, 4])), "3 dims"),
        (lambda: cudnn_rnn.CudnnLSTM(1, 2)(tf.placeholder(tf.float32, [3, 4, None])), "must be known"),
        (lambda: cudnn_rnn.CudnnGRU(1, 2, input_mode="skip_input")(X), "input_size equal to num_units"),
        (lambda: cudnn_rnn_op.many(X, np.zeros((2, BATCH, 3)), np.zeros((2, BATCH, 3)), np.zeros(9)), "params has 9"),
        (lambda: tf.gradients(layer("CudnnGRU")(x := tf.constant(X), training=False)[0], x), "is_training=False"),
    ],
)
def test_what_cannot_work_is_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_lengths_beyond_the_input_are_refused() -> None:
    outputs, _ = layer("CudnnLSTM")(X, sequence_lengths=[6, 1, 1])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="lengths from 1 to 5"):
            session.run(outputs)

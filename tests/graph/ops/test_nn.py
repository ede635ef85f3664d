import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.checks import check_op
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops import cross_entropy, nn
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.nn import dropout as dropout_ops


def array(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype) * 3


def run(build, *arrays: np.ndarray):
    """Runs a function of placeholders of unknown rank."""
    with Graph().as_default():
        inputs = [placeholder(a.dtype) for a in arrays]
        fetches = build(*inputs)
        with Session() as session:
            return session.run(fetches, dict(zip(inputs, arrays)))


ACTIVATIONS = {
    "relu": (nn.relu, torch.relu),
    "relu6": (nn.relu6, F.relu6),
    "elu": (nn.elu, F.elu),
    "selu": (nn.selu, torch.selu),
    "leaky_relu": (lambda x: nn.leaky_relu(x, 0.3), lambda x: F.leaky_relu(x, 0.3)),
    "softplus": (nn.softplus, lambda x: F.softplus(x, threshold=40)),
    "log_sigmoid": (nn.log_sigmoid, F.logsigmoid),
    "softsign": (nn.softsign, F.softsign),
    "swish": (nn.swish, F.silu),
    "crelu": (nn.crelu, lambda x: torch.cat([torch.relu(x), torch.relu(-x)], -1)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(3, 5), (2, 0)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_activations(name: str, shape: tuple[int, ...], dtype: str) -> None:
    build, reference = ACTIVATIONS[name]
    check_op(build, reference, array(*shape, dtype=dtype))


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"crelu"}))
def test_second_order(name: str) -> None:
    build, reference = ACTIVATIONS[name]

    def second(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_(True)
        (first,) = torch.autograd.grad(torch.sum(reference(x) * x), x, create_graph=True)
        return torch.autograd.grad(torch.sum(first * x), x)[0]

    def built(x):
        first = gradients(build(x) * x, x)[0]
        return gradients(first * x, x)[0]

    check_op(built, second, array(4, 3, dtype="float64"), grad=False)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint16", "uint32", "uint64"])
def test_relu_of_integers(dtype: str) -> None:
    x = np.array([0, 1, 5, 6, 7, 120], dtype) - (3 if not dtype.startswith("u") else 0)
    x = x.astype(dtype)
    np.testing.assert_array_equal(run(nn.relu, x), np.maximum(x, 0))
    np.testing.assert_array_equal(run(nn.relu6, x), np.clip(x, 0, 6))
    np.testing.assert_array_equal(run(nn.relu_grad, x, x), np.where(x > 0, x, 0))
    np.testing.assert_array_equal(run(nn.relu6_grad, x, x), np.where((x > 0) & (x < 6), x, 0))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_derivatives_at_zero_match_tensorflow(dtype: str) -> None:
    one, zero = np.ones(1, dtype), np.zeros(1, dtype)
    assert run(nn.relu_grad, one, zero) == 0
    assert run(nn.elu_grad, one, zero) == 1
    np.testing.assert_allclose(run(nn.selu_grad, one, zero), 1.0507009873554805, rtol=1e-3)
    np.testing.assert_allclose(run(lambda g, x: nn.leaky_relu_grad(g, x, alpha=0.25), one, zero), 0.25)


def test_gradient_ops_do_not_broadcast() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Incompatible shapes"):
        run(nn.relu_grad, array(2, 3), array(1, 3))


@pytest.mark.parametrize("axis", [None, -1, 0, 1, -2])
@pytest.mark.parametrize("log", [False, True])
def test_softmax(axis: int | None, log: bool) -> None:
    build, reference = (nn.log_softmax, torch.log_softmax) if log else (nn.softmax, torch.softmax)
    check_op(lambda x: build(x, axis), lambda x: reference(x, -1 if axis is None else axis), array(2, 3, 4))


def test_softmax_accepts_the_old_name_of_axis() -> None:
    x = array(2, 3)
    np.testing.assert_allclose(run(lambda t: nn.softmax(t, dim=0), x).sum(0), np.ones(3), rtol=1e-6)
    with pytest.raises(ValueError):
        nn.softmax(constant(x), axis=0, dim=0)
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        nn.softmax(constant(x), axis=2)
    with pytest.raises(ValueError, match="rank 0"):
        nn.softmax(constant(1.0))


def distribution(*shape: int) -> np.ndarray:
    p = np.abs(array(*shape, seed=3)) + 0.1
    return (p / p.sum(-1, keepdims=True)).astype("float32")


@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 3), (0, 3)])
def test_softmax_cross_entropy(shape: tuple[int, ...]) -> None:
    check_op(
        lambda z, x: cross_entropy.softmax_cross_entropy_with_logits_v2(labels=z, logits=x),
        lambda z, x: -(z * torch.log_softmax(x, -1)).sum(-1),
        distribution(*shape),
        array(*shape),
    )


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_softmax_cross_entropy_casts_labels(dtype: str) -> None:
    with Graph().as_default(), Session() as session:
        logits = np.array([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]], np.float32)
        labels = np.array([[0, 1, 0], [1, 0, 0]])
        given = constant(labels.astype(dtype))
        for loss in (
            cross_entropy.softmax_cross_entropy_with_logits,
            cross_entropy.softmax_cross_entropy_with_logits_v2,
        ):
            found, expected = session.run(
                [loss(labels=given, logits=logits), loss(labels=labels.astype("float32"), logits=logits)]
            )
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, expected)


def test_softmax_cross_entropy_along_another_axis() -> None:
    z = distribution(4, 2, 3).transpose(0, 2, 1).copy()
    check_op(
        lambda z, x: cross_entropy.softmax_cross_entropy_with_logits_v2(z, x, axis=1),
        lambda z, x: -(z * torch.log_softmax(x, 1)).sum(1),
        z,
        array(4, 3, 2),
    )


def test_labels_stop_gradients_in_the_first_version() -> None:
    with Graph().as_default():
        z, x = placeholder("float32", [2, 3]), placeholder("float32", [2, 3])
        loss = cross_entropy.softmax_cross_entropy_with_logits(labels=z, logits=x)
        assert gradients(loss, z) == [None]
        assert gradients(loss, x)[0] is not None
    with pytest.raises(ValueError, match="labels or logits is missing"):
        cross_entropy.softmax_cross_entropy_with_logits(labels=z)


def test_cross_entropy_broadcasts() -> None:
    x, z = array(1, 3), distribution(4, 3)
    loss, backprop = run(lambda x, z: list(nn.softmax_cross_entropy_op.many(x, z)), x, z)
    logs = torch.log_softmax(torch.from_numpy(x), 1).numpy()
    np.testing.assert_allclose(loss, -(z * logs).sum(1), rtol=1e-5)
    np.testing.assert_allclose(backprop, np.exp(logs) - z, rtol=1e-5)


def test_second_order_of_cross_entropy() -> None:
    def reference(z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_(True)
        loss = -(z * torch.log_softmax(x, -1)).sum()
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        return torch.autograd.grad((first * first).sum(), x)[0]

    def built(z, x):
        first = gradients(cross_entropy.softmax_cross_entropy_with_logits_v2(z, x), x)[0]
        return gradients(first * first, x)[0]

    check_op(built, reference, distribution(4, 3), array(4, 3), grad=False)


@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 3), (3,), (0, 3)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sparse_softmax_cross_entropy(shape: tuple[int, ...], dtype: str) -> None:
    labels = np.random.default_rng(0).integers(0, shape[-1], shape[:-1]).astype(dtype)
    check_op(
        lambda z, x: cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=z, logits=x),
        lambda z, x: -torch.log_softmax(x, -1).gather(-1, z.long().unsqueeze(-1)).squeeze(-1),
        labels,
        array(*shape),
    )


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
@pytest.mark.parametrize("label", [-1, 3, -100])
def test_labels_out_of_range(label: int) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=rf"label value of {label} which is outside"):
        run(
            lambda z, x: cross_entropy.sparse_softmax_cross_entropy_with_logits(z, x), np.array([0, label]), array(2, 3)
        )


def test_ranks_of_sparse_labels() -> None:
    with pytest.raises(ValueError, match="Rank mismatch"):
        cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=constant([[1, 2]]), logits=constant(array(2, 3)))
    with pytest.raises(ValueError, match="batches differ: 2 and 3"):
        cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=constant([1, 2, 0]), logits=constant(array(2, 3)))


@pytest.mark.parametrize("labels", [[1], [1, 2, 0]])
def test_batches_of_sparse_labels_in_a_step(labels: list[int]) -> None:
    logits, classes = placeholder("float32", [None, 3]), placeholder("int32", [None])
    loss = cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
    (grad,) = gradients(loss, logits)
    with Session() as session:
        for fetched in (loss, grad):
            with pytest.raises(errors.InvalidArgumentError, match="batches differ: 2 and"):
                session.run(fetched, {logits: array(2, 3), classes: labels})


def test_sigmoid_cross_entropy() -> None:
    labels, logits = distribution(3, 4), array(3, 4)
    check_op(
        lambda z, x: cross_entropy.sigmoid_cross_entropy_with_logits(labels=z, logits=x),
        lambda z, x: F.binary_cross_entropy_with_logits(x, z, reduction="none"),
        labels,
        logits,
    )
    check_op(
        lambda z, x: cross_entropy.weighted_cross_entropy_with_logits(labels=z, logits=x, pos_weight=2.5),
        lambda z, x: F.binary_cross_entropy_with_logits(x, z, pos_weight=torch.tensor(2.5), reduction="none"),
        labels,
        logits,
    )
    with pytest.raises(ValueError, match="must have the same shape"):
        cross_entropy.sigmoid_cross_entropy_with_logits(labels=constant(labels), logits=constant(logits[:2]))


def test_log_poisson_loss() -> None:
    check_op(
        lambda z, c: cross_entropy.log_poisson_loss(z, c, compute_full_loss=True),
        lambda z, c: F.poisson_nll_loss(c, z, log_input=True, full=True, reduction="none"),
        np.abs(array(3, 4)) + 0.5,
        array(3, 4, seed=1),
        grad=False,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_l2_loss(dtype: str) -> None:
    check_op(
        nn.l2_loss, lambda x: (x * x).sum() / 2, array(2, 3, dtype=dtype), rtol=1e-2 if dtype == "float16" else 1e-5
    )


@pytest.mark.parametrize("shape", [(2, 3), (2, 4, 5, 3), (0, 3)])
def test_bias_add(shape: tuple[int, ...]) -> None:
    check_op(nn.bias_add, lambda x, b: x + b, array(*shape), array(3))
    if len(shape) > 2:
        check_op(
            lambda x, b: nn.bias_add(x, b, data_format="NCHW"),
            lambda x, b: x + b[:, None, None],
            array(2, 3, 4, 5),
            array(3),
        )


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_second_order_of_bias_add(layout: str) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        axes = (0, 1, 2) if layout == "NHWC" else (0, 2, 3)
        return (x**2).sum(axes)

    check_op(lambda x: nn.bias_add_grad_op(x**2, data_format=layout), reference, array(2, 3, 4, 5))


def test_bias_length_is_checked_statically_and_in_the_step() -> None:
    with pytest.raises(ValueError, match="channels differ: 3 and 1"):
        nn.bias_add(constant(array(2, 3)), constant(array(1)))
    with pytest.raises(errors.InvalidArgumentError, match="channels differ: 3 and 1"):
        run(nn.bias_add, array(2, 3), array(1))


def test_layers() -> None:
    x, w, b = array(2, 3), array(3, 4, seed=1), array(4, seed=2)
    check_op(nn.xw_plus_b, lambda x, w, b: x @ w + b, x, w, b)
    check_op(nn.relu_layer, lambda x, w, b: torch.relu(x @ w + b), x, w, b)


@pytest.mark.parametrize("depth", [5, 600])
@pytest.mark.parametrize("fused_ops", [["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Tanh"]])
@pytest.mark.parametrize("transpose", [False, True])
def test_fused_matmul(depth: int, fused_ops: list[str], transpose: bool) -> None:
    ends = {"Relu": torch.relu, "Tanh": torch.tanh}
    end = ends.get(fused_ops[-1], lambda x: x)
    check_op(
        lambda x, w, b: nn.fused_matmul_op(x, w, [b], fused_ops=fused_ops, transpose_b=transpose),
        lambda x, w, b: end(x @ (w.T if transpose else w) + b),
        array(3, depth),
        array(*((4, depth) if transpose else (depth, 4)), seed=1) / depth,
        array(4, seed=2),
        grad=False,
        rtol=1e-4,
        atol=1e-5,
    )


def test_top_k() -> None:
    x = array(3, 7)
    check_op(
        lambda x: list(nn.top_k(x, 4)),
        lambda x: [torch.topk(x, 4).values, torch.topk(x, 4).indices.int()],
        x,
    )
    check_op(lambda x: list(nn.top_k(x)), lambda x: [x.max(-1, True).values, x.argmax(-1, True).int()], array(2, 3, 4))
    ties = np.array([1, 3, 3, 2, 3, 0], "int32")
    values, indices = run(lambda x: list(nn.top_k(x, 2)), ties)
    assert values.tolist() == [3, 3] and indices.tolist() == [1, 2]
    assert [v.tolist() for v in run(lambda x: list(nn.top_k(x, 0)), ties)] == [[], []]


def test_top_k_of_too_few_values() -> None:
    with pytest.raises(ValueError, match="last dimension >= k = 4"):
        nn.top_k(constant(array(2, 3)), 4)
    with pytest.raises(errors.InvalidArgumentError, match="at least k columns"):
        run(lambda x, k: nn.top_k(x, k), array(2, 3), np.array(4, "int32"))
    with pytest.raises(ValueError, match="k >= 0"):
        nn.top_k(constant(array(2, 3)), -1)


def test_in_top_k() -> None:
    predictions = np.array([[0.1, 0.3, 0.2], [0.3, 0.3, 0.1], [np.inf, 0.1, 0.2], [1, 2, 3]], "float32")
    targets = np.array([2, 0, 2, 7], "int32")
    assert run(lambda p, t: nn.in_top_k(p, t, 1), predictions, targets).tolist() == [False, True, False, False]
    assert run(lambda p, t: nn.in_top_k(p, t, 2), predictions, targets).tolist() == [True, True, False, False]
    assert run(lambda p, t: nn.in_top_k_v1_op(p, t, k=2), predictions, targets).tolist() == [True, True, False, False]


def test_dropout_keeps_the_expectation() -> None:
    x = np.ones((200, 300), "float32")
    y = run(lambda x: dropout_ops.dropout(x, rate=0.25, seed=1), x)
    assert set(np.unique(y).round(4)) == {0.0, np.float32(1.3333)}
    assert abs(y.mean() - 1) < 0.02
    rows = run(lambda x: dropout_ops.dropout(x, keep_prob=0.5, noise_shape=[None, 1], seed=1), x)
    assert ((rows == 0).all(1) | (rows == 2).all(1)).all() and 0.3 < (rows[:, 0] == 0).mean() < 0.7


def test_dropout_rejects_invalid_arguments() -> None:
    x = constant(array(2, 3))
    assert dropout_ops.dropout(x, rate=0.0) is x
    for wrong in ({}, {"rate": 0.1, "keep_prob": 0.9}, {"rate": 1.0}, {"rate": -0.1}, {"keep_prob": "a"}):
        with pytest.raises(ValueError):
            dropout_ops.dropout(x, **wrong)
    with pytest.raises(ValueError, match="expected a floating"):
        dropout_ops.dropout(constant([1, 2]), rate=0.5)


def test_zero_fraction() -> None:
    assert run(dropout_ops.zero_fraction, np.array([0, 1, 0, 2], "int32")) == 0.5


def test_a_matrix_product_with_bias_is_one_call() -> None:
    with Graph().as_default():
        x, w = placeholder("float32", [None, 3]), placeholder("float32", [3, 4])
        y = nn.relu(nn.bias_add(matmul(x, w), constant(array(4))))
        with Session() as session:
            assert "addmm" in session.show_program(y, [x, w])

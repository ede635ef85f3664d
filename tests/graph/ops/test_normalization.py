import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.checks import check_op
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.graph.ops import normalization
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session


def array(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def run(build, *arrays: np.ndarray):
    with Graph().as_default():
        inputs = [placeholder(a.dtype) for a in arrays]
        with Session() as session:
            return session.run(build(*inputs), dict(zip(inputs, arrays)))


def batch_norm(x: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor, epsilon: float = 0.001) -> torch.Tensor:
    return F.batch_norm(x.movedim(-1, 1), None, None, scale, offset, True, eps=epsilon).movedim(1, -1)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_training(layout: str) -> None:
    x = array(2, 4, 5, 3)
    axes = (0, 1, 2)

    def reference(x: torch.Tensor, s: torch.Tensor, o: torch.Tensor) -> list[torch.Tensor]:
        images = x if layout == "NHWC" else x.movedim(1, -1)
        y = batch_norm(images, s, o)
        plain = images.detach()
        return [y if layout == "NHWC" else y.movedim(-1, 1), plain.mean(axes), plain.var(axes, unbiased=True)]

    def build(x, s, o):
        return list(normalization.fused_batch_norm(x, s, o, data_format=layout))

    x = x if layout == "NHWC" else x.transpose(0, 3, 1, 2).copy()
    check_op(build, reference, x, array(3, seed=1), array(3, seed=2), rtol=1e-4, atol=1e-5)


def test_inference() -> None:
    def reference(x, s, o, m, v):
        y = F.batch_norm(x.movedim(-1, 1), m, v, s, o, False, eps=0.001).movedim(1, -1)
        return [y, m.detach(), v.detach()]

    def build(x, s, o, m, v):
        return list(normalization.fused_batch_norm(x, s, o, m, v, is_training=False))

    x, m, v = array(2, 4, 5, 3), array(3, seed=3), np.abs(array(3, seed=4)) + 0.1
    with Graph().as_default():
        inputs = [placeholder("float32") for _ in range(5)]
        outputs = build(*inputs)
        feeds = dict(zip(inputs, [x, array(3, seed=1), array(3, seed=2), m, v]))
        grads = gradients(outputs[0], inputs[:3])
        with Session() as session:
            values, slopes = session.run([outputs, grads], feeds)
    tensors = [torch.from_numpy(a) for a in feeds.values()]
    for t in tensors[:3]:
        t.requires_grad_(True)
    expected = reference(*tensors)
    for value, wanted in zip(values, expected):
        np.testing.assert_allclose(value, wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    for value, wanted in zip(slopes, torch.autograd.grad(expected[0].sum(), tensors[:3])):
        np.testing.assert_allclose(value, wanted.numpy(), rtol=1e-4, atol=1e-4)


def test_running_statistics() -> None:
    x, m, v = array(2, 4, 5, 3), array(3, seed=3), np.abs(array(3, seed=4))
    ones = np.ones(3, "float32")
    _, mean, variance = run(
        lambda *a: list(normalization.fused_batch_norm(*a, exponential_avg_factor=0.25)), x, ones, ones, m, v
    )
    np.testing.assert_allclose(mean, 0.75 * m + 0.25 * x.mean((0, 1, 2)), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variance, 0.75 * v + 0.25 * x.var((0, 1, 2), ddof=1), rtol=1e-4)


def test_one_and_zero_elements() -> None:
    ones = np.ones(3, "float32")
    y, mean, variance = run(lambda *a: list(normalization.fused_batch_norm(*a)), array(1, 1, 1, 3), ones, ones)
    np.testing.assert_allclose(y.ravel(), ones, rtol=1e-5)
    assert variance.tolist() == [0, 0, 0]
    y, mean, _ = run(lambda *a: list(normalization.fused_batch_norm(*a)), array(0, 1, 1, 3), ones, ones)
    assert y.shape == (0, 1, 1, 3) and np.isnan(mean).all()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_second_order(training: bool, layout: str) -> None:
    statistics = [array(3, seed=3), np.abs(array(3, seed=4)) + 0.1]

    def reference(x: torch.Tensor, s: torch.Tensor) -> list[torch.Tensor]:
        x, s = x.detach().requires_grad_(True), s.detach().requires_grad_(True)
        m, v = (torch.from_numpy(a) for a in statistics)
        images = x if layout == "NCHW" else x.movedim(-1, 1)
        y = F.batch_norm(images, m.clone(), v.clone(), s, torch.zeros(3), training, eps=0.001)
        first = torch.autograd.grad((y**3).sum(), [x, s], create_graph=True)
        return list(torch.autograd.grad(sum((g**2).sum() for g in first), [x, s]))

    def built(x, s):
        given = [] if training else [constant(a) for a in statistics]
        zeros = constant(np.zeros(3, "float32"))
        y = normalization.fused_batch_norm(x, s, zeros, *given, is_training=training, data_format=layout)[0]
        return gradients([g**2 for g in gradients(y**3, [x, s])], [x, s])

    x = array(2, 3, 4, 3) if layout == "NHWC" else array(2, 3, 4, 2)
    check_op(built, reference, x, array(3, seed=1), grad=False, rtol=1e-3, atol=1e-2)


def test_half_precision_and_volumes() -> None:
    x, ones = array(2, 4, 5, 3).astype("float16"), np.ones(3, "float32")
    y = run(lambda *a: normalization.fused_batch_norm(*a)[0], x, ones, ones)
    assert y.dtype == np.float16 and abs(y.mean() - 1) < 1e-2
    check_op(
        lambda x: normalization.fused_batch_norm(x, constant(ones), constant(ones), data_format="NDHWC")[0],
        lambda x: batch_norm(x, torch.ones(3), torch.ones(3)),
        array(2, 2, 4, 5, 3),
        rtol=1e-3,
        atol=1e-4,
    )


def test_invalid_arguments() -> None:
    x, ones = constant(array(2, 4, 5, 3)), constant(np.ones(3, "float32"))
    with pytest.raises(ValueError, match="mean or variance is missing"):
        normalization.fused_batch_norm(x, ones, ones, is_training=False)
    with pytest.raises(ValueError, match="channels and offset differ: 3 and 4"):
        normalization.fused_batch_norm(x, ones, constant(np.ones(4, "float32")))
    with pytest.raises(errors.InvalidArgumentError, match="channels and scale differ: 3 and 1"):
        run(lambda *a: list(normalization.fused_batch_norm(*a)), array(2, 4, 5, 3), array(1), array(3))


# Sums of absolute values that TensorFlow 1.15.5 computes in training and in inference.
SLOPES = {True: [173.12774658, 1.55640888, 5.98909569], False: [86.43045043, 1.19470418, 5.98909569]}


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("training", [True, False])
def test_gradients_with_imported_constants_of_one_value(training: bool, layout: str) -> None:
    """In a step they are one number in memory, whereas torch's gradient reads as many as there are channels."""
    x, weights = (function(np.arange(192, dtype=np.float32)).reshape(2, 3, 4, 8) for function in (np.sin, np.cos))
    if layout == "NCHW":
        x, weights = x.transpose(0, 3, 1, 2), weights.transpose(0, 3, 1, 2)
    with Graph().as_default() as graph:
        images = placeholder("float32", x.shape, name="x")
        numbers = [1.0, 0.0] if training else [1.0, 0.0, 0.25, 2.0]
        scale, offset, *statistics = (constant(number, shape=[8]) for number in numbers)
        y = normalization.fused_batch_norm(
            images, scale, offset, *statistics, is_training=training, data_format=layout
        )[0]
        names = [slope.name for slope in gradients(y * constant(weights), [images, scale, offset])]
    with Graph().as_default(), Session() as session:
        import_graph_def(graph.as_graph_def(), name="")
        slopes = session.run(names, {"x:0": x})
    np.testing.assert_allclose([np.abs(slope).sum() for slope in slopes], SLOPES[training], rtol=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
def test_batch_normalization(scaled: bool) -> None:
    def reference(x, m, v, o, s):
        return (x - m) / torch.sqrt(v + 0.01) * (s if scaled else 1) + o

    def build(x, m, v, o, s):
        return normalization.batch_normalization(x, m, v, o, s if scaled else None, 0.01) + 0 * s

    arrays = [array(5, 3), array(3, seed=1), np.abs(array(3, seed=2)), array(3, seed=3), array(3, seed=4)]
    check_op(build, lambda *a: reference(*a) + 0 * a[4], *arrays, rtol=1e-4)
    value = run(
        lambda *a: normalization.batch_norm_with_global_normalization(
            *a, variance_epsilon=0.01, scale_after_normalization=scaled
        ),
        *arrays,
    )
    np.testing.assert_allclose(value, reference(*map(torch.from_numpy, arrays)).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axes", [[0], [0, 1], [-1], 1])
@pytest.mark.parametrize("keep", [False, True])
def test_moments(axes, keep: bool) -> None:
    check_op(
        lambda x: list(normalization.moments(x, axes, keepdims=keep)),
        lambda x: [x.mean(axes, keepdim=keep), x.var(axes, unbiased=False, keepdim=keep)],
        array(3, 4, 5),
    )


def test_weighted_moments() -> None:
    def reference(x, w):
        mean = (x * w).sum(0) / w.sum(0)
        return [mean, (w * (x - mean) ** 2).sum(0) / w.sum(0)]

    check_op(
        lambda x, w: list(normalization.weighted_moments(x, [0], w)), reference, array(4, 3), np.abs(array(4, 3)) + 0.1
    )


@pytest.mark.parametrize("shift", [None, 2.0])
def test_sufficient_statistics(shift: float | None) -> None:
    def build(x):
        statistics = normalization.sufficient_statistics(x, [0, 2], shift)
        return [statistics[0], *normalization.normalize_moments(*statistics)]

    check_op(
        build,
        lambda x: [torch.tensor(15.0), x.mean((0, 2)), x.var((0, 2), unbiased=False)],
        array(3, 4, 5),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("axis", [0, 1, -1, None, [0, 1]])
def test_l2_normalize(axis) -> None:
    def reference(x):
        axes = tuple(range(x.dim())) if axis is None else axis
        return x * torch.rsqrt(torch.clamp((x * x).sum(axes, keepdim=True), min=1e-12))

    check_op(lambda x: normalization.l2_normalize(x, axis), reference, array(3, 4))


def test_local_response_normalization() -> None:
    def reference(x):
        window = 2 * 2 + 1
        images = x.movedim(-1, 1)
        return F.local_response_norm(images, window, alpha=0.3 * window, beta=0.75, k=1.5).movedim(1, -1)

    check_op(
        lambda x: normalization.lrn(x, depth_radius=2, bias=1.5, alpha=0.3, beta=0.75), reference, array(2, 3, 4, 7)
    )

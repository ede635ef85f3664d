import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.checks import check_op
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops import convolution as conv, depthwise_convolution
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.nn import bias_add, relu
from thalweg._src.runtime.session.session import Session

LOOSE = {"rtol": 1e-4, "atol": 1e-4}


def array(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def run(build, *arrays: np.ndarray):
    with Graph().as_default():
        inputs = [placeholder(a.dtype) for a in arrays]
        with Session() as session:
            return session.run(build(*inputs), dict(zip(inputs, arrays)))


def same(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def reference(x, w, stride=1, padding="SAME", dilation=1, groups=1, pads=None):
    """Convolves NHWC (or NDHWC) images with an HWIO filter in torch."""
    rank = x.dim() - 2
    x = x.movedim(-1, 1)
    w = w.permute(rank + 1, rank, *range(rank))
    if padding == "SAME":
        pads = [same(x.shape[2 + i], w.shape[2 + i], stride, dilation) for i in range(rank)]
    if pads is not None:
        x = F.pad(x, [p for pair in reversed(pads) for p in pair])
    convolve = F.conv2d if rank == 2 else F.conv3d
    return convolve(x, w, None, stride, 0, dilation, groups).movedim(1, -1)


CASES = [
    # size, kernel, stride, dilation, padding
    ((6, 7), (3, 3), 1, 1, "SAME"),
    ((6, 7), (3, 2), 1, 1, "VALID"),
    ((6, 7), (2, 2), 1, 1, "SAME"),
    ((6, 7), (3, 3), 2, 1, "SAME"),
    ((7, 8), (3, 3), 2, 1, "VALID"),
    ((6, 9), (1, 1), 2, 1, "SAME"),
    ((8, 9), (3, 2), 1, 2, "SAME"),
    ((8, 9), (3, 3), 1, 2, "VALID"),
    ((7, 7), (1, 1), 3, 1, "VALID"),
]


@pytest.mark.parametrize(("size", "kernel", "stride", "dilation", "padding"), CASES)
def test_conv2d(size, kernel, stride: int, dilation: int, padding: str) -> None:
    check_op(
        lambda x, w: conv.conv2d(x, w, stride, padding, dilations=dilation),
        lambda x, w: reference(x, w, stride, padding, dilation),
        array(2, *size, 3),
        array(*kernel, 3, 5, seed=1),
        **LOOSE,
    )


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_channels_first(stride: int, padding: str) -> None:
    check_op(
        lambda x, w: conv.conv2d(x, w, [1, 1, stride, stride], padding, data_format="NCHW"),
        lambda x, w: reference(x.movedim(1, -1), w, stride, padding).movedim(-1, 1),
        array(2, 3, 6, 7),
        array(3, 3, 3, 5, seed=1),
        **LOOSE,
    )


def test_explicit_padding_and_groups() -> None:
    pads = [[0, 0], [1, 3], [2, 0], [0, 0]]
    check_op(
        lambda x, w: conv.conv2d(x, w, 2, pads),
        lambda x, w: reference(x, w, 2, "EXPLICIT", pads=[(1, 3), (2, 0)]),
        array(2, 6, 7, 3),
        array(3, 3, 3, 5, seed=1),
        **LOOSE,
    )
    check_op(
        lambda x, w: conv.conv2d(x, w, 1, "SAME"),
        lambda x, w: reference(x, w, groups=2),
        array(2, 5, 6, 4),
        array(3, 3, 2, 6, seed=1),
        **LOOSE,
    )


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_floats(dtype: str) -> None:
    x, w = array(2, 5, 6, 3, dtype=dtype), array(3, 3, 3, 4, seed=1, dtype=dtype)
    exact = reference(torch.from_numpy(x).double(), torch.from_numpy(w).double()).numpy()
    value = run(lambda x, w: conv.conv2d(x, w, 1, "SAME"), x, w)
    assert value.dtype == dtype
    np.testing.assert_allclose(value, exact, rtol=1e-2, atol=5e-2)


def test_integers() -> None:
    x = np.arange(18, dtype="int32").reshape(1, 3, 3, 2)
    w = np.arange(16, dtype="int32").reshape(2, 2, 2, 2)
    exact = reference(torch.from_numpy(x).double(), torch.from_numpy(w).double(), padding="VALID").numpy()
    np.testing.assert_array_equal(run(lambda x, w: conv.conv2d(x, w, 1, "VALID"), x, w), exact)


def test_empty_batches() -> None:
    check_op(
        lambda x, w: conv.conv2d(x, w, 2, "SAME"),
        lambda x, w: torch.zeros(0, 3, 4, 5) + 0 * (x.sum() + w.sum()),
        array(0, 6, 7, 3),
        array(3, 3, 3, 5),
    )


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("depthwise", [False, True])
def test_second_order(stride: int, depthwise: bool) -> None:
    def twice(x: torch.Tensor, w: torch.Tensor) -> list[torch.Tensor]:
        x, w = x.detach().requires_grad_(True), w.detach().requires_grad_(True)
        filter = w.flatten(-2).unsqueeze(-2) if depthwise else w
        y = reference(x, filter, stride, groups=3 if depthwise else 1)
        first = torch.autograd.grad((y**2).sum(), [x, w], create_graph=True)
        return list(torch.autograd.grad(sum((g**2).sum() for g in first), [x, w]))

    def built(x, w):
        function = depthwise_convolution.depthwise_conv2d if depthwise else conv.conv2d
        y = function(x, w, [1, stride, stride, 1], "SAME")
        first = gradients(y**2, [x, w])
        return gradients([g**2 for g in first], [x, w])

    x, w = array(2, 4, 5, 3, dtype="float64"), array(3, 2, 3, 2, seed=1, dtype="float64")
    check_op(built, twice, x, w, grad=False, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transposed(stride: int, padding: str) -> None:
    x, w = array(2, 6, 7, 3), array(3, 3, 3, 5, seed=1)
    grad = array(*reference(torch.from_numpy(x), torch.from_numpy(w), stride, padding).shape, seed=2)
    pads = [same(size, 3, stride, 1) if padding == "SAME" else (0, 0) for size in (6, 7)]

    def transpose(g: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        whole = F.conv_transpose2d(g.movedim(-1, 1), w.permute(3, 2, 0, 1), None, stride)
        whole = F.pad(whole, [0, 7 + sum(pads[1]) - whole.shape[3], 0, 6 + sum(pads[0]) - whole.shape[2]])
        return whole[:, :, pads[0][0] : pads[0][0] + 6, pads[1][0] : pads[1][0] + 7].movedim(1, -1)

    check_op(lambda g, w: conv.conv2d_transpose(g, w, [2, 6, 7, 3], stride, padding), transpose, grad, w, **LOOSE)


@pytest.mark.parametrize("rate", [1, 2])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_depthwise(rate: int, layout: str) -> None:
    def each(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        x = x if layout == "NHWC" else x.movedim(1, -1)
        y = reference(x, w.flatten(-2).unsqueeze(-2), dilation=rate, groups=3)
        return y if layout == "NHWC" else y.movedim(-1, 1)

    check_op(
        lambda x, w: depthwise_convolution.depthwise_conv2d(x, w, 1, "SAME", rate=[rate, rate], data_format=layout),
        each,
        array(*((2, 6, 7, 3) if layout == "NHWC" else (2, 3, 6, 7))),
        array(3, 3, 3, 2, seed=1),
        **LOOSE,
    )


def test_separable_and_atrous() -> None:
    check_op(
        lambda x, d, p: depthwise_convolution.separable_conv2d(x, d, p, [1, 2, 2, 1], "SAME"),
        lambda x, d, p: reference(reference(x, d.flatten(-2).unsqueeze(-2), 2, groups=3), p),
        array(2, 6, 7, 3),
        array(3, 3, 3, 2, seed=1),
        array(1, 1, 6, 4, seed=2),
        **LOOSE,
    )
    x, w = array(2, 6, 7, 3), array(3, 3, 3, 4, seed=1)
    with Graph().as_default(), Session() as session:
        value = session.run(conv.atrous_conv2d(constant(x), constant(w), 2, "VALID"))
    exact = reference(torch.from_numpy(x), torch.from_numpy(w), 1, "VALID", 2).numpy()
    np.testing.assert_allclose(value, exact, **LOOSE)


@pytest.mark.parametrize("stride", [1, 2])
def test_conv1d(stride: int) -> None:
    check_op(
        lambda x, w: conv.conv1d(x, w, stride, "VALID"),
        lambda x, w: F.conv1d(x.movedim(-1, 1), w.permute(2, 1, 0), None, stride).movedim(1, -1),
        array(2, 7, 3),
        array(3, 3, 4, seed=1),
        **LOOSE,
    )
    x, w = array(2, 3, 7), array(3, 3, 4, seed=1)
    value = run(lambda x, w: conv.conv1d(x, w, stride, "VALID", data_format="NCW"), x, w)
    exact = F.conv1d(torch.from_numpy(x), torch.from_numpy(w).permute(2, 1, 0), None, stride).numpy()
    np.testing.assert_allclose(value, exact, **LOOSE)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_conv3d(stride: int, padding: str) -> None:
    check_op(
        lambda x, w: conv.conv3d(x, w, [1, stride, stride, stride, 1], padding),
        lambda x, w: reference(x, w, stride, padding),
        array(2, 4, 5, 6, 3),
        array(2, 3, 3, 3, 4, seed=1),
        **LOOSE,
    )


def test_convolution_of_any_rank() -> None:
    for rank in (1, 2, 3):
        x, w = array(2, *(5, 6, 7)[:rank], 3), array(*(3,) * rank, 3, 4, seed=1)
        with Graph().as_default(), Session() as session:
            y = conv.convolution(constant(x), constant(w), "valid", strides=[2] * rank)
            assert session.run(y).shape == (2, *(2, 2, 3)[:rank], 4)
            assert y.shape.as_list() == [2, *(2, 2, 3)[:rank], 4]
            z = conv.conv_transpose(y, constant(w), x.shape, [2] * rank, "VALID")
            assert session.run(z).shape == x.shape
    with pytest.raises(ValueError, match="in conjunction"):
        conv.convolution(constant(array(1, 5, 5, 3)), constant(array(3, 3, 3, 4)), "SAME", [2, 2], [2, 2])


@pytest.mark.parametrize("fused_ops", [["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "LeakyRelu"]])
@pytest.mark.parametrize("stride", [1, 2])
def test_fused(fused_ops: list[str], stride: int) -> None:
    ends = {"Relu": torch.relu, "LeakyRelu": lambda x: F.leaky_relu(x, 0.2)}
    end = ends.get(fused_ops[-1], lambda x: x)
    check_op(
        lambda x, w, b: conv.fused_conv2d_op(
            x, w, [b], [], strides=[1, stride, stride, 1], padding="SAME", num_args=1, fused_ops=fused_ops
        ),
        lambda x, w, b: end(reference(x, w, stride) + b),
        array(2, 6, 7, 3),
        array(3, 3, 3, 4, seed=1),
        array(4, seed=2),
        grad=False,
        **LOOSE,
    )


@pytest.mark.cpu_only(reason="the line is that of oneDNN")
def test_no_layout_is_copied() -> None:
    """A convolution with bias and activation is one line; what it gives lies in memory as TensorFlow's would."""
    with Graph().as_default():
        x, w = placeholder("float32", [None, 8, 8, 3]), placeholder("float32", [3, 3, 3, 4])
        y = relu(bias_add(conv.conv2d(x, w, 1, "SAME"), constant(array(4))))
        grads = gradients(y, [x, w])
        with Session() as session:
            values = session.run([y, *grads], {x: array(2, 8, 8, 3), w: array(3, 3, 3, 4)})
            program = session.show_program([y, *grads], [x, w])
    assert "relu_(convolution_pointwise_default(" in program and all(value.flags.c_contiguous for value in values)


@pytest.mark.parametrize(
    ("x", "w", "arguments", "message"),
    [
        ((1, 4, 4, 3), (3, 3, 4, 5), {}, r"Depth of input \(3\) is not a multiple of input depth of filter \(4\)"),
        ((1, 4, 4, 3), (3, 3, 5, 3), {}, r"\[height, width, channels in, channels out\]"),
        ((1, 2, 4, 3), (3, 3, 3, 5), {"padding": "VALID"}, "subtracting 3 from 2"),
        ((1, 4, 4, 3), (3, 3, 3, 5), {"strides": [1, 0, 1, 1]}, "strides of at least 1"),
        ((1, 4, 4, 3), (3, 3, 3, 5), {"strides": [2, 1, 1, 1]}, "batch and channel dimensions"),
        ((1, 4, 4, 3), (3, 3, 3, 5), {"strides": [1, 1, 1]}, "should be of length 1, 2 or 4"),
        ((1, 4, 4, 3), (3, 3, 3, 5), {"dilations": [1, 0, 1, 1]}, "dilations of at least 1"),
        ((1, 4, 4, 3), (3, 3, 3, 5), {"padding": [[0, 0], [0, -1], [0, 0], [0, 0]]}, "non-negative"),
        ((1, 4, 4, 3), (3, 3, 3, 5), {"padding": [[1, 0], [0, 1], [0, 0], [0, 0]]}, "cannot be padded"),
        ((1, 4, 4, 3), (3, 3, 3, 5), {"padding": "EXPLICIT"}, "a list of pairs"),
        ((1, 4, 4, 3), (3, 3, 3, 5), {"padding": "WRONG"}, "WRONG"),
        ((4, 4, 3), (3, 3, 3, 5), {}, "input of rank 4"),
        ((1, 4, 4, 3), (3, 3, 3), {}, "filter of rank 4"),
    ],
)
def test_invalid_arguments(x, w, arguments: dict, message: str) -> None:
    arguments = {"strides": 1, "padding": "SAME", **arguments}
    with pytest.raises(ValueError, match=message):
        conv.conv2d(constant(array(*x)), constant(array(*w)), **arguments)


def test_invalid_values_in_a_step() -> None:
    with pytest.raises(
        errors.InvalidArgumentError, match="input depth must be evenly divisible by filter depth: 3 vs 4"
    ):
        run(lambda x, w: conv.conv2d(x, w, 1, "SAME"), array(1, 4, 4, 3), array(3, 3, 4, 5))
    with pytest.raises(errors.InvalidArgumentError, match="Negative dimension size"):
        run(lambda x, w: conv.conv2d(x, w, 1, "VALID"), array(1, 2, 4, 3), array(3, 3, 3, 5))
    with pytest.raises(errors.InvalidArgumentError, match=r"out_backprop of \[2, 6, 7, 5\]"):
        run(
            lambda g, w, s: conv.conv2d_transpose(g, w, s, 1, "SAME"),
            array(1, 6, 7, 5),
            array(3, 3, 3, 5),
            np.array([2, 6, 7, 3], "int32"),
        )

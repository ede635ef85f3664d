"""Kernels of activations, softmax and its losses, bias addition and top_k."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import is_fully_defined, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH, TORCH_UNSIGNED, UNSIGNED
from thalweg._src.runtime.kernels.unsigned import SAME_BITS
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
Function = Callable[..., Any]
_aten = torch.ops.aten
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805
_LINEAR = 40.0  # where log(1 + exp(x)) equals x in double precision


def _same_shape(a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape:
        raise errors.ShapeError(f"Shapes {show(tuple(a.shape))} and {show(tuple(b.shape))} are not compatible.")


def _guarded(node: Node, function: Function, *rest: object) -> Function | Call:
    """Returns a call on two inputs of one shape, which is checked at run time unless it is known statically."""
    if is_fully_defined(node.input_shape(0)) and node.input_shape(0) == node.input_shape(1):
        return Call(function, (Input(0), Input(1), *rest))

    def checked(a: Tensor, b: Tensor) -> Any:
        _same_shape(a, b)
        return function(a, b, *rest)

    return checked


def _itself(x: Tensor) -> Tensor:
    return x


@kernel("Relu")
def bind_relu(node: Node, device: Device) -> Function:
    return _itself if node.attrs["T"] in (dtypes.uint8, *UNSIGNED) else torch.relu


@kernel("ReluGrad")
def bind_relu_grad(node: Node, device: Device) -> Function | Call:
    if node.attrs["T"].is_floating:
        return _guarded(node, _aten.threshold_backward.default, 0)
    return _guarded(node, lambda grad, x: _masked(grad, x > 0 if x.dtype.is_signed else x.ne(0)))


def _masked(grad: Tensor, mask: Tensor) -> Tensor:
    """Returns a gradient of integers where a mask is true, and zero elsewhere."""
    return (grad.view(SAME_BITS.get(grad.dtype, grad.dtype)) * mask).view(grad.dtype)


@kernel("Relu6")
def bind_relu6(node: Node, device: Device) -> Function | Call:
    if node.attrs["T"] in UNSIGNED:
        return lambda x: x.to(torch.int64).clamp(0, 6).to(x.dtype)
    return Call(torch.clamp, (Input(0), 0, 6))


@kernel("Relu6Grad")
def bind_relu6_grad(node: Node, device: Device) -> Function | Call:
    if node.attrs["T"].is_floating:
        return _guarded(node, _aten.hardtanh_backward.default, 0, 6)

    def grad_of_integers(grad: Tensor, x: Tensor) -> Tensor:
        wide = x.to(torch.int64)
        return _masked(grad, (wide > 0) & (wide < 6))

    return _guarded(node, grad_of_integers)


plain_kernel("Elu")(torch._C._nn.elu)


@kernel("EluGrad")
def bind_elu_grad(node: Node, device: Device) -> Function | Call:
    return _guarded(node, lambda grad, y: _aten.elu_backward(grad, 1, 1, 1, True, y))


plain_kernel("Selu")(torch.selu)


@kernel("SeluGrad")
def bind_selu_grad(node: Node, device: Device) -> Function | Call:
    """Uses torch's gradient except at zero, where TensorFlow uses the slope of the positive side."""
    return _guarded(
        node, lambda grad, y: grad * torch.where(y < 0, y + _SELU_ALPHA * _SELU_SCALE, _SELU_SCALE).to(grad.dtype)
    )


@kernel("LeakyRelu")
def bind_leaky_relu(node: Node, device: Device) -> Call:
    return Call(torch._C._nn.leaky_relu, (Input(0), node.attrs["alpha"]))


@kernel("LeakyReluGrad")
def bind_leaky_relu_grad(node: Node, device: Device) -> Function | Call:
    return _guarded(node, _aten.leaky_relu_backward.default, node.attrs["alpha"], False)


plain_kernel("Softplus")(Call(torch._C._nn.softplus, (Input(0), 1, _LINEAR)))


@kernel("SoftplusGrad")
def bind_softplus_grad(node: Node, device: Device) -> Function | Call:
    return _guarded(node, _aten.softplus_backward.default, 1, _LINEAR)


plain_kernel("Softsign")(Call(torch.div, (Input(0), Call(torch.add, (Call(torch.abs, (Input(0),)), 1)))))


@kernel("SoftsignGrad")
def bind_softsign_grad(node: Node, device: Device) -> Function | Call:
    return _guarded(node, lambda grad, x: grad / torch.square(x.abs() + 1))


# Softmax and losses.


plain_kernel("Softmax")(Call(torch.softmax, (Input(0), -1)))
plain_kernel("LogSoftmax")(Call(torch.log_softmax, (Input(0), -1)))


@plain_kernel("SoftmaxCrossEntropyWithLogits")
def _softmax_cross_entropy(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    features, labels = _matrices(features, labels)
    logs = torch.log_softmax(features, 1)
    return torch.sum(logs * labels, 1).neg_(), logs.exp_().sub_(labels)


@plain_kernel("_SoftmaxCrossEntropyLoss")
def _softmax_cross_entropy_loss(features: Tensor, labels: Tensor) -> Tensor:
    features, labels = _matrices(features, labels)
    return torch.log_softmax(features, 1).mul_(labels).sum(1).neg_()


def _matrices(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    if features.shape != labels.shape:
        features, labels = torch.broadcast_tensors(features, labels)  # type: ignore[no-untyped-call]
    if features.dim() != 2:
        raise errors.ShapeError("logits and labels must be matrices", expected="[batch, classes] for both")
    return features, labels


@kernel("SparseSoftmaxCrossEntropyWithLogits")
def bind_sparse_softmax_cross_entropy(node: Node, device: Device) -> Function:
    return _sparse_cross_entropy_on_cpu if device.type == "CPU" else _sparse_cross_entropy_on_gpu


def _sparse_cross_entropy_on_cpu(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    logs, classes, chosen = _logs_of_classes(features, labels)
    backprop = logs.exp_()
    backprop.scatter_add_(1, classes, backprop.new_full((1, 1), -1).expand_as(classes))
    return chosen.squeeze(1).neg_(), backprop


def _logs_of_classes(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns log probabilities, the classes as a column, and the log probabilities of these classes."""
    _check_batches(features, labels)
    classes = labels.to(torch.int64).unsqueeze(1)
    logs = torch.log_softmax(features, 1)
    try:
        return logs, classes, torch.gather(logs, 1, classes)
    except RuntimeError:
        raise _bad_label(labels, features.shape[1]) from None


@kernel("_SparseSoftmaxCrossEntropyLoss")
def bind_sparse_softmax_cross_entropy_loss(node: Node, device: Device) -> Function:
    if device.type == "CPU":
        return _sparse_cross_entropy_loss_on_cpu
    return lambda features, labels: _sparse_cross_entropy_on_gpu(features, labels)[0]


_nll_loss: Function = torch._C._nn.nll_loss_nd
_NO_CLASS = -(2**63)  # torch ignores rows with this label, which is never a class


def _sparse_cross_entropy_loss_on_cpu(features: Tensor, labels: Tensor) -> Tensor:
    _check_batches(features, labels)
    logs = torch.log_softmax(features, 1)
    try:
        loss: Tensor = _nll_loss(logs, labels.to(torch.int64), None, 0, _NO_CLASS)
    except IndexError:
        raise _bad_label(labels, features.shape[1]) from None
    return loss


def _check_batches(features: Tensor, labels: Tensor) -> None:
    if labels.shape[0] != features.shape[0]:
        raise errors.ShapeError(f"batches differ: {features.shape[0]} and {labels.shape[0]}")


def _bad_label(labels: Tensor, classes: int) -> errors.InvalidArgumentError:
    bad = labels[(labels < 0) | (labels >= classes)]
    return invalid(
        f"Received a label value of {int(bad[0])} which is outside the valid range of [0, {classes}).  "
        f"Label values: {' '.join(map(str, labels.tolist()[:20]))}"
    )


def _sparse_cross_entropy_on_gpu(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Returns NaN where a label is out of range: checking the labels would synchronize the device."""
    _check_batches(features, labels)
    classes = labels.to(torch.int64).unsqueeze(1)
    valid = (classes >= 0) & (classes < features.shape[1])
    classes = torch.where(valid, classes, 0)
    logs = torch.log_softmax(features, 1)
    loss = torch.where(valid, torch.gather(logs, 1, classes).neg(), torch.nan)
    backprop = torch.exp(logs)
    backprop.scatter_add_(1, classes, backprop.new_full((1, 1), -1).expand_as(classes))
    return loss.squeeze(1), torch.where(valid, backprop, torch.nan)


@kernel("L2Loss")
def bind_l2_loss(node: Node, device: Device) -> Call:
    if node.attrs["T"] in (dtypes.float32, dtypes.float64):
        flat = Call(torch.flatten, (Input(0),))
        return Call(torch.mul, (Call(torch.dot, (flat, flat)), 0.5))
    return Call(torch.mul, (Call(torch.sum, (Call(torch.square, (Input(0),)),)), 0.5))


# Biases.


@kernel("BiasAdd", "BiasAddV1")
def bind_bias_add(node: Node, device: Device) -> Function | Call:
    value, bias = node.input_shape(0), node.input_shape(1)
    last = node.attrs.get("data_format", "NHWC") == "NHWC"
    fits = value is not None and bias is not None and bias[0] is not None and value[-1 if last else 1] == bias[0]
    if fits and node.attrs["T"] not in UNSIGNED:
        assert value is not None
        addend = Input(1) if last else Call(torch.reshape, (Input(1), (-1, *(1,) * (len(value) - 2))))
        return Call(torch.add, (Input(0), addend))
    return _bias_add_last if last else _bias_add_first


def _bias_add_last(value: Tensor, bias: Tensor) -> Tensor:
    _check_bias(value, bias, -1)
    return _add(value, bias)


def _bias_add_first(value: Tensor, bias: Tensor) -> Tensor:
    _check_bias(value, bias, 1)
    return _add(value, bias.reshape(-1, *(1,) * (value.dim() - 2)))


def _add(value: Tensor, bias: Tensor) -> Tensor:
    if value.dtype in TORCH_UNSIGNED:
        return (value.to(torch.int64) + bias.to(torch.int64)).to(value.dtype)
    return torch.add(value, bias)


def _check_bias(value: Tensor, bias: Tensor, axis: int) -> None:
    if value.dim() < (2 if axis < 0 else 3):
        raise errors.ShapeError(f"value has rank {value.dim()}", expected="value of rank at least 2")
    if bias.dim() != 1 or value.shape[axis] != bias.shape[0]:
        raise errors.ShapeError(
            f"channels differ: {value.shape[axis]} and {list(bias.shape)}",
            expected=f"value.shape[{axis}] == bias.shape[0]",
        )


@kernel("BiasAddGrad")
def bind_bias_add_grad(node: Node, device: Device) -> Function | Call:
    shape, dtype = node.input_shape(0), TORCH[node.attrs["T"]]
    last = node.attrs["data_format"] == "NHWC"
    exact: dict[str, Any] = {} if dtype.is_floating_point or dtype.is_complex else {"dtype": dtype}
    if shape is not None and dtype not in SAME_BITS:
        axes = tuple(range(len(shape) - 1)) if last else (0, *range(2, len(shape)))
        return Call(torch.sum, (Input(0), axes), exact)

    def sums(grad: Tensor) -> Tensor:
        axes = tuple(range(grad.dim() - 1)) if last else (0, *range(2, grad.dim()))
        bits = SAME_BITS.get(dtype, dtype)
        return torch.sum(grad.view(bits), axes, dtype=bits if exact else None).view(dtype)

    return sums


@kernel("_FusedMatMul", dense=("args",))
def bind_fused_matmul(node: Node, device: Device) -> Function | Call:
    a = Call(torch.t, (Input(0),)) if node.attrs["transpose_a"] else Input(0)
    b = Call(torch.t, (Input(1),)) if node.attrs["transpose_b"] else Input(1)
    fused = list(node.attrs["fused_ops"])
    if not fused or fused[0] != "BiasAdd":
        raise errors.UnimplementedError(None, None, f"_FusedMatMul cannot fuse {fused}: the first op must be BiasAdd")
    if len(node.inputs) != 3:
        raise invalid(f"{fused} takes one bias, got {len(node.inputs) - 2} arguments")
    depth = _depth(node)
    if _linear is not None and depth is not None and depth >= _DEEP and _fits_linear(node, device):
        rows = Input(1) if node.attrs["transpose_b"] else Call(torch.t, (Input(1),))
        return activate(Call(_linear, (a, rows, Input(2), "none", [], "")), fused[1:], node)
    return activate(Call(torch.addmm, (Input(2), a, b)), fused[1:], node)


_DEEP = 512  # from this inner dimension on, oneDNN's product is faster than MKL's, several times for few columns
_linear: Function | None = None
if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
    _linear = torch.ops.mkldnn._linear_pointwise.default


def _depth(node: Node) -> int | None:
    shape = node.input_shape(1)
    return None if shape is None else shape[1 if node.attrs["transpose_b"] else 0]


def _fits_linear(node: Node, device: Device) -> bool:
    bias = node.input_shape(2)  # a vector; torch's own product would add a whole matrix
    fits = bias is not None and len(bias) == 1 and not device.compiling
    return fits and device.type == "CPU" and node.attrs["T"] is dtypes.float32 and not node.attrs["transpose_a"]


def activate(product: Call, fused: list[str], node: Node) -> Call:
    """Appends the activations of a fused op to a fresh result, in place."""
    for name in fused:
        if name not in _IN_PLACE:
            raise errors.UnimplementedError(
                None, None, f"{node.type} cannot fuse {name}: it supports {', '.join(_IN_PLACE)}"
            )
        extra = (node.attrs.get("leakyrelu_alpha", 0.2),) if name == "LeakyRelu" else ()
        product = Call(_IN_PLACE[name], (product, *extra))
    return product


_IN_PLACE: dict[str, Function] = {
    "Relu": torch.relu_,
    "Relu6": torch._C._nn.relu6_,
    "Elu": torch._C._nn.elu_,
    "LeakyRelu": torch._C._nn.leaky_relu_,
    "Tanh": torch.tanh_,
    "Sigmoid": torch.sigmoid_,
}


# top_k.


@kernel("TopK", "TopKV2", cpu_types=UNSIGNED)
def bind_top_k(node: Node, device: Device) -> Function:
    largest = _largest_on_cpu if device.type == "CPU" else _largest_by_sort
    index_type = TORCH[node.attrs.get("index_type", dtypes.int32)]

    def top_k(x: Tensor, k: Any) -> tuple[Tensor, Tensor]:
        if x.dim() == 0:
            raise errors.ShapeError("input has rank 0", expected="input of rank at least 1")
        k = operator.index(k)
        if not 0 <= k <= x.shape[-1]:
            raise errors.ShapeError(f"input has {x.shape[-1]} columns and k is {k}", expected="0 <= k <= columns")
        values, indices = largest(x, k)
        return values, indices.to(index_type)

    if node.type == "TopK":
        count = node.attrs["k"]
        return lambda x: top_k(x, count)
    return top_k


def _largest_by_sort(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[..., :k], indices[..., :k]


def _largest_on_cpu(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Sorts whole rows only where ties, including one beyond the k-th value, need a defined order."""
    if k == 0 or x.numel() == 0 or x.dtype in TORCH_UNSIGNED:
        return _largest_by_sort(x, k)
    values, indices = torch.topk(x, min(k + 1, x.shape[-1]), -1)
    equal = values[..., 1:] == values[..., :-1]
    if torch.any(equal):
        rows = torch.any(equal, -1)
        values[rows], indices[rows] = _largest_by_sort(x[rows], values.shape[-1])
    return values[..., :k], indices[..., :k]


@kernel("InTopK", "InTopKV2")
def bind_in_top_k(node: Node, device: Device) -> Function:
    if node.type == "InTopK":
        k = node.attrs["k"]
        return lambda predictions, targets: _in_top_k(predictions, targets, k)
    return _in_top_k


def _in_top_k(predictions: Tensor, targets: Tensor, k: torch.Tensor | int) -> Tensor:
    classes = targets.to(torch.int64).unsqueeze(1)
    if predictions.dim() != 2 or targets.dim() != 1 or predictions.shape[0] != targets.shape[0]:
        raise errors.ShapeError(
            "the shapes of predictions and targets do not match", expected="[batch, classes] and [batch]"
        )
    inside = (classes >= 0) & (classes < predictions.shape[1])
    if predictions.shape[1] == 0:
        return inside.squeeze(1)
    scores = torch.gather(predictions, 1, torch.where(inside, classes, 0))
    above = torch.sum(predictions > scores, 1, keepdim=True)
    sure = inside & torch.isfinite(predictions).all(1, keepdim=True) & (above < int(k))
    return sure.squeeze(1)

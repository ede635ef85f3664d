"""Gradients of activations, softmax and its losses, bias addition and top_k."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.autodiff.rules.derivatives import gradient_of_one
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import cast as cast_ops, math, nn, reduction, sequences as sequences_ops
from thalweg._src.graph.ops.gather import scatter_nd
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape, size, zeros_like
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.tensor import Tensor

# Activations; the gradients of their gradient ops provide second derivatives.

gradient_of_one("Relu", lambda grad, x, y: nn.relu_grad(grad, y))
gradient_of_one("Relu6", lambda grad, x, y: nn.relu6_grad(grad, y))
gradient_of_one("Elu", lambda grad, x, y: nn.elu_grad(grad, y))
gradient_of_one("Selu", lambda grad, x, y: nn.selu_grad(grad, y))
gradient_of_one("Softplus", lambda grad, x, y: nn.softplus_grad(grad, x))
gradient_of_one("Softsign", lambda grad, x, y: nn.softsign_grad(grad, x))


@gradient("ReluGrad")
def relu_grad(op: Operation, grad: Tensor) -> list[Any]:
    features = op.inputs[1]
    return [nn.relu_grad(grad, features), zeros_like(features)]


@gradient("Relu6Grad")
def relu6_grad(op: Operation, grad: Tensor) -> list[Any]:
    features = op.inputs[1]
    return [nn.relu6_grad(grad, features), zeros_like(features)]


@gradient("EluGrad")
def elu_grad(op: Operation, grad: Tensor) -> list[Any]:
    gradients, outputs = op.inputs
    return [nn.elu_grad(grad, outputs), _where_negative(outputs, grad * gradients)]


@gradient("SeluGrad")
def selu_grad(op: Operation, grad: Tensor) -> list[Any]:
    gradients, outputs = op.inputs
    return [nn.selu_grad(grad, outputs), _where_negative(outputs, grad * gradients)]


def _where_negative(condition: Tensor, value: Tensor) -> Tensor:
    return where(condition < 0, value, zeros_like(value))


@gradient("LeakyRelu")
def leaky_relu(op: Operation, grad: Tensor) -> Tensor:
    return nn.leaky_relu_grad(grad, op.inputs[0], alpha=op.attrs["alpha"])


@gradient("LeakyReluGrad")
def leaky_relu_grad(op: Operation, grad: Tensor) -> list[Any]:
    features = op.inputs[1]
    return [nn.leaky_relu_grad(grad, features, alpha=op.attrs["alpha"]), zeros_like(features)]


@gradient("SoftplusGrad")
def softplus_grad(op: Operation, grad: Tensor) -> list[Any]:
    gradients, features = op.inputs
    slope = math.sigmoid(features)
    return [nn.softplus_grad(grad, features), grad * gradients * slope * (1 - slope)]


@gradient("SoftsignGrad")
def softsign_grad(op: Operation, grad: Tensor) -> list[Any]:
    gradients, features = op.inputs
    curvature = -2 * math.sign(features) / (1 + math.abs(features))
    return [nn.softsign_grad(grad, features), nn.softsign_grad(grad * gradients, features) * curvature]


# Softmax and losses.

gradient_of_one("L2Loss", lambda grad, x, y: x * grad)
gradient_of_one("LogSoftmax", lambda grad, x, y: grad - reduction.reduce_sum(grad, -1, keepdims=True) * math.exp(y))


@gradient("Softmax")
def softmax(op: Operation, grad: Tensor) -> Tensor:
    result = op.outputs[0]
    return (grad - reduction.reduce_sum(grad * result, -1, keepdims=True)) * result


def _is_zero(grad: Tensor | None) -> bool:
    """Returns whether a gradient consists of the zeros of an unused output."""
    if grad is None or grad.is_eager or grad.is_filler:
        return grad is None or grad.is_filler
    return grad.op.type == "ZerosLike" or (grad.op.type == "Const" and not grad.op.attrs["value"].any())


def _through_backprop(features: Tensor, grad: Tensor) -> Tensor:
    """Returns the gradient with respect to the features of backprop, which is softmax(features) minus constants."""
    p = nn.softmax_op(features)
    return (grad - reduction.reduce_sum(grad * p, -1, keepdims=True)) * p


def _sum_if_repeated(x: Tensor, grad: Tensor, other: Tensor) -> Tensor:
    """Sums over dimensions where x is known to be broadcast against the other matrix."""
    repeated = x.dims is not None and other.dims is not None
    repeated = repeated and any(a == 1 and b != 1 for a, b in zip(x.dims, other.dims))  # type: ignore[arg-type]
    return sum_to_shape_of(x, grad) if repeated else grad


@gradient("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(op: Operation, grad_loss: Tensor, grad_backprop: Tensor) -> list[Any]:
    features, labels = op.inputs
    column = expand_dims(grad_loss, -1)
    grad = column * op.outputs[1]
    through = not _is_zero(grad_backprop)
    if through:
        grad += _through_backprop(features, grad_backprop)

    def grad_labels() -> Tensor:
        direct = -column * nn.log_softmax_op(features)
        return _sum_if_repeated(labels, direct - grad_backprop if through else direct, features)

    return [_sum_if_repeated(features, grad, labels), grad_labels]


@gradient("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(op: Operation, grad_loss: Tensor, grad_backprop: Tensor) -> list[Any]:
    grad = expand_dims(grad_loss, -1) * op.outputs[1]
    if not _is_zero(grad_backprop):
        grad += _through_backprop(op.inputs[0], grad_backprop)
    return [grad, None]


# Biases.


@gradient("BiasAdd")
def bias_add(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, nn.bias_add_grad_op(grad, data_format=op.attrs["data_format"])]


@gradient("BiasAddV1")
def bias_add_v1(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, nn.bias_add_grad_op(grad)]


@gradient("BiasAddGrad")
def bias_add_grad(op: Operation, grad: Tensor) -> Tensor:
    return nn.bias_add_op(zeros_like(op.inputs[0]), grad, data_format=op.attrs["data_format"])


# top_k.


@gradient("TopK", "TopKV2")
def top_k(op: Operation, grad: Tensor, _: object) -> list[Any]:
    """Scatters each gradient to the position of its value."""
    source, indices = op.inputs[0], op.outputs[1]
    dims = shape(source)
    columns = dims[-1]
    count = math.floordiv(size(source), math.maximum(columns, 1))
    rows = reshape(cast_ops.cast(indices, "int32"), [count, shape(indices)[-1]])
    starts = expand_dims(math.multiply(sequences_ops.range(count), columns), -1)
    places = reshape(rows + starts, [-1, 1])
    flat = scatter_nd(places, reshape(grad, [-1]), [size(source)])
    return [reshape(flat, dims), *[None] * (len(op.inputs) - 1)]

"""Neural-network ops: activations, softmax, the ops of its cross entropies, bias addition, top_k."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, broadcast
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops import (
    cast as cast_ops,
    comparison,
    math,
    reduction,
    reshape as reshape_ops,
    sequences as sequences_ops,
)
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import fill
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.matrix import matmul, matmul_shape
from thalweg._src.graph.ops.reshape import transpose
from thalweg._src.graph.ops.shape_functions import (
    at_least_rank,
    merged_inputs,
    require,
    same_dimension,
    scalar,
    scalar_value,
    unchanged,
    with_rank,
)
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_FLOATS = frozenset((dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64))
_REAL = dtypes.REAL - dtypes.QUANTIZED
_ADDABLE = dtypes.NUMERIC | dtypes.QUANTIZED


def _activation(name: str, types: frozenset[dtypes.DType], doc: str, **attrs: Any) -> OpDef:
    return op(
        name,
        "features: T -> activations: T",
        infer=unchanged,
        traceable=True,
        doc=doc,
        **{"T": attr.types(types), **attrs},
    )


def _activation_grad(name: str, types: frozenset[dtypes.DType], by: str = "features", **attrs: Any) -> OpDef:
    doc = f"Computes the gradient of {name.removesuffix('Grad')} from the output gradient and the {by}."
    signature = f"gradients: T, {by}: T -> backprops: T"
    return op(name, signature, infer=merged_inputs, traceable=True, doc=doc, **{"T": attr.types(types), **attrs})


relu = export("nn.relu")(
    _activation("Relu", _REAL | {dtypes.qint8}, "Computes max(x, 0), element-wise.", fails="never")
)
relu_grad = _activation_grad("ReluGrad", _REAL)
relu6 = export("nn.relu6")(_activation("Relu6", _REAL, "Computes min(max(x, 0), 6), element-wise."))
relu6_grad = _activation_grad("Relu6Grad", _REAL)
elu = export("nn.elu")(_activation("Elu", _FLOATS, "Computes x where it is positive, exp(x) - 1 elsewhere."))
elu_grad = _activation_grad("EluGrad", _FLOATS, "outputs")
selu = export("nn.selu")(
    _activation("Selu", _FLOATS, "Computes the scaled exponential linear unit (self-normalizing), element-wise.")
)
selu_grad = _activation_grad("SeluGrad", _FLOATS, "outputs")
_LEAKY: dict[str, Any] = {"alpha": 0.2, "T": attr.types(_FLOATS, dtypes.float32)}
leaky_relu_op = _activation("LeakyRelu", _FLOATS, "Computes x where it is positive, alpha * x elsewhere.", **_LEAKY)
leaky_relu_grad = _activation_grad("LeakyReluGrad", _FLOATS, **_LEAKY)
softplus = export("math.softplus", "nn.softplus")(
    _activation("Softplus", _FLOATS, "Computes log(1 + exp(x)), element-wise.", fails="never")
)
softplus_grad = _activation_grad("SoftplusGrad", _FLOATS)
softsign = export("math.softsign", "nn.softsign")(
    _activation("Softsign", _FLOATS, "Computes x / (1 + |x|), element-wise.")
)
softsign_grad = _activation_grad("SoftsignGrad", _FLOATS)


@export("log_sigmoid", "math.log_sigmoid")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes log(sigmoid(x)), accurate for very negative x."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        return math.negative(softplus(math.negative(convert_to_tensor(x, name="x"))), name=scope)


@export("nn.leaky_relu")
def leaky_relu(features: TensorLike, alpha: TensorLike = 0.2, name: str | None = None) -> Tensor:
    """Computes x where it is positive, alpha * x elsewhere; integers are converted to float32.

    Args:
        alpha: Slope for negative values.
    """
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast_ops.cast(features, dtypes.float32)
        if isinstance(alpha, Tensor):
            return math.maximum(alpha * features, features, name=scope)
        return leaky_relu_op(features, alpha=alpha, name=scope)


@export("nn.crelu")
def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """Returns relu(x) and relu(-x) concatenated along an axis.

    Args:
        axis: The axis along which the two halves are joined.
    """
    with name_scope(name, "CRelu", [features]):
        features = convert_to_tensor(features, name="features")
        return relu(concat([features, -features], axis))


@export("nn.silu", "nn.swish")
def swish(features: TensorLike, beta: TensorLike = 1.0, name: str | None = None) -> Tensor:
    """Computes x * sigmoid(beta * x).

    Args:
        beta: Factor of the argument of the sigmoid.
    """
    with name_scope(name, "swish", [features]):
        x = convert_to_tensor(features, name="features")
        return x * math.sigmoid(x if isinstance(beta, numbers.Real) and beta == 1 else x * beta)


silu = swish


# Softmax.


def _rows(c: Inference) -> Sequence[Shape]:
    return [at_least_rank(c, 0, 1)]


softmax_op = op(
    "Softmax",
    "logits: T -> softmax: T",
    T=_FLOATS,
    infer=_rows,
    doc="Computes exp(x) / sum(exp(x)) for each row.",
    traceable=True,
    fails="never",
)
log_softmax_op = op(
    "LogSoftmax",
    "logits: T -> logsoftmax: T",
    T=_FLOATS,
    infer=_rows,
    doc="Computes log(softmax(x)) for each row.",
    traceable=True,
)


def _along_axis(definition: OpDef, logits: TensorLike, axis: Any, name: str | None) -> Tensor:
    """Applies a row function along any axis, by moving the axis last and back."""
    logits = convert_to_tensor(logits, name="logits")
    rank = None if logits.dims is None else len(logits.dims)
    if isinstance(axis, numbers.Integral) and (axis == -1 or (rank is not None and axis == rank - 1)):
        return definition(logits, name=name)
    if rank is not None and isinstance(axis, numbers.Integral) and int(axis) not in range(-rank, rank):
        raise ValueError(f"axis {axis} is out of range: logits {logits.label} have rank {rank}.")
    with name_scope(name, definition.name, [logits]) as scope:
        order = swap_with_last(logits, axis)
        return transpose(definition(transpose(logits, order)), order, name=scope)


def swap_with_last(x: Tensor, axis: int | Tensor) -> Any:
    """Returns the permutation that swaps an axis with the last one; it is its own inverse."""
    if x.dims is not None and not isinstance(axis, Tensor):
        order = list(range(len(x.dims)))
        if not -len(order) <= axis < len(order):
            raise ValueError(f"axis: expected one of the {len(order)} dimensions of {x.label}, received {axis}")
        order[axis], order[-1] = order[-1], order[axis]
        return order
    rank = reshape_ops.rank(x)
    axis = math.mod(axis, rank)
    last = rank - 1
    positions = sequences_ops.range(rank)
    return where(
        comparison.equal(positions, axis),
        fill([rank], last),
        where(comparison.equal(positions, last), fill([rank], axis), positions),
    )


@export("math.softmax", "nn.softmax")
def softmax(logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """Computes exp(x) / sum(exp(x)) along an axis, the last by default.

    Args:
        axis: The axis of the classes; the last by default.
    """
    axis = reduction.one_of("axis", axis, "dim", dim)
    return _along_axis(softmax_op, logits, -1 if axis is None else axis, name)


@export("math.log_softmax", "nn.log_softmax")
def log_softmax(logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """Computes log(softmax(x)) along an axis, the last by default.

    Args:
        axis: The axis of the classes; the last by default.
    """
    axis = reduction.one_of("axis", axis, "dim", dim)
    return _along_axis(log_softmax_op, logits, -1 if axis is None else axis, name)


# Losses.


def _cross_entropy(c: Inference) -> Sequence[Shape]:
    message = "logits and labels must be broadcastable: logits_size={0} labels_size={1}"
    both = broadcast(c.shapes[0], c.shapes[1], message)
    require(both is None or len(both) == 2, "logits and labels must be matrices", expected="[batch, classes] for both")
    return [(None,) if both is None else both[:1], (None, None) if both is None else both]


def _sparse_cross_entropy(c: Inference) -> Sequence[Shape]:
    features, labels = with_rank(c, 0, 2), with_rank(c, 1, 1)
    assert features is not None and labels is not None
    require(features[1] != 0, "there are no classes", expected="features.shape[1] >= 1")
    message = "logits and labels must have the same first dimension, got logits shape {0} and labels shape {1}"
    batch = same_dimension(features[0], labels[0], "batches", "features.shape[0] == labels.shape[0]", in_step=message)
    return [(batch,), (batch, features[1])]


softmax_cross_entropy_op = op(
    "SoftmaxCrossEntropyWithLogits",
    "features: T, labels: T -> loss: T, backprop: T",
    T=_FLOATS,
    infer=_cross_entropy,
    doc="Computes the softmax cross entropy of each row with a distribution, and its gradient.",
    traceable=True,
)
sparse_softmax_cross_entropy_op = op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features: T, labels: Tlabels -> loss: T, backprop: T",
    T=_FLOATS,
    Tlabels=attr.types(dtypes.INDEX, dtypes.int64),
    infer=_sparse_cross_entropy,
    doc="Computes the softmax cross entropy of each row with one class, and its gradient.",
    traceable=True,
)
softmax_cross_entropy_loss = nondifferentiable_op(
    "_SoftmaxCrossEntropyLoss",
    "features: T, labels: T -> loss: T",
    "Computes the cross entropy alone, where its gradient is unused; created by the optimizer.",
    T=_FLOATS,
    infer=lambda c: _cross_entropy(c)[:1],
    traceable=True,
)
sparse_softmax_cross_entropy_loss = nondifferentiable_op(
    "_SparseSoftmaxCrossEntropyLoss",
    "features: T, labels: Tlabels -> loss: T",
    "Computes the cross entropy with one class alone; created by the optimizer.",
    T=_FLOATS,
    Tlabels=attr.types(dtypes.INDEX, dtypes.int64),
    infer=lambda c: _sparse_cross_entropy(c)[:1],
    traceable=True,
)
l2_loss = export("nn.l2_loss")(
    op("L2Loss", "t: T -> output: T", T=_FLOATS, infer=scalar, doc="Computes half the sum of squares.", traceable=True)
)


# Biases and layers.


def _channels_last(c: Inference) -> bool:
    layout: str = c.attrs.get("data_format", "NHWC")
    return layout == "NHWC"


def _bias_add(c: Inference) -> Sequence[Shape]:
    value, bias = at_least_rank(c, 0, 2 if _channels_last(c) else 3), with_rank(c, 1, 1)
    if value is None:
        return [None]
    axis = -1 if _channels_last(c) else 1
    assert bias is not None
    message = "Must provide as many biases as the last dimension of the input tensor: {1} vs. {0}"
    size = same_dimension(value[axis], bias[0], "channels", f"value.shape[{axis}] == bias.shape[0]", in_step=message)
    dims = list(value)
    dims[axis] = size
    return [tuple(dims)]


def _bias_add_grad(c: Inference) -> Sequence[Shape]:
    value = at_least_rank(c, 0, 2 if _channels_last(c) else 3)
    return [(None,) if value is None else (value[-1 if _channels_last(c) else 1],)]


_FORMAT = attr.string("NHWC", "NCHW", default="NHWC")
bias_add_op = op(
    "BiasAdd",
    "value: T, bias: T -> output: T",
    T=_ADDABLE,
    data_format=_FORMAT,
    infer=_bias_add,
    doc="Adds a bias to each channel.",
    traceable=True,
    fails="never",
)
bias_add_v1 = op(
    "BiasAddV1",
    "value: T, bias: T -> output: T",
    T=_ADDABLE,
    infer=_bias_add,
    doc="Adds a bias along the last dimension; the first version of BiasAdd.",
)
bias_add_grad_op = op(
    "BiasAddGrad",
    "out_backprop: T -> output: T",
    T=_ADDABLE,
    data_format=_FORMAT,
    infer=_bias_add_grad,
    doc="Sums the gradient over each channel.",
    traceable=True,
)


@export("nn.bias_add")
def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None) -> Tensor:
    """Adds a vector along the channels: the last dimension, or the second when data_format starts with NC.

    Args:
        value: The tensor to add to.
        bias: A vector with one entry for each channel.
        data_format: Names that start with "NC" put channels second; otherwise they are last.
    """
    if data_format is not None:
        require_text("data_format", data_format)
    if data_format is not None and data_format[:2] not in ("NC", "N.") and not data_format.endswith("C"):
        raise ValueError(f"data_format is {data_format!r}, expected 'N...C' or 'NC...'")
    layout = "NCHW" if data_format is not None and data_format.startswith("NC") else "NHWC"
    if data_format == "N...C":
        layout = "NHWC"
    return bias_add_op(value, bias, data_format=layout, name=name or "BiasAdd")


@export("nn.xw_plus_b")
def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """Computes matmul(x, weights) + biases.

    Args:
        x: The inputs [batch, in].
        weights: The matrix [in, out].
    """
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


@export("nn.relu_layer")
def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """Computes relu(matmul(x, weights) + biases).

    Args:
        x: The inputs [batch, in].
        weights: The matrix [in, out].
    """
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return relu(bias_add(matmul(x, weights), biases), name=scope)


fused_matmul_op = nondifferentiable_op(
    "_FusedMatMul",
    "a: T, b: T, args: num_args*T -> product: T",
    "Computes a matrix product followed by a bias and possibly an activation; created by the optimizer.",
    transpose_a=False,
    transpose_b=False,
    T=_FLOATS,
    num_args=attr.integer(0),
    fused_ops=attr.AttrDef("list(string)", ()),
    epsilon=0.0001,
    leakyrelu_alpha=0.2,
    infer=matmul_shape,
    traceable=True,
)


# top_k.


def _top_k(c: Inference) -> Sequence[Shape]:
    shape = at_least_rank(c, 0, 1)
    if "k" in c.attrs:
        k: int | None = c.attrs["k"]
    else:
        require(c.shapes[1] in (None, ()), "k must be a scalar")
        value = c.value(1)
        k = None if value is None else int(value)
    require(k is None or k >= 0, f"k is {k}", expected="k >= 0")
    if shape is None:
        return [None, None]
    last = shape[-1]
    require(
        k is None or last is None or k <= last,
        f"input must have last dimension >= k = {k} but is {last}",
        in_step="input must have at least k columns",
    )
    return [(*shape[:-1], k)] * 2


top_k_v2_op = op(
    "TopKV2",
    "input: T, k: Tk -> values: T, indices: index_type",
    sorted=True,
    T=_REAL,
    Tk=attr.types({dtypes.int16, dtypes.int32, dtypes.int64}, dtypes.int32),
    index_type=attr.types({dtypes.int16, dtypes.int32, dtypes.int64}, dtypes.int32),
    host="k",
    infer=_top_k,
    doc="Returns the k largest entries of each row with their indices; of equal entries the earlier comes first.",
)
top_k_v1_op = op(
    "TopK",
    "input: T -> values: T, indices: int32",
    k=attr.integer(0),
    sorted=True,
    T=_REAL,
    infer=_top_k,
    doc="Returns the k largest values of each row and their indices; the first version, with k as an attribute.",
)


@export("math.top_k", "nn.top_k")
def top_k(
    input: TensorLike,
    k: TensorLike = 1,
    sorted: bool = True,
    index_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Any:
    """Returns the k largest entries of each row and their indices, largest first.

    Args:
        k: Number of entries to return.
        sorted: Whether the entries come in decreasing order.
        index_type: The integer type of the indices that are returned.
    """
    return top_k_v2_op.many(input, k, sorted=sorted, index_type=index_type, name=name)


def _in_top_k(c: Inference) -> Sequence[Shape]:
    predictions, targets = with_rank(c, 0, 2), with_rank(c, 1, 1)
    assert predictions is not None and targets is not None
    if len(c.shapes) > 2:
        scalar_value(c, 2)
    return [(same_dimension(predictions[0], targets[0], "batches", "predictions.shape[0] == targets.shape[0]"),)]


_TARGETS = attr.types(dtypes.INDEX, dtypes.int32)
in_top_k_v1_op = nondifferentiable_op(
    "InTopK",
    "predictions: float32, targets: T -> precision: bool",
    k=attr.integer(),
    T=_TARGETS,
    infer=_in_top_k,
    doc="Returns whether each target is among the k largest predictions; the first version, with k as an attribute.",
)
in_top_k_op = nondifferentiable_op(
    "InTopKV2",
    "predictions: float32, targets: T, k: T -> precision: bool",
    "Returns whether each target is among the k largest predictions of its row.",
    T=_TARGETS,
    host="k",
    infer=_in_top_k,
)


@export("math.in_top_k", "nn.in_top_k")
def in_top_k(predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None) -> Tensor:
    """Returns for each row whether its target is among the k largest predictions.

    Args:
        predictions: Scores [batch, classes].
        targets: The true class of each row.
        k: How many of the largest scores count.
    """
    with name_scope(name, "in_top_k"):
        return in_top_k_op(predictions, targets, k)

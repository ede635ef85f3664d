"""Connectionist temporal classification: the loss of label sequences without alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops import reshape as reshape_ops, sequences as sequences_ops
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, less, logical_and, not_equal
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.gather import boolean_mask, gather, scatter_nd
from thalweg._src.graph.ops.reduction import argmax, cumsum, reduce_max, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, transpose
from thalweg._src.graph.ops.shape_functions import require, same_dimension, with_rank
from thalweg._src.graph.ops.where import one_hot, sequence_mask, where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

REAL = attr.types((dtypes.float32, dtypes.float64), dtypes.float32)
_HALF = (dtypes.float16, dtypes.bfloat16)


def dimensions(c: Inference, lengths: int) -> Sequence[int | None]:
    """Returns time, examples and classes of the inputs; there is a length for each example."""
    shape, sizes = with_rank(c, 0, 3), with_rank(c, lengths, 1)
    assert shape is not None and sizes is not None
    require(0 not in shape, f"{c.definition.inputs[0].name} has shape {show(shape)}", expected="no dimension of size 0")
    what = f"the examples and {c.definition.inputs[lengths].name}"
    batch = same_dimension(shape[1], sizes[0], what, expected="a length for each example")
    return shape[0], batch, shape[2]


def _loss(c: Inference) -> Sequence[Shape]:
    shape = dimensions(c, 3)
    indices, values = with_rank(c, 1, 2), with_rank(c, 2, 1)
    assert indices is not None and values is not None
    require(indices[1] in (None, 2), f"labels_indices has shape {show(indices)}", expected="two columns")
    same_dimension(indices[0], values[0], "numbers of indices and values", expected="a value for each index")
    return [(shape[1],), tuple(shape)]


def _loss_op(name: str, signature: str, doc: str, **attrs: Any) -> OpDef:
    return op(
        name,
        signature,
        preprocess_collapse_repeated=False,
        ctc_merge_repeated=True,
        ignore_longer_outputs_than_inputs=False,
        host="labels_indices, labels_values, sequence_length",
        infer=_loss,
        doc=doc,
        **attrs,
    )


ctc_loss_op = _loss_op(
    "CTCLoss",
    "inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32 -> loss: T, gradient: T",
    "Computes the CTC loss with the last class as the blank, and its gradient.",
    T=REAL,
    capturable=False,
)
ctc_loss_v2_op = _loss_op(
    "CTCLossV2",
    "inputs: float32, labels_indices: int64, labels_values: int32, sequence_length: int32"
    " -> loss: float32, gradient: float32",
    "Computes the CTC loss with class 0 as the blank, and its gradient.",
    capturable=False,
)


def _dense_loss(c: Inference) -> Sequence[Shape]:
    shape = dimensions(c, 3)
    labels, lengths = with_rank(c, 1, 2), with_rank(c, 2, 1)
    assert labels is not None and lengths is not None
    rows = same_dimension(labels[0], lengths[0], "rows of labels and label_length", expected="a length for each row")
    batch = same_dimension(shape[1], rows, "the examples and rows of labels", expected="labels of each example")
    return [(batch,), (shape[0], batch, shape[2])]


ctc_dense_loss_op = op(
    "_CTCLossDense",
    "inputs: T, labels: int64, label_length: int64, logit_length: int64 -> loss: T, gradient: T",
    blank_index=0,
    T=REAL,
    host="labels, label_length, logit_length",
    infer=_dense_loss,
    doc="Computes the CTC loss of dense labels, and its gradient.",
    capturable=False,
)


@export("nn.ctc_loss")
def ctc_loss(
    labels: SparseTensor | SparseTensorValue,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Tensor:
    """Computes the negative log probability of each example's labels over all alignments.

    inputs are logits, [time, batch, classes], or batch first unless time_major; the last class is the blank.

    Args:
        labels: Labels of each example, an int32 SparseTensor.
        inputs: Logits [time, batch, classes]; the last class is the blank.
        sequence_length: Number of time steps of each example.
        preprocess_collapse_repeated: Whether equal neighbouring labels are merged before.
        ctc_merge_repeated: Whether equal neighbouring classes of an alignment stand for one label.
        ignore_longer_outputs_than_inputs: Whether examples with more labels than time steps count 0, not an error.
        time_major: Whether inputs are [time, batch, classes], not [batch, time, classes].
        logits: Another name of `inputs`.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    if inputs is not None and logits is not None:
        raise ValueError("Cannot specify both 'inputs' and 'logits'")
    inputs = convert_to_tensor(logits if inputs is None else inputs, name="logits")
    if not time_major:
        inputs = transpose(inputs, [1, 0, 2])
    loss: Tensor = ctc_loss_op.many(
        cast(inputs, dtypes.float32) if inputs.dtype in _HALF else inputs,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )[0]
    return cast(loss, inputs.dtype) if inputs.dtype in _HALF else loss


@export("nn.ctc_loss_v2")
def ctc_loss_v2(
    labels: TensorLike | SparseTensor,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: TensorLike | None = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the negative log probability of each example's labels: sparse ones, or rows with their lengths.

    `unique`, an optimization elsewhere, has no effect here.

    Args:
        labels: Labels of each example: a SparseTensor, or rows [batch, labels].
        logits: Unscaled log probabilities of each time step.
        label_length: Number of labels of each example; None for sparse labels.
        logit_length: Number of time steps of each example.
        logits_time_major: Whether logits are [time, batch, classes], not [batch, time, classes].
        unique: Accepted for compatibility; it has no effect.
    """
    with name_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        logits = convert_to_tensor(logits, name="logits")
        if isinstance(labels, SparseTensor):
            if blank_index is None:
                raise ValueError("blank_index must be given when using SparseTensor labels.")
            logits, labels = _with_blank_last(logits, labels, blank_index)
            return ctc_loss(labels, logits, logit_length, time_major=logits_time_major)
        labels = cast(convert_to_tensor(labels, name="labels"), dtypes.int64)
        label_length = cast(convert_to_tensor(label_length, name="label_length"), dtypes.int64)
        logit_length = cast(convert_to_tensor(logit_length, name="logit_length"), dtypes.int64)
        wide = cast(logits, dtypes.float32) if logits.dtype in _HALF else logits
        wide = wide if logits_time_major else transpose(wide, [1, 0, 2])
        lengths = label_length, logit_length
        loss: Tensor = ctc_dense_loss_op.many(wide, labels, *lengths, blank_index=blank_index or 0)[0]
        return cast(loss, logits.dtype) if logits.dtype in _HALF else loss


def _with_blank_last(logits: Tensor, labels: SparseTensor, blank: int) -> tuple[Tensor, SparseTensor]:
    """Moves a class to the end, and renumbers the labels after it."""
    classes: Any = logits.dims[2] if logits.dims is not None else None
    classes = reshape_ops.shape(logits)[2] if classes is None else classes
    place = blank + classes if blank < 0 else blank
    if isinstance(place, int) and place == classes - 1:
        return logits, labels
    slices = [logits[:, :, :place], logits[:, :, place + 1 :], logits[:, :, place : place + 1]]
    values = where(less(labels.values, place), labels.values, labels.values - 1)
    return concat(slices, 2), labels.with_values(values)


@export("nn.ctc_unique_labels")
def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the distinct labels of each row, zero-padded, and the index of each label among them.

    Args:
        labels: Labels [batch, time].
    """
    with name_scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")
        same = equal(expand_dims(labels, 2), expand_dims(labels, 1))
        first = argmax(cast(same, dtypes.int32), 2, output_type=dtypes.int32)
        length = reshape_ops.shape(labels)[1]
        is_first = cast(equal(first, sequences_ops.range(length)), dtypes.int32)
        number = cumsum(is_first, 1) - 1
        first_labels = cast(labels, dtypes.int64) * cast(is_first, dtypes.int64)
        unique = reduce_sum(one_hot(number, length, dtype=dtypes.int64) * expand_dims(first_labels, 2), 1)
        return unique, gather(number, first, axis=1, batch_dims=1)


@export("nn.collapse_repeated")
def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns rows of labels with equal neighbors merged, zero-padded, and their new lengths.

    Args:
        labels: Labels [batch, time].
        seq_length: Length of each row.
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = convert_to_tensor(labels, name="labels")
        seq_length = convert_to_tensor(seq_length, name="seq_length")
        differs = not_equal(labels[:, 1:], labels[:, :-1])
        first = ones_like(labels[:, :1], dtype=dtypes.bool)
        inside = sequence_mask(seq_length, reshape_ops.shape(labels)[1])
        starts = logical_and(concat([first, differs], 1), inside)
        lengths = reduce_sum(cast(starts, dtypes.int32), 1)
        target = sequence_mask(lengths, reduce_max(lengths))
        # Both masks have the same number of true elements per row.
        result = scatter_nd(cast(where(target), dtypes.int32), boolean_mask(labels, starts), reshape_ops.shape(target))
        return result, cast(lengths, seq_length.dtype)

"""Kernels of the CTC loss: labels are prepared on the host, sums are computed on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from thalweg._src.base.errors import InvalidArgumentError, invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.sparse import require_inside, require_order
from thalweg._src.runtime.resources.devices import Device

_IMPOSSIBLE = 707.0  # what TensorFlow's loss substitutes for a probability of 0, so that training continues


class Labels(NamedTuple):
    """Labels as rows on the host, with the lengths of the rows."""

    rows: torch.Tensor
    lengths: torch.Tensor


def require_inputs(inputs: torch.Tensor, lengths: torch.Tensor, name: str) -> None:
    require(inputs.ndim == 3, f"inputs has rank {inputs.ndim}", expected="time, examples and classes")
    require(inputs.numel() > 0, f"inputs has shape {list(inputs.shape)}", expected="no dimension of size 0")
    fits = lengths.ndim == 1 and len(lengths) == inputs.shape[1]
    require(fits, f"{name} has shape {list(lengths.shape)}", expected=f"[{inputs.shape[1]}], one for each example")


def require_time_steps(lengths: torch.Tensor, time: int, kind: Any = InvalidArgumentError) -> None:
    """Checks that the sequence lengths are within the inputs."""
    if int(lengths.max()) > time:
        example = int(lengths.argmax())
        raise kind(
            None, None, f"sequence_length({example}) is {int(lengths[example])}, but there are {time} time steps"
        )


def forward_backward(
    inputs: torch.Tensor, labels: Labels, lengths: list[int], blank: int, merge: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns losses and their gradients: class probabilities minus their posteriors given the labels."""
    scores = torch.log_softmax(inputs, 2)
    if merge:
        rows, sizes = labels.rows.to(inputs.device), labels.lengths.tolist()
        loss, alpha = torch.ops.aten._ctc_loss(scores, rows, lengths, sizes, blank, False)
        gradient = torch.ops.aten._ctc_loss_backward(
            torch.ones_like(loss), scores, rows, lengths, sizes, loss, alpha, blank, False
        )
    else:
        loss, posterior = _once_each(scores, labels, lengths, blank)
        gradient = scores.exp() - posterior
    moments = torch.arange(len(scores), device=inputs.device)[:, None]
    inside = moments < torch.tensor(lengths, device=inputs.device)
    gradient = torch.where(torch.isinf(loss)[:, None], scores.exp(), gradient)
    return loss, torch.where(inside[:, :, None], gradient, 0)


def _once_each(
    scores: torch.Tensor, labels: Labels, lengths: list[int], blank: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns losses, and posteriors of classes given the labels, where each label takes exactly one time step.

    A state is the number of labels emitted so far: each time step emits a blank or the next label.
    """
    time, batch, _ = scores.shape
    rows, sizes = labels.rows.to(scores.device), labels.lengths.to(scores.device)
    label = scores.gather(2, rows.expand(time, *rows.shape))
    none = scores[:, :, blank, None]
    inside = torch.arange(time, device=scores.device)[:, None] < torch.tensor(lengths, device=scores.device)
    states = torch.arange(rows.shape[1] + 1, device=scores.device)
    impossible = scores.new_full((batch, 1), -torch.inf)
    before = [torch.where(states == 0, 0.0, -torch.inf).to(scores.dtype).expand(batch, -1)]
    for t in range(time - 1):
        last = before[-1]
        before.append(torch.logaddexp(last + none[t], torch.cat([impossible, last[:, :-1] + label[t]], 1)))
    after = [torch.where(states == sizes[:, None], 0.0, -torch.inf).to(scores.dtype)]
    for t in reversed(range(time)):
        following = after[-1]
        now = torch.logaddexp(none[t] + following, torch.cat([label[t] + following[:, 1:], impossible], 1))
        after.append(torch.where(inside[t, :, None], now, following))
    after.reverse()
    start, end, total = torch.stack(before), torch.stack(after[1:]), after[0][:, 0, None]
    posterior = torch.zeros_like(scores)
    posterior[:, :, blank] = (start + none + end - total).exp().sum(2)
    of_labels = (start[:, :, :-1] + label + end[:, :, 1:] - total).exp()
    return -total[:, 0], posterior.scatter_add(2, rows.expand(time, *rows.shape), of_labels)


def _from_sparse(
    indices: torch.Tensor, values: torch.Tensor, batch: int, classes: int, last: bool, collapse: bool
) -> tuple[Labels, torch.Tensor]:
    """Returns validated labels as rows, and the number given for each example."""
    shape = [batch, 1 + int(indices[:, 1].max()) if len(indices) else 0]
    require_inside(indices, shape)
    require_order(indices, indices[:, 0] * max(shape[1], 1) + indices[:, 1])
    owners = indices[:, 0]
    counts = torch.bincount(owners, minlength=batch)
    if not bool(counts.all()):
        raise invalid(f"example {int((counts == 0).int().argmax())} has no labels")
    mask = torch.ones_like(owners, dtype=torch.bool)
    if collapse:
        mask[1:] = (values[1:] != values[:-1]) | (owners[1:] != owners[:-1])
    values, owners = values[mask].long(), owners[mask]
    # A label that is not a class ends a row if the blank is the last class.
    null = values >= classes - 1 if last else torch.zeros_like(values, dtype=torch.bool)
    late = null[:-1] & ~null[1:] & (owners[1:] == owners[:-1])
    if bool(late.any()):
        example = int(owners[1:][late][0])
        raise invalid(f"a label follows one that is not below num_classes - 1 = {classes - 1}, batch: {example}")
    values, owners = values[~null], owners[~null]
    wrong = (values < 0) | (values >= classes)
    if bool(wrong.any()):
        raise invalid(f"label {int(values[wrong][0])} is not in [0, {classes}), batch: {int(owners[wrong][0])}")
    lengths = torch.bincount(owners, minlength=batch)
    columns = torch.arange(len(owners)) - (lengths.cumsum(0) - lengths)[owners]
    rows = torch.zeros((batch, max(1, int(lengths.max()))), dtype=torch.int64)
    rows[owners, columns] = values
    return Labels(rows, lengths), counts


@kernel("CTCLoss", "CTCLossV2")
def bind_loss(node: Node, device: Device) -> Callable[..., Any]:
    collapse, merge = node.attrs["preprocess_collapse_repeated"], node.attrs["ctc_merge_repeated"]
    ignore, last = node.attrs["ignore_longer_outputs_than_inputs"], node.type == "CTCLoss"

    def loss(inputs: torch.Tensor, indices: torch.Tensor, values: torch.Tensor, lengths: torch.Tensor) -> Any:
        require_inputs(inputs, lengths, "sequence_length")
        time, batch, classes = inputs.shape
        fits = indices.ndim == 2 and indices.shape[1] == 2 and values.shape == indices.shape[:1]
        require(
            fits, f"labels_indices has shape {list(indices.shape)}", expected="one [example, position] row per value"
        )
        require_time_steps(lengths, time)
        require(int(lengths.min()) >= 0, "a sequence_length is negative", expected="at least 0")
        labels, counts = _from_sparse(indices, values, batch, classes, last, collapse)
        too_long = counts > lengths
        if not ignore and bool(too_long.any()):
            example = int(too_long.int().argmax())
            raise invalid(
                f"example {example} has more labels than time steps: {int(counts[example])} labels, "
                f"{int(lengths[example])} steps; hint: ignore_longer_outputs_than_inputs skips it"
            )
        losses, gradient = forward_backward(inputs, labels, lengths.tolist(), classes - 1 if last else 0, merge)
        if ignore:
            left_out = (too_long | (lengths == 0)).to(inputs.device)
            losses, gradient = losses.masked_fill(left_out, 0), gradient.masked_fill(left_out[:, None], 0)
        return losses, gradient

    return loss


@kernel("_CTCLossDense")
def bind_dense_loss(node: Node, device: Device) -> Callable[..., Any]:
    blank_index = node.attrs["blank_index"]

    def loss(inputs: torch.Tensor, rows: torch.Tensor, sizes: torch.Tensor, lengths: torch.Tensor) -> Any:
        require_inputs(inputs, lengths, "logit_length")
        time, batch, classes = inputs.shape
        fits = rows.ndim == 2 and rows.shape[:1] == sizes.shape == (batch,)
        require(fits, f"labels has shape {list(rows.shape)}", expected="one row and one length per example")
        require(
            -classes <= blank_index < classes, f"blank_index is {blank_index}", expected=f"one of {classes} classes"
        )
        bounds = int(sizes.min()) >= 0 and int(sizes.max()) <= rows.shape[1]
        require(bounds, f"label_length has {sizes.tolist()[:8]}", expected=f"lengths in [0, {rows.shape[1]}]")
        rows = torch.where(torch.arange(rows.shape[1]) < sizes[:, None], rows, 0)
        outside = (rows < 0) | (rows >= classes)
        require(not bool(outside.any()), "a label is not a class", expected=f"labels in [0, {classes})")
        moments = lengths.clamp(0, time).tolist()
        losses, gradient = forward_backward(inputs, Labels(rows, sizes), moments, blank_index % classes, True)
        impossible = torch.isinf(losses)
        return losses.masked_fill(impossible, _IMPOSSIBLE), gradient.masked_fill(impossible[:, None], 0)

    return loss
